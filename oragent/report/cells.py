"""The archive laid out on two axes."""

from collections.abc import Iterable
from dataclasses import dataclass

from oragent.report.run import RunData

MAX_PANELS = 9
WIDEST = 40  # bins on an axis; beyond them only those with an elite are drawn


@dataclass(frozen=True)
class Map:
    """An island, or all of them where there is one feature.

    Attributes:
        columns: Bins of the first feature.
        rows: Bins of the second feature, or the islands.
        scores: Best score of each cell, by column and row.
    """

    columns: tuple[int, ...]
    rows: tuple[int, ...]
    scores: dict[tuple[int, int], float]


def mapped(data: RunData) -> list[Map]:
    """Lay out the islands, each on a map, or all on one where there is just one feature.

    Returns:
        At most ``MAX_PANELS`` maps with equal axes; none where no elite has the features that were announced.
    """
    axes, best = data.about.axes, data.about.direction.best
    if not axes:
        return []
    flat = len(axes) == 1
    cells: list[dict[tuple[int, int], float]] = [{} for _ in data.islands[: 1 if flat else MAX_PANELS]]
    for island, elites in enumerate(data.islands if flat else data.islands[:MAX_PANELS]):
        scores = cells[0 if flat else island]
        for evaluation in (elite.candidate.evaluation for elite in elites):
            place = _place(evaluation.features or (), island if flat else None)
            if place is not None and evaluation.score is not None:
                scores[place] = best((scores.get(place, evaluation.score), evaluation.score))
    every = [place for scores in cells for place in scores]
    if not every:
        return []
    columns = _bins(axes[0].bins, [column for column, _ in every])
    rows = tuple(range(len(data.islands))) if flat else _bins(axes[1].bins, [row for _, row in every])
    return [Map(columns, rows, scores) for scores in cells]


def _place(features: tuple[float, ...], row: int | None) -> tuple[int, int] | None:
    """Column and row; None where an evaluator printed fewer features than were announced."""
    if row is not None:
        return (int(features[0]), row) if features else None
    return (int(features[0]), int(features[1])) if len(features) > 1 else None


def _bins(announced: int, found: Iterable[int]) -> tuple[int, ...]:
    """All bins of an axis; only those in use where an evaluator printed wild ones."""
    used = sorted(set(found))
    low, high = min(0, used[0]), max(announced - 1, used[-1])
    return tuple(range(low, high + 1)) if high - low < WIDEST else tuple(used)
