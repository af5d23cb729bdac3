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
    run: RoundContext, first: int, cells: Cells, found: Mapping[int, Committed]
) -> Callable[[str], Gate | None] | None:
    """What programs must reach at the faithful size: what the elite of their cell did there, less some slack.

    Args:
        run: Round that asks.
        first: Number of the last round of first programs.
        cells: Cells of the archive.
        found: Elites by cell.

    Returns:
        A function that says it for a program; None where no size is known to be faithful.
    """
    size = faithful_size(run, first)
    if size is None:
        return None
    sizes, sign = run.problem.about.sizes["val"], run.problem.about.direction.sign

    def wanted(source: str) -> Gate | None:
        holder = found.get(cells.cell(source))
        row = holder and _figures(holder.candidate.evaluation.metrics, holder.score or 0.0, sizes)
        if not row:
            return None
        figure = row[sizes.index(size)]
        return Gate(size, figure - sign * run.own.slack * abs(figure))

    return wanted


def faithful_size(run: RoundContext, first: int) -> int | None:
    """The size of ``val`` on which the first programs rank as on all; None where that cannot be told."""
    sizes = run.problem.about.sizes.get("val", [])
    if len(sizes) < 2 or run.settings.problem_size is not None:
        return None
    begun = [one for one in run.scored if run.turn_of(one.round) <= first]
    rows = [_figures(one.candidate.evaluation.metrics, one.score or 0.0, sizes) for one in begun]
    known = [row for row in rows if row is not None]
    if len(known) < 2:
        return None
    sign = run.problem.about.direction.sign
    return int(sizes[rank_faithful(sign * np.array(known), 1)[0]])


def _figures(metrics: Mapping[str, Any], score: float, sizes: Sequence[int]) -> list[float] | None:
    """What a program came to at each size, by the metric whose mean is the score; None where there is none."""
    for name in metrics:
        stem, mark, size = name.rpartition("_")
        if mark and size == str(sizes[0]):
            row = [metrics.get(f"{stem}_{one}") for one in sizes]
            numbers = [float(value) for value in row if isinstance(value, int | float)]
            if len(numbers) == len(sizes) and np.isclose(np.mean(numbers), score, rtol=1e-4):
                return numbers
    return None
