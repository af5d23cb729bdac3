"""A database of ours: one SQLite file, whose layout has a version, and whose errors are one line each."""

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from oragent._base.errors import StoreError
from oragent._base.mounts import network

META = "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
Migration = Callable[[sqlite3.Connection], None]


class Database:
    """One SQLite file, in WAL mode on a disk of this machine; a process that is killed loses nothing that was written.

    Args:
        path: Path of the file, which is made if it is missing.
        schema: Statements that make its tables where they are not there yet.
        version: Version of the layout; None: whatever there is, to be read alone.
        migrations: Migrations that bring an older version, by its name, to this one; all happens or nothing.
        readonly: Whether it is never written to; an older version is read as it is.
        noun: Noun for errors: the thing that the file belongs to.

    Raises:
        StoreError: if it cannot be opened, is corrupted, or was written by a version that is not known.
    """

    def __init__(
        self,
        path: Path,
        schema: str,
        version: str | None,
        *,
        migrations: Mapping[str, Migration] | None = None,
        readonly: bool = False,
        noun: str = "run",
    ) -> None:
        self.path, self._noun = path, noun
        if readonly and not path.is_file():
            raise StoreError(f"no {noun} at {path.parent}: expected {path.name} in it")
        with self.guarded():
            mode = "?mode=ro" if readonly else ""
            if readonly and not path.with_name(f"{path.name}-wal").exists():
                mode += "&immutable=1"  # nobody writes: SQLite leaves no files beside it
            self._db = sqlite3.connect(f"{path.absolute().as_uri()}{mode}", uri=True, isolation_level=None)
            self._db.row_factory = sqlite3.Row
        try:
            if readonly:  # the file may come from somebody else: its schema must not call functions
                self.execute("PRAGMA trusted_schema=OFF")
                self.execute("PRAGMA query_only=ON")
            self.layout = self._prepared(schema, version, migrations or {}, readonly)
        except StoreError:
            self._db.close()
            raise

    def _prepared(
        self, schema: str, version: str | None, migrations: Mapping[str, Migration], readonly: bool
    ) -> str | None:
        if not readonly:
            # On a network's file system the memory that WAL shares is not kept; locks, where there are some, are.
            self.execute(f"PRAGMA journal_mode={'DELETE' if network(self.path) else 'WAL'}")
            self.execute("PRAGMA synchronous=NORMAL")
            self.execute(META)
        found = self.meta("version")
        if version is None or (readonly and found in migrations):
            return found
        if not readonly and found is not None and found in migrations:
            with self.transaction():
                migrations[found](self._db)
                self.note("version", version)
            found = version
        if not readonly and found in (None, version):
            with self.guarded():
                self._db.executescript(schema)
            self.execute("INSERT OR IGNORE INTO meta VALUES ('version', ?)", version)
            found = version
        if found != version:
            raise StoreError(f"{self.path} has layout {found}, this version reads {version}; start a new {self._noun}")
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; everything was written before."""
        self._db.close()

    def limit_queries(self, seconds: float) -> None:
        """End all queries from now on after a time: the schema of a foreign file can hide an endless one."""
        deadline = time.monotonic() + seconds
        self._db.set_progress_handler(lambda: time.monotonic() > deadline, 100_000)

    def meta(self, key: str) -> str | None:
        """A note about the whole."""
        row = self.row("SELECT value FROM meta WHERE key = ?", key)
        return None if row is None else str(row["value"])

    def note(self, key: str, value: str) -> None:
        """Write a note about the whole."""
        self.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value)

    def row(self, query: str, *values: Any) -> sqlite3.Row | None:
        """The first row of a query; None where there is none."""
        with self.guarded():
            found: sqlite3.Row | None = self._db.execute(query, values).fetchone()
        return found

    def rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        """All rows of a query."""
        with self.guarded():
            return self._db.execute(query, values).fetchall()

    def execute(self, statement: str, *values: Any) -> None:
        """Do one thing, in a transaction of its own unless one is open."""
        with self.guarded():
            self._db.execute(statement, values)

    def write(self, verb: str, table: str, values: Mapping[str, Any]) -> None:
        """Write a row, such as by ``INSERT INTO``; the names of its columns come from our own code alone."""
        with self.guarded():
            self._db.execute(_statement(verb, table, tuple(values)), dict(values))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written within happens, or nothing."""
        with self.guarded():
            self._db.execute("BEGIN")
            try:
                yield
            except BaseException:
                if self._db.in_transaction:  # a full disk has ended it already
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Turn what SQLite raises into one line that says what to do."""
        try:
            yield
        except sqlite3.OperationalError as problem:
            full = "full" in str(problem) or "disk I/O" in str(problem)
            remedy = f"; make room, then 'oragent resume' the {self._noun}" if full else ""
            raise StoreError(f"cannot use {self.path}: {problem}{remedy}") from None
        except sqlite3.DatabaseError as problem:
            remedy = f"restore it from a copy or start a new {self._noun}"
            raise StoreError(f"{self.path} is corrupted ({problem}); {remedy}") from None


@lru_cache(maxsize=256)  # the same few for every candidate
def _statement(verb: str, table: str, names: tuple[str, ...]) -> str:
    marks = ", ".join(f":{name}" for name in names)
    return f"{verb} {table} ({', '.join(names)}) VALUES ({marks})"
