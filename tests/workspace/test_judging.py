"""A judgement is checked piece by piece; what it leaves out or oversteps is one line, and its totals are never used."""

import json
from pathlib import Path

import pytest

from oragent._base.errors import WorkspaceError
from oragent_benchmarks.workspace.judging import (
    PENALTY_PAPER,
    PENALTY_RELEASE,
    AnswerScore,
    JudgePoints,
    mean_scores,
    parse_judgement,
    parse_reply,
    read_judgements,
    score_all,
    score_answer,
)
from oragent_benchmarks.workspace.rubric import Criterion, CriterionKind, Rubric

RUBRIC = Rubric(
    "OR_explain_001", 1, "Comparative Dynamics", "Why?",
    (
        Criterion("c1", CriterionKind.EXACT, "names the row", ("demand_A", "demand_B")),
        Criterion("c2", CriterionKind.SEMANTIC, "says why"),
        Criterion("c3", CriterionKind.SEMANTIC, "says how much"),
    ),
)  # fmt: skip
ANSWER = "The row demand_A is worth 7. The cost is not 9."


def judged(**changes: object) -> dict:
    hits = [{"criterion_id": name, "hit": hit, "reason": "r"} for name, hit in (("c2", 1), ("c3", 0))]
    marks = {"reasoning": 30, "grounding": 15, "answer_quality": 8.5, "hallucination_penalty": 4}
    row: dict = {"llm_boolean_judgments": hits, "total": 1000}
    return row | {name: {"score": points, "reason": name} for name, points in marks.items()} | changes


def test_a_total_is_computed_here_and_clipped() -> None:
    result = score_answer(RUBRIC, ANSWER, parse_judgement(judged(), RUBRIC))
    assert (result.exact, result.semantic) == ({"c1.e1": True, "c1.e2": False}, {"c2": True, "c3": False})
    assert result.coverage == 35 * 2 / 4
    assert result.total == 17.5 + 30 + 15 + 8.5 - 4
    assert AnswerScore("a", {}, {}, 0.0, JudgePoints(0, 0, 0, 12)).total == 0
    assert AnswerScore("a", {}, {}, 35.0, JudgePoints(35, 20, 10, 0)).total == 100


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"reasoning": {"score": 36}}, "reasoning.score"),
        ({"grounding": {"score": -1}}, "grounding.score"),
        ({"answer_quality": {"score": "9"}}, "answer_quality.score"),
        ({"answer_quality": 9}, "answer_quality"),
        ({"reasoning": {"score": True}}, "reasoning.score"),
        ({"reasoning": {"score": 10**400}}, "reasoning.score"),
        ({"hallucination_penalty": {"score": 13}}, "hallucination_penalty.score is 13; expected a number from 0 to 12"),
        ({"llm_boolean_judgments": None}, "llm_boolean_judgments"),
        ({"llm_boolean_judgments": [{"criterion_id": "c2", "hit": 1}]}, "decides c2; expected c2, c3, each once"),
        ({"llm_boolean_judgments": [{"criterion_id": "c2", "hit": 1}] * 2}, "decides c2, c2; expected c2, c3"),
        ({"llm_boolean_judgments": [{"criterion_id": "c1", "hit": 1}]}, "decides c1; expected c2, c3"),
        ({"llm_boolean_judgments": [{"criterion_id": ["c2"], "hit": 1}]}, "criterion_id"),
        ({"llm_boolean_judgments": [7]}, "llm_boolean_judgments.0"),
        ({"llm_boolean_judgments": [{"criterion_id": "c2", "hit": 2}]}, "hit"),
        ({"llm_boolean_judgments": [{"criterion_id": "c2", "hit": True}]}, "hit"),
    ],
)
def test_whatever_a_judge_does_wrong_is_one_line(changes: dict, complaint: str) -> None:
    with pytest.raises(WorkspaceError) as raised:
        parse_judgement(judged(**changes), RUBRIC)
    assert complaint in str(raised.value)
    assert str(raised.value).isprintable()


def test_the_release_lets_a_penalty_cost_more() -> None:
    row = judged(hallucination_penalty={"score": 20, "reason": ""})
    assert parse_judgement(row, RUBRIC, penalty_max=PENALTY_RELEASE).marks == JudgePoints(30, 15, 8.5, 20)
    with pytest.raises(WorkspaceError):
        parse_judgement(row, RUBRIC, penalty_max=PENALTY_PAPER)


def test_a_reply_may_stand_in_a_fenced_block() -> None:
    text = json.dumps(judged())
    assert parse_reply(text, RUBRIC) == parse_reply(f"```json\n{text}\n```\n", RUBRIC)
    assert parse_reply(text, RUBRIC).reasons["grounding"] == "grounding"


@pytest.mark.parametrize("reply", ["", "I think 36 points", "[]", "```json\n{}\n```", "{" * 10_000])
def test_a_reply_without_a_judgement_is_refused(reply: str) -> None:
    with pytest.raises(WorkspaceError) as raised:
        parse_reply(reply, RUBRIC)
    assert "OR_explain_001" in str(raised.value)
    assert str(raised.value).isprintable()


def test_judgements_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "judgements.jsonl"
    rubrics = {RUBRIC.instance_id: RUBRIC}
    path.write_text(json.dumps(judged(instance_id="OR_explain_001")))
    found = read_judgements(path, rubrics)
    results = score_all(rubrics, {"OR_explain_001": ANSWER}, found)
    assert mean_scores(results) == (17.5, 67.0)
    path.write_text(json.dumps(judged(instance_id="OR_explain_002")))
    with pytest.raises(WorkspaceError, match=r":1 judges 'OR_explain_002'; expected an instance_id"):
        read_judgements(path, rubrics)
    path.write_text("\n".join([json.dumps(judged(instance_id="OR_explain_001"))] * 2))
    with pytest.raises(WorkspaceError, match=r":2 has OR_explain_001 a second time"):
        read_judgements(path, rubrics)


def test_means_are_over_all_results_and_totals_need_all_marks() -> None:
    best = AnswerScore("a", {}, {}, 35.0, JudgePoints(35, 20, 10, 0))
    half = AnswerScore("b", {}, {}, 10.0, JudgePoints(10, 0, 0, 5))
    assert mean_scores((best, half)) == (22.5, 57.5)
    assert mean_scores((best, half, AnswerScore("c", {}, {}, 0.0, None))) == (15.0, None)


def test_nothing_may_be_missing_or_too_many() -> None:
    rubrics, found = {RUBRIC.instance_id: RUBRIC}, {RUBRIC.instance_id: parse_judgement(judged(), RUBRIC)}
    with pytest.raises(WorkspaceError, match="OR_explain_001 has no answer"):
        score_all(rubrics, {}, found)
    with pytest.raises(WorkspaceError, match="OR_explain_001 has no judgement"):
        score_all(rubrics, {RUBRIC.instance_id: ""}, {})
    with pytest.raises(WorkspaceError, match="x is given \\(answer\\) and has no rubric"):
        score_all(rubrics, {RUBRIC.instance_id: "", "x": ""}, found)
    with pytest.raises(WorkspaceError):
        mean_scores(())
