"""Database of a run whose folder is on a network. The database is on a local disk, and copies are in the folder.

SQLite needs locks and shared memory that network file systems do not provide, so it never writes a file there.
"""

import hashlib
import os
import shutil
import sqlite3
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from oragent._base import files
from oragent._base.errors import StoreError
from oragent._base.files import network_file_system
from oragent.ledger.database import Database

# Seconds between two copies.
COPY_S = 60.0
COUNTED = ("evaluations", "replies", "candidates")


def local_copy(database: Path) -> Path:
    """Return the local path of a run's database during a search, with the newest data.

    If a killed engine left newer data there, these are used.

    Raises:
        StoreError: This machine has no local disk for the database.
    """
    name = hashlib.sha256(str(database.resolve()).encode()).hexdigest()[:32]
    local = _private_folder() / f"{name}.db"
    if database.is_file() and _count_rounds(database, copy=True) > _count_rounds(local):
        for suffix in ("-wal", "-shm"):
            local.with_name(local.name + suffix).unlink(missing_ok=True)
        try:
            with files.open_replacement(local) as draft:
                shutil.copyfile(database, draft)
        except OSError as problem:
            raise StoreError(f"{database} cannot be copied to {local}: {problem}") from None
    return local


@contextmanager
def keep_copying(local: Path, database: Path, copy_s: float = COPY_S) -> Iterator[None]:
    """Copy a local database to the run's folder every minute and at the end.

    Raises:
        StoreError: The last copy fails; the local database remains.
    """
    ended = threading.Event()

    def copy_again() -> None:
        while not ended.wait(copy_s):
            # The next copy is a new attempt.
            with suppress(StoreError):
                _write_copy(local, database)

    thread = threading.Thread(target=copy_again, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        _write_copy(local, database)


def _write_copy(local: Path, database: Path) -> None:
    """Replace the last copy by a new one: one plain file to which no process writes."""
    whole = local.with_name(f"{local.stem}.copy.db")
    try:
        with closing(sqlite3.connect(local)) as source, closing(sqlite3.connect(whole)) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")
        with files.open_replacement(database) as draft:
            shutil.copyfile(whole, draft)
    except (OSError, sqlite3.Error) as problem:
        raise StoreError(f"{local} cannot be copied to {database.parent}: {problem}; the local file remains") from None
    finally:
        whole.unlink(missing_ok=True)


def _private_folder() -> Path:
    """Return a private folder of this user on a local disk."""
    homes = [Path.home() / ".local" / "state" / "oragent" / "runs"]
    homes += [Path(folder) / f"oragent-runs-{os.getuid()}" for folder in (tempfile.gettempdir(), "/var/tmp", "/tmp")]
    for folder in homes:
        with suppress(OSError):
            if network_file_system(folder):
                continue
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = folder.lstat()
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022:
                return folder
    raise StoreError(
        "no local disk for the database of a run on a network folder: set TMPDIR to a folder on a local disk, or "
        "name one with --outputs"
    )


def _count_rounds(path: Path, *, copy: bool = False) -> int:
    """Return the number of rows of a database; -1 if it cannot be read."""
    if not path.is_file():
        return -1
    try:
        with Database(path, "", None, readonly=True) as database:
            counts = (database.query_row(f"SELECT COUNT(*) AS number FROM {table}") for table in COUNTED)
            return sum(int(row["number"]) for row in counts if row)
    except StoreError:
        if copy:
            return 0
        return -1
