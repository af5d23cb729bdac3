"""Commands of workspaces that neither call a model nor run a program, and what they leave as it is."""

import io
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from oragent._base.budget import Spent
from oragent._base.errors import ConfigError, ModellingError, WorkspaceError
from oragent.ledger.study import FinishedCase
from oragent.modelling.capture.program import CapturedModel, CapturedProgram, ClaimedPoint, ClaimVerdict, ProgramOutcome
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Variable
from oragent.modelling.data.model_values import Sense
from oragent.modelling.files.model_files import write
from oragent.modelling.opening import open_model
from oragent.sandbox.messages import Limits
from oragent.workspace import command, file_commands, git_store, model_commands, model_results, sources
from oragent.workspace.folder import (
    NO_FIGURES,
    PENDING_FILE,
    WELCOME,
    PendingVerb,
    RequestStatus,
    WorkspaceFolder,
    create_from_model,
    create_workspace,
    describe_next_step,
    list_requests,
    read_pending,
    read_request,
    save_pending,
)
from oragent.workspace.settings import VerbRequest, WorkspaceSettings
from oragent.workspace.versions import PENDING_WRITE, Versions
from tests.workspace.release import put

NOBODY = Console(file=io.StringIO())


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A workspace without a program."""
    create_workspace(tmp_path / "w")
    return tmp_path / "w"


@pytest.fixture
def used(tmp_path: Path) -> Path:
    """A folder that a command has used, without versions."""
    put(tmp_path / "w", {"docs/a.md": "# Bake\n", ".oragent/lock": ""})
    return tmp_path / "w"


def write_model(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    variable = Variable("x", 0.0, 4.0)
    write(IndexedModel.from_records((variable,), (), Objective({"x": 2.0}), Sense.MAXIMIZE, name="bread"), path)


def test_a_folder_with_a_model_becomes_a_workspace_with_its_documents_and_data(tmp_path: Path) -> None:
    source = tmp_path / "source"
    write_model(source / "milp.json")
    texts = {
        "a.md": "# A\n",
        "b.txt": "b\n",
        "c.pdf": "c",
        "data.json": "{}",
        "t.csv": "a,b\n1,2\n",
        "other.json": "{}",
    }
    put(source, texts | {"deep/d.md": "d"})
    (source / "link.md").symlink_to(source / "a.md")
    (source / "folder.md").mkdir()
    made = create_from_model(source, tmp_path / "w")
    assert set(made.list_files()) == {
        "docs/a.md", "docs/b.txt", "data/data.json", "data/t.csv", "data/general_parameters.csv", "src/optimization_model.py",
    }  # fmt: skip
    assert (made.folder / "docs/a.md").read_text() == "# A\n"
    assert (made.folder / "data/t.csv").read_text() == texts["t.csv"]
    assert (made.folder / "data/general_parameters.csv").read_text() == NO_FIGURES
    (first,) = Versions(made.folder).list_versions()
    assert first.author == "from"
    assert "source" in first.reason


def test_a_model_file_becomes_a_workspace_with_a_requirement(tmp_path: Path) -> None:
    write_model(tmp_path / "bread.json")
    made = create_from_model(tmp_path / "bread.json", tmp_path / "w")
    assert set(made.list_files()) == {
        "docs/business_requirement.md", "data/general_parameters.csv", "src/optimization_model.py",
    }  # fmt: skip
    assert (made.folder / "docs/business_requirement.md").read_text().startswith("# ")
    (tmp_path / "link.json").symlink_to(tmp_path / "bread.json")
    (tmp_path / "empty").mkdir()
    for source in ("link.json", "empty", "nothing.json"):
        with pytest.raises(WorkspaceError):
            create_from_model(tmp_path / source, tmp_path / "v")
        assert not (tmp_path / "v").exists()


def test_a_new_workspace_needs_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    put(tmp_path, {"file": "x", "full/x": "x"})
    for name in ("file", "full", "file/below"):
        with pytest.raises(WorkspaceError):
            create_workspace(tmp_path / name)
    for name in ("empty", "new/below"):
        home = create_workspace(tmp_path / name)
        assert home.is_unwritten()
        assert (home.folder / "docs/business_requirement.md").read_text() == WELCOME
        put(home.folder, {"docs/task.md": "Bake."})
        assert not home.is_unwritten()


def test_the_next_step_is_a_command_or_files(tmp_path: Path) -> None:
    put(tmp_path, {"full/x": "x", "file": "x"})
    (tmp_path / "em pty").mkdir()
    for name, has_command in (("full", False), ("em pty", True), ("new", True), ("file", True)):
        step = describe_next_step(tmp_path / name)
        assert ("workspace new" in step, "docs/" in step) == (has_command, True)
        assert ("'em pty'" in step or "em pty'" in step) is (name == "em pty")


@pytest.mark.parametrize(
    ("content", "status", "text"),
    [
        ("More bread.\n", "open", "More bread.\n"),
        ("---\nstatus: open\n---\n\nMore.\n", "open", "More.\n"),
        ("---\nstatus: done\n---\nMore.\n", "done", "More.\n"),
        ("---\r\nstatus: refused \r\n---\r\n\r\nMore.\r\nAnd more.", "refused", "More.\nAnd more."),
        ("---\nother: done\n---\nMore.\n", "open", "---\nother: done\n---\nMore.\n"),
        ("---\nstatus: later\n---\n\nMore.\n", None, ""),
    ],
)
def test_a_request_has_a_status_and_a_text(content: str, status: str | None, text: str) -> None:
    if status is None:
        with pytest.raises(WorkspaceError):
            read_request("requests/a.md", content)
        return
    request = read_request("requests/a.md", content)
    assert (request.path, request.status, request.text) == ("requests/a.md", status, text)
    again = read_request("requests/a.md", replace(request, status=RequestStatus.DONE).render())
    assert (again.status, again.text.rstrip()) == ("done", text.rstrip())


def test_requests_are_the_texts_of_their_folder(tmp_path: Path) -> None:
    put(
        tmp_path,
        {name: name for name in ("requests/b.md", "requests/a.md", "requests/a.txt", "docs/requests/c.md", "x.md")},
    )
    files = {path.relative_to(tmp_path).as_posix(): path for path in sorted(tmp_path.rglob("*.*"))}
    assert [request.path for request in list_requests(files)] == ["requests/a.md", "requests/b.md"]


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_shows_a_workspace_changes_nothing_in_it(home: Path) -> None:
    tip = Versions(home).tip
    # A write that was cut off is left to commands that write.
    put(home, {str(PENDING_WRITE): tip})
    (home / "docs/business_requirement.md").unlink()
    (home / ".git/info/exclude").unlink()
    before = tree(home)
    for show in (command.show_workspace, file_commands.list_versions):
        assert show(home, NOBODY) == 0
    assert file_commands.show_diff(home, "", NOBODY) == 0
    assert tree(home) == before


def test_commands_of_versions_end_with_zero(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "write_page", lambda folder: folder / "report.html")
    with Versions(home) as versions:
        versions.write_version({"docs/a.md": "1\n"}, "run", "one")
    assert command.undo_verb(home, NOBODY) == 0
    assert not (home / "docs/a.md").exists()
    assert command.write_report(home, NOBODY) == 0
    assert command.resume_verb(VerbRequest(home), NOBODY) == 0


def test_a_verb_waits_with_its_question_and_goes_on_with_the_answer(
    used: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[VerbRequest, PendingVerb]] = []
    monkeypatch.setattr(command, "_run_verb", lambda request, pending, console: begun.append((request, pending)) or 7)
    request = VerbRequest(used)
    with pytest.raises(WorkspaceError):
        command.answer_person(request, "rye", NOBODY)
    save_pending(used, PendingVerb("build", answers=("first",)))
    with pytest.raises(WorkspaceError):
        command.answer_person(request, "rye", NOBODY)
    waiting = PendingVerb("build", answers=("first",), question="Which?")
    save_pending(used, waiting)
    with pytest.raises(WorkspaceError):
        command.resume_verb(request, NOBODY)
    with pytest.raises(ConfigError):
        command.answer_person(request, "  ", NOBODY)
    assert read_pending(used) == waiting
    out = io.StringIO()
    command.show_workspace(used, Console(file=out))
    assert "build" in out.getvalue()
    assert "Which?" in out.getvalue()
    # Another workspace is named as the source of recorded replies.
    assert command.answer_person(replace(request, replay=used), " rye ", NOBODY) == 7
    ((given, pending),) = begun
    assert given.replay == used
    assert pending == replace(waiting, question="", answers=("first", "rye"))
    assert command.answer_person(request, "oat", NOBODY) == 7
    assert begun[1][1].answers == ("first", "oat")
    assert begun[1][1].question == ""
    assert read_pending(used).question == ""


@pytest.mark.parametrize(
    ("verb", "text", "feedback", "is_same"),
    [
        ("revise", "more", False, True),
        ("ask", "more", False, False),
        ("revise", "less", False, False),
        ("revise", "more", True, False),
    ],
)
def test_the_same_verb_begins_with_the_answers_that_were_given(
    used: Path, verb: str, text: str, feedback: bool, is_same: bool
) -> None:
    request = VerbRequest(used)
    assert command._begin_verb(request, verb, text, feedback).answers == ()
    save_pending(used, PendingVerb("revise", "more", question="Which?", answers=("rye",)))
    begun = command._begin_verb(request, verb, text, feedback, True)
    assert begun.answers == (("rye",) if is_same else ())
    assert (begun.verb, begun.text, begun.feedback, begun.accept, begun.question) == (verb, text, feedback, True, "")


def finished(*results: dict) -> list[FinishedCase]:
    return [FinishedCase(f"{result['verb']}-1", result, Spent()) for result in results]


def test_only_the_last_revision_can_be_accepted_and_only_if_it_was_refused(
    used: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused, written = {"verb": "revise", "refused": "x", "request": "a"}, {"verb": "revise", "refused": ""}
    asked = {"verb": "ask", "refused": "x"}
    for results, expected in (
        ([], None),
        ([asked], None),
        ([refused], refused),
        ([refused, asked], refused),
        ([refused, written], None),
        ([written, refused], refused),
        ([{"verb": "revise"}], None),
    ):
        monkeypatch.setattr(command, "finished_verbs", lambda folder, results=results: finished(*results))
        assert command._refused_revision(used) == expected


def test_a_damaged_record_of_a_verb_is_named(used: Path) -> None:
    for text in ("{", '{"verb": "sing"}', '{"verb": "ask", "answers": 3}'):
        put(used, {str(PENDING_FILE): text})
        with pytest.raises(WorkspaceError):
            read_pending(used)


def test_a_workspace_in_use_names_who_uses_it(used: Path) -> None:
    again = WorkspaceFolder(used).locked("ask")
    with WorkspaceFolder(used).locked("build"), pytest.raises(WorkspaceError) as problem, again:
        pass
    assert "build" in str(problem.value)
    with WorkspaceFolder(used).locked("ask"):
        pass


def test_a_check_lists_files_and_fails_with_flaws(home: Path) -> None:
    assert file_commands.check_workspace(home, NOBODY) == 1
    put(home, {"docs/business_requirement.md": "# Bake\n", "data/general_parameters.csv": NO_FIGURES + "men,5,,\n"})
    out = io.StringIO()
    assert file_commands.check_workspace(home, Console(file=out, width=200)) == 0
    assert "docs/business_requirement.md (7 bytes)" in out.getvalue()
    assert "wrong:" not in out.getvalue()


CAPTURED = CapturedModel("highs", None, ClaimedPoint(None, None, None), ClaimVerdict.UNVERIFIED, reason="too large")


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (CapturedProgram(ProgramOutcome.ERROR, (), 1, "", "first\nlast\n\n", "stopped"), "last"),
        (CapturedProgram(ProgramOutcome.ERROR, (CAPTURED,), 1, "", "", "stopped"), "stopped"),
        (CapturedProgram(ProgramOutcome.TIME, (), 1, "", " \n", ""), "time"),
        (CapturedProgram(ProgramOutcome.ENDED, (), 0, "", "error\n", "no model"), "no model"),
        (CapturedProgram(ProgramOutcome.ENDED, (CAPTURED,), 0, "", "", "no model"), "too large"),
    ],
)
def test_why_a_program_left_no_model_is_one_line(run: CapturedProgram, words: str) -> None:
    text = sources.describe_failure(run)
    assert text.endswith(words)
    assert text.startswith("the program ended with") is (run.outcome is not ProgramOutcome.ENDED)


@pytest.mark.parametrize("is_named", [True, False])
def test_the_program_of_a_model_runs_with_the_settings_of_its_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_named: bool
) -> None:
    put(tmp_path, {"src/plan.py": "", "src/other.py": ""})
    write_model(tmp_path / "m.json")
    model = open_model(tmp_path / "m.json")
    calls: list[tuple[Path, dict[str, object]]] = []
    run = CapturedProgram(ProgramOutcome.ENDED, (CAPTURED, replace(CAPTURED, model=model)), 0, "", "", "")

    def capture(path: Path, **options: object) -> CapturedProgram:
        calls.append((path, options))
        return run

    monkeypatch.setattr(sources, "capture_program", capture)
    settings = WorkspaceSettings(
        program="src/plan.py", command="python -m plan --week 1", environment={"A": 1}, import_folders=("src",),
        time=7.0, memory=300,
    )  # fmt: skip
    program = "src/plan.py" if is_named else "src/other.py"
    state = sources.FolderState(sources.WORKING, "", tmp_path, settings, program)
    told: list[str] = []
    opened = sources.open_state_model(state, told.append, files={"a": "b"})
    (path, options) = calls[-1]
    limits = options["limits"]
    assert isinstance(limits, Limits)
    assert (limits.cpu_s, limits.memory_mb) == (7.0, 300)
    assert (path, options["data_folder"], options["files"]) == (tmp_path / program, tmp_path, {"a": "b"})
    assert (options["environment"], options["working_folder"], options["solve_s"]) == ({"A": "1"}, "", None)
    command_line = (("--week", "1"), "plan", ("src",)) if is_named else ((), "", ())
    assert (options["arguments"], options["module"], options["import_folders"]) == command_line
    assert (opened.model, opened.framework, opened.captured) == (model, "highs", run.models[-1])
    assert told[0].endswith("the last of 2")
    # A single model needs no count; objectives of earlier solves come with the joined model.
    joined = replace(model)
    run = replace(run, models=run.models[1:], joined_model=joined)
    assert sources.open_state_model(state, told.append, check_claim=True).model is joined
    assert calls[-1][1]["solve_s"] == 7.0
    assert "the last of" not in told[1]
    run = replace(run, models=(CAPTURED,))
    with pytest.raises(ModellingError):
        sources.open_state_model(state)


def test_a_message_of_git_is_one_line_whatever_its_encoding() -> None:
    ended = subprocess.CompletedProcess([], 1, b"", b"\nfatal: caf\xe9\nhint\n" + b"x" * 400)
    text = git_store.describe_failure(ended)
    assert text.startswith("fatal: caf")
    assert "\n" not in text
    assert len(text) == 300


def styled(show) -> str:
    """Return what a terminal with colours gets."""
    out = io.StringIO()
    show(Console(file=out, force_terminal=True, color_system="standard", width=200))
    return out.getvalue()


BOLD, RED, YELLOW = "\x1b[1m", "\x1b[1;31m", "\x1b[1;33m"


@pytest.mark.parametrize("ok", [True, False])
def test_the_result_of_a_check_is_bold_and_red_if_it_fails(ok: bool) -> None:
    result = model_results.CiteResult(
        ok=ok, warnings=("a note",), verb="cite", revision=model_results.Revision(name="main")
    )
    text = styled(lambda console: model_commands.print_verb_result(result, console))
    line = next(line for line in text.splitlines() if "hold" in line)
    assert (BOLD in line, RED in line) == (ok, not ok)
    assert ("not" in line) is not ok
    assert "main" in text
    assert "\x1b[33m" in next(line for line in text.splitlines() if "a note" in line)


def test_what_needs_a_person_is_yellow(home: Path) -> None:
    text = styled(lambda console: file_commands.check_workspace(home, console))
    wrong = [line for line in text.splitlines() if "wrong:" in line]
    assert wrong
    assert all(YELLOW in line for line in wrong)
    save_pending(home, PendingVerb("revise", "more bread", question="Which?"))
    text = styled(lambda console: command.show_workspace(home, console))
    (line,) = [line for line in text.splitlines() if "cut off" in line]
    assert YELLOW in line
    assert "revise more bread" in line


BUILT = {"verb": "build", "run": "model solved", "written": True}
REVISED = BUILT | {"verb": "revise", "before": 3.0, "objective": 5.0, "preserved": True}


@pytest.mark.parametrize(
    ("result", "code", "words", "yellow"),
    [
        (BUILT, 0, {"model solved"}, ()),
        (BUILT | {"written": False, "end": "no plan"}, 3, {"model solved", "no plan"}, ()),
        ({"verb": "ask", "answer": "7 t", "broken_citations": [], "written": True}, 0, {"7 t"}, ()),
        ({"verb": "ask", "answer": "7 t", "broken_citations": ["[a]"], "written": True}, 1, {"7 t", "[a]"}, ("[a]",)),
        (REVISED, 0, {"3 to 5;"}, ()),
        (REVISED | {"before": None, "standing": "within a gap", "change": "undecided"}, 0, {"none to 5", "(within a gap)", ": undecided"}, ()),
        (REVISED | {"standing": "optimal", "preserved": None, "conflict": ["rows a and b"]}, 0, {"3 to 5;", "rows a and b"}, ()),
        (REVISED | {"differences": ["a row more"], "data_edits": ["cell a"], "unplanned_edits": ["cell b"], "missing": ["cell c"]},
            0, {"- a row more", "- cell a", "1 edit of"}, ("- cell b", "- cell c")),
        (REVISED | {"written": False, "end": "x", "refused": "y"}, 3, {"--accept"}, ()),
        (REVISED | {"written": False, "clashes": ["src/a.py", "b.py"], "draft": "drafts/1"}, 3, {"src/a.py, b.py", "drafts/1"}, ()),
    ],
)  # fmt: skip
def test_a_verb_ends_with_its_result_and_its_exit_code(
    result: dict, code: int, words: set[str], yellow: tuple[str, ...], used: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def perform(request: VerbRequest, home: WorkspaceFolder, pending: PendingVerb) -> tuple:
        return result, "", ""

    monkeypatch.setattr(command, "_perform_verb", perform)
    monkeypatch.setattr(command, "write_page", lambda folder: folder / "report.html")
    put(used, {"data/d.csv": "a,b\n1,2\n"})
    pending = PendingVerb(result["verb"], "text")
    save_pending(used, pending)
    codes: list[int] = []
    text = styled(lambda console: codes.append(command._run_verb(VerbRequest(used), pending, console)))
    assert codes == [code]
    assert read_pending(used) is None
    plain_text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert {word for word in words if word in plain_text} == words
    for line in text.splitlines():
        assert (
            (YELLOW in line) is any(word in line for word in yellow)
            or "planned and not" in line
            or "without being" in line
        )


@pytest.mark.parametrize(("reason", "question"), [("the budget is spent", ""), ("", "Which bread?")])
def test_a_verb_that_does_not_end_stays_with_its_question(
    reason: str, question: str, used: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def perform(request: VerbRequest, home: WorkspaceFolder, pending: PendingVerb) -> tuple:
        return None, reason, question

    monkeypatch.setattr(command, "_perform_verb", perform)
    put(used, {"data/d.csv": "a,b\n1,2\n"})
    pending = PendingVerb("build", answers=("rye",))
    save_pending(used, pending)
    codes: list[int] = []
    text = styled(lambda console: codes.append(command._run_verb(VerbRequest(used), pending, console)))
    assert codes == [3]
    (line,) = [line for line in text.splitlines() if (reason or question) in line]
    assert YELLOW in line
    assert read_pending(used) == replace(pending, question=question)
