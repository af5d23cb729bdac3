"""The best score so far, over evaluations and over time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from oragent._base.direction import Direction
from oragent.search.candidate import Committed


@dataclass(frozen=True)
class ProgressPoint:
    """A scored candidate on its way through a run.

    Attributes:
        at: Evaluations paid until then, its own included, or seconds of the run's own time.
        score: Score of the candidate, in the problem's natural units.
        best: Best score until then, its own included.
    """

    at: float
    score: float
    best: float


def over_evaluations(records: Sequence[Committed], direction: Direction) -> tuple[ProgressPoint, ...]:
    """Follow a run in the order of its commitments; equal programs are scored once and counted once.

    Probes cost no evaluation, and are no points.
    """
    found: list[tuple[float, float]] = []
    paid, met, shown = 0, set[str](), set[str]()
    for record in records:
        candidate, score = record.candidate, record.score
        if candidate.is_probe:
            continue
        paid += candidate.evaluation.ran and candidate.fingerprint not in met
        met.add(candidate.fingerprint)
        if score is not None and candidate.fingerprint not in shown:
            found.append((float(paid), score))
            shown.add(candidate.fingerprint)
    return _points(found, direction)


def over_seconds(records: Sequence[Committed], direction: Direction) -> tuple[ProgressPoint, ...]:
    """Follow a run by the times at which its evaluations ended; probes are no points."""
    solutions = (record for record in records if not record.candidate.is_probe)
    ended = sorted(_first_of_each(solutions), key=lambda record: record.elapsed_s)
    scored = [(record.elapsed_s, record.candidate.evaluation.score) for record in ended]
    return _points([(at, score) for at, score in scored if score is not None], direction)


def _first_of_each(records: Iterable[Committed]) -> Iterable[Committed]:
    firsts: dict[str, Committed] = {}
    for record in records:
        firsts.setdefault(record.candidate.fingerprint, record)
    return firsts.values()


def _points(found: Iterable[tuple[float, float]], direction: Direction) -> tuple[ProgressPoint, ...]:
    points: list[ProgressPoint] = []
    for at, score in found:
        points.append(ProgressPoint(at, score, direction.best((points[-1].best, score)) if points else score))
    return tuple(points)
