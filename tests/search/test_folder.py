"""A run belongs to one process at a time, and what is left of one that lost its database can be gone on with."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from oragent._base.errors import StoreError
from oragent.evaluation.problem import load_problem
from oragent.search.config import build_config
from oragent.search.folder import RunFolder, make_folder, reopen
from oragent.search.launch import launch
from oragent.search.starting import rebuild_run
from oragent.search.store import Store
from tests.search.test_engine import climb, history, scored, search

ROOT = Path(__file__).parents[2]
HOLD = """
import sys, time
from pathlib import Path
from oragent.search.folder import reopen
with reopen(Path(sys.argv[1])).locked():
    print("held", flush=True)
    time.sleep(60)
"""


def going_on(folder: RunFolder):
    return launch(folder.config, folder.root, folder.problem, lambda: folder, lambda progress: None)


@pytest.mark.slow
def test_a_second_process_is_told_in_one_line_who_has_the_run_and_nothing_is_changed(begun) -> None:
    folder = begun("budget.evaluations=5")
    search(folder)
    holder = subprocess.Popen([sys.executable, "-c", HOLD, folder.path], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        before = {path: path.read_bytes() for path in folder.path.iterdir() if path.is_file()}
        expected = (
            rf"^process {holder.pid} on .*, since .* is searching in {folder.path}: wait until it ends, or end it$"
        )
        with pytest.raises(StoreError, match=expected):
            going_on(folder)
        with pytest.raises(StoreError, match=expected):
            reopen(folder.path, ["budget.evaluations=50"])
        with pytest.raises(StoreError, match=expected):
            rebuild_run(folder)
        assert before == {path: path.read_bytes() for path in folder.path.iterdir() if path.is_file()}
    finally:
        os.kill(holder.pid, signal.SIGKILL)
        holder.communicate()
    assert going_on(reopen(folder.path, ["budget.evaluations=8"])).complete  # the lock died with its holder


def test_what_a_lock_file_says_is_never_shown_raw(begun) -> None:
    folder = begun()
    with folder.locked():
        (folder.path / "run.lock").write_text("\x1b]0;owned\x07" + "x" * 1000)
        with pytest.raises(StoreError) as told, folder.locked():
            pass
    assert "\x1b" not in str(told.value)
    assert len(str(told.value)) < 500


def test_the_lock_is_not_kept_by_processes_that_a_search_starts(begun) -> None:
    folder = begun()
    with folder.locked():
        sleeper = subprocess.Popen(["sleep", "60"])
    try:
        with folder.locked():
            pass
    finally:
        sleeper.kill()
        sleeper.wait()


@pytest.mark.parametrize("loss", ["cut", "gone", "tableless", "rubbish"])
def test_a_lost_database_is_not_begun_anew_over_what_the_run_found(loss: str, begun) -> None:
    folder = begun("budget.evaluations=12")
    search(folder)
    lose(folder, loss)
    left = sorted((folder.path / "candidates").iterdir())
    with pytest.raises(StoreError, match=rf"oragent resume --rebuild {folder.path}$") as told:
        going_on(folder)
    assert "\n" not in str(told.value)
    assert sorted((folder.path / "candidates").iterdir()) == left


def lose(folder: RunFolder, loss: str) -> None:
    for suffix in ("-wal", "-shm"):
        folder.database.with_name(f"run.db{suffix}").unlink(missing_ok=True)
    if loss == "gone":
        folder.database.unlink()
    elif loss == "tableless":
        folder.database.unlink()
        with contextlib.closing(sqlite3.connect(folder.database)) as db, db:
            db.execute("CREATE TABLE other (x)")
        db.close()
    else:
        folder.database.write_bytes(b"" if loss == "cut" else b"rubbish" * 4096)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["cut", "gone", "rubbish"])
def test_a_lost_run_is_rebuilt_of_its_elites_which_are_scored_again(loss: str, begun) -> None:
    folder = begun("budget.evaluations=25")
    best = search(folder).progress.best
    texts = {file.read_text().strip() for file in (folder.path / "candidates").glob("*/heuristic.py")}
    (folder.path / "candidates" / best.id / "evaluation.yaml").write_text("score: 0.0\n")  # never believed
    lose(folder, loss)
    assert rebuild_run(folder) >= len(texts)
    outcome = search(reopen(folder.path, ["budget.evaluations=40"]))
    assert outcome.progress.spent.evaluations == 40
    with Store(folder.database, readonly=True) as store:
        first = store.records(0)
    assert first[0].candidate.origin == "seed"
    assert {record.source.strip() for record in first if record.score is not None} >= texts
    assert {record.candidate.origin for record in first[1:]} == {"rebuilt"}
    again = max(first, key=lambda record: folder.problem.about.direction.fitness(record.score))
    assert again.score == best.score
    assert outcome.progress.best.score <= best.score  # less is better
    assert (folder.path / "run.db.broken").is_file() == (loss != "gone")


def test_a_rebuilt_run_that_is_killed_at_once_still_begins_with_its_elites(begun) -> None:
    folder = begun("budget.evaluations=15")
    best = search(folder).progress.best
    lose(folder, "cut")
    rebuild_run(folder)

    class Killed(Exception):
        pass

    def die(job):
        raise Killed

    with pytest.raises(Killed):
        search(reopen(folder.path), run=die)
    outcome = search(reopen(folder.path))
    assert outcome.progress.best.score <= best.score
    whole = history(folder)
    search(reopen(folder.path))
    assert history(folder) == whole


@pytest.mark.slow
def test_a_run_that_is_whole_or_has_nothing_left_is_not_rebuilt(begun, tmp_path: Path) -> None:
    folder, empty = begun("budget.evaluations=5"), begun()
    search(folder)
    with pytest.raises(StoreError):
        rebuild_run(folder)
    with pytest.raises(StoreError):
        rebuild_run(empty)
    assert search(empty, climb, run=scored).progress.spent.evaluations > 1


def test_a_new_folder_is_forgotten_where_nothing_came_of_it(begun) -> None:
    first, second = begun(), begun()
    reopen(first.path).forget()  # one that was there before stays, whatever becomes of it
    assert first.path.is_dir()
    first.forget()
    assert not first.path.exists()
    (second.path / "best.py").write_text("x = 1")
    second.forget()
    assert second.path.is_dir()
    (second.path / "best.py").unlink()
    second.forget()
    assert not second.path.parent.exists()


def elsewhere(tmp_path: Path) -> Path:
    """A folder of the user's beside the run, which a link in the run leads to."""
    place = tmp_path / "thesis"
    (place / "1.0").mkdir(parents=True)
    (place / "1.0" / "chapter.tex").write_text("years of work")
    (place / "notes").write_text("more")
    return place


def state(place: Path) -> dict[str, str]:
    return {str(path.relative_to(place)): path.read_text() for path in place.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "name", ["candidates", "candidates/7.3", "candidates/0.0/heuristic.py", "run.lock", "run.db", "steering/answers"]
)
def test_a_run_with_a_link_in_it_is_refused_and_what_it_leads_to_stays(begun, tmp_path: Path, name: str) -> None:
    folder, place = begun("budget.evaluations=5"), elsewhere(tmp_path)
    whole = state(place)
    link = folder.path / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(place / "notes" if "." in link.name and "7.3" not in name else place)
    with pytest.raises(StoreError, match=f"{link.name} is a link"):
        reopen(folder.path)
    if name.startswith("candidates"):  # one that is made while the run goes on
        with contextlib.suppress(StoreError):
            search(folder)
        with contextlib.suppress(StoreError):
            folder.keep_only([])
    assert state(place) == whole


def test_a_run_of_a_shipped_problem_opens_after_its_project_is_gone(tmp_path: Path) -> None:
    project, problem = tmp_path / "project", load_problem(ROOT / "problems" / "bpp_online")
    project.mkdir()
    folder = make_folder(project, tmp_path / "outputs", problem, build_config({}, [], "test"))
    assert reopen(folder.path).root == project
    project.rmdir()
    assert reopen(folder.path).root == ROOT


def test_only_what_a_run_writes_is_removed_from_its_candidates(begun) -> None:
    folder = begun("budget.evaluations=15")
    search(folder)
    kept = folder.found_elites()
    for name in ("notes", "7.3"):
        (folder.path / "candidates" / name).mkdir()
        (folder.path / "candidates" / name / "mine.txt").write_text("mine")
    folder.keep_only([])
    assert (folder.path / "candidates" / "notes" / "mine.txt").read_text() == "mine"
    assert (folder.path / "candidates" / "7.3" / "mine.txt").read_text() == "mine"
    assert not any(path.is_file() for path in kept if path != folder.best)


def test_another_name_of_an_elites_file_is_not_written_over(begun, tmp_path: Path) -> None:
    folder, mine = begun("budget.evaluations=5"), tmp_path / "mine.py"
    elite = search(folder).progress.best
    file = folder.path / "candidates" / elite.id / "heuristic.py"
    mine.write_text("mine")
    file.unlink(missing_ok=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    os.link(mine, file)
    folder.write_elite(elite)
    assert mine.read_text() == "mine"
    assert file.read_text() != "mine"
