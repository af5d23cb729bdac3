"""What the labels of a release are worth: against its own records, and against answers that say nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from oragent._base.errors import WorkspaceError
from oragent.evals.workspace.importing import Release
from oragent.evals.workspace.predictions import Prediction, grade_predictions, unrevised
from oragent.evals.workspace.references import workspace_id
from oragent.evals.workspace.rubric import coverage, exact_decisions
from oragent.workspace.layout import Mode
from oragent.workspace.objective import Backing, relative_error
from oragent.workspace.records import VersionRecords, read_version

VERSIONS = {Mode.BUILD: "original", Mode.REVISE: "revised"}  # whose record should agree with whose reference
OFF = 1e-6  # relative difference from which a reference is off its record


@dataclass(frozen=True)
class RecordAudit:
    """The records of explain against the references of build and revise.

    Attributes:
        solutions: Solver records, notes included.
        relaxations: Number of solver records, notes included.
        notes: Number of records of linear relaxations.
        rounded: Number of records that only note what a search of the program's own found.
        unbacked: Number of programs that print the value of a model, to fewer digits.
        off: References that differ from the record, by mode and number, with the relative difference.
        failing: References that the record itself does not pass.
    """

    solutions: int
    relaxations: int
    notes: int
    rounded: int
    unbacked: tuple[tuple[Mode, int], ...]
    off: Mapping[tuple[Mode, int], float]
    failing: tuple[tuple[Mode, int], ...]


@dataclass(frozen=True)
class RubricAudit:
    """The checklists of explain, and what answers cover that explain nothing.

    Attributes:
        exact: Number of exact criteria.
        semantic: Number of semantic criteria.
        entities: Number of entities of all exact criteria.
        short_answers: Mean coverage of the reference answers, points, semantic criteria not counted as hit.
        echo: Mean coverage of the question given back, points.
    """

    exact: int
    semantic: int
    entities: int
    short_answers: float
    echo: float


def audit_records(release: Release) -> RecordAudit:
    """Compare the references of a release with its own records.

    Raises:
        WorkspaceError: if a record is no JSON object.
    """
    versions = _versions(release)
    off, failing = {}, []
    for key, reference in release.references.items():
        recorded = versions[key].objective if key in versions else None
        error = None if recorded is None else relative_error(recorded, reference.objective)
        if error is not None and error > OFF:
            off[key] = error
            failing += [key] if error > reference.tolerance else []
    backing = {key: records.backing for key, records in versions.items() if records.solved_models}
    return RecordAudit(
        solutions=sum(len(records.solutions) for records in versions.values()),
        relaxations=sum(len(records.relaxations) for records in versions.values()),
        notes=sum(solution.note for records in versions.values() for solution in records.solutions),
        rounded=sum(one is Backing.ROUNDED for one in backing.values()),
        unbacked=tuple(key for key, one in backing.items() if one is Backing.OTHER),
        off=off,
        failing=tuple(failing),
    )


def _versions(release: Release) -> dict[tuple[Mode, int], VersionRecords]:
    """Records by the mode whose reference they should agree with, and the number."""
    found = {}
    for number, workspace in release.of_mode(Mode.EXPLAIN).items():
        for mode, version in VERSIONS.items():
            records = read_version(workspace, version)
            if records is not None:
                found[mode, number] = records
    return found


def audit_rubrics(release: Release) -> RubricAudit:
    """Count the checklists of a release and what answers cover that explain nothing.

    Raises:
        WorkspaceError: if there is no rubric.
    """
    rubrics = release.rubrics.values()
    if not rubrics:
        raise WorkspaceError("the file of rubrics is empty; expected one line for each question")

    def mean_coverage(answers: Iterable[str]) -> float:
        points = [
            coverage(rubric, exact_decisions(rubric, answer), {one.id: False for one in rubric.semantic})
            for rubric, answer in zip(rubrics, answers, strict=True)
        ]
        return sum(points) / len(points)

    return RubricAudit(
        exact=sum(len(rubric.exact) for rubric in rubrics),
        semantic=sum(len(rubric.semantic) for rubric in rubrics),
        entities=sum(rubric.atoms - len(rubric.semantic) for rubric in rubrics),
        short_answers=mean_coverage(rubric.short_answer for rubric in rubrics),
        echo=mean_coverage(rubric.question for rubric in rubrics),
    )


def recorded(release: Release, mode: Mode) -> dict[str, Prediction]:
    """Predict what the release's own records say: of the original for build, of the revised version for revise.

    Raises:
        WorkspaceError: if a record is no JSON object.
    """
    return {
        workspace_id(mode, number): Prediction(workspace_id(mode, number), "Optimal", records.objective)
        for (kind, number), records in _versions(release).items()
        if kind is mode
    }


def left_alone(release: Release) -> tuple[int, ...]:
    """Numbers of the revisions that pass with the original's reference: the floor of doing nothing."""
    originals = {number: one.objective for (mode, number), one in release.references.items() if mode is Mode.BUILD}
    revised = [one for (mode, number), one in release.references.items() if mode is Mode.REVISE and number in originals]
    if not revised:
        return ()
    score = grade_predictions(unrevised(revised, originals), revised, originals)
    return tuple(one.number for one, grade in zip(revised, score.grades, strict=True) if grade.passed)
