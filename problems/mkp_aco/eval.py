"""Score item promises for the multidimensional knapsack: Ant System follows them, and the dearest choice counts."""

from oragent.harness import Arguments, Guest, Result, averages, each, figures, gaps, matrix, run, seconds, watching

# isort: split
# The harness pins numerical libraries to one thread, so it comes before them.

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from oragent.domains import mkp
from oragent.domains.streams import cell
from oragent.harness.drawing import draw_packing
from oragent.solvers.aco import effective_choices, usable_promise
from oragent.solvers.aco_mkp import solve_mkp

PROBLEM = "mkp_aco"
SIZES = {
    "train": (100,),
    "val": (100, 300),
    "test": (100, 200, 300, 500),
    "fresh": (100, 200, 300, 500),
    # Sets of other sizes and distributions.
    "twice": (600,),
    "five_times": (1500,),
    "tight": (300,),
    "loose": (300,),
    "correlated": (300,),
}
ANTS, ITERATIONS = 30, 50
# Effective share of the items.
GREED_EDGES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8)
# Rank correlation with the prize.
PRIZE_EDGES = (0.4, 0.72, 0.78, 0.83, 0.9)
# How much more it turns on the scarcest dimension than on the others.
SCARCITY_EDGES = (0.15, 0.3, 0.42, 0.5, 0.57)


def evaluate(arguments: Arguments, heuristics: Guest) -> Result:
    """Run the ants on every instance of the sizes that were asked for."""
    begun = perf_counter()
    prizes: dict[int, list[float]] = {size: [] for size in arguments.sizes}
    traits: dict[int, list[tuple[float, float, float]]] = {size: [] for size in arguments.sizes}
    instances = {size: mkp.stream(arguments.mode, size, arguments.fresh_seed) for size in arguments.sizes}
    for size, index, instance in each(heuristics, instances, prizes):
        promise = matrix(heuristics(instance.prizes, instance.weights), (size,))
        rng = np.random.default_rng([*f"{PROBLEM} {arguments.mode}".encode(), size, index])
        watch = watching("iteration", size=size, instance=index)
        solution = solve_mkp(
            instance.prizes, instance.weights, promise, rng, ants=ANTS, iterations=ITERATIONS, watch=watch
        )
        choice = mkp.check(instance, solution.path)
        prizes[size].append(mkp.objective(instance, choice))
        heuristics.show(instance, choice, prizes[size][-1])
        traits[size].append(behaviour(instance, usable_promise(promise)))
    metrics, score = figures("prize", prizes)
    shares = {size: [share for share, _, _ in of_size] for size, of_size in traits.items()}
    metrics |= gaps(arguments, PROBLEM, prizes) | averages("effective_share", shares)
    metrics |= seconds(begun, heuristics.seconds)
    greed, pull, scarcity = np.mean([np.mean(of_size, axis=0) for of_size in traits.values()], axis=0).tolist()
    return Result(metrics, cell((greed, GREED_EDGES), (pull, PRIZE_EDGES), (scarcity, SCARCITY_EDGES)), score)


def behaviour(instance: mkp.MkpInstance, promise: np.ndarray) -> tuple[float, float, float]:
    """Share of the items that an ant really chooses among; how the promise follows prizes and the scarcest capacity."""
    size = len(instance)
    share = effective_choices(np.broadcast_to(promise, (size, size))) / (size - 1)
    lightness = np.array([rank_correlation(promise, -column) for column in instance.weights.T])
    scarcest = int(instance.weights.sum(axis=0).argmax())
    scarcity = lightness[scarcest] - np.delete(lightness, scarcest).mean()
    return share, rank_correlation(promise, instance.prizes), float(scarcity)


def rank_correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Spearman's coefficient, in [-1, 1]; 0 where all entries are equal."""
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return 0.0
    first, second = (np.argsort(np.argsort(values, kind="stable")) for values in (one, other))
    return float(np.corrcoef(first, second)[0, 1])


def draw(instance: mkp.MkpInstance, choice: NDArray[np.int64]) -> str:
    """Draw the capacity that a choice uses as SVG: a column for each dimension."""
    weights = instance.weights[choice]
    return draw_packing(weights.ravel(), np.indices(weights.shape)[1].ravel(), 1.0)


if __name__ == "__main__":
    run(evaluate, function="heuristics", sizes=SIZES, race=True, hooks=("iteration",), draw=draw)
