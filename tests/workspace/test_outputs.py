"""The figures of the public release, printed by the commands; outputs made elsewhere, and what is wrong with them."""

import json

import pytest
from typer.testing import CliRunner

from oragent._base.errors import WorkspaceError
from oragent.cli.app import app
from oragent.workspace.layout import Mode
from oragent_benchmarks.workspace.importing import read_labels
from oragent_benchmarks.workspace.outputs import explain_scores, prediction_scores
from tests.workspace.release import PUBLIC, needs_release, synthetic


def said(*words: object) -> str:
    result = CliRunner().invoke(app, ["bench", "workspace", *map(str, words)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.slow
@needs_release
def test_the_release_s_own_records_pass_but_one():
    output = said("--set", PUBLIC, "--predictions", "records")
    assert "99 of 100" in output
    assert "100 of 100" in output
    assert "1 wrong value: or_space_040_build" in output


@needs_release
def test_originals_pass_seven_revisions():
    output = said("--set", PUBLIC, "--predictions", "originals")
    assert "7 of 100" in output
    named = ", ".join(f"or_space_{number:03d}_revise" for number in (3, 15, 22, 45, 47, 74, 99))
    assert f"7 passed: {named}" in output


@pytest.mark.slow
@needs_release
@pytest.mark.parametrize(
    ("answers", "judgements", "points"),
    [
        ("short", "all", "33.0433"),
        ("short", "none", "27.0139"),
        ("questions", "none", "15.5148"),
        ("empty", "none", "0.0000"),
    ],
)
def test_what_answers_cover(answers, judgements, points):
    output = said("--set", PUBLIC, "--answers", answers, "--judgements", judgements)
    assert points in output.split("reasoning")[0]
    assert "15.5148" in output


@pytest.mark.slow
@needs_release
def test_the_release_is_read_whole():
    output = CliRunner().invoke(app, ["bench", "workspace", "--import", str(PUBLIC)]).output
    assert "300 imported: 100 build, 100 revise, 100 explain" in output


def test_an_imported_set_scores_as_the_release_does(tmp_path):
    root = synthetic(tmp_path / "release")
    result = CliRunner().invoke(app, ["bench", "workspace", "--import", str(root), "--set", str(tmp_path / "set")])
    assert result.exit_code == 0, result.output
    for place in (root, tmp_path / "set"):
        labels = read_labels(place)
        assert prediction_scores(labels, "originals")[Mode.REVISE].passed_count == 0
        assert explain_scores(labels, "short", "all", 12.0).coverage == 35.0


def test_predictions_and_answers_of_a_file(tmp_path):
    root = synthetic(tmp_path / "release")
    rows = [{"workspace_id": f"or_space_{n:03d}_build", "status": "Optimal", "objective": 4.0 * 97 * n} for n in (1, 2)]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    output = said("--set", root, "--predictions", tmp_path / "p.jsonl")
    assert "2 of 3" in output
    assert "1 no attempt: or_space_003_build" in output
    (tmp_path / "a.jsonl").write_text(
        "".join(json.dumps({"instance_id": f"OR_explain_{n:03d}", "answer": "rye and wheat"}) + "\n" for n in (1, 2, 3))
    )
    assert "23.3333" in said("--set", root, "--answers", tmp_path / "a.jsonl", "--judgements", "none")


def test_what_is_wrong_with_outputs_is_one_line(tmp_path):
    labels = read_labels(synthetic(tmp_path / "release"))
    (tmp_path / "p.jsonl").write_text('{"workspace_id": "other", "status": "Optimal", "objective": 1}\n')
    with pytest.raises(WorkspaceError, match="no instance of this set"):
        prediction_scores(labels, str(tmp_path / "p.jsonl"))
    with pytest.raises(WorkspaceError):
        explain_scores(labels, "short", "", 12.0)
    with pytest.raises(WorkspaceError):
        read_labels(tmp_path)
    (tmp_path / "vault").mkdir()
    with pytest.raises(WorkspaceError):
        read_labels(tmp_path)
