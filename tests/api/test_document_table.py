"""The table of documents: results of commands with ``--json`` have its fields, with its types."""

import json
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from oragent.api.document_table import COMMANDS, DOCUMENTS, TYPES, make_schema
from oragent.authoring import scaffold
from oragent.cli.app import app

MODEL = "Maximize\n obj: 3 x\nSubject To\n wood: 2 x <= 10\nEnd\n"


def ask(*words: str) -> object:
    result = CliRunner().invoke(app, [*words, "--json"])
    return json.loads(result.stdout.splitlines()[-1])["result"]


def test_every_document_has_a_schema() -> None:
    for document, names in DOCUMENTS.items():
        assert set(names) <= set(TYPES)
        assert make_schema(document)["required"] == list(names)
    assert set(COMMANDS.values()) <= set(DOCUMENTS)


@pytest.mark.slow
def test_results_of_commands_have_the_fields_of_their_documents(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.lp").write_text(MODEL)
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "main.py").write_text("import pulp\nproblem = pulp.LpProblem()\n")
    scaffold.new("sack", tmp_path / "problems")
    seed = str(tmp_path / "problems/sack/heuristic.py")
    tunable = tmp_path / "tunable.py"
    tunable.write_text(
        Path(seed).read_text().replace("return value", "return value / weight**POWER") + "\n\nPOWER = 1.0\n"
    )
    results = {"new": ask("new", "other")}
    results |= {
        "check": ask("check", "problems/sack", "--quick"),
        "doctor": ask("doctor"),
        "eval": ask("eval", "sack"),
        "harden": ask("harden", seed),
        "model": ask("model", "model.lp", "solve"),
        "probe": ask("probe", "sack", seed),
        "sweep": ask("sweep", "sack", str(tunable), "POWER=1,2"),
        "run": ask("run", "sack", "--evaluations", "2", "--workers", "1"),
    }
    (folder,) = (tmp_path / "outputs" / "sack").iterdir()
    results |= {
        "show": ask("show", str(folder)),
        "resume": ask("resume", str(folder), "budget.evaluations=3"),
        "workspace adopt": ask("workspace", "adopt", "shop"),
        "duel": ask("duel", "seed", str(tunable), "--problem", "sack"),
    }
    for command, result in results.items():
        jsonschema.validate(result, make_schema(COMMANDS[command]))
    assert set(COMMANDS) == set(results)
