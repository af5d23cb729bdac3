"""Every write into a workspace is a version: who, why, what was there before; none is ever lost.

What a person changed by hand becomes a version of theirs: before and after each verb, and before anything is written
over it. The store is the folder's own ``run.db``; a write that was cut off by a kill is finished when the store is
opened again. ``undoing`` takes versions back.
"""

import difflib
import errno
import os
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from oragent._base import files
from oragent._base.errors import WorkspaceError
from oragent.ledger.database import Database
from oragent.ledger.study import KIND
from oragent.workspace.layout import sha256_of
from oragent.workspace.reading import find_encoding, path_error, read_bytes, shorten_path

PERSON = "person"
# what a person writes, and every snapshot holds
FOLDERS = ("docs", "data", "src")
# of a diff
MOST_LINES = 400
# no retry helps
NEVER = {errno.ENAMETOOLONG, errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ELOOP, errno.EINVAL}
# bytes of a text of which a diff is made
MOST_COMPARED = 1 << 20
SCHEMA = """
CREATE TABLE IF NOT EXISTS versions (
    number INTEGER PRIMARY KEY, at REAL NOT NULL, author TEXT NOT NULL, reason TEXT NOT NULL, undoes INTEGER,
    written INTEGER NOT NULL, verb TEXT NOT NULL DEFAULT '');
CREATE TABLE IF NOT EXISTS changes (
    number INTEGER NOT NULL, path TEXT NOT NULL, before TEXT, after TEXT, PRIMARY KEY (number, path));
CREATE TABLE IF NOT EXISTS contents (hash TEXT PRIMARY KEY, content BLOB NOT NULL);
"""


@dataclass(frozen=True)
class FileChange:
    """Change of one file by a version."""

    # below the workspace
    path: str
    # content; None where there was no such file
    before: bytes | None
    # content; None where it was removed
    after: bytes | None


@dataclass(frozen=True)
class VersionRecord:
    """One write."""

    # from 1 on
    number: int
    # seconds since 1970
    at: float
    # a role, a command, or ``person``
    author: str
    # one line
    reason: str
    # the version that it takes back, or all files of which it brings back
    undoes: int | None
    changes: tuple[FileChange, ...]
    # that it is a part of, such as ``revise-2``; empty where it stands alone
    verb: str = ""


class Versions:
    """Versions of a workspace, kept in the ``run.db`` of its study; ``readonly`` leaves the file as it is."""

    def __init__(self, folder: Path, *, readonly: bool = False) -> None:
        self.folder = folder
        self._database = Database(folder / "run.db", SCHEMA, KIND, readonly=readonly, noun="workspace")
        if readonly:
            return
        for row in self._database.query_rows("SELECT number FROM versions WHERE written = 0 ORDER BY number"):
            self._write_files(int(row["number"]), skip=True)

    def __enter__(self) -> "Versions":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store; everything was written before."""
        self._database.close()

    def write_version(
        self,
        contents: Mapping[str, str | bytes | None],
        author: str,
        reason: str,
        undoes: int | None = None,
        verb: str = "",
    ) -> int | None:
        """Write files, remembered before; return the number of the version, None if nothing would change.

        New contents are given by path below the workspace; None removes the file. ``undoes`` is the version that is
        taken back, and ``verb`` the name of the verb that this one is a part of.

        Raises:
            WorkspaceError: if a path leads out of the workspace, or a file cannot be written.
            StoreError: if the store cannot be.
        """
        contents_wanted = {path: text.encode() if isinstance(text, str) else text for path, text in contents.items()}
        now = {path: self.read_file(path) for path in contents_wanted}
        changes = [FileChange(path, now[path], after) for path, after in contents_wanted.items() if after != now[path]]
        if not changes:
            return None
        self.save_changes([change.path for change in changes])
        number = self._save_version(changes, author, reason, undoes, written=False, verb=verb)
        self._write_files(number)
        return number

    def note_reversal(self, author: str, reason: str, undoes: int) -> int:
        """Write down a version that takes another one back, and in which no file had to be changed."""
        return self._save_version([], author, reason, undoes, written=True)

    def save_snapshot(self, files: Mapping[str, Path], reason: str) -> int | None:
        """Keep documents, data and code as they are now, as a person's version where they are other than they were.

        Returns the number of the version; None where nothing was changed since the last one.
        """
        paths = {path for path in files if path.partition("/")[0] in FOLDERS}
        paths |= {path for path in self.list_paths() if path.partition("/")[0] in FOLDERS}
        return self.save_changes(sorted(paths), reason)

    def save_changes(self, paths: list[str], reason: str = "as it was found") -> int | None:
        """Keep what a person changed in these files since their last version, as a version of theirs."""
        query = "SELECT after FROM changes WHERE path = ? ORDER BY number DESC LIMIT 1"
        changes = []
        for path in paths:
            row, content = self._database.query_row(query, path), self.read_file(path)
            if row is None:
                before = None
            else:
                before = row["after"]
            if before != (None if content is None else sha256_of(content)):
                changes.append(FileChange(path, self.read_content(before), content))
        if changes:
            return self._save_version(changes, PERSON, reason, None, written=True)
        return None

    def list_paths(self) -> list[str]:
        """Paths of all files that any version changed."""
        rows = self._database.query_rows("SELECT DISTINCT path FROM changes ORDER BY path")
        return [str(row["path"]) for row in rows]

    def list_versions(self, contents: bool = True) -> tuple[VersionRecord, ...]:
        """All versions, the first one first; without contents each change has its path alone."""
        rows = self._database.query_rows("SELECT * FROM versions ORDER BY number")
        return tuple(self._read_version_row(row, contents) for row in rows)

    def read_version(self, number: int) -> VersionRecord:
        """One version.

        Raises:
            WorkspaceError: if there is none of that number.
        """
        row = self._database.query_row("SELECT * FROM versions WHERE number = ?", number)
        if row is None:
            missing = f"no version {number} of {shorten_path(self.folder)}"
            raise WorkspaceError(f"{missing}; 'oragent workspace history' lists them")
        return self._read_version_row(row)

    def content_at(self, path: str, number: int) -> tuple[bool, bytes | None]:
        """Look up a file in a version or an earlier one: if it is there, and its content, None if it was removed."""
        query = "SELECT after FROM changes WHERE path = ? AND number <= ? ORDER BY number DESC LIMIT 1"
        row = self._database.query_row(query, path, number)
        return row is not None, None if row is None else self.read_content(row["after"])

    def was_written_by_command(self, path: str) -> bool:
        """Return True if a file is as a command wrote it, without edits of the user."""
        query = "SELECT author, after FROM changes JOIN versions USING (number) WHERE path = ? ORDER BY number DESC"
        row, content = self._database.query_row(f"{query} LIMIT 1", path), self.read_file(path)
        return bool(row and content is not None and row["author"] != PERSON and row["after"] == sha256_of(content))

    def first_author(self, path: str) -> str:
        """Return the author of a file's first version."""
        query = "SELECT author FROM changes JOIN versions USING (number) WHERE path = ? ORDER BY number LIMIT 1"
        row = self._database.query_row(query, path)
        if row is None:
            return ""
        return str(row["author"])

    def describe_diff(self, number: int) -> str:
        """Return the changes of a version as a unified diff."""
        changes = self.read_version(number).changes
        return "".join(text_diff(change.path, change.before, change.after) for change in changes)

    def _read_version_row(self, row: sqlite3.Row, contents: bool = True) -> VersionRecord:
        changes = self._read_changes(row["number"], contents)
        return VersionRecord(
            row["number"], row["at"], row["author"], row["reason"], row["undoes"], changes, row["verb"]
        )

    def _save_version(
        self, changes: list[FileChange], author: str, reason: str, undoes: int | None, written: bool, verb: str = ""
    ) -> int:
        with self._database.transaction():
            row = self._database.query_row("SELECT COALESCE(MAX(number), 0) + 1 AS next FROM versions")
            assert row is not None
            number = int(row["next"])
            self._database.write_row(
                "INSERT INTO",
                "versions",
                {
                    "number": number,
                    "at": time.time(),
                    "author": author,
                    "reason": " ".join(reason.split())[:300],
                    "undoes": undoes,
                    "written": int(written),
                    "verb": verb,
                },
            )
            for change in changes:
                hashes = [
                    None if content is None else self.save_content(content) for content in (change.before, change.after)
                ]
                self._database.write_row(
                    "INSERT INTO",
                    "changes",
                    {
                        "number": number,
                        "path": change.path,
                        "before": hashes[0],
                        "after": hashes[1],
                    },
                )
        return number

    def save_content(self, content: bytes) -> str:
        """Keep a content, and return the hash by which ``read_content`` finds it."""
        self._database.write_row("INSERT OR IGNORE INTO", "contents", {"hash": sha256_of(content), "content": content})
        return sha256_of(content)

    def read_content(self, name: str | None) -> bytes | None:
        """Return the content of a hash; None where there is none."""
        if name is None:
            return None
        row = self._database.query_row("SELECT content FROM contents WHERE hash = ?", name)
        if row is None:
            return None
        return bytes(row["content"])

    def _read_changes(self, number: int, contents: bool = True) -> tuple[FileChange, ...]:
        rows = self._database.query_rows("SELECT * FROM changes WHERE number = ? ORDER BY path", number)
        if not contents:
            return tuple(FileChange(row["path"], None, None) for row in rows)
        return tuple(
            FileChange(row["path"], *(self.read_content(row[key]) for key in ("before", "after"))) for row in rows
        )

    def _write_files(self, number: int, skip: bool = False) -> None:
        """Bring files to what a version says, unless somebody has changed them since, and note that it is done.

        With ``skip`` a file that can never be written is left out, as a write that was cut off must block nothing.
        """
        for change in self._read_changes(number):
            try:
                if self.read_file(change.path) not in (change.before, change.after):
                    continue
                target = self._safe_path(change.path)
            except WorkspaceError:
                if skip:
                    continue
                raise
            try:
                if change.after is None:
                    target.unlink(missing_ok=True)
                else:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    files.replace_file(target, change.after)
            except OSError as error:
                if skip and error.errno in NEVER:
                    continue
                what = f"cannot write {shorten_path(target)}: {error.strerror}"
                raise WorkspaceError(f"{what}; version {number} is kept: make room for it") from None
        self._database.execute("UPDATE versions SET written = 1 WHERE number = ?", number)

    def read_file(self, path: str) -> bytes | None:
        """The content of a file now; None where there is none."""
        file = self._safe_path(path)
        if file.exists() or file.is_symlink():
            return read_bytes(file)
        return None

    def _safe_path(self, path: str) -> Path:
        """Where a file lies, if no link leads out on the way."""
        target = self.folder / path
        parts = Path(path).parts
        if len(os.fsencode(path)) > 4000 or any(len(os.fsencode(part)) > 255 for part in parts):
            raise WorkspaceError(f"{shorten_path(path)} is too long; expected names of at most 255 bytes")
        above = [self.folder.joinpath(*parts[:depth]) for depth in range(1, len(parts) + 1)]
        if Path(path).is_absolute() or ".." in parts or not parts or any(parent.is_symlink() for parent in above):
            raise path_error(path, "leads out of the workspace; expected a path below it, without links")
        file_above = next((parent for parent in above[:-1] if parent.exists() and not parent.is_dir()), None)
        if file_above is not None:
            raise WorkspaceError(f"{shorten_path(path)} cannot be written: {shorten_path(file_above)} is a file")
        return target


def text_diff(path: str, before: bytes | None, after: bytes | None) -> str:
    """Two contents of a file as a unified diff, at most ``MOST_LINES`` lines of it."""
    old, new = (b"" if content is None else content for content in (before, after))
    if max(len(old), len(new)) > MOST_COMPARED:
        return f"--- {path}\n+++ {path}\ntoo large to compare: {len(old)} and {len(new)} bytes\n"
    try:
        rows = [content.decode(find_encoding(content, path)).splitlines() for content in (old, new)]
    except WorkspaceError:
        return f"--- {path}\n+++ {path}\nbinary: {len(old)} and {len(new)} bytes\n"
    names = [path if content is not None else "/dev/null" for content in (before, after)]
    lines = list(difflib.unified_diff(rows[0], rows[1], names[0], names[1], lineterm=""))
    if len(lines) > MOST_LINES:
        more = [f"... {len(lines) - MOST_LINES} more lines"]
    else:
        more = []
    return "".join(f"{line}\n" for line in [*lines[:MOST_LINES], *more])
