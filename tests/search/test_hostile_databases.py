"""A run's database may come from somebody else: each command ends in one line or goes on, and touches nothing else."""

import contextlib
import json
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oragent._base.errors import OragentError, StoreError
from oragent.ledger import database as databases
from oragent.report.live.evidence import read_elites, read_ideas, read_trust
from oragent.report.live.snapshot import CandidateColumns, RunReader
from oragent.report.run import load_run
from oragent.search.folder import RunFolder, reopen
from oragent.search.starting import gather_start
from oragent.search.store import Store
from oragent.search.strategies import STRATEGIES
from tests.search.hostile_databases import ATTACKS, honest_run, name_victim
from tests.search.test_engine import search

PATIENCE_S = 100


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return honest_run(tmp_path_factory.mktemp("project"))


@pytest.fixture
def patience() -> Iterator[None]:
    """End a test that hangs."""
    previous = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("no end"))
    signal.alarm(PATIENCE_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, previous)


def run_steps(folder: Path, honest: RunFolder) -> Iterator[Callable[[], object]]:
    """Yield what commands do with the folder of a run: show, watch, run --start, run --replay, resume."""
    yield lambda: load_run(folder)
    reader = RunReader(folder)
    yield reader.read_summary
    yield reader.read_candidates
    yield lambda: reader.read_candidate("1.0")
    yield reader.read_calls
    yield lambda: read_trust(reader)
    yield lambda: read_elites(reader)
    yield lambda: read_ideas(reader)
    yield lambda: gather_start([str(folder)], honest.problem, folder.parent)

    def replay() -> None:
        with Store(folder.parent / "new.db") as store:
            for take in (store.replies.copy_from, store.take_times, store.take_journal, store.take_start):
                take(folder / "run.db")

    yield replay

    def resume() -> None:
        again = reopen(folder, ["budget.evaluations=10"])
        with again.opened():
            pass
        search(again, STRATEGIES["gp"])

    yield resume


@pytest.mark.slow
@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize("name", ATTACKS)
def test_a_hostile_database_is_refused_in_one_line_or_read_in_bounds(
    name: str, honest: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "QUERY_S", 0.2)
    monkeypatch.setattr("oragent.report.live.snapshot.QUERY_S", 0.2)
    folder = tmp_path / "run"
    shutil.copytree(honest.path, folder)
    ATTACKS[name](folder / "run.db")
    with contextlib.suppress(StoreError):  # a reader may refuse the folder at once
        for step in run_steps(folder, honest):
            answer, line = None, ""
            try:
                answer = step()
            except OragentError as problem:
                line = str(problem)
            assert "\n" not in line
            assert len(line) < 1000
            if isinstance(answer, CandidateColumns):
                json.dumps(vars(answer), allow_nan=False)  # a valid page
    victim = folder / "victim"
    assert not victim.exists() or victim.read_text() == "precious"
    assert (name not in ("a journal that names a victim", "a link as journal")) or victim.exists()


def test_a_journal_that_names_another_file_does_not_have_it_deleted(tmp_path: Path) -> None:
    with Store(tmp_path / "run.db"):
        pass
    name_victim(tmp_path / "run.db")
    with pytest.raises(StoreError):
        Store(tmp_path / "run.db")
    assert (tmp_path / "victim").read_text() == "precious"


def test_a_query_that_returns_more_than_its_file_can_hold_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path / "run.db") as store:
        for number in range(2000):
            store.note(f"key {number}", "x" * 100)
    monkeypatch.setattr(databases, "MAX_BYTES", 0)
    with (
        databases.Database(tmp_path / "run.db", "", None, readonly=True) as database,
        pytest.raises(StoreError),
    ):
        database.query_rows("SELECT a.key, b.value FROM meta a, meta b")
