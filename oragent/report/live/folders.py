"""The folders below a root that ``oragent watch`` lists, by their kind."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oragent._base.folder_kinds import NAMES, FolderKind, find_kind
from oragent._base.plain import escape_text
from oragent.search.store import is_running

CHANGING = {"run.db", "run.db-wal"}
PAGES = ("report.html", "page.html", "index.html")
MAX_DEPTH, MAX_FOLDERS, MAX_LISTED = 6, 20_000, 2_000
SKIPPED = {"candidates", "figures", "pictures", "cache"}


@dataclass(frozen=True)
class ListedFolder:
    """A folder that the page lists.

    Attributes:
        id: Path below the root, with slashes; ``.`` for the root itself.
        kind: Kind of the folder.
        path: Path of the folder.
        changed: Time of its last change, seconds since 1970.
        page: Name of a finished page in it; empty if there is none.
    """

    id: str
    kind: FolderKind
    path: Path
    changed: float
    page: str

    def describe(self) -> dict[str, object]:
        """Return the entry as the page gets it."""
        return {"id": escape_text(self.id), "kind": str(self.kind), "changed": self.changed, "page": self.page,
                "running": self.kind is FolderKind.SEARCH and is_running(self.path)}  # fmt: skip


def list_folders(root: Path) -> list[ListedFolder]:
    """List the folders of runs below a root, the latest first; links are not followed."""
    entries = [entry for folder, names in _walk(root) if (entry := _describe_folder(root, folder, names))]
    return sorted(entries, key=lambda entry: -entry.changed)[:MAX_LISTED]


def _walk(root: Path) -> Iterator[tuple[Path, set[str]]]:
    for count, (folder, folders, names) in enumerate(os.walk(root, followlinks=False)):
        depth, entries = len(Path(folder).relative_to(root).parts), {*folders, *names}
        folders[:] = [] if depth >= MAX_DEPTH or count >= MAX_FOLDERS else sorted(set(folders) - SKIPPED)
        yield Path(folder), entries


def _describe_folder(root: Path, folder: Path, names: set[str]) -> ListedFolder | None:
    kind = find_kind(names)
    if kind is None:
        return None
    try:
        changed = max((folder / name).stat().st_mtime for name in names & (CHANGING | NAMES[kind]))
    except OSError:
        return None
    page = next((name for name in PAGES if name in names), "")
    return ListedFolder(folder.relative_to(root).as_posix(), kind, folder, changed, page)
