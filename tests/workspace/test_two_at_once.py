"""Two commands on one workspace: the second one is refused while the first one writes. Conflicts of git are named."""

import io
from pathlib import Path

import pytest

from oragent._base.errors import WorkspaceError
from oragent._base.files import LockHeld, hold_lock
from oragent._base.terminal import Terminal
from oragent.llm.callable import Scripted
from oragent.llm.model import Message, ToolCall
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace import command, read_table
from oragent.workspace.folder import WorkspaceFolder
from oragent.workspace.layout import find_flaws
from oragent.workspace.reading import LOCK, parse_json
from oragent.workspace.settings import VerbRequest
from tests.workspace.bakery import DATA, PROGRAM, STORY
from tests.workspace.release import put

SIDES = "name,value\n<<<<<<< ours\nrope,1\n=======\nrope,2\n>>>>>>> theirs\n"


@pytest.fixture
def bakery(tmp_path: Path) -> Path:
    put(tmp_path, {"docs/a.md": STORY, "data/general_parameters.csv": DATA, "src/plan.py": PROGRAM})
    return tmp_path


def answering(text: str) -> Scripted:
    return Scripted(lambda request, number: Message("assistant", "", (ToolCall("1", "submit", {"answer": text}),)))


def ask(folder: Path, text: str, box: Sandbox | None = None) -> int:
    request = VerbRequest(folder, model=answering(text), sandbox=box)
    return command.ask_question(request, "Which flour?", Terminal(file=io.StringIO()))


def test_a_second_command_is_refused_and_names_the_first(bakery: Path) -> None:
    screen = Terminal(file=io.StringIO())
    (bakery / "workspace.yaml").write_text("time: 60\n")
    with WorkspaceFolder(bakery).locked("build"):
        for perform in (
            lambda: ask(bakery, "None."),
            lambda: command.run_program(bakery, "", screen),
            lambda: command.undo_verb(bakery, screen),
            lambda: command.restore_version(bakery, "abcd", "", screen),
        ):
            with pytest.raises(WorkspaceError, match=r"process \d+ on .*build"):
                perform()
        assert not (bakery / "run.db").exists()
    # The lock ends with its holder, and the text of an old holder stays out of the next one.
    with WorkspaceFolder(bakery).locked("run"):
        assert "build" not in (bakery / LOCK).read_text()


def test_a_lock_is_not_a_link(bakery: Path) -> None:
    (bakery / ".oragent").mkdir()
    (bakery / LOCK).symlink_to(bakery / "docs/a.md")
    with pytest.raises(WorkspaceError), WorkspaceFolder(bakery).locked("run"):
        pass
    with pytest.raises(OSError, match="symbolic"), hold_lock(bakery / LOCK):
        pass
    assert (bakery / "docs/a.md").read_text() == STORY


def test_a_lock_is_held_once(tmp_path: Path) -> None:
    with hold_lock(tmp_path / "lock", "first"), pytest.raises(LockHeld, match="first"), hold_lock(tmp_path / "lock"):
        pass
    with hold_lock(tmp_path / "lock"):
        pass


@pytest.mark.parametrize(
    ("answer", "code"), [("It is `flour` [docs/a.md:3].", 0), ("It is rye [docs/a.md:99].", 1), ("[docs/b.md:1]", 1)]
)
def test_an_answer_with_broken_citations_fails(bakery: Path, answer: str, code: int) -> None:
    pytest.importorskip("pulp")
    with Sandbox(1) as box:
        assert ask(bakery, answer, box) == code


def test_conflicts_of_git_in_data_are_named(bakery: Path) -> None:
    put(bakery, {"data/t.csv": SIDES})
    (finding,) = find_flaws(WorkspaceFolder(bakery).open_workspace())
    assert (finding.path, "line 2" in finding.what, "git" in finding.what) == ("data/t.csv", True, True)
    with pytest.raises(WorkspaceError, match=r"line 2 .*git"):
        read_table(bakery / "data/t.csv")
    with pytest.raises(WorkspaceError, match=r"line 2 .*git"):
        parse_json('{"a": 1,\n<<<<<<< ours\n"b": 2\n=======\n"b": 3\n>>>>>>> theirs\n}', "d.json")
    put(bakery, {"data/t.csv": "name,value\n<<<<<<< a,1\nb,2\n"})
    assert find_flaws(WorkspaceFolder(bakery).open_workspace()) == ()
