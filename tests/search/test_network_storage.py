"""A run whose folder lies on a network keeps its database on a disk of this machine, and copies of it there."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

from oragent._base import files
from oragent._base.errors import StoreError
from oragent._base.files import network_file_system
from oragent.ledger.database import Database
from oragent.search import network_storage
from oragent.search.caching import Cache
from oragent.search.folder import RunFolder, reopen
from oragent.search.starting import rebuild_run
from oragent.search.store import Store
from tests.search.test_engine import Engine, JobPool, asyncio, climb, history, scored, search

TABLE = r"""/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw,vers=4.2 0 0
server:/with\040space /mnt/with\040space nfs rw 0 0
tmpfs /home/me/scratch tmpfs rw 0 0
host /shared 9p rw 0 0
scratch /work lustre rw 0 0
/dev/sdb1 /work ext4 rw 0 0
broken line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me/run", "nfs4"), ("/home", "nfs4"), ("/homes/me", ""), ("/", ""), ("/mnt/with space/x", "nfs"),
        ("/home/me/scratch/x", ""), ("/shared/x", ""), ("/work/x", ""),
    ],
)  # fmt: skip
def test_a_path_lies_where_the_longest_mount_point_says(tmp_path: Path, path: str, kind: str) -> None:
    (tmp_path / "mounts").write_text(TABLE)
    assert network_file_system(Path(path), tmp_path / "mounts") == kind


def test_where_nobody_tells_a_disk_is_taken_for_one_of_this_machine(tmp_path: Path) -> None:
    assert network_file_system(tmp_path, tmp_path / "none") == ""


@pytest.fixture
def away(begun, tmp_path: Path, monkeypatch) -> RunFolder:
    """A run on what a table of mounts calls NFS, with a home that is not."""
    (tmp_path / "home").mkdir()
    table = tmp_path / "mounts"
    table.write_text(f"x / ext4 rw 0 0\nserver:/ {tmp_path} nfs4 rw 0 0\nx {tmp_path / 'home'} ext4 rw 0 0\n")
    monkeypatch.setattr(files, "TABLE", table)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return begun("budget.evaluations=12", "seed=3")


def searched(folder: RunFolder) -> None:
    with folder.locked(), folder.opened() as store:
        asyncio.run(Engine(folder, store, JobPool(2, scored), climb, None, lambda progress: None).run())


def test_the_archive_is_the_same_and_the_folder_has_a_copy_that_nobody_writes_to(away, begun, tmp_path) -> None:
    searched(away)
    assert "lies on a network (nfs4)" in away.remark
    assert sorted(path.name for path in away.path.glob("*.db*")) == ["run.db"]
    with contextlib.closing(sqlite3.connect(away.database)) as copy, copy:
        assert copy.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    copy.close()
    (tmp_path / "mounts").write_text("x / ext4 rw 0 0\n")
    here = begun("budget.evaluations=12", "seed=3")
    assert here.remark == ""
    search(here)
    assert history(here) == history(away)


def test_an_engine_that_was_killed_loses_nothing_and_another_machine_little(away, tmp_path, monkeypatch) -> None:
    with monkeypatch.context() as killed:
        killed.setattr(network_storage, "_write_copy", lambda local, database: None)  # no copy was due yet
        searched(away)
    assert not away.database.is_file()
    found: list[str] = []
    again = reopen(away.path)
    with again.locked(), again.opened() as store:
        found += [record.id for record in store.records()]
    assert len(found) >= 12
    for left in (tmp_path / "home").rglob("*.db*"):  # another machine has the copy alone
        left.unlink()
    with reopen(away.path).opened() as store:
        assert [record.id for record in store.records()] == found


def test_copies_are_made_while_the_run_goes_on(away, tmp_path) -> None:
    local = network_storage.local_copy(away.database)
    with Store(local), network_storage.keep_copying(local, away.database, copy_s=0.01):
        while not away.database.is_file():
            pass
    with Store(away.database, readonly=True) as store:
        assert store.records() == []


def test_what_cannot_be_is_said_in_one_line(away, tmp_path, monkeypatch) -> None:
    with pytest.raises(StoreError):
        rebuild_run(away)
    (tmp_path / "mounts").write_text("server:/ / nfs4 rw 0 0\n")
    with pytest.raises(StoreError), away.opened():
        pass
    monkeypatch.setattr("fcntl.flock", lambda *words: (_ for _ in ()).throw(OSError(37, "No locks available")))
    with pytest.raises(StoreError), away.locked():
        pass


def test_other_databases_do_without_shared_memory_and_nothing_is_cached_there(away) -> None:
    with Database(away.path / "other.db", "", "1") as database:
        assert database.query_row("PRAGMA journal_mode")[0] == "delete"
    Cache(away.path / "cache.db", away.problem, away.root).close()
    assert not (away.path / "cache.db").exists()
