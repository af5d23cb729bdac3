"""Every write into a workspace is a version: who, why, what was there before; none is ever lost.

What a person changed by hand becomes a version of theirs before anything is written over it. The store is the folder's
own ``run.db``; a write that was cut off by a kill is finished when the store is opened again.
"""

import difflib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from oragent import files
from oragent.errors import WorkspaceError
from oragent.ledger.database import Database
from oragent.workspace.layout import digest
from oragent.workspace.reading import named, read_bytes

__all__ = ["PERSON", "Change", "Version", "Versions", "text_diff"]

PERSON = "person"
MOST_LINES = 400  # of a diff
SCHEMA = """
CREATE TABLE IF NOT EXISTS versions (
    number INTEGER PRIMARY KEY, at REAL NOT NULL, author TEXT NOT NULL, reason TEXT NOT NULL, undoes INTEGER,
    written INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS changes (
    number INTEGER NOT NULL, path TEXT NOT NULL, before TEXT, after TEXT, PRIMARY KEY (number, path));
CREATE TABLE IF NOT EXISTS contents (hash TEXT PRIMARY KEY, content BLOB NOT NULL);
"""
LAYOUT = "study 1"  # the file is a study's, which keeps replies and cases beside


@dataclass(frozen=True)
class Change:
    """What a version did to one file.

    Attributes:
        path: Path below the workspace.
        before: Content before; None where there was no such file.
        after: Content after; None where it was removed.
    """

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True)
class Version:
    """One write.

    Attributes:
        number: Number, from 1 on.
        at: Seconds since 1970.
        author: Who wrote: a role, a command, or ``person``.
        reason: Why, one line.
        undoes: Number of the version that it takes back; None for any other.
        changes: What it did, file by file.
    """

    number: int
    at: float
    author: str
    reason: str
    undoes: int | None
    changes: tuple[Change, ...]


class Versions:
    """The versions of a workspace.

    Args:
        folder: Folder of the workspace.

    Raises:
        StoreError: if its ``run.db`` cannot be used.
        WorkspaceError: if a write that was cut off cannot be finished.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._database = Database(folder / "run.db", SCHEMA, LAYOUT, noun="workspace")
        for row in self._database.rows("SELECT number FROM versions WHERE written = 0 ORDER BY number"):
            self._put(int(row["number"]))

    def __enter__(self) -> "Versions":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store; everything was written before."""
        self._database.close()

    def write(
        self, contents: Mapping[str, str | bytes | None], author: str, reason: str, undoes: int | None = None
    ) -> int | None:
        """Write files, remembered before they are changed.

        Args:
            contents: New content by path below the workspace; None removes the file.
            author: Who writes.
            reason: Why, one line.
            undoes: Number of the version that is taken back.

        Returns:
            Number of the version; None where nothing would change.

        Raises:
            WorkspaceError: if a path leads out of the workspace, or a file cannot be written.
            StoreError: if the store cannot be.
        """
        wanted = {path: one.encode() if isinstance(one, str) else one for path, one in contents.items()}
        now = {path: self._on_disk(path) for path in wanted}
        changes = [Change(path, now[path], after) for path, after in wanted.items() if after != now[path]]
        if not changes:
            return None
        self.notice([change.path for change in changes])
        number = self._keep(changes, author, reason, undoes, written=False)
        self._put(number)
        return number

    def notice(self, paths: list[str]) -> int | None:
        """Keep what a person changed in files of earlier versions, as a version of theirs."""
        changes = []
        for path in paths:
            row = self._database.row("SELECT after FROM changes WHERE path = ? ORDER BY number DESC LIMIT 1", path)
            found = self._on_disk(path)
            before = None if row is None else self._content(row["after"])
            if row is None and found is not None:
                changes.append(Change(path, None, found))
            elif row is not None and before != found:
                changes.append(Change(path, before, found))
        return self._keep(changes, PERSON, "as it was found", None, written=True) if changes else None

    def history(self) -> tuple[Version, ...]:
        """All versions, the first one first."""
        rows = self._database.rows("SELECT * FROM versions ORDER BY number")
        return tuple(
            Version(row["number"], row["at"], row["author"], row["reason"], row["undoes"], self._changes(row["number"]))
            for row in rows
        )

    def version(self, number: int) -> Version:
        """One version.

        Raises:
            WorkspaceError: if there is none of that number.
        """
        found = [one for one in self.history() if one.number == number]
        if not found:
            raise WorkspaceError(f"no version {number} of {named(self.folder)}; 'oragent workspace history' lists them")
        return found[0]

    def diff(self, number: int) -> str:
        """What a version changed, as a unified diff."""
        return "".join(text_diff(one.path, one.before, one.after) for one in self.version(number).changes)

    def undo(self) -> int:
        """Take back the last version that was not taken back yet, by a version that does the contrary.

        Raises:
            WorkspaceError: if there is nothing to take back.
        """
        self.notice([row["path"] for row in self._database.rows("SELECT DISTINCT path FROM changes")])
        versions = self.history()
        gone = {one.undoes for one in versions}
        left = [one for one in versions if one.undoes is None and one.number not in gone and not _begins(one)]
        if not left:
            raise WorkspaceError(f"nothing to undo in {named(self.folder)}: no write of a command is left")
        last = left[-1]
        before = {change.path: change.before for change in last.changes}
        number = self.write(before, "undo", f"takes back version {last.number}", last.number)
        return (
            self._keep([], "undo", f"takes back version {last.number}", last.number, True) if number is None else number
        )

    def _keep(self, changes: list[Change], author: str, reason: str, undoes: int | None, written: bool) -> int:
        with self._database.transaction():
            row = self._database.row("SELECT COALESCE(MAX(number), 0) + 1 AS next FROM versions")
            assert row is not None
            number = int(row["next"])
            self._database.write("INSERT INTO", "versions", {
                "number": number, "at": time.time(), "author": author, "reason": " ".join(reason.split())[:300],
                "undoes": undoes, "written": int(written),
            })  # fmt: skip
            for change in changes:
                hashes = [self._remember(content) for content in (change.before, change.after)]
                self._database.write("INSERT INTO", "changes", {
                    "number": number, "path": change.path, "before": hashes[0], "after": hashes[1],
                })  # fmt: skip
        return number

    def _remember(self, content: bytes | None) -> str | None:
        if content is None:
            return None
        self._database.write("INSERT OR IGNORE INTO", "contents", {"hash": digest(content), "content": content})
        return digest(content)

    def _content(self, name: str | None) -> bytes | None:
        if name is None:
            return None
        row = self._database.row("SELECT content FROM contents WHERE hash = ?", name)
        return None if row is None else bytes(row["content"])

    def _changes(self, number: int) -> tuple[Change, ...]:
        rows = self._database.rows("SELECT * FROM changes WHERE number = ? ORDER BY path", number)
        return tuple(Change(row["path"], self._content(row["before"]), self._content(row["after"])) for row in rows)

    def _put(self, number: int) -> None:
        """Bring files to what a version says, unless somebody has changed them since, and note that it is done."""
        for change in self._changes(number):
            if self._on_disk(change.path) not in (change.before, change.after):
                continue
            place = self._place(change.path)
            try:
                if change.after is None:
                    place.unlink(missing_ok=True)
                else:
                    place.parent.mkdir(parents=True, exist_ok=True)
                    files.replace(place, change.after)
            except OSError as error:
                raise WorkspaceError(
                    f"cannot write {named(place)}: {error.strerror}; version {number} is kept: make room for it"
                ) from None
        self._database.execute("UPDATE versions SET written = 1 WHERE number = ?", number)

    def _on_disk(self, path: str) -> bytes | None:
        place = self._place(path)
        return read_bytes(place) if place.exists() or place.is_symlink() else None

    def _place(self, path: str) -> Path:
        """Where a file lies, if no link leads out on the way."""
        place = self.folder / path
        parts = Path(path).parts
        above = [self.folder.joinpath(*parts[:depth]) for depth in range(1, len(parts) + 1)]
        if Path(path).is_absolute() or ".." in parts or not parts or any(one.is_symlink() for one in above):
            raise WorkspaceError(f"{named(path)} leads out of the workspace; expected a path below it, without links")
        return place


def text_diff(path: str, before: bytes | None, after: bytes | None) -> str:
    """Two contents of a file as a unified diff, at most ``MOST_LINES`` lines of it."""
    old, new = (b"" if one is None else one for one in (before, after))
    if b"\0" in old or b"\0" in new:
        return f"--- {path}\n+++ {path}\nbinary: {len(old)} and {len(new)} bytes\n"
    lines = list(difflib.unified_diff(
        old.decode("utf-8", "replace").splitlines(), new.decode("utf-8", "replace").splitlines(),
        path if before is not None else "/dev/null", path if after is not None else "/dev/null", lineterm="",
    ))  # fmt: skip
    more = [f"... {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else []
    return "".join(f"{line}\n" for line in [*lines[:MOST_LINES], *more])


def _begins(version: Version) -> bool:
    """Whether a version only notes what was there before the first write."""
    return version.author == PERSON and all(change.before is None for change in version.changes)
