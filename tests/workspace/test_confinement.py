"""A program of a workspace reads its folder, Python and libraries; links and paths of models lead no command elsewhere."""

import io
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from oragent._base.errors import OragentError, WorkspaceError
from oragent.llm.model import ToolCall
from oragent.llm.model_settings import RuntimeWords
from oragent.sandbox.messages import Limits
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace import command, file_commands
from oragent.workspace.layout import Mode
from oragent.workspace.runner import ProgramRunner
from oragent.workspace.settings import MODEL_ROLES, VerbRequest
from oragent.workspace.tools import ToolSession
from oragent.workspace.versions import Versions
from oragent_benchmarks.workspace.views import list_tasks
from tests.workspace.release import put

READS = """
import glob, json, os
opened = []
for top in ("/etc", "/var", "/home", "/root", "/opt", "/run", "/proc", "/sys/kernel", "/sys/class", "/usr/bin", "/usr/sbin"):
    for path in sorted(glob.glob(top + "/*"))[:200] + [top + "/passwd", top + "/hostname", top + "/version"]:
        try:
            if os.path.isfile(path) and open(path, "rb").read(10):
                opened.append(path)
        except OSError:
            pass
print(json.dumps(opened))
import pulp, zoneinfo
print(zoneinfo.ZoneInfo("Europe/Berlin"), open("docs/a.md").read())
"""
ALLOWED = {"/etc/ld.so.cache", "/etc/localtime"}  # with which the loader and the clock of every program begin
NESTS = "import os\nfor _ in range(1050):\n    os.mkdir('d')\n    os.chdir('d')\nprint('OBJECTIVE_VALUE: 1')\n"
PROGRAM = "print('OBJECTIVE_VALUE: 1')\n"


@pytest.fixture(scope="module")
def runner() -> Iterator[ProgramRunner]:
    with Sandbox(1) as box:
        yield ProgramRunner(box, Limits(cpu_s=20.0, memory_mb=600, file_mb=8, output_kb=64, idle_s=2.0))


def test_a_program_reads_its_folder_python_and_libraries_alone(tmp_path, runner):
    put(tmp_path / "w", {"src/m.py": READS, "docs/a.md": "A van.\n"})
    ran = runner.run(tmp_path / "w", "src/m.py")
    assert "A van." in ran.stdout, ran.stderr
    opened = json.loads(ran.stdout.split("\n")[0])
    assert {path for path in opened if not path.startswith("/proc/")} <= ALLOWED


@pytest.mark.slow
def test_folders_that_a_program_nests_are_removed(tmp_path, runner, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    put(tmp_path / "w", {"src/m.py": NESTS})
    assert "OBJECTIVE_VALUE: 1" in runner.run(tmp_path / "w", "src/m.py").stdout
    assert [path.name for path in tmp_path.iterdir()] == ["w"]


@pytest.mark.parametrize(
    "path",
    [
        "src/" + "a/" * 200 + "m.py",
        "src/" + "a" * 256 + ".py",
        "src/" + "/".join(["a" * 150] * 8),
        "src/a\x07.py",
        "src/../../up.py",
        "/tmp/up.py",
        "src/nul.py",
        "src/com1",
        "src/a:b.py",
        "src/a\\b.py",
        "src/end.",
        "src/.hidden.py",
        "src/__pycache__/m.py",
    ],
)
def test_a_path_that_no_workspace_can_have_is_refused_in_one_line(tmp_path, runner, path):
    put(tmp_path / "w", {"src/m.py": PROGRAM})
    session = ToolSession(tmp_path / "w", runner, ("src/*",))
    answer = session.call_tool(ToolCall("1", "write_file", {"path": path, "text": "x"}))
    assert answer.startswith("write_file: ")
    assert "\n" not in answer
    assert list(session.list_files()) == ["src/m.py"]


def test_a_text_with_zero_bytes_is_not_written(tmp_path, runner):
    put(tmp_path / "w", {"src/m.py": PROGRAM})
    session = ToolSession(tmp_path / "w", runner, ("src/*",))
    answer = session.call_tool(ToolCall("1", "write_file", {"path": "src/b.py", "text": "a\0b"}))
    assert "zero bytes" in answer
    assert list(session.list_files()) == ["src/m.py"]


@pytest.mark.parametrize("path", ["docs/a/b.md", "docs/a", "docs/" + "n" * 300 + ".md"])
def test_a_version_that_cannot_be_written_is_refused_and_blocks_nothing(tmp_path, path):
    """A file in the place of a folder, a folder in the place of a file, and a name that is too long."""
    file_commands.new_workspace(tmp_path / "w", None, Console(file=io.StringIO()))
    if path == "docs/a":
        put(tmp_path / "w", {"docs/a/.keep": ""})
    elif path == "docs/a/b.md":
        put(tmp_path / "w", {"docs/a": "a file"})
    with Versions(tmp_path / "w") as versions, pytest.raises(WorkspaceError) as raised:
        versions.write_version({path: "text"}, "builder", "one")
    assert "\n" not in str(raised.value)
    with Versions(tmp_path / "w") as versions:
        assert versions.write_version({"docs/b.md": "text"}, "builder", "two")


def test_a_version_that_was_blocked_is_passed_over_when_the_store_is_opened(tmp_path):
    file_commands.new_workspace(tmp_path / "w", None, Console(file=io.StringIO()))
    with Versions(tmp_path / "w") as versions:
        commit = versions.write_version({"docs/a/b.md": "text", "docs/c.md": "c"}, "builder", "one")
    put(tmp_path / "w", {".oragent/writing": commit})
    shutil.rmtree(tmp_path / "w/docs/a")
    put(tmp_path / "w", {"docs/a": "a file"})
    (tmp_path / "w/docs/c.md").unlink()
    with Versions(tmp_path / "w") as versions:
        assert (tmp_path / "w/docs/c.md").read_text() == "c", "the other file of the write is brought to its end"
        assert versions.write_version({"docs/d.md": "d"}, "builder", "two")


PLACES = (
    "docs/x.md",
    "data/x.csv",
    "src",
    ".oragent",
    ".oragent/drafts",
    ".oragent/begun.json",
    "report.html",
    "workspace.yaml",
)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["file", "folder", "dangling", "pipe", "zero"])
def test_a_link_in_a_workspace_is_refused_in_one_line_by_every_command(tmp_path, runner, target):
    console, outside = Console(file=io.StringIO()), tmp_path / "outside"
    put(outside, {"file": "secret", "folder/inner": "secret"})
    os.mkfifo(outside / "pipe")
    (outside / "zero").symlink_to("/dev/zero")
    for number, place in enumerate(PLACES):
        folder = tmp_path / str(number)
        file_commands.new_workspace(folder, None, console)
        put(folder, {"docs/business_requirement.md": "Say.\n", "src/m.py": PROGRAM})
        _put_link(folder / place, outside / target)
        request = VerbRequest(folder, RuntimeWords((), {}, None).read_runtime(MODEL_ROLES), sandbox=runner.sandbox)
        for act in (
            lambda folder=folder: file_commands.check_workspace(folder, console),
            lambda folder=folder: command.run_program(folder, "", console, runner.sandbox),
            lambda folder=folder: command.show_workspace(folder, console),
            lambda folder=folder: command.write_report(folder, console),
            lambda folder=folder: command.undo_verb(folder, console),
            lambda folder=folder: command.restore_version(folder, "0000", "", console),
            lambda request=request: command.ask_question(request, "What is best?", console),
            lambda request=request: command.build_program(request, console),
        ):  # fmt: skip
            with pytest.raises(OragentError, match=r"is a link|symbolic links") as raised:
                act()
            assert "\n" not in str(raised.value)
        if place.startswith(".oragent"):
            with pytest.raises(OragentError, match="is a link"):
                command.resume_verb(request, console)
    assert sorted(path.name for path in outside.rglob("*")) == ["file", "folder", "inner", "pipe", "zero"]
    assert (outside / "file").read_text() == (outside / "folder/inner").read_text() == "secret"


@pytest.mark.parametrize("place", ["run.db", "run.db-wal"])
def test_a_store_that_is_a_link_is_never_opened(tmp_path, place):
    console = Console(file=io.StringIO())
    file_commands.new_workspace(tmp_path / "w", None, console)
    file_commands.new_workspace(tmp_path / "other", None, console)
    put(tmp_path / "other", {"run.db": "of another"})
    before = (tmp_path / "other/run.db").read_bytes()
    _put_link(tmp_path / "w" / place, tmp_path / "other/run.db")
    for act in (file_commands.list_versions, command.undo_verb, command.write_report, command.show_workspace):
        with pytest.raises(OragentError, match="is a link"):
            act(tmp_path / "w", console)
    assert (tmp_path / "other/run.db").read_bytes() == before


def test_a_view_of_a_set_that_is_a_link_is_refused(tmp_path):
    put(tmp_path / "elsewhere", {"docs/a.md": "secret"})
    put(tmp_path / "set", {"vault/x": "", "views/made_002_build/docs/a.md": "a"})
    (tmp_path / "set/views/made_001_build").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorkspaceError, match="is a link"):
        list_tasks(tmp_path / "set", Mode.BUILD)


def _put_link(place: Path, target: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)
