"""LEVI's proxy: a program is looked at first on the one of the problem's sizes that ranks programs as all sizes do."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from oragent.search.candidate import Committed
from oragent.search.round_context import RoundContext
from oragent.search.scoring import Gate
from oragent.search.strategies.rank_faithful import rank_faithful
from oragent.search.strategies.syntax_cells import Cells


def proxy_gate(
    run: RoundContext, first: int, cells: Cells, holders: Mapping[int, Committed]
) -> Callable[[str], Gate | None] | None:
    """Return the gate at the faithful size: the score of the elite of the program's cell there, less some slack.

    Args:
        run: Round that asks.
        first: Number of the last round of first programs.
        cells: Cells of the archive.
        holders: Elites by cell.

    Returns:
        A function that says it for a program; None where no size is known to be faithful.
    """
    size = faithful_size(run, first)
    if size is None:
        return None
    sizes, sign = run.problem.about.sizes["val"], run.problem.about.direction.sign

    def required_score(source: str) -> Gate | None:
        holder = holders.get(cells.cell(source))
        row = holder and _scores_by_size(holder.candidate.evaluation.metrics, holder.score or 0.0, sizes)
        if not row:
            return None
        figure = row[sizes.index(size)]
        return Gate(size, figure - sign * run.own.slack * abs(figure))

    return required_score


def faithful_size(run: RoundContext, first: int) -> int | None:
    """The size of ``val`` on which the first programs rank as on all; None where that cannot be told."""
    sizes = run.problem.about.sizes.get("val", [])
    if len(sizes) < 2 or run.settings.problem_size is not None:
        return None
    begun = [record for record in run.scored if run.turn_of(record.round) <= first]
    rows = [_scores_by_size(record.candidate.evaluation.metrics, record.score or 0.0, sizes) for record in begun]
    complete = [row for row in rows if row is not None]
    if len(complete) < 2:
        return None
    sign = run.problem.about.direction.sign
    return int(sizes[rank_faithful(sign * np.array(complete), 1)[0]])


def _scores_by_size(metrics: Mapping[str, Any], score: float, sizes: Sequence[int]) -> list[float] | None:
    """What a program came to at each size, by the metric whose mean is the score; None where there is none."""
    for name in metrics:
        stem, mark, size = name.rpartition("_")
        if mark and size == str(sizes[0]):
            row = [metrics.get(f"{stem}_{size}") for size in sizes]
            numbers = [float(value) for value in row if isinstance(value, int | float)]
            if len(numbers) == len(sizes) and np.isclose(np.mean(numbers), score, rtol=1e-4):
                return numbers
    return None
