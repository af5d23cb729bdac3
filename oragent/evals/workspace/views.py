"""What an agent may see of a workspace, copied into a folder of its own; what is scored stays elsewhere.

Zhou et al. 2026: a build shows documents and data; a revision shows the original with its program, its formulation or
both, and the revised documents and data; a question shows both versions with code, logs and solver records.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from oragent._base.errors import WorkspaceError
from oragent.evals.workspace import leaks
from oragent.evals.workspace.leaks import HiddenLabels, Leak
from oragent.workspace.layout import FileRole, ManifestEntry, Mode, Workspace, role_of, sha256_of
from oragent.workspace.reading import read_bytes, shorten_path

NOTE = "REVISE_NOTE.md"
METADATA = "metadata.json"
ALLOWED = {
    "instance_id": str, "instance_number": int, "original_instance_id": str, "source_revise_instance": str,
    "domain": str, "explain_task": dict,
}  # fmt: skip
ALLOWED_TASK = {"dimension": str, "domain": str, "question": str}
GIVEN = {FileRole.DOCUMENT, FileRole.PARAMETERS, FileRole.TABLE}
EVERYTHING = GIVEN | {FileRole.CODE, FileRole.FORMULATION, FileRole.LOG, FileRole.RECORD}


class RevisionView(StrEnum):
    """How much of the original a revision shows."""

    CODE = "revise-code"
    MODEL = "revise-model"
    ALL = "revise-all"


SHOWN_OF_ORIGINAL = {
    RevisionView.CODE: GIVEN | {FileRole.CODE},
    RevisionView.MODEL: GIVEN | {FileRole.FORMULATION},
    RevisionView.ALL: GIVEN | {FileRole.CODE, FileRole.FORMULATION},
}
EMPTY = {Mode.BUILD: "src", Mode.REVISE: "revised/src"}  # where the program has to go


class RevisionNote(StrEnum):
    """Whether the release's description of a revision is quoted, which at times names the change of the model."""

    NONE = "none"
    DESCRIPTION = "description"


@dataclass(frozen=True)
class AgentView:
    """A folder that was made for an agent.

    Attributes:
        folder: Folder of the view.
        mode: Mode of the workspace: what is asked.
        variant: Variant: how much of the original it shows; None unless it is a revision.
        entries: Files of the view.
        hidden: Files of the workspace that it does not show.
        removed: Keys of the metadata that it does not show.
        chances: Values of labels that stand in it, too short to be more than chance.
    """

    folder: Path
    mode: Mode
    variant: RevisionView | None
    entries: tuple[ManifestEntry, ...]
    hidden: tuple[str, ...]
    removed: tuple[str, ...]
    chances: tuple[Leak, ...]


def public_metadata(metadata: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The metadata that tell no answer, by a list of allowed keys, and the names of the keys that were removed."""
    shown = _allowed(metadata, ALLOWED)
    removed = [key for key in metadata if key not in shown]
    if "explain_task" in shown:
        shown["explain_task"] = _allowed(metadata["explain_task"], ALLOWED_TASK)
        removed += [f"explain_task.{key}" for key in metadata["explain_task"] if key not in shown["explain_task"]]
    return shown, tuple(removed)


def _allowed(values: Mapping[str, Any], allowed: Mapping[str, type]) -> dict[str, Any]:
    return {key: values[key] for key, kind in allowed.items() if isinstance(values.get(key), kind)}


def fitting_variant(workspace: Workspace, wanted: RevisionView = RevisionView.CODE) -> RevisionView:
    """The variant wanted, or the one that a workspace without the original's program or formulation can have.

    Raises:
        WorkspaceError: if it has neither.
    """
    original = {role_of(path) for path in workspace.files if path.startswith("original/")}
    code, model = FileRole.CODE in original, FileRole.FORMULATION in original
    possible = {RevisionView.CODE: code, RevisionView.MODEL: model, RevisionView.ALL: code and model}
    for variant in (wanted, RevisionView.CODE, RevisionView.MODEL):
        if possible[variant]:
            return variant
    raise WorkspaceError("a revision needs the original's program or formulation; expected a file in original/src")


def visible(workspace: Workspace, variant: RevisionView | None = None) -> dict[str, Path]:
    """The files that a mode and variant show, metadata aside.

    Raises:
        WorkspaceError: if a revision is asked for without a variant, or anything else with one.
    """
    if (workspace.mode is Mode.REVISE) != (variant is not None):
        raise WorkspaceError(f"variant {variant} does not go with {workspace.mode}; expected one for revise alone")
    return {path: place for path, place in workspace.files.items() if _shows(path, workspace.mode, variant)}


def _shows(path: str, mode: Mode, variant: RevisionView | None) -> bool:
    version = path.partition("/")[0]
    if mode is Mode.BUILD:
        return version in {"docs", "data"} and role_of(path) in GIVEN
    if mode is Mode.EXPLAIN:
        return version in {"original", "revised"} and role_of(path) in EVERYTHING
    given = SHOWN_OF_ORIGINAL[variant] if version == "original" and variant else GIVEN
    return version in {"original", "revised"} and role_of(path) in given


def copy_view(
    workspace: Workspace,
    folder: Path,
    labels: HiddenLabels,
    variant: RevisionView | None = None,
    note: RevisionNote = RevisionNote.NONE,
    vault: Path | None = None,
) -> AgentView:
    """Copy what an agent may see into a new folder, and search it for labels.

    Args:
        workspace: Workspace that is copied.
        folder: Folder to make; it must not exist yet.
        labels: Labels that must not be found in it.
        variant: Variant: how much of the original a revision shows; None unless it is a revision.
        note: Whether the description of a revision is shown as well.
        vault: Folder of labels; neither may lie in the other.

    Raises:
        WorkspaceError: if the folder exists, lies in the vault or around it, cannot be written, or would hold a label;
            nothing is left of it then.
    """
    _apart(folder, vault)
    files = visible(workspace, variant)
    metadata, removed = public_metadata(workspace.metadata)
    extra = {METADATA: json.dumps(metadata, indent=2, ensure_ascii=False)} if metadata else {}
    if note is RevisionNote.DESCRIPTION and workspace.mode is Mode.REVISE:
        extra[NOTE] = str(workspace.metadata.get("revise_description") or "") + "\n"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise WorkspaceError(f"cannot make {shorten_path(folder)}: {error.strerror}; expected a new folder") from None
    try:
        entries = _write(folder, files, extra, EMPTY.get(workspace.mode))
        chances = _refuse_labels(folder, labels)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    hidden = tuple(path for path in workspace.files if path not in files and path != METADATA)
    return AgentView(folder, workspace.mode, variant, entries, hidden, removed, chances)


def write_manifest(view: AgentView, path: Path) -> None:
    """Write what a view shows and hides, with hashes, as JSON; outside the view, as it names hidden files.

    Raises:
        WorkspaceError: if it cannot be written.
    """
    told = {"mode": view.mode, "variant": view.variant, "files": [asdict(entry) for entry in view.entries],
            "hidden": view.hidden, "removed": view.removed}  # fmt: skip
    _put(path, json.dumps(told, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace"))


def _apart(folder: Path, vault: Path | None) -> None:
    if vault is not None:
        view, labels = folder.resolve(), vault.resolve()
        if view == labels or labels in view.parents or view in labels.parents:
            raise WorkspaceError(f"the view {shorten_path(folder)} and the labels in {shorten_path(vault)} lie "
        f"one in the other; "
                                 "expected separate folders")  # fmt: skip


def _write(
    folder: Path, files: Mapping[str, Path], extra: Mapping[str, str], empty: str | None
) -> tuple[ManifestEntry, ...]:
    if empty:
        (folder / empty).mkdir(parents=True)
    entries = []
    for path in sorted({*files, *extra}):
        content = extra[path].encode("utf-8", "backslashreplace") if path in extra else read_bytes(files[path])
        _put(folder / path, content)
        entries.append(ManifestEntry(path, role_of(path), len(content), sha256_of(content)))
    return tuple(entries)


def _put(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise WorkspaceError(
            f"cannot write {shorten_path(path)}: {error.strerror}; nothing of the folder is kept"
        ) from None


def _refuse_labels(folder: Path, labels: HiddenLabels) -> tuple[Leak, ...]:
    found = leaks.search(folder, labels)
    certain = [leak for leak in found if leak.certain]
    if certain:
        first = certain[0]
        raise WorkspaceError(
            f"a label inside the view: {shorten_path(first.path)} {first.trace} ({shorten_path(first.label)}); "
            f"take it out first"
        )
    return found
