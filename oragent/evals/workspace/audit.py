"""What a release holds, counted: what was imported, what is missing, and which labels contradict their own records."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from oragent.evals.workspace.file_audit import CodeAudit, TableAudit, audit_code, audit_tables
from oragent.evals.workspace.importing import Release
from oragent.evals.workspace.label_audit import (
    VERSIONS,
    RecordAudit,
    RubricAudit,
    audit_records,
    audit_rubrics,
    left_alone,
)
from oragent.evals.workspace.views import RevisionView, fitting_variant
from oragent.workspace.layout import Mode, Workspace


@dataclass(frozen=True)
class ReleaseAudit:
    """All that there is to say of a release.

    Attributes:
        imported: Number of workspaces of each mode.
        variants: Number of revisions that can have each variant.
        stray: Revised documents beside the requirement, by number.
        tables: Audit of the tables of build.
        code: Audit of the programs of revise.
        records: Audit of the records of explain.
        rubrics: Audit of the checklists of explain.
        unrevised: Numbers of revisions that pass with the original's reference, the floor of doing nothing.
    """

    imported: Mapping[Mode, int]
    variants: Mapping[RevisionView, int]
    stray: tuple[int, ...]
    tables: TableAudit
    code: CodeAudit
    records: RecordAudit
    rubrics: RubricAudit
    unrevised: tuple[int, ...]

    def lines(self) -> list[str]:
        """The audit in sentences, one finding a line."""
        modes = ", ".join(f"{count} {mode}" for mode, count in self.imported.items())
        uneven, rubrics = self.tables.uneven, self.rubrics
        said = [f"{sum(self.imported.values())} imported: {modes}"]
        if self.variants.get(RevisionView.MODEL):
            said.append(f"code missing in {self.variants[RevisionView.MODEL]} revisions: {RevisionView.MODEL} used")
        if self.code.pandas:
            said.append(f"{len(self.code.pandas)} programs of originals need pandas: {_list(self.code.pandas)}")
        if uneven:
            said.append(f"{len(uneven)} builds have uneven tables, which read as plain CSV only: {_list(uneven)}")
        return [
            *said,
            *_record_lines(self.records),
            f"doing nothing passes {len(self.unrevised)} revisions: {_list(self.unrevised)}",
            f"{rubrics.entities} entities and {rubrics.semantic} semantic criteria; of 35 points, short answers cover "
            f"{rubrics.short_answers:.4f}, the questions {rubrics.echo:.4f}",
        ]


def _record_lines(records: RecordAudit) -> list[str]:
    said = []
    for mode in VERSIONS:
        off = [number for kind, number in records.off if kind is mode]
        unbacked = [number for kind, number in records.unbacked if kind is mode]
        if off:
            said.append(f"{len(off)} references of {mode} off their record: {_list(off)}")
        if unbacked:
            said.append(f"{len(unbacked)} values of {mode} printed that no solver record has: {_list(unbacked)}")
    for mode, number in records.failing:
        said.append(f"suspect: {mode} #{number} is {100 * records.off[mode, number]:.0f} % off its own record")
    return said


def audit(release: Release) -> ReleaseAudit:
    """Count what a release holds and compare its labels with its records.

    Raises:
        WorkspaceError: if a file cannot be read.
    """
    revisions = release.of_mode(Mode.REVISE)
    chosen = [fitting_variant(workspace) for workspace in revisions.values()]
    stray = [number for number, one in revisions.items() if _documents(one, "revised") > 1]
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


def _list(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"


def _documents(workspace: Workspace, version: str) -> int:
    return sum(path.startswith(f"{version}/docs/") for path in workspace.files)
