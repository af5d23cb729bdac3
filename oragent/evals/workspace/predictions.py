"""Objectives found elsewhere, in the public release's format, graded against its references."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oragent._base.errors import WorkspaceError
from oragent.evals.workspace.grading import STRICT, AttemptOutcome, Grade, Reference, compare_value
from oragent.workspace.layout import Mode
from oragent.workspace.objective import relative_error
from oragent.workspace.reading import finite_number, read_jsonl, shorten, shorten_path

STATUSES = {
    "infeasible": AttemptOutcome.INFEASIBLE,
    "unbounded": AttemptOutcome.UNBOUNDED,
    "timeout": AttemptOutcome.TIMEOUT,
    "error": AttemptOutcome.RUNTIME_ERROR,
    "runtimeerror": AttemptOutcome.RUNTIME_ERROR,
}


@dataclass(frozen=True)
class Prediction:
    """Predicted status and objective of one instance.

    Attributes:
        workspace_id: Id of the instance's workspace.
        status: Status as the solver named it; only ``Optimal`` can pass.
        objective: Value of the objective; None where none was found.
    """

    workspace_id: str
    status: str
    objective: float | None


@dataclass(frozen=True)
class PredictionScore:
    """Grades of all instances of a mode; one without a prediction fails.

    Attributes:
        grades: One for each reference, in their order.
    """

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
        """Pass@1 in per cent, over all instances."""
        return 100.0 * self.passed_count / len(self.grades)

    @property
    def outcome_counts(self) -> dict[AttemptOutcome, int]:
        """Number of instances by outcome, in the order of the kinds."""
        counts = Counter(grade.outcome for grade in self.grades)
        return {outcome: counts[outcome] for outcome in AttemptOutcome if counts[outcome]}

    def of_outcome(self, outcome: AttemptOutcome) -> tuple[str, ...]:
        """The instances that ended in this way."""
        return tuple(grade.workspace_id for grade in self.grades if grade.outcome is outcome)


def read_predictions(path: Path) -> dict[str, Prediction]:
    """Read predictions, one JSON object a line: ``{"workspace_id", "status", "objective"}``.

    Raises:
        WorkspaceError: if a line is none, an id comes twice, or an objective is neither a finite number nor null.
    """
    predictions: dict[str, Prediction] = {}
    for location, row in read_jsonl(path):
        prediction = _read_prediction(row, shorten_path(location))
        if prediction.workspace_id in predictions:
            raise WorkspaceError(
                f"{shorten_path(location)} predicts {shorten(prediction.workspace_id)} a second time; expected one "
                f"an instance"
            )
        predictions[prediction.workspace_id] = prediction
    return predictions


def _read_prediction(row: Mapping[str, Any], location: str) -> Prediction:
    name, status, value = (row.get(key) for key in ("workspace_id", "status", "objective"))
    if not isinstance(name, str) or not name:
        raise WorkspaceError(f"{location} has no workspace_id; expected a text such as or_space_001_build")
    if not isinstance(status, str):
        raise WorkspaceError(f"{location} has no status; expected a text such as Optimal")
    objective = finite_number(value)
    if value is not None and objective is None:
        raise WorkspaceError(
            f"{location}: objective is {shorten(repr(value), 40)}; expected a finite number, or null for none"
        )
    return Prediction(name, status, objective)


def grade_predictions(
    predictions: Mapping[str, Prediction],
    references: Iterable[Reference],
    originals: Mapping[int, float] | None = None,
) -> PredictionScore:
    """Grade predictions by the published rule; the denominator is the number of references.

    Args:
        predictions: Predictions by workspace id.
        references: References of all instances of one mode or of several.
        originals: Reference of the version before the revision, by the instance's number; None for build.

    Raises:
        WorkspaceError: if a prediction is for an instance that has no reference, or there is no reference at all.
    """
    by_name = {reference.workspace_id: reference for reference in references}
    strangers = [name for name in predictions if name not in by_name]
    if not by_name:
        raise WorkspaceError("no references: there is nothing to grade predictions against")
    if strangers:
        raise WorkspaceError(f"a prediction for {shorten(strangers[0])}, which is no instance of this set; "
        f"expected ids "
                             f"such as {shorten(next(iter(by_name)))}")  # fmt: skip
    return PredictionScore(tuple(
        _grade_prediction(predictions.get(name), reference, _original_of(reference, originals))
        for name, reference in by_name.items()
    ))  # fmt: skip


def _original_of(reference: Reference, originals: Mapping[int, float] | None) -> float | None:
    return originals.get(reference.number) if originals and reference.mode is Mode.REVISE else None


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
    """Predict that nothing changed: the original's reference for every revise instance, the floor of each report.

    Raises:
        WorkspaceError: if an instance has no original reference.
    """
    predictions = {}
    for reference in references:
        if reference.number not in originals:
            raise WorkspaceError(
                f"{shorten(reference.workspace_id)} has no original reference; expected build's labels"
            )
        predictions[reference.workspace_id] = Prediction(reference.workspace_id, "Optimal", originals[reference.number])
    return predictions
