"""Commands that run verbs from their request to their record, with scripted models and made runs of programs."""

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oragent._base.errors import ConfigError, WorkspaceError
from oragent._base.terminal import Terminal
from oragent.llm.callable import Scripted
from oragent.llm.model import Message, Request
from oragent.modelling.capture.program import ProgramOutcome
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.solving.model_solving import solve
from oragent.workspace import command
from oragent.workspace.folder import finished_verbs, read_pending
from oragent.workspace.runner import ProgramRun, SolvedModel
from oragent.workspace.settings import EffortOptions, VerbRequest
from tests.workspace.release import put
from tests.workspace.test_agent_tasks import LATER, REFUSED, MemoryVersions, call
from tests.workspace.test_submission import DATA, FIGURES, PROGRAM, Runner, make_model

SUBMIT = call("submit", path=PROGRAM)
TABLE = "Parameter_Name,Value,Unit,Context_Description\n" + "".join(
    f"{name},{text},,\n" for name, text in FIGURES.items()
)


class Home:
    """A folder with the versions, runners and results of its commands."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.versions, self.runners = folder, MemoryVersions(folder), list[tuple[Any, ...]]()
        self.published, self.requests, self.sandboxes = list[Any](), list[Request](), list[int]()
        put(
            folder,
            {
                "docs/a.md": "# Bakery\nBake.\n",
                DATA: TABLE,
                PROGRAM: "import pulp\n",
                "workspace.yaml": "time: 50\ngap: 0.25\nenvironment: {WEEK: 7}\n",
            },
        )
        monkeypatch.setattr(command, "Versions", lambda folder, readonly=False: self.versions)
        monkeypatch.setattr(command, "write_page", lambda folder: folder / "report.html")
        monkeypatch.setattr(command, "publish_result", self.published.append)
        monkeypatch.setattr(command, "ProgramRunner", self.make_runner)

    def make_runner(self, *arguments: Any) -> Any:
        self.runners.append(arguments)
        runner: Any = Runner()
        runner.limits = arguments[1]
        return runner

    def want(self, *steps: Message, plan: Any = REFUSED, **fields: Any) -> VerbRequest:
        """Return a request with a model that says these steps; without steps, no model."""

        def reply(request: Request, number: int) -> Message:
            self.requests.append(request)
            if request.role == "planner":
                return Message("assistant", json.dumps(plan))
            done = sum(message.role == "assistant" for message in request.messages)
            return steps[min(done, len(steps) - 1)]

        return VerbRequest(self.folder, model=Scripted(reply) if steps else None, sandbox=object(), **fields)  # type: ignore[arg-type]

    def say(self, work: Callable[[Terminal], int]) -> tuple[int, str]:
        out = io.StringIO()
        return work(Terminal(file=out, width=200, color_system=None, force_terminal=False)), out.getvalue()

    def revise(
        self, wanted: VerbRequest, text: str = "", feedback: bool = False, accept: bool = False
    ) -> tuple[int, str]:
        put(self.folder.parent, {"request.md": text})
        path = self.folder.parent / "request.md" if text else None
        return self.say(lambda console: command.revise_program(wanted, path, feedback, accept, console))

    def list_names(self) -> list[str]:
        return [verb.name for verb in finished_verbs(self.folder)]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    return Home(tmp_path / "bakery", monkeypatch)


def test_verbs_are_numbered_and_run_with_the_settings_of_the_folder(home: Home) -> None:
    wanted = home.want(call("submit", answer="Rye."), effort=EffortOptions(time=7.0))
    assert home.say(lambda console: command.ask_question(wanted, "What?", console))[0] == 0
    written = home.want(call("write_file", path=PROGRAM, text="import pulp\n#\n"), SUBMIT)
    for number in (1, 2):
        code, text = home.say(lambda console: command.build_program(written, console))
        assert (code, "400" in text, read_pending(home.folder)) == (0, True, None)
        assert home.list_names()[-1] == f"build-{number}"
    assert home.list_names() == ["ask-1", "build-1", "build-2"]
    snapshots = [version.reason for version in home.versions.versions if version.author == "person"]
    assert snapshots[:4] == ["before ask-1", "while ask-1 went on", "before build-1", "while build-1 went on"]
    (sandbox, limits, gap, entry, variables), (_, later, *_), _ = home.runners
    assert (sandbox, limits.cpu_s, later.cpu_s, gap, variables) == (wanted.sandbox, 7.0, 50.0, 0.25, {"WEEK": "7"})
    assert not entry.path
    assert home.published[0]["verb"] == "ask"


def test_a_command_without_a_sandbox_makes_one_of_one_program(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[Any] = []

    class Box:
        def __init__(self, count: int) -> None:
            self.count = count

        def __enter__(self) -> "Box":
            return self

        def __exit__(self, *exception: object) -> None:
            ended.append(self)

    monkeypatch.setattr(command, "Sandbox", Box)
    wanted = replace(home.want(call("submit", answer="Rye.")), sandbox=None)
    home.say(lambda console: command.ask_question(wanted, "What?", console))
    home.say(lambda console: command.run_program(home.folder, "", console))
    assert [box.count for box in ended] == [1, 1]
    assert [arguments[0] for arguments in home.runners] == ended


def test_a_verb_needs_a_model_and_a_replay_needs_a_workspace(home: Home) -> None:
    with pytest.raises(ConfigError):
        home.say(lambda console: command.build_program(home.want(), console))
    (home.folder.parent / "empty").mkdir()
    with pytest.raises(WorkspaceError):
        home.say(lambda console: command.build_program(home.want(SUBMIT, replay=home.folder.parent / "empty"), console))
    assert read_pending(home.folder) is None
    assert not home.runners


def test_recorded_replies_are_replayed_in_another_folder(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = "What binds?"
    wanted = home.want(call("submit", answer="Rye."))
    assert home.say(lambda console: command.ask_question(wanted, question, console))[0] == 0
    other = Home(tmp_path / "other", monkeypatch)
    replayed = replace(other.want(), replay=home.folder)
    assert other.say(lambda console: command.ask_question(replayed, question, console))[0] == 0
    assert (len(home.requests), other.requests, other.published[-1]["answer"]) == (1, [], "Rye.")


def test_a_question_waits_and_no_call_is_repeated(home: Home) -> None:
    wanted = home.want(call("ask_person", question="Which?"), SUBMIT)
    code, text = home.say(lambda console: command.build_program(wanted, console))
    assert (code, "Which?" in text, home.list_names()) == (3, True, [])
    pending = read_pending(home.folder)
    assert pending is not None
    assert (pending.question, pending.answers) == ("Which?", ())
    assert home.say(lambda console: command.answer_person(wanted, "Dark.", console))[0] == 0
    assert (home.list_names(), len(home.requests)) == (["build-1"], 2)
    assert "Dark." in home.requests[-1].messages[-1].content


def test_a_refused_revision_is_accepted_without_a_model(home: Home) -> None:
    stubborn = home.want(LATER, SUBMIT, SUBMIT)
    code, text = home.revise(stubborn, "At most 40.\n")
    assert (code, "--accept" in text, home.published[-1]["can_accept"]) == (3, True, True)
    # Without ``--accept`` the same request is planned again.
    calls = len(home.requests)
    assert home.revise(stubborn, "At most 40.\n")[0] == 3
    assert (len(home.requests) > calls, home.list_names()) == (True, ["revise-1", "revise-2"])
    calls = len(home.requests)
    # Another request is another revision, for which no model is named.
    with pytest.raises(ConfigError):
        home.revise(home.want(), "At most 50.\n", accept=True)
    for text in ("", "At most 40.\n"):
        (home.folder / DATA).write_text(TABLE)
        (home.folder / "docs/a.md").write_text("# Bakery\nBake.\n")
        assert command._refused_revision(home.folder) is not None
        assert home.revise(home.want(), text, accept=True)[0] == 0
        assert (len(home.requests), home.list_names()[-1]) == (calls, f"revise-{3 if not text else 5}")
        assert "most_rye,40" in (home.folder / DATA).read_text()
        assert home.published[-1]["can_accept"] is False
        if not text:
            (home.folder / DATA).write_text(TABLE)
            (home.folder / "docs/a.md").write_text("# Bakery\nBake.\n")
            assert home.revise(stubborn, "At most 40.\n")[0] == 3
            calls = len(home.requests)
    # With a model, another request is planned anew, and written as it is accepted at once.
    (home.folder / DATA).write_text(TABLE)
    (home.folder / "docs/a.md").write_text("# Bakery\nBake.\n")
    assert home.revise(stubborn, "At most 45.\n", accept=True)[0] == 0
    assert len(home.requests) > calls
    assert home.published[-1]["preserved"] is False


def test_feedback_describes_the_failure_of_the_program(home: Home) -> None:
    (home.folder / PROGRAM).write_text("broken\n")
    mending = home.want(call("write_file", path=PROGRAM, text="import pulp\n"), SUBMIT, plan={"summary": "mend"})
    assert home.revise(mending, feedback=True)[0] == 0
    assert "NameError" in home.requests[0].messages[0].content
    assert (home.folder / PROGRAM).read_text() == "import pulp\n"
    # A repair need not change the requirement; other revisions have to.
    assert "edit the requirement" not in home.requests[-1].messages[-1].content
    assert "cannot be compared" in home.requests[-1].messages[-1].content


def solved(figures: dict[str, str], status: SolveStatus | None = None) -> SolvedModel:
    milp = make_model(figures)
    return SolvedModel(milp, Solution(status) if status else solve(milp))


CONFLICT = {**FIGURES, "most_rye": "4", "order": "9"}


@pytest.mark.parametrize(
    ("run", "code", "parts", "absent"),
    [
        (ProgramRun(ProgramOutcome.ENDED, models=(solved(FIGURES),)), 0, ["objective 400"], ["wrong", "- "]),
        # Its plan counts if the limit of time ended the program.
        (ProgramRun(ProgramOutcome.TIME, models=(solved(FIGURES),)), 0, ["limit of time"], ["wrong"]),
        (ProgramRun(ProgramOutcome.MEMORY, models=(solved(FIGURES),)), 3, ["memory"], ["wrong"]), (ProgramRun(ProgramOutcome.ERROR, 1, stderr="NameError"), 3, ["NameError"], ["wrong"]),
        (ProgramRun(ProgramOutcome.ENDED, models=(solved(CONFLICT, SolveStatus.INFEASIBLE),)), 3, ["infeasible", "- "], ["wrong"]),
        # A number that can be read in two ways, in a table that the program opened.
        (ProgramRun(ProgramOutcome.ENDED, models=(solved(FIGURES),), opened=("data/t.csv",)), 0, ["wrong: data/t.csv", "2.300"], []),
    ],
)  # fmt: skip
def test_a_run_is_recorded_printed_and_published(
    home: Home, monkeypatch: pytest.MonkeyPatch, run: ProgramRun, code: int, parts: list[str], absent: list[str]
) -> None:
    put(home.folder, {"data/t.csv": "Haus,Bedarf\nNord,950\nOst,2.300\n"})
    monkeypatch.setattr(Runner, "run", lambda self, folder, program: run)
    sandbox: Any = object()
    ended, text = home.say(
        lambda console: command.run_program(home.folder, "", console, sandbox, EffortOptions(time=7.0))
    )
    assert ended == code
    assert [part for part in parts if part not in text] == []
    assert [part for part in absent if part in text] == []
    ((used, limits, gap, _, variables),) = home.runners
    assert (used, limits.cpu_s, gap, variables) == (sandbox, 7.0, 0.25, {"WEEK": "7"})
    (result,) = home.published
    assert (result.ok, result.revision.name, result.revision.program) == (code == 0, ".", PROGRAM)
    assert result.limits.seconds == 7.0
    assert len(result.warnings) == sum(line.startswith(("wrong: ", "- ")) for line in text.splitlines())
    out = io.StringIO()
    console = Terminal(file=out, width=200, force_terminal=True, color_system="standard")
    command.run_program(home.folder, "", console, sandbox)
    assert all("\x1b[1;33m" in line for line in out.getvalue().splitlines() if "wrong: " in line)
    record = json.loads((home.folder / ".oragent/run.json").read_text())
    assert record.get("objective") == (run.models[0].objective if run.models else None)


def test_a_run_takes_another_program_or_names_what_makes_one(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    put(home.folder, {"src/more.py": "import pulp\n"})
    ran: list[str] = []

    def run(self: Runner, folder: Path, program: str) -> ProgramRun:
        # The command holds the lock of the folder.
        with pytest.raises(WorkspaceError), command.WorkspaceFolder(folder).locked("ask"):
            pass
        ran.append(program)
        return ProgramRun(ProgramOutcome.ENDED, models=(solved(FIGURES),))

    monkeypatch.setattr(Runner, "run", run)
    box: Any = object()
    assert home.say(lambda console: command.run_program(home.folder, "src/more.py", console, box))[0] == 0
    assert ran == ["src/more.py"]
    for path in ("src/more.py", PROGRAM):
        (home.folder / path).unlink()
    with pytest.raises(WorkspaceError):
        home.say(lambda console: command.run_program(home.folder, "", console, box))
