"""Score edge promises for capacitated routing: Ant System follows them, and the shortest routes found count."""

from oragent.harness import Arguments, Guest, Result, averages, each, figures, gaps, matrix, run, seconds, watching

# isort: split
# The harness pins numerical libraries to one thread, so it comes before them.

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from oragent.domains import cvrp
from oragent.domains.instance_files import read_routes
from oragent.domains.streams import cell, geometric_mean
from oragent.harness.drawing import draw_routes
from oragent.solvers.aco import effective_choices, usable_promise
from oragent.solvers.aco_cvrp import solve_cvrp

PROBLEM = "cvrp_aco"
SIZES = {
    "train": (50,),
    "val": (20, 50),
    "test": (20, 50, 100),
    "fresh": (20, 50, 100),
    # Sets of other sizes and distributions.
    "twice": (100,),
    "five_times": (250,),
    "clustered": (50,),
    "exploded": (50,),
    "grid": (50,),
    "small_vehicles": (50,),
    "large_vehicles": (50,),
}
ANTS, ITERATIONS = 30, 50
# Effective number of next nodes.
GREED_EDGES = (1.5, 2.0, 3.0, 4.5, 7.0, 11.0, 20.0)
# Number of routes over the least that the demands need.
ROUTES_EDGES = (1.02, 1.1, 1.25, 1.45, 1.7, 2.2)
# Angle between neighbours of a route, seen from the depot, radians.
SPREAD_EDGES = (0.2, 0.25, 0.3, 0.36, 0.5, 0.8)


def evaluate(arguments: Arguments, heuristics: Guest) -> Result:
    """Run the ants on every instance of the sizes that were asked for."""
    begun = perf_counter()
    instances = list_instances(arguments)
    lengths: dict[int, list[float]] = {size: [] for size in instances}
    choices: dict[int, list[float]] = {size: [] for size in instances}
    traits: list[tuple[float, float]] = []
    for size, index, instance in each(heuristics, instances, lengths):
        # 1/d is finite on the diagonal.
        distances = instance.distances + np.eye(size + 1)
        demands = instance.demands.astype(float)
        told = heuristics(distances, instance.coordinates, demands, instance.capacity)
        promise = matrix(told, distances.shape)
        rng = np.random.default_rng([*f"{PROBLEM} {arguments.mode}".encode(), size, index])
        watch = watching("iteration", size=size, instance=index)
        solution = solve_cvrp(
            instance.distances,
            instance.demands,
            instance.capacity,
            promise,
            rng,
            ants=ANTS,
            iterations=ITERATIONS,
            watch=watch,
        )
        path = cvrp.check(instance, solution.path)
        lengths[size].append(cvrp.objective(instance, path))
        heuristics.show(instance, path, lengths[size][-1])
        choices[size].append(effective_choices(usable_promise(promise)))
        traits.append((len(cvrp.split(path)) / cvrp.least_routes(instance), cvrp.spread(instance, path)))
    metrics, score = figures("length", lengths)
    metrics |= gaps(arguments, PROBLEM, lengths) | averages("effective_choices", choices)
    routes, spread = np.mean(traits, axis=0).tolist()
    metrics |= {"routes_over_least": round(routes, 3), "mean_spread": round(spread, 3)}
    metrics |= seconds(begun, heuristics.seconds)
    greed = geometric_mean(choices)
    return Result(metrics, cell((greed, GREED_EDGES), (routes, ROUTES_EDGES), (spread, SPREAD_EDGES)), score)


def list_instances(arguments: Arguments) -> dict[int, list[cvrp.CvrpInstance]]:
    """Read the files of a named set, or draw the instances of the mode."""
    if arguments.data is not None:
        return read_routes(arguments.data)
    return {size: cvrp.stream(arguments.mode, size, arguments.fresh_seed) for size in arguments.sizes}


def draw(instance: cvrp.CvrpInstance, path: NDArray[np.int64]) -> str:
    """Draw the routes of a path as SVG, each from the depot."""
    return draw_routes(instance.coordinates, [[0, *route] for route in cvrp.split(path)])


if __name__ == "__main__":
    run(evaluate, function="heuristics", sizes=SIZES, race=True, data=True, hooks=("iteration",), draw=draw)
