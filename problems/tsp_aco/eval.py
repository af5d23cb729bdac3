"""Score edge promises for the TSP: Ant System follows them, and the shortest tour found counts."""

from oragent.harness import Arguments, Guest, Result, averages, each, figures, gaps, matrix, run, seconds, watching
from oragent.harness.arguments import PROTOCOL

# isort: split
# The harness pins numerical libraries to one thread, so it comes before them.

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from oragent.domains import tsp
from oragent.domains.instance_files import read_tours
from oragent.domains.streams import cell
from oragent.harness.drawing import draw_routes
from oragent.solvers.aco import effective_choices, usable_promise
from oragent.solvers.aco_tsp import solve_tsp

PROBLEM = "tsp_aco"
SIZES = {
    "train": (50,),
    "val": (20, 50, 100),
    "test": (20, 50, 100),
    "fresh": (20, 50, 100),
    # Sets of other sizes and distributions.
    "twice": (200,),
    "five_times": (500,),
    "clustered": (100,),
    "exploded": (100,),
    "grid": (100,),
}
# The study of OR-Agent drew 64 training instances, as the constructive stream does, and so all that follow are others.
STREAMS = {"reevo": tsp.ACO_STREAM, "oragent": tsp.CONSTRUCTIVE_STREAM}
ANTS, ITERATIONS = 30, 80
# Effective number of neighbours.
GREED_EDGES = (1.5, 2.0, 3.0, 4.5, 7.0, 11.0, 20.0)
# Its exponent in the number of cities.
GROWTH_EDGES = (0.1, 0.3, 0.5, 0.75)
# Share of the promise that differs between the directions of an edge.
ONE_WAY_EDGES = (0.01, 0.1, 0.25, 0.4)


def evaluate(arguments: Arguments, heuristics: Guest) -> Result:
    """Run the ants on every instance of the sizes that were asked for."""
    begun = perf_counter()
    instances = list_instances(arguments)
    lengths: dict[int, list[float]] = {size: [] for size in instances}
    choices: dict[int, list[float]] = {size: [] for size in instances}
    one_way: list[float] = []
    for size, index, instance in each(heuristics, instances, lengths):
        # 1/d is finite on the diagonal.
        distances = instance.distances + np.eye(size)
        promise = matrix(heuristics(distances), (size, size))
        rng = np.random.default_rng([*f"{PROBLEM} {arguments.mode}".encode(), size, index])
        watch = watching("iteration", size=size, instance=index)
        solution = solve_tsp(instance.distances, promise, rng, ants=ANTS, iterations=ITERATIONS, watch=watch)
        tour = tsp.check(instance, solution.path)
        lengths[size].append(tsp.objective(instance, tour))
        heuristics.show(instance, tour, lengths[size][-1])
        usable = usable_promise(promise)
        choices[size].append(effective_choices(usable))
        one_way.append(float(np.abs(usable - usable.T).sum() / (usable + usable.T).sum()))
    metrics, score = figures("length", lengths)
    metrics |= gaps(arguments, PROBLEM, lengths) | averages("effective_neighbours", choices)
    metrics |= seconds(begun, heuristics.seconds)
    return Result(metrics, behaviour(choices, one_way), score)


def list_instances(arguments: Arguments) -> dict[int, list[tsp.TspInstance]]:
    """Read the files of a named set, or draw the instances of the mode."""
    if arguments.data is not None:
        return read_tours(arguments.data)
    return {
        size: tsp.stream(STREAMS[arguments.protocol], arguments.mode, size, arguments.fresh_seed)
        for size in arguments.sizes
    }


def behaviour(choices: dict[int, list[float]], one_way: list[float]) -> tuple[int, ...]:
    """How greedy the promise is, how that changes with the size (bin 0 where just one runs), how one-way it is."""
    sizes, means = list(choices), [np.mean(np.log(values)) for values in choices.values()]
    growth = (means[-1] - means[0]) / np.log(sizes[-1] / sizes[0]) if len(sizes) > 1 else 0.0
    return cell(
        (float(np.exp(np.mean(means))), GREED_EDGES), (growth, GROWTH_EDGES), (float(np.mean(one_way)), ONE_WAY_EDGES)
    )


def draw(instance: tsp.TspInstance, tour: NDArray[np.int64]) -> str:
    """Draw a tour as SVG."""
    return draw_routes(instance.coordinates, [tour])


if __name__ == "__main__":
    run(
        evaluate,
        function="heuristics",
        sizes=SIZES,
        race=True,
        data=True,
        choices=PROTOCOL,
        hooks=("iteration",),
        draw=draw,
    )
