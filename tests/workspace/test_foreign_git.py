"""A repository of someone else runs nothing, whatever its configuration names, and its files stay in their folder."""

import os
import shutil
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from oragent._base.errors import OragentError
from oragent.api.workspaces import Workspace
from oragent.workspace.sources import open_state
from oragent.workspace.undoing import restore_files, undo_last
from oragent.workspace.versions import Versions
from tests.workspace.foreign import ATTRIBUTES, list_planted, make_history, plant

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


def use_verbs(folder: Path) -> None:
    workspace, old, new = Workspace(folder), "HEAD~1:model.lp", "HEAD:model.lp"
    verbs: list[Callable[[], object]] = [
        lambda: workspace.run(old),
        lambda: workspace.ask("solve", at=old),
        lambda: workspace.whatif("need = 3", at=new),
        lambda: workspace.price("need", at=old),
        lambda: workspace.why_infeasible(at=old),
        lambda: workspace.repair(at=old),
        lambda: workspace.compare(old, new),
        lambda: workspace.verify(old, new),
        lambda: workspace.audit("HEAD~1", "HEAD"),
        lambda: workspace.cite(folder / "note.md", "HEAD"),
        workspace.settings,
    ]
    for verb in verbs:
        with suppress(OragentError):
            verb()


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
    assert not ran(tmp_path), sorted(ran(tmp_path))


@pytest.mark.slow
def test_no_verb_runs_a_command_of_a_repository(scratch, user):
    repositories = plant_all(scratch)

    def perform() -> None:
        for repository in repositories:
            read_revision(repository)
            with suppress(OragentError):
                write_version(repository)
                use_versions(repository)
            use_verbs(repository)

    perform_as(user, scratch, perform)
    assert not ran(scratch), sorted(ran(scratch))
