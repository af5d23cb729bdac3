"""Programs of a run scored again, outside of the search: on the held-out set, by the present evaluator, or audited.

No search reads the held-out set, and reports read it only on request. In an audit fresh processes that know one call's
arguments repeat the decisions of the best program.
"""

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from oragent._base import files
from oragent._base.bounded import load_yaml
from oragent._base.errors import OragentError, ProblemError, StoreError
from oragent._base.plain import escape_text
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job, run_evaluation
from oragent.evaluation.devices import AUTO, CPU
from oragent.evaluation.offers import AUDIT, HELD_OUT_PATIENCE, describe_missing, evaluator_arguments, find_options
from oragent.report.chance import compare_pairs, read_paired
from oragent.search.candidate import Committed
from oragent.search.folder import RunFolder, best_file, reopen
from oragent.search.store import Store

FILE = "test.yaml"
# of a program
MOST_BYTES = 4 << 20


RESCORED_FILE = "rescored.yaml"
AUDIT_FILE = "audit.yaml"
# metrics of an audit: repeated decisions, and their CPU seconds
COUNT, SECONDS = "audited", "audit_seconds"
FIRST_DECISIONS, MOST_DECISIONS = 30, 100_000
# CPU seconds for further decisions, by what the first ones took
LIMIT_S = 120
# thousands of processes take their time
PATIENCE = 60
# characters of a reason
MOST_REASON = 300


@dataclass(frozen=True)
class HeldOutScorer:
    """Scores programs of a run outside of the search, with the longer limits that larger sets need."""

    folder: RunFolder
    run: Callable[[Job], Evaluation] = run_evaluation
    # device that networks compute on; None: the one that the run is pinned to
    device: str | None = None

    @property
    def device_name(self) -> str:
        """Device that networks compute on."""
        return self.device or self.folder.config.device

    @cached_property
    def offers(self) -> frozenset[str]:
        """Options that the evaluator has beyond the contract."""
        return find_options(self.folder.problem, self.folder.root, self.run)

    @cached_property
    def seed(self) -> str:
        """Text of the seed heuristic, as the run began with it."""
        with Store(self.folder.database, readonly=True) as store:
            return store.records(0)[0].candidate.source

    def evaluate(
        self, source: str, mode: str | None, *arguments: str, patience: float = HELD_OUT_PATIENCE
    ) -> Evaluation:
        """Evaluate a program in a mode, with options of the evaluator's."""
        return self.run(self.make_job(source, mode, *arguments, patience=patience))

    def make_job(self, source: str, mode: str | None, *arguments: str, patience: float) -> Job:
        """Make the job of a program in a mode, with options of the evaluator's; at one size where the run was."""
        problem, config = self.folder.problem, self.folder.config
        evaluator_options = evaluator_arguments(
            problem, config.limits, self.offers, patience=patience, device=self.device_name, protocol=config.protocol
        )
        limits, words = problem.make_limits(config.limits, patience), (*evaluator_options, *arguments)
        return problem.make_job(source, self.folder.root, limits, mode, config.problem_size, words)

    def score(self, source: str, mode: str, *arguments: str) -> dict[str, Any]:
        """Return the metrics of a program, and its score; a ProblemError if it has none."""
        evaluation = self.evaluate(source, mode, *arguments)
        if evaluation.status is not Status.OK:
            raise ProblemError(f"{self.folder.problem.name} in mode {mode}: {evaluation.status}: {evaluation.message}")
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in evaluation.metrics.items()}
        return {**plain, "score": evaluation.score}


def best_text(path: Path) -> str:
    """Read the text of a run's best program; a StoreError if there is none, or it cannot be read."""
    best = best_file(path)
    if not best.is_file():
        raise StoreError(f"{path} has no {best.name}: nothing was scored")
    try:
        return files.read_bounded(best, MOST_BYTES)
    except (OSError, UnicodeDecodeError) as problem:
        raise StoreError(f"cannot read {best}: {' '.join(str(problem).split())[:300]}") from None


def hash_text(text: str) -> str:
    """Return the SHA-256 of a program's text as hex digits; it names the program that figures belong to."""
    return hashlib.sha256(text.encode()).hexdigest()


def score_held_out(path: Path, scorer: HeldOutScorer | None = None) -> dict[str, Any]:
    """Score a run's seed and best program, paired, in mode ``test``; write ``test.yaml``, or take figures from it."""
    scorer = scorer or HeldOutScorer(reopen(path, only_read=True))
    best, recorded = best_text(path), read_held_out(path)
    about = hash_identity(scorer)
    if recorded is not None and recorded.get("about") == about:
        return {name: recorded[name] for name in ("seed", "best", "paired")}
    figures: dict[str, Any] = {"seed": scorer.score(scorer.seed, "test"), "best": scorer.score(best, "test")}
    figures["paired"] = paired_figures(scorer, figures["seed"], figures["best"])
    tree = {"program": hash_text(best), "about": about, **figures}
    files.replace_file(path / FILE, yaml.safe_dump(tree, sort_keys=False))
    return figures


def hash_identity(scorer: HeldOutScorer) -> str:
    """Return a hash of what figures depend on beside the best program: evaluator, seed heuristic, size, device."""
    problem = scorer.folder.problem
    evaluator = problem.evaluator.read_text(encoding="utf-8", errors="replace")
    # Figures of before there was a choice stay known.
    if scorer.device_name in (AUTO, CPU):
        device = []
    else:
        device = [scorer.device_name]
    return hash_text("\0".join([evaluator, scorer.seed, str(scorer.folder.config.problem_size), *device]))


def paired_figures(scorer: HeldOutScorer, seed: dict[str, Any], best: dict[str, Any]) -> dict[str, Any] | None:
    """Return the paired test of the best program against the seed as a tree, or None without metrics by instance."""
    paired = compare_pairs(scorer.folder.problem.about.direction, seed, best)
    if paired is None:
        return None
    return asdict(paired)


def read_held_out(path: Path) -> dict[str, Any] | None:
    """Return the stored figures of the held-out set for the present best program, or None."""
    file = path / FILE
    try:
        tree = load_yaml(file)
        if tree["program"] != hash_text(best_text(path)):
            return None
        read_paired(tree.get("paired"))
        figures = {name: {**tree[name], "score": float(tree[name]["score"])} for name in ("seed", "best")}
        return {**figures, "paired": tree.get("paired"), "about": tree.get("about")}
    except (StoreError, OSError, yaml.YAMLError, KeyError, TypeError, ValueError, ArithmeticError, AttributeError):
        return None


@dataclass(frozen=True)
class Rescored:
    """A program with its two scores."""

    # id of the candidate; the seed heuristic, as the run began with it, is ``0.0``
    id: str
    # score that the run gave it
    recorded_score: float
    new_score: float | None
    # how the new evaluation ended
    status: str
    # reason where it has no score
    message: str = ""


def rescore_run(path: Path, limit: int = 20, run: Callable[[Job], Evaluation] = run_evaluation) -> list[Rescored]:
    """Score the seed and the best programs of a run again, by their scores before; write ``rescored.yaml``."""
    folder = reopen(path, changed=True, only_read=True)
    scorer = HeldOutScorer(folder, run)
    programs = _choose_programs(folder, limit)
    scorer.offers  # noqa: B018 asked once, before several threads ask
    with ThreadPoolExecutor(folder.config.cores) as pool:
        ends = list(pool.map(lambda record: scorer.evaluate(record.source, None, patience=1), programs))
    rescored = [_make_rescored(record, end) for record, end in zip(programs, ends, strict=True)]
    # names in the file
    renamed = {"recorded_score": "before", "new_score": "now"}
    tree = [{renamed.get(name, name): value for name, value in vars(record).items()} for record in rescored]
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
class BestAudit:
    """How the audit of a program ended."""

    # SHA-256 of the program's text, hex digits
    program: str
    # true if every repeated decision was the same; None if the audit could not be done
    passed: bool | None
    # reason why it failed, or could not be done; empty where it passed
    reason: str = ""
    cpu_s: float = 0.0
    # number of decisions that were repeated; None if the evaluator does not print it
    decisions: int | None = None

    @property
    def sentence(self) -> str:
        """The result in words."""
        if self.passed:
            if self.decisions is None:
                number = "some"
            else:
                number = f"{self.decisions:,}"
            return (
                f"{number} decisions of the best program were each put to a process that knew that call's arguments "
                f"alone, and none differed ({self.cpu_s:.0f} CPU s)"
            )
        if self.passed is None:
            return f"the best program was not audited: {self.reason}"
        return f"REJECTED: the best program does not decide by a call's arguments alone: {self.reason}"


def audit_best(path: Path) -> BestAudit:
    """Audit random decisions of a run's best program, once for each best program, and write ``audit.yaml``.

    Repeat `FIRST_DECISIONS`, then as many as take about `LIMIT_S` CPU seconds, at most all.

    A reason that prevents the audit, such as a missing problem, is a result and not an error: reports show it.
    """
    try:
        program = hash_text(best_text(path))
        recorded = read_audit(path)
        if recorded is not None and recorded.program == program and recorded.passed is not None:
            return recorded
        audit = _run_audit(path, program)
    except (OragentError, OSError) as problem:
        return BestAudit("", None, escape_text(str(problem))[:MOST_REASON])
    files.replace_file(path / AUDIT_FILE, yaml.safe_dump(asdict(audit), sort_keys=False))
    return audit


def read_audit(path: Path) -> BestAudit | None:
    """Return the stored audit of the present best program; None if there is none or its file is broken."""
    try:
        tree = load_yaml(path / AUDIT_FILE)
        if tree["passed"] is None:
            passed = None
        else:
            passed = bool(tree["passed"])
        if tree["decisions"] is None:
            decisions = None
        else:
            decisions = int(tree["decisions"])
        reason, cpu_s = escape_text(str(tree["reason"]))[:MOST_REASON], float(tree["cpu_s"])
        audit = BestAudit(str(tree["program"]), passed, reason, cpu_s, decisions)
        if hash_text(best_text(path)) == audit.program:
            return audit
        return None
    except (OragentError, OSError, yaml.YAMLError, KeyError, TypeError, ValueError, ArithmeticError):
        return None


def _run_audit(path: Path, program: str) -> BestAudit:
    scorer = HeldOutScorer(reopen(path, only_read=True))
    if AUDIT not in scorer.offers:
        return BestAudit(program, None, describe_missing(AUDIT))
    ended = _repeat_decisions(scorer, path, FIRST_DECISIONS)
    more = _count_affordable(ended)
    cpu_s, decisions = ended.cpu_s, ended.metrics.get(COUNT)
    if more > FIRST_DECISIONS:
        further = _repeat_decisions(scorer, path, more)
        cpu_s += further.cpu_s
        # then the first ones stand
        if further.status is not Status.TIMEOUT:
            ended, decisions = further, further.metrics.get(COUNT)
    if ended.status is Status.OK:
        return BestAudit(program, True, cpu_s=cpu_s, decisions=decisions if type(decisions) is int else None)
    if ended.status is Status.REJECTED:
        return BestAudit(program, False, escape_text(ended.message)[:MOST_REASON], cpu_s)
    return BestAudit(
        program, None, f"the audit ended as {ended.status}: {escape_text(ended.message)}"[:MOST_REASON], cpu_s
    )


def _repeat_decisions(scorer: HeldOutScorer, path: Path, decisions: int) -> Evaluation:
    return scorer.evaluate(best_text(path), None, f"{AUDIT}={decisions}", patience=PATIENCE)


def _count_affordable(first: Evaluation) -> int:
    """Return the number of decisions that take about `LIMIT_S` CPU seconds; 0 if there are no more or it is unknown."""
    decisions, seconds = first.metrics.get(COUNT), first.metrics.get(SECONDS)
    if first.status is not Status.OK or decisions != FIRST_DECISIONS or not isinstance(seconds, int | float):
        return 0
    if seconds <= 0:
        return MOST_DECISIONS
    return int(min(MOST_DECISIONS, decisions * LIMIT_S / seconds))
