"""Commands that take a folder of any kind: show, report, resume."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from oragent._base.files import FolderKind, find_kind, kind_of_folder
from oragent.cli.app import app
from oragent.report.live.watched import list_folders
from tests.benchmarks.search.test_study import toys


def run(*words: object) -> tuple[int, str]:
    result = CliRunner(env={"COLUMNS": "100"}).invoke(app, [str(word) for word in words])
    return result.exit_code, f"{result.output}{result.exception or ''}"


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ({"run.db", "config.yaml", "best.py"}, FolderKind.SEARCH),
        ({"run.db", "docs", "data", "src"}, FolderKind.WORKSPACE),
        ({"run.db", "docs"}, None),
        ({".oragent", "docs", "data"}, FolderKind.WORKSPACE),
        ({"workspace.yaml", "src"}, FolderKind.WORKSPACE),
        ({".oragent", "formulate.json"}, FolderKind.FORMULATION),
        ({"run.db", "converse.json"}, FolderKind.CONVERSATION),
        ({"comparison.yaml", "seed0"}, FolderKind.COMPARISON),
        ({"comparison.yaml", "study.md"}, FolderKind.STUDY),
        (set(), None),
    ],
)
def test_a_folder_is_told_by_the_names_in_it(names: set[str], kind: FolderKind | None) -> None:
    assert find_kind(names) == kind


def test_a_folder_that_cannot_be_read_is_of_no_kind(tmp_path: Path) -> None:
    assert kind_of_folder(tmp_path / "none") is None


def test_a_new_workspace_is_shown_reported_and_resumed(tmp_path: Path) -> None:
    folder = tmp_path / "bakery"
    assert run("workspace", "new", folder)[0] == 0
    assert [run(verb, folder)[0] for verb in ("show", "report", "resume")] == [0, 0, 0]
    assert [entry.kind for entry in list_folders(tmp_path)] == [FolderKind.WORKSPACE]


@pytest.mark.slow
def test_a_comparison_is_shown_as_it_is_reported_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toys(tmp_path, "mine")
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "outputs" / "comparison"
    words = (
        "compare",
        "mine",
        "--strategies",
        "gp,random",
        "--model",
        "scripted",
        "--seeds",
        1,
        "--evaluations",
        4,
        "--workers",
        1,
    )
    code, text = run(*words)
    assert code == 0, text
    before = snapshot(folder)
    code, text = run("show", folder)
    assert (code, "gp" in text, "mine" in text) == (0, True, True)
    assert snapshot(folder) == before
    (folder / "report.html").unlink()
    assert run("report", folder)[0] == 0
    assert (folder / "report.html").is_file()
    code, text = run("resume", folder)
    assert (code, "complete before" in text) == (0, True)


@pytest.mark.slow
def test_a_study_is_filled_shown_and_names_the_way_to_resume_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toys(tmp_path, "bpp_online")
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "table"
    words = (
        "bench",
        "study",
        "elitist",
        "--problems",
        "bpp_online",
        "--scale",
        0.01,
        "--model",
        "scripted",
        "--outputs",
        folder,
    )
    code, text = run(*words)
    assert code == 0, text
    assert run("show", folder)[0] == 0
    result = CliRunner().invoke(app, ["resume", str(folder)])
    assert "oragent bench study" in str(result.exception)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("bench", "formulate", "--set", "families", "--model", "oracle", "--limit", 2),
        ("bench", "converse", "--decider", "rational", "--utilities", 2),
    ],
)
def test_a_benchmark_is_shown_without_a_change_and_resumed(
    words: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "bench"
    code, first = run(*words, "--outputs", folder, "--workers", 1)
    assert code == 0, first
    before = snapshot(folder)
    code, shown = run("show", folder)
    assert code == 0, shown
    assert snapshot(folder) == before
    assert shown.strip() in first
    assert run("resume", folder)[0] == 0
    (page,) = folder.glob("*.html")
    page.unlink()
    assert run("report", folder)[0] == 0
    assert page.is_file()
