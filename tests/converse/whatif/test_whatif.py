"""What-if questions: reading them, judging answers, and the floor under every table."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from oragent._base.errors import ConfigError, StoreError
from oragent.evals.converse.whatif.command import Tally, count_answers, floor_answers
from oragent.evals.converse.whatif.questions import MODELS, AnswerStatus, WhatIfAnswer, agrees_with_gold, read_questions

DATA = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "whatif"
BASE = {
    "coffee": WhatIfAnswer(AnswerStatus.OPTIMAL, 2470),
    "netflow": WhatIfAnswer(AnswerStatus.OPTIMAL, 5500),
    "diet": WhatIfAnswer(AnswerStatus.INFEASIBLE),
}
RECORD = {
    "QUESTION": "What if tea costs 3 more?", "TYPE": "cost", "raw_question_hash": "ab", "DATA CODE": "cost['tea'] += 3",
    "GT EXEC RESULT": 12.5,
}  # fmt: skip
shared = pytest.mark.skipif(not DATA.is_dir(), reason="the published questions are not here")


def folder(path: Path, **records: Any) -> Path:
    for model in MODELS:
        (path / f"{model}.benchmark.json").write_text(json.dumps({"questions": records.get(model, [RECORD])}))
    return path


@shared
def test_there_are_713_questions_over_three_models() -> None:
    questions = read_questions(DATA)
    assert Counter(one.model for one in questions) == {"coffee": 273, "netflow": 202, "diet": 238}
    assert len(questions) == 713
    kinds = {model: Counter(one.kind for one in questions if one.model == model) for model in MODELS}
    assert [len(kinds[model]) for model in MODELS] == [7, 3, 1]
    assert kinds["netflow"] == {"shipping-cost": 88, "shipment": 65, "shipment-cost": 49}
    assert [len({one.template for one in questions if one.model == model}) for model in MODELS] == [7, 5, 4]


@shared
def test_a_question_changes_data_or_rows_and_says_so_plainly() -> None:
    questions = read_questions(DATA)
    assert sum(bool(one.data_code) for one in questions) == 325
    assert all(bool(one.data_code) != bool(one.row_code) for one in questions)
    assert sum(one.plain != one.text for one in questions) == 605  # paraphrases
    assert [one.number for one in questions if one.model == "diet"] == list(range(1, 239))


@shared
def test_every_diet_question_is_infeasible_and_seven_others() -> None:
    infeasible = Counter(one.model for one in read_questions(DATA) if one.gold.status is AnswerStatus.INFEASIBLE)
    assert infeasible == {"diet": 238, "coffee": 7}


@shared
def test_always_answering_the_base_model_s_result_scores_361() -> None:
    questions = read_questions(DATA)
    found = floor_answers(questions, BASE)
    right = {model: sum(one.right for (of, _), one in found.items() if of == model) for model in MODELS}
    assert right == {"coffee": 39, "netflow": 84, "diet": 238}
    assert sum(one.right for one in found.values()) == 361
    assert sum(one.asked for one in found.values()) == 713


@shared
def test_the_gold_answers_themselves_score_713() -> None:
    questions = read_questions(DATA)
    found = count_answers(questions, [one.gold for one in questions])
    assert sum(one.right for one in found.values()) == 713


# given, gold, whether they agree
ANSWERS = [
    (WhatIfAnswer(AnswerStatus.OPTIMAL, 2470), WhatIfAnswer(AnswerStatus.OPTIMAL, 2470.0), True),
    (
        WhatIfAnswer(AnswerStatus.OPTIMAL, 2470.002),
        WhatIfAnswer(AnswerStatus.OPTIMAL, 2470.0),
        True,
    ),  # 1e-6 of 2,470 is 0.00247
    (WhatIfAnswer(AnswerStatus.OPTIMAL, 2470.003), WhatIfAnswer(AnswerStatus.OPTIMAL, 2470.0), False),
    (WhatIfAnswer(AnswerStatus.OPTIMAL, 5e-7), WhatIfAnswer(AnswerStatus.OPTIMAL, 0.0), True),
    (WhatIfAnswer(AnswerStatus.OPTIMAL, 5e-6), WhatIfAnswer(AnswerStatus.OPTIMAL, 0.0), False),
    (WhatIfAnswer(AnswerStatus.OPTIMAL, -2470), WhatIfAnswer(AnswerStatus.OPTIMAL, 2470.0), False),
    (WhatIfAnswer(AnswerStatus.OPTIMAL), WhatIfAnswer(AnswerStatus.OPTIMAL, 2470.0), False),
    (WhatIfAnswer(AnswerStatus.OPTIMAL, float("nan")), WhatIfAnswer(AnswerStatus.OPTIMAL, 2470.0), False),
    (WhatIfAnswer(AnswerStatus.OPTIMAL, float("inf")), WhatIfAnswer(AnswerStatus.OPTIMAL, 2470.0), False),
    (WhatIfAnswer(AnswerStatus.INFEASIBLE), WhatIfAnswer(AnswerStatus.OPTIMAL, 2470.0), False),
    (WhatIfAnswer(AnswerStatus.INFEASIBLE, 7), WhatIfAnswer(AnswerStatus.INFEASIBLE), True),
    (WhatIfAnswer(AnswerStatus.UNBOUNDED), WhatIfAnswer(AnswerStatus.INFEASIBLE), False),
    (None, WhatIfAnswer(AnswerStatus.INFEASIBLE), False),
]


@pytest.mark.parametrize(("given", "gold", "right"), ANSWERS)
def test_an_answer_is_right_by_status_and_objective(
    given: WhatIfAnswer | None, gold: WhatIfAnswer, right: bool
) -> None:
    assert agrees_with_gold(given, gold) is right


def test_answers_are_counted_by_model_and_kind(tmp_path: Path) -> None:
    other = RECORD | {"TYPE": "limit", "GT EXEC RESULT": "infeasible\nConflicting Constraints:\n['a']"}
    questions = read_questions(folder(tmp_path, coffee=[RECORD, other, RECORD]))
    assert [(one.model, one.number, one.gold.status) for one in questions[:3]] == [
        ("coffee", 1, "optimal"), ("coffee", 2, "infeasible"), ("coffee", 3, "optimal"),
    ]  # fmt: skip
    found = count_answers(
        questions,
        [WhatIfAnswer(AnswerStatus.OPTIMAL, 12.5), None, None, WhatIfAnswer(AnswerStatus.OPTIMAL, 12.5), None],
    )
    assert found == {
        ("coffee", "cost"): Tally(1, 2), ("coffee", "limit"): Tally(0, 1),
        ("netflow", "cost"): Tally(1, 1), ("diet", "cost"): Tally(0, 1),
    }  # fmt: skip
    with pytest.raises(ValueError, match="shorter"):
        count_answers(questions, [None])


def test_a_paraphrase_knows_the_words_of_its_template(tmp_path: Path) -> None:
    paraphrase = RECORD | {"QUESTION": "Say tea were dearer by 3?", "MACRO GEN QUESTION": RECORD["QUESTION"]}
    first, second, *_ = read_questions(folder(tmp_path, coffee=[RECORD, paraphrase]))
    assert (first.plain, second.plain) == (first.text, first.text)


def test_gold_code_is_text_and_is_never_run(tmp_path: Path) -> None:
    trap = RECORD | {"DATA CODE": f"open({str(tmp_path / 'sprung')!r}, 'w')"}
    assert read_questions(folder(tmp_path, diet=[trap]))[2].data_code == trap["DATA CODE"]
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"QUESTION": " "}, "question 2: QUESTION must be text"),
        ({"TYPE": None}, "question 2: TYPE must be text, not None"),
        ({"DATA CODE": ["x"]}, "DATA CODE must be text"),
        ({"DATA CODE": ""}, "expected DATA CODE or CONSTRAINT CODE"),
        ({"GT EXEC RESULT": "Optimal"}, "must be a number, infeasible or unbounded, not 'Optimal'"),
        ({"GT EXEC RESULT": float("nan")}, "must be a number, infeasible or unbounded, not nan"),
        ({"GT EXEC RESULT": True}, "must be a number"),
    ],
)
def test_a_wrong_record_is_told_in_one_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as problem:
        read_questions(folder(tmp_path, netflow=[RECORD, RECORD | change]))
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"questions": []}', '{"questions": {}}', '{"questions": [7]}', "[" * 99_999]
)
def test_another_file_is_told_in_one_line(tmp_path: Path, text: str) -> None:
    folder(tmp_path)
    (tmp_path / "diet.benchmark.json").write_text(text)
    with pytest.raises(ConfigError, match=r"diet\.benchmark\.json"):
        read_questions(tmp_path)


def test_a_missing_file_is_told_with_those_that_are_expected(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"coffee.benchmark.json: No such file .*; expected coffee, netflow, diet"):
        read_questions(tmp_path)
