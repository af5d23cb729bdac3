"""Ant System on ReEvo's work: CPU seconds beside ReEvo's own evaluator, and quality over solver seeds.

The baseline is ReEvo's solver (github.com/ai4co/reevo, 1f080bf; torch on one core of the machine where this was written):
n=50, 5 instances, 30 ants x 100 iterations in 6.7 CPU seconds without imports.
"""

import statistics
import time

import numpy as np

from oragent.domains import tsp
from oragent.solvers.aco_tsp import solve_tsp

BASELINE_SECONDS, REPEATS, SEEDS = 6.7, 5, 10


def closer(distances: np.ndarray) -> np.ndarray:
    """ReEvo's seed."""
    return 1 / distances


def standardised(distances: np.ndarray) -> np.ndarray:
    """The best heuristic that ReEvo ships: column-wise standardised log distance."""
    logs = np.log1p(distances)
    return np.exp(-8 * (logs - logs.mean(axis=0)) / logs.std(axis=0))


def scores(heuristic, instances: list[tsp.Instance], iterations: int, seed: int = 0) -> float:
    """Mean length of the best tours."""
    return statistics.fmean(
        solve_tsp(
            one.distances,
            heuristic(one.distances + np.eye(len(one))),
            np.random.default_rng([seed, index]),
            iterations=iterations,
        ).cost
        for index, one in enumerate(instances)
    )


def cpu_seconds(heuristic, instances: list[tsp.Instance], iterations: int) -> float:
    """Median over several runs."""
    seconds = []
    for _ in range(REPEATS):
        begun = time.process_time()
        scores(heuristic, instances, iterations)
        seconds.append(time.process_time() - begun)
    return statistics.median(seconds)


def main() -> None:
    """Print the table."""
    train = tsp.stream(tsp.ACO_STREAM, "train", 50)
    spent = cpu_seconds(closer, train, 100)
    print("Ant System, 30 ants, one core")
    print(f"  ReEvo's train work (n=50, 5 instances, 100 iterations): {spent:.4f} CPU s", end="; ")
    print(f"ReEvo {BASELINE_SECONDS} CPU s, {BASELINE_SECONDS / spent:.0f} times as many")
    for heuristic in (closer, standardised):
        found = [scores(heuristic, train, 100, seed) for seed in range(SEEDS)]
        print(f"    {heuristic.__name__:12s} mean of {SEEDS} seeds {statistics.fmean(found):.3f}", end=" ")
        print(f"({min(found):.3f} to {max(found):.3f})")
    print("  val work (64 instances a size, 80 iterations):")
    total = 0.0
    for size in (20, 50, 100):
        instances = tsp.stream(tsp.ACO_STREAM, "val", size)
        spent = cpu_seconds(closer, instances, 80)
        total += spent
        print(f"    n={size:3d} {spent:.3f} CPU s, closer {scores(closer, instances, 80):.3f}", end=", ")
        print(f"standardised {scores(standardised, instances, 80):.3f}")
    print(f"    all   {total:.3f} CPU s")


if __name__ == "__main__":
    main()
