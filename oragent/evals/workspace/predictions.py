"""Objectives found elsewhere, in the public release's format, graded against its references."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oragent._base.errors import WorkspaceError
from oragent.evals.workspace.grading import STRICT, AttemptOutcome, Grade, compare
from oragent.evals.workspace.references import Reference
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
    """What somebody found for one instance.

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
    def passed(self) -> int:
        """How many pass."""
        return sum(grade.passed for grade in self.grades)

    @property
    def strict(self) -> int:
        """How many pass at a relative tolerance of 1e-6."""
        return sum(grade.strict for grade in self.grades)

    @property
    def rate(self) -> float:
        """Pass@1 in per cent, over all instances."""
        return 100.0 * self.passed / len(self.grades)

    @property
    def outcomes(self) -> dict[AttemptOutcome, int]:
        """How many end in each way that occurs, in the order of the kinds."""
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
    found: dict[str, Prediction] = {}
    for place, row in read_jsonl(path):
        prediction = _prediction(row, shorten_path(place))
        if prediction.workspace_id in found:
            raise WorkspaceError(
                f"{shorten_path(place)} predicts {shorten(prediction.workspace_id)} a second time; expected one "
                f"an instance"
            )
        found[prediction.workspace_id] = prediction
    return found


def _prediction(row: Mapping[str, Any], place: str) -> Prediction:
    name, status, value = (row.get(key) for key in ("workspace_id", "status", "objective"))
    if not isinstance(name, str) or not name:
        raise WorkspaceError(f"{place} has no workspace_id; expected a text such as or_space_001_build")
    if not isinstance(status, str):
        raise WorkspaceError(f"{place} has no status; expected a text such as Optimal")
    objective = finite_number(value)
    if value is not None and objective is None:
        raise WorkspaceError(
            f"{place}: objective is {shorten(repr(value), 40)}; expected a finite number, or null for none"
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
    wanted = {reference.workspace_id: reference for reference in references}
    strangers = [name for name in predictions if name not in wanted]
    if not wanted:
        raise WorkspaceError("no references: there is nothing to grade predictions against")
    if strangers:
        raise WorkspaceError(f"a prediction for {shorten(strangers[0])}, which is no instance of this set; "
        f"expected ids "
                             f"such as {shorten(next(iter(wanted)))}")  # fmt: skip
    return PredictionScore(tuple(
        _grade(predictions.get(name), reference, _original(reference, originals))
        for name, reference in wanted.items()
    ))  # fmt: skip


def _original(reference: Reference, originals: Mapping[int, float] | None) -> float | None:
    return originals.get(reference.number) if originals and reference.mode is Mode.REVISE else None


def _grade(prediction: Prediction | None, reference: Reference, original: float | None) -> Grade:
    if prediction is None:
        return Grade(reference.workspace_id, AttemptOutcome.NO_ATTEMPT, False, None, None, "no prediction")
    value, status = prediction.objective, prediction.status.strip().casefold()
    if status != "optimal":
        failure = STATUSES.get(status, AttemptOutcome.NOT_PROVEN)
        return Grade(reference.workspace_id, failure, False, value, None, f"status {shorten(prediction.status, 40)}")
    if value is None:
        return Grade(reference.workspace_id, AttemptOutcome.NO_OBJECTIVE, False, None, None, "objective is null")
    error = relative_error(value, reference.objective)
    return Grade(reference.workspace_id, compare(value, reference, original), error <= STRICT, value, error)


def unrevised(references: Iterable[Reference], originals: Mapping[int, float]) -> dict[str, Prediction]:
    """Predict that nothing changed: the original's reference for every revise instance, the floor of each report.

    Raises:
        WorkspaceError: if an instance has no original reference.
    """
    found = {}
    for reference in references:
        if reference.number not in originals:
            raise WorkspaceError(
                f"{shorten(reference.workspace_id)} has no original reference; expected build's labels"
            )
        found[reference.workspace_id] = Prediction(reference.workspace_id, "Optimal", originals[reference.number])
    return found
