"""First steps of a new user: short settings, a problem's name alone, folders in the way, one precedence."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from oragent.authoring import scaffold
from oragent.cli.app import app
from oragent.llm.model_settings import RuntimeWords
from oragent.report.run import load_run
from oragent.search.config import read_config


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    scaffold.new("sack", tmp_path / "problems")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ask(*words: str) -> Result:
    return CliRunner().invoke(app, words)


def test_a_strategy_and_a_model_can_be_named_by_a_text(tmp_path: Path) -> None:
    file = tmp_path / "short.yaml"
    file.write_text("strategy: random\nmodel: gpt-4.1-mini\n")
    for overrides in ([], ["strategy.window=3", "model.temperature=0.5"]):
        config = read_config(file, overrides)
        assert config.strategy_name == "random"
        assert config.model is not None
        assert config.model.name == "gpt-4.1-mini"
        assert config.model.temperature == (0.5 if overrides else 1.0)
    assert read_config(file, ["strategy=gp"]).strategy_name == "gp"
    assert read_config(file, ["strategy.window=3"]).strategy.window == 3
    assert RuntimeWords(("model=m", "model.retries=1")).read_runtime().model.retries == 1


def test_a_setting_wins_over_the_option_of_the_same_meaning(project: Path) -> None:
    for words in (["budget.evaluations=3"], ["budget.evaluations=3", "seed=1"]):
        assert ask("run", "sack", "--evaluations", "2", "--workers", "1", *words).exit_code == 0
    folders = sorted((project / "outputs" / "sack").iterdir())
    assert [load_run(folder).spend.evaluations for folder in folders] == [3, 3]
    replayed = ask("run", "--replay", str(folders[0]), "--evaluations", "2", "budget.evaluations=3")
    assert replayed.exit_code == 0, replayed.output
    latest = max((project / "outputs" / "sack").iterdir(), key=lambda path: path.stat().st_mtime)
    assert latest not in folders
    assert load_run(latest).spend.evaluations == 3


def test_the_name_of_a_problem_alone_points_to_the_command(project: Path) -> None:
    for word, expected in (("sack", "oragent run sack"), ("tsp", "oragent run tsp_aco"), ("runn", "oragent run")):
        result = ask(word)
        assert result.exit_code == 2
        assert expected in " ".join(result.output.replace("│", " ").split())
    assert ask("xyzzy").exit_code == 2


def test_a_folder_without_a_problem_hides_no_problem_of_its_name(project: Path) -> None:
    (project / "sack").mkdir()
    (project / "tsp_constructive").mkdir()
    assert ask("check", "sack", "--quick").exit_code == 0
    assert ask("eval", "sack").exit_code == 0
    assert ask("check", "tsp_constructive", "--quick").exit_code == 0


def test_a_new_problem_is_where_problems_are(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project / "problems")
    assert ask("new", "second").exit_code == 0
    (project / "deep").mkdir()
    monkeypatch.chdir(project / "deep")
    assert ask("new", "third").exit_code == 0
    assert {path.name for path in (project / "problems").iterdir()} == {"sack", "second", "third"}
    assert ask("new", "fourth", "--parent", ".").exit_code == 0
    assert (project / "deep" / "fourth" / "problem.yaml").is_file()
    assert ask("eval", "third").exit_code == 0


def test_a_first_problem_makes_the_folder_of_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert ask("new", "sack").exit_code == 0
    assert (tmp_path / "problems" / "sack" / "problem.yaml").is_file()
