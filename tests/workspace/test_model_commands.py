"""Commands of the verbs on model files, which need no sandbox: exit codes, and what is published and printed."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from oragent.modelling.files.model_files import write
from oragent.modelling.operations.results import Figure
from oragent.workspace import model_commands
from oragent.workspace.adopting import Adoption, ProgramTrial
from oragent.workspace.model_commands import VerbCommands, adopt_command, check_file, check_text
from oragent.workspace.model_results import Revision, VerbResult
from oragent.workspace.settings import NO_OPTIONS, WorkspaceSettings
from oragent.workspace.sources import FolderState
from tests.workspace.release import put
from tests.workspace.test_model_tasks import LIMITS, make_model

LESS = {**LIMITS, "oven": ({"rye": 1.0}, 30.0)}
NONE = {**LIMITS, "oven": ({"rye": 1.0}, -1.0)}
CITING = 'The oven takes 40 loaves [docs/a.md:2 "takes 40"].\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    put(tmp_path, {
        "w/docs/a.md": "# Bakery\nThe oven takes 40 loaves.\n", "w/data/a.csv": "name,value\noven,40\n", "w/workspace.yaml": "program: good.json\n",
        "true.md": CITING, "false.md": CITING.replace("40", "50"), "plan.txt": "data/a.csv[oven, value] = 30\n",
    })  # fmt: skip
    for name, limits in (("good", LIMITS), ("less", LESS), ("none", NONE)):
        write(make_model(limits), tmp_path / f"w/{name}.json")
    return tmp_path


@pytest.mark.parametrize(
    ("verb", "words", "code"),
    [
        ("run", [], 0), ("run", ["/none.json"], 3), ("ask", ["price", ["solve"]], 0), ("ask", ["price", ["solve"], "/none.json"], 3),
        ("try_changes", [["oven = 30"]], 0), ("try_changes", [["oven = -1"]], 3), ("try_changes", [["flour = 90"], "/none.json"], 3),
        ("compare", [".", "/good.json"], 0), ("compare", [".", "/less.json"], 1), ("verify", ["/good.json", ".", []], 0), ("verify", ["/less.json", ".", []], 1),
        ("verify", ["/good.json", ".", ["data/none.csv[a, b] = 3"]], 1),
        ("audit", [".", "/less.json", None], 0), ("audit", [".", "/less.json", "plan.txt"], 1), ("cite", ["true.md"], 0), ("cite", ["false.md"], 1),
    ],
)  # fmt: skip
def test_a_verb_publishes_its_result_and_returns_its_exit_code(
    folder: Path, monkeypatch: pytest.MonkeyPatch, verb: str, words: list[Any], code: int
) -> None:
    published: list[VerbResult] = []
    monkeypatch.setattr(model_commands, "publish_result", published.append)

    def place(word: Any) -> Any:
        if not isinstance(word, str) or word == ".":
            return word
        return f"{folder}/w{word}" if word.startswith("/") else folder / word if "." in word else word

    texts = []
    for as_json in (True, False):
        console = Console(file=io.StringIO(), width=200)
        assert getattr(VerbCommands(folder / "w", console, NO_OPTIONS, as_json), verb)(*map(place, words)) == code
        texts.append(console.file.getvalue())
    first, second = published
    assert first.ok is second.ok is (code == 0)
    assert texts[0] == first.model_dump_json() + "\n"
    assert "does not hold" in texts[1] if code and verb not in ("ask", "try_changes") else "does not" not in texts[1]
    revision = getattr(first, "revision", None)
    if revision is not None:
        assert revision.name == ("." if "/none.json" not in words else f"{folder}/w/none.json")


def test_fields_of_the_form_are_not_printed(folder: Path) -> None:
    console = Console(file=io.StringIO(), width=200)
    VerbCommands(folder / "w", console, NO_OPTIONS).run()
    titles = {line.partition(":")[0].strip() for line in console.file.getvalue().splitlines()}
    assert {"status", "objective", "rows", "holds"} <= titles
    assert not {"verb", "ok", "limits", "warnings"} & titles


@pytest.mark.parametrize(
    ("name", "text", "verdicts", "warned"),
    [
        ("a.md", CITING, [True], False), ("a.md", CITING + CITING, [True], False), ("a.md", "No citation.\n", [], True), ("a.md", f"{CITING} [docs/a.md:9]", [True, False], False),
        # Without a quote, the line states the figures of the sentence; a list has no sentences.
        ("a.md", "The oven takes 41 loaves [docs/a.md:2].\n", [False], False), ("a.md", "The oven takes 40 loaves [docs/a.md:2].\n", [True], False),
        ("a.json", '[{"path": "docs/a.md", "line": 2}]', [True], False), ("a.JSON", '[{"path": "docs/a.md", "line": 9}]', [False], False), ("a.json", "[]", [], True),
    ],
)  # fmt: skip
def test_each_citation_is_looked_up_once(
    folder: Path, name: str, text: str, verdicts: list[bool], warned: bool
) -> None:
    put(folder, {name: text})
    state = FolderState("main", "c0ffee", folder / "w", WorkspaceSettings())
    result = check_file(state, folder / name)
    assert ([entry.holds for entry in result.citations], result.ok) == (verdicts, all(verdicts))
    assert (bool(result.warnings), result.revision) == (warned, Revision(name="main", commit="c0ffee"))
    assert all(bool(entry.reason) is not entry.holds for entry in result.citations)
    assert all((entry.path, entry.text[:10]) == ("docs/a.md", "[docs/a.md") for entry in result.citations)
    if name == "a.md":
        assert check_text(state, text) == result


def test_a_cited_cell_is_named_by_its_places(folder: Path) -> None:
    state = FolderState(".", "", folder / "w", WorkspaceSettings())
    (cell,) = check_text(state, "It takes 40 [data/a.csv, row oven, column value = 40].").citations
    assert (cell.path, cell.row, cell.column, cell.value, cell.line, cell.table, cell.keys) == (
        "data/a.csv", "oven", "value", "40", None, "", (),
    )  # fmt: skip


SOLVED = ProgramTrial("a.py", "optimal", Figure.exact(5.0))


@pytest.mark.parametrize("write_it", [True, False])
@pytest.mark.parametrize(
    ("adoption", "code", "lines"),
    [
        (Adoption({"program": "a.py"}, (SOLVED,), (), ()), 0, ["tried a.py: optimal, objective 5"]),
        (Adoption({"program": "a.py"}, (ProgramTrial("a.py", "error", reason=": why"),), ("b.py", "c.py"), ("WEEK", "DAY")), 3,
         ["tried a.py: error: why", "other programs: b.py; c.py", "the program reads the variables WEEK, DAY: set them under environment"]),
        (Adoption({"program": "a.py"}, (SOLVED,), (), ("WEEK",)), 0, ["tried a.py: optimal, objective 5"]),
    ],
)  # fmt: skip
def test_an_adoption_prints_its_settings_and_notes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, adoption: Adoption, code: int, lines: list[str], write_it: bool
) -> None:
    given, notes, published = [], [], []
    monkeypatch.setattr(model_commands, "adopt_folder", lambda folder, write: given.append((folder, write)) or adoption)
    monkeypatch.setattr(model_commands, "print_note", notes.append)
    monkeypatch.setattr(model_commands, "publish_result", published.append)
    console = Console(file=io.StringIO())
    assert adopt_command(tmp_path, write_it, console) == code
    assert (given, console.file.getvalue()) == ([(tmp_path, write_it)], adoption.text)
    *rest, last = notes
    assert rest == lines
    assert last.startswith("written: ") is write_it
    (result,) = published
    assert (result["settings"], result["file"]) == (
        adoption.proposal,
        tmp_path / "workspace.yaml" if write_it else None,
    )
    assert json.dumps([result["untried"], result["variables"]]) == json.dumps([adoption.untried, adoption.variables])
