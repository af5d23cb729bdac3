"""Tools of our own agent: cells of data, cited figures, deleted files, questions to the person, checked submissions."""

import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from oragent._base.terminal import Terminal
from oragent.cli.app import app
from oragent.llm.callable import Scripted
from oragent.llm.model import Message, Request, ToolCall
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace import command
from oragent.workspace.folder import RequestStatus, WorkspaceFolder, finished_verbs, list_requests
from oragent.workspace.pages import render_page
from oragent.workspace.runner import ProgramRunner
from oragent.workspace.tools import ASK_PERSON, SET_CELL, TOOLS, WRITE_PARAMETERS, SubmissionFindings, ToolSession
from tests.workspace.bakery import DATA, PROGRAM, STORY
from tests.workspace.release import put
from tests.workspace.test_command import EDIT, PLAN, STATES, call

ALL = (*TOOLS, SET_CELL, WRITE_PARAMETERS, ASK_PERSON)
LIMITS = "name,value\nhours,60\n"


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with Sandbox(1) as shared:
        yield shared


@pytest.fixture
def session(tmp_path: Path) -> ToolSession:
    put(tmp_path, {"docs/a.md": STORY + "Ovens run 12.5 hours.\n", "data/limits.csv": LIMITS, "src/old.py": "x = 1\n",
                   "data/limits.json": json.dumps({"hours": {"north": 60, "south": 8.5}}, indent=2) + "\n"})  # fmt: skip
    base = sqlite3.connect(tmp_path / "data/shop.db")
    base.execute("CREATE TABLE items (name TEXT, value REAL, note TEXT)")
    base.execute("INSERT INTO items VALUES ('rope', 12, 'a'), ('tent', 9, 'b')")
    base.commit()
    base.close()
    return ToolSession(tmp_path, ProgramRunner(None), ("src/*", "data/*"), ALL)


def use(session: ToolSession, tool: str, **arguments: object) -> str:
    return session.call_tool(ToolCall("1", tool, arguments))


def test_cells_of_csv_sqlite_and_json_are_set_and_nothing_else_changes(session):
    assert "is 47 now" in use(session, "set_cell", cell="data/limits.csv[hours, value]", value="47")
    assert (session.folder / "data/limits.csv").read_text() == LIMITS.replace("60", "47")
    assert "is 170 now" in use(session, "set_cell", cell="data/shop.db[rope, value]", value="170")
    assert "is new now" in use(session, "set_cell", cell="data/shop.db[tent, note]", value="new")
    with closing(sqlite3.connect(session.folder / "data/shop.db")) as base, base:
        assert base.execute("SELECT * FROM items").fetchall() == [("rope", 170, "a"), ("tent", 9, "new")]
    assert "is 9 now" in use(session, "set_cell", cell="data/limits.json[hours, south]", value="9")
    text = (session.folder / "data/limits.json").read_text()
    assert text == json.dumps({"hours": {"north": 60, "south": 9}}, indent=2) + "\n"
    for cell, value in (("data/limits.csv[hours, value]", "many"), ("data/limits.csv[days, value]", "3"),
                        ("data/limits.json[hours, west]", "3"), ("docs/a.md[a, b]", "3"), ("data/none.csv[a, b]", "3")):  # fmt: skip
        answer = use(session, "set_cell", cell=cell, value=value)
        assert answer.startswith("set_cell: ")
        assert "\n" not in answer


def test_a_cell_of_a_workbook_keeps_formats_and_takes_texts(session):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["name", "value", "note"])
    book.active.append(["hours", 60, "old"])
    book.active["B2"].number_format = "0.00"
    book.save(session.folder / "data/mix.xlsx")
    assert "is 47.5 now" in use(session, "set_cell", cell="data/mix.xlsx[hours, value]", value="47.5")
    assert "is a < b now" in use(session, "set_cell", cell="data/mix.xlsx[hours, note]", value="a < b")
    sheet = openpyxl.load_workbook(session.folder / "data/mix.xlsx").active
    assert (sheet["B2"].value, sheet["B2"].number_format, sheet["C2"].value) == (47.5, "0.00", "a < b")


def test_a_figure_is_written_only_with_the_line_that_states_it(session):
    line = len(STORY.splitlines()) + 1
    source = f'[docs/a.md:{line} "Ovens run"]'
    written = use(session, "write_parameters", name="oven_hours", value="12.5", unit="h", source=source)
    assert all(column in written for column in ("oven_hours", "12.5", "Parameter_Name", "Value", "Unit"))
    assert f"oven_hours,12.5,h,[docs/a.md:{line}]" in (session.folder / "data/general_parameters.csv").read_text()
    for wrong in (
        use(session, "write_parameters", name="a", value="13", source=source),
        use(session, "write_parameters", name="a", value="12.5", source='[docs/a.md:1 "Ovens run"]'),
        use(session, "write_parameters", name="a", value="12.5", source="docs/a.md"),
        use(session, "write_parameters", name="oven_hours", value="12.5", source=source),
    ):
        assert wrong.startswith("write_parameters: ")


def test_a_helper_is_deleted_and_a_document_is_not(session):
    assert use(session, "delete_file", path="src/old.py") == "src/old.py is deleted"
    assert not (session.folder / "src/old.py").exists()
    assert "may not be written" in use(session, "delete_file", path="docs/a.md")
    assert "leads out" in use(session, "delete_file", path="src/../docs/a.md")


def test_failing_checks_are_returned_and_the_same_failure_twice_ends_the_task(session):
    found = [
        SubmissionFindings(("it crashes",), ("helper",)),
        SubmissionFindings((), ("helper",)),
        SubmissionFindings((), ("helper",)),
    ]
    session.check = lambda path: found.pop(0)
    assert use(session, "submit", path="src/old.py").splitlines()[:2] == ["not submitted:", "- it crashes"]
    assert use(session, "submit", path="src/old.py") == "done"
    session.submitted, session._reported = None, set()
    assert "or submit again" in use(session, "submit", path="src/old.py")
    found.append(SubmissionFindings(("no plan",)))
    found.insert(0, SubmissionFindings(("no plan",)))
    found.pop()
    assert "- no plan" in use(session, "submit", path="src/old.py")


def test_a_check_that_fails_itself_does_not_end_the_task(session):
    def fail(path: str) -> SubmissionFindings:
        raise ValueError("odd")

    session.check = fail
    assert use(session, "submit", path="src/old.py").startswith("submit: it failed")
    assert not session.has_ended


def scripted(steps: list[Message], calls: list[str], plan: dict[str, object] = PLAN) -> Scripted:
    def reply(request: Request, number: int) -> Message:
        calls.append(request.key)
        if request.role == "planner":
            return Message("assistant", json.dumps(plan))
        done = sum(message.role == "assistant" for message in request.messages)
        return steps[min(done, len(steps) - 1)]

    return Scripted(reply)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    put(tmp_path / "w", {"docs/a.md": STORY, "data/general_parameters.csv": DATA, "src/bakery.py": PROGRAM})
    (tmp_path / "request.md").write_text("No more loaves of rye than can be sold.\n")
    return tmp_path / "w"


def console() -> tuple[Terminal, io.StringIO]:
    out = io.StringIO()
    return Terminal(file=out, width=200, color_system=None, force_terminal=False), out


@pytest.mark.slow
def test_a_question_to_the_person_stops_and_goes_on_with_the_answer_and_nothing_is_paid_twice(home, box):
    steps = [call("ask_person", question="How many loaves of rye can be sold?"), call("edit", path="src/bakery.py", edits=EDIT),
             call("edit", path="docs/a.md", edits=STATES), call("submit", path="src/bakery.py")]  # fmt: skip
    calls: list[str] = []
    wanted = command.VerbRequest(home, model=scripted(steps, calls), sandbox=box)
    screen, out = console()
    assert command.revise_program(wanted, home.parent / "request.md", False, False, screen) == 3
    assert "the agent asks: How many loaves of rye can be sold?" in out.getvalue()
    assert finished_verbs(home) == []
    assert (home / "src/bakery.py").read_text() == PROGRAM
    assert "it asks: How many loaves" in CliRunner().invoke(app, ["show", str(home)]).output
    assert command.answer_person(wanted, "At most 40.", screen) == 0, out.getvalue()
    assert len(calls) == len(set(calls)) == 5
    assert "rye_sold" in (home / "src/bakery.py").read_text()


@pytest.mark.slow
def test_a_planned_edit_that_is_not_made_stops_the_revision_and_the_request_is_refused(home, box):
    plan = {
        **PLAN,
        "edits": [{"path": "data/general_parameters.csv", "row": "flour", "column": "Value", "value": "90"}],
    }
    lazy = [call("edit", path="src/bakery.py", edits=EDIT), call("submit", path="src/bakery.py")]
    screen, out = console()
    wanted = command.VerbRequest(home, model=scripted(lazy, [], plan), sandbox=box)
    assert command.revise_program(wanted, home.parent / "request.md", False, True, screen) == 3
    assert "planned and not made" in out.getvalue()
    assert "flour, Value] = 90" in out.getvalue()
    assert (home / "src/bakery.py").read_text() == PROGRAM
    (request,) = list_requests(WorkspaceFolder(home).list_files())
    assert (request.status, request.text.strip()) == (RequestStatus.REFUSED, "No more loaves of rye than can be sold.")
    assert not list((home / "docs").glob("revise*"))
    documents = render_page(home).partition("<h2>Documents</h2>")[2].partition("<h2>Data</h2>")[0]
    assert "than can be sold" not in documents
    whole = [lazy[0], call("set_cell", cell="data/general_parameters.csv[flour, Value]", value="90"),
             call("edit", path="docs/a.md", edits=STATES), lazy[1]]  # fmt: skip
    wanted = command.VerbRequest(home, model=scripted(whole, [], plan), sandbox=box)
    assert command.revise_program(wanted, home.parent / "request.md", False, False, screen) == 0, out.getvalue()
    statuses = [request.status for request in list_requests(WorkspaceFolder(home).list_files())]
    assert sorted(statuses) == [RequestStatus.DONE, RequestStatus.REFUSED]
    # 40 rye and 50 wheat of 90 kg.
    assert finished_verbs(home)[-1].result["objective"] == pytest.approx(40 * 4 + 50 * 3)


@pytest.mark.slow
def test_a_crash_of_a_submission_is_mended_within_the_task(home, box):
    broken = EDIT.replace('p["most_rye"]', 'p["none"]')
    repair = '<<<<<<< SEARCH\n    problem += rye <= p["none"], "rye_sold"\n=======\n    problem += rye <= p["most_rye"], "rye_sold"\n>>>>>>> REPLACE\n'
    steps = [call("edit", path="src/bakery.py", edits=broken), call("submit", path="src/bakery.py"),
             call("edit", path="src/bakery.py", edits=repair), call("edit", path="docs/a.md", edits=STATES),
             call("submit", path="src/bakery.py")]  # fmt: skip
    screen, out = console()
    wanted = command.VerbRequest(home, model=scripted(steps, []), sandbox=box)
    assert command.revise_program(wanted, home.parent / "request.md", False, False, screen) == 0, out.getvalue()
    assert "written" in out.getvalue()


def test_figures_of_an_answer_come_by_reference_and_others_are_marked(tmp_path, box):
    put(tmp_path / "bakery", {"docs/a.md": STORY, "data/general_parameters.csv": DATA, "src/bakery.py": PROGRAM})
    cited = "[data/general_parameters.csv, row flour, column Value = 100]"
    text = f"Rye is {{r1.value(rye)}} and earns {{4 * r1.value(rye)}} EUR of 100 kg {cited}; 77 loaves are sold."
    steps = [
        call("query", line="value rye"),
        call("submit", answer="It is {r7.objective}."),
        call("submit", answer=text),
    ]
    told: list[str] = []

    def reply(request: Request, number: int) -> Message:
        told.append(request.messages[-1].content)
        done = sum(message.role == "assistant" for message in request.messages)
        return steps[min(done, len(steps) - 1)]

    out = io.StringIO()
    request = command.VerbRequest(tmp_path / "bakery", model=Scripted(reply), sandbox=box)
    assert command.ask_question(request, "How much rye?", Terminal(file=out, width=300)) == 0
    assert '"id":"r1"' in told[1]
    assert "no result" in told[2]
    answer = finished_verbs(tmp_path / "bakery")[-1].result["answer"]
    assert "Rye is 100 [r1] and earns 400 [r1] EUR" in answer
    assert f"of 100 kg {cited}; _77_ [not from the model] loaves" in answer
    assert "77" in (tmp_path / "bakery/answers/ask-1.md").read_text()
