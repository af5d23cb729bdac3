"""Runs of earlier versions still open, resume and replay: folders as version 0.1.0 left them before its second layout."""

import contextlib
import shutil
import sqlite3
from pathlib import Path

import pytest

from oragent.report.live.offline import write_report
from oragent.report.run import load_run
from oragent.search.folder import reopen
from oragent.search.launch import launch
from oragent.search.store import Store

OLD = Path(__file__).parent / "old_runs"
NAMES = ("gp", "or_agent", "funsearch")


@pytest.fixture(params=NAMES)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder of an earlier version, moved here."""
    shutil.copytree(OLD / "toy", tmp_path / "problems" / "toy")
    folder = tmp_path / "outputs" / "toy" / request.param
    shutil.copytree(OLD / request.param, folder)
    config = folder / "config.yaml"
    config.write_text(config.read_text().replace("/elsewhere", str(tmp_path)))
    return folder


def candidates(database: Path) -> list[tuple[object, ...]]:
    """What was committed, read without any code of ours."""
    with contextlib.closing(sqlite3.connect(database)) as db, db:
        return db.execute("SELECT round, number, source, parents, placed FROM candidates ORDER BY 1, 2").fetchall()


def test_an_old_run_is_shown_and_its_folder_is_not_touched_by_that(old: Path) -> None:
    before = (old / "run.db").read_bytes()
    data = load_run(old)
    assert len(data.records) == len(candidates(old / "run.db"))
    assert data.best.candidate.source.strip() == (old / "best.py").read_text().split("\n", 1)[1].strip()
    write_report(old)
    assert (old / "report.html").is_file()
    assert (old / "run.db").read_bytes() == before


def test_an_old_run_goes_on(old: Path) -> None:
    before = candidates(old / "run.db")
    folder = reopen(old, ["budget.evaluations=20"])
    assert folder.config.strategy.tuning == 0.0  # as it was begun
    outcome = launch(folder.config, folder.root, folder.problem, lambda: folder, lambda progress: None)
    after = candidates(old / "run.db")
    assert outcome.complete
    assert after[: len(before)] == before
    assert len(after) > len(before)


def test_an_old_run_is_done_again_from_its_replies(old: Path, tmp_path: Path) -> None:
    folder = reopen(old)
    again = tmp_path / "again"
    again.mkdir()
    (again / "config.yaml").write_text((old / "config.yaml").read_text())
    shutil.copytree(old / "candidates", again / "candidates")
    fresh = reopen(again)
    with Store(again / "run.db"):
        pass
    outcome = launch(fresh.config, folder.root, folder.problem, lambda: fresh, lambda progress: None, old / "run.db")
    assert outcome.complete
    assert candidates(again / "run.db") == candidates(old / "run.db")
