"""The labels of a set, wherever it lies: in the public release's layout, or in the vault of an imported or made one."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import WorkspaceError
from oragent.evals.workspace.importing import LABELS, Release, read_release
from oragent.evals.workspace.references import Reference, read_references
from oragent.evals.workspace.rubric import Rubric, read_rubrics
from oragent.workspace.layout import Mode
from oragent.workspace.reading import shorten_path

VAULT = "vault"


@dataclass(frozen=True)
class LabelSet:
    """All that is needed to score what others found.

    Attributes:
        title: What the set is, for tables.
        references: References by mode and workspace id.
        rubrics: Rubrics by instance id.
        release: The release that they come from, which has records too; None for any other set.
    """

    title: str
    references: Mapping[Mode, Mapping[str, Reference]]
    rubrics: Mapping[str, Rubric]
    release: Release | None = None

    @property
    def originals(self) -> dict[int, float]:
        """Reference of the version before the revision, by number."""
        return {one.number: one.objective for one in self.references.get(Mode.BUILD, {}).values()}


def vault_file(mode: Mode) -> str:
    """Name of the file of labels of a mode in a vault."""
    return f"{mode}_{Path(LABELS[mode]).name}"


def read_labels(root: Path) -> LabelSet:
    """Read the labels of a set.

    Raises:
        WorkspaceError: if there are none, or they are broken.
    """
    if (root / "Workspace_OR").is_dir():
        release = read_release(root)
        references = {
            mode: {one.workspace_id: one for (kind, _), one in release.references.items() if kind is mode}
            for mode in (Mode.BUILD, Mode.REVISE)
        }
        rubrics = {one.instance_id: one for one in release.rubrics.values()}
        return LabelSet(f"the public release, {len(release.workspaces)} instances", references, rubrics, release)
    vault = root / VAULT
    if not vault.is_dir():
        raise WorkspaceError(
            f"no set at {shorten_path(root)}: expected a release with Workspace_OR/, or views/ and vault/ as "
            "'oragent workspace import' and 'generate' leave them"
        )
    found = {mode: vault / vault_file(mode) for mode in Mode}
    found_references = {
        mode: dict(read_references(found[mode])) if found[mode].is_file() else {} for mode in (Mode.BUILD, Mode.REVISE)
    }
    rubrics = read_rubrics(found[Mode.EXPLAIN]) if found[Mode.EXPLAIN].is_file() else {}
    count = sum(map(len, found_references.values())) + len(rubrics)
    if not count:
        raise WorkspaceError(f"{shorten_path(vault)} holds no labels; expected {', '.join(map(vault_file, Mode))}")
    return LabelSet(f"{root.name}, {count} instances", found_references, rubrics)
