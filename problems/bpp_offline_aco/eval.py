"""Score same-bin promises for bin packing: Ant System follows them, and the packing with the fewest bins counts."""

from oragent.harness import Arguments, Guest, Result, averages, each, figures, gaps, matrix, run, seconds, watching

# isort: split
# The harness pins numerical libraries to one thread, so it comes before them.

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from oragent.domains import bpp
from oragent.domains.instance_files import read_packings
from oragent.domains.streams import cell
from oragent.harness.drawing import draw_packing
from oragent.solvers.aco import effective_choices
from oragent.solvers.aco_bpp import bounded_promise, solve_bpp

PROBLEM = "bpp_offline_aco"
SIZES = {
    "train": (500,),
    "val": (120, 500),
    "test": (120, 500, 1000),
    "fresh": (120, 500, 1000),
    # Sets of other sizes and distributions.
    "twice": (1000,),
    "five_times": (2500,),
    "large_bins": (500,),
    "triplets": (249,),
}
ANTS, ITERATIONS = 20, 15
# Effective share of the other items.
GREED_EDGES = (0.05, 0.1, 0.17, 0.25, 0.35, 0.5, 0.75)
# Share of a bin that two promised items fill.
FILL_EDGES = (0.7, 0.78, 0.85, 0.9, 0.94, 0.975)
# Share of the promise that differs between the directions of a pair.
ONE_WAY_EDGES = (0.01, 0.1, 0.3, 0.6)


def evaluate(arguments: Arguments, heuristics: Guest) -> Result:
    """Run the ants on every instance of the sizes that were asked for."""
    begun = perf_counter()
    instances = list_instances(arguments)
    bins: dict[int, list[float]] = {size: [] for size in instances}
    traits: dict[int, list[tuple[float, float, float]]] = {size: [] for size in instances}
    for size, index, instance in each(heuristics, instances, bins):
        promise = matrix(heuristics(instance.items, instance.capacity), (size, size))
        rng = np.random.default_rng([*f"{PROBLEM} {arguments.mode}".encode(), size, index])
        watch = watching("iteration", size=size, instance=index)
        solution = solve_bpp(
            instance.items, instance.capacity, promise, rng, ants=ANTS, iterations=ITERATIONS, watch=watch
        )
        packing = bpp.check(instance, solution.bins)
        bins[size].append(bpp.objective(instance, packing))
        heuristics.show(instance, packing, bins[size][-1])
        traits[size].append(behaviour(instance, bounded_promise(promise)))
    metrics, score = figures("bins", bins)
    shares = {size: [share for share, _, _ in of_size] for size, of_size in traits.items()}
    metrics |= gaps(arguments, PROBLEM, bins) | averages("effective_share", shares)
    metrics |= seconds(begun, heuristics.seconds)
    greed, fill, one_way = np.mean([np.mean(of_size, axis=0) for of_size in traits.values()], axis=0).tolist()
    return Result(metrics, cell((greed, GREED_EDGES), (fill, FILL_EDGES), (one_way, ONE_WAY_EDGES)), score)


def list_instances(arguments: Arguments) -> dict[int, list[bpp.BppInstance]]:
    """Read the files of a named set, or draw the instances of the mode."""
    if arguments.data is not None:
        return read_packings(arguments.data, bpp.UNIFORM_CAPACITY)
    return {size: bpp.uniform_stream(arguments.mode, size, arguments.fresh_seed) for size in arguments.sizes}


def behaviour(instance: bpp.BppInstance, promise: np.ndarray) -> tuple[float, float, float]:
    """Share of the items that an ant really chooses among, how full the promised pairs are, how one-way it is."""
    share = effective_choices(promise) / (len(instance) - 1)
    pairs = (instance.items[:, None] + instance.items) / instance.capacity
    fitting = promise * (pairs <= 1)
    fill = float((fitting * pairs).sum() / fitting.sum())
    one_way = float(np.abs(promise - promise.T).sum() / (2 * promise.sum()))
    return share, fill, one_way


def draw(instance: bpp.BppInstance, packing: NDArray[np.int64]) -> str:
    """Draw a packing as SVG."""
    return draw_packing(instance.items, packing, instance.capacity)


if __name__ == "__main__":
    run(evaluate, function="heuristics", sizes=SIZES, race=True, data=True, hooks=("iteration",), draw=draw)
