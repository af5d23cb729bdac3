"""Whether an attempt passes, and what kind of failure it is where it does not.

The published rule takes the printed objective: it passes where it lies within a relative tolerance of the reference.
The kinds of failure are ours: they are tried in a fixed order, and the first that holds is the kind.
"""

from dataclasses import dataclass
from enum import StrEnum

from oragent.evals.workspace.references import Reference
from oragent.workspace import objective
from oragent.workspace.objective import (
    Backing,
    ObjectiveSense,
    PrintedObjective,
    ProgramAttempt,
    StopReason,
    is_within_tolerance,
    relative_error,
)

STRICT = 1e-6  # relative tolerance that is reported beside the release's


class AttemptOutcome(StrEnum):
    """What became of an attempt: passed, or the first kind of failure that holds, in this order."""

    PASSED = "passed"
    NO_ATTEMPT = "no attempt"
    TIMEOUT = "time-out"
    MEMORY = "out of memory"
    RUNTIME_ERROR = "run-time error"
    NO_MODEL = "no model solved"
    NO_OBJECTIVE = "no objective printed"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    NOT_PROVEN = "not proven optimal"
    UNREVISED = "unrevised"
    MISSING_CONSTRAINT = "missing constraint"
    WRONG_DATA = "too tight or wrong data"
    WRONG_VALUE = "wrong value"


@dataclass(frozen=True)
class Grade:
    """The verdict on one attempt.

    Attributes:
        workspace_id: Id of the instance's workspace.
        outcome: Outcome: passed, or the kind of failure.
        strict: Whether it also passes at ``STRICT``.
        objective: Value that was graded; None where there was none.
        error: Relative error of the value; None where there was no value.
        note: Note on what was wrong with the output, one line; empty where nothing was.
        backing: Backing of the value, a mark that does not change the outcome; None where nobody watched.
    """

    workspace_id: str
    outcome: AttemptOutcome
    strict: bool
    objective: float | None
    error: float | None
    note: str = ""
    backing: Backing | None = None

    @property
    def passed(self) -> bool:
        """Whether it counts."""
        return self.outcome is AttemptOutcome.PASSED


def grade(
    attempt: ProgramAttempt, reference: Reference, original: float | None = None, demand_model: bool = False
) -> Grade:
    """Grade an attempt.

    Args:
        attempt: Attempt to grade: what came of the program.
        reference: Label of the instance.
        original: Reference of the version before the revision; None for build.
        demand_model: Whether a program that solves no model fails; the published rule lets it pass.
    """
    printed = objective.parse_objective(attempt.stdout)
    stopped = _stopped(attempt, printed, demand_model)
    value = printed.value
    if stopped or value is None:
        return Grade(reference.workspace_id, stopped or AttemptOutcome.NO_OBJECTIVE, False, value, None, printed.note)
    outcome = compare(value, reference, original, attempt.direction)
    error = relative_error(value, reference.objective)
    mark = None if attempt.objectives is None else objective.find_backing(printed, attempt.objectives)
    return Grade(reference.workspace_id, outcome, error <= STRICT, value, error, printed.note, mark)


def compare(
    value: float, reference: Reference, original: float | None = None, direction: ObjectiveSense | None = None
) -> AttemptOutcome:
    """What a value says: that it passes, or how it is wrong.

    A better value than the reference's can only come of a constraint too few, or of data too kind; a worse one of a
    constraint too tight, or of wrong data. Without the direction, neither is known.
    """
    if is_within_tolerance(value, reference.objective, reference.tolerance):
        return AttemptOutcome.PASSED
    if original is not None and is_within_tolerance(value, original, STRICT):
        return AttemptOutcome.UNREVISED
    if direction is None:
        return AttemptOutcome.WRONG_VALUE
    better = value < reference.objective if direction is ObjectiveSense.MINIMIZE else value > reference.objective
    return AttemptOutcome.MISSING_CONSTRAINT if better else AttemptOutcome.WRONG_DATA


def _stopped(attempt: ProgramAttempt, printed: PrintedObjective, demand_model: bool) -> AttemptOutcome | None:
    """The kinds of failure that come before any comparison of values, in their order."""
    status = attempt.status.casefold()
    kinds = {
        AttemptOutcome.TIMEOUT: attempt.stop is StopReason.TIMEOUT,
        AttemptOutcome.MEMORY: attempt.stop is StopReason.MEMORY,
        AttemptOutcome.RUNTIME_ERROR: attempt.stop is StopReason.ERROR,
        AttemptOutcome.NO_MODEL: demand_model and attempt.objectives == (),
        AttemptOutcome.NO_OBJECTIVE: printed.value is None,
        AttemptOutcome.INFEASIBLE: status == "infeasible",
        AttemptOutcome.UNBOUNDED: status == "unbounded",
        AttemptOutcome.NOT_PROVEN: status not in {"", "optimal", "infeasible", "unbounded"},
    }
    return next((kind for kind, holds in kinds.items() if holds), None)


def release_label(attempt: ProgramAttempt, grade: Grade) -> str:
    """The name that the public release gives to a failure; empty where the attempt passed.

    Its names tell what Python said: ``TypeError``, ``NameError``, ``module_not_found``, ``RuntimeError`` for any other
    exception, ``EmptyOutput``, ``ApiException`` where no program came, and ``WrongValue`` for all the rest.
    """
    if grade.passed:
        return ""
    if grade.outcome is AttemptOutcome.NO_ATTEMPT:
        return "ApiException"
    if attempt.stop is not StopReason.ENDED:
        last = (attempt.stderr.strip().splitlines() or [""])[-1].partition(":")[0]
        names = {"TypeError": "TypeError", "NameError": "NameError", "UnboundLocalError": "NameError",
                 "ModuleNotFoundError": "module_not_found"}  # fmt: skip
        return names.get(last, "RuntimeError")
    return "WrongValue" if attempt.stdout.strip() else "EmptyOutput"
