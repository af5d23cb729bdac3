"""Coverage is counted over entities and semantic criteria alike; the release's own figures are met."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import WorkspaceError
from oragent_benchmarks.workspace.rubric import (
    Criterion,
    CriterionKind,
    Rubric,
    coverage_points,
    exact_decisions,
    read_answers,
    read_rubrics,
)
from tests.workspace.release import PUBLIC, needs_release

ROW = {
    "instance_id": "OR_explain_001",
    "instance_number": 1,
    "dimension": "Comparative Dynamics",
    "question": "Why did the cost rise?",
    "checklist": [
        {"criterion_id": "c1", "checklist_type": "exact_match", "criterion": "rows", "target_entities": ["demand_A", "7"]},
        {"criterion_id": "c2", "checklist_type": "llm_boolean_judgment", "criterion": "says why",
         "instruction_for_judge": "Hit only if it says why."},
        {"criterion_id": "c3", "checklist_type": "llm_boolean_judgment", "criterion": "says what follows"},
    ],
}  # fmt: skip


def write(tmp_path: Path, *rows: dict) -> Path:
    path = tmp_path / "rubrics.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def test_a_rubric_is_read_as_it_stands(tmp_path: Path) -> None:
    (rubric,) = read_rubrics(write(tmp_path, ROW)).values()
    assert (rubric.number, rubric.decision_count, rubric.short_answer) == (1, 4, "")
    assert [one.id for one in rubric.exact] == ["c1"]
    assert [one.id for one in rubric.semantic] == ["c2", "c3"]


def test_every_decision_is_kept_by_its_name(tmp_path: Path) -> None:
    (rubric,) = read_rubrics(write(tmp_path, ROW)).values()
    exact = exact_decisions(rubric, "demand_A rose by 6")
    assert exact == {"c1.e1": True, "c1.e2": False}
    assert coverage_points(rubric, exact, {"c2": True, "c3": False}) == 35 * 2 / 4


@given(st.lists(st.booleans(), min_size=1), st.lists(st.booleans()))
def test_coverage_is_the_share_of_hits(exact: list[bool], semantic: list[bool]) -> None:
    entities = tuple(f"e{place}" for place in range(len(exact)))
    criteria = [Criterion("c1", CriterionKind.EXACT, "", entities)]
    criteria += [Criterion(f"c{place}", CriterionKind.SEMANTIC, "") for place in range(2, 2 + len(semantic))]
    rubric = Rubric("toy", 1, "", "", tuple(criteria))
    answer = " ".join(entity for entity, hit in zip(entities, exact, strict=True) if hit)
    decisions = {one.id: hit for one, hit in zip(rubric.semantic, semantic, strict=True)}
    found = coverage_points(rubric, exact_decisions(rubric, answer), decisions)
    assert found == pytest.approx(35 * (sum(exact) + sum(semantic)) / (len(exact) + len(semantic)))


@pytest.mark.parametrize(
    ("semantic", "complaint"),
    [({"c2": True}, "c3 has no decision"), ({"c2": True, "c3": True, "c9": True}, "c9 is no criterion")],
)
def test_a_missing_decision_is_an_error_and_no_zero(tmp_path: Path, semantic: dict, complaint: str) -> None:
    (rubric,) = read_rubrics(write(tmp_path, ROW)).values()
    with pytest.raises(WorkspaceError, match=complaint):
        coverage_points(rubric, exact_decisions(rubric, ""), semantic)


def changed(**changes: object) -> dict:
    return ROW | {"checklist": [ROW["checklist"][0] | changes]}  # type: ignore[index]


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([ROW, ROW], ":2 has OR_explain_001 a second time"),
        ([ROW | {"instance_id": None}], "instance_id"),
        ([ROW | {"instance_number": "1"}], "instance_number"),
        ([ROW | {"checklist": []}], "checklist"),
        ([ROW | {"checklist": [ROW["checklist"][0]] * 2}], "criterion c1 twice"),  # type: ignore[index]
        ([ROW | {"checklist": ["c1"]}], "checklist.0"),
        ([changed(criterion_id="1")], "checklist.0"),
        ([changed(checklist_type="guess")], "checklist_type"),
        ([changed(target_entities=[])], "c1 is exact_match with 0 entities"),
        ([changed(target_entities=["", "a"])], "target_entities"),
        ([changed(target_entities=[5])], "target_entities"),
        ([changed(checklist_type="llm_boolean_judgment")], "with 2 entities; only exact criteria have some"),
        ([changed(criterion=None)], "criterion"),
    ],
)
def test_what_is_no_rubric_is_refused(tmp_path: Path, rows: list, complaint: str) -> None:
    with pytest.raises(WorkspaceError) as raised:
        read_rubrics(write(tmp_path, *rows))
    assert complaint in str(raised.value)
    assert str(raised.value).isprintable()


def test_answers_are_read_once_each(tmp_path: Path) -> None:
    one = {"instance_id": "OR_explain_001", "answer": "because"}
    assert read_answers(write(tmp_path, one)) == {"OR_explain_001": "because"}
    with pytest.raises(WorkspaceError, match="a second time"):
        read_answers(write(tmp_path, one, one))
    with pytest.raises(WorkspaceError, match="answer"):
        read_answers(write(tmp_path, {"instance_id": "a"}))


@needs_release
@pytest.mark.parametrize(
    ("answers", "entities", "all_hit", "none_hit"),
    [
        ("short_answer", 936, 33.0433, 27.0139),
        ("question", 540, 21.5442, 15.5148),
        ("nothing", 0, 6.0294, 0.0),
    ],
)
def test_the_release_s_short_answers_and_questions_cover_what_they_do(
    answers: str, entities: int, all_hit: float, none_hit: float
) -> None:
    rubrics = read_rubrics(PUBLIC / "evaluation" / "explain_evaluation" / "rubrics.jsonl").values()
    exact = [exact_decisions(rubric, getattr(rubric, answers, "")) for rubric in rubrics]
    assert sum(sum(one.values()) for one in exact) == entities
    assert sum(len(one) for one in exact) == 1011
    if answers == "short_answer":
        assert sum(all(one.values()) for one in exact) == 70
    for hit, expected in ((True, all_hit), (False, none_hit)):
        points = [
            coverage_points(rubric, one, {criterion.id: hit for criterion in rubric.semantic})
            for rubric, one in zip(rubrics, exact, strict=True)
        ]
        assert sum(points) / 100 == pytest.approx(expected, abs=5e-5)


@needs_release
def test_the_release_s_rubrics_are_as_counted() -> None:
    rubrics = list(read_rubrics(PUBLIC / "evaluation" / "explain_evaluation" / "rubrics.jsonl").values())
    assert [len(rubrics), sum(len(one.exact) for one in rubrics), sum(len(one.semantic) for one in rubrics)] == [
        100, 200, 197,
    ]  # fmt: skip
    assert all([one.id for one in rubric.criteria] == [f"c{n}" for n in range(1, len(rubric.criteria) + 1)]
               for rubric in rubrics)  # fmt: skip
    dimensions = [rubric.dimension for rubric in rubrics]
    assert sorted(map(dimensions.count, set(dimensions))) == [33, 33, 34]
    hops = [rubric.path.count("->") + 1 for rubric in rubrics]
    assert [hops.count(length) for length in (4, 5, 6)] == [54, 41, 5]
