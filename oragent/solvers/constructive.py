"""Constructions of a solution one decision at a time: tours, and online packings.

Each has a class of states, which `Guest.reveal` advances in the candidate's process, and a function that runs a
complete construction in one process.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import CandidateError

Heuristic = Callable[..., Any]


class TourConstruction:
    """Tour from city 0 that grows by one city per step; all data are known, so the item of each step is None."""

    def __init__(self, distances: NDArray[np.float64]) -> None:
        """Start in city 0.

        Args:
            distances: ``(n, n)`` lengths.
        """
        self._distances = distances
        self._current = 0
        self._unvisited = list(range(1, len(distances)))

    def arguments(self, item: None) -> dict[str, Any]:
        """Return the arguments of ``select_next_node``, which are copies; the destination is city 0."""
        # Built twice, as it is after transfer to another process: the order of a set depends on its history.
        unvisited = set(iter(set(self._unvisited)))
        return {
            "current_node": self._current,
            "destination_node": 0,
            "unvisited_nodes": unvisited,
            "distance_matrix": self._distances.copy(),
        }

    def choose(self, answer: Any) -> int:
        """Return the next city.

        Raises:
            CandidateError: ``invalid`` if the answer is not an unvisited city.
        """
        try:
            city = operator.index(answer)
        except TypeError:
            raise CandidateError(
                f"returned a {type(answer).__name__}; expected an int, one of unvisited_nodes"
            ) from None
        if city not in self._unvisited:
            raise CandidateError(f"returned {city}, which is not one of the {len(self._unvisited)} unvisited_nodes")
        return city

    def apply(self, decision: int) -> None:
        """Move to a city."""
        self._unvisited.remove(decision)
        self._current = decision


class OnlinePacking:
    """Bins of one instance, filled by items in order of arrival; there are as many bins as items."""

    def __init__(self, count: int, capacity: int) -> None:
        """Start with empty bins.

        Args:
            count: Number of items.
            capacity: Capacity of every bin.
        """
        # All bins from number `_touched` on are empty and need no examination.
        self._room, self._touched = np.full(count, capacity), 0
        self._empty = self._room.copy()
        self._item = 0
        self._fitting: NDArray[np.intp] = np.zeros(0, np.intp)

    def arguments(self, item: int) -> tuple[float, NDArray[np.int64]]:
        """Return the arguments of ``priority``: the item, and the free capacity of the bins in which it fits."""
        self._item = item
        self._fitting = np.flatnonzero(self._room[: self._touched] >= item)
        return float(item), np.concatenate((self._room[self._fitting], self._empty[self._touched :]))

    def choose(self, answer: Any) -> int:
        """Return the bin of the highest priority, the first one on ties.

        Raises:
            CandidateError: ``invalid`` if priorities have the wrong shape, are not real numbers, or are NaN.
        """
        count = len(self._fitting) + len(self._empty) - self._touched
        priorities = np.asarray(answer)
        if priorities.shape != (count,):
            raise CandidateError(f"returned shape {priorities.shape}; expected {(count,)}, one priority a bin")
        if priorities.dtype.kind not in "biuf":
            raise CandidateError(f"returned dtype {priorities.dtype}; expected real numbers")
        best = int(priorities.argmax())
        if priorities[best] != priorities[best]:
            raise CandidateError(f"returned NaN at [{best}]; expected priorities that can be compared")
        if best < self._fitting.size:
            return int(self._fitting[best])
        return best - self._fitting.size + self._touched

    def apply(self, decision: int) -> None:
        """Put the item into a bin."""
        self._room[decision] -= self._item
        self._touched = max(self._touched, decision + 1)


def construct_tour(select_next_node: Heuristic, distances: NDArray[np.float64]) -> list[int]:
    """Build a tour from city 0 with a rule that chooses each next city.

    Args:
        select_next_node: ``(current_node, destination_node, unvisited_nodes, distance_matrix) -> int``, called by
            keyword.
        distances: ``(n, n)`` lengths.

    Returns:
        All cities in the order of the visits.

    Raises:
        CandidateError: ``invalid``, if a choice is not among the unvisited cities.
    """
    state, tour = TourConstruction(distances), [0]
    for _ in range(len(distances) - 1):
        tour.append(state.choose(select_next_node(**state.arguments(None))))
        state.apply(tour[-1])
    return tour


def pack_online(priority: Heuristic, items: NDArray[np.int64], capacity: int) -> list[int]:
    """Pack items in order of arrival, each into the bin of the highest priority.

    Args:
        priority: ``(item, bins_remain_cap) -> (k,)`` array.
        items: ``(n,)`` sizes.
        capacity: Capacity of every bin.

    Returns:
        The bin of each item.

    Raises:
        CandidateError: ``invalid``, if priorities have the wrong shape, are not real numbers, or are NaN.
    """
    state, packing = OnlinePacking(len(items), capacity), []
    for item in items.tolist():
        packing.append(state.choose(priority(*state.arguments(item))))
        state.apply(packing[-1])
    return packing


def retrace(items: NDArray[np.int64], capacity: int, packing: NDArray[np.int64], watch: Callable[..., None]) -> None:
    """Replay a packing item by item for an observer.

    Args:
        items: ``(n,)`` sizes.
        capacity: Capacity of every bin.
        packing: ``(n,)`` bin of each item, checked.
        watch: Called for each item with ``step``, ``item``, ``bin``, ``room`` (free capacity of that bin afterwards)
            and ``rooms`` (``(k,)`` free capacities of the used bins before).
    """
    room, opened = np.full(len(items), capacity), 0
    for step, (item, number) in enumerate(zip(items.tolist(), packing.tolist(), strict=True)):
        rooms = room[:opened].copy()
        room[number] -= item
        opened = max(opened, number + 1)
        watch(step=step, item=item, bin=number, room=int(room[number]), rooms=rooms)
