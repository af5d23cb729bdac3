"""Folders of an earlier version are shown, reported, resumed and replayed, and reading leaves them as they are."""

import contextlib
import shutil
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

from oragent.cli.app import app
from tests.llm.chat_server import ChatServer

FOLDERS = Path(__file__).parent / "old_folders"
ENVIRONMENT = {"COLUMNS": "120", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "none"}  # nobody answers
SHOWN = {
    "conversation": "objective 600",
    "conversation_model": "Busiest start time",
    "formulation": "735",
    "workspace": "build-1",
    "search": "6",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of all folders, with the paths of this machine."""
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "old"
    shutil.copytree(FOLDERS, home)
    shutil.copytree(FOLDERS / "search_problem", tmp_path / "problems" / "toy")
    config = home / "search" / "config.yaml"
    config.write_text(config.read_text().replace("/elsewhere", str(tmp_path)))
    return home


def run(*words: str, stdin: str = "") -> str:
    result = CliRunner(env=ENVIRONMENT).invoke(app, list(words), input=stdin)
    assert result.exit_code == 0, f"{words}: {result.output}"
    return " ".join(result.output.split())


def contents(folder: Path) -> dict[str, object]:
    """Every file but the report, and the rows of the database; times and columns of later versions are left out."""
    files: dict[str, object] = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "report.html" and not path.name.startswith("run.db")
    }
    with (
        contextlib.closing(sqlite3.connect(FOLDERS / folder.name / "run.db")) as old,
        old,
        contextlib.closing(sqlite3.connect(folder / "run.db")) as database,
        database,
    ):
        for (table,) in old.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name != 'meta'"):
            columns = ", ".join(row[1] for row in old.execute(f'PRAGMA table_info("{table}")'))
            files[f"table {table}"] = database.execute(f'SELECT {columns} FROM "{table}"').fetchall()
    return files


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", SHOWN)
def test_showing_changes_no_byte_and_reporting_nothing_but_what_it_writes(home: Path, name: str) -> None:
    before = snapshot(home / name)
    run("show", str(home / name))
    assert snapshot(home / name) == before
    run("report", str(home / name), "--no-audit")
    after = snapshot(home / name)
    assert before.keys() <= after.keys()
    assert {Path(path).name for path in before if after[path] != before[path]} <= {"report.html"}


@pytest.mark.parametrize("name", SHOWN)
def test_an_old_folder_is_shown_and_reported_and_stays_as_it_is(home: Path, name: str) -> None:
    before = contents(home / name)
    assert SHOWN[name] in run("show", str(home / name))
    assert contents(home / name) == before
    assert "report" in run("report", str(home / name))
    assert (home / name / "report.html").stat().st_size > 5000
    changed = {path for path, data in contents(home / name).items() if before.get(path) != data}
    written = {"solution.json", "audit.yaml"}  # a report may leave them beside the page
    assert {path for path in changed if not path.startswith("figures")} <= written


def test_an_old_conversation_goes_on_from_its_state(home: Path) -> None:
    text = run("converse", str(home / "conversation"), stdin="chairs <= 4\nquit\n")
    assert "> chairs >= 5" in text  # what was said is gone through again
    assert "conversation:" in text
    states = sorted((home / "conversation" / "states").glob("*.json"))
    assert len([path for path in states if ".milp" not in path.name]) == 8


def test_an_old_conversation_with_a_model_asks_nothing_twice(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer() as server:
        monkeypatch.setitem(ENVIRONMENT, "OPENAI_BASE_URL", server.url)
        text = run("converse", str(home / "conversation_model"), stdin="quit\n")
    assert "> the best one" in text
    assert text.count("Busiest start time") == 2  # of the opening and of the recorded answer
    assert len(server.keys) <= 1  # the check of the server, no question of the conversation


def test_an_old_formulation_is_replayed_and_resumed_from_its_replies(home: Path, tmp_path: Path) -> None:
    again = run("formulate", "--replay", str(home / "formulation"), "--outputs", str(tmp_path / "again"))
    assert "735" in again
    assert "735" in run("resume", str(home / "formulation"))


def test_an_old_workspace_keeps_its_history_and_takes_new_commands(home: Path) -> None:
    folder = home / "workspace"
    assert "rye is limited by what can be sold" in run("workspace", "history", str(folder))
    assert "rye" in run("workspace", "diff", str(folder), "--version", "4")
    run("workspace", "run", str(folder))
    assert "takes back version" in run("workspace", "undo", str(folder))
    assert "400" in run("workspace", "ask", str(folder), "What is the objective?")


def test_an_old_search_goes_on(home: Path) -> None:
    run("resume", str(home / "search"), "budget.evaluations=10")
    with contextlib.closing(sqlite3.connect(home / "search" / "run.db")) as database, database:
        (count,) = database.execute("SELECT COUNT(*) FROM evaluations").fetchone()
    assert count >= 10


def test_a_page_of_a_conversation_whose_replies_answer_other_prompts_is_left_as_it_is(home: Path) -> None:
    folder = home / "conversation_model"
    run("report", str(folder))
    page = (folder / "report.html").read_text()
    with contextlib.closing(sqlite3.connect(folder / "run.db")) as database, database:
        database.execute("UPDATE replies SET prompt_hash = 'other'")
    result = CliRunner(env=ENVIRONMENT).invoke(app, ["report", str(folder)])
    assert "its page stays as it is" in str(result.exception)
    assert (folder / "report.html").read_text() == page
