"""Commands on a workspace: what they print, publish and return for each end of a verb, and what they refuse."""

import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oragent._base.errors import ConfigError, UntrustedError, WorkspaceError
from oragent._base.terminal import Terminal
from oragent.ledger.study import FinishedCase, Spent
from oragent.llm.callable import Scripted
from oragent.llm.model_settings import ModelSettings, RuntimeSettings, RuntimeWords
from oragent.workspace import command
from oragent.workspace.folder import PENDING_FILE, WELCOME, PendingVerb, read_pending, save_pending
from oragent.workspace.settings import EffortOptions, VerbRequest
from oragent.workspace.undoing import Reversal
from tests.workspace.release import put

MODEL = Scripted(["nothing"])
PLAIN = {"verb": "build", "run": "ended: ended", "written": True, "end": "submitted"}
REVISION = {
    "verb": "revise", "run": "ended: ended", "written": True, "end": "submitted", "before": 400.0, "objective": 340.0,
    "preserved": True, "standing": "optimal", "differences": ["new rows: rye_sold"],
}  # fmt: skip
ANSWER = {"verb": "ask", "answer": "Rye binds.", "broken_citations": [], "written": True, "request": "What?"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    put(
        tmp_path / "bakery",
        {"docs/a.md": "# Bakery\nBake.\n", "data/general_parameters.csv": "Parameter_Name,Value\nflour,100\n"},
    )
    return tmp_path / "bakery"


class Verbs:
    """Stands for the work of verbs: it ends with given results, and records the verbs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.end: tuple[dict[str, Any] | None, str, str] = (PLAIN, "", "")
        self.pending: list[PendingVerb] = []
        self.requests: list[VerbRequest] = []
        self.published: list[Any] = []
        self.finished: list[FinishedCase] = []
        monkeypatch.setattr(command, "_perform_verb", self.perform)
        monkeypatch.setattr(command, "write_page", lambda folder: folder / "report.html")
        monkeypatch.setattr(command, "publish_result", self.published.append)
        monkeypatch.setattr(command, "finished_verbs", lambda folder: self.finished)

    async def perform(self, request: VerbRequest, home: Any, pending: PendingVerb) -> Any:
        self.pending.append(pending)
        self.requests.append(request)
        save_pending(request.folder, pending)
        return self.end

    def finish(self, name: str, **result: Any) -> None:
        self.finished.append(FinishedCase(name, {"verb": name.partition("-")[0], **result}, Spent()))


@pytest.fixture
def verbs(monkeypatch: pytest.MonkeyPatch) -> Verbs:
    return Verbs(monkeypatch)


def said(work: Any) -> tuple[int, list[str]]:
    out = io.StringIO()
    code = work(Terminal(file=out, width=200, color_system=None, force_terminal=False))
    return code, out.getvalue().splitlines()


def wanted(home: Path, **fields: Any) -> VerbRequest:
    return VerbRequest(home, **{"model": MODEL, **fields})


@pytest.mark.parametrize(
    ("result", "code", "parts", "absent"),
    [
        (PLAIN, 0, ["ended: ended", "written"], ["not written", "objective", "still"]), (PLAIN | {"written": False, "end": "gave up"}, 3, ["not written", "gave up"], []),
        (ANSWER, 0, ["Rye binds."], ["citation", "written"]), (ANSWER | {"broken_citations": ["docs/a.md:9"]}, 1, ["Rye binds.", "docs/a.md:9"], []),
        (REVISION, 0, ["- new rows: rye_sold", "400 to 340", "optimum holds", "written"], ["optimal", "data changed", "none"]),
        (REVISION | {"before": None, "preserved": False, "standing": "feasible, within 3 %", "change": "fewer loaves"}, 0,
         ["none to 340", "optimum fails", "(feasible, within 3 %)", "fewer loaves"], []),
        (REVISION | {"preserved": None, "data_edits": ["flour: 1"], "unplanned_edits": ["oven: 2"], "missing": ["rye: 3"]}, 0,
         ["not tested", "as planned", "- flour: 1", "without being in the plan", "- oven: 2", "planned and not made", "- rye: 3", "1 edit of data"], []),
        (REVISION | {"written": False, "refused": True}, 3, ["not written", "--accept"], ["submitted"]),
        (REVISION | {"written": False, "clashes": ["src/a.py", "docs/b.md"], "draft": "drafts/x"}, 3, ["src/a.py, docs/b.md", "drafts/x"], ["--accept"]),
        (PLAIN | {"written": False, "conflict": ["- rye_sold", "- order"]}, 3, ["- rye_sold", "- order"], []),
    ],
)  # fmt: skip
def test_the_end_of_a_verb_is_printed_published_and_returned(
    home: Path, verbs: Verbs, result: dict[str, Any], code: int, parts: list[str], absent: list[str]
) -> None:
    verbs.end = (result, "", "")
    ended, lines = said(lambda console: command.build_program(wanted(home), console))
    text = "\n".join(lines[:-1])
    assert ended == code
    assert [part for part in parts if part not in text] == []
    assert [part for part in absent if part in text] == []
    assert lines[-1] == f"report: {home / 'report.html'}"
    assert verbs.published == [result | {"can_accept": bool(result.get("refused"))}]
    # Nothing is left to go on with.
    assert read_pending(home) is None


def count_letters(text: str, letter: str) -> int:
    """Return how many of a long row of a letter were printed, with the mark of what was left out."""
    return max(len(word) for word in re.findall(f"{letter}+…?", text))


def test_long_texts_are_cut(home: Path, verbs: Verbs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "require_workspace", lambda folder: None)
    ends = [
        ((None, "x" * 1500, ""), 400), ((None, "", "x" * 1500), 1000), ((PLAIN | {"written": False, "end": "x" * 1500}, "", ""), 600),
        ((PLAIN | {"clashes": ["x" * 1500], "draft": "d"}, "", ""), 200),
    ]  # fmt: skip
    for end, limit in ends:
        verbs.end = end
        text = "\n".join(said(lambda console: command.build_program(wanted(home), console))[1])
        assert count_letters(text, "x") == limit
    verbs.finish("build-1", written=True, run="x" * 300)
    save_pending(home, PendingVerb("ask", "y" * 200, question="z" * 500))
    lines = said(lambda console: command.show_workspace(home, console))[1]
    assert [count_letters("".join(lines), letter) for letter in "xyz"] == [200, 100, 400]


def test_a_verb_that_does_not_finish_is_kept(home: Path, verbs: Verbs) -> None:
    verbs.end = (None, "the budget is used up", "")
    code, lines = said(lambda console: command.ask_question(wanted(home), "What binds?", console))
    assert code == 3
    assert "the budget is used up" in lines[0]
    kept = read_pending(home)
    assert kept is not None
    assert (kept.verb, kept.text, kept.question) == ("ask", "What binds?", "")
    assert verbs.published == [
        {"verb": "ask", "request": "What binds?", "question": "", "reason": "the budget is used up"}
    ]


def test_a_question_to_the_person_is_answered_once_and_kept_for_a_repeated_verb(home: Path, verbs: Verbs) -> None:
    verbs.end = (None, "", "Which rye?")
    code, lines = said(lambda console: command.ask_question(wanted(home), "What binds?", console))
    assert (code, len(lines)) == (3, 2)
    assert "Which rye?" in lines[0]
    kept = read_pending(home)
    assert kept is not None
    assert (kept.question, kept.answers) == ("Which rye?", ())
    assert verbs.published[-1]["question"] == "Which rye?"
    with pytest.raises(WorkspaceError):
        said(lambda console: command.resume_verb(wanted(home), console))
    with pytest.raises(ConfigError):
        said(lambda console: command.answer_person(wanted(home), " \n", console))
    verbs.end = (None, "", "And oats?")
    assert said(lambda console: command.answer_person(wanted(home), " The dark one. ", console))[0] == 3
    assert (verbs.pending[-1].question, verbs.pending[-1].answers) == ("", ("The dark one.",))
    verbs.end = (ANSWER, "", "")
    # Without a model of one's own, the stored settings are used.
    stored = verbs.pending[-1].runtime
    stored = {**stored, "budget": {**stored["budget"], "money": 5.0}}
    save_pending(home, replace(verbs.pending[-1], question="And oats?", runtime=stored))
    assert said(lambda console: command.answer_person(wanted(home, model=None), "Both.", console))[0] == 0
    assert verbs.requests[-1].runtime.budget.money == 5.0
    assert verbs.pending[-1].answers == ("The dark one.", "Both.")
    with pytest.raises(WorkspaceError):
        said(lambda console: command.answer_person(wanted(home), "Late.", console))
    # A repeated verb has the answers; another one has none.
    save_pending(home, PendingVerb("ask", "What binds?", answers=("a",)))
    for question, answers in (("What binds?", ("a",)), ("What else?", ())):
        verbs.end = (None, "stopped", "")
        said(lambda console, question=question: command.ask_question(wanted(home), question, console))
        assert verbs.pending[-1].answers == answers


def test_a_verb_is_resumed_with_its_own_models_unless_they_are_foreign(home: Path, verbs: Verbs) -> None:
    runtime = RuntimeSettings(ModelSettings("m", base_url="http://nowhere.example/v1"))
    verbs.end = (None, "stopped", "")
    asked = wanted(home, model=None, runtime=runtime, effort=EffortOptions(time=7.0))
    said(lambda console: command.build_program(asked, console))
    assert verbs.pending[-1].effort == EffortOptions(time=7.0)
    with pytest.raises(UntrustedError):
        said(lambda console: command.resume_verb(wanted(home, model=None), console))
    words = RuntimeWords(shortcuts={"budget.money": 5.0})
    verbs.end = (PLAIN, "", "")
    assert said(lambda console: command.resume_verb(wanted(home, model=None), console, words, trust=True))[0] == 0
    resumed = verbs.requests[-1].runtime
    assert (resumed.model_name, resumed.budget.money) == ("m", 5.0)
    assert verbs.pending[-1].runtime["budget"]["money"] == 5.0
    assert verbs.pending[-1].effort == EffortOptions(time=7.0)


@pytest.mark.parametrize(
    ("request_file", "feedback", "accept", "refused", "error"),
    [
        (True, False, False, False, None), (False, True, False, False, None), (True, False, True, False, None), (False, False, True, True, None),
        (False, False, False, True, ConfigError), (True, True, False, True, ConfigError), (False, False, True, False, WorkspaceError),
    ],
)  # fmt: skip
def test_a_revision_has_one_source(
    home: Path, verbs: Verbs, request_file: bool, feedback: bool, accept: bool, refused: bool, error: type | None
) -> None:
    (home.parent / "request.md").write_text("Fewer loaves.\n")
    verbs.finish("revise-0", refused=not refused)
    verbs.finish("revise-1", refused=not refused)
    verbs.finish("build-1", refused=True)
    verbs.finish("revise-2", refused=refused)
    verbs.end = (REVISION, "", "")
    path = home.parent / "request.md" if request_file else None

    def work(console: Any) -> int:
        return command.revise_program(wanted(home), path, feedback, accept, console)

    if error is not None:
        with pytest.raises(error):
            said(work)
        assert not verbs.pending
        return
    assert said(work)[0] == 0
    (pending,) = verbs.pending
    assert (pending.verb, pending.text.strip()) == ("revise", "Fewer loaves." if request_file else "")
    assert (pending.feedback, pending.accept) == (feedback, accept)


def test_a_workspace_without_a_task_or_a_question_is_refused(home: Path, verbs: Verbs) -> None:
    for question in ("", " \n"):
        with pytest.raises(ConfigError):
            said(lambda console, question=question: command.ask_question(wanted(home), question, console))
    (home / "docs/a.md").write_text(WELCOME)
    with pytest.raises(WorkspaceError):
        said(lambda console: command.build_program(wanted(home), console))
    for work in (command.resume_verb, command.write_report, command.show_workspace):
        with pytest.raises(WorkspaceError):
            said(
                lambda console, work=work: work(
                    wanted(home / "none") if work is command.resume_verb else home / "none", console
                )
            )
    assert not verbs.pending
    assert not (home / PENDING_FILE).exists()


def test_a_reversal_names_what_it_left(home: Path, verbs: Verbs, monkeypatch: pytest.MonkeyPatch) -> None:
    reversal = Reversal(
        "0123456789abcdef", "takes back revise-1", (("src/a.py", "fedcba9876543210"), ("docs/b.md", ""))
    )
    monkeypatch.setattr(command, "Versions", lambda folder: folder)
    monkeypatch.setattr(command.undoing, "undo_last", lambda versions: reversal)
    monkeypatch.setattr(
        command.undoing,
        "restore_files",
        lambda versions, version, path: replace(reversal, version="", reason=f"{version} {path}"),
    )
    (home / "run.db").write_bytes(b"")
    monkeypatch.setattr(command, "require_workspace", lambda folder: None)
    code, (first, *left) = said(lambda console: command.undo_verb(home, console))
    assert (code, len(left)) == (0, 2)
    assert first.startswith("version 0123456")
    assert "takes back revise-1" in first
    assert "oragent workspace restore DIR fedcba9" in left[0]
    assert "restore" not in left[1]
    assert verbs.published == [
        {"version": reversal.version, "reason": reversal.reason, "untouched": ["src/a.py", "docs/b.md"]}
    ]
    code, lines = said(lambda console: command.restore_version(home, "abc", "src/a.py", console))
    assert "abc src/a.py" in lines[0]
    assert "nothing" in lines[0]


def test_a_workspace_is_shown_with_its_verbs_and_what_was_cut_off(
    home: Path, verbs: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(home, {"src/bakery.py": "import pulp\n"})
    monkeypatch.setattr(command, "require_workspace", lambda folder: None)
    assert said(lambda console: command.resume_verb(wanted(home), console))[0] == 0
    assert not verbs.pending
    verbs.finish("build-1", written=True, run="model solved: optimal", objective=400.0)
    verbs.finish("ask-1", answer="Rye binds.\nAlways.", written=True)
    verbs.finish("revise-1", written=False, end="gave up")
    code, lines = said(lambda console: command.show_workspace(home, console))
    assert (code, lines[0]) == (0, "program: src/bakery.py")
    # Showing writes nothing.
    assert not (home / ".git").exists()
    assert lines[1:4] == [
        "build-1: taken back, model solved: optimal",
        "ask-1: Rye binds. Always.",
        "revise-1: not written, gave up",
    ]
    (shown,) = verbs.published
    assert [(verb["name"], verb["objective"]) for verb in shown["verbs"]] == [
        ("build-1", 400.0),
        ("ask-1", None),
        ("revise-1", None),
    ]
    assert (shown["interrupted"], shown["program"]) == (None, "src/bakery.py")
    save_pending(home, PendingVerb("ask", "What binds?", question="Which rye?"))
    lines = said(lambda console: command.show_workspace(home, console))[1]
    assert "ask What binds?" in lines[4]
    assert "Which rye?" in lines[5]
    assert verbs.published[-1]["interrupted"]["question"] == "Which rye?"
    (home / "src/bakery.py").unlink()
    assert said(lambda console: command.show_workspace(home, console))[1][0] == "program: none yet"
