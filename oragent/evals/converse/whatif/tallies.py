"""How many what-if questions are answered rightly, and how many need no understanding at all."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from oragent.evals.converse.whatif.answers import WhatIfAnswer, agrees_with_gold
from oragent.evals.converse.whatif.questions import Question


@dataclass(frozen=True)
class Tally:
    """How many answers are right.

    Attributes:
        right: Number of right answers.
        asked: Number of questions.
    """

    right: int
    asked: int


def count_answers(
    questions: Sequence[Question], answers: Iterable[WhatIfAnswer | None]
) -> dict[tuple[str, str], Tally]:
    """Count right answers by model and kind of question, in the order of the questions.

    Args:
        questions: Questions that were asked.
        answers: Answers, one for each question in the same order; None where there is none.
    """
    counted: dict[tuple[str, str], Tally] = {}
    for question, answer in zip(questions, answers, strict=True):
        key = (question.model, question.kind)
        earlier = counted.get(key, Tally(0, 0))
        counted[key] = Tally(earlier.right + agrees_with_gold(answer, question.gold), earlier.asked + 1)
    return counted


def floor_answers(questions: Sequence[Question], base: Mapping[str, WhatIfAnswer]) -> dict[tuple[str, str], Tally]:
    """Count the right answers if the unchanged model's result is always given: the floor of every table.

    Args:
        questions: Questions that are asked.
        base: Result of each unchanged model, by its name.
    """
    return count_answers(questions, [base[question.model] for question in questions])
