"""Infeasible models: what would mend them comes first, and every command and the page work."""

import io
import json
from pathlib import Path

import pytest

from oragent._base.errors import WorkspaceError
from oragent._base.terminal import Terminal
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace import command
from oragent.workspace.pages import render_page
from oragent.workspace.records import MAX_PARTS, describe_conflict
from tests.workspace.bakery import DATA, PROGRAM, STORY
from tests.workspace.release import put


def test_a_long_conflict_names_the_remedy_first_and_counts_what_is_left_out():
    days = [f"day{number}" for number in range(30)]
    rows = [Row(f"need_{day}", {day: 1.0}, Relation.AT_LEAST, 1.0) for day in days]
    total = Row("budget", dict.fromkeys(days, 1.0), Relation.AT_MOST, 29.0)
    milp = IndexedModel.from_records(
        tuple(Variable(day, 0) for day in days), (*rows, total), Objective({}), Sense.MINIMIZE
    )
    lines = list(describe_conflict(milp))
    assert lines[0] == "- The least total change of right-hand sides that would do: 1 in all."
    heading = next(number for number, line in enumerate(lines) if line.startswith("- These 31 cannot hold together"))
    assert any("would have to be" in line for line in lines[:heading])
    # A line of a family lists some of its members, and how many there are.
    assert any("30" in line or "10 more" in line for line in lines[heading + 1 :])
    assert len(lines) <= 2 * (MAX_PARTS + 1)


@pytest.mark.slow
def test_the_page_of_an_infeasible_record_shows_the_conflict_and_all_commands_work(tmp_path: Path):
    impossible = PROGRAM.replace('"flour_there"', '"flour_there"\n    problem += rye >= 120, "rye_ordered"')
    put(tmp_path, {"docs/a.md": STORY, "data/general_parameters.csv": DATA, "src/bakery.py": impossible})
    out = io.StringIO()
    screen = Terminal(file=out, width=200)
    with Sandbox(1) as box:
        command.run_program(tmp_path, "", screen, box)
        request = command.VerbRequest(tmp_path, sandbox=box)
        # A question changes no file, and an infeasible model has no solution, for which all verbs exit with 3.
        assert command.ask_question(request, "conflict", screen) == 3
    assert "rye_ordered" in out.getvalue()
    # Neither a run nor a question is a step that undo takes back; it says so in one line.
    with pytest.raises(WorkspaceError, match="nothing to undo"):
        command.undo_verb(tmp_path, screen)
    assert command.write_report(tmp_path, screen) == 0
    page = (tmp_path / "report.html").read_text()
    assert "<dd>–<small>infeasible</small>" in page
    section = page[page.index("<h2>The model is infeasible</h2>") : page.index("<h2>Versions</h2>")]
    assert section.index("right-hand sides that would do: 20 in all") < section.rindex("rye_ordered")
    path = tmp_path / ".oragent/run.json"
    record = json.loads(path.read_text())
    del record["conflict"]
    path.write_text(json.dumps(record))
    assert "The record does not say what conflicts" in render_page(tmp_path)
