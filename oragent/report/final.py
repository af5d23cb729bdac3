"""The final round: the best elites of a run on instances of their own, before anybody is called its winner.

The best of many on ``val`` owes some of that to chance. So the best elites meet again, on instances that no search and
no other mode reads, where an evaluator has such a set.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from oragent._base import files
from oragent._base.direction import Direction
from oragent._base.errors import ProblemError, StoreError
from oragent._base.plain import count
from oragent._base.protocol import Status
from oragent.evaluation.offers import FINAL
from oragent.report.chance import MeasuredScore, beyond_score
from oragent.report.held_out import HeldOutScorer, digest, identity
from oragent.report.pages.format import score
from oragent.search.candidate import Elite

FILE = "final.yaml"
WINNER = "winner.py"
ELITES = 10
LEVEL = 0.05


@dataclass(frozen=True)
class FinalistRank:
    """An elite in the final round.

    Attributes:
        id: Id of the candidate.
        val: Score on ``val``, by which it came here.
        measured: Score in the final round.
    """

    id: str
    val: float
    measured: MeasuredScore


@dataclass(frozen=True)
class Final:
    """A final round.

    Attributes:
        direction: Direction of the scores.
        ranked: Those who took part, the best there first.
        failed: Ids of those who have no score there.
    """

    direction: Direction
    ranked: tuple[FinalistRank, ...]
    failed: tuple[str, ...] = ()

    @property
    def favourite(self) -> FinalistRank:
        """Who was best on ``val``."""
        return max(self.ranked, key=lambda one: self.direction.fitness(one.val))

    @property
    def sentence(self) -> str:
        """Who won, and where the best on ``val`` came in."""
        winner, favourite = self.ranked[0], self.favourite
        told = f"candidate {winner.id} won the final round of {count(len(self.ranked), 'elite')} with {winner.measured}"
        if winner.id == favourite.id:
            told += "; it was the best on val, too"
        else:
            place = self.ranked.index(favourite) + 1
            chance = beyond_score(self.direction, winner.measured, favourite.measured)
            reached = score(favourite.measured.score)
            told += f"; the best on val, {favourite.id}, came in at place {place} with {reached}"
            if chance is not None:
                told += f", which is {'no chance' if chance < LEVEL else 'within chance'} (p = {chance:.2g})"
        return told + (f"; without a score there: {', '.join(self.failed)}" if self.failed else "")


def final_round(path: Path, scorer: HeldOutScorer, elites: list[Elite]) -> Final | None:
    """Have the best elites of a run meet again; kept as ``final.yaml``, and the winner as ``winner.py``.

    Equal programs are not evaluated anew, as long as the evaluator is the same.

    Args:
        path: Folder of the run.
        scorer: Scorer of its programs.
        elites: Its elites, best first; the first ``ELITES`` take part.

    Returns:
        The round; None where the evaluator has none.

    Raises:
        ProblemError: if the problem changed since, or nobody has a score.
    """
    if FINAL not in scorer.offers:
        return None
    about, direction = identity(scorer), scorer.folder.problem.about.direction
    known = _known(path, about)
    told = {}
    for elite in elites[:ELITES]:
        key = digest(elite.source)
        figures = known[key] if key in known else _figures(scorer, elite.source)
        told[key] = {**figures, "id": elite.id, "val": elite.score}
        tree = {"about": about, "elites": told}
        files.replace(path / FILE, yaml.safe_dump(tree, sort_keys=False))  # after each: they take minutes
    found = _final(direction, told)
    if found is None:
        raise ProblemError(f"no elite of {path} has a score in the final round: {next(iter(told.values()))['status']}")
    sources = {elite.id: elite.source for elite in elites}
    head = f"# {scorer.folder.problem.name}: {found.ranked[0].measured} in the final round, by {found.ranked[0].id}\n"
    files.replace(path / WINNER, head + sources[found.ranked[0].id].rstrip() + "\n")
    return found


def read(path: Path, direction: Direction) -> Final | None:
    """The final round that a run's folder holds; None where there is none, or it is broken."""
    try:
        told = yaml.safe_load((path / FILE).read_text(encoding="utf-8"))["elites"]
        return _final(direction, told)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError):
        return None


def _known(path: Path, about: str) -> dict[str, dict[str, Any]]:
    try:
        tree = yaml.safe_load((path / FILE).read_text(encoding="utf-8"))
        return dict(tree["elites"]) if tree["about"] == about else {}
    except (StoreError, OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError, ValueError):
        return {}


def _figures(scorer: HeldOutScorer, source: str) -> dict[str, Any]:
    """Score of a program in the final round, with its interval; or how it failed."""
    found = scorer.evaluate(source, None, FINAL)
    if found.status is not Status.OK:
        return {"status": str(found.status)}
    return {"status": str(found.status), "score": found.score, "ci95": list(found.metrics.get("ci95") or ())}


def _final(direction: Direction, told: dict[str, dict[str, Any]]) -> Final | None:
    places = [
        FinalistRank(str(one["id"]), float(one["val"]), MeasuredScore.of(one))
        for one in told.values()
        if one.get("score") is not None
    ]
    failed = tuple(str(one["id"]) for one in told.values() if one.get("score") is None)
    places.sort(key=lambda one: -direction.fitness(one.measured.score))
    return Final(direction, tuple(places), failed) if places else None
