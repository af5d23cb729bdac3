"""LEVI's proxy (arXiv:2605.09764): a program is scored first on the size that ranks programs as all sizes do."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oragent.search.candidate import Committed
from oragent.search.round_context import RoundContext
from oragent.search.scoring import Gate
from oragent.search.strategies.syntax_cells import Cells

ALIKE = 1e-12  # differences below it are ties
RANKING, SEPARATION, REDUNDANCY = 0.5, 0.5, 0.15  # weights
Table = NDArray[np.float64]


def rank_faithful(table: Table, count: int) -> list[int]:
    """Choose tests one after the other, each the one that is worth most beside those that are chosen.

    A test is worth 0.5 R + 0.5 A - 0.15 C. R is the share of pairs of programs that the mean of the chosen tests orders
    as the mean of all does. A is the mean spread of the chosen tests, as a share of the largest of any. C is the mean
    absolute correlation of the test with those that were chosen before.

    Args:
        table: ``(programs, tests)`` array of scores.
        count: Number of tests to choose; fewer come where there are fewer.

    Returns:
        Columns, in the order in which they were chosen; of equals the first.

    Raises:
        ValueError: if the table has no program or no test.
    """
    if table.ndim != 2 or not table.size:
        raise ValueError(f"the table must have programs and tests, not shape {table.shape}")
    chosen: list[int] = []
    while len(chosen) < min(count, table.shape[1]):
        remaining = [column for column in range(table.shape[1]) if column not in chosen]
        chosen.append(max(remaining, key=lambda column: _column_worth(table, [*chosen, column])))
    return chosen


def rank_agreement(first: Sequence[float], second: Sequence[float]) -> float:
    """The share of pairs that two rankings order alike; a tie in both counts 1, a tie in one 1/2. 1 without pairs."""
    credits = []
    for i, j in combinations(range(len(first)), 2):
        mine, theirs = first[i] - first[j], second[i] - second[j]
        ties = (abs(mine) <= ALIKE) + (abs(theirs) <= ALIKE)
        credits.append({2: 1.0, 1: 0.5}.get(ties, float(mine * theirs > 0)))
    return sum(credits) / len(credits) if credits else 1.0


def _column_worth(table: Table, columns: Sequence[int]) -> float:
    spread = table.std(axis=0)
    separation = float(spread[columns].mean() / spread.max()) if spread.max() > ALIKE else 0.0
    ranking = rank_agreement(table.mean(axis=1).tolist(), table[:, columns].mean(axis=1).tolist())
    *earlier, last = columns
    alike = [_absolute_correlation(table[:, last], table[:, column]) for column in earlier]
    return RANKING * ranking + SEPARATION * separation - REDUNDANCY * (sum(alike) / len(alike) if alike else 0.0)


def _absolute_correlation(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Absolute correlation of Pearson; of a constant with its like 1, with anything else 0."""
    if min(first.std(), second.std()) <= ALIKE:
        return float(np.allclose(first, second))
    return abs(float(np.corrcoef(first, second)[0, 1]))


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
