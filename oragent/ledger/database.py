"""An SQLite database with a format number and one-line errors.

The file may come from another user. Its schema and the files that SQLite reads with it are checked when it is opened.
The time, the size and the types of a query's rows are checked when they are read.
"""

import os
import re
import sqlite3
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from oragent._base.errors import FullDiskError, StoreError
from oragent._base.files import network_file_system
from oragent._base.text_format import escape_text

# Maximum number of bytes of a row.
MAX_ROW_BYTES = 64 << 20
# Maximum number of bytes of a row that this process may write. A workspace stores whole files.
MAX_WRITTEN_BYTES = 512 << 20
# Maximum number of bytes that a query may return, in addition to eight times the size of the file.
MAX_BYTES = 256 << 20
# Memory of a row without its texts.
ROW_BYTES = 500
# CPU seconds of a query.
QUERY_S = 60.0
# Suffix of the file that reserves disk space for replies, and its size in bytes.
RESERVE, RESERVED = "-reserve", 2 << 20
SUFFIXES = ("", "-wal", "-shm", "-journal", RESERVE)
# End of a rollback journal that names another file. SQLite deletes that file; our journals never name one.
SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")
COLUMN = re.compile(r"(?!(?:_?rowid_?|oid)$)[a-z_][a-z0-9_]*", re.IGNORECASE)
TYPES: Mapping[str, tuple[type, ...]] = {"INTEGER": (int,), "REAL": (float, int), "TEXT": (str,), "BLOB": (bytes, str)}
META = "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
# Number of the format of the folders that this version reads and writes.
FORMAT = 5
NUMBER = re.compile(r"\d+")


class Database:
    """One SQLite file, in WAL mode on a local disk. A killed process loses nothing that was written.

    ``schema`` creates missing tables. ``kind`` is the kind of content, such as ``search``; None accepts every kind, but
    only for reading. ``noun`` names the content in errors.

    Raises:
        StoreError: The file cannot be opened, is corrupted, or has another format or kind.
    """

    def __init__(
        self,
        path: Path,
        schema: str,
        kind: str | None,
        *,
        readonly: bool = False,
        noun: str = "run",
    ) -> None:
        self.path, self._noun = path, noun
        self._reserve = path.with_name(path.name + RESERVE)
        self._has_reserve = False
        if readonly and not path.is_file():
            raise StoreError(f"no {noun} at {path.parent}: expected {path.name} in it")
        _check_files(path)
        self._columns, self._types = _declared_columns(schema), _declared_types(schema)
        self._query_s, self._until = QUERY_S, 0.0
        with self.translate_errors():
            mode = "?mode=ro" if readonly else ""
            if readonly and not path.with_name(f"{path.name}-wal").exists():
                # Without a writer, SQLite creates no further files.
                mode += "&immutable=1"
            self._db = sqlite3.connect(f"{path.absolute().as_uri()}{mode}", uri=True, isolation_level=None)
            self._db.row_factory = sqlite3.Row
            self._db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_ROW_BYTES if readonly else MAX_WRITTEN_BYTES)
            self._db.set_progress_handler(self._is_query_over, 100_000)
        try:
            # A foreign schema must not call functions.
            self.execute("PRAGMA trusted_schema=OFF")
            self.execute("PRAGMA cell_size_check=ON")
            if readonly:
                self.execute("PRAGMA query_only=ON")
            self._check_schema()
            self._prepare_layout(schema, kind, readonly)
        except StoreError:
            self._db.close()
            raise

    def _prepare_layout(self, schema: str, kind: str | None, readonly: bool) -> None:
        if not readonly:
            # WAL needs shared memory, which network file systems lack.
            self.execute(f"PRAGMA journal_mode={'DELETE' if network_file_system(self.path) else 'WAL'}")
            self.execute("PRAGMA synchronous=NORMAL")
        has_meta = self.query_row("SELECT 1 FROM sqlite_master WHERE name = 'meta'") is not None
        written = self.read_meta("version") if has_meta else None
        if written is not None:
            self._check_format(written, kind)
        elif readonly and kind is not None:
            raise StoreError(f"{self.path} has no format number; start a new {self._noun}")
        if not readonly:
            # All tables are created or none, because a process may be killed in between.
            version = f"INSERT OR IGNORE INTO meta VALUES ('version', '{kind} {FORMAT}');"
            with self.translate_errors():
                self._db.executescript(f"BEGIN IMMEDIATE; {META} {schema} {version} COMMIT;")

    def _check_format(self, written: str, kind: str | None) -> None:
        """Compare the format and kind of the file, such as ``search 5``, with the expected ones."""
        name, _, number = written.rpartition(" ")
        if number != str(FORMAT):
            raise StoreError(f"{self.path}: {other_format(number)}; start a new {self._noun}")
        if kind is not None and name != kind:
            raise StoreError(f"{self.path} contains a {escape_text(name)[:40]}; expected a {kind}")

    def _check_schema(self) -> None:
        """Check that the file has only tables with plain columns, and that oragent's columns have the declared types.

        Views, triggers, generated columns and virtual tables run code of their author.
        """
        for kind, name, statement in self.query_rows("SELECT type, name, sql FROM sqlite_master"):
            shown = f"{kind} {escape_text(str(name))[:40]!r}"
            if kind != "table" and (kind, statement) != ("index", None):
                raise StoreError(
                    f"{self.path} contains the {shown}, which a {self._noun} does not have: do not use this file"
                )
            if kind != "table":
                continue
            declared = self._columns.get(name, {})
            quoted = str(name).replace('"', '""')
            for column in self.query_rows(f'PRAGMA table_xinfo("{quoted}")'):
                expected = declared.get(column["name"], column["type"])
                if column["hidden"] or column["type"] != expected or not COLUMN.fullmatch(column["name"]):
                    what = f"the {shown} with an unexpected column {escape_text(column['name'])[:40]!r}"
                    raise StoreError(f"{self.path} contains {what}: do not use this file")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. All data are already written."""
        self._db.close()
        self.release_room()

    def reserve_room(self) -> None:
        """Reserve disk space, in a file next to the database, until ``release_room``. Further calls have no effect.

        Raises:
            FullDiskError: The disk has no room.
        """
        if self._has_reserve:
            return
        try:
            self._reserve.unlink(missing_ok=True)
            with self._reserve.open("xb") as file:
                self._has_reserve = True
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, RESERVED)
                else:
                    file.write(bytes(RESERVED))
        except OSError as problem:
            self.release_room()
            what = f"no room of {RESERVED >> 20} MB for replies at {self.path.parent} ({problem.strerror})"
            raise FullDiskError(f"{what}; make room, then 'oragent resume' the {self._noun}") from None

    def release_room(self) -> bool:
        """Free the reserved disk space. Return False if none is reserved."""
        if self._has_reserve:
            self._reserve.unlink(missing_ok=True)
            self._has_reserve = False
            return True
        return False

    def limit_queries(self, seconds: float) -> None:
        """Limit each query from now on to a number of CPU seconds."""
        self._query_s = seconds

    def _is_query_over(self) -> bool:
        """Return True if a query has used its time.

        The time counts from the first call, because most queries end before it.
        """
        self._until = self._until or time.thread_time() + self._query_s
        return time.thread_time() > self._until

    def read_meta(self, key: str) -> str | None:
        """Return a value of the table ``meta``, or None if it is not set."""
        row = self.query_row("SELECT value FROM meta WHERE key = ?", key)
        if row is None:
            return None
        return str(row["value"])

    def write_meta(self, key: str, value: str) -> None:
        """Write a value of the table ``meta``."""
        self.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value)

    def query_row(self, query: str, *values: Any) -> sqlite3.Row | None:
        """Return the first row of a query; None without rows."""
        with self.translate_errors():
            first_row: sqlite3.Row | None = self._db.execute(query, values).fetchone()
        if first_row is None:
            return None
        return self._check_rows([first_row])[0]

    def query_rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        """Return all rows of a query."""
        with self.translate_errors():
            return self._check_rows(self._db.execute(query, values))

    def _check_rows(self, rows: Iterable[sqlite3.Row]) -> list[sqlite3.Row]:
        """Return rows whose values have the types of their columns, and which together fit into memory."""
        checked: list[sqlite3.Row] = []
        types: list[tuple[str, tuple[type, ...]]] = []
        room = MAX_BYTES + 8 * self.path.stat().st_size
        for row in rows:
            types = types or [(name, self._types.get(name, ())) for name in row.keys()]  # noqa: SIM118
            room -= ROW_BYTES
            for (name, expected), value in zip(types, row, strict=True):
                kind = type(value)
                if kind is str or kind is bytes:
                    room -= len(value)
                if value is not None and expected and (kind not in expected or (kind is float and value - value != 0)):
                    raise StoreError(f"{self.path} is corrupted: {name} is {escape_text(repr(value)[:40])}")
            if room < 0:
                raise StoreError(f"{self.path} is corrupted: a query returns more than the file can hold")
            checked.append(row)
        return checked

    def execute(self, statement: str, *values: Any) -> None:
        """Execute a statement, in its own transaction unless one is open."""
        with self.translate_errors():
            self._db.execute(statement, values)

    def write_row(self, verb: str, table: str, values: Mapping[str, Any]) -> None:
        """Write a row, for example with ``INSERT INTO``. The names of columns must be trusted."""
        with self.translate_errors():
            self._db.execute(_insert_statement(verb, table, tuple(values)), dict(values))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write everything in the block, or nothing."""
        with self.translate_errors():
            self._db.execute("BEGIN")
            try:
                yield
            except BaseException:
                # A full disk has already ended the transaction.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextmanager
    def translate_values(self) -> Iterator[None]:
        """Convert exceptions that unexpected values raise to one line."""
        try:
            yield
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as problem:
            what = f"{type(problem).__name__}: {escape_text(str(problem))[:200]}"
            remedy = f"restore it from a copy or start a new {self._noun}"
            raise StoreError(f"{self.path} is corrupted ({what}); {remedy}") from None

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Convert errors of SQLite to one line that says what to do."""
        self._until = 0.0
        try:
            yield
        except sqlite3.OperationalError as problem:
            if str(problem) == "interrupted":
                problem = sqlite3.OperationalError(f"a query takes more than {self._query_s:g} CPU seconds")
            what = f"cannot use {self.path}: {problem}"
            if "full" in str(problem) or "disk I/O" in str(problem):
                raise FullDiskError(f"{what}; make room, then 'oragent resume' the {self._noun}") from None
            raise StoreError(what) from None
        except sqlite3.DatabaseError as problem:
            remedy = f"restore it from a copy or start a new {self._noun}"
            raise StoreError(f"{self.path} is corrupted ({problem}); {remedy}") from None


def other_format(number: object) -> str:
    """Describe that a folder has another format. ``number`` is the one that it names, or None."""
    named = NUMBER.fullmatch(str(number))
    if named is None:
        return f"made by an unknown format; this version reads {FORMAT}"
    return f"made by format {named[0][:9]}; this version reads {FORMAT}"


def expect_format(number: object, path: Path) -> None:
    """Check the format number in a file of a folder.

    Raises:
        StoreError: The file has another format, or names none.
    """
    if number != FORMAT:
        raise StoreError(f"{path}: {other_format(number)}; start a new one")


def _check_files(path: Path) -> None:
    """Check that a database and the files that SQLite reads with it are plain files that name no other file."""
    for suffix in SUFFIXES:
        file = path.with_name(path.name + suffix)
        with suppress(FileNotFoundError, NotADirectoryError):
            if not stat.S_ISREG(file.lstat().st_mode):
                raise StoreError(f"{file} is not a plain file: copy the folder, and put a plain file in its place")
    with suppress(OSError), path.with_name(f"{path.name}-journal").open("rb") as journal:
        journal.seek(-len(SUPER_JOURNAL), os.SEEK_END)
        if journal.read() == SUPER_JOURNAL:
            raise StoreError(f"{journal.name} names another file, which SQLite would delete: do not use this folder")


@lru_cache(maxsize=16)
def _declared_columns(schema: str) -> Mapping[str, Mapping[str, str]]:
    """Return the declared type of each column of each table of a schema."""
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(META + schema)
        tables = [name for (name,) in empty.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {name: empty.execute(f"PRAGMA table_info({name})").fetchall() for name in tables}
    return {name: {row[1]: row[2] for row in columns} for name, columns in rows.items()}


@lru_cache(maxsize=16)
def _declared_types(schema: str) -> Mapping[str, tuple[type, ...]]:
    """Return the types of the values of columns by name.

    Columns with the same name in several tables have the same type.
    """
    types: dict[str, tuple[type, ...]] = {}
    for columns in _declared_columns(schema).values():
        for name, declared in columns.items():
            types[name] = (*types.get(name, ()), *TYPES[declared])
    return types


# These few values repeat for every candidate.
@lru_cache(maxsize=256)
def _insert_statement(verb: str, table: str, names: tuple[str, ...]) -> str:
    marks = ", ".join(f":{name}" for name in names)
    return f"{verb} {table} ({', '.join(names)}) VALUES ({marks})"


def is_blank(path: Path) -> bool:
    """Return True for a database without commits: it is missing, empty, or has no tables."""
    if not path.is_file() or path.stat().st_size == 0:
        return True
    with Database(path, "", None, readonly=True) as database:
        return database.query_row("SELECT 1 FROM sqlite_master WHERE name = 'meta'") is None
