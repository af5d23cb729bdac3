"""Decap placement by a genetic algorithm on ReEvo's work: CPU seconds beside ReEvo's own evaluator, and quality.

The baseline is ReEvo's solver (github.com/ai4co/reevo, 1f080bf; numpy on one core of the machine where this was
written), whole process: 3 instances, population 20, 5 generations in 10.1 s. Rewards are those on the network that
oragent computes, not on the one that DevFormer published.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np

from oragent.domains import pdn
from oragent.solvers.elimination import with_shunts
from oragent.solvers.genetic import evolve

BASELINE_SECONDS, REPEATS, SEEDS = 10.1, 5, 10


def halves(parents: np.ndarray, count: int) -> np.ndarray:
    """ReEvo's seed: the left half of one random parent, the right half of another."""
    rng = np.random.default_rng(parents.ravel())
    pairs = np.stack([rng.choice(len(parents), 2, replace=False) for _ in range(count)])
    middle = parents.shape[1] // 2
    return np.concatenate([parents[pairs[:, 0], :middle], parents[pairs[:, 1], middle:]], axis=1)


def one_point(parents: np.ndarray, count: int) -> np.ndarray:
    """The best that ReEvo ships: two random parents and a random point."""
    rng = np.random.default_rng(parents.ravel())
    first, second = parents[rng.choice(len(parents), (2, count))]
    points = rng.integers(1, parents.shape[1], count)
    return np.where(np.arange(parents.shape[1]) < points[:, None], first, second)


def anything(parents: np.ndarray, count: int) -> np.ndarray:
    """Random placements: no crossover at all."""
    return np.random.default_rng(parents.ravel()).integers(0, pdn.PORTS, (count, parents.shape[1]))


def rewards(instance: pdn.Instance) -> Callable[[np.ndarray], np.ndarray]:
    """Rewards of many placements."""
    network = instance.network
    decaps = pdn.decap_magnitude(network.frequencies)
    return lambda rows: pdn.reward(instance, with_shunts(network.impedance, instance.probe, decaps, rows))


def score(crossover, instances: list[pdn.Instance], generations: int, seed: int = 0) -> float:
    """Mean reward of the best placements."""
    return statistics.fmean(
        evolve(
            rewards(one), crossover, one.free, one.decaps, np.random.default_rng([seed, k]), generations=generations
        ).fitness
        for k, one in enumerate(instances)
    )


def local_optimum(instance: pdn.Instance) -> float:
    """One capacitor after the other where it helps most, then moves of one until none helps."""
    value, placed = rewards(instance), []
    for _ in range(instance.decaps):
        grown = [[*placed, port] for port in instance.free if port not in placed]
        placed = grown[int(value(np.array(grown)).argmax())]
    best = -np.inf
    while (found := value(np.array([placed]))[0]) > best:
        best = found
        left = np.setdiff1d(instance.free, placed)
        moved = [[*placed[:k], port, *placed[k + 1 :]] for k in range(len(placed)) for port in left]
        placed = moved[int(value(np.array(moved)).argmax())]
    return float(best)


def cpu_seconds(work: Callable[[], object]) -> float:
    """Median over several runs."""
    seconds = []
    for _ in range(REPEATS):
        begun = time.process_time()
        work()
        seconds.append(time.process_time() - begun)
    return statistics.median(seconds)


def main() -> None:
    """Print the table."""
    network = pdn.generate()
    sites = pdn.draw_sites(np.random.default_rng(20))
    train, val = (pdn.part(mode, sites, network) for mode in ("train", "val"))
    spent, made = cpu_seconds(lambda: score(halves, train, 5)), cpu_seconds(pdn.generate)
    print("Genetic algorithm, population 20, 20 decaps on a 10 x 10 grid, 201 frequencies, one core")
    print(f"  ReEvo's train work (3 instances, 5 generations): {spent:.4f} CPU s", end="; ")
    print(f"ReEvo {BASELINE_SECONDS} CPU s, {BASELINE_SECONDS / spent:.0f} times as many", end="; ")
    print(f"with the network computed anew {spent + made:.3f} CPU s, {BASELINE_SECONDS / (spent + made):.0f} times")
    print(f"  val work (5 instances, 10 generations): {cpu_seconds(lambda: score(halves, val, 10)):.4f} CPU s")
    for crossover in (halves, one_point, anything):
        found = [score(crossover, val, 10, seed) for seed in range(SEEDS)]
        print(f"  {crossover.__name__:10s} val: mean of {SEEDS} seeds {statistics.fmean(found):.3f}", end=" ")
        print(f"({min(found):.3f} to {max(found):.3f})")
    print(
        f"  val, a local optimum of single moves, by thousands of rewards an instance: {statistics.fmean(map(local_optimum, val)):.3f}"
    )


if __name__ == "__main__":
    main()
