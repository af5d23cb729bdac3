"""Audit of a release: counts and comparisons of its files, records and labels."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from oragent._base.errors import WorkspaceError
from oragent.evals.workspace.grading import Prediction, grade_predictions, predict_unrevised, workspace_id
from oragent.evals.workspace.importing import Release
from oragent.evals.workspace.printed import Backing
from oragent.evals.workspace.release_records import VersionRecords, read_version
from oragent.evals.workspace.rubric import coverage_points, exact_decisions
from oragent.evals.workspace.views import RevisionView, fitting_variant
from oragent.workspace import tables
from oragent.workspace.layout import FileRole, Mode, WorkspaceLayout
from oragent.workspace.objective import relative_error
from oragent.workspace.reading import read_text

PANDAS = re.compile(r"^\s*(?:import|from) pandas\b", re.MULTILINE)


# Version whose records should agree with the references of a mode.
VERSIONS = {Mode.BUILD: "original", Mode.REVISE: "revised"}
# Relative difference from which a reference disagrees with its record.
OFF = 1e-6


@dataclass(frozen=True)
class TableAudit:
    """Properties of the tables of build. The numbers identify instances."""

    # Instances with a table in addition to the parameters.
    with_tables: tuple[int, ...]
    # Instances with an empty table.
    empty_tables: tuple[int, ...]
    # Instances with an empty file of parameters.
    empty_parameters: tuple[int, ...]
    # Instances with a header of parameters but no rows.
    bare_parameters: tuple[int, ...]
    # Instances with a parameter without a value.
    valueless: tuple[int, ...]
    # Instances with a file whose rows differ in length. Only readers of plain CSV accept it.
    uneven: tuple[int, ...]
    # Instances with spaces after the commas of the parameters' header.
    spaced: tuple[int, ...]


@dataclass(frozen=True)
class CodeAudit:
    """Programs of the originals of revise. Empty for a copy of the release without programs."""

    # Number of originals with a program, by the program's name.
    files: Mapping[str, int]
    # Numbers of the originals whose program imports pandas, which fails on uneven tables.
    pandas: tuple[int, ...]


def audit_tables(workspaces: Mapping[int, WorkspaceLayout]) -> TableAudit:
    """Count properties of the tables and parameters of some workspaces."""
    numbers_by_trait: dict[str, set[int]] = {name: set() for name in TableAudit.__dataclass_fields__}
    for number, workspace in workspaces.items():
        for path, file in workspace.of_role(FileRole.TABLE, FileRole.PARAMETERS).items():
            if path.endswith(".csv"):
                for name in _table_traits(path, read_text(file)):
                    numbers_by_trait[name].add(number)
    return TableAudit(**{name: tuple(sorted(numbers)) for name, numbers in numbers_by_trait.items()})


def _table_traits(path: str, text: str) -> list[str]:
    table, general = tables.read_table(text).table, path.endswith(tables.PARAMETERS_FILE)
    if general:
        traits = []
    else:
        traits = ["with_tables"]
    if table is None:
        return [*traits, "empty_parameters" if general else "empty_tables"]
    if any(len(row) != len(table.header) for row in table.rows):
        traits.append("uneven")
    if general:
        entries, _ = tables.read_parameters(table)
        if not table.rows:
            traits += ["bare_parameters"]
        else:
            traits += []
        if any(not entry.value for entry in entries):
            traits += ["valueless"]
        else:
            traits += []
        if any(name != name.strip() for name in table.header):
            traits += ["spaced"]
        else:
            traits += []
    return traits


def audit_code(workspaces: Mapping[int, WorkspaceLayout]) -> CodeAudit:
    """Count the programs of the originals of some workspaces."""
    names: Counter[str] = Counter()
    pandas = []
    for number, workspace in workspaces.items():
        code = [file for path, file in workspace.of_role(FileRole.CODE).items() if path.startswith("original/")]
        names.update(file.name for file in code)
        if any(PANDAS.search(read_text(file)) for file in code):
            pandas += [number]
        else:
            pandas += []
    return CodeAudit(dict(sorted(names.items())), tuple(pandas))


@dataclass(frozen=True)
class RecordAudit:
    """Records of explain, compared with the references of build and revise."""

    # Number of solver records, including notes.
    solutions: int
    # Number of records of linear relaxations.
    relaxations: int
    # Number of records that only note the result of a program's own search.
    notes: int
    # Number of programs that print the value of a model with fewer digits.
    rounded: int
    # Programs that print a value without a solver record, by mode and number.
    unbacked: tuple[tuple[Mode, int], ...]
    # Relative differences of references that disagree with the record, by mode and number.
    off: Mapping[tuple[Mode, int], float]
    # References whose own record fails their tolerance.
    failing: tuple[tuple[Mode, int], ...]


@dataclass(frozen=True)
class RubricAudit:
    """Checklists of explain, and the coverage of answers that explain nothing."""

    exact: int
    semantic: int
    # Number of entities in all exact criteria.
    entities: int
    # Mean coverage of the reference answers, in points. Semantic criteria count as missed.
    short_answers: float
    # Mean coverage of the question itself as an answer, in points.
    echo: float


def audit_records(release: Release) -> RecordAudit:
    """Compare the references of a release with its own records."""
    versions = _label_records(release)
    off, failing = {}, []
    for key, reference in release.references.items():
        if key in versions:
            recorded = versions[key].objective
        else:
            recorded = None
        if recorded is None:
            error = None
        else:
            error = relative_error(recorded, reference.objective)
        if error is not None and error > OFF:
            off[key] = error
            if error > reference.tolerance:
                failing += [key]
            else:
                failing += []
    backing = {key: records.backing for key, records in versions.items() if records.solved_models}
    return RecordAudit(
        solutions=sum(len(records.solutions) for records in versions.values()),
        relaxations=sum(len(records.relaxations) for records in versions.values()),
        notes=sum(solution.note for records in versions.values() for solution in records.solutions),
        rounded=sum(kind is Backing.ROUNDED for kind in backing.values()),
        unbacked=tuple(key for key, kind in backing.items() if kind is Backing.OTHER),
        off=off,
        failing=tuple(failing),
    )


def _label_records(release: Release) -> dict[tuple[Mode, int], VersionRecords]:
    """Return records by number and by the mode whose reference they should agree with."""
    records_by_label = {}
    for number, workspace in release.of_mode(Mode.EXPLAIN).items():
        for mode, version in VERSIONS.items():
            records = read_version(workspace, version)
            if records is not None:
                records_by_label[mode, number] = records
    return records_by_label


def audit_rubrics(release: Release) -> RubricAudit:
    """Count the checklists of a release, and compute the coverage of answers that explain nothing."""
    rubrics = release.rubrics.values()
    if not rubrics:
        raise WorkspaceError("the file of rubrics is empty; expected one line for each question")

    def mean_coverage(answers: Iterable[str]) -> float:
        points = [
            coverage_points(rubric, exact_decisions(rubric, answer), {one.id: False for one in rubric.semantic})
            for rubric, answer in zip(rubrics, answers, strict=True)
        ]
        return sum(points) / len(points)

    return RubricAudit(
        exact=sum(len(rubric.exact) for rubric in rubrics),
        semantic=sum(len(rubric.semantic) for rubric in rubrics),
        entities=sum(rubric.decision_count - len(rubric.semantic) for rubric in rubrics),
        short_answers=mean_coverage(rubric.short_answer for rubric in rubrics),
        echo=mean_coverage(rubric.question for rubric in rubrics),
    )


def predict_from_records(release: Release, mode: Mode) -> dict[str, Prediction]:
    """Predict from the release's own records: those of the original for build, of the revised version for revise."""
    return {
        workspace_id(mode, number): Prediction(workspace_id(mode, number), "Optimal", records.objective)
        for (kind, number), records in _label_records(release).items()
        if kind is mode
    }


def left_alone(release: Release) -> tuple[int, ...]:
    """Return the numbers of the revisions that an unchanged model passes."""
    labels = release.references.items()
    originals = {number: label.objective for (mode, number), label in labels if mode is Mode.BUILD}
    revised = [label for (mode, number), label in labels if mode is Mode.REVISE and number in originals]
    if not revised:
        return ()
    score = grade_predictions(predict_unrevised(revised, originals), revised, originals)
    return tuple(reference.number for reference, grade in zip(revised, score.grades, strict=True) if grade.is_passed)


@dataclass(frozen=True)
class ReleaseAudit:
    """Complete audit of a release."""

    imported: Mapping[Mode, int]
    # Number of revisions that support each variant.
    variants: Mapping[RevisionView, int]
    # Revised documents in addition to the requirement, by number.
    stray: tuple[int, ...]
    tables: TableAudit
    code: CodeAudit
    records: RecordAudit
    rubrics: RubricAudit
    # Numbers of revisions that pass with the original's reference, which is the score of an unchanged model.
    unrevised: tuple[int, ...]

    def lines(self) -> list[str]:
        """Return the audit as sentences, one finding per line."""
        modes = ", ".join(f"{count} {mode}" for mode, count in self.imported.items())
        missing, rubrics = self.variants.get(RevisionView.MODEL), self.rubrics
        return [
            f"{sum(self.imported.values())} imported: {modes}",
            *([f"code missing in {missing} revisions: {RevisionView.MODEL} used"] if missing else []),
            *_count_line(self.code.pandas, "programs of originals need pandas"),
            *_count_line(
                self.tables.uneven,
                "builds have tables with rows of unequal length, which only plain CSV readers accept",
            ),
            *_record_lines(self.records),
            f"an unchanged model passes {len(self.unrevised)} revisions: {_join_numbers(self.unrevised)}",
            f"{rubrics.entities} entities and {rubrics.semantic} semantic criteria; of 35 points, short answers cover "
            f"{rubrics.short_answers:.4f}, the questions {rubrics.echo:.4f}",
        ]


def _record_lines(records: RecordAudit) -> list[str]:
    sentences = []
    for mode in VERSIONS:
        off = [number for kind, number in records.off if kind is mode]
        unbacked = [number for kind, number in records.unbacked if kind is mode]
        sentences += _count_line(off, f"references of {mode} differ from their record")
        sentences += _count_line(unbacked, f"values of {mode} are printed, but in no solver record")
    for mode, number in records.failing:
        sentences.append(f"suspect: {mode} #{number} is {100 * records.off[mode, number]:.0f} % off its own record")
    return sentences


def audit_release(release: Release) -> ReleaseAudit:
    """Count the contents of a release and compare its labels with its records."""
    revisions = release.of_mode(Mode.REVISE)
    chosen = [fitting_variant(workspace) for workspace in revisions.values()]
    stray = [
        number
        for number, revision in revisions.items()
        if sum(path.startswith("revised/docs/") for path in revision.files) > 1
    ]
    return ReleaseAudit(
        imported={mode: len(release.of_mode(mode)) for mode in Mode},
        variants={variant: chosen.count(variant) for variant in RevisionView},
        stray=tuple(stray),
        tables=audit_tables(release.of_mode(Mode.BUILD)),
        code=audit_code(revisions),
        records=audit_records(release),
        rubrics=audit_rubrics(release),
        unrevised=left_alone(release),
    )


def _count_line(numbers: Sequence[int], what: str) -> list[str]:
    if numbers:
        return [f"{len(numbers)} {what}: {_join_numbers(numbers)}"]
    return []


def _join_numbers(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"
