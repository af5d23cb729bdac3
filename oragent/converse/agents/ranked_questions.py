"""Questions for sums and rankings: of the values of a plan, of coefficients, and of what takes the most of a row."""

import re
from collections.abc import Mapping, Sequence

from oragent.converse.agents.plain_questions import AmbiguousQuestionError, find_part_name, join_indices
from oragent.converse.decision import Editable
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
from oragent.milp.ranking import RankingQuestion, RankingReading, describe_ranking

SMALLEST = ("smallest", "lowest", "least")
SIZE = r"largest|biggest|highest|greatest|smallest|lowest"
COEFFICIENT = re.compile(
    rf"(?i)(?:which|what)(?: is| are|'s)? (?:the )?(?:(?P<first>{SIZE}) )?coefficients? (?:of|in) (?P<name>.+?)"
    rf"(?: (?:is|are) (?:the )?(?P<last>{SIZE}))?"
)
USE = re.compile(
    r"(?i)(?:which|what|who)\b.*? (?:take|use|need|consume|require|occupie|occupy|fill)s? (?:up )?(?:the )?"
    r"(?P<size>most|least) (?:of )?(?:the )?(?P<name>.+)"
)


MOST_THINGS, MOST_READINGS = 8, 4


def answer_row_question(problem: Editable, values: Mapping[str, float], text: str) -> str:
    """Rank the terms of a row, an objective or a variable; empty where that is not the question.

    Raises:
        AmbiguousQuestionError: It names several parts.
    """
    sentence = join_indices(problem, " ".join(text.split()).rstrip("?.! "))
    if (match := COEFFICIENT.fullmatch(sentence)) and (size := match["first"] or match["last"]):
        return _rank_coefficients(problem, match["name"], size.casefold())
    if match := USE.fullmatch(sentence):
        return _rank_uses(problem, values, match["name"], match["size"].casefold())
    return ""


def _rank_coefficients(problem: Editable, text: str, size: str) -> str:
    name = find_part_name(problem, text)
    terms = _list_terms(problem).get(name)
    if terms is None:
        terms = {part: terms[name] for part, terms in _list_terms(problem).items() if name in terms}
    if not terms:
        return ""
    ranking = _make_ranking(size, "coefficient")
    lines = [describe_ranking(ranking, RankingReading(f"value in {name}", terms))]
    if min(terms.values()) < 0:
        sizes = {part: abs(value) for part, value in terms.items()}
        lines.append(describe_ranking(ranking, RankingReading(f"absolute value in {name}", sizes)))
    return "\n".join(lines)


def _rank_uses(problem: Editable, values: Mapping[str, float], text: str, size: str) -> str:
    name = find_part_name(problem, text)
    terms = _list_terms(problem).get(name, {})
    uses = {part: value * values.get(part, 0.0) for part, value in terms.items()}
    uses = {part: use for part, use in uses.items() if use > 0}
    rates = {part: value for part, value in terms.items() if value > 0}
    ranking = _make_ranking(size, f"use of {name}")
    readings = [RankingReading("amount in the plan", uses), RankingReading("coefficient for one unit", rates)]
    return "\n".join(describe_ranking(ranking, reading) for reading in readings if reading.figures)


def _make_ranking(size: str, noun: str) -> RankingQuestion:
    return RankingQuestion("smallest" if size in SMALLEST else "largest", noun, frozenset())


def _list_terms(problem: Editable) -> dict[str, Mapping[str, float]]:
    """Return the terms of each objective and row in force; variables are no rows."""
    variables = {variable.name for variable in problem.original.variables}
    goals = problem.expressions  # type: ignore[attr-defined]
    return {goal.name: goal.terms for goal in goals if goal.name not in variables}


def answer_value_question(problem: Editable, values: Mapping[str, float], text: str) -> str:
    """Sum or rank the values of a plan that a question names; empty where that is not the question.

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
    if readings:
        return describe_sum(question, readings[0])
    return ""


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
