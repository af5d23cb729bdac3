"""Ant System for routing and orienteering on ReEvo's work: CPU seconds beside ReEvo's own evaluator, and quality.

The baselines are ReEvo's solvers (github.com/ai4co/reevo, 1f080bf; torch on one core of the machine where this was
written), whole process: cvrp n=50, 10 instances, 30 ants x 100 iterations in 29.2 s; op n=50, 5 instances, 20 ants x 50
iterations in 6.6 s. Lengths of routes are true ones: ReEvo's own count padding.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np

from oragent.domains import cvrp, op
from oragent.solvers.aco_cvrp import solve_cvrp
from oragent.solvers.aco_op import solve_op

REPEATS, SEEDS = 5, 10
Values = Callable[[int], list[float]]  # from a solver's seed to the value of every instance


def closer(one: cvrp.Instance) -> np.ndarray:
    """ReEvo's seed for routing."""
    return 1 / (one.distances + np.eye(len(one)))


def never_home(one: cvrp.Instance) -> np.ndarray:
    """What the best rule that ReEvo ships for routing comes to: ratios within a row alone count."""
    promise = one.distances[0] / (one.distances + np.eye(len(one))) ** 4
    promise[0] = promise[:, 0] = 0
    return promise


def density(one: op.Instance) -> np.ndarray:
    """ReEvo's seed for orienteering."""
    return one.prizes / (one.distances + 1e9 * np.eye(len(one)))


def cubed(one: op.Instance) -> np.ndarray:
    """The best rule that ReEvo ships for orienteering."""
    return np.where(one.distances <= one.maxlen, density(one) ** 3, 0.0)


def lengths(rule: Callable[[cvrp.Instance], np.ndarray], instances: list[cvrp.Instance], iterations: int) -> Values:
    """Solve routing instances with the rule's promise."""

    def values(seed: int) -> list[float]:
        return [
            solve_cvrp(
                one.distances,
                one.demands,
                one.capacity,
                rule(one),
                np.random.default_rng([seed, index]),
                iterations=iterations,
            ).cost
            for index, one in enumerate(instances)
        ]

    return values


def prizes(rule: Callable[[op.Instance], np.ndarray], instances: list[op.Instance]) -> Values:
    """Solve orienteering instances with the rule's promise."""

    def values(seed: int) -> list[float]:
        return [
            -solve_op(one.prizes, one.distances, one.maxlen, rule(one), np.random.default_rng([seed, index])).cost
            for index, one in enumerate(instances)
        ]

    return values


def cpu_seconds(values: Values) -> float:
    """Median over several runs."""
    seconds = []
    for _ in range(REPEATS):
        begun = time.process_time()
        values(0)
        seconds.append(time.process_time() - begun)
    return statistics.median(seconds)


def show_work(what: str, values: Values, baseline_seconds: float) -> None:
    """Print the time that ReEvo's train work takes."""
    spent = cpu_seconds(values)
    print(f"{what}: {spent:.4f} CPU s; ReEvo {baseline_seconds} s, {baseline_seconds / spent:.0f} times as many")


def show_quality(name: str, values: Values) -> None:
    """Print the mean over solver seeds, and how far they are apart."""
    runs = [values(seed) for seed in range(SEEDS)]
    means = [statistics.fmean(run) for run in runs]
    first = ", ".join(f"{statistics.fmean(run[k] for run in runs):.2f}" for k in range(2))
    print(
        f"  {name:10s} mean of {SEEDS} seeds {statistics.fmean(means):.3f} ({min(means):.3f} to {max(means):.3f})",
        end="",
    )
    print(f"; first two instances {first}")


def main() -> None:
    """Print the table."""
    routing, orienteering = cvrp.stream("train", 50), op.stream("train", 50)
    show_work("cvrp, n=50, 10 instances, 30 ants x 100", lengths(closer, routing, 100), 29.2)
    for route_rule in (closer, never_home):
        show_quality(route_rule.__name__, lengths(route_rule, routing, 100))
    show_work("op, n=50, 5 instances, 20 ants x 50", prizes(density, orienteering), 6.6)
    for prize_rule in (density, cubed):
        show_quality(prize_rule.__name__, prizes(prize_rule, orienteering))
    for size in (20, 50):
        print(f"cvrp val work, n={size}, 64 instances, 30 ants x 50:", end=" ")
        print(f"{cpu_seconds(lengths(closer, cvrp.stream('val', size), 50)):.3f} CPU s")
    for size in (50, 100):
        print(f"op val work, n={size}, 64 instances: {cpu_seconds(prizes(density, op.stream('val', size))):.3f} CPU s")


if __name__ == "__main__":
    main()
