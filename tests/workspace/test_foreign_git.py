"""A repository of someone else runs nothing, whatever its configuration names, and its files stay in their folder."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from oragent._base.errors import OragentError
from oragent.cli.app import app
from oragent.workspace.sources import open_state
from oragent.workspace.undoing import restore_files, undo_last
from oragent.workspace.versions import Versions
from tests.sources import ROOT
from tests.workspace.foreign import ATTRIBUTES, PLACES, list_planted, make_history, plant

PLANTED = list_planted()
NOBODY = 65534


def read_revision(folder: Path) -> None:
    with suppress(OragentError), open_state(folder, "HEAD~1") as state:
        assert state.folder != folder


def write_version(folder: Path) -> None:
    versions = Versions(folder)
    version = versions.write_version({"data/t.csv": "item,value\na,9\n"}, "builder", "one", verb="build-1")
    assert "+a,9" in versions.describe_diff(version)
    assert version in {each.id for each in versions.list_versions()}


def use_versions(folder: Path) -> None:
    """Use each function on versions."""
    versions = Versions(folder)
    versions.save_snapshot("first")
    first = versions.write_version({"data/t.csv": "item,value\na,8\n"}, "builder", "one", verb="build-1")
    undo_last(versions)
    restore_files(versions, first)
    blobs = versions.save_files(folder, ["data/t.csv"])
    versions.keep_contents("draft-1", blobs)
    versions.write_files(blobs, folder.parent / "written")
    Versions(folder, readonly=True).list_own()


def use_commands(folder: Path) -> None:
    """Run each command that opens a revision or a version; exit codes do not matter here."""
    old, new, where = "HEAD~1:model.lp", "HEAD:model.lp", str(folder)
    commands = [
        ["run", where, "--at", old],
        ["ask", where, "price need"],
        ["whatif", where, "need = 3", "--at", new],
        ["price", where, "need", "--at", old],
        ["why-infeasible", where, "--at", old],
        ["repair", where, "--at", old],
        ["diff-model", where, old, new],
        ["verify", where, old, new],
        ["audit-edits", where, "HEAD~1", "HEAD"],
        ["cite", where, str(folder / "note.md"), "--at", "HEAD"],
        ["adopt", where, "--write"],
        ["check", where],
        ["history", where],
        ["diff", where],
        ["undo", where],
        ["restore", where, "HEAD"],
        ["report", where],
        ["run", where],
    ]
    for words in commands:
        CliRunner().invoke(app, ["workspace", *words])
    CliRunner().invoke(app, ["show", where])


async def use_tools(folder: Path, client) -> None:
    """Call each tool for workspaces of the MCP server."""
    old, new, where = "HEAD~1:model.lp", "HEAD:model.lp", folder.name
    calls = {
        "workspace_run": {"at": old},
        "workspace_ask": {"lines": ["solve"], "at": old},
        "workspace_whatif": {"changes": ["need = 3"], "at": new},
        "workspace_compare": {"old": old, "new": new},
        "workspace_verify": {"old": old, "new": new},
        "workspace_audit": {"old": "HEAD~1", "new": "HEAD"},
        "workspace_cite": {"text": f"{where}/note.md", "at": "HEAD"},
    }
    for name, arguments in calls.items():
        await client.call_tool(name, {"folder": where, **arguments})


def call_tools(folder: Path) -> None:
    from mcp import Client

    from oragent.api.mcp.server import make_server

    async def call() -> None:
        async with Client(make_server(folder.parent)) as client:
            await use_tools(folder, client)

    asyncio.run(call())


@pytest.fixture(params=["present user", "ordinary user"])
def user(request) -> int:
    """Id of the user that runs the verbs; 0 for the present one."""
    if request.param == "ordinary user" and os.geteuid():
        pytest.skip("the present user is an ordinary one")
    return NOBODY if request.param == "ordinary user" else 0


@pytest.fixture
def scratch(user: int):
    """Folder below which each user may write."""
    folder = Path(tempfile.mkdtemp(prefix="oragent-foreign-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def perform_as(user: int, folder: Path, perform: Callable[[], None]) -> None:
    """Call a function as a user who owns all files below a folder."""
    if not user:
        perform()
        return
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user, follow_symlinks=False)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            os.environ["HOME"] = str(folder)
            if not os.access(sys.executable, os.X_OK):
                # The user may not enter the folder of this Python.
                sys.executable = shutil.which("python3", path="/usr/local/bin:/usr/bin") or sys.executable
                words = [sys.executable, "-I", "-c", "import sys; print(*sys.path, sep='\\n')"]
                sys.path[:0] = [str(ROOT), *subprocess.check_output(words, text=True).split("\n")[:-1]]
            perform()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def plant_all(folder: Path) -> list[Path]:
    bases = {"": make_history(folder / "base"), "committed": make_history(folder / "attributed", ATTRIBUTES)}
    (folder / "run").mkdir()
    (folder / "run/ran").touch()
    return [plant(each, bases, folder / "w" / each.name / "repository", folder / "run") for each in PLANTED]


def ran(folder: Path) -> set[str]:
    return set((folder / "run/ran").read_text().split())


def test_no_configuration_of_a_repository_runs_a_command(tmp_path):
    repositories = plant_all(tmp_path)
    assert len(repositories) >= 60
    for repository in repositories:
        read_revision(repository)
    write_version(repositories[-1])
    use_commands(repositories[-1])
    assert not ran(tmp_path), sorted(ran(tmp_path))


@pytest.mark.slow
def test_no_verb_runs_a_command_of_a_repository(scratch, user):
    repositories = plant_all(scratch)

    def perform() -> None:
        written: list[Path] = []
        for repository in repositories:
            read_revision(repository)
            with suppress(OragentError):
                write_version(repository)
                written.append(repository)
                use_versions(repository)
        # The commands share what is above; each is tried on some of the configurations.
        for repository in (*repositories[:: len(PLACES) + 1], repositories[-1]):
            use_commands(repository)
        assert len(written) > len(repositories) / 2

    perform_as(user, scratch, perform)
    assert not ran(scratch), sorted(ran(scratch))


@pytest.mark.parametrize("names", ["some", pytest.param("all", marks=pytest.mark.slow)])
def test_no_tool_of_the_server_runs_a_command_of_a_repository(tmp_path, names):
    pytest.importorskip("mcp")
    repositories = plant_all(tmp_path)
    for repository in (*repositories[:: len(PLACES) + 1], repositories[-1]) if names == "all" else repositories[-1:]:
        call_tools(repository)
    assert not ran(tmp_path), sorted(ran(tmp_path))
