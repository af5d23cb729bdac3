"""Guided local search on ReEvo's work: CPU seconds beside ReEvo's own evaluator, quality, and growth with the size.

The baseline is ReEvo's solver (github.com/ai4co/reevo, 1f080bf; numba on one core of the machine where this was written):
n=200, 10 instances, 30 moves x 1200 iterations in 19.4 s with the seed. The tours are the same city for city.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np

from oragent.domains import tsp
from oragent.solvers.gls import solve_tsp_gls

BASELINE_SECONDS, REPEATS = 19.4, 5
SCALING_SIZES, SCALING_INSTANCES, SCALING_ITERATIONS = (50, 100, 200, 500, 1000), 4, 200
Heuristic = Callable[[np.ndarray], np.ndarray]


def distance(distances: np.ndarray) -> np.ndarray:
    """ReEvo's seed."""
    return distances


def relative(distances: np.ndarray) -> np.ndarray:
    """The best heuristic that ReEvo ships: distance over the row's mean, and a little for cities far from all."""
    nearest = np.sort(distances, axis=1)[:, 1:5].mean(axis=1, keepdims=True)
    return distances / distances.mean(axis=1, keepdims=True) + nearest / distances.sum(axis=1, keepdims=True)


def score(heuristic: Heuristic, instances: list[tsp.Instance], iterations: int = 1200) -> float:
    """Mean length of the best tours."""
    return statistics.fmean(
        tsp.objective(
            one,
            solve_tsp_gls(one.distances, heuristic(one.distances + 1e-5 * np.eye(len(one))), iterations=iterations)[0],
        )
        for one in instances
    )


def cpu_seconds(heuristic: Heuristic, instances: list[tsp.Instance], iterations: int = 1200) -> tuple[float, float]:
    """Median over several runs, and the least."""
    seconds = []
    for _ in range(REPEATS):
        begun = time.process_time()
        score(heuristic, instances, iterations)
        seconds.append(time.process_time() - begun)
    return statistics.median(seconds), min(seconds)


def main() -> None:
    """Print the table."""
    train = tsp.stream(tsp.GLS_STREAM, "train", 200)
    print("Guided local search, 30 moves x 1200, one core")
    print(f"  ReEvo's train work (n=200, 10 instances); ReEvo {BASELINE_SECONDS} s with its seed")
    for heuristic in (distance, relative):
        spent, least = cpu_seconds(heuristic, train)
        print(
            f"    {heuristic.__name__:8s} {score(heuristic, train):.6f} in {spent:.3f} CPU s (least {least:.3f})",
            end="",
        )
        print(f", {BASELINE_SECONDS / spent:.0f} times fewer")
    print("  val work (64 instances a size):")
    total = 0.0
    for size in (50, 100, 200):
        instances = tsp.stream(tsp.GLS_STREAM, "val", size)
        begun = time.process_time()
        quality = score(distance, instances)
        spent = time.process_time() - begun
        total += spent
        print(f"    n={size:3d} {spent:.3f} CPU s, distance {quality:.6f}, relative {score(relative, instances):.6f}")
    print(f"    all   {total:.3f} CPU s")
    print(f"  growth with n ({SCALING_INSTANCES} instances, {SCALING_ITERATIONS} iterations, distance):")
    rng, seconds = np.random.default_rng(0), []
    for size in SCALING_SIZES:
        seconds.append(
            cpu_seconds(distance, [tsp.generate(rng, size) for _ in range(SCALING_INSTANCES)], SCALING_ITERATIONS)[1]
        )
        print(f"    n={size:4d} {1e6 * seconds[-1] / SCALING_INSTANCES / SCALING_ITERATIONS:.1f} us an iteration")
    print(f"    exponent {np.polyfit(np.log(SCALING_SIZES), np.log(seconds), 1)[0]:.2f}")


if __name__ == "__main__":
    main()
