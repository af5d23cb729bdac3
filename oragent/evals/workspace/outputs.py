"""Score what was found elsewhere: predictions, answers and judgements in the public release's formats.

A word in place of a file stands for outputs that say nothing, which every score has to be held against: ``records`` and
``originals`` as predictions, ``short``, ``questions`` and ``empty`` as answers, ``all`` and ``none`` as judgements.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import WorkspaceError
from oragent.evals.bench.tables import TextTable
from oragent.evals.workspace.grading import AttemptOutcome
from oragent.evals.workspace.judging import AnswerScore, Judgement, by_predicates, mean, read_judgements, score_all
from oragent.evals.workspace.label_audit import recorded
from oragent.evals.workspace.label_sets import LabelSet
from oragent.evals.workspace.predictions import (
    Prediction,
    PredictionScore,
    grade_predictions,
    read_predictions,
    unrevised,
)
from oragent.evals.workspace.rubric import Rubric, read_answers
from oragent.workspace.layout import Mode
from oragent.workspace.reading import shorten

PREDICTIONS = ("records", "originals")
ANSWERS = ("short", "questions", "empty")
JUDGEMENTS = ("all", "none")


@dataclass(frozen=True)
class Explained:
    """Scores of answers.

    Attributes:
        results: One an instance.
        coverage: Mean points of coverage.
        total: Mean points of all five parts; None without a judge's marks.
    """

    results: tuple[AnswerScore, ...]
    coverage: float
    total: float | None


def prediction_scores(labels: LabelSet, given: str, modes: Sequence[Mode] = ()) -> dict[Mode, PredictionScore]:
    """Grade predictions.

    Args:
        labels: Labels of the set.
        given: A file of predictions, or one of ``PREDICTIONS``.
        modes: Modes that count; none: those for which there is a prediction.

    Raises:
        WorkspaceError: if they cannot be read, or belong to no instance of these modes.
    """
    found = _predictions(labels, given)
    known = {name for references in labels.references.values() for name in references}
    strangers = [name for name in found if name not in known]
    if strangers:
        raise WorkspaceError(f"a prediction for {shorten(strangers[0])}, which is no instance of this set; "
        f"expected ids "
                             f"such as {shorten(next(iter(sorted(known)), 'none'))}")  # fmt: skip
    scores = {}
    for mode, references in labels.references.items():
        own = {name: one for name, one in found.items() if name in references}
        if references and (mode in modes if modes else own):
            scores[mode] = grade_predictions(own, references.values(), labels.originals)
    if not scores:
        raise WorkspaceError(f"no prediction for any instance of {', '.join(modes) or 'this set'}; nothing to score")
    return scores


def _predictions(labels: LabelSet, given: str) -> dict[str, Prediction]:
    if given == "originals":
        return unrevised(labels.references[Mode.REVISE].values(), labels.originals)
    if given == "records":
        if labels.release is None:
            raise WorkspaceError("--predictions records: only the public release has records; give a file")
        return recorded(labels.release, Mode.BUILD) | recorded(labels.release, Mode.REVISE)
    return read_predictions(Path(given))


def explain_scores(labels: LabelSet, answers: str, judgements: str, penalty_max: float) -> Explained:
    """Score answers to the questions of a set.

    Args:
        labels: Labels of the set.
        answers: A file of answers, or one of ``ANSWERS``.
        judgements: A file of judgements, one of ``JUDGEMENTS``, or nothing: then predicates judge.
        penalty_max: Largest penalty that a judge may give.

    Raises:
        WorkspaceError: if anything is missing, broken, or of no instance.
    """
    texts = _answers(labels.rubrics, answers)
    judged = _judgements(labels.rubrics, judgements, texts, penalty_max)
    results = score_all(labels.rubrics, texts, judged)
    return Explained(results, *mean(results))


def _answers(rubrics: Mapping[str, Rubric], given: str) -> dict[str, str]:
    if given in ANSWERS:
        texts = {"short": "short_answer", "questions": "question"}
        return {name: str(getattr(one, texts[given])) if given in texts else "" for name, one in rubrics.items()}
    return read_answers(Path(given))


def _judgements(
    rubrics: Mapping[str, Rubric], given: str, answers: Mapping[str, str], penalty_max: float
) -> dict[str, Judgement]:
    if given in JUDGEMENTS:
        return {
            name: Judgement({one.id: given == "all" for one in rubric.semantic}, {}, None)
            for name, rubric in rubrics.items()
        }
    if given:
        return read_judgements(Path(given), rubrics, penalty_max)
    return {name: by_predicates(rubric, answers[name]) for name, rubric in rubrics.items() if name in answers}


def prediction_table(scores: Mapping[Mode, PredictionScore], floor: Mapping[Mode, PredictionScore]) -> TextTable:
    """One row a mode: passed, Pass@1, the strict rate, and what doing nothing passes."""
    heads = ("mode", "passed", "Pass@1", "at 1e-6", "doing nothing")
    return TextTable(heads, tuple(
        (str(mode), f"{score.passed} of {len(score.grades)}", f"{score.rate:.1f} %",
         f"{100 * score.strict / len(score.grades):.1f} %", f"{floor[mode].rate:.1f} %" if mode in floor else "–")
        for mode, score in scores.items()
    ))  # fmt: skip


def outcome_lines(scores: Mapping[Mode, PredictionScore], most: int = 12) -> list[str]:
    """How attempts ended, a line a mode and outcome, with the instances where they are few."""
    lines = []
    for mode, score in scores.items():
        for outcome, count in score.outcomes.items():
            names = ", ".join(shorten(name, 60) for name in score.of_outcome(outcome)[:most])
            more = f" and {count - most} more" if count > most else ""
            told = f": {names}{more}" if outcome is not AttemptOutcome.PASSED or count <= most else ""
            lines.append(f"{mode}: {count} {outcome}{told}")
    return lines


def answer_table(explained: Explained, echo: float | None) -> TextTable:
    """Coverage and the other parts, one a row, with what the question given back covers."""
    marks = [result.marks for result in explained.results if result.marks is not None]
    parts = ("reasoning", "grounding", "answer_quality", "penalty")
    means = [sum(getattr(one, name) for one in marks) / len(marks) if marks else None for name in parts]
    named = {
        "coverage": explained.coverage, **dict(zip(parts, means, strict=True)), "total": explained.total,
        "coverage of the questions": echo,
    }  # fmt: skip
    rows = tuple((name, "–" if value is None else f"{value:.4f}") for name, value in named.items())
    return TextTable((f"{len(explained.results)} answers", "points"), rows)
