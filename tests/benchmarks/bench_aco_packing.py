"""Ant colonies that pack, on ReEvo's train work: CPU seconds beside ReEvo's own evaluators, quality over solver seeds.

The baselines are ReEvo's evaluators (github.com/ai4co/reevo, 1f080bf; one core of the machine where this was written).
"""

import statistics
import time
from collections.abc import Callable

import numpy as np

from oragent.domains import bpp, mkp
from oragent.solvers.aco_bpp import solve_bpp
from oragent.solvers.aco_mkp import solve_mkp

REPEATS, SEEDS = 5, 10
MKP_BASELINE_SECONDS, BPP_BASELINE_SECONDS = 9.1, 13.1


def density(prize: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """ReEvo's seed for the knapsack."""
    return prize / weight.sum(axis=1)


def cubic(prize: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The best that ReEvo ships for the knapsack: cubed prize over weights of every kind, scaled to [0, 1]."""
    raw = prize**3 / (weight.max(axis=1) * prize.mean() * weight.sum(axis=1) * weight.std(axis=1))
    return (raw - raw.min()) / (raw.max() - raw.min())


def knapsack(heuristic: Callable, size: int, mode: str, ants: int) -> Callable[[int], float]:
    """Mean best prize of one part of the stream, as a function of the solver's seed."""
    instances = mkp.stream(mode, size)

    def score(seed: int) -> float:
        return -statistics.fmean(
            solve_mkp(
                one.prizes, one.weights, heuristic(one.prizes, one.weights), np.random.default_rng([seed, k]), ants=ants
            ).cost
            for k, one in enumerate(instances)
        )

    return score


def large_first(demand: np.ndarray, capacity: int) -> np.ndarray:
    """ReEvo's seed for bin packing."""
    return np.tile(demand / demand.max(), (len(demand), 1))


def complement(demand: np.ndarray, capacity: int) -> np.ndarray:
    """The best that ReEvo ships for bin packing: large items, best not in one bin; only the top tenth of all pairs."""
    normal = demand / demand.max()
    pair = (demand[:, None] + demand) / capacity
    promise = normal[:, None] + normal - np.abs(1 - pair) - pair
    return np.where(promise < np.percentile(promise, 90), 0.0, promise)


def packing(heuristic: Callable, size: int, mode: str) -> Callable[[int], float]:
    """Mean number of bins of one part of the stream, as a function of the solver's seed."""
    instances = bpp.uniform_stream(mode, size)

    def score(seed: int) -> float:
        return statistics.fmean(
            solve_bpp(
                one.items, one.capacity, heuristic(one.items, one.capacity), np.random.default_rng([seed, k])
            ).cost
            for k, one in enumerate(instances)
        )

    return score


def cpu_seconds(score: Callable[[int], float]) -> float:
    """Median over several runs."""
    seconds = []
    for _ in range(REPEATS):
        begun = time.process_time()
        score(0)
        seconds.append(time.process_time() - begun)
    return statistics.median(seconds)


def report(what: str, baseline: float, scores: dict[str, Callable[[int], float]]) -> None:
    """Print the seconds of the first heuristic beside the baseline, and the quality of all."""
    spent = cpu_seconds(next(iter(scores.values())))
    print(f"{what}: {spent:.4f} CPU s; ReEvo {baseline} CPU s, {baseline / spent:.0f} times as many")
    for name, score in scores.items():
        found = [score(seed) for seed in range(SEEDS)]
        print(
            f"    {name:10s} mean of {SEEDS} seeds {statistics.fmean(found):.3f} ({min(found):.3f} to {max(found):.3f})"
        )


def main() -> None:
    """Print the table."""
    mkp_train = {heuristic.__name__: knapsack(heuristic, 100, "train", 10) for heuristic in (density, cubic)}
    report("Knapsack, ReEvo's train work (n=100, 5 instances, 10 ants x 50)", MKP_BASELINE_SECONDS, mkp_train)
    print("  val work (5 instances a size, 30 ants x 50):")
    for size in (100, 300):
        val = {heuristic.__name__: knapsack(heuristic, size, "val", 30) for heuristic in (density, cubic)}
        print(f"    n={size} {cpu_seconds(val['density']):.3f} CPU s", end="")
        print("".join(f", {name} {score(0):.3f}" for name, score in val.items()))
    bpp_train = {heuristic.__name__: packing(heuristic, 500, "train") for heuristic in (large_first, complement)}
    report("Bin packing, ReEvo's train work (n=500, 5 instances, 20 ants x 15)", BPP_BASELINE_SECONDS, bpp_train)
    print("  val work (64 instances a size, 20 ants x 15):")
    for size in (120, 500):
        val = {heuristic.__name__: packing(heuristic, size, "val") for heuristic in (large_first, complement)}
        print(f"    n={size} {cpu_seconds(val['large_first']):.3f} CPU s", end="")
        print("".join(f", {name} {score(0):.3f}" for name, score in val.items()))


if __name__ == "__main__":
    main()
