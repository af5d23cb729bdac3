"""Score what edges are bad for a TSP tour: guided local search penalises them, and the shortest tour found counts."""

from oragent.harness import Arguments, Guest, Result, averages, each, figures, gaps, matrix, run, seconds, watching

# isort: split
# The harness pins numerical libraries to one thread, so it comes before them.

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from oragent.domains import tsp
from oragent.domains.instance_files import read_tours
from oragent.domains.streams import cell
from oragent.harness.drawing import draw_routes
from oragent.solvers.gls import Guided, solve_tsp_gls

PROBLEM = "tsp_gls"
SIZES = {
    "train": (200,),
    "val": (50, 100, 200),
    "test": (20, 50, 100, 200),
    "fresh": (20, 50, 100, 200),
    # Sets of other sizes and distributions.
    "twice": (400,),
    "five_times": (1000,),
    "clustered": (200,),
    "exploded": (200,),
    "grid": (200,),
}
MOVES, ITERATIONS = 30, 1200
# Distance of a city from itself, so that 1/d is finite.
NO_LOOP = 1e-5
# Mean length of a penalised edge, in mean edges of the tour.
REACH_EDGES = (1.6, 2.3, 2.7, 2.95, 3.1, 3.3, 3.7)
# Its value at the largest size over that at the smallest.
GROWTH_EDGES = (0.7, 0.76, 0.8, 0.86)
# Share of the penalties that differs between the directions of an edge.
ONE_WAY_EDGES = (0.08, 0.16, 0.22, 0.3, 0.45)


def evaluate(arguments: Arguments, heuristics: Guest) -> Result:
    """Search with every instance of the sizes that were asked for."""
    begun = perf_counter()
    instances = list_instances(arguments)
    lengths: dict[int, list[float]] = {size: [] for size in instances}
    reaches: dict[int, list[float]] = {size: [] for size in instances}
    one_way: list[float] = []
    for size, index, instance in each(heuristics, instances, lengths):
        badness = usable(heuristics(instance.distances + NO_LOOP * np.eye(size)), size)
        watch = watching("search", size=size, instance=index)
        solution = solve_tsp_gls(instance.distances, badness, moves=MOVES, iterations=ITERATIONS, watch=watch)
        tour = tsp.check(instance, solution.tour)
        lengths[size].append(tsp.objective(instance, tour))
        heuristics.show(instance, tour, lengths[size][-1])
        reaches[size].append(reach(instance, solution, lengths[size][-1]))
        one_way.append(float(np.abs(solution.penalties - solution.penalties.T).sum() / solution.penalties.sum() / 2))
    metrics, score = figures("length", lengths)
    metrics |= gaps(arguments, PROBLEM, lengths) | averages("penalised_length", reaches)
    metrics |= seconds(begun, heuristics.seconds)
    return Result(metrics, behaviour(reaches, one_way), score)


def list_instances(arguments: Arguments) -> dict[int, list[tsp.TspInstance]]:
    """Read the files of a named set, or draw the instances of the mode."""
    if arguments.data is not None:
        return read_tours(arguments.data)
    return {size: tsp.stream(tsp.GLS_STREAM, arguments.mode, size, arguments.fresh_seed) for size in arguments.sizes}


def usable(value: object, size: int) -> np.ndarray:
    """Check what the heuristic returned; an infinite diagonal is a usual way to rule it out, and nobody reads it."""
    badness = matrix(value, (size, size), allow_inf=True)
    np.fill_diagonal(badness, 0.0)
    return matrix(badness, (size, size))


def reach(instance: tsp.TspInstance, solution: Guided, length: float) -> float:
    """Mean length of the edges that were penalised, each as often as it was, over that of the tour's edges."""
    penalised = (solution.penalties * instance.distances).sum() / solution.penalties.sum()
    return float(penalised / (length / len(instance)))


def behaviour(reaches: dict[int, list[float]], one_way: list[float]) -> tuple[int, ...]:
    """How long the penalised edges are, how that changes with the size (1 where just one runs), how one-way it is."""
    means = [float(np.mean(values)) for values in reaches.values()]
    return cell(
        (float(np.mean(means)), REACH_EDGES),
        (means[-1] / means[0], GROWTH_EDGES),
        (float(np.mean(one_way)), ONE_WAY_EDGES),
    )


def draw(instance: tsp.TspInstance, tour: NDArray[np.int64]) -> str:
    """Draw a tour as SVG."""
    return draw_routes(instance.coordinates, [tour])


if __name__ == "__main__":
    run(evaluate, function="heuristics", sizes=SIZES, race=True, data=True, hooks=("search",), draw=draw)
