"""Score a rule that says where to go next: it builds a tour from city 0, city by city, and the tour's length counts."""

from oragent.harness import Arguments, Guest, Result, blocks, figures, gaps, run, seconds

# isort: split
# The harness pins numerical libraries to one thread, so it comes before them.

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from oragent.domains import tsp
from oragent.domains.instance_files import read_tours
from oragent.domains.streams import cell
from oragent.harness.drawing import draw_routes
from oragent.solvers.constructive import TourConstruction

PROBLEM = "tsp_constructive"
SIZES = {
    "train": (50,),
    "val": (20, 50, 100),
    "test": (20, 50, 100, 200),
    "fresh": (20, 50, 100, 200),
    # Sets of other sizes and distributions.
    "twice": (200,),
    "five_times": (500,),
    "clustered": (100,),
    "exploded": (100,),
    "grid": (100,),
    "adversarial": (100,),
}
# Share of steps to the nearest unvisited city.
NEAR_EDGES = (0.5, 0.7, 0.78, 0.84, 0.9, 0.95, 0.99)
# Share of the length in the last quarter of the steps.
LATE_EDGES = (0.26, 0.29, 0.32, 0.35, 0.38, 0.42)
# Mean change of heading, radians.
TURN_EDGES = (1.1, 1.14, 1.17, 1.2, 1.25, 1.5)


def evaluate(arguments: Arguments, select_next_node: Guest) -> Result:
    """Build, check and measure a tour for every instance of the requested sizes."""
    begun = perf_counter()
    instances = list_instances(arguments)
    lengths: dict[int, list[float]] = {size: [] for size in instances}
    traits: list[tuple[float, float, float]] = []
    for size, indices, block in blocks(select_next_node, instances, lengths):
        starts = [(instance.distances,) for instance in block]
        tours = select_next_node.reveal(starts, [[None] * (size - 1)] * len(block))
        for index, instance, decisions in zip(indices, block, tours, strict=True):
            select_next_node.where = f"size {size}, instance {index}"
            tour = tsp.check(instance, [0, *decisions])
            lengths[size].append(tsp.objective(instance, tour))
            select_next_node.show(instance, tour, lengths[size][-1])
            traits.append(
                (tsp.nearest_share(instance, tour), tsp.late_share(instance, tour), tsp.mean_turn(instance, tour))
            )
    metrics, score = figures("length", lengths)
    metrics |= gaps(arguments, PROBLEM, lengths)
    near, late, turn = np.mean(traits, axis=0).tolist()
    metrics |= {"nearest_share": round(near, 3), "late_share": round(late, 3), "mean_turn": round(turn, 3)}
    metrics |= seconds(begun, select_next_node.seconds)
    return Result(metrics, cell((near, NEAR_EDGES), (late, LATE_EDGES), (turn, TURN_EDGES)), score)


def list_instances(arguments: Arguments) -> dict[int, list[tsp.TspInstance]]:
    """Read the files of a named set, or draw the instances of the mode."""
    if arguments.data is not None:
        return read_tours(arguments.data)
    return {
        size: tsp.stream(tsp.CONSTRUCTIVE_STREAM, arguments.mode, size, arguments.fresh_seed)
        for size in arguments.sizes
    }


def draw(instance: tsp.TspInstance, tour: NDArray[np.int64]) -> str:
    """Draw a tour as SVG."""
    return draw_routes(instance.coordinates, [tour])


if __name__ == "__main__":
    run(evaluate, function="select_next_node", sizes=SIZES, state=TourConstruction, race=True, data=True, draw=draw)
