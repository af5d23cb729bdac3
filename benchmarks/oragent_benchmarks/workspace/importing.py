"""Public release of OR-Space and its labels, read from its folder or imported as views and a vault.

Labels are stored in the vault, which is separate from all views. Each view is searched for the labels of its instance.
"""

import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from oragent._base.errors import WorkspaceError
from oragent.workspace.layout import Mode, WorkspaceLayout, open_workspace, sha256_of
from oragent.workspace.reading import read_bytes, shorten_path
from oragent_benchmarks.workspace import views
from oragent_benchmarks.workspace.grading import Reference, read_references, workspace_id
from oragent_benchmarks.workspace.rubric import Rubric, read_rubrics

Label = TypeVar("Label", Reference, Rubric)
INSTANCE = re.compile(r"instance_([1-9][0-9]{0,5})")
FORMULATION = "original/src/formulation.tex"
LABELS = {
    Mode.BUILD: "build_evaluation/reference_objectives.csv",
    Mode.REVISE: "revise_evaluation/reference_objectives.csv",
    Mode.EXPLAIN: "explain_evaluation/rubrics.jsonl",
}


@dataclass(frozen=True)
class Release:
    """Files and labels of a release on disk."""

    root: Path
    # Workspaces by mode and number.
    workspaces: Mapping[tuple[Mode, int], WorkspaceLayout]
    # Labels of build and revise, by mode and number.
    references: Mapping[tuple[Mode, int], Reference]
    # Labels of explain, by number.
    rubrics: Mapping[int, Rubric]
    # SHA-256 of the files of labels.
    hashes: frozenset[str]

    def of_mode(self, mode: Mode) -> dict[int, WorkspaceLayout]:
        """Return the workspaces of a mode, by number."""
        return {number: workspace for (kind, number), workspace in self.workspaces.items() if kind is mode}

    def labels_of(self, mode: Mode, number: int) -> views.HiddenLabels:
        """Return the labels that the view of an instance must not contain.

        Evidence of explain may contain objectives.
        """
        reference = self.references.get((mode, number))
        references = {reference.workspace_id: reference} if reference else {}
        return views.labels_of(references, self.rubrics.get(number), self.hashes)


def read_release(root: Path) -> Release:
    """Read a release from its folder or clone.

    If a revision lacks the formulation of its original, that of the question with the same number is used.
    """
    top = root / "Workspace_OR"
    if not top.is_dir():
        raise WorkspaceError(
            f"no release at {shorten_path(root)}: expected a folder with Workspace_OR/ and evaluation/"
        )
    workspaces = {(mode, number): opened for mode in Mode for number, opened in _open_instances(top, mode).items()}
    if not workspaces:
        raise WorkspaceError(
            f"{shorten_path(top)} contains no instances; expected {Mode.BUILD}_workspaces/instance_1 and so on"
        )
    for (mode, number), workspace in workspaces.items():
        twin = workspaces.get((Mode.EXPLAIN, number))
        if mode is Mode.REVISE and twin and FORMULATION not in workspace.files and FORMULATION in twin.files:
            files = {**workspace.files, FORMULATION: twin.files[FORMULATION]}
            workspaces[mode, number] = replace(workspace, files=files)
    paths = {mode: root / "evaluation" / LABELS[mode] for mode in Mode}
    hashes = frozenset(sha256_of(read_bytes(path)) for path in paths.values())
    references = {
        (mode, number): reference
        for mode in (Mode.BUILD, Mode.REVISE)
        for number, reference in _by_number(read_references(paths[mode]).values(), paths[mode]).items()
    }
    rubrics = _by_number(read_rubrics(paths[Mode.EXPLAIN]).values(), paths[Mode.EXPLAIN])
    release = Release(root, workspaces, references, rubrics, hashes)
    _all_labelled(release)
    return release


def _open_instances(top: Path, mode: Mode) -> dict[int, WorkspaceLayout]:
    folder = top / f"{mode}_workspaces"
    names = sorted(folder.iterdir()) if folder.is_dir() else []
    folders = {int(match[1]): path for path in names if (match := INSTANCE.fullmatch(path.name))}
    for path in folders.values():
        if path.is_symlink():
            raise WorkspaceError(
                f"{shorten_path(path)} is a link: a release contains only files and folders; copy its target"
            )
    return {number: open_workspace(path, mode) for number, path in sorted(folders.items())}


def _by_number(labels: Iterable[Label], path: Path) -> dict[int, Label]:
    by_number: dict[int, Label] = {}
    for label in labels:
        if label.number in by_number:
            raise WorkspaceError(
                f"{shorten_path(path)} has two labels of number {label.number}; expected one per instance"
            )
        by_number[label.number] = label
    return by_number


def _all_labelled(release: Release) -> None:
    for mode, number in release.workspaces:
        if number not in release.rubrics if mode is Mode.EXPLAIN else (mode, number) not in release.references:
            raise WorkspaceError(f"{workspace_id(mode, number)} has no label in evaluation/{LABELS[mode]}")


def import_release(release: Release, folder: Path) -> dict[str, tuple[views.Leak, ...]]:
    """Write a release as ``views/ID`` and ``vault/``, which only its owner can access.

    Return the names of the views, each with the values in it that equal a label and can be coincidences.
    """
    try:
        folder.mkdir(parents=True)
        (folder / "vault").mkdir(mode=0o700)
    except OSError as error:
        raise WorkspaceError(f"cannot create {shorten_path(folder)}: {error.strerror}; expected a new folder") from None
    try:
        made = {}
        for (mode, number), workspace in release.workspaces.items():
            name, labels = workspace_id(mode, number), release.labels_of(mode, number)
            made[name] = views.copy_view(workspace, folder / "views" / name, labels)
        _fill_vault(release, folder / "vault")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return made


def _fill_vault(release: Release, vault: Path) -> None:
    for mode, path in LABELS.items():
        content = read_bytes(release.root / "evaluation" / path)
        try:
            (vault / f"{mode}_{Path(path).name}").write_bytes(content)
        except OSError as error:
            raise WorkspaceError(
                f"cannot write {shorten_path(vault)}: {error.strerror}; all files of the import were removed"
            ) from None


@dataclass(frozen=True)
class LabelSet:
    """Labels that are needed to score external results."""

    title: str
    # References by mode and workspace id.
    references: Mapping[Mode, Mapping[str, Reference]]
    # Rubrics by instance id.
    rubrics: Mapping[str, Rubric]
    # Release of the labels, which also has records. None for any other set.
    release: Release | None = None

    @property
    def originals(self) -> dict[int, float]:
        """References of the versions before the revision, by number."""
        return {reference.number: reference.objective for reference in self.references.get(Mode.BUILD, {}).values()}


def vault_file(mode: Mode) -> str:
    """Return the name of the file of labels of a mode in a vault."""
    return f"{mode}_{Path(LABELS[mode]).name}"


def read_labels(root: Path) -> LabelSet:
    """Read the labels of a set from its folder."""
    if (root / "Workspace_OR").is_dir():
        release = read_release(root)
        references = {
            mode: {label.workspace_id: label for (kind, _), label in release.references.items() if kind is mode}
            for mode in (Mode.BUILD, Mode.REVISE)
        }
        rubrics = {label.instance_id: label for label in release.rubrics.values()}
        return LabelSet(f"the public release, {len(release.workspaces)} instances", references, rubrics, release)
    vault = root / views.VAULT
    if not vault.is_dir():
        raise WorkspaceError(
            f"no set at {shorten_path(root)}: expected a release with Workspace_OR/, or views/ and vault/ as "
            "'oragent bench workspace --import' leaves them"
        )
    paths = {mode: vault / vault_file(mode) for mode in Mode}
    found_references = {
        mode: dict(read_references(paths[mode])) if paths[mode].is_file() else {} for mode in (Mode.BUILD, Mode.REVISE)
    }
    rubrics = read_rubrics(paths[Mode.EXPLAIN]) if paths[Mode.EXPLAIN].is_file() else {}
    count = sum(map(len, found_references.values())) + len(rubrics)
    if not count:
        raise WorkspaceError(f"{shorten_path(vault)} contains no labels; expected {', '.join(map(vault_file, Mode))}")
    return LabelSet(f"{root.name}, {count} instances", found_references, rubrics)
