"""Questions for the sum or the ranking of values of a plan, asked back where they have several readings."""

from collections.abc import Mapping, Sequence

from oragent.converse.agents.plain_questions import AmbiguousQuestionError
from oragent.converse.optional_protocols import Editable
from oragent.milp.plan_values import (
    ValueQuestion,
    ValueReading,
    describe_sum,
    list_ranked_positions,
    list_value_readings,
    rank_values,
    read_value_question,
    repeat_question,
)
from oragent.milp.ranking import describe_ranking

MOST_THINGS, MOST_READINGS = 8, 4


def answer_value_question(problem: Editable, values: Mapping[str, float], text: str) -> str:
    """Sum or rank the values of a plan that a question names; empty where that is not the question.

    Args:
        problem: Problem in force.
        values: Value of each variable in the plan; a missing one is 0.
        text: The question.

    Raises:
        AmbiguousQuestionError: It has several readings.
    """
    question = read_value_question(text)
    if question is None:
        return ""
    readings = list_value_readings(problem.base, values, question)  # type: ignore[attr-defined]
    if question.is_ranking:
        return _rank(question, readings)
    if len(readings) > 1:
        raise _ask_back([repeat_question(question, reading) for reading in readings])
    return describe_sum(question, readings[0]) if readings else ""


def _rank(question: ValueQuestion, readings: Sequence[ValueReading]) -> str:
    choices = [(reading, position) for reading in readings for position in list_ranked_positions(question, reading)]
    ranked = [(reading, position) for reading, position in choices if len(reading.sum_by(position)) > 1]
    answers = [describe_ranking(*rank_values(question, reading, position)) for reading, position in ranked]
    if len(answers) < 2:
        return "".join(answers)
    things = [tuple(reading.sum_by(position)) for reading, position in ranked]
    if max(map(len, things)) > MOST_THINGS:
        return "\n".join(answers)
    is_same = len(set(things)) == 1
    raise _ask_back(
        [
            repeat_question(question, reading, () if is_same else names)
            for (reading, _), names in zip(ranked, things, strict=True)
        ]
    )


def _ask_back(questions: Sequence[str]) -> AmbiguousQuestionError:
    listed = " or ".join(map(repr, questions[:MOST_READINGS]))
    return AmbiguousQuestionError(
        f"which do you mean? {listed}{' and others' if len(questions) > MOST_READINGS else ''}"
    )
