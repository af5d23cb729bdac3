"""Score edge promises for orienteering: Ant System follows them, and the largest total prize found counts."""

from oragent.harness import Arguments, Guest, Result, averages, each, figures, gaps, matrix, run, seconds, watching

# isort: split
# The harness pins numerical libraries to one thread, so it comes before them.

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from oragent.domains import op
from oragent.domains.streams import cell, geometric_mean
from oragent.harness.drawing import draw_routes
from oragent.solvers.aco import effective_choices, usable_promise
from oragent.solvers.aco_op import solve_op

PROBLEM = "op_aco"
SIZES = {
    "train": (50,),
    "val": (50, 100),
    "test": (50, 100, 200),
    "fresh": (50, 100, 200),
    # Sets of other sizes and distributions.
    "twice": (200,),
    "five_times": (500,),
    "clustered": (100,),
    "exploded": (100,),
    "grid": (100,),
}
ANTS, ITERATIONS = 20, 50
# Distance of a node from itself, so that 1/d is almost 0 on the diagonal.
NO_LOOP = 1e9
# Effective number of next nodes.
GREED_EDGES = (2.0, 3.5, 6.0, 10.0, 16.0, 26.0, 45.0)
# Prize of the node that the promise names, over the mean prize.
LURE_EDGES = (0.98, 1.01, 1.05, 1.1, 1.2, 1.35)
# Distance to that node, over the mean distance.
REACH_EDGES = (0.15, 0.25, 0.35, 0.5, 0.7, 0.9)


def evaluate(arguments: Arguments, heuristics: Guest) -> Result:
    """Run the ants on every instance of the sizes that were asked for."""
    begun = perf_counter()
    prizes: dict[int, list[float]] = {size: [] for size in arguments.sizes}
    visited: dict[int, list[float]] = {size: [] for size in arguments.sizes}
    choices: dict[int, list[float]] = {size: [] for size in arguments.sizes}
    traits: list[tuple[float, float]] = []
    instances = {size: op.stream(arguments.mode, size, arguments.fresh_seed) for size in arguments.sizes}
    for size, index, instance in each(heuristics, instances, prizes):
        distances = instance.distances + NO_LOOP * np.eye(size)
        promise = matrix(heuristics(instance.prizes, distances, instance.maxlen), (size, size))
        rng = np.random.default_rng([*f"{PROBLEM} {arguments.mode}".encode(), size, index])
        watch = watching("iteration", size=size, instance=index)
        solution = solve_op(
            instance.prizes,
            instance.distances,
            instance.maxlen,
            promise,
            rng,
            ants=ANTS,
            iterations=ITERATIONS,
            watch=watch,
        )
        path = op.check(instance, solution.path)
        prizes[size].append(op.objective(instance, path))
        heuristics.show(instance, path, prizes[size][-1])
        visited[size].append(len(path) - 1)
        # No ant chooses the depot.
        usable = usable_promise(promise)[1:, 1:]
        choices[size].append(effective_choices(usable))
        traits.append(lure_and_reach(instance, usable))
    metrics, score = figures("prize", prizes)
    metrics |= gaps(arguments, PROBLEM, prizes) | averages("visited", visited) | averages("effective_choices", choices)
    lure, reach = np.mean(traits, axis=0).tolist()
    metrics |= {"lure": round(lure, 3), "reach": round(reach, 3)} | seconds(begun, heuristics.seconds)
    greed = geometric_mean(choices)
    return Result(metrics, cell((greed, GREED_EDGES), (lure, LURE_EDGES), (reach, REACH_EDGES)), score)


def lure_and_reach(instance: op.OpInstance, promise: np.ndarray) -> tuple[float, float]:
    """How rich and how far the next node is if the promise alone decides, each over what blind chance gives.

    Args:
        instance: depot, prizes and bound.
        promise: ``(n - 1, n - 1)`` positive promises of the edges between all nodes but the depot.
    """
    others = 1.0 - np.eye(len(promise))
    shares = promise / promise.max(axis=1, keepdims=True) * others
    shares /= shares.sum(axis=1, keepdims=True)
    rich, far = instance.prizes[np.newaxis, 1:], instance.distances[1:, 1:]
    blind = others / others.sum(axis=1, keepdims=True)
    return float((shares * rich).sum() / (blind * rich).sum()), float((shares * far).sum() / (blind * far).sum())


def draw(instance: op.OpInstance, path: NDArray[np.int64]) -> str:
    """Draw a path, and the nodes that it leaves out, as SVG."""
    return draw_routes(instance.coordinates, [path])


if __name__ == "__main__":
    run(evaluate, function="heuristics", sizes=SIZES, race=True, hooks=("iteration",), draw=draw)
