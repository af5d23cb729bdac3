"""Reference objectives of build and revise tasks, and grades of attempts.

By the published rule, an attempt passes if its printed objective lies within a relative tolerance of the reference.
This module also names the kind of each failure. Kinds are tested in a fixed order, and the first that applies counts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass as checked

from oragent._base.errors import WorkspaceError
from oragent.modelling import Sense
from oragent.modelling.capture.program import ProgramOutcome
from oragent.workspace import tables
from oragent.workspace.layout import Mode
from oragent.workspace.reading import read_text, shorten, shorten_path
from oragent.workspace.runner import is_within_tolerance, relative_error
from oragent_benchmarks.workspace.printed import (
    Backing,
    PrintedObjective,
    ProgramAttempt,
    find_backing,
    parse_objective,
)
from oragent_benchmarks.workspace.rubric import ROW, Named, build_row, collect_once, read_rows

# Relative tolerance of the public release.
TOLERANCE = 0.01
# Relative tolerance that is reported in addition to the release's.
STRICT = 1e-6


@checked(frozen=True, config=ROW)
class Reference:
    """The label of one build or revise instance."""

    # Id of the workspace: ``or_space_007_build`` in the public release.
    workspace_id: Named
    mode: Annotated[Literal[Mode.BUILD, Mode.REVISE], Field(validation_alias="task_type")]
    number: Annotated[int, Field(validation_alias="instance_number", ge=0)]
    # Id of the source of the instance.
    instance_id: str
    # Objective of the reference program, in the units of the instance.
    objective: Annotated[float, Field(validation_alias="reference_objective", allow_inf_nan=False)]
    # Maximum relative error of a passing value.
    tolerance: Annotated[float, Field(validation_alias="relative_tolerance", gt=0, lt=1)] = TOLERANCE


@checked(frozen=True, config=ROW)
class Prediction:
    """Predicted status and objective of one instance."""

    workspace_id: Named
    # Status as named by the solver; only ``Optimal`` can pass.
    status: str
    # Value of the objective. None without a solution.
    objective: Annotated[float, Field(strict=True, allow_inf_nan=False)] | None = None


class AttemptOutcome(StrEnum):
    """Outcome of an attempt: passed, or the first kind of failure that applies, in this order."""

    PASSED = "passed"
    NO_ATTEMPT = "no attempt"
    TIMEOUT = "time-out"
    MEMORY = "out of memory"
    RUNTIME_ERROR = "run-time error"
    NO_OBJECTIVE = "no objective printed"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    NOT_PROVEN = "not proven optimal"
    UNREVISED = "unrevised"
    MISSING_CONSTRAINT = "missing constraint"
    WRONG_DATA = "too tight or wrong data"
    WRONG_VALUE = "wrong value"


STATUSES = {
    "infeasible": AttemptOutcome.INFEASIBLE,
    "unbounded": AttemptOutcome.UNBOUNDED,
    "timeout": AttemptOutcome.TIMEOUT,
    "error": AttemptOutcome.RUNTIME_ERROR,
    "runtimeerror": AttemptOutcome.RUNTIME_ERROR,
}


def read_references(path: Path) -> Mapping[str, Reference]:
    """Read a file of reference objectives in the format of the public release; return them by workspace id."""
    reading = tables.read_table(read_text(path))
    table = reading.table
    if table is None or reading.flaws:
        raise WorkspaceError(f"{shorten_path(path)} {reading.flaws[0]}")
    found = []
    for number, row in enumerate(table.rows, 2):
        at = f"{path}:{number}"
        reference = build_row(Reference, dict(zip(table.header, row, strict=True)), at)
        found.append((at, reference.workspace_id, reference))
    return collect_once(found)


def read_predictions(path: Path) -> dict[str, Prediction]:
    """Read predictions, one JSON object per line: ``{"workspace_id", "status", "objective"}``."""
    return read_rows(path, Prediction, "workspace_id")


def workspace_id(mode: Mode, number: int) -> str:
    """Return the name of an instance in the public release."""
    return f"or_space_{number:03d}_{mode}"


@dataclass(frozen=True)
class Grade:
    """Grade of one attempt."""

    workspace_id: str
    outcome: AttemptOutcome
    # Whether it also passes at ``STRICT``.
    strict: bool
    # Graded value. None without a value.
    objective: float | None
    # Relative error of the value. None without a value.
    error: float | None
    # Problem of the output, in one line. Empty if it has no problem.
    note: str = ""
    # Backing of the value, which does not change the outcome. None if solves were not recorded.
    backing: Backing | None = None

    @property
    def is_passed(self) -> bool:
        """True if the attempt passes."""
        return self.outcome is AttemptOutcome.PASSED


def grade_attempt(attempt: ProgramAttempt, reference: Reference, original: float | None = None) -> Grade:
    """Grade an attempt.

    Args:
        attempt: Attempt to grade.
        reference: Label of the instance.
        original: Reference of the version before the revision. None for build.
    """
    printed = parse_objective(attempt.stdout)
    stopped = _early_failure(attempt, printed)
    value = printed.value
    if stopped or value is None:
        return Grade(reference.workspace_id, stopped or AttemptOutcome.NO_OBJECTIVE, False, value, None, printed.note)
    outcome = compare_value(value, reference, original, attempt.direction)
    error = relative_error(value, reference.objective)
    mark = None if attempt.objectives is None else find_backing(printed, attempt.objectives)
    return Grade(reference.workspace_id, outcome, error <= STRICT, value, error, printed.note, mark)


def compare_value(
    value: float, reference: Reference, original: float | None = None, direction: Sense | None = None
) -> AttemptOutcome:
    """Compare a value with the reference: passed, or the kind of error.

    A value better than the reference indicates a missing constraint or too favourable data; a worse one indicates a
    constraint that is too tight, or wrong data. Without the direction, the two cannot be distinguished.
    """
    if is_within_tolerance(value, reference.objective, reference.tolerance):
        return AttemptOutcome.PASSED
    if original is not None and is_within_tolerance(value, original, STRICT):
        return AttemptOutcome.UNREVISED
    if direction is None:
        return AttemptOutcome.WRONG_VALUE
    if direction.sign * (value - reference.objective) < 0:
        return AttemptOutcome.MISSING_CONSTRAINT
    return AttemptOutcome.WRONG_DATA


def _early_failure(attempt: ProgramAttempt, printed: PrintedObjective) -> AttemptOutcome | None:
    """Return the first kind of failure that precedes the comparison of values; None if there are not any."""
    status = attempt.status.casefold()
    kinds = {
        AttemptOutcome.TIMEOUT: attempt.stop is ProgramOutcome.TIME,
        AttemptOutcome.MEMORY: attempt.stop is ProgramOutcome.MEMORY,
        AttemptOutcome.RUNTIME_ERROR: attempt.stop is ProgramOutcome.ERROR,
        AttemptOutcome.NO_OBJECTIVE: printed.value is None,
        AttemptOutcome.INFEASIBLE: status == "infeasible",
        AttemptOutcome.UNBOUNDED: status == "unbounded",
        AttemptOutcome.NOT_PROVEN: status not in {"", "optimal", "infeasible", "unbounded"},
    }
    return next((kind for kind, holds in kinds.items() if holds), None)


@dataclass(frozen=True)
class PredictionScore:
    """Grades of all instances of a mode; instances without a prediction fail."""

    grades: tuple[Grade, ...]

    @property
    def passed_count(self) -> int:
        """Number of instances that pass."""
        return sum(grade.is_passed for grade in self.grades)

    @property
    def strict_count(self) -> int:
        """Number of instances that pass at a relative tolerance of 1e-6."""
        return sum(grade.strict for grade in self.grades)

    @property
    def pass_rate(self) -> float:
        """Pass@1 in percent, over all instances."""
        return 100.0 * self.passed_count / len(self.grades)

    @property
    def outcome_counts(self) -> dict[AttemptOutcome, int]:
        """Number of instances by outcome, in the order of the kinds."""
        counts = Counter(grade.outcome for grade in self.grades)
        return {outcome: counts[outcome] for outcome in AttemptOutcome if counts[outcome]}

    def of_outcome(self, outcome: AttemptOutcome) -> tuple[str, ...]:
        """Return the instances with this outcome."""
        return tuple(grade.workspace_id for grade in self.grades if grade.outcome is outcome)


def grade_predictions(
    predictions: Mapping[str, Prediction],
    references: Iterable[Reference],
    originals: Mapping[int, float] | None = None,
) -> PredictionScore:
    """Grade predictions by the published rule; the denominator is the number of references."""
    by_name = {reference.workspace_id: reference for reference in references}
    strangers = [name for name in predictions if name not in by_name]
    if not by_name:
        raise WorkspaceError("no references: there is nothing to grade predictions against")
    if strangers:
        raise stranger_error(strangers[0], next(iter(by_name)))
    grades = []
    for name, reference in by_name.items():
        original = originals.get(reference.number) if originals and reference.mode is Mode.REVISE else None
        grades.append(_grade_prediction(predictions.get(name), reference, original))
    return PredictionScore(tuple(grades))


def stranger_error(name: str, example: str) -> WorkspaceError:
    """Return the error for a prediction whose instance is not in the set."""
    where = f"a prediction for {shorten(name)}, which is no instance of this set"
    return WorkspaceError(f"{where}; expected ids such as {shorten(example)}")


def _grade_prediction(prediction: Prediction | None, reference: Reference, original: float | None) -> Grade:
    if prediction is None:
        return Grade(reference.workspace_id, AttemptOutcome.NO_ATTEMPT, False, None, None, "no prediction")
    value, status = prediction.objective, prediction.status.strip().casefold()
    if status != "optimal":
        failure = STATUSES.get(status, AttemptOutcome.NOT_PROVEN)
        return Grade(reference.workspace_id, failure, False, value, None, f"status {shorten(prediction.status, 40)}")
    if value is None:
        return Grade(reference.workspace_id, AttemptOutcome.NO_OBJECTIVE, False, None, None, "objective is null")
    error = relative_error(value, reference.objective)
    return Grade(reference.workspace_id, compare_value(value, reference, original), error <= STRICT, value, error)


def predict_unrevised(references: Iterable[Reference], originals: Mapping[int, float]) -> dict[str, Prediction]:
    """Predict that every revised instance keeps the objective of its original, as an unchanged model would."""
    predictions = {}
    for reference in references:
        if reference.number not in originals:
            raise WorkspaceError(
                f"{shorten(reference.workspace_id)} has no original reference; expected build's labels"
            )
        predictions[reference.workspace_id] = Prediction(reference.workspace_id, "Optimal", originals[reference.number])
    return predictions
