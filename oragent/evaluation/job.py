"""Jobs and evaluations: what is to be evaluated, its result, and when a candidate is screened.

Companions are other files of the problem's folder that go with its evaluator: helper modules, data, tables of
references, read-only, except what begins with a dot, ``outputs`` and ``__pycache__``. A search belongs to what it was
begun with, so a run keeps their hash.
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

# kept of the begin and of the end of what it printed
HEAD_CHARACTERS, LOG_CHARACTERS = 800, 4000
# in a result block: the metrics hold it already
INSTANCES = re.compile(rf"(, )?'{BY_INSTANCE}': {{[^{{}}]*}}")
HARNESS = "oragent.harness"
DEVICE = "--device="
OBSERVER_FILE = "observer.py"
# option with the seed of a fresh set, and the file that holds the seed
SEED, SEED_FILE = "--fresh_seed=", "fresh_seed.txt"
# how argparse begins when it refuses arguments
USAGE = "usage:"


LEFT_OUT = frozenset(("outputs", "__pycache__"))
# of what scores depend on; nor are texts for people and models
NO_PART = frozenset(("problem.yaml",))
TEXTS = (".md", ".rst")
MOST_FILES = 20_000
# directly in the folder: each evaluation makes a link to every one
MOST_ENTRIES = 500
# a file beyond that is known by its size, its beginning and its end
WHOLE_BYTES = 64 << 20
END_BYTES = 1 << 20
UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
# the metric under which an elite keeps what it reached there
TRAIN = "score_on_train"
# the metric by which an evaluator says that it ended early, as its floor is out of reach
BELOW_FLOOR = "below_floor"


@dataclass(frozen=True)
class Job:
    """What is to be evaluated.

    The evaluator is copied beside the candidate; what else lies in its folder is found there too, and cannot be
    changed.
    """

    evaluator: Path
    source: str
    # root of the project, for data and checkpoints
    root_dir: Path
    limits: Limits
    # mode that is passed on where given; otherwise the evaluator's own default holds
    mode: str | None = None
    # size that is passed on where given, likewise
    problem_size: int | None = None
    # further arguments of the evaluator, such as options of its own
    arguments: tuple[str, ...] = ()
    # names of the candidate's files, the main one first
    names: tuple[str, ...] = ("heuristic.py",)
    environment: Mapping[str, str] = field(default_factory=dict)
    # text of a program that is told what happens at the evaluator's hooks; empty: nobody watches
    observer: str = ""

    def make_command(self) -> Command:
        """The evaluator with the candidate beside it, told where the project and its own folder lie."""
        optional = {"mode": self.mode, "problem_size": self.problem_size}
        options = [f"--{name}={value}" for name, value in optional.items() if value is not None]
        name, text = self.evaluator.name, self.evaluator.read_text(encoding="utf-8")
        program = (PYTHON, name) if self.is_python else (name,)
        places = f"--root_dir={resolve_path(self.root_dir)}", f"--file_output_prefix={FOLDER}{os.sep}"
        files = {name: text, **split_files(self.source, self.names)}
        own = self.arguments
        if self.is_python and is_guarded(text):
            # The candidate's process inherits the memory of the command line, but cannot read the folder.
            seeds = [word for word in own if word.startswith(SEED) and word.removeprefix(SEED).isdecimal()]
            if seeds:
                files[SEED_FILE] = seeds[-1].removeprefix(SEED)
            own = tuple(f"{SEED}{FOLDER}{os.sep}{SEED_FILE}" if word in seeds else word for word in own)
        words = (*program, *places, *options, *own)
        if self.observer:
            files[OBSERVER_FILE] = self.observer
            words += (f"--observer={FOLDER}{os.sep}{OBSERVER_FILE}",)
        is_trusted = self.is_python and is_guarded(text)
        return Command(words, files, environment=self.environment, limits=self.limits, trusted=is_trusted)

    @property
    def companion_folder(self) -> CompanionFolder:
        """The folder of the problem, as far as it goes with the evaluator."""
        own_files = (OBSERVER_FILE,) if self.observer else ()
        return CompanionFolder(resolve_path(self.evaluator).parent, (self.evaluator.name, *self.names, *own_files))

    @property
    def is_guarded(self) -> bool:
        """True if the evaluator keeps the candidate in a guest; otherwise they share a process, and it can forge."""
        return self.is_python and is_guarded(self.evaluator.read_text(encoding="utf-8"))

    @property
    def device(self) -> str | None:
        """The device that it is told to compute on; None where it is told none."""
        return next((word[len(DEVICE) :] for word in self.arguments if word.startswith(DEVICE)), None)

    @property
    def is_python(self) -> bool:
        """True if the evaluator is a Python script; any program that prints the result block will do."""
        return self.evaluator.suffix == ".py"


@lru_cache(16)
def is_guarded(evaluator: str) -> bool:
    """Return True if a Python evaluator imports the harness, directly; one that only names it does not count."""
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
    """How an evaluation ended; a failure is data like a success."""

    # how the evaluation ended: ``ok`` if and only if there is a score
    status: Status
    # score in the problem's natural units; None for a failure
    score: float | None = None
    # cell of the archive; None for a ranked population, or without a score
    features: tuple[float, ...] | None = None
    metrics: dict[str, Any] = field(default_factory=dict)
    # reason why there is no score, one line
    message: str = ""
    traceback: str = ""
    # standard error; of a long one its begin and its end
    log: str = ""
    # standard output, likewise
    output: str = ""
    # how its process ended, a value of ``End``; empty if none was started
    end: str = ""
    # seconds for which it waited for a free worker
    queued_s: float = 0.0
    # seconds by the clock from its start to its end
    wall_s: float = 0.0
    # user and system seconds of all its processes, as far as they could be counted
    cpu_s: float = 0.0
    # resident memory of its largest process, in MiB, with what it shares with its server
    peak_mb: float = 0.0

    @classmethod
    def from_result(cls, result: Result | Failure, command_result: CommandResult) -> Self:
        """Put together what an evaluator found and how its process ended."""
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
        return cls(Status.OK, result.score, result.features, result.metrics, **figures)

    @property
    def was_started(self) -> bool:
        """True if a process was started for it; a program of the wrong form is rejected without one."""
        return self.wall_s > 0

    @property
    def detail(self) -> str:
        """Where it failed: the traceback, else the log; usage lines tell nothing that the message does not."""
        return (self.traceback or ("" if self.log.startswith(USAGE) else self.log)).strip()


@dataclass(frozen=True)
class Companions:
    """Files that go with an evaluator."""

    # number of files, texts for people among them
    files: int
    bytes: int
    # SHA-256 over names and contents of those that a score may depend on; empty where there are none
    digest: str

    def __str__(self) -> str:
        files = "1 more file goes" if self.files == 1 else f"{self.files:,} more files go"
        units = (f"{self.bytes / unit:.1f} {name}" for unit, name in UNITS if self.bytes >= unit)
        return f"{files} with the evaluator, read-only: {next(units, f'{self.bytes} bytes')}"


def find_companions(folder: Path, own_files: tuple[str, ...]) -> Companions:
    """Look at what goes with an evaluator but what each evaluation brings itself, such as the candidate's files.

    Raises:
        ProblemError: in one line, if there is more than can go with every evaluation, or something cannot be read.
    """
    digest, count, size = hashlib.sha256(), 0, 0
    scored = False
    try:
        if (entries := len(os.listdir(folder))) > MOST_ENTRIES:
            raise ProblemError(
                f"{folder} holds {entries:,} files and folders, at most {MOST_ENTRIES} go with an evaluator: put data "
                "into a folder of its own in there"
            )
        for path in walk_files(folder):
            name = path.relative_to(folder).as_posix()
            if name in own_files or name in NO_PART:
                continue
            count, size = count + 1, size + path.stat().st_size
            if count > MOST_FILES:
                raise ProblemError(
                    f"{folder} holds more than {MOST_FILES:,} files: keep large data elsewhere, below the project's "
                    "root, and find it by --root_dir"
                )
            if path.suffix not in TEXTS:
                scored = True
                digest.update(f"{name}\0{path.stat().st_size}\0".encode())
                _add_file(digest, path)
    except OSError as problem:
        raise ProblemError(f"{problem.filename} cannot be read: {problem.strerror}") from None
    return Companions(count, size, digest.hexdigest() if scored else "")


def walk_files(folder: Path) -> Iterator[Path]:
    """Plain files below a folder, in order of their names; links are not followed, as they lead out of it."""
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in LEFT_OUT)
        for name in sorted(names):
            path = Path(base) / name
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path


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
    """The score that a candidate must be able to reach on ``val``: a quantile of the elites'; None without any."""
    reached = [direction.fitness(score) for score in scores]
    if reached:
        return direction.sign * float(np.quantile(reached, quantile))
    return None


def passes_screening(
    quick: Evaluation, elites: Iterable[Mapping[str, Any]], direction: Direction, quantile: float
) -> bool:
    """Return True if a candidate is better on ``train`` than a quantile of the elites; the first one always is."""
    reached = [direction.fitness(metrics[TRAIN]) for metrics in elites]
    assert quick.score is not None
    return not reached or direction.fitness(quick.score) > float(np.quantile(reached, quantile))


def screened_evaluation(quick: Evaluation, where: str = "on train") -> Evaluation:
    """Return the record of a candidate that does not pass; it does not depend on the bar."""
    why = f"not good enough to be scored on all of val: {quick.score:.6g} {where}"
    return replace(quick, status=Status.SCREENED, score=None, features=None, message=why)


def add_train_score(full: Evaluation, quick: Evaluation) -> Evaluation:
    """A full evaluation that remembers the score on ``train``."""
    if full.status is Status.OK:
        return replace(full, metrics=full.metrics | {TRAIN: quick.score})
    return full
