"""The release is read with and without programs, imported with its labels apart, and audited."""

import json
import stat
from pathlib import Path

import pytest

from oragent._base.errors import WorkspaceError
from oragent.evals.workspace.audit import audit_release
from oragent.evals.workspace.grading import workspace_id
from oragent.evals.workspace.importing import import_release, read_release
from oragent.evals.workspace.printed import Backing
from oragent.evals.workspace.release_records import read_version
from oragent.evals.workspace.views import RevisionNote, RevisionView, Trace, search_labels
from oragent.workspace.layout import Mode
from tests.workspace.release import PUBLIC, needs_release, optimum, put, rubric, synthetic


@pytest.mark.slow
@pytest.mark.parametrize(("programs", "variant"), [(False, RevisionView.MODEL), (True, RevisionView.CODE)])
def test_a_release_is_imported_with_and_without_programs(tmp_path: Path, programs: bool, variant: RevisionView) -> None:
    release = read_release(synthetic(tmp_path / "release", 3, programs))
    views = import_release(release, tmp_path / "set")
    assert sorted(views) == [f"or_space_{n:03d}_{mode}" for n in (1, 2, 3) for mode in ("build", "explain", "revise")]
    assert {view.variant for view in views.values() if view.mode is Mode.REVISE} == {variant}
    assert all(view.folder == tmp_path / "set" / "views" / name for name, view in views.items())
    assert sorted(path.stem for path in (tmp_path / "set" / "manifests").iterdir()) == sorted(views)


def test_labels_are_in_the_vault_alone(tmp_path: Path) -> None:
    root = synthetic(tmp_path / "release", 2)
    release = read_release(root)
    import_release(release, tmp_path / "set", note=RevisionNote.DESCRIPTION)
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
    with pytest.raises(WorkspaceError, match="expected a new folder"):
        import_release(read_release(root), tmp_path / "set")


def test_what_is_no_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="no release at"):
        read_release(tmp_path)
    (tmp_path / "Workspace_OR").mkdir()
    with pytest.raises(WorkspaceError, match="contains no instances"):
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


def test_a_synthetic_release_is_audited(tmp_path: Path) -> None:
    root = synthetic(tmp_path / "release", 3)
    references = root / "evaluation" / "build_evaluation" / "reference_objectives.csv"
    references.write_text(references.read_text().replace(f",{optimum(2, False)},", f",{optimum(2, False) * 1.5},"))
    revised = root / "evaluation" / "revise_evaluation" / "reference_objectives.csv"
    revised.write_text(revised.read_text().replace(f",{optimum(3, True)},", f",{optimum(3, False)},"))
    put(root / "Workspace_OR" / "build_workspaces" / "instance_3" / "data", {"table_1.csv": "a,b\n1\n", "t.csv": ""})
    put(root / "Workspace_OR" / "revise_workspaces" / "instance_1" / "revised" / "docs", {"more.md": "x"})
    found = audit_release(read_release(root))
    assert found.imported == {Mode.BUILD: 3, Mode.REVISE: 3, Mode.EXPLAIN: 3}
    assert found.stray == (1,)
    assert (found.tables.with_tables, found.tables.uneven, found.tables.empty_tables) == ((1, 2, 3), (3,), (3,))
    assert found.records.off == {(Mode.BUILD, 2): pytest.approx(1 / 3), (Mode.REVISE, 3): pytest.approx(1 / 4)}
    assert found.records.failing == ((Mode.BUILD, 2), (Mode.REVISE, 3))
    assert (found.records.solutions, found.records.relaxations, found.records.notes) == (6, 6, 0)
    assert (found.records.rounded, found.records.unbacked) == (0, ())
    assert (found.rubrics.entities, found.rubrics.semantic) == (6, 3)
    assert found.rubrics.short_answers == pytest.approx(35 * 2 / 3)
    assert found.rubrics.echo == pytest.approx(35 / 3)
    assert found.unrevised == (3,)
    assert found.lines() == [
        "9 imported: 3 build, 3 revise, 3 explain",
        "code missing in 3 revisions: revise-model used",
        "1 builds have tables with rows of unequal length, which only plain CSV readers accept: 3",
        "1 references of build differ from their record: 2",
        "1 references of revise differ from their record: 3",
        "suspect: build #2 is 33 % off its own record",
        "suspect: revise #3 is 25 % off its own record",
        "an unchanged model passes 1 revisions: 3",
        "6 entities and 3 semantic criteria; of 35 points, short answers cover 23.3333, the questions 11.6667",
    ]


def test_records_tell_what_stands_behind_a_value(tmp_path: Path) -> None:
    root = synthetic(tmp_path / "release", 1)
    folder = root / "Workspace_OR" / "explain_workspaces" / "instance_1"
    note = {"diagnostic_type": "reported", "objective_value": 291.0, "variables": 1, "constraints": 0}
    (folder / "revised" / "solver_records" / "bread.solution.json").write_text(json.dumps(note))
    workspace = read_release(root).workspaces[Mode.EXPLAIN, 1]
    original, revised = read_version(workspace, "original"), read_version(workspace, "revised")
    assert original is not None
    assert (original.objective, original.backing) == (388.0, Backing.MODEL)
    assert original.solved_models[0].slacks == {"flour": 0.0}
    assert original.solved_models[0].duals == {"flour": 3.0}
    assert original.solved_models[0].values == {"rye": 0.0}
    assert revised is not None
    assert revised.solved_models == ()
    assert (revised.backing, revised.solutions[0].values) == (Backing.NONE, {})
    assert read_version(read_release(root).workspaces[Mode.BUILD, 1], "original") is None


def test_programs_of_a_full_clone_are_counted(tmp_path: Path) -> None:
    full = audit_release(read_release(synthetic(tmp_path / "full", 2, programs=True)))
    assert full.code.files == {"current_heuristic.py": 2, "utils.py": 2}
    assert full.code.pandas == (1, 2)
    assert full.variants == {RevisionView.CODE: 2, RevisionView.MODEL: 0, RevisionView.ALL: 0}
    assert full.lines()[1] == "2 programs of originals need pandas: 1, 2"
    assert audit_release(read_release(synthetic(tmp_path / "bare", 2))).code.files == {}


@pytest.mark.slow
@needs_release
def test_the_public_release_is_as_it_was_counted() -> None:
    found = audit_release(read_release(PUBLIC))
    assert found.imported == {Mode.BUILD: 100, Mode.REVISE: 100, Mode.EXPLAIN: 100}
    assert found.variants == {RevisionView.CODE: 0, RevisionView.MODEL: 100, RevisionView.ALL: 0}
    assert found.stray == (54, 84, 89)
    tables = found.tables
    assert (len(tables.with_tables), len(tables.empty_tables)) == (85, 12)
    assert (len(tables.empty_parameters), tables.valueless, len(tables.spaced)) == (3, (33, 38), 1)
    assert set(tables.uneven) >= {9, 19, 20, 36, 53, 62, 72, 60}
    records = found.records
    assert (records.solutions, records.notes, records.relaxations, records.rounded) == (207, 11, 144, 7)
    # 58 printed the value of a model that another one of the same name overwrote.
    assert records.unbacked == ((Mode.REVISE, 35), (Mode.BUILD, 57), (Mode.REVISE, 57), (Mode.BUILD, 58))
    assert [number for _, number in records.off] == [1, 3, 17, 27, 31, 32, 40, 47, 85, 91]
    assert records.off[Mode.BUILD, 40] == pytest.approx(0.0901, abs=1e-4)
    assert records.failing == ((Mode.BUILD, 40),)
    assert found.unrevised == (3, 15, 22, 45, 47, 74, 99)
    assert (found.rubrics.exact, found.rubrics.semantic, found.rubrics.entities) == (200, 197, 1011)
    assert (round(found.rubrics.short_answers, 4), round(found.rubrics.echo, 4)) == (27.0139, 15.5148)
    assert "suspect: build #40 is 9 % off its own record" in found.lines()


@pytest.mark.slow
@needs_release
def test_the_public_release_is_imported_whole(tmp_path: Path) -> None:
    views = import_release(read_release(PUBLIC), tmp_path / "set")
    assert len(views) == 300
    assert sum(len(view.chances) for view in views.values()) == 15
    assert not any(path.name == "reference_objectives.csv" for path in (tmp_path / "set" / "views").rglob("*"))
