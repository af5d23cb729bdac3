"""All that a judge needs to check an answer against: every file of both versions, whole or not at all."""

from collections.abc import Mapping
from pathlib import Path

from oragent._base.errors import WorkspaceError
from oragent.workspace.layout import FileRole, Mode, Workspace, role_of
from oragent.workspace.reading import read_text, shorten_path

LIMIT = 1_000_000  # characters
ORDER = (
    FileRole.DOCUMENT,
    FileRole.PARAMETERS,
    FileRole.TABLE,
    FileRole.FORMULATION,
    FileRole.CODE,
    FileRole.LOG,
    FileRole.RECORD,
)


def gather(workspace: Workspace, limit: int = LIMIT) -> str:
    """The files of a question's workspace, each under its path, documents first and solver records last.

    Raises:
        WorkspaceError: if the workspace asks no question, a file is no text, or there are more than ``limit``
            characters: evidence that is cut would make a judge take what is true for invented.
    """
    if workspace.mode is not Mode.EXPLAIN:
        raise WorkspaceError(f"a workspace of {workspace.mode} has no evidence; expected one of {Mode.EXPLAIN}")
    parts = [f"=== {path}\n{read_text(place)}\n" for path, place in _in_order(workspace.files)]
    size = sum(map(len, parts))
    if size > limit:
        largest = max(parts, key=len).partition("\n")[0].removeprefix("=== ")
        raise WorkspaceError(
            f"the evidence has {size} characters, {shorten_path(largest)} the most; expected at most {limit}"
        )
    return "".join(parts)


def _in_order(files: Mapping[str, Path]) -> list[tuple[str, Path]]:
    known = [(path, place) for path, place in files.items() if role_of(path) in ORDER]
    return sorted(known, key=lambda file: (ORDER.index(role_of(file[0])), file[0]))
