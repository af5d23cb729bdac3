"""The files of a workspace at a revision, in the working tree, or beside a model file, and the program among them."""

import shutil
from pathlib import Path

import pytest

from oragent._base.errors import ModellingError, WorkspaceError
from oragent.modelling.capture.program import CapturedProgram, ProgramOutcome
from oragent.workspace import sources
from oragent.workspace.settings import FILE, NO_OPTIONS, EffortOptions, WorkspaceSettings
from oragent.workspace.sources import WORKING, FolderState, find_program, open_state, open_state_model, replaced_files
from tests.workspace import teams
from tests.workspace.release import put

SOLVER = "import pulp\nm = pulp.LpProblem()\nm.solve()\n"
MODEL = "Maximize\n obj: x\nSubject To\n c: x <= {}\nEnd\n"


@pytest.mark.parametrize(
    ("files", "program"),
    [
        ({"src/a.py": "", "src/z.py": SOLVER}, "src/z.py"), ({"src/b.py": "", "src/a.py": ""}, "src/a.py"), ({"src/utils.py": SOLVER, "src/a.py": ""}, "src/a.py"),
        ({"src/utils.py": "", "src/__init__.py": ""}, ""), ({"src/deep/a.py": SOLVER}, ""), ({"a.py": SOLVER, "lib/a.py": SOLVER}, ""), ({"src/a.txt": SOLVER}, ""), ({}, ""),
    ],
)  # fmt: skip
def test_the_program_of_a_folder_is_in_its_sources(tmp_path: Path, files: dict[str, str], program: str) -> None:
    put(tmp_path, files)
    assert find_program({path: tmp_path / path for path in sorted(files)}) == program
    state = FolderState(WORKING, "", tmp_path, WorkspaceSettings())
    if program:
        assert state.program == program
    else:
        with pytest.raises(WorkspaceError):
            _ = state.program
    assert FolderState(WORKING, "", tmp_path, WorkspaceSettings(program="p.py")).program == "p.py"
    assert FolderState(WORKING, "", tmp_path, WorkspaceSettings(program="p.py"), "m.lp").program == "m.lp"


def begin(folder: Path) -> None:
    put(folder, {"model.lp": MODEL.format(4), "sub/model.lp": MODEL.format(5)})
    teams.begin(folder)
    put(folder, {"model.lp": MODEL.format(8), FILE: "time: 7\n"})


def test_a_revision_is_checked_out_and_removed(tmp_path: Path) -> None:
    begin(tmp_path)
    with open_state(tmp_path) as now, open_state(tmp_path, "HEAD", EffortOptions(gap=0.5)) as before:
        assert (now.revision, now.commit, now.folder, now.file) == (WORKING, "", tmp_path, "")
        assert (before.revision, len(before.commit), before.file) == ("HEAD", 40, "")
        assert (before.folder / "model.lp").read_text() == MODEL.format(4)
        assert {path for path in before.list_files() if path.endswith(".lp")} == {"model.lp", "sub/model.lp"}
        assert not any(path.startswith(".git/") for path in now.list_files())
        # Settings that the revision lacks are those of the working tree.
        assert (before.settings.time, before.settings.gap, now.settings.gap != 0.5) == (7.0, 0.5, True)
    assert not before.folder.exists()
    assert (tmp_path / "model.lp").exists()
    teams.commit(tmp_path, "settings")
    put(tmp_path, {FILE: "time: 9\n"})
    with open_state(tmp_path, "HEAD:sub/model.lp") as chosen:
        assert (chosen.program, chosen.settings.time) == ("sub/model.lp", 7.0)
        assert list(open_state_model(chosen).model.rhs_values) == [5.0]
        shutil.rmtree(chosen.folder)
    with open_state(tmp_path, "HEAD:none.lp") as chosen, pytest.raises(WorkspaceError):
        open_state_model(chosen)


def test_a_revision_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    begin(tmp_path)
    put(tmp_path, {"model.txt": "x"})
    for revision in ("none", "HEAD:../x.lp", "HEAD:", "none.lp", "HEAD:/x", "sub", "model.txt"):
        with pytest.raises(WorkspaceError), open_state(tmp_path, revision):
            pass
    with pytest.raises(WorkspaceError), open_state(tmp_path / "missing"):
        pass


def test_a_model_file_needs_no_repository(tmp_path: Path) -> None:
    put(tmp_path, {"work/a.txt": "x", "models/model.lp": MODEL.format(4)})
    path = tmp_path / "models/model.lp"
    with open_state(tmp_path / "work", str(path), EffortOptions(time=3.0)) as state:
        assert (state.folder, state.program, state.commit, state.settings.time) == (path.parent, "model.lp", "", 3.0)
        assert state.revision == str(path)
        assert open_state_model(state).captured is None
    for revision in ("HEAD", str(tmp_path / "models/other.lp"), str(tmp_path / "models")):
        with pytest.raises(WorkspaceError), open_state(tmp_path / "work", revision):
            pass


def test_replaced_files_leave_the_folder_as_it_is(tmp_path: Path) -> None:
    put(tmp_path, {"a.txt": "one", "data/b.txt": "two"})
    state = FolderState("HEAD", "12", tmp_path, WorkspaceSettings(time=5.0), "m.lp")
    with replaced_files(state, {"data/b.txt": b"three"}) as copy:
        assert [(copy.folder / name).read_text() for name in ("a.txt", "data/b.txt")] == ["one", "three"]
        assert (copy.revision, copy.commit, copy.settings, copy.file) == ("HEAD", "12", state.settings, "m.lp")
        assert copy.folder != tmp_path
    assert (tmp_path / "data/b.txt").read_text() == "two"
    assert not copy.folder.exists()
    with open_state(tmp_path, WORKING, NO_OPTIONS) as working:
        assert set(working.list_files()) == {"a.txt", "data/b.txt"}


@pytest.mark.parametrize("revision", [WORKING, "HEAD~1"])
def test_a_program_that_fails_is_named_with_its_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, revision: str
) -> None:
    put(tmp_path, {"src/plan.py": ""})
    run = CapturedProgram(ProgramOutcome.ERROR, (), 1, "", "last line\n", "stopped")
    monkeypatch.setattr(sources, "capture_program", lambda path, **options: run)
    state = FolderState(revision, "", tmp_path, WorkspaceSettings(program="src/plan.py"))
    with pytest.raises(ModellingError) as problem:
        open_state_model(state)
    assert ("of HEAD~1:" in str(problem.value)) is (revision != WORKING)
    assert str(problem.value).startswith("src/plan.py")
