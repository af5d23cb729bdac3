"""Score the neighbour lists and removals that steer PyVRP: it searches with a limit on work, and the routes count."""

from oragent.harness import (
    Arguments,
    CandidateError,
    Guest,
    Result,
    each,
    figures,
    fresh,
    matrix,
    number,
    run,
    seconds,
    work,
)

# isort: split
# The harness pins numerical libraries to one thread, so it comes before them.

from collections.abc import Mapping, Sequence
from time import perf_counter

import numpy as np
from guided_search import Guidance, GuidedSearch, Progress, nearest
from instances import CLUSTERED, LONG_ROUTES, Instance, read_folder
from instances import draw as draw_instance
from numpy.typing import NDArray

from oragent.domains.streams import cell
from oragent.harness.drawing import draw_routes

SIZES = {
    "train": (100,),
    **dict.fromkeys(("val", "test", "fresh"), (100, 150, 200)),
    # Sets of other sizes and distributions.
    "twice": (400,),
    CLUSTERED: (200,),
    LONG_ROUTES: (200,),
}
COUNTS = {"train": 6, "val": 6, "test": 10, "fresh": 10, "twice": 8, CLUSTERED: 8, LONG_ROUTES: 8}
UNITS = 2e7  # moves, about 0.7 CPU seconds
MAX_REMOVALS = 100
# Mean length of the neighbour lists; share of them that are the nearest customers; mean number of removals.
WIDTH_EDGES = (8, 12, 16, 22, 30, 40)
NEAREST_EDGES = (0.6, 0.75, 0.85, 0.93, 0.98)
REMOVALS_EDGES = (4, 7, 10, 16)


def evaluate(arguments: Arguments, remoteness: Guest) -> Result:
    """Run PyVRP on every instance of the sizes that were asked for."""
    begun = perf_counter()
    instances = _list_instances(arguments)
    ratios: dict[int, list[float]] = {size: [] for size in instances}
    traits: list[tuple[float, float, float]] = []
    for size, index, instance in each(remoteness, instances, ratios):
        seed = np.random.SeedSequence([*_key(arguments, size), index]).generate_state(1)
        search = GuidedSearch(instance, int(seed[0]), UNITS * arguments.work, Adviser(instance, remoteness, traits).ask)
        routes = search.run()
        work(search.units)
        length = measure(instance, routes)
        ratios[size].append(length / instance.estimate_length())
        remoteness.show(instance, routes, ratios[size][-1])
    metrics, score = figures("ratio", ratios)
    metrics |= fresh(arguments)
    width, share, removals = np.mean(traits, axis=0).tolist()
    metrics |= {"list_length": round(width, 2), "nearest_share": round(share, 3), "removals": round(removals, 2)}
    metrics |= seconds(begun, remoteness.seconds)
    return Result(metrics, cell((width, WIDTH_EDGES), (share, NEAREST_EDGES), (removals, REMOVALS_EDGES)), score)


def _key(arguments: Arguments, size: int) -> list[int]:
    return [*f"cvrp_solver {arguments.mode}".encode(), size, arguments.fresh_seed or 0]


def _list_instances(arguments: Arguments) -> Mapping[int, Sequence[Instance]]:
    if arguments.data is not None:
        return read_folder(arguments.data)
    drawn = {}
    for size in arguments.sizes:
        rngs = np.random.default_rng(_key(arguments, size)).spawn(COUNTS[arguments.mode])
        drawn[size] = [draw_instance(rng, size, arguments.mode) for rng in rngs]
    return drawn


class Adviser:
    """Asks the candidate and checks its answers."""

    def __init__(self, instance: Instance, remoteness: Guest, traits: list[tuple[float, float, float]]) -> None:
        """Take the instance, the candidate, and a list to which the traits of each answer are appended."""
        self._instance, self._distances = instance, instance.distances
        self._remoteness, self._strength = remoteness, remoteness.of("strength")
        self._traits = traits

    def ask(self, progress: Progress) -> Guidance:
        """Ask for neighbours and removals; raises `CandidateError` if an answer is invalid."""
        size = self._instance.size
        route, position = np.full(size + 1, -1), np.full(size + 1, -1)
        for number_of_route, customers in enumerate(progress.routes):
            route[customers], position[customers] = number_of_route, np.arange(len(customers))
        demands, capacity = self._instance.demands, self._instance.capacity
        told = self._remoteness(self._distances + 0.0, demands, capacity, route, position, progress.done)
        answer = matrix(told, (size + 1, size + 1), allow_inf=True)
        neighbours = self._remoteness.used(nearest(answer, self._distances))
        pair = self._strength(progress.done, progress.stalled, size / max(len(progress.routes), 1))
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise CandidateError(f"strength returned {pair!r:.80}; expected two numbers, low and high")
        high = number(pair[1], 1, MAX_REMOVALS)
        low = number(pair[0], 1, high)
        self._traits.append((*self._describe(neighbours), (int(low) + int(high)) / 2))
        return Guidance(neighbours, int(low), int(high))

    def _describe(self, neighbours: list[list[int]]) -> tuple[float, float]:
        """Compute the mean length of the lists, and the share of them that are the nearest customers."""
        plain = nearest(self._distances + 0.0, self._distances)
        shares = [len({*row} & {*near[: len(row)]}) / len(row) for row, near in zip(neighbours, plain, strict=True)]
        return float(np.mean([len(row) for row in neighbours])), float(np.mean(shares))


def measure(instance: Instance, routes: list[list[int]]) -> float:
    """Compute the length of routes; raises `ValueError` if they are infeasible."""
    if sorted(customer for route in routes for customer in route) != list(range(1, instance.size + 1)):
        raise ValueError("the routes do not serve every customer once")
    if any(instance.demands[route].sum() > instance.capacity for route in routes):
        raise ValueError("a route exceeds the capacity")
    distances: NDArray[np.int64] = instance.distances
    return float(sum(distances[[0, *route], [*route, 0]].sum() for route in routes))


def draw(instance: Instance, routes: list[list[int]]) -> str:
    """Draw the routes as SVG, each from the depot."""
    return draw_routes(instance.coordinates.astype(float), [[0, *route] for route in routes])


if __name__ == "__main__":
    run(
        evaluate,
        function="remoteness",
        functions=("strength",),
        sizes=SIZES,
        race=True,
        data=True,
        work=True,
        draw=draw,
    )
