"""PyVRP's search with neighbour lists and removals that a candidate steers, and a limit on work instead of time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyvrp
from instances import Instance
from numpy.typing import NDArray
from pyvrp.search import OPERATORS, LocalSearch, PerturbationManager, PerturbationParams

STAGES = 20  # times that the candidate is asked in a run
ITERATION_UNITS = 2300  # an iteration without any move takes as long as that many moves
MAX_NEIGHBOURS, MIN_NEIGHBOURS = 50, 5


@dataclass(frozen=True)
class Progress:
    """What the candidate may know."""

    # Routes of the best solution, each a list of customers from 1.
    routes: list[list[int]]
    # Parts of the work: done, and done since the last better solution.
    done: float
    stalled: float


@dataclass(frozen=True)
class Guidance:
    """What the candidate answered."""

    # Neighbours of each customer, nearest first, customers from 1.
    neighbours: list[list[int]]
    low: int
    high: int


class GuidedSearch:
    """PyVRP's local search, which counts its work and asks for new guidance after each twentieth of it."""

    def __init__(self, instance: Instance, seed: int, limit: float, ask: Callable[[Progress], Guidance]) -> None:
        """Prepare a search.

        Args:
            instance: Instance to solve.
            seed: Seed of PyVRP.
            limit: Limit on work, in moves.
            ask: Returns the guidance of the next stage.
        """
        self.data = _as_pyvrp(instance)
        self.units = 0
        self._limit, self._ask = limit, ask
        self._random = pyvrp.RandomNumberGenerator(seed=seed)
        self._activities = [pyvrp.Activity(pyvrp.ActivityType.CLIENT, index) for index in range(instance.size)]
        self._stage, self._improved_at = 0, 0
        self._best: pyvrp.Solution | None = None
        self._guidance: Guidance | None = None

    def run(self) -> list[list[int]]:
        """Search until the work is done, and return the best routes: lists of customers from 1."""
        start = pyvrp.Solution.make_random(self.data, self._random)
        self._follow(start)
        penalties = pyvrp.PenaltyManager(pyvrp.PenaltyParams().midpoint_penalties(self.data))
        first = self(start, penalties.max_cost_evaluator(), exhaustive=True)
        self._best = first
        parameters = pyvrp.IteratedLocalSearchParams(callbacks=_Watcher(self))
        algorithm = pyvrp.IteratedLocalSearch(self.data, penalties, self, first, parameters)
        best = algorithm.run(lambda cost: self.units >= self._limit, collect_stats=False).best
        return _list_routes(best)

    def __call__(self, solution: Any, evaluator: Any, exhaustive: bool = False) -> Any:
        """Improve a solution, as PyVRP's own search does."""
        if self._best is not None and self.units >= self._limit * (self._stage + 1) / STAGES:
            self._stage = int(self.units * STAGES / self._limit)
            self._follow(self._best)
        better = self._search(solution, evaluator, exhaustive)
        self.units += self._search.statistics.num_moves + ITERATION_UNITS
        return better

    def note_best(self, best: Any) -> None:
        """Remember the best solution, from which routes are told."""
        self._best, self._improved_at = best, self.units

    def _follow(self, best: Any) -> None:
        """Ask for guidance, and search by it. The same guidance again changes nothing."""
        stalled = (self.units - self._improved_at) / self._limit
        progress = Progress(_list_routes(best), min(self._stage / STAGES, 1 - 1 / STAGES), min(stalled, 1.0))
        guidance = self._ask(progress)
        if guidance == self._guidance:
            return
        self._guidance = guidance
        neighbours = {
            self._activities[customer]: [self._activities[other - 1] for other in row]
            for customer, row in enumerate(guidance.neighbours)
        }
        removals = PerturbationManager(PerturbationParams(guidance.low, guidance.high))
        self._search = LocalSearch(self.data, self._random, neighbours, removals)
        for operator in OPERATORS:
            if operator.supports(self.data):
                self._search.add_operator(operator(self.data))


class _Watcher(pyvrp.IteratedLocalSearchCallbacks):  # type: ignore[misc]  # PyVRP has no types of its classes
    def __init__(self, search: GuidedSearch) -> None:
        self._search = search

    def on_best(self, best: Any) -> None:
        self._search.note_best(best)


def nearest(remoteness: NDArray[np.float64], distances: NDArray[np.int64]) -> list[list[int]]:
    """List each customer's neighbours: the 50 smallest finite entries of its row, filled up to 5 by distance.

    Args:
        remoteness: Answer of a candidate, ``(n + 1, n + 1)``.
        distances: Distances, ``(n + 1, n + 1)``.

    Returns:
        Lists of customers from 1, for customers 1 to n.
    """
    offered = np.isfinite(remoteness)
    others = distances + 0.0
    others[:, 0] = np.inf
    np.fill_diagonal(others, np.inf)
    offered &= np.isfinite(others)
    order = np.lexsort((others, np.where(offered, remoteness, 0), ~offered))
    lengths = np.clip(offered.sum(axis=1), min(MIN_NEIGHBOURS, len(distances) - 2), MAX_NEIGHBOURS)
    return [row[:length].tolist() for row, length in zip(order[1:], lengths[1:], strict=True)]


def _as_pyvrp(instance: Instance) -> Any:
    distances = instance.distances
    return pyvrp.ProblemData(
        locations=[pyvrp.Location(x, y) for x, y in instance.coordinates.tolist()],
        clients=[pyvrp.Client(node, [demand]) for node, demand in enumerate(instance.demands.tolist()) if node],
        depots=[pyvrp.Depot(0)],
        vehicle_types=[pyvrp.VehicleType(instance.size, [instance.capacity])],
        distance_matrices=[distances],
        duration_matrices=[np.zeros_like(distances)],
    )


def _list_routes(solution: Any) -> list[list[int]]:
    return [[visit.idx + 1 for visit in route if visit.is_client()] for route in solution.routes()]
