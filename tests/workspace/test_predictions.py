"""Predictions of others are graded over all instances; a file that is none is refused in one line."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from oragent._base.errors import WorkspaceError
from oragent.workspace.layout import Mode
from oragent_benchmarks.workspace.grading import (
    AttemptOutcome,
    Prediction,
    Reference,
    grade_predictions,
    predict_unrevised,
    read_predictions,
    read_references,
    workspace_id,
)
from oragent_benchmarks.workspace.importing import read_release
from oragent_benchmarks.workspace.release_records import predict_from_records
from tests.workspace.release import PUBLIC, needs_release

REFERENCES = [Reference(workspace_id(Mode.REVISE, n), Mode.REVISE, n, "toy", 100.0 * n) for n in range(1, 9)]
HEADER = "workspace_id,task_type,instance_number,instance_id,reference_objective,relative_tolerance\n"


def predict(number: int, status: str = "Optimal", objective: float | None = None) -> Prediction:
    return Prediction(workspace_id(Mode.REVISE, number), status, objective)


def test_every_reference_counts_whether_predicted_or_not() -> None:
    made = [predict(1, objective=100.5), predict(2, objective=200.0), predict(3, objective=50.0), predict(4),
            predict(5, "Infeasible"), predict(6, "Feasible", 600.0), predict(7, " optimal ", 10.0)]  # fmt: skip
    score = grade_predictions({one.workspace_id: one for one in made}, REFERENCES, {3: 50.0})
    assert (score.passed_count, score.strict_count, score.pass_rate) == (2, 1, 25.0)
    assert [grade.outcome for grade in score.grades] == [
        AttemptOutcome.PASSED, AttemptOutcome.PASSED, AttemptOutcome.UNREVISED, AttemptOutcome.NO_OBJECTIVE, AttemptOutcome.INFEASIBLE,
        AttemptOutcome.NOT_PROVEN, AttemptOutcome.WRONG_VALUE, AttemptOutcome.NO_ATTEMPT,
    ]  # fmt: skip
    assert score.of_outcome(AttemptOutcome.UNREVISED) == ("or_space_003_revise",)
    assert score.outcome_counts == {
        AttemptOutcome.PASSED: 2, AttemptOutcome.NO_ATTEMPT: 1, AttemptOutcome.NO_OBJECTIVE: 1, AttemptOutcome.INFEASIBLE: 1,
        AttemptOutcome.NOT_PROVEN: 1, AttemptOutcome.UNREVISED: 1, AttemptOutcome.WRONG_VALUE: 1,
    }  # fmt: skip


def test_several_modes_are_graded_from_one_file() -> None:
    build = Reference(workspace_id(Mode.BUILD, 3), Mode.BUILD, 3, "toy", 70.0)
    made = [predict(3, objective=50.0), Prediction(build.workspace_id, "Optimal", 50.0)]
    score = grade_predictions({one.workspace_id: one for one in made}, [REFERENCES[2], build], {3: 50.0})
    assert [grade.outcome for grade in score.grades] == [AttemptOutcome.UNREVISED, AttemptOutcome.WRONG_VALUE]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("oops", "predictions.jsonl:1 is not JSON"),
        ("[1]", "contains a list"),
        ("{}", "workspace_id"),
        ('{"workspace_id": 7}', "workspace_id"),
        ('{"workspace_id": "a"}', "status"),
        ('{"workspace_id": "a", "status": "Optimal", "objective": "5"}', "objective"),
        ('{"workspace_id": "a", "status": "Optimal", "objective": true}', "objective"),
        ('{"workspace_id": "a", "status": "Optimal", "objective": NaN}', "NaN is not a JSON number"),
        (
            '{"workspace_id": "a", "status": "Optimal", "objective": 1e999}',
            "objective",
        ),
        ('{"workspace_id": "a", "status": "Optimal", "objective": 1' + "0" * 400 + "}", "objective"),
        ('{"workspace_id": "a", "status": "o"}\n{"workspace_id": "a", "status": "o"}', ":2 has a a second time"),
    ],
)
def test_a_line_that_is_no_prediction_is_refused(tmp_path: Path, line: str, complaint: str) -> None:
    path = tmp_path / "predictions.jsonl"
    path.write_text(line)
    with pytest.raises(WorkspaceError) as raised:
        read_predictions(path)
    assert complaint in str(raised.value)
    assert str(raised.value).isprintable()


def test_strangers_and_empty_sets_are_refused() -> None:
    with pytest.raises(WorkspaceError, match="a prediction for x, which is no instance"):
        grade_predictions({"x": Prediction("x", "Optimal", 1.0)}, REFERENCES)
    with pytest.raises(WorkspaceError):
        grade_predictions({}, [])
    with pytest.raises(WorkspaceError, match="or_space_002_revise has no original reference"):
        predict_unrevised(REFERENCES, {1: 5.0})


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ("a,build,1,x,5.0,0.01\na,build,1,x,5.0,0.01\n", ":3 has a a second time"),
        ("a,build,1,x,nan,0.01\n", "reference_objective"),
        ("a,build,1,x," + "9" * 400 + ",0.01\n", "objective"),
        ("a,build,1,x,5.0,1.5\n", "relative_tolerance"),
        ("a,explain,1,x,5.0,0.01\n", "task_type"),
        ("a,build,one,x,5.0,0.01\n", "instance_number"),
        ("a,build,1,x\n", "line 2 has 4 cells"),
        ("", "has a header and no row"),
    ],
)
def test_a_file_of_references_with_a_fault_is_refused(tmp_path: Path, rows: str, complaint: str) -> None:
    path = tmp_path / "reference_objectives.csv"
    path.write_text(HEADER + rows)
    with pytest.raises(WorkspaceError) as raised:
        read_references(path)
    assert complaint in str(raised.value)


def test_another_table_is_no_file_of_references(tmp_path: Path) -> None:
    path = tmp_path / "reference_objectives.csv"
    path.write_text("name,value\na,1\n")
    with pytest.raises(WorkspaceError, match="workspace_id"):
        read_references(path)


def references(mode: Mode) -> list[Reference]:
    return list(read_references(PUBLIC / "evaluation" / f"{mode}_evaluation" / "reference_objectives.csv").values())


@pytest.mark.slow
@needs_release
@pytest.mark.parametrize(("mode", "missed"), [(Mode.BUILD, ["or_space_040_build"]), (Mode.REVISE, [])])
def test_the_release_s_own_records_pass_but_for_one(tmp_path: Path, mode: Mode, missed: list) -> None:
    path = tmp_path / "predictions.jsonl"
    lines = [json.dumps(asdict(one)) for one in predict_from_records(read_release(PUBLIC), mode).values()]
    path.write_text("\n".join(lines))
    score = grade_predictions(read_predictions(path), references(mode))
    assert score.passed_count == 100 - len(missed)
    assert [grade.workspace_id for grade in score.grades if not grade.is_passed] == missed
    off = [int(grade.workspace_id[9:12]) for grade in score.grades if not grade.strict]
    assert off == ([1, 3, 17, 27, 31, 32, 40, 47, 85, 91] if mode is Mode.BUILD else [])


@needs_release
def test_doing_nothing_passes_seven_revisions() -> None:
    originals = {reference.number: reference.objective for reference in references(Mode.BUILD)}
    revised = references(Mode.REVISE)
    score = grade_predictions(predict_unrevised(revised, originals), revised, originals)
    assert [int(grade.workspace_id[9:12]) for grade in score.grades if grade.is_passed] == [3, 15, 22, 45, 47, 74, 99]
    assert [int(grade.workspace_id[9:12]) for grade in score.grades if grade.strict] == [45, 74]
    assert len(score.of_outcome(AttemptOutcome.UNREVISED)) == 93
