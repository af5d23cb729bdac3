"""The release is read with and without programs, imported with its labels apart, and audited."""

import json
import stat
from pathlib import Path

import pytest

from oragent._base.errors import WorkspaceError
from oragent.workspace.layout import Mode
from oragent_benchmarks.workspace.grading import workspace_id
from oragent_benchmarks.workspace.importing import import_release, read_release
from oragent_benchmarks.workspace.printed import Backing
from oragent_benchmarks.workspace.release_records import VERSIONS, read_version
from oragent_benchmarks.workspace.views import Trace, search_labels
from tests.workspace.release import PUBLIC, needs_release, put, rubric, synthetic


@pytest.mark.parametrize(("programs", "shown"), [(False, "formulation.tex"), (True, "current_heuristic.py")])
def test_a_release_is_imported_with_and_without_programs(tmp_path: Path, programs: bool, shown: str) -> None:
    release = read_release(synthetic(tmp_path / "release", 3, programs))
    names = [f"or_space_{n:03d}_{mode}" for n in (1, 2, 3) for mode in ("build", "explain", "revise")]
    assert sorted(import_release(release, tmp_path / "set")) == names
    assert sorted(path.name for path in (tmp_path / "set" / "views").iterdir()) == names
    assert (tmp_path / "set/views/or_space_002_revise/original/src" / shown).is_file()


def test_labels_are_in_the_vault_alone(tmp_path: Path) -> None:
    root = synthetic(tmp_path / "release", 2)
    release = read_release(root)
    import_release(release, tmp_path / "set")
    vault = tmp_path / "set" / "vault"
    assert stat.S_IMODE(vault.stat().st_mode) == 0o700
    assert sorted(path.name for path in vault.iterdir()) == [
        "build_reference_objectives.csv", "explain_rubrics.jsonl", "revise_reference_objectives.csv",
    ]  # fmt: skip
    for mode, number in release.workspaces:
        labels = release.labels_of(mode, number)
        assert search_labels(tmp_path / "set" / "views" / workspace_id(mode, number), labels) == ()
        assert {leak.trace for leak in search_labels(vault, labels)} >= {Trace.CONTENT}


def test_an_import_that_fails_leaves_nothing(tmp_path: Path) -> None:
    root = synthetic(tmp_path / "release", 2)
    put(root / "Workspace_OR" / "explain_workspaces" / "instance_2" / "revised" / "docs",
        {"notes.md": rubric(2)["expected_short_answer"]})  # fmt: skip
    with pytest.raises(WorkspaceError, match=r"the view contains a label: revised/docs/notes\.md"):
        import_release(read_release(root), tmp_path / "set")
    assert not (tmp_path / "set").exists()
    (tmp_path / "set").mkdir()
    with pytest.raises(WorkspaceError):
        import_release(read_release(root), tmp_path / "set")


def test_what_is_no_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError):
        read_release(tmp_path)
    (tmp_path / "Workspace_OR").mkdir()
    with pytest.raises(WorkspaceError):
        read_release(tmp_path)
    root = synthetic(tmp_path / "release", 2)
    rubrics = root / "evaluation" / "explain_evaluation" / "rubrics.jsonl"
    rubrics.write_text(json.dumps(rubric(1)))
    with pytest.raises(WorkspaceError, match="or_space_002_explain has no label in evaluation/explain_evaluation"):
        read_release(root)
    rubrics.unlink()
    with pytest.raises(WorkspaceError, match=r"cannot read .*rubrics\.jsonl: No such file"):
        read_release(root)


def test_two_labels_of_one_instance_and_a_linked_instance_are_refused(tmp_path: Path) -> None:
    root = synthetic(tmp_path / "release", 2)
    references = root / "evaluation" / "revise_evaluation" / "reference_objectives.csv"
    good = references.read_text()
    references.write_text(good.replace("or_space_002_revise,revise,2", "or_space_002_revise,revise,1"))
    with pytest.raises(WorkspaceError, match="has two labels of number 1"):
        read_release(root)
    references.write_text(good)
    builds = root / "Workspace_OR" / "build_workspaces"
    (builds / "instance_2").rename(tmp_path / "elsewhere")
    (builds / "instance_2").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorkspaceError, match="instance_2 is a link"):
        read_release(root)


def test_records_tell_what_stands_behind_a_value(tmp_path: Path) -> None:
    root = synthetic(tmp_path / "release", 1)
    folder = root / "Workspace_OR" / "explain_workspaces" / "instance_1"
    note = {"diagnostic_type": "reported", "objective_value": 291.0, "variables": 1, "constraints": 0}
    (folder / "revised" / "solver_records" / "bread.solution.json").write_text(json.dumps(note))
    workspace = read_release(root).workspaces[Mode.EXPLAIN, 1]
    original, revised = read_version(workspace, "original"), read_version(workspace, "revised")
    assert original is not None
    assert (original.objective, original.backing) == (388.0, Backing.MODEL)
    assert original.solved_models == (388.0,)
    assert revised is not None
    assert revised.solved_models == ()
    assert revised.backing is Backing.NONE
    assert read_version(read_release(root).workspaces[Mode.BUILD, 1], "original") is None


@needs_release
def test_the_public_release_s_records_are_as_they_were_counted() -> None:
    release = read_release(PUBLIC)
    questions = release.of_mode(Mode.EXPLAIN)
    assert [len(release.of_mode(mode)) for mode in Mode] == [100, 100, 100]
    unbacked = []
    for number, workspace in questions.items():
        for mode, version in VERSIONS.items():
            records = read_version(workspace, version)
            if records.solved_models and records.backing is Backing.OTHER:
                unbacked.append((mode, number))
    # 58 printed the value of a model that another one of the same name overwrote.
    assert unbacked == [(Mode.REVISE, 35), (Mode.BUILD, 57), (Mode.REVISE, 57), (Mode.BUILD, 58)]


@pytest.mark.slow
@needs_release
def test_the_public_release_is_imported_whole(tmp_path: Path) -> None:
    views = import_release(read_release(PUBLIC), tmp_path / "set")
    assert len(views) == 300
    assert sum(map(len, views.values())) == 15
    assert not any(path.name == "reference_objectives.csv" for path in (tmp_path / "set" / "views").rglob("*"))
