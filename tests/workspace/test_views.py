"""A view shows what its mode and variant allow, copied; with a label in it, there is no view."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from oragent._base.errors import WorkspaceError
from oragent.workspace.layout import Mode
from oragent_benchmarks.workspace.importing import Release, read_release
from oragent_benchmarks.workspace.views import (
    HiddenLabels,
    RevisionView,
    Trace,
    WorkspaceTask,
    copy_view,
    lay_out,
    public_metadata,
)
from tests.workspace.release import synthetic

GIVEN = ["data/general_parameters.csv", "data/table_1.csv", "docs/business_requirement.md"]
CODE = ["original/src/current_heuristic.py", "original/src/utils.py"]
MODEL = ["original/src/formulation.tex"]


@pytest.fixture
def release(tmp_path: Path) -> Release:
    return read_release(synthetic(tmp_path / "release", 1, programs=True))


def view(release: Release, folder: Path, mode: Mode, variant: RevisionView | None = None) -> Path:
    """The folder of an agent: the view of a set, laid out by its variant."""
    copy_view(release.workspaces[mode, 1], folder / "view", release.labels_of(mode, 1))
    return lay_out(WorkspaceTask("one", 1, mode, variant, folder / "view"), folder / "desk")


def listing(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def both(paths: list[str]) -> list[str]:
    return [f"{version}/{path}" for version in ("original", "revised") for path in paths]


@pytest.mark.parametrize(
    ("mode", "variant", "expected"),
    [
        (Mode.BUILD, None, GIVEN),
        (Mode.REVISE, RevisionView.CODE, both(GIVEN) + CODE),
        (Mode.REVISE, RevisionView.MODEL, both(GIVEN) + MODEL),
        (Mode.REVISE, RevisionView.ALL, both(GIVEN) + CODE + MODEL),
        (Mode.EXPLAIN, None, both([
            *GIVEN, "logs/execution_record.json", "logs/solver_output.log", "solver_records/bread.lp_relaxation.json",
            "solver_records/bread.solution.json", "src/formulation.tex", "src/optimization_model.py",
            "src/utility_code.py",
        ])),
    ],
)  # fmt: skip
def test_each_mode_and_variant_shows_its_files(
    release: Release, tmp_path: Path, mode: Mode, variant: RevisionView | None, expected: list[str]
) -> None:
    made = view(release, tmp_path / "view", mode, variant)
    assert listing(made) == sorted([*expected, "metadata.json"])
    source = release.workspaces[mode, 1].files
    assert all((made / path).read_bytes() == source[path].read_bytes() for path in expected)
    assert all(os.stat(made / path).st_ino != os.stat(source[path]).st_ino for path in expected)
    program = {Mode.BUILD: "src", Mode.REVISE: "revised/src"}.get(mode)
    assert program is None or list((made / program).iterdir()) == []


def test_keys_that_sound_like_answers_are_removed(release: Release, tmp_path: Path) -> None:
    made = view(release, tmp_path / "view", Mode.EXPLAIN)
    told = json.loads((made / "metadata.json").read_text())
    assert set(told["explain_task"]) == {"dimension", "question"}
    assert "hidden" not in (made / "metadata.json").read_text()


def test_metadata_pass_an_allow_list_with_types() -> None:
    given = {"instance_id": "a", "objective": 5, "domain": {"answer": 5}, "explain_task": {"question": "?", "hint": 1}}
    assert public_metadata(given) == {"instance_id": "a", "explain_task": {"question": "?"}}
    assert public_metadata({}) == {}


def test_metadata_that_are_no_unicode_do_no_harm(release: Release, tmp_path: Path) -> None:
    workspace = replace(release.workspaces[Mode.BUILD, 1], metadata={"instance_id": "half \ud800 a letter"})
    copy_view(workspace, tmp_path / "view", HiddenLabels())
    assert json.loads((tmp_path / "view/metadata.json").read_bytes()) == {"instance_id": "half \ud800 a letter"}


@pytest.mark.parametrize(
    ("text", "trace"),
    [
        ("Bakery 1 earns  less as RYE takes two kilograms, so that wheat alone is baked.", Trace.SENTENCE),
        ("Hint: a HIT where no rye is said to be baked any more.", Trace.SENTENCE),
    ],
)
def test_a_label_inside_the_view_is_refused_and_nothing_is_left(
    release: Release, tmp_path: Path, text: str, trace: Trace
) -> None:
    release.workspaces[Mode.BUILD, 1].files["docs/business_requirement.md"].write_text(text)
    with pytest.raises(WorkspaceError, match=f"the view contains a label: docs/business_requirement.md {trace}"):
        view(release, tmp_path / "view", Mode.BUILD)
    assert not (tmp_path / "view/view").exists()


def test_a_copy_of_the_labels_is_refused_under_any_name(release: Release, tmp_path: Path) -> None:
    labels = (tmp_path / "release" / "evaluation" / "revise_evaluation" / "reference_objectives.csv").read_bytes()
    release.workspaces[Mode.REVISE, 1].files["revised/data/table_1.csv"].write_bytes(labels)
    with pytest.raises(WorkspaceError, match="is a copy of a file of labels"):
        view(release, tmp_path / "view", Mode.REVISE, RevisionView.CODE)


def test_a_folder_that_exists_is_never_written_into(release: Release, tmp_path: Path) -> None:
    (tmp_path / "view/view").mkdir(parents=True)
    (tmp_path / "view/view/mine").write_text("kept")
    with pytest.raises(WorkspaceError):
        view(release, tmp_path / "view", Mode.BUILD)
    assert listing(tmp_path / "view") == ["view/mine"]


def test_a_full_disk_leaves_nothing(release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(WorkspaceError):
        view(release, tmp_path / "view", Mode.BUILD)
    assert not (tmp_path / "view/view").exists()


def test_a_source_turned_into_a_link_is_not_followed(release: Release, tmp_path: Path) -> None:
    place = release.workspaces[Mode.BUILD, 1].files["data/table_1.csv"]
    place.unlink()
    place.symlink_to(tmp_path / "release" / "evaluation" / "explain_evaluation" / "rubrics.jsonl")
    with pytest.raises(WorkspaceError):
        copy_view(release.workspaces[Mode.BUILD, 1], tmp_path / "view", HiddenLabels())
    assert not (tmp_path / "view").exists()
