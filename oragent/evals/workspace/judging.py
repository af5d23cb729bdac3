"""What a judge said of an answer, checked piece by piece, and the points that come of it.

Totals are computed here: one that a judge returns is never used, and what a judge left out is an error, not a zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oragent._base.errors import WorkspaceError
from oragent.evals.workspace.rubric import Rubric, coverage, exact_decisions
from oragent.workspace.reading import finite_number, parse_json, read_jsonl, shorten, shorten_path

PENALTY_PAPER, PENALTY_RELEASE = 12.0, 20.0  # points that unsupported claims may cost, by the paper and the release
POSITIVE = {"reasoning": 35.0, "grounding": 20.0, "answer_quality": 10.0}
PENALTY = "hallucination_penalty"


@dataclass(frozen=True)
class JudgePoints:
    """The four parts of a score that need a judge, in points.

    Attributes:
        reasoning: 0 to 35, facts connected by the logic of the model.
        grounding: 0 to 20, claims supported by the evidence.
        answer_quality: 0 to 10, direct, coherent, right terms and units.
        penalty: 0 to 12 or 20, for unsupported claims; taken away.
    """

    reasoning: float
    grounding: float
    answer_quality: float
    penalty: float


@dataclass(frozen=True)
class Judgement:
    """Decisions and marks of one judge on one answer.

    Attributes:
        decisions: Decisions on all semantic criteria, by their ids.
        reasons: Reasons that the judge gave for each decision and mark, by id or name.
        marks: Marks of the four parts; None where predicates judged, which give none.
    """

    decisions: Mapping[str, bool]
    reasons: Mapping[str, str]
    marks: JudgePoints | None


@dataclass(frozen=True)
class AnswerScore:
    """The score of one answer.

    Attributes:
        instance_id: Id of the instance.
        exact: Decisions on all entities, by ``c<criterion>.e<entity>``.
        semantic: Decisions on all semantic criteria, by their ids.
        coverage: Points for both, 0 to 35.
        marks: Marks of the judge for its four parts; None without a judge.
    """

    instance_id: str
    exact: Mapping[str, bool]
    semantic: Mapping[str, bool]
    coverage: float
    marks: JudgePoints | None

    @property
    def total(self) -> float | None:
        """All five parts together, clipped to 0 to 100; None without a judge."""
        if self.marks is None:
            return None
        marks = self.marks
        points = self.coverage + marks.reasoning + marks.grounding + marks.answer_quality - marks.penalty
        return max(0.0, min(100.0, points))


def parse_reply(reply: str, rubric: Rubric, penalty_max: float = PENALTY_PAPER) -> Judgement:
    """Read a judge's reply: one JSON object, in a fenced block or bare.

    Raises:
        WorkspaceError: if it is none, or misses, repeats or oversteps anything.
    """
    text = reply.strip()
    if text.startswith("```"):
        text = text.partition("\n")[2].rpartition("```")[0]
    place = f"judge of {rubric.instance_id}"
    found = parse_json(text, f"the reply of the {place}")
    if not isinstance(found, dict):
        raise WorkspaceError(f"{shorten_path(place)}: the reply is a {type(found).__name__}; expected a JSON object")
    return judgement(found, rubric, place, penalty_max)


def judgement(
    row: Mapping[str, Any], rubric: Rubric, place: str = "judgement", penalty_max: float = PENALTY_PAPER
) -> Judgement:
    """Check a judge's JSON against its rubric.

    Args:
        row: Reply as JSON: ``llm_boolean_judgments``, a list of ``{criterion_id, hit, reason}``, and ``{score,
            reason}`` for each of ``reasoning``, ``grounding``, ``answer_quality`` and ``hallucination_penalty``.
        rubric: Label of the instance.
        place: Place of the JSON, for messages.
        penalty_max: Largest penalty, 12 by the paper and 20 by the release.

    Raises:
        WorkspaceError: if a decision is missing, repeated, unknown or not 0 or 1, or a mark is out of its range.
    """
    place = shorten_path(place)
    decisions, reasons = _decisions(row.get("llm_boolean_judgments"), rubric, place)
    points = {}
    for name, most in {**POSITIVE, PENALTY: penalty_max}.items():
        points[name], reasons[name] = _mark(row.get(name), name, most, place)
    return Judgement(decisions, reasons, JudgePoints(*points.values()))


def by_predicates(rubric: Rubric, answer: str) -> Judgement:
    """Decide the semantic criteria of a generated set without a judge; there are no marks then.

    Raises:
        WorkspaceError: if a semantic criterion has no predicate.
    """
    decisions = {}
    for criterion in rubric.semantic:
        if criterion.predicate is None:
            raise WorkspaceError(f"{shorten(rubric.instance_id)}: {criterion.id} has no predicate; it needs a judge")
        decisions[criterion.id] = criterion.predicate.holds(answer)
    return Judgement(decisions, {}, None)


def score(rubric: Rubric, answer: str, judged: Judgement) -> AnswerScore:
    """The score of an answer: what it names by matching, all else by the judgement.

    Raises:
        WorkspaceError: if the judgement misses a criterion or has one too many.
    """
    exact = exact_decisions(rubric, answer)
    return AnswerScore(
        rubric.instance_id, exact, judged.decisions, coverage(rubric, exact, judged.decisions), judged.marks
    )


def score_all(
    rubrics: Mapping[str, Rubric], answers: Mapping[str, str], judgements: Mapping[str, Judgement]
) -> tuple[AnswerScore, ...]:
    """Scores of all instances, in the order of their rubrics.

    Raises:
        WorkspaceError: if an answer or a judgement is missing, or belongs to no instance.
    """
    for what, given in (("answer", answers), ("judgement", judgements)):
        missing, strangers = set(rubrics) - set(given), set(given) - set(rubrics)
        if strangers:
            raise WorkspaceError(
                f"{shorten(min(strangers))} is given ({what}) and has no rubric; expected instances of this set"
            )
        if missing:
            raise WorkspaceError(
                f"{shorten(min(missing))} has no {what} ({len(missing)} missing); expected one an instance"
            )
    return tuple(score(rubric, answers[name], judgements[name]) for name, rubric in rubrics.items())


def mean(results: tuple[AnswerScore, ...]) -> tuple[float, float | None]:
    """Mean coverage and mean total of some results; no total where one has none.

    Raises:
        WorkspaceError: if there is no result.
    """
    if not results:
        raise WorkspaceError("no rubrics: there is nothing to score answers against")
    totals = [result.total for result in results]
    known = [total for total in totals if total is not None]
    average = sum(result.coverage for result in results) / len(results)
    return average, sum(known) / len(known) if len(known) == len(results) else None


def read_judgements(
    path: Path, rubrics: Mapping[str, Rubric], penalty_max: float = PENALTY_PAPER
) -> dict[str, Judgement]:
    """Read judgements, one JSON object a line, each with its ``instance_id``.

    Raises:
        WorkspaceError: if a line is none, an id is unknown or comes twice, or as ``judgement``.
    """
    found: dict[str, Judgement] = {}
    for place, row in read_jsonl(path):
        name = row.get("instance_id")
        if not isinstance(name, str) or name not in rubrics:
            raise WorkspaceError(
                f"{shorten_path(place)} judges {shorten(repr(name))}; expected an instance_id of this set"
            )
        if name in found:
            raise WorkspaceError(
                f"{shorten_path(place)} judges {shorten(name)} a second time; expected one judgement an instance"
            )
        found[name] = judgement(row, rubrics[name], place, penalty_max)
    return found


def _decisions(items: object, rubric: Rubric, place: str) -> tuple[dict[str, bool], dict[str, str]]:
    if not isinstance(items, list):
        raise WorkspaceError(f"{place} has no llm_boolean_judgments; expected a list of criterion_id, hit and reason")
    wanted = [criterion.id for criterion in rubric.semantic]
    decisions: dict[str, bool] = {}
    reasons: dict[str, str] = {}
    for item in items:
        name, hit = (item.get("criterion_id"), item.get("hit")) if isinstance(item, dict) else (None, None)
        if name not in wanted:
            raise WorkspaceError(
                f"{place} decides {shorten(repr(name), 40)}; expected {', '.join(wanted) or 'nothing'}"
            )
        if name in decisions:
            raise WorkspaceError(f"{place} decides {name} twice; expected one decision a criterion")
        if isinstance(hit, bool) or hit not in (0, 1):
            raise WorkspaceError(f"{place}: hit of {name} is {shorten(repr(hit), 40)}; expected 0 or 1")
        decisions[name], reasons[name] = bool(hit), str(item.get("reason") or "")
    missing = [name for name in wanted if name not in decisions]
    if missing:
        raise WorkspaceError(f"{place} decides {len(decisions)} of {len(wanted)} criteria; {missing[0]} is missing")
    return decisions, reasons


def _mark(value: object, name: str, most: float, place: str) -> tuple[float, str]:
    given = value.get("score") if isinstance(value, Mapping) else None
    points = finite_number(given)
    if points is None or not 0 <= points <= most:
        found = "missing" if given is None else shorten(repr(given), 40)
        raise WorkspaceError(f"{place}: {name}.score is {found}; expected a number from 0 to {most:g}")
    return points, str(value.get("reason") or "") if isinstance(value, Mapping) else ""
