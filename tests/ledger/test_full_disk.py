"""A disk that is full or read-only costs no reply, and a killed process leaves all tables or none."""

import asyncio
import errno
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from oragent._base import files
from oragent._base.errors import FullDiskError, StoreError
from oragent._base.files import expect_room
from oragent.ledger.database import Database
from oragent.ledger.replies import REPLIES
from oragent.llm.model import Reply, Request
from oragent.search.store import Store
from tests.search.players import guess, search

PROJECT = Path(__file__).parents[2]
# On a disk of 4 MB in a mount namespace: as much as its file system takes is written, and then a reply.
FULL = """
import sys
from pathlib import Path
from oragent._base.errors import FullDiskError, StoreError
from oragent._base.files import expect_room
from oragent.ledger import RecordedReply, Replies
from oragent.ledger.database import Database
from oragent.ledger.replies import REPLIES

disk = Path(sys.argv[1])
expect_room(disk)
database = Database(disk / "run.db", REPLIES, "1")
replies = Replies(database)
replies.reserve_room()
try:
    with (disk / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
except OSError:
    pass
for call in range(5):
    replies.store_reply(RecordedReply(f"1.{call}", "code", "[]", "x" * 100_000, "m", 10, 20, 0.5, 1.0, 2), "hash")
try:
    replies.reserve_room()
except FullDiskError as problem:
    print(len(replies.all_replies()), "stored,", problem)
(disk / "filler").unlink()
replies.reserve_room()
database.close()
print(sorted(path.name for path in disk.iterdir()))
"""
MOUNT = 'mount -t tmpfs -o size=4m tmpfs "$1" && exec "$2" -c "$3" "$1"'


def test_replies_are_stored_on_a_full_disk(tmp_path: Path) -> None:
    command = [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        MOUNT,
        "sh",
        tmp_path,
        sys.executable,
        FULL,
    ]
    ended = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    if "unshare" in ended.stderr or "mount" in ended.stderr:
        pytest.skip("no user namespaces on this machine")
    assert ended.returncode == 0, ended.stderr
    first, second = ended.stdout.splitlines()
    assert first.startswith("5 stored, ")
    assert "make room" in first
    assert second == "['run.db']"


@pytest.mark.parametrize("place", ["database", "best program"])
def test_calls_under_way_end_and_are_stored_when_the_disk_becomes_full(
    begun, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full from the third call on, but for the room that was kept for replies."""
    replace_file = files.replace_file

    def replace(path: Path, content: str | bytes) -> None:
        if len(asked) >= 3 and path.stem == "best":
            raise OSError(errno.ENOSPC, "No space left on device")
        replace_file(path, content)

    write_row, reserve_room = Database.write_row, Database.reserve_room
    asked: list[str] = []

    def write(self: Database, verb: str, table: str, values: dict[str, object]) -> None:
        if place == "database" and len(asked) >= 3 and (self._has_reserve or table != "replies"):
            raise FullDiskError("full")
        write_row(self, verb, table, values)

    def reserve(self: Database) -> None:
        if len(asked) >= 3:
            raise FullDiskError("full")
        reserve_room(self)

    async def model(request: Request) -> Reply:
        asked.append(request.key)
        number = len(asked)
        # The first to come is not the first that was asked.
        await asyncio.sleep(0.05 if number % 2 else 0.2)
        return Reply(guess(number / 7), model="m", tokens_in=10, tokens_out=5, money=0.0, seconds=0.0)

    monkeypatch.setattr(files, "replace_file", replace)
    monkeypatch.setattr(Database, "write_row", write)
    monkeypatch.setattr(Database, "reserve_room", reserve)
    folder = begun("model.name=m", "strategy.name=funsearch", "strategy.window=4", "budget.evaluations=20")
    with pytest.raises(FullDiskError):
        search(folder, model)
    with Store(folder.database, readonly=True) as store:
        assert sorted(reply.key for reply in store.replies.all_replies()) == sorted(asked)
    assert len(asked) == 3


def test_a_folder_that_cannot_be_written_is_refused_before_a_call(tmp_path: Path, monkeypatch) -> None:
    expect_room(tmp_path / "outputs" / "toy")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(StoreError):
        expect_room(tmp_path / "outputs" / "toy")


def test_a_disk_without_room_is_refused_before_a_call(tmp_path: Path, monkeypatch) -> None:
    real = os.statvfs(tmp_path)
    monkeypatch.setattr(os, "statvfs", lambda path: os.statvfs_result([*real[:4], 0, *real[5:]]))
    with pytest.raises(StoreError):
        expect_room(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 12))
def test_a_process_that_is_killed_while_it_makes_a_database_leaves_all_tables_or_none(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, connect = tmp_path / "run.db", sqlite3.connect
    seen = []

    def count(statement: str) -> None:
        seen.append(statement)
        if len(seen) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def trace(*arguments: object, **options: object) -> sqlite3.Connection:
        opened = connect(*arguments, **options)
        opened.set_trace_callback(count)
        return opened

    child = os.fork()
    if not child:
        sqlite3.connect = trace
        Database(path, REPLIES, "1").close()
        os._exit(0)
    os.waitpid(child, 0)
    if path.is_file():
        with closing(sqlite3.connect(path)) as database, database:
            names = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert names in (set(), {"meta", "replies"})
    if path.is_file() and not names:
        with pytest.raises(StoreError):
            Database(path, REPLIES, "1", readonly=True)
    Database(path, REPLIES, "1").close()
    with Database(path, REPLIES, "1", readonly=True) as database:
        assert database.query_rows("SELECT * FROM replies") == []
