"""The best score so far over evaluations."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from oragent._base.direction import Direction
from oragent.search.candidate import Committed


@dataclass(frozen=True)
class ProgressPoint:
    """A scored candidate in the course of a run.

    Attributes:
        at: Evaluations paid until then, its own included, equal programs once.
        score: Score of the candidate, in the problem's natural units.
        best: Best score until then, its own included.
    """

    at: float
    score: float
    best: float


def progress_by_evaluations(records: Sequence[Committed], direction: Direction) -> tuple[ProgressPoint, ...]:
    """Return the progress in the order of commitment; equal programs count once.

    Probes cost no evaluation and are left out.
    """
    scored: list[tuple[float, float]] = []
    evaluations, counted, shown = 0, set[str](), set[str]()
    for record in records:
        candidate, score = record.candidate, record.score
        if candidate.is_probe:
            continue
        evaluations += candidate.evaluation.was_started and candidate.fingerprint not in counted
        counted.add(candidate.fingerprint)
        if score is not None and candidate.fingerprint not in shown:
            scored.append((float(evaluations), score))
            shown.add(candidate.fingerprint)
    return _make_points(scored, direction)


def _make_points(scored: Iterable[tuple[float, float]], direction: Direction) -> tuple[ProgressPoint, ...]:
    points: list[ProgressPoint] = []
    for at, score in scored:
        points.append(ProgressPoint(at, score, direction.best((points[-1].best, score)) if points else score))
    return tuple(points)
