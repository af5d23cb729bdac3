"""A folder of a person's: built, revised and asked about by a scripted model, killed in between, and gone on with."""

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from oragent._base.errors import ConfigError, OragentError, WorkspaceError
from oragent._base.terminal import Terminal
from oragent.cli.app import app
from oragent.llm.callable import Scripted
from oragent.llm.model import Message, Request, ToolCall
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace import command, file_commands
from oragent.workspace.folder import WorkspaceFolder, create_from_model, create_workspace, finished_verbs
from oragent.workspace.versions import Versions
from tests.workspace.bakery import DATA, PROGRAM, STORY
from tests.workspace.release import put
from tests.workspace.teams import begin, state_of

EDIT = """<<<<<<< SEARCH
    return problem, rye, wheat
=======
    problem += rye <= p["most_rye"], "rye_sold"
    return problem, rye, wheat
>>>>>>> REPLACE
"""
LINE = STORY.splitlines()[2]
STATES = f"<<<<<<< SEARCH\n{LINE}\n=======\n{LINE}\nAt most `most_rye` loaves of rye are sold.\n>>>>>>> REPLACE\n"
PLAN = {
    "summary": "rye is limited by what can be sold", "objective": "nothing",
    "rows": [{"name": "rye_sold", "change": "add", "why": "limit"}],
    "data": [{"name": "most_rye", "value": "40", "unit": "loaves", "meaning": "that can be sold", "neutral": "1000"}],
}  # fmt: skip
ANSWER = 'Row rye_sold binds at 40 loaves [data/general_parameters.csv, row most_rye, column Value = 40] [docs/a.md:3 "Loaves of rye"].'


SHARED: list[Sandbox] = []


class Killed(BaseException):
    """Stands for a kill: nothing of ours catches it."""


def call(name: str, **arguments: object) -> Message:
    return Message("assistant", "", (ToolCall("1", name, arguments),))


def baker(seen: list[str], kill_at: int | None = None) -> Scripted:
    """A model that does the right thing; it may be killed at a call."""
    steps = {
        "builder": [call("list_files"), call("read_file", path="docs/a.md"), call("write_file", path="src/bakery.py", text=PROGRAM),
                    call("run", path="src/bakery.py"), call("submit", path="src/bakery.py")],
        "planner": [Message("assistant", json.dumps(PLAN))],
        "reviser": [call("read_file", path="src/bakery.py"), call("edit", path="src/bakery.py", edits=EDIT),
                    call("edit", path="docs/a.md", edits=STATES), call("run", path="src/bakery.py"),
                    call("submit", path="src/bakery.py")],
        "explainer": [call("search", text="most_rye"), call("submit", answer=ANSWER)],
    }  # fmt: skip

    def reply(request: Request, number: int) -> Message:
        if kill_at is not None and number == kill_at:
            raise Killed
        seen.append(request.key)
        done = sum(message.role == "assistant" for message in request.messages)
        return steps[request.role][min(done, len(steps[request.role]) - 1)]

    return Scripted(reply)


@pytest.fixture(scope="module", autouse=True)
def box() -> Iterator[None]:
    with Sandbox(1) as shared:
        SHARED.append(shared)
        yield
        SHARED.clear()


def wanting(home: Path, model: Scripted | None = None) -> command.VerbRequest:
    return command.VerbRequest(home, model=model, sandbox=SHARED[0])


def running(home: Path, screen: Terminal) -> int:
    return command.run_program(home, "", screen, SHARED[0])


@pytest.fixture
def home(tmp_path) -> Path:
    put(tmp_path / "bakery", {"docs/a.md": STORY, "data/general_parameters.csv": DATA})
    (tmp_path / "request.md").write_text("No more than 40 loaves of rye can be sold.\n")
    return tmp_path / "bakery"


def console() -> tuple[Terminal, io.StringIO]:
    out = io.StringIO()
    return Terminal(file=out, width=200, color_system=None, force_terminal=False), out


def all_three(home: Path, model: Scripted) -> str:
    screen, out = console()
    wanted = wanting(home, model)
    done = {one.name for one in finished_verbs(home)}
    if "build-1" not in done:
        assert command.build_program(wanted, screen) == 0, out.getvalue()
    if "revise-1" not in done:
        assert command.revise_program(wanted, home.parent / "request.md", False, False, screen) == 0, out.getvalue()
    if "ask-1" not in done:
        assert command.ask_question(wanted, "What limits rye?", screen) == 0
    return out.getvalue()


@pytest.mark.slow
def test_build_revise_and_ask_leave_versions_a_diff_and_an_answer(home):
    said = all_three(home, baker([]))
    assert "model solved: optimal, objective 400" in said
    assert "new rows: rye_sold; alone it changes the optimum by -60" in said
    assert "objective: 400 to 340; at neutral values the former optimum holds" in said
    assert "does not hold" not in said
    screen, out = console()
    file_commands.list_versions(home, screen)
    authors = [line.split()[3] for line in out.getvalue().splitlines()]
    assert [one for one in authors if one != "person"] == ["builder", "request", "reviser"]
    assert next(home.glob("requests/revise-1-*.md")).read_text().startswith("---\nstatus: done\n---\n")
    assert "At most `most_rye` loaves" in (home / "docs/a.md").read_text()
    with Versions(home) as versions:
        revision = next(one for one in versions.list_versions() if one.author == "reviser")
        text = versions.describe_diff(revision.id)
        assert '+    problem += rye <= p["most_rye"], "rye_sold"' in text
        assert "+most_rye,40,loaves,that can be sold" in text
    page = (home / "report.html").read_text()
    assert "rye_sold" in page
    assert "<script" not in page
    assert "What limits rye?" in page


@pytest.mark.slow
@pytest.mark.parametrize("moment", [0, 3, 5, 8, 12])
def test_a_kill_at_any_call_loses_nothing_and_asks_nothing_twice(home, moment):
    seen: list[str] = []
    try:
        all_three(home, baker(seen, kill_at=moment))
    except Killed:
        pass
    else:
        pytest.fail("it was not killed")
    all_three(home, baker(seen))
    assert len(seen) == len(set(seen)) == 13
    assert "rye_sold" in (home / "src/bakery.py").read_text()
    with Versions(home) as versions:
        authors = [one.author for one in versions.list_versions()]
        assert [one for one in authors if one != "person"] == ["builder", "request", "reviser"]


@pytest.mark.slow
def test_what_was_cut_off_is_shown_gone_on_with_and_replayed_by_the_commands_of_all_systems(home, tmp_path):
    runner, seen = CliRunner(), []
    with pytest.raises(Killed):
        command.build_program(wanting(home, baker(seen, kill_at=2)), console()[0])
    assert "cut off: build" in runner.invoke(app, ["show", str(home)]).output
    screen, out = console()
    assert command.resume_verb(wanting(home, baker(seen)), screen) == 0
    assert len(seen) == len(set(seen)) == 5
    assert "model solved: optimal, objective 400" in out.getvalue()
    shown = runner.invoke(app, ["show", str(home)])
    assert shown.exit_code == 0
    assert "build-1: written" in shown.output
    assert "nothing was cut off" in runner.invoke(app, ["resume", str(home)]).output
    assert "report:" in runner.invoke(app, ["report", str(home)]).output
    put(tmp_path / "other", {"docs/a.md": STORY, "data/general_parameters.csv": DATA})
    again = runner.invoke(app, ["workspace", "build", str(tmp_path / "other"), "--replay", str(home)])
    assert again.exit_code == 0, again.output
    assert (tmp_path / "other/src/bakery.py").read_text() == (home / "src/bakery.py").read_text()


@pytest.mark.slow
def test_a_question_without_a_model_is_a_line_of_operations(home):
    put(home, {"src/bakery.py": PROGRAM})
    screen, out = console()
    assert command.ask_question(wanting(home), "price flour_there", screen) == 0
    assert "flour_there" in out.getvalue()
    with pytest.raises(OragentError):
        command.ask_question(wanting(home), "What limits rye?", screen)


@pytest.mark.slow
def test_a_revision_that_breaks_what_was_right_is_not_written(home):
    put(home, {"src/bakery.py": PROGRAM})
    plan = PLAN | {"data": [PLAN["data"][0] | {"neutral": "50"}]}

    def reply(request: Request, number: int) -> Message:
        if request.role == "planner":
            return Message("assistant", json.dumps(plan))
        done = sum(message.role == "assistant" for message in request.messages)
        return [call("edit", path="src/bakery.py", edits=EDIT), call("submit", path="src/bakery.py")][min(done, 1)]

    screen, out = console()
    wanted = wanting(home, Scripted(reply))
    assert command.revise_program(wanted, home.parent / "request.md", False, False, screen) == 3
    assert next(home.glob("requests/revise-1-*.md")).read_text().startswith("---\nstatus: refused\n")
    assert "the former optimum fails" in out.getvalue()
    assert "not written" in out.getvalue()
    assert (home / "src/bakery.py").read_text() == PROGRAM
    assert command.revise_program(wanted, home.parent / "request.md", False, True, screen) == 0
    assert "rye_sold" in (home / "src/bakery.py").read_text()


def _reviser(plan: dict[str, object], *edits: tuple[str, str], calls: list[str]) -> Scripted:
    """A model that plans, edits files, and submits."""

    def reply(request: Request, number: int) -> Message:
        calls.append(request.role)
        if request.role == "planner":
            return Message("assistant", json.dumps(plan))
        done = sum(message.role == "assistant" for message in request.messages)
        steps = [*(call("edit", path=path, edits=text) for path, text in edits), call("submit", path="src/bakery.py")]
        return steps[min(done, len(steps) - 1)]

    return Scripted(reply)


@pytest.mark.slow
def test_a_revision_that_changes_a_figure_and_adds_another_is_written(home):
    put(home, {"src/bakery.py": PROGRAM, "data/prices.csv": "loaf,price\nwheat,3\n"})
    dearer = "<<<<<<< SEARCH\nprice_rye,4,EUR,of a loaf\n=======\nprice_rye,5,EUR,of a loaf\n>>>>>>> REPLACE\n"
    other = "<<<<<<< SEARCH\nwheat,3\n=======\nwheat,3.5\n>>>>>>> REPLACE\n"
    model = _reviser(
        PLAN, ("src/bakery.py", EDIT), ("data/general_parameters.csv", dearer), ("data/prices.csv", other), calls=[]
    )
    screen, out = console()
    assert command.revise_program(wanting(home, model), home.parent / "request.md", False, False, screen) == 0, (
        out.getvalue()
    )
    assert "objective: 400 to 380; at neutral values the former optimum holds" in out.getvalue()
    assert "price_rye,5" in (home / "data/general_parameters.csv").read_text()


@pytest.mark.slow
def test_data_edits_that_a_plan_does_not_name_are_told_apart(home):
    put(home, {"src/bakery.py": PROGRAM, "data/prices.csv": "loaf,price,cost\nwheat,3,1\n"})
    dearer = "<<<<<<< SEARCH\nprice_rye,4,EUR,of a loaf\n=======\nprice_rye,5,EUR,of a loaf\n>>>>>>> REPLACE\n"
    other = "<<<<<<< SEARCH\nwheat,3,1\n=======\nwheat,3.5,1.0\n>>>>>>> REPLACE\n"
    plan = {**PLAN, "edits": [{"path": "prices.csv", "row": "wheat", "column": "price", "value": "3.5"}]}
    model = _reviser(
        plan, ("src/bakery.py", EDIT), ("data/general_parameters.csv", dearer), ("data/prices.csv", other), calls=[]
    )
    screen, out = console()
    assert command.revise_program(wanting(home, model), home.parent / "request.md", False, False, screen) == 0
    planned, unplanned = (
        out.getvalue().partition("data changed as planned:")[2].split("data changed without being in the plan:")
    )
    assert "row wheat, column price: 3 → 3.5" in planned
    assert "row most_rye, column Value: none → 40" in planned
    assert "cost" not in planned  # 1 and 1.0 are one number
    assert "row price_rye, column Value: 4 → 5" in unplanned
    assert "most_rye" not in unplanned
    assert "written (1 edit of data not in the plan)" in unplanned
    page = (home / "report.html").read_text()
    assert "<h3>Data changed without being in the plan</h3><ul><li>data/general_parameters.csv, row price_rye" in page
    assert "<td>written (1 edit of data not in the plan)</td>" in page


@pytest.mark.slow
def test_a_revision_to_an_infeasible_model_names_the_conflict(home):
    put(home, {"src/bakery.py": PROGRAM})
    edit = EDIT.replace('rye <= p["most_rye"], "rye_sold"', 'rye >= 3 * p["flour"], "rye_ordered"')
    screen, out = console()
    model = _reviser({**PLAN, "data": []}, ("src/bakery.py", edit), calls=[])
    assert command.revise_program(wanting(home, model), home.parent / "request.md", False, False, screen) == 3
    assert "objective: 400 to none (infeasible)" in out.getvalue()
    assert "- The least total change of right-hand sides that would do: 200 in all." in out.getvalue()
    assert "not written: the model of the draft is infeasible; the draft stays" in out.getvalue()
    assert "<th>revise-1</th>" not in (home / "report.html").read_text()


def test_a_run_of_an_infeasible_model_is_no_success_for_a_script(home):
    impossible = PROGRAM.replace('"flour_there"', '"flour_there"\n    problem += rye >= 120, "rye_ordered"')
    put(home, {"src/bakery.py": impossible})
    screen, out = console()
    assert running(home, screen) == 3
    assert "model solved: infeasible" in out.getvalue()
    assert "- The least total change of right-hand sides that would do: 20 in all." in out.getvalue()


def test_a_run_names_the_columns_that_can_be_read_in_two_ways(home):
    reads = PROGRAM + '\nopen(HERE.with_name("haus.csv")).read()\n'
    put(home, {"src/bakery.py": reads, "data/haus.csv": "Haus,Bedarf\nNord,950\nOst,2.300\n"})
    screen, out = console()
    assert running(home, screen) == 0
    assert "wrong: data/haus.csv line 3: '2.300' can be read in two ways" in out.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("again", [False, True])
def test_a_refused_revision_is_accepted_later_without_a_call(home, again):
    put(home, {"src/bakery.py": PROGRAM})
    plan = {**PLAN, "data": [{**PLAN["data"][0], "neutral": "10"}]}
    calls: list[str] = []
    screen, out = console()
    request = home.parent / "request.md"
    with pytest.raises(OragentError, match="nothing to accept: the last revision was not refused"):
        command.revise_program(wanting(home), None, False, True, screen)
    model = _reviser(plan, ("src/bakery.py", EDIT), calls=calls)
    assert command.revise_program(wanting(home, model), request, False, False, screen) == 3
    assert "revise DIR --accept' writes it without another call" in out.getvalue()
    paid = len(calls)
    assert command.revise_program(wanting(home), request if again else None, False, True, screen) == 0, out.getvalue()
    assert len(calls) == paid
    assert "rye_sold" in (home / "src/bakery.py").read_text()
    assert "most_rye,40" in (home / "data/general_parameters.csv").read_text()
    assert json.loads((home / ".oragent/run.json").read_text())["objective"] == 340
    with pytest.raises(OragentError, match="nothing to accept: the last revision was not refused"):
        command.revise_program(wanting(home), None, False, True, screen)
    command.undo_verb(home, screen)
    assert (home / "src/bakery.py").read_text() == PROGRAM


@pytest.mark.slow
def test_an_accepted_revision_never_writes_over_what_a_person_changed_since(home):
    put(home, {"src/bakery.py": PROGRAM})
    plan = {**PLAN, "data": [{**PLAN["data"][0], "neutral": "10"}]}
    screen, out = console()
    model = _reviser(plan, ("src/bakery.py", EDIT), calls=[])
    assert command.revise_program(wanting(home, model), home.parent / "request.md", False, False, screen) == 3
    (home / "src/bakery.py").write_text(PROGRAM + "# mine\n")
    assert command.revise_program(wanting(home), None, False, True, screen) == 3
    assert "not written: you changed src/bakery.py meanwhile" in out.getvalue()
    assert (home / "src/bakery.py").read_text() == PROGRAM + "# mine\n"


@pytest.mark.slow
def test_feedback_is_taken_from_a_run_that_failed(home):
    put(
        home,
        {
            "src/bakery.py": PROGRAM.replace(
                "    return problem,", '    problem += rye >= 2 * p["flour"], "too_much"\n    return problem,'
            )
        },
    )
    mended = '<<<<<<< SEARCH\n    problem += rye >= 2 * p["flour"], "too_much"\n=======\n>>>>>>> REPLACE\n'
    told: list[str] = []

    def reply(request: Request, number: int) -> Message:
        told.append(request.prompt)
        if request.role == "planner":
            return Message("assistant", json.dumps({"summary": "mend", "rows": [], "data": [], "objective": ""}))
        done = sum(message.role == "assistant" for message in request.messages)
        return [call("edit", path="src/bakery.py", edits=mended), call("submit", path="src/bakery.py")][min(done, 1)]

    screen, out = console()
    wanted = wanting(home, Scripted(reply))
    assert command.revise_program(wanted, None, True, False, screen) == 0, out.getvalue()
    assert "'too_much'" in told[0]
    with pytest.raises(OragentError):
        raise OragentError(_unfinished(wanted))


def _unfinished(wanted: command.VerbRequest) -> str:
    screen, out = console()
    assert command.revise_program(wanted, None, True, False, screen) == 3
    return out.getvalue()


@pytest.mark.slow
def test_undo_and_history_on_the_command_line(home):
    all_three(home, baker([]))
    screen, out = console()
    command.undo_verb(home, screen)
    assert "rye_sold" not in (home / "src/bakery.py").read_text()
    assert "takes back revise-1" in out.getvalue()
    assert (home / "answers/ask-1.md").exists()  # an answer is no step


@pytest.mark.slow
def test_an_undone_revision_is_nowhere_shown_as_if_in_force(home):
    all_three(home, baker([]))
    assert "revise-1: written," in CliRunner().invoke(app, ["show", str(home)]).output
    page = (home / "report.html").read_text()
    assert "<li>new rows: rye_sold; alone it changes the optimum by -60</li>" in page
    screen, _ = console()
    command.undo_verb(home, screen)
    page = (home / "report.html").read_text()
    assert "<li>new rows: rye_sold; alone it changes the optimum by -60</li>" not in page
    assert '<th>revise-1</th><td class="number">340</td><td>optimal</td><td>taken back</td>' in page
    assert "reviser: rye is limited by what can be sold (taken back)</h3>" in page
    assert "revise-1: taken back," in CliRunner().invoke(app, ["show", str(home)]).output
    with Versions(home) as versions:
        revised = next(one.id for one in versions.list_versions() if one.author == "reviser")
    command.restore_version(home, revised, "", screen)
    command.ask_question(wanting(home, baker([])), "What limits rye?", screen)  # a question is no step
    assert "<li>new rows: rye_sold; alone it changes the optimum by -60</li>" in (home / "report.html").read_text()
    with Versions(home) as versions:
        built = next(one.id for one in versions.list_versions() if one.author == "builder")
    command.restore_version(home, built, "", screen)
    assert "<li>new rows: rye_sold; alone it changes the optimum by -60</li>" not in (home / "report.html").read_text()
    command.undo_verb(home, screen)
    assert "<li>new rows: rye_sold; alone it changes the optimum by -60</li>" in (home / "report.html").read_text()


@pytest.mark.slow
def test_what_a_person_typed_outlasts_run_and_undo_and_foreign_logs_stay(tmp_path):
    screen, _ = console()
    home = tmp_path / "fresh"
    file_commands.new_workspace(home, None, screen)
    put(home, {"docs/business_requirement.md": STORY, "data/general_parameters.csv": DATA, "src/bakery.py": PROGRAM,
               "logs/last_year.log": "by hand\n"})  # fmt: skip
    assert running(home, screen) == 0
    (home / "docs/business_requirement.md").write_text(STORY + "Wheat is dear.\n")
    with pytest.raises(WorkspaceError, match="nothing to undo"):
        command.undo_verb(home, screen)
    assert (home / "docs/business_requirement.md").read_text() == STORY + "Wheat is dear.\n"
    assert (home / "data/general_parameters.csv").read_text() == DATA
    assert (home / "logs/last_year.log").read_text() == "by hand\n"
    with Versions(home) as versions:
        begun = next(one.id for one in versions.list_versions() if one.author == "new")
    command.restore_version(home, begun, "docs/business_requirement.md", screen)
    assert "Say here what is to be decided" in (home / "docs/business_requirement.md").read_text()
    assert running(home, screen) == 0
    with Versions(home) as versions:
        # A run writes no versioned file, so it saves no version.
        assert [one.reason for one in versions.list_versions() if one.author == "person"][:1] == ["before undo"]


@pytest.mark.slow
def test_a_verb_does_not_write_over_what_a_person_changed_meanwhile(home):
    put(home, {"src/bakery.py": PROGRAM})
    model = baker([])

    def reply(request: Request, number: int) -> Message:
        if request.role == "reviser":
            (home / "src/bakery.py").write_text(PROGRAM + "# mine\n")
        return model._replies(request, number)

    screen, out = console()
    wanted = wanting(home, Scripted(reply))
    assert command.revise_program(wanted, home.parent / "request.md", False, False, screen) == 3
    assert "not written: you changed src/bakery.py meanwhile; the draft stays in" in out.getvalue()
    assert (home / "src/bakery.py").read_text() == PROGRAM + "# mine\n"
    assert "rye_sold" in (home / ".oragent/drafts/revise-1/src/bakery.py").read_text()


def test_version_control_and_hidden_files_are_ignored_and_untouched(home):
    put(home, {"src/bakery.py": PROGRAM, ".env": "KEY=1\n", "data/.~lock.t.csv#": "me\n",
               "src/__pycache__/bakery.pyc": "x"})  # fmt: skip
    begin(home)
    (home / ".git/link").symlink_to(home.parent)
    state = state_of(home)
    screen, out = console()
    assert file_commands.check_workspace(home, screen) == 0, out.getvalue()
    assert running(home, screen) == 0
    assert ".git" not in out.getvalue()
    assert state_of(home) == state
    assert (home / ".git/link").is_symlink()
    with Versions(home) as versions:
        assert not [path for path in versions.repository.list_blobs(versions.tip) if "/." in f"/{path}"]


def test_a_run_becomes_a_workspace(tmp_path):
    run = tmp_path / "run"
    put(run, {"problem.md": STORY, "data.json": "{}", "milp.json": json.dumps({
        "sense": "maximize", "objective": {"terms": {"rye loaves": 4.0}}, "variables": [{"name": "rye loaves", "high": 5}], "rows": [],
    })})  # fmt: skip
    made = create_from_model(run, tmp_path / "w")
    assert set(made.list_files()) == {
        "docs/problem.md",
        "data/data.json",
        "data/general_parameters.csv",
        "src/optimization_model.py",
    }
    screen, out = console()
    assert file_commands.check_workspace(tmp_path / "w", screen) == 0  # its parameters are in data.json
    assert running(tmp_path / "w", screen) == 0
    assert "model solved: optimal, objective 20" in out.getvalue()
    with pytest.raises(WorkspaceError):
        create_workspace(tmp_path / "w")
    with pytest.raises(WorkspaceError):
        create_from_model(tmp_path, tmp_path / "x")


def test_what_is_missing_is_said_in_one_line(tmp_path, home):
    screen, _ = console()
    with pytest.raises(WorkspaceError, match=r"no workspace at .*'oragent workspace new .*' makes one"):
        WorkspaceFolder(tmp_path / "nothing").list_files()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").write_text("x")
    with pytest.raises(WorkspaceError, match="no file in docs and data; put the requirement into docs/"):
        command.build_program(command.VerbRequest(tmp_path / "other"), screen)
    with pytest.raises(WorkspaceError, match=r"'oragent workspace new .*' makes one"):
        command.build_program(command.VerbRequest(tmp_path / "nothing"), screen)
    create_workspace(tmp_path / "unwritten")
    with pytest.raises(WorkspaceError):
        command.build_program(command.VerbRequest(tmp_path / "unwritten"), screen)
    with pytest.raises(ConfigError, match="name a model with --model"):
        command.build_program(command.VerbRequest(home), screen)
    with pytest.raises(ConfigError):
        command.revise_program(command.VerbRequest(home), None, False, False, screen)
    with pytest.raises(WorkspaceError):
        running(home, screen)
    (home / "docs/a.md").unlink()
    with pytest.raises(WorkspaceError):
        file_commands.check_workspace(home, screen)
    assert file_commands.new_workspace(tmp_path / "fresh", None, screen) == 0
    assert (tmp_path / "fresh/src").is_dir()
    assert file_commands.check_workspace(tmp_path / "fresh", screen) == 1  # a table without rows


def test_pages_show_what_strangers_wrote_as_text(home):
    put(home, {"docs/b.md": "<script>alert(1)</script> `<img src=x>` \x1b[2J\n", "data/t.csv": "<b>,x\n<i>,1\n"})
    screen, _ = console()
    put(home, {"src/bakery.py": PROGRAM + "# <script>\n"})
    running(home, screen)
    page = (home / "report.html").read_text()
    assert "<script" not in page
    assert "<img" not in page
    assert "<i>,1" not in page
    assert "\x1b" not in page


@pytest.mark.slow
def test_a_check_loads_neither_models_nor_what_measures_them(tmp_path: Path) -> None:
    file_commands.new_workspace(tmp_path / "w", None, Terminal(file=io.StringIO()))
    script = (
        "import sys; from oragent.cli.app import app; app(sys.argv[1:], standalone_mode=False); print(*sys.modules)"
    )
    words = [sys.executable, "-c", script, "workspace", "check", str(tmp_path / "w")]
    loaded = subprocess.run(words, capture_output=True, text=True).stdout.split()
    ours = [name for name in loaded if name.startswith("oragent.workspace.")]
    assert 10 < len(ours) <= 30
    assert not [name for name in loaded if name.startswith("oragent_benchmarks.workspace")]


@pytest.mark.slow
def test_a_planned_row_that_the_program_lacks_is_told(home):
    put(home, {"src/bakery.py": PROGRAM})
    rows = [
        {"name": "rye_sold", "change": "add"},
        {"name": "Friday senior\x1b[31m", "change": "add"},
        {"name": "oven", "change": "change"},
        "odd",
    ]
    model = _reviser(
        {**PLAN, "rows": rows, "data": [{**PLAN["data"][0], "neutral": "10"}]}, ("src/bakery.py", EDIT), calls=[]
    )
    screen, out = console()
    command.revise_program(wanting(home, model), home.parent / "request.md", False, True, screen)
    assert "the plan adds 'Friday senior" in out.getvalue()
    assert "\x1b[31m" not in out.getvalue()
    assert out.getvalue().count("the plan adds") == 1
