"""Scores of a run's programs outside of the search: on the held-out set, or by the present evaluator.

No search uses the held-out set, and reports use it only on request. A report also checks that the best program is a
function of its arguments.
"""

import hashlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import yaml

from oragent._base import files
from oragent._base.errors import OragentError, ProblemError, StoreError
from oragent._base.protocol import Status
from oragent._base.safe_load import load_yaml
from oragent._base.text_format import escape_text
from oragent.evaluation import Evaluation, Job, run_evaluation
from oragent.evaluation.capabilities import (
    CHECK,
    CHECKED,
    HELD_OUT_LIMIT_FACTOR,
    INSTANCES,
    describe_check,
    describe_missing,
    evaluator_arguments,
    find_options,
)
from oragent.evaluation.devices import AUTO, CPU
from oragent.evaluation.job import hash_data
from oragent.evaluation.named_sets import is_set_name
from oragent.programs.kept_arrays import expand_references, loads_arrays
from oragent.report.significance import compare_pairs, read_paired
from oragent.search.candidate import Committed
from oragent.search.folder import RunFolder, best_file, reopen
from oragent.search.program_header import drop_head
from oragent.search.store import Store

FILE = "test.yaml"
# Beginning of the names of the files of named sets, and maximum number of these that are read.
SET_PREFIX, MAX_SETS = "set-", 100
# Maximum size of a program in bytes.
MAX_BYTES = 4 << 20


RESCORED_FILE = "rescored.yaml"
CHECK_FILE = "check.yaml"
# Number of instances of a check, if the evaluator supports the option.
INSTANCES_OF_CHECK = 3
# Maximum number of characters of a reason.
MAX_REASON = 300
# What a damaged file of figures raises.
DAMAGED = (OragentError, OSError, yaml.YAMLError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError)
T = TypeVar("T")


@dataclass(frozen=True)
class HeldOutScorer:
    """Scores programs of a run outside of the search, with the longer limits that larger sets need."""

    folder: RunFolder
    run: Callable[[Job], Evaluation] = run_evaluation
    # Device on which networks compute. None means the device of the run.
    device: str | None = None

    @property
    def device_name(self) -> str:
        """Device on which networks compute."""
        return self.device or self.folder.config.device

    @cached_property
    def offers(self) -> frozenset[str]:
        """Options of the evaluator beyond the contract."""
        return find_options(self.folder.problem, self.folder.root, self.run)

    @cached_property
    def seed(self) -> str:
        """Text of the seed heuristic at the beginning of the run."""
        with Store(self.folder.database, readonly=True) as store:
            return store.records(0)[0].candidate.source

    def evaluate(
        self, source: str, mode: str | None, *arguments: str, patience: float = HELD_OUT_LIMIT_FACTOR
    ) -> Evaluation:
        """Evaluate a program in a mode, with options of the evaluator."""
        return self.run(self.make_job(source, mode, *arguments, patience=patience))

    def make_job(self, source: str, mode: str | None, *arguments: str, patience: float) -> Job:
        """Make the job of a program in a mode, at one size if the run had one size."""
        problem, config = self.folder.problem, self.folder.config
        evaluator_options = evaluator_arguments(
            problem,
            config.limits,
            self.offers,
            patience=patience,
            device=self.device_name,
            protocol=config.protocol,
            mode=mode,
            root=self.folder.root,
        )
        limits, words = problem.make_limits(config.limits, patience, mode), (*evaluator_options, *arguments)
        if loads_arrays(source):
            with Store(self.folder.database, readonly=True) as store:
                source = expand_references(source, store.array)
        size = None if mode in problem.about.named_sets else config.problem_size
        return problem.make_job(source, self.folder.root, limits, mode, size, words)

    def score(self, source: str, mode: str, *arguments: str) -> dict[str, Any]:
        """Return the metrics of a program, and its score. Without a score, raise ProblemError."""
        return self.read_figures(self.evaluate(source, mode, *arguments), mode)

    def read_figures(self, evaluation: Evaluation, mode: str) -> dict[str, Any]:
        """Return the metrics and the score of an evaluation. Without a score, raise ProblemError."""
        if evaluation.status is not Status.OK:
            raise ProblemError(f"{self.folder.problem.name} in mode {mode}: {evaluation.status}: {evaluation.message}")
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in evaluation.metrics.items()}
        return {**plain, "score": evaluation.score}


def best_text(path: Path) -> str:
    """Read the text of a run's best program. A missing or unreadable file raises StoreError."""
    best = best_file(path)
    if not best.is_file():
        raise StoreError(f"{path} has no {best.name}, because no program was scored")
    try:
        return files.read_bounded(best, MAX_BYTES)
    except (OSError, UnicodeDecodeError) as problem:
        raise StoreError(f"cannot read {best}: {' '.join(str(problem).split())[:300]}") from None


def hash_best(path: Path) -> str:
    """Return the hash of a run's best program without its header, because outcomes of tests are added to the header."""
    return hash_text(drop_head(best_text(path)))


def hash_text(text: str) -> str:
    """Return the SHA-256 of a program's text as hex digits, by which figures refer to it."""
    return hashlib.sha256(text.encode()).hexdigest()


def write_record(path: Path, file: str, tree: Mapping[str, Any]) -> None:
    """Write figures about the present best program of a run into a file of its folder."""
    text = yaml.safe_dump({"program": hash_best(path), **tree}, sort_keys=False, allow_unicode=True)
    files.replace_file(path / file, text)


def read_record(path: Path, file: str, parse: Callable[[dict[str, Any]], T]) -> T | None:
    """Return stored figures about the present best program; None if they are missing, damaged or of another program."""
    try:
        tree = load_yaml(path / file)
        return parse(tree) if tree["program"] == hash_best(path) else None
    except DAMAGED:
        return None


def score_held_out(path: Path, scorer: HeldOutScorer | None = None, mode: str = "test") -> dict[str, Any]:
    """Score a run's seed and best program, paired, in mode ``test`` or on a named set.

    Write ``test.yaml`` or ``set-NAME.yaml``, or use its figures if present.
    """
    scorer = scorer or HeldOutScorer(reopen(path, only_read=True))
    best, recorded = best_text(path), read_held_out(path, mode)
    about = hash_identity(scorer)
    described: dict[str, Any] = {}
    if mode != "test":
        problem = scorer.folder.problem
        data = problem.find_data(mode, scorer.folder.root)
        about = hash_text(f"{about} {hash_data(data) if data else ''}")
        described = {"kind": problem.find_set(mode).kind, "protected": mode in problem.about.protect}
    if recorded is not None and recorded.get("about") == about:
        return {name: recorded[name] for name in ("seed", "best", "paired", *described)}
    figures: dict[str, Any] = {"seed": scorer.score(scorer.seed, mode), "best": scorer.score(best, mode)}
    figures["paired"] = paired_figures(scorer, figures["seed"], figures["best"])
    figures |= described
    write_record(path, _file_of(mode), {"about": about, **figures})
    return figures


def _file_of(mode: str) -> str:
    return FILE if mode == "test" else f"{SET_PREFIX}{mode}.yaml"


def read_named_sets(path: Path) -> dict[str, dict[str, Any]]:
    """Return the stored figures of named sets for the present best program, by name."""
    names = [file.stem.removeprefix(SET_PREFIX) for file in sorted(path.glob(f"{SET_PREFIX}*.yaml"))[:MAX_SETS]]
    figures = {name: read_held_out(path, name) for name in names if is_set_name(name)}
    return {name: tree for name, tree in figures.items() if tree is not None}


def hash_identity(scorer: HeldOutScorer) -> str:
    """Return a hash of the inputs of figures without the best program: evaluator, seed heuristic, size, device."""
    problem = scorer.folder.problem
    evaluator = problem.evaluator.read_text(encoding="utf-8", errors="replace")
    # This keeps figures from versions without a choice of the device valid.
    device = [] if scorer.device_name in (AUTO, CPU) else [scorer.device_name]
    return hash_text("\0".join([evaluator, scorer.seed, str(scorer.folder.config.problem_size), *device]))


def paired_figures(scorer: HeldOutScorer, seed: dict[str, Any], best: dict[str, Any]) -> dict[str, Any] | None:
    """Return the paired test of the best program against the seed as a tree, or None without metrics by instance."""
    paired = compare_pairs(scorer.folder.problem.about.direction, seed, best)
    if paired is None:
        return None
    return asdict(paired)


def read_held_out(path: Path, mode: str = "test") -> dict[str, Any] | None:
    """Return the stored figures of the held-out set, or of a named one, for the present best program, or None."""

    def parse(tree: dict[str, Any]) -> dict[str, Any]:
        read_paired(tree.get("paired"))
        figures = {name: {**tree[name], "score": float(tree[name]["score"])} for name in ("seed", "best")}
        described = {"kind": str(tree.get("kind")), "protected": tree.get("protected") is True}
        more = described if mode != "test" else {}
        return {**figures, "paired": tree.get("paired"), "about": tree.get("about"), **more}

    return read_record(path, _file_of(mode), parse)


@dataclass(frozen=True)
class Rescored:
    """A program with its two scores."""

    # Id of the candidate. The seed heuristic at the beginning of the run is ``0.0``.
    id: str
    # Score that the run stored.
    before: float
    now: float | None
    # Status of the new evaluation.
    status: str
    # Reason for a missing score.
    message: str = ""


def rescore_run(path: Path, limit: int = 20, run: Callable[[Job], Evaluation] = run_evaluation) -> list[Rescored]:
    """Score the seed and the best programs of a run again, in the order of their stored scores.

    Write ``rescored.yaml``.
    """
    folder = reopen(path, changed=True, only_read=True)
    scorer = HeldOutScorer(folder, run)
    programs = _choose_programs(folder, limit)
    scorer.offers  # noqa: B018 asked once, before several threads ask
    with ThreadPoolExecutor(folder.config.cores) as pool:
        ends = list(pool.map(lambda record: scorer.evaluate(record.source, None, patience=1), programs))
    rescored = [_make_rescored(record, end) for record, end in zip(programs, ends, strict=True)]
    # Names in the file.
    tree = [asdict(record) for record in rescored]
    files.replace_file(path / RESCORED_FILE, yaml.safe_dump(tree, sort_keys=False, allow_unicode=True))
    return rescored


def _make_rescored(record: Committed, end: Evaluation) -> Rescored:
    assert record.score is not None
    if end.status is Status.OK:
        return Rescored(record.id, record.score, end.score, str(end.status))
    return Rescored(record.id, record.score, None, str(end.status), end.message)


def _choose_programs(folder: RunFolder, limit: int) -> list[Committed]:
    with Store(folder.database, readonly=True) as store:
        records = [record for record in store.records() if record.score is not None and not record.candidate.is_probe]
    if not records:
        raise StoreError(f"{folder.path} has no scored program")
    seed, *others = records
    distinct = {record.candidate.fingerprint: record for record in reversed(others) if record.source != seed.source}
    fitness = folder.problem.about.direction.fitness
    ranked = sorted(distinct.values(), key=lambda record: -fitness(record.score or 0.0))
    return [seed, *ranked[:limit]]


@dataclass(frozen=True)
class BestCheck:
    """Result of the check that a program is a function of its arguments."""

    # SHA-256 of the program's text, hex digits.
    program: str
    # True if every repeated answer was the same. None if the check was not possible.
    passed: bool | None
    # Reason why it failed, or was not possible. Empty if it passed.
    reason: str = ""
    cpu_s: float = 0.0
    # Number of repeated calls. None if the evaluator does not print it.
    calls: int | None = None

    @property
    def sentence(self) -> str:
        """Result in words."""
        if self.passed:
            return f"{describe_check(self.calls, 'the best program')} ({self.cpu_s:.1f} CPU s)"
        if self.passed is None:
            return f"the best program was not checked: {self.reason}"
        return f"REJECTED: the best program is not a function of its arguments: {self.reason}"


def check_best(path: Path) -> BestCheck:
    """Check that a run's best program is a function of its arguments, once per best program. Write ``check.yaml``.

    If the check is not possible, for example because the problem is missing, the reason is a result and not an error,
    and reports show it.
    """
    try:
        program = hash_best(path)
        recorded = read_check(path)
        if recorded is not None and recorded.passed is not None:
            return recorded
        check = _run_check(path, program)
    except (OragentError, OSError) as problem:
        return BestCheck("", None, escape_text(str(problem))[:MAX_REASON])
    write_record(path, CHECK_FILE, asdict(check))
    return check


def read_check(path: Path) -> BestCheck | None:
    """Return the stored check of the present best program. None if it is missing or its file is damaged."""
    return read_record(path, CHECK_FILE, _parse_check)


def _parse_check(tree: dict[str, Any]) -> BestCheck:
    passed = None if tree["passed"] is None else bool(tree["passed"])
    calls = None if tree["calls"] is None else int(tree["calls"])
    return BestCheck(
        str(tree["program"]), passed, escape_text(str(tree["reason"]))[:MAX_REASON], float(tree["cpu_s"]), calls
    )


def _run_check(path: Path, program: str) -> BestCheck:
    scorer = HeldOutScorer(reopen(path, only_read=True))
    if CHECK not in scorer.offers:
        return BestCheck(program, None, describe_missing(CHECK))
    mode = "train" if scorer.folder.problem.about.sizes.get("train") else None
    few = (f"{INSTANCES}={INSTANCES_OF_CHECK}",) if mode and INSTANCES in scorer.offers else ()
    ended = scorer.evaluate(best_text(path), mode, *few, CHECK)
    if ended.status is Status.OK:
        calls = ended.metrics.get(CHECKED)
        return BestCheck(program, True, cpu_s=ended.cpu_s, calls=calls if type(calls) is int else None)
    if ended.status is Status.REJECTED:
        return BestCheck(program, False, escape_text(ended.message)[:MAX_REASON], ended.cpu_s)
    reason = f"the check ended as {ended.status}: {escape_text(ended.message)}"
    return BestCheck(program, None, reason[:MAX_REASON], ended.cpu_s)
