"""The instances of a set as tasks: what an agent sees of each, laid out in a folder of its own."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import WorkspaceError
from oragent.evals.workspace.importing import VAULT
from oragent.evals.workspace.views import SHOWN_OF_ORIGINAL, RevisionView
from oragent.workspace.layout import FileRole, Mode, role_of
from oragent.workspace.reading import list_files, read_bytes, read_json, shorten_path

PROGRAM = {Mode.BUILD: "src", Mode.REVISE: "revised/src"}  # where the program has to go


@dataclass(frozen=True)
class WorkspaceTask:
    """One instance.

    Attributes:
        name: Id of its workspace.
        number: Number in the set.
        mode: What is asked.
        variant: How much of the original a revision shows; None for any other mode.
        view: Folder of its view in the set.
        question: Question; empty where none is asked.
    """

    name: str
    number: int
    mode: Mode
    variant: RevisionView | None
    view: Path
    question: str = ""


def list_tasks(
    root: Path, mode: Mode, variant: RevisionView = RevisionView.CODE, limit: int | None = None
) -> tuple[WorkspaceTask, ...]:
    """The tasks of one mode in a set, in the order of their numbers.

    Args:
        root: Folder of the set.
        mode: What is asked.
        variant: How much of the original revisions show.
        limit: Number of tasks; None for all.

    Raises:
        WorkspaceError: if the set has no views.
    """
    views = root / "views"
    if not views.is_dir() or not (root / VAULT).is_dir():
        raise WorkspaceError(
            f"no views in {shorten_path(root)}: expected a set as 'oragent workspace import --out' or "
            f"'generate' leave it"
        )
    listed = []
    for folder in sorted(views.iterdir()):
        parts = folder.name.rsplit("_", 2)
        if folder.is_symlink():
            raise WorkspaceError(f"{shorten_path(folder)} is a link: a set holds files and folders only; copy it in")
        if len(parts) == 3 and parts[2] == mode and parts[1].isdecimal():
            metadata = read_json(folder / "metadata.json") if (folder / "metadata.json").is_file() else {}
            question = str(metadata.get("explain_task", {}).get("question", "")) if mode is Mode.EXPLAIN else ""
            shown_variant = _fitting_variant(folder, variant) if mode is Mode.REVISE else None
            listed.append(WorkspaceTask(folder.name, int(parts[1]), mode, shown_variant, folder, question))
    if not listed:
        raise WorkspaceError(f"no view of {mode} in {shorten_path(views)}; expected such as made_001_{mode}")
    return tuple(sorted(listed, key=lambda task: task.number))[:limit]


def fitting_subject(root: Path, variant: RevisionView) -> RevisionView:
    """Return the variant that the revisions of a set can show: the formulation alone, if none has a program."""
    shown = {task.variant for task in list_tasks(root, Mode.REVISE, variant)}
    return RevisionView.MODEL if shown == {RevisionView.MODEL} else variant


def _fitting_variant(view: Path, wanted: RevisionView) -> RevisionView:
    """Return the variant wanted, or the formulation alone where a view has no program of the original."""
    has_program = any((view / "original" / "src").glob("*.py"))
    return wanted if has_program else RevisionView.MODEL


def lay_out(task: WorkspaceTask, folder: Path) -> Path:
    """Copy what a task shows into a new folder; one that was begun and left is begun again.

    Where a view lacks what its variant shows, as the release's copy without programs does, it shows what there is.

    Raises:
        WorkspaceError: if it cannot be written, or the view holds a link.
    """
    files = list_files(task.view)
    shown = {path: file for path, file in files.items() if _is_shown(path, task.variant)}
    if task.variant is not None and not any(path.startswith("original/src/") for path in shown):
        shown = files
    try:
        shutil.rmtree(folder, ignore_errors=True)
        for path, file in shown.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(read_bytes(file))
        if task.mode in PROGRAM:
            (folder / PROGRAM[task.mode]).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkspaceError(f"cannot lay out {shorten_path(folder)}: {error.strerror}; make room for it") from None
    return folder


def _is_shown(path: str, variant: RevisionView | None) -> bool:
    if variant is None or not path.startswith("original/src/"):
        return True
    return role_of(path) in SHOWN_OF_ORIGINAL[variant] or role_of(path) is FileRole.OTHER
