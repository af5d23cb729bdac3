"""Scores of external predictions, answers and judgements in the formats of the public release.

A word instead of a file selects trivial outputs as a baseline: ``records`` and ``originals`` as predictions, ``short``,
``questions`` and ``empty`` as answers, ``all`` and ``none`` as judgements.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from oragent._base.errors import WorkspaceError
from oragent.evals.bench.driver import rich_table
from oragent.evals.bench.tables import TextTable
from oragent.ledger.case import LedgerCase
from oragent.ledger.study import open_study
from oragent.llm.model import Model
from oragent.llm.model_settings import RuntimeWords
from oragent.workspace.layout import Mode, open_workspace
from oragent.workspace.reading import shorten
from oragent_benchmarks.workspace import grading, judging
from oragent_benchmarks.workspace.agents import JUDGE, judge_answer
from oragent_benchmarks.workspace.importing import LabelSet, import_release, read_labels, read_release
from oragent_benchmarks.workspace.release_records import predict_from_records
from oragent_benchmarks.workspace.rubric import Rubric, read_answers
from oragent_benchmarks.workspace.views import list_tasks

PREDICTIONS = ("records", "originals")
ANSWERS = ("short", "questions", "empty")
JUDGEMENTS = ("all", "none")


@dataclass(frozen=True)
class Outputs:
    """Outputs to score, as the command line names them."""

    root: Path
    # File or word. Empty means no predictions.
    predictions: str = ""
    # File or word. Empty means no answers.
    answers: str = ""
    # File or word. Empty means that no criterion needs a judge.
    judgements: str = ""
    # Modes to score. Empty means those with outputs.
    modes: tuple[Mode, ...] = ()
    # Largest penalty of a judge.
    penalty_max: float = 12.0
    # Model that judges answers without judgements. Empty means none.
    judge: str = ""
    # Folder in which the replies of the judge are recorded.
    folder: Path = Path("outputs/workspace-judged")


def import_command(root: Path, out: Path | None, console: Console) -> int:
    """Count the workspaces of a release, and write it as views and a vault if a folder is given."""
    release = read_release(root)
    counts = {mode: len(release.of_mode(mode)) for mode in Mode}
    found = ", ".join(f"{count} {mode}" for mode, count in counts.items())
    _print_lines(console, [f"{sum(counts.values())} imported: {found}"])
    if out is not None:
        views = import_release(release, out)
        _print_lines(console, [f"{len(views)} views in {out}/views, labels in {out}/vault"])
    return 0


def score_command(outputs: Outputs, console: Console, model: Model | None = None) -> int:
    """Score external predictions and answers. ``model`` replaces the judge of a server."""
    labels = read_labels(outputs.root)
    if outputs.predictions:
        scores = prediction_scores(labels, outputs.predictions, outputs.modes)
        has_floor = Mode.REVISE in scores and bool(labels.originals)
        floor = prediction_scores(labels, "originals") if has_floor else {}
        console.print(Text(f"{labels.title}: predictions", style="bold"))
        console.print(rich_table(prediction_table(scores, floor)))
        _print_lines(console, outcome_lines(scores))
    if outputs.answers:
        if outputs.judge and not outputs.judgements:
            explained = asyncio.run(_judged_scores(labels, outputs, model))
        else:
            explained = explain_scores(labels, outputs.answers, outputs.judgements, outputs.penalty_max)
        console.print(Text(f"{labels.title}: answers", style="bold"))
        console.print(rich_table(answer_table(explained, question_floor(labels))))
    return 0


def question_floor(labels: LabelSet) -> float | None:
    """Return the coverage of the questions themselves as answers, as the baseline of all scores."""
    if labels.rubrics:
        return explain_scores(labels, "questions", "none", 12.0).coverage
    return None


def _print_lines(console: Console, lines: Sequence[str]) -> None:
    for text in lines:
        console.print(Text(text), soft_wrap=True)


@dataclass(frozen=True)
class Explained:
    """Scores of answers. ``total`` is the mean of all five parts in points, or None without a judge's marks."""

    results: tuple[judging.AnswerScore, ...]
    coverage: float
    total: float | None


def prediction_scores(labels: LabelSet, source: str, modes: Sequence[Mode] = ()) -> dict[Mode, grading.PredictionScore]:
    """Grade predictions.

    Args:
        labels: Labels of the set.
        source: A file of predictions, or one of ``PREDICTIONS``.
        modes: Modes to score. Empty means those with a prediction.
    """
    predictions = _load_predictions(labels, source)
    names = {name for references in labels.references.values() for name in references}
    strangers = [name for name in predictions if name not in names]
    if strangers:
        raise grading.stranger_error(strangers[0], min(names, default="none"))
    scores = {}
    for mode, references in labels.references.items():
        mode_predictions = {name: prediction for name, prediction in predictions.items() if name in references}
        if references and (mode in modes if modes else mode_predictions):
            scores[mode] = grading.grade_predictions(mode_predictions, references.values(), labels.originals)
    if not scores:
        raise WorkspaceError(f"no prediction for any instance of {', '.join(modes) or 'this set'}; nothing to score")
    return scores


def _load_predictions(labels: LabelSet, source: str) -> dict[str, grading.Prediction]:
    if source == "originals":
        return grading.predict_unrevised(labels.references[Mode.REVISE].values(), labels.originals)
    if source == "records":
        if labels.release is None:
            raise WorkspaceError("--predictions records: only the public release has records; give a file")
        return predict_from_records(labels.release, Mode.BUILD) | predict_from_records(labels.release, Mode.REVISE)
    return grading.read_predictions(Path(source))


def explain_scores(labels: LabelSet, answers: str, judgements: str, penalty_max: float) -> Explained:
    """Score answers to the questions of a set.

    Args:
        labels: Labels of the set.
        answers: A file of answers, or one of ``ANSWERS``.
        judgements: A file of judgements, or one of ``JUDGEMENTS``. Empty means that no criterion needs a judge.
        penalty_max: Largest penalty that a judge may give.
    """
    texts = _load_answers(labels.rubrics, answers)
    judged = _load_judgements(labels.rubrics, judgements, penalty_max)
    results = judging.score_all(labels.rubrics, texts, judged)
    return Explained(results, *judging.mean_scores(results))


async def _judged_scores(labels: LabelSet, outputs: Outputs, model: Model | None) -> Explained:
    """Let the judge decide on each answer with the evidence of its question.

    Replies are recorded, so that each is paid for once.
    """
    texts = _load_answers(labels.rubrics, outputs.answers)
    views = {task.number: task.view for task in list_tasks(outputs.root, Mode.EXPLAIN)}

    async def judge(case: LedgerCase) -> dict[str, Any]:
        rubric = labels.rubrics[case.name]
        evidence = judging.gather_evidence(open_workspace(views[rubric.number], Mode.EXPLAIN))
        given = await judge_answer(case, rubric, texts.get(case.name, ""), evidence, outputs.penalty_max)
        marks = None if given.marks is None else vars(given.marks)
        return {"decisions": dict(given.decisions), "reasons": dict(given.reasons), "marks": marks}

    runtime = RuntimeWords((), {"model.name": outputs.judge}).read_runtime((JUDGE,))
    names = sorted(labels.rubrics)
    async with open_study(outputs.folder, runtime, model=model) as study:
        finished = [case for case in await study.run_cases(names, judge) if case is not None]
        if len(finished) < len(names):
            raise WorkspaceError(f"not all answers were judged: {study.stop_reason}; repeat the command to continue")
    judged = {
        case.name: judging.RubricJudgement(
            case.result["decisions"], case.result["reasons"], judging.JudgePoints(**case.result["marks"])
        )
        for case in finished
    }
    results = judging.score_all(labels.rubrics, texts, judged)
    return Explained(results, *judging.mean_scores(results))


def _load_answers(rubrics: Mapping[str, Rubric], source: str) -> dict[str, str]:
    if source in ANSWERS:
        texts = {"short": "short_answer", "questions": "question"}
        return {
            name: str(getattr(rubric, texts[source])) if source in texts else "" for name, rubric in rubrics.items()
        }
    return read_answers(Path(source))


def _load_judgements(
    rubrics: Mapping[str, Rubric], source: str, penalty_max: float
) -> dict[str, judging.RubricJudgement]:
    if source in JUDGEMENTS:
        return {
            name: judging.RubricJudgement({criterion.id: source == "all" for criterion in rubric.semantic}, {}, None)
            for name, rubric in rubrics.items()
        }
    if source:
        return judging.read_judgements(Path(source), rubrics, penalty_max)
    undecided = [name for name, rubric in rubrics.items() if rubric.semantic]
    if undecided:
        raise WorkspaceError(f"{shorten(undecided[0])} has criteria for a judge; give --judge, or --judgements")
    return {name: judging.RubricJudgement({}, {}, None) for name in rubrics}


def prediction_table(
    scores: Mapping[Mode, grading.PredictionScore], floor: Mapping[Mode, grading.PredictionScore]
) -> TextTable:
    """Return one row per mode: passed, Pass@1, the strict rate, and the rate of unchanged models."""
    rows = []
    for mode, score in scores.items():
        count = len(score.grades)
        shares = (f"{score.pass_rate:.1f} %", f"{100 * score.strict_count / count:.1f} %")
        nothing = f"{floor[mode].pass_rate:.1f} %" if mode in floor else "–"
        rows.append((str(mode), f"{score.passed_count} of {count}", *shares, nothing))
    return TextTable(("mode", "passed", "Pass@1", "at 1e-6", "doing nothing"), tuple(rows))


def outcome_lines(scores: Mapping[Mode, grading.PredictionScore], limit: int = 12) -> list[str]:
    """Describe the outcomes of attempts, one line per mode and outcome, with the instances if they are few."""
    lines = []
    for mode, score in scores.items():
        for outcome, count in score.outcome_counts.items():
            names = ", ".join(shorten(name, 60) for name in score.of_outcome(outcome)[:limit])
            more = f" and {count - limit} more" if count > limit else ""
            is_listed = outcome is not grading.AttemptOutcome.PASSED or count <= limit
            listed = f": {names}{more}" if is_listed else ""
            lines.append(f"{mode}: {count} {outcome}{listed}")
    return lines


def answer_table(explained: Explained, echo: float | None) -> TextTable:
    """Return coverage and the other parts, one per row, with the coverage of the question as an answer."""
    marks = [result.marks for result in explained.results if result.marks is not None]
    parts = ("reasoning", "grounding", "answer_quality", "penalty")
    means = [sum(getattr(marked, name) for marked in marks) / len(marks) if marks else None for name in parts]
    named = {
        "coverage": explained.coverage,
        **dict(zip(parts, means, strict=True)),
        "total": explained.total,
        "coverage of the questions": echo,
    }
    rows = tuple((name, "–" if value is None else f"{value:.4f}") for name, value in named.items())
    return TextTable((f"{len(explained.results)} answers", "points"), rows)
