"""What ``oragent workspace import`` and ``oragent bench workspace --predictions`` do."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from oragent.evals.bench.board import rich_table
from oragent.evals.workspace.audit import audit
from oragent.evals.workspace.importing import import_release, read_release
from oragent.evals.workspace.label_sets import LabelSet, read_labels
from oragent.evals.workspace.outputs import (
    answer_table,
    explain_scores,
    outcome_lines,
    prediction_scores,
    prediction_table,
)
from oragent.evals.workspace.views import RevisionNote, RevisionView
from oragent.workspace.layout import Mode


@dataclass(frozen=True)
class Outputs:
    """What somebody found, as the command line names it.

    Attributes:
        root: Folder of the set.
        predictions: File or word; empty for none.
        answers: File or word; empty for none.
        judgements: File or word; empty: predicates judge.
        modes: Modes that count; empty: those that there is something for.
        penalty_max: Largest penalty of a judge.
    """

    root: Path
    predictions: str = ""
    answers: str = ""
    judgements: str = ""
    modes: tuple[Mode, ...] = ()
    penalty_max: float = 12.0


def import_command(root: Path, out: Path | None, variant: RevisionView, note: RevisionNote, console: Console) -> int:
    """Audit a release, and lay it out as views and a vault where a folder is named.

    Raises:
        WorkspaceError: if it is none, or the folder is there already.
    """
    release = read_release(root)
    _say(console, audit(release).lines())
    if out is not None:
        views = import_release(release, out, variant, note)
        _say(console, [f"{len(views)} views in {out}/views, labels in {out}/vault"])
    return 0


def score_command(outputs: Outputs, console: Console) -> int:
    """Score predictions and answers that were made elsewhere.

    Raises:
        WorkspaceError: if something is missing, broken or out of place.
    """
    labels = read_labels(outputs.root)
    if outputs.predictions:
        scores = prediction_scores(labels, outputs.predictions, outputs.modes)
        floor = prediction_scores(labels, "originals") if Mode.REVISE in scores and labels.originals else {}
        console.print(Text(f"{labels.title}: predictions", style="bold"))
        console.print(rich_table(prediction_table(scores, floor)))
        _say(console, outcome_lines(scores))
    if outputs.answers:
        explained = explain_scores(labels, outputs.answers, outputs.judgements, outputs.penalty_max)
        console.print(Text(f"{labels.title}: answers", style="bold"))
        console.print(rich_table(answer_table(explained, _echo(labels))))
    return 0


def _echo(labels: LabelSet) -> float | None:
    """What the questions cover, given back as answers: the floor of each score."""
    return explain_scores(labels, "questions", "none", 12.0).coverage if labels.rubrics else None


def _say(console: Console, lines: Sequence[str]) -> None:
    for line in lines:
        console.print(Text(line), soft_wrap=True)
