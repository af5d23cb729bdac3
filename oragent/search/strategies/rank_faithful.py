"""Which few of many tests rank programs as all of them do: a greedy choice, as LEVI (arXiv:2605.09764) has it."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

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
