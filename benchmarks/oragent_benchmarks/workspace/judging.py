"""Evidence for a judge, validation of the judgement on an answer, and its points.

Totals are computed here and never taken from a judge. If a judge leaves out a decision, this is an error and not a
zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass as checked

from oragent._base.errors import WorkspaceError
from oragent.workspace.layout import FileRole, Mode, WorkspaceLayout, role_of
from oragent.workspace.reading import parse_json, read_text, shorten, shorten_path
from oragent_benchmarks.workspace.rubric import (
    ROW,
    Rubric,
    build_row,
    collect_once,
    coverage_points,
    exact_decisions,
    read_jsonl,
)

# Maximum number of characters of evidence.
LIMIT = 1_000_000
ORDER = (
    FileRole.DOCUMENT,
    FileRole.PARAMETERS,
    FileRole.TABLE,
    FileRole.FORMULATION,
    FileRole.CODE,
    FileRole.LOG,
    FileRole.RECORD,
)

# Maximum points deducted for unsupported claims, by the paper and by the release.
PENALTY_PAPER, PENALTY_RELEASE = 12.0, 20.0
PARTS = ("reasoning", "grounding", "answer_quality", "hallucination_penalty")


def gather_evidence(workspace: WorkspaceLayout, limit: int = LIMIT) -> str:
    """Return the files of a question's workspace, each under its path, documents first and solver records last.

    Raises:
        WorkspaceError: The workspace has no question, a file is not a text, or the evidence has more than ``limit``
            characters. Truncated evidence would make a judge consider true claims unsupported.
    """
    if workspace.mode is not Mode.EXPLAIN:
        raise WorkspaceError(f"a workspace of {workspace.mode} has no evidence; expected one of {Mode.EXPLAIN}")
    parts = [f"=== {path}\n{read_text(file)}\n" for path, file in _in_order(workspace.files)]
    size = sum(map(len, parts))
    if size > limit:
        largest = max(parts, key=len).partition("\n")[0].removeprefix("=== ")
        raise WorkspaceError(
            f"the evidence has {size} characters, {shorten_path(largest)} the most; expected at most {limit}"
        )
    return "".join(parts)


def _in_order(files: Mapping[str, Path]) -> list[tuple[str, Path]]:
    included = [(path, location) for path, location in files.items() if role_of(path) in ORDER]
    return sorted(included, key=lambda file: (ORDER.index(role_of(file[0])), file[0]))


@dataclass(frozen=True)
class JudgePoints:
    """The four parts of a score that require a judge, in points."""

    # 0 to 35: facts connected by the logic of the model.
    reasoning: float
    # 0 to 20: claims supported by the evidence.
    grounding: float
    # 0 to 10: direct, coherent, correct terms and units.
    answer_quality: float
    # 0 to 12 or 20: deduction for unsupported claims.
    penalty: float


@dataclass(frozen=True)
class RubricJudgement:
    """Decisions and marks of one judge on one answer."""

    # Decisions on all semantic criteria, by their ids.
    decisions: Mapping[str, bool]
    # Reasons of the judge for each decision and mark, by id or name.
    reasons: Mapping[str, str]
    # Marks of the four parts. None without a judge.
    marks: JudgePoints | None


@dataclass(frozen=True)
class AnswerScore:
    """Score of one answer."""

    instance_id: str
    # Decisions on all entities, by ``c<criterion>.e<entity>``.
    exact: Mapping[str, bool]
    semantic: Mapping[str, bool]
    # Points for exact and semantic criteria, 0 to 35.
    coverage: float
    # Marks of the judge for its four parts. None without a judge.
    marks: JudgePoints | None

    @property
    def total(self) -> float | None:
        """Sum of all five parts, clipped to 0 to 100; None without a judge."""
        if self.marks is None:
            return None
        marks = self.marks
        points = self.coverage + marks.reasoning + marks.grounding + marks.answer_quality - marks.penalty
        return max(0.0, min(100.0, points))


def parse_reply(reply: str, rubric: Rubric, penalty_max: float = PENALTY_PAPER) -> RubricJudgement:
    """Read a judge's reply: one JSON object, with or without a fenced block."""
    text = reply.strip()
    if text.startswith("```"):
        text = text.partition("\n")[2].rpartition("```")[0]
    location = f"judge of {rubric.instance_id}"
    tree = parse_json(text, f"the reply of the {location}")
    return parse_judgement(tree, rubric, location, penalty_max)


@checked(frozen=True, config=ROW)
class JudgeDecision:
    """Decision of a judge on one criterion."""

    criterion_id: str
    hit: Annotated[int, Field(strict=True, ge=0, le=1)]
    reason: str = ""


@checked(frozen=True, config=ROW)
class JudgeMark:
    """Mark of a judge for one part."""

    score: Annotated[float, Field(strict=True, ge=0, le=35)]
    reason: str = ""


@checked(frozen=True, config=ROW)
class JudgeReply:
    """Reply of a judge as JSON."""

    llm_boolean_judgments: tuple[JudgeDecision, ...]
    reasoning: JudgeMark
    grounding: JudgeMark
    answer_quality: JudgeMark
    hallucination_penalty: JudgeMark


def parse_judgement(
    row: object, rubric: Rubric, location: str = "judgement", penalty_max: float = PENALTY_PAPER
) -> RubricJudgement:
    """Check a judge's JSON against its rubric.

    Args:
        row: Reply as JSON, in the form of ``JudgeReply``.
        rubric: Label of the instance.
        location: Location of the JSON, for messages.
        penalty_max: Largest penalty, 12 by the paper and 20 by the release.

    Raises:
        WorkspaceError: A decision is missing, repeated, unknown or not 0 or 1, or a mark is out of its range.
    """
    reply, location = build_row(JudgeReply, row, location), shorten_path(location)
    marks = (reply.reasoning, reply.grounding, reply.answer_quality, reply.hallucination_penalty)
    for mark, name, most in zip(marks, PARTS, (35.0, 20.0, 10.0, penalty_max), strict=True):
        if mark.score > most:
            raise WorkspaceError(f"{location}: {name}.score is {mark.score:g}; expected a number from 0 to {most:g}")
    given = [decision.criterion_id for decision in reply.llm_boolean_judgments]
    expected = [criterion.id for criterion in rubric.semantic]
    if sorted(given) != sorted(expected):
        decided = ", ".join(shorten(name, 40) for name in given) or "nothing"
        raise WorkspaceError(f"{location} decides {decided}; expected {', '.join(expected) or 'nothing'}, each once")
    decisions = {decision.criterion_id: bool(decision.hit) for decision in reply.llm_boolean_judgments}
    reasons = {decision.criterion_id: decision.reason for decision in reply.llm_boolean_judgments}
    reasons |= {name: mark.reason for name, mark in zip(PARTS, marks, strict=True)}
    return RubricJudgement(decisions, reasons, JudgePoints(*(mark.score for mark in marks)))


def read_judgements(
    path: Path, rubrics: Mapping[str, Rubric], penalty_max: float = PENALTY_PAPER
) -> dict[str, RubricJudgement]:
    """Read judgements, one JSON object per line, each with its ``instance_id``."""
    entries = []
    for location, row in read_jsonl(path):
        name = row.get("instance_id")
        if not isinstance(name, str) or name not in rubrics:
            judged = f"{shorten_path(location)} judges {shorten(repr(name))}"
            raise WorkspaceError(f"{judged}; expected an instance_id of this set")
        entries.append((location, name, parse_judgement(row, rubrics[name], location, penalty_max)))
    return collect_once(entries)


def score_answer(rubric: Rubric, answer: str, judged: RubricJudgement) -> AnswerScore:
    """Score an answer: exact criteria by matching, all others by the judgement."""
    exact = exact_decisions(rubric, answer)
    return AnswerScore(
        rubric.instance_id, exact, judged.decisions, coverage_points(rubric, exact, judged.decisions), judged.marks
    )


def score_all(
    rubrics: Mapping[str, Rubric], answers: Mapping[str, str], judgements: Mapping[str, RubricJudgement]
) -> tuple[AnswerScore, ...]:
    """Score all instances, in the order of their rubrics."""
    for what, rows in (("answer", answers), ("judgement", judgements)):
        missing, strangers = set(rubrics) - set(rows), set(rows) - set(rubrics)
        if strangers:
            raise WorkspaceError(
                f"{shorten(min(strangers))} is given ({what}) and has no rubric; expected instances of this set"
            )
        if missing:
            raise WorkspaceError(
                f"{shorten(min(missing))} has no {what} ({len(missing)} missing); expected one per instance"
            )
    return tuple(score_answer(rubric, answers[name], judgements[name]) for name, rubric in rubrics.items())


def mean_scores(results: tuple[AnswerScore, ...]) -> tuple[float, float | None]:
    """Return mean coverage and mean total of some results. The total is None if one result has none."""
    if not results:
        raise WorkspaceError("no rubrics, so answers cannot be scored")
    totals = [result.total for result in results]
    present = [total for total in totals if total is not None]
    average = sum(result.coverage for result in results) / len(results)
    return average, sum(present) / len(present) if len(present) == len(results) else None
