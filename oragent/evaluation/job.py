"""Jobs and evaluations: inputs, results, and screening of candidates.

Companions are the other files of the problem's folder that go with its evaluator, read-only: helper modules, data,
tables of references, except hidden files, ``outputs`` and ``__pycache__``. A run stores their hash, because its scores
depend on them.
"""

import ast
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from oragent._base.ast_utils import tree_of
from oragent._base.direction import Direction
from oragent._base.errors import ProblemError
from oragent._base.files import resolve_path
from oragent._base.protocol import Failure, Result, Status
from oragent._base.racing import BY_INSTANCE
from oragent._base.text_format import shorten_middle
from oragent.programs.multi_file import split_files
from oragent.sandbox.messages import FOLDER, PYTHON, Command, CommandResult, CompanionFolder, Limits

# Captured characters at the beginning and at the end of outputs.
HEAD_CHARACTERS, LOG_CHARACTERS = 800, 4000
# Part of a result block that the metrics repeat.
INSTANCES = re.compile(rf"(, )?'{BY_INSTANCE}': {{[^{{}}]*}}")
HARNESS = "oragent.harness"
DEVICE = "--device="
OBSERVER_FILE = "observer.py"
# Option with the file of a candidate's machine code.
COMPILED, COMPILED_FILE = "--compiled", "compiled.txt"
# Option with the file for the arrays that a candidate keeps, the file, and the metric with its content.
KEEP, KEPT_FILE, KEPT_METRIC = "--kept_arrays", "kept_arrays.json", "kept_arrays"
# Option with the seed of a fresh set, and the file that contains the seed.
SEED, SEED_FILE = "--fresh_seed=", "fresh_seed.txt"
# Number in a program.
NUMBER = re.compile(r"(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
# First word of argparse when it refuses arguments.
USAGE = "usage:"


# Folder with programs that ship with a problem; evaluations do not see it.
DISCOVERED = "discovered"
LEFT_OUT = frozenset(("outputs", "__pycache__", DISCOVERED))
# File with the measured noise of a problem.
NOISE_FILE = "noise.yaml"
# Files on which scores do not depend; neither do they on texts for people and models.
NO_PART = frozenset(("problem.yaml", NOISE_FILE))
TEXTS = (".md", ".rst")
MAX_FILES = 20_000
# Maximum number of entries directly in the folder: each evaluation links every one.
MAX_ENTRIES = 500
# Larger files are identified by their size, beginning and end.
WHOLE_BYTES = 64 << 20
END_BYTES = 1 << 20
UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
# Metric that stores the score of an elite on train.
TRAIN = "score_on_train"
# Metric with which an evaluator reports an early end because the floor is out of reach.
BELOW_FLOOR = "below_floor"


@dataclass(frozen=True)
class Job:
    """Inputs of one evaluation.

    The evaluator is copied next to the candidate. Other files of its folder are available there, too, and read-only.
    """

    evaluator: Path
    source: str
    # Root of the project, for data and checkpoints.
    root_dir: Path
    limits: Limits
    # Mode to pass on; None: the evaluator's own default.
    mode: str | None = None
    # Problem size to pass on; None: the evaluator's own default.
    problem_size: int | None = None
    # Additional arguments of the evaluator, such as its own options.
    arguments: tuple[str, ...] = ()
    # Names of the candidate's files, the main one first.
    names: tuple[str, ...] = ("heuristic.py",)
    environment: Mapping[str, str] = field(default_factory=dict)
    # Source of a program that receives the events of the evaluator's hooks; empty for none.
    observer: str = ""
    # Program whose runs share machine code, by a key; empty for a run that compiles all itself.
    program: str = ""
    # Whether the arrays that the candidate keeps are brought back, in the metric ``kept_arrays``.
    keeps_arrays: bool = False

    def make_command(self, compiled: str = "") -> Command:
        """Return the command of the evaluator, with the candidate's files, the project's path and its own folder.

        ``compiled`` is the text of the file of machine code that an earlier run of the same program wrote.
        """
        optional = {"mode": self.mode, "problem_size": self.problem_size}
        options = [f"--{name}={value}" for name, value in optional.items() if value is not None]
        name, text = self.evaluator.name, self.evaluator.read_text(encoding="utf-8")
        program = (PYTHON, name) if self.is_python else (name,)
        places = f"--root_dir={resolve_path(self.root_dir)}", f"--file_output_prefix={FOLDER}{os.sep}"
        files = {name: text, **split_files(self.source, self.names)}
        arguments = self.arguments
        if self.is_python and is_guarded(text):
            # The candidate's process inherits the memory of the command line, but cannot read the folder.
            seeds = [word for word in arguments if word.startswith(SEED) and word.removeprefix(SEED).isdecimal()]
            if seeds:
                files[SEED_FILE] = seeds[-1].removeprefix(SEED)
            arguments = tuple(f"{SEED}{FOLDER}{os.sep}{SEED_FILE}" if word in seeds else word for word in arguments)
        words = (*program, *places, *options, *arguments)
        if self.observer:
            files[OBSERVER_FILE] = self.observer
            words += (f"--observer={FOLDER}{os.sep}{OBSERVER_FILE}",)
        if self.program:
            words += (f"{COMPILED}={FOLDER}{os.sep}{COMPILED_FILE}",)
            files |= {COMPILED_FILE: compiled} if compiled else {}
        bring: tuple[str, ...] = (COMPILED_FILE,) if self.program and not compiled else ()
        if self.keeps_arrays:
            words += (f"{KEEP}={FOLDER}{os.sep}{KEPT_FILE}",)
            bring += (KEPT_FILE,)
        is_trusted = self.is_python and is_guarded(text)
        return Command(words, files, environment=self.environment, limits=self.limits, bring=bring, trusted=is_trusted)

    @property
    def companion_folder(self) -> CompanionFolder:
        """The problem's folder as companion folder of the evaluator."""
        own_files = (OBSERVER_FILE,) if self.observer else ()
        brought = (self.evaluator.name, *self.names, *own_files, DISCOVERED)
        return CompanionFolder(resolve_path(self.evaluator).parent, brought)

    @property
    def is_guarded(self) -> bool:
        """True if the evaluator runs the candidate in a guest; in a shared process the candidate can forge scores."""
        return self.is_python and is_guarded(self.evaluator.read_text(encoding="utf-8"))

    @property
    def device(self) -> str | None:
        """Device passed to the evaluator; None for none."""
        return next((word[len(DEVICE) :] for word in self.arguments if word.startswith(DEVICE)), None)

    @property
    def is_python(self) -> bool:
        """True if the evaluator is a Python script; any program that prints the result block is allowed."""
        return self.evaluator.suffix == ".py"


def share_compiled(job: Job, offers: frozenset[str]) -> Job:
    """Return a job whose runs share machine code with those of programs that differ in numbers alone, if possible."""
    if COMPILED not in offers or "numba" not in job.source:
        return job
    return replace(job, program=hashlib.sha256(NUMBER.sub("0", job.source).encode(errors="replace")).hexdigest())


@lru_cache(16)
def is_guarded(evaluator: str) -> bool:
    """Return True if a Python evaluator imports the harness directly; mentioning it is not enough."""
    try:
        nodes = list(ast.walk(tree_of(evaluator)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    named = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and not node.level and node.module:
            named |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return any(f"{name}.".startswith(f"{HARNESS}.") for name in named)


@dataclass(frozen=True)
class Evaluation:
    """Result of an evaluation; failures are data like successes."""

    # Status: ``ok`` if and only if it has a score.
    status: Status
    # Score in the problem's natural units; None for a failure.
    score: float | None = None
    # Cell of the archive; None for a ranked population, or without a score.
    features: tuple[float, ...] | None = None
    metrics: dict[str, Any] = field(default_factory=dict)
    # Reason for the missing score, in one line.
    message: str = ""
    traceback: str = ""
    # Standard error; beginning and end of a long one.
    log: str = ""
    # Standard output, likewise.
    output: str = ""
    # End of its process, a value of ``EndReason``; empty if none was started.
    end: str = ""
    # Seconds spent waiting for a free worker.
    queued_s: float = 0.0
    # Wall-clock seconds from start to end.
    wall_s: float = 0.0
    # User and system seconds of all its processes, as far as they could be counted.
    cpu_s: float = 0.0
    # Resident memory of its largest process in MiB, pages shared with its server included.
    peak_mb: float = 0.0

    @classmethod
    def from_result(cls, result: Result | Failure, command_result: CommandResult) -> Self:
        """Combine the result of an evaluator with that of its process."""
        figures: dict[str, Any] = {
            "log": shorten_middle(command_result.stderr, HEAD_CHARACTERS, LOG_CHARACTERS),
            "output": shorten_middle(INSTANCES.sub("", command_result.stdout), HEAD_CHARACTERS, LOG_CHARACTERS),
            "end": command_result.end,
            "queued_s": round(command_result.queued_s, 4),
            "wall_s": round(command_result.wall_s, 4),
            "cpu_s": round(command_result.cpu_s, 4),
            "peak_mb": round(command_result.peak_mb, 1),
        }
        if isinstance(result, Failure):
            return cls(
                result.status, metrics=result.metrics, message=result.message, traceback=result.traceback, **figures
            )
        metrics = result.metrics
        if content := command_result.files.get(KEPT_FILE):
            metrics = metrics | {KEPT_METRIC: content.decode("ascii", "replace")}
        return cls(Status.OK, result.score, result.features, metrics, **figures)

    @property
    def was_started(self) -> bool:
        """True if a process was started; malformed programs are rejected without one."""
        return self.wall_s > 0

    @property
    def detail(self) -> str:
        """The traceback, or else the log without usage lines, which repeat the message."""
        return (self.traceback or ("" if self.log.startswith(USAGE) else self.log)).strip()


@dataclass(frozen=True)
class Companions:
    """Files that go with an evaluator."""

    # Number of files, texts for people included.
    files: int
    bytes: int
    # SHA-256 of the names and contents of the files that scores may depend on; empty for none.
    digest: str

    def __str__(self) -> str:
        files = "1 more file goes" if self.files == 1 else f"{self.files:,} more files go"
        units = (f"{self.bytes / unit:.1f} {name}" for unit, name in UNITS if self.bytes >= unit)
        return f"{files} with the evaluator, read-only: {next(units, f'{self.bytes} bytes')}"


def find_companions(folder: Path, own_files: tuple[str, ...]) -> Companions:
    """Find the files that go with an evaluator, except the files that each evaluation brings itself.

    Raises:
        ProblemError: The files are too many, or one cannot be read.
    """
    digest, count, size = hashlib.sha256(), 0, 0
    scored = False
    try:
        if (entries := len(os.listdir(folder))) > MAX_ENTRIES:
            raise ProblemError(
                f"{folder} contains {entries:,} files and folders, and at most {MAX_ENTRIES} are allowed: put data "
                "into a subfolder"
            )
        for path in walk_files(folder):
            name = path.relative_to(folder).as_posix()
            if name in own_files or name in NO_PART:
                continue
            count, size = count + 1, size + path.stat().st_size
            if count > MAX_FILES:
                raise ProblemError(
                    f"{folder} contains more than {MAX_FILES:,} files: keep large data elsewhere, below the project's "
                    "root, and use --root_dir to find it"
                )
            if path.suffix not in TEXTS:
                scored = True
                digest.update(f"{name}\0{path.stat().st_size}\0".encode())
                _add_file(digest, path)
    except OSError as problem:
        raise ProblemError(f"{problem.filename} cannot be read: {problem.strerror}") from None
    return Companions(count, size, digest.hexdigest() if scored else "")


def walk_files(folder: Path) -> Iterator[Path]:
    """Yield the regular files below a folder in order of names; links are not followed."""
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in LEFT_OUT)
        for name in sorted(names):
            path = Path(base) / name
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path


def hash_data(path: Path) -> str:
    """Return a hash of the names and contents of a file or a folder; an OSError if one cannot be read."""
    digest = hashlib.sha256()
    for file in walk_files(path) if path.is_dir() else (path,):
        digest.update(f"{file.relative_to(path.parent)}\0{file.stat().st_size}\0".encode())
        _add_file(digest, file)
    return digest.hexdigest()


def _add_file(digest: "hashlib._Hash", path: Path) -> None:
    with path.open("rb") as file:
        if path.stat().st_size <= WHOLE_BYTES:
            while chunk := file.read(END_BYTES):
                digest.update(chunk)
        else:
            digest.update(file.read(END_BYTES))
            file.seek(-END_BYTES, os.SEEK_END)
            digest.update(file.read(END_BYTES))


def floor_score(scores: Iterable[float], direction: Direction, quantile: float) -> float | None:
    """Return the score that a candidate must be able to reach on ``val``: a quantile of the elites' scores, or None."""
    reached = [direction.fitness(score) for score in scores]
    if reached:
        return direction.sign * float(np.quantile(reached, quantile))
    return None


def passes_screening(
    quick: Evaluation, elites: Iterable[Mapping[str, Any]], direction: Direction, quantile: float
) -> bool:
    """Return True if a candidate exceeds a quantile of the elites on ``train``; the first candidate always does."""
    reached = [direction.fitness(metrics[TRAIN]) for metrics in elites]
    assert quick.score is not None
    return not reached or direction.fitness(quick.score) > float(np.quantile(reached, quantile))


def screened_evaluation(quick: Evaluation, where: str = "on train") -> Evaluation:
    """Return the record of a candidate that did not pass, which does not depend on the threshold."""
    why = f"not good enough to be scored on all of val: {quick.score:.6g} {where}"
    return replace(quick, status=Status.SCREENED, score=None, features=None, message=why)


def add_train_score(full: Evaluation, quick: Evaluation) -> Evaluation:
    """Return a full evaluation with the score on ``train`` among its metrics."""
    if full.status is Status.OK:
        return replace(full, metrics=full.metrics | {TRAIN: quick.score})
    return full
