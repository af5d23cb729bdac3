"""Every command writes one JSON document with --json, errors included."""

import io
import json
from pathlib import Path

import pytest
import typer

import oragent.cli.app as app
from oragent._base import documents
from oragent.authoring import scaffold
from oragent.cli.json_output import with_json

MODEL = "Maximize\n obj: 3 x + 2 y\nSubject To\n wood: 2 x + y <= 10\n time: x + 3 y <= 15\nEnd\n"


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def run(*words: object) -> tuple[int, dict, str]:
        monkeypatch.setattr("sys.argv", ["oragent", *map(str, words), "--json"])
        with pytest.raises(SystemExit) as end:
            app.main()
        written = capsys.readouterr()
        (line,) = written.out.splitlines()
        document = json.loads(line)
        code = int(end.value.code or 0)
        assert document["exit_code"] == code
        return code, document, written.err

    return run


def leaves(command, prefix: str = ""):
    for name, entry in command.commands.items():
        if hasattr(entry, "commands"):
            yield from leaves(entry, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", entry


def test_every_command_has_the_options() -> None:
    every = dict(leaves(typer.main.get_command(app.app)))
    assert len(every) > 40
    for name, command in every.items():
        options = [option for parameter in command.params for option in parameter.opts]
        assert options.count("--json") == 1, name
        assert options.count("--progress-json") == 1, name


@pytest.mark.slow
def test_problems_and_solutions_are_documents(call, tmp_path: Path) -> None:
    code, listed, _ = call("problems")
    assert (code, listed["command"]) == (0, "problems")
    assert {"name", "function", "better", "title", "sizes"} == set(listed["result"][0])
    path = tmp_path / "m.lp"
    path.write_text(MODEL)
    solved = call("solve", path)[1]["result"]
    # the vertex of wood and time: x = 3, y = 4
    assert solved["objective"] == pytest.approx(17)
    (first,) = call("model", path, "solve")[1]["result"]["results"]
    assert first["objective"]["value"] == pytest.approx(17)
    assert "pulp" in call("convert", path, "--to", "pulp")[1]["result"]["source"]


@pytest.mark.slow
def test_an_infeasible_model_has_its_exit_code_in_the_document(call, tmp_path: Path) -> None:
    path = tmp_path / "m.lp"
    path.write_text(MODEL.replace("End", "low: x + y >= 99\nEnd"))
    code, document, _ = call("solve", path)
    assert code == 3
    assert document["result"]["status"] == "infeasible"


@pytest.mark.parametrize(
    ("words", "code", "kind"),
    [
        (["eval", "no_such_problem"], 1, "ProblemError"),
        (["show", "no_such_run"], 1, "StoreError"),
        (["no_such_command"], 2, "UsageError"),
        (["eval"], 2, "UsageError"),
        (["solve", "m.lp", "--gap", "much"], 2, "UsageError"),
        (["solve", "missing.lp"], 1, "ModellingError"),
    ],
)
def test_an_error_is_a_document(call, words: list[str], code: int, kind: str) -> None:
    ended, document, _ = call(*words)
    assert ended == code
    assert document["error"]["code"] == kind
    assert set(document["error"]) == {"code", "message", "advice"}


@pytest.mark.slow
def test_a_run_is_a_document_with_progress_as_lines(call, tmp_path: Path) -> None:
    folder = scaffold.new("sack", tmp_path / "problems")
    words = ["--strategy", "gp", "--evaluations", "4", "--outputs", tmp_path / "outputs", "--progress-json"]
    code, document, errors = call("run", folder, *words)
    result = document["result"]
    assert code == 0
    assert result["complete"]
    assert result["spent"]["evaluations"] == 4
    events = [json.loads(line) for line in errors.splitlines() if line.startswith("{")]
    assert events[0]["event"] == "begun"
    assert events[-1]["event"] == "ended"
    shown = call("show", result["folder"])[1]["result"]
    assert shown["best"] == result["best"]


def test_settings_and_memory_are_documents(call, tmp_path: Path) -> None:
    settings = call("settings")[1]["result"]
    assert settings["budget"]["evaluations"] == 200
    assert call("memory", "--outputs", tmp_path)[1]["result"] == {"families": []}
    file = tmp_path / "memory" / "tsp.md"
    file.parent.mkdir()
    file.write_text("Short edges first.\n")
    assert call("memory", "--outputs", tmp_path)[1]["result"]["families"] == [{"family": "tsp", "file": str(file)}]
    shown = call("memory", "tsp", "--outputs", tmp_path)[1]["result"]
    assert shown == {"family": "tsp", "file": str(file), "lessons": "Short edges first.\n"}


@pytest.mark.slow
def test_a_conversation_is_a_document(call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.lp"
    path.write_text(MODEL)
    monkeypatch.setattr("sys.stdin", io.StringIO("whatif wood += 1\nquit\n"))
    result = call("converse", path, "--outputs", tmp_path / "out")[1]["result"]
    assert Path(result["report"]).is_file()
    assert [message["said"] for message in result["messages"]] == ["", "whatif wood += 1"]
    assert result["messages"][1]["results"][0]["objective"]["difference"]["value"] == pytest.approx(1.4)
    shown = call("show", result["folder"])[1]["result"]
    assert shown["messages"] == result["messages"]


def test_commands_on_workspaces_are_documents(call, tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    made = call("workspace", "new", folder)[1]["result"]
    assert made["folder"] == str(folder)
    assert made["files"]
    checked = call("workspace", "check", folder)[1]["result"]
    assert {"verb", "ok", "program", "files", "notes", "problems"} == set(checked)
    assert all({"role", "path", "bytes"} <= set(entry) for entry in checked["files"])
    (folder / "src").mkdir(exist_ok=True)
    (folder / "src" / "model.lp").write_text(MODEL)
    versions = call("workspace", "history", folder)[1]["result"]["versions"]
    assert versions
    shown = call("workspace", "diff", folder)[1]["result"]
    assert {"verb", "version", "changes"} <= set(shown)


@pytest.mark.slow
def test_a_comparison_and_a_benchmark_are_documents(call, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    folder = scaffold.new("sack", tmp_path / "problems")
    words = ["--strategies", "gp", "--seeds", "2", "--evaluations", "3", "--outputs", tmp_path / "compared"]
    code, document, _ = call("compare", folder, *words)
    (problem,) = document["result"]["problems"]
    (row,) = problem["strategies"]
    assert code == 0
    assert (row["strategy"], row["runs"], row["seeds"]) == ("gp", 2, [0, 1])
    assert row["means"]["val"]["mean"] == pytest.approx(sum(scores["val"] for scores in row["scores"]) / 2)
    assert document["result"]["unfinished"] == []
    code, document, _ = call(
        "bench", "formulate", "--set", "families", "--limit", "2", "--model", "oracle", "--outputs", tmp_path / "bench",
        "--labels-readable",
    )  # fmt: skip
    tables = [part for part in document["result"]["content"] if isinstance(part, dict)]
    assert code == 0
    assert all(len(row) == len(table["columns"]) for table in tables for row in table["rows"])


def test_a_command_that_publishes_nothing_has_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    def greet() -> None:
        print("hello\x1b[0m")

    with pytest.raises(typer.Exit):
        with_json(greet, "greet")(as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert document == {"command": "greet", "exit_code": 0, "result": {"text": ["hello\\u001b[0m"]}}


def test_figures_that_json_lacks_are_null() -> None:
    text = documents.dump_json({"score": float("inf"), "path": Path("a"), "ids": (1, 2)})
    assert json.loads(text) == {"score": None, "path": "a", "ids": [1, 2]}
