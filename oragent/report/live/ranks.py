"""Ranks of strategies over problems and seeds, with critical differences and paired tests."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from oragent._base.statistics import ALPHA, adjust_holm, best_case, sign_flip_test

Block = tuple[str, int]  # problem and seed of the search


@dataclass(frozen=True)
class RankedPair:
    """Two strategies compared on the blocks that both have.

    Attributes:
        first, second: Their names.
        gain: Mean gain of the first on the second, as a share of the seed heuristic's score.
        p: p-value of the sign-flip test, adjusted for all pairs; None for fewer than two blocks.
    """

    first: str
    second: str
    gain: float
    p: float | None


@dataclass(frozen=True)
class Ranking:
    """Mean ranks of strategies; 1 is best.

    Attributes:
        ranks: Mean rank of each strategy, best first.
        blocks: Number of blocks on which all strategies have a run.
        critical_difference: Distance of mean ranks from which two differ at 5 % (Nemenyi test, Demšar 2006,
            jmlr.org/papers/v7/demsar06a.html); None for fewer than two blocks or strategies.
        pairs: Paired tests.
        remark: Whether the number of blocks allows a test at all.
    """

    ranks: dict[str, float]
    blocks: int
    critical_difference: float | None
    pairs: list[RankedPair]
    remark: str


def rank_strategies(gains: Mapping[str, Mapping[Block, float]]) -> Ranking:
    """Rank strategies on the blocks that all of them have.

    Args:
        gains: Gain on the seed heuristic by strategy and block; above 0 is better.
    """
    common = sorted(set.intersection(*map(set, gains.values()))) if gains else []
    names = list(gains)
    ranks = _mean_ranks([[gains[name][block] for name in names] for block in common], len(names))
    order = sorted(range(len(names)), key=lambda at: ranks[at]) if common else []
    tests = [(first, second, *_compare(gains[first], gains[second])) for first, second in combinations(names, 2)]
    adjusted = adjust_holm([p for *_, p in tests])
    pairs = [RankedPair(first, second, gain, p) for (first, second, gain, _), p in zip(tests, adjusted, strict=True)]
    return Ranking(
        ranks={names[at]: ranks[at] for at in order},
        blocks=len(common),
        critical_difference=_critical_difference(len(names), len(common)),
        pairs=pairs,
        remark=best_case(len(common), "block", len(tests)) if len(names) > 1 else "",
    )


def _mean_ranks(rows: Sequence[Sequence[float]], number: int) -> list[float]:
    """Return mean ranks over rows of gains; equal gains share their ranks."""
    from scipy.stats import rankdata  # takes long to import

    return [] if not rows else [float(rank) for rank in rankdata(-np.asarray(rows), axis=1).reshape(-1, number).mean(0)]


def _critical_difference(strategies: int, blocks: int) -> float | None:
    from scipy.stats import studentized_range

    if strategies < 2 or blocks < 2:
        return None
    quantile = float(studentized_range.isf(ALPHA, strategies, np.inf)) / math.sqrt(2)
    return quantile * math.sqrt(strategies * (strategies + 1) / (6 * blocks))


def _compare(first: Mapping[Block, float], second: Mapping[Block, float]) -> tuple[float, float | None]:
    differences = [first[block] - second[block] for block in sorted(set(first) & set(second))]
    return (float(np.mean(differences)) if differences else 0.0), sign_flip_test(differences)


def read_gains(summaries: Sequence[Mapping[str, Any]]) -> dict[str, dict[Block, float]]:
    """Collect the gains of runs by strategy and model; of two runs in a block the later one counts.

    Args:
        summaries: Summaries of runs, as `snapshot.RunSummary`, the earliest first.
    """
    gains: dict[str, dict[Block, float]] = {}
    for summary in summaries:
        seed, best = summary["seed_score"], summary["best_score"]
        if seed is None or best is None:
            continue
        sign = -1 if summary["direction"] == "minimize" else 1
        name = f"{summary['strategy'] or 'auto'}{' with ' + summary['model'] if summary['model'] else ''}"
        gains.setdefault(name, {})[summary["problem"], summary["search_seed"]] = sign * (best - seed) / (abs(seed) or 1)
    return gains
