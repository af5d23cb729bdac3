"""Questions for the largest coefficient of a row, and for what takes the most of it in a plan."""

import re
from collections.abc import Mapping

from oragent.converse.agents.plain_questions import find_part_name, join_indices
from oragent.converse.optional_protocols import Editable
from oragent.milp.ranking import RankingQuestion, RankingReading, describe_ranking

SMALLEST = ("smallest", "lowest", "least")
SIZE = r"largest|biggest|highest|greatest|smallest|lowest"
COEFFICIENT = re.compile(
    rf"(?:which|what)(?: is| are|'s)? (?:the )?(?:(?P<first>{SIZE}) )?coefficients? (?:of|in) (?P<name>.+?)"
    rf"(?: (?:is|are) (?:the )?(?P<last>{SIZE}))?",
    re.IGNORECASE,
)
USE = re.compile(
    r"(?:which|what|who)\b.*? (?:take|use|need|consume|require|occupie|occupy|fill)s? (?:up )?(?:the )?"
    r"(?P<size>most|least) (?:of )?(?:the )?(?P<name>.+)",
    re.IGNORECASE,
)


def answer_row_question(problem: Editable, values: Mapping[str, float], text: str) -> str:
    """Rank the terms of a row, an objective or a variable; empty where that is not the question.

    Args:
        problem: Problem in force.
        values: Value of each variable in the plan; a missing one is 0.
        text: The question.

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
