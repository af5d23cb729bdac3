"""Final round: the best elites of a run are compared on instances that are used for nothing else.

The best of many programs on ``val`` is best partly by chance. If the evaluator has a set for the final round, the best
elites are scored again on it.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from oragent._base import files
from oragent._base.direction import Direction
from oragent._base.errors import ProblemError
from oragent._base.protocol import Status
from oragent._base.safe_load import load_yaml
from oragent._base.text_format import format_count
from oragent.evaluation.capabilities import FINAL
from oragent.report.held_out import DAMAGED, HeldOutScorer, hash_identity, hash_text
from oragent.report.pages.text import format_score
from oragent.report.significance import MeasuredScore, score_probability
from oragent.search.candidate import Elite

FILE = "final.yaml"
WINNER = "winner.py"
ELITES = 10
LEVEL = 0.05


@dataclass(frozen=True)
class FinalistRank:
    """An elite in the final round."""

    id: str
    # Score on ``val``, by which it was selected.
    val: float
    # Score in the final round.
    measured: MeasuredScore


@dataclass(frozen=True)
class Final:
    """A final round."""

    direction: Direction
    # Elites with a score in the round, best first.
    ranked: tuple[FinalistRank, ...]
    # Ids of elites without a score in the round.
    failed: tuple[str, ...] = ()

    @property
    def val_winner(self) -> FinalistRank:
        """Elite with the best score on ``val``."""
        return max(self.ranked, key=lambda finalist: self.direction.fitness(finalist.val))

    @property
    def sentence(self) -> str:
        """Winner, and rank of the best program on ``val``, in words."""
        winner, favourite = self.ranked[0], self.val_winner
        elites = format_count(len(self.ranked), "elite")
        text = f"candidate {winner.id} won the final round of {elites} with {winner.measured}"
        if winner.id == favourite.id:
            text += "; it was the best on val, too"
        else:
            rank = self.ranked.index(favourite) + 1
            chance = score_probability(self.direction, winner.measured, favourite.measured)
            reached = format_score(favourite.measured.score)
            text += f"; the best on val, {favourite.id}, came in at place {rank} with {reached}"
            if chance is not None:
                text += f", which is {'no chance' if chance < LEVEL else 'within chance'} (p = {chance:.2g})"
        return text + (f"; without a score there: {', '.join(self.failed)}" if self.failed else "")


def hold_final_round(path: Path, scorer: HeldOutScorer, elites: list[Elite]) -> Final | None:
    """Score the best elites of a run in the final round. Write ``final.yaml`` and ``winner.py``.

    Stored scores are reused if the evaluator has not changed.

    Returns:
        The round, or None if the evaluator has no final round.

    Raises:
        ProblemError: The problem has changed since, or no elite has a score.
    """
    if FINAL not in scorer.offers:
        return None
    about, direction = hash_identity(scorer), scorer.folder.problem.about.direction
    recorded = _read_recorded(path, about)
    entries = {}
    for elite in elites[:ELITES]:
        key = hash_text(elite.source)
        figures = recorded[key] if key in recorded else _score_finalist(scorer, elite.source)
        entries[key] = {**figures, "id": elite.id, "val": elite.score}
        tree = {"about": about, "elites": entries}
        # Stored after each evaluation, because these take minutes.
        files.replace_file(path / FILE, yaml.safe_dump(tree, sort_keys=False))
    final = _rank_entries(direction, entries)
    if final is None:
        status = next(iter(entries.values()))["status"]
        raise ProblemError(f"no elite of {path} has a score in the final round: {status}")
    sources = {elite.id: elite.source for elite in elites}
    head = f"# {scorer.folder.problem.name}: {final.ranked[0].measured} in the final round, by {final.ranked[0].id}\n"
    files.replace_file(path / WINNER, head + sources[final.ranked[0].id].rstrip() + "\n")
    return final


def read_final(path: Path, direction: Direction) -> Final | None:
    """Return the stored final round of a run. None if it is missing or its file is damaged."""
    try:
        entries = load_yaml(path / FILE)["elites"]
        final = _rank_entries(direction, entries)
        ranks = () if final is None else final.ranked
        if all(math.isfinite(x) for rank in ranks for x in (rank.val, rank.measured.score)):
            return final
        return None
    except DAMAGED:
        return None


def _read_recorded(path: Path, about: str) -> dict[str, dict[str, Any]]:
    try:
        tree = load_yaml(path / FILE)
        if tree["about"] == about:
            return dict(tree["elites"])
        return {}
    except DAMAGED:
        return {}


def _score_finalist(scorer: HeldOutScorer, source: str) -> dict[str, Any]:
    evaluation = scorer.evaluate(source, None, FINAL)
    status = {"status": str(evaluation.status)}
    if evaluation.status is not Status.OK:
        return status
    return {**status, "score": evaluation.score, "ci95": list(evaluation.metrics.get("ci95") or ())}


def _rank_entries(direction: Direction, entries: dict[str, dict[str, Any]]) -> Final | None:
    finalists = [
        FinalistRank(str(entry["id"]), float(entry["val"]), MeasuredScore.from_figures(entry))
        for entry in entries.values()
        if entry.get("score") is not None
    ]
    failed = tuple(str(entry["id"]) for entry in entries.values() if entry.get("score") is None)
    finalists.sort(key=lambda entry: -direction.fitness(entry.measured.score))
    if finalists:
        return Final(direction, tuple(finalists), failed)
    return None
