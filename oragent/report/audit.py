"""The audit of a run's best program: fresh processes that know one call's arguments repeat its decisions."""

from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

from oragent._base import files
from oragent._base.bounded_yaml import load_yaml
from oragent._base.errors import OragentError
from oragent._base.plain import escape_text
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.evaluation.offers import AUDIT, describe_missing
from oragent.report.held_out import HeldOutScorer, best_text, hash_text
from oragent.search.folder import reopen

FILE = "audit.yaml"
COUNT, SECONDS = "audited", "audit_seconds"  # metrics of an audit: repeated decisions, and their CPU seconds
FIRST_DECISIONS, MOST_DECISIONS = 30, 100_000
LIMIT_S = 120  # CPU seconds for further decisions, by what the first ones took
PATIENCE = 60  # thousands of processes take their time
WORD = 300  # characters of a reason


@dataclass(frozen=True)
class BestAudit:
    """How the audit of a program ended.

    Attributes:
        program: SHA-256 of the program's text, hex digits.
        passed: True if every repeated decision was the same; None if the audit could not be done.
        reason: Reason why it failed, or could not be done; empty where it passed.
        cpu_s: CPU seconds that it took.
        decisions: Number of decisions that were repeated; None if the evaluator does not print it.
    """

    program: str
    passed: bool | None
    reason: str = ""
    cpu_s: float = 0.0
    decisions: int | None = None

    @property
    def sentence(self) -> str:
        """The result in words."""
        if self.passed:
            number = "some" if self.decisions is None else f"{self.decisions:,}"
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
        return BestAudit("", None, escape_text(str(problem))[:WORD])
    files.replace_file(path / FILE, yaml.safe_dump(asdict(audit), sort_keys=False))
    return audit


def read_audit(path: Path) -> BestAudit | None:
    """Return the stored audit of the present best program; None if there is none or its file is broken."""
    try:
        tree = load_yaml(path / FILE)
        passed = None if tree["passed"] is None else bool(tree["passed"])
        decisions = None if tree["decisions"] is None else int(tree["decisions"])
        reason, cpu_s = escape_text(str(tree["reason"]))[:WORD], float(tree["cpu_s"])
        audit = BestAudit(str(tree["program"]), passed, reason, cpu_s, decisions)
        return audit if hash_text(best_text(path)) == audit.program else None
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
        if further.status is not Status.TIMEOUT:  # then the first ones stand
            ended, decisions = further, further.metrics.get(COUNT)
    if ended.status is Status.OK:
        return BestAudit(program, True, cpu_s=cpu_s, decisions=decisions if type(decisions) is int else None)
    if ended.status is Status.REJECTED:
        return BestAudit(program, False, escape_text(ended.message)[:WORD], cpu_s)
    return BestAudit(program, None, f"the audit ended as {ended.status}: {escape_text(ended.message)}"[:WORD], cpu_s)


def _repeat_decisions(scorer: HeldOutScorer, path: Path, decisions: int) -> Evaluation:
    return scorer.evaluate(best_text(path), None, f"{AUDIT}={decisions}", patience=PATIENCE)


def _count_affordable(first: Evaluation) -> int:
    """Return the number of decisions that take about `LIMIT_S` CPU seconds; 0 if there are no more or it is unknown."""
    decisions, seconds = first.metrics.get(COUNT), first.metrics.get(SECONDS)
    if first.status is not Status.OK or decisions != FIRST_DECISIONS or not isinstance(seconds, int | float):
        return 0
    return MOST_DECISIONS if seconds <= 0 else int(min(MOST_DECISIONS, decisions * LIMIT_S / seconds))
