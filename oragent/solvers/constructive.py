"""Loops that build a solution one decision at a time, beside the candidate that decides; and their audit.

A loop that runs in reach of a candidate returns a claim. Whoever scores it checks the solution, and puts a sample of
its decisions to an untouched copy of the candidate: heuristics must be functions of their arguments, so that the copy
decides alike.
"""

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import CandidateError

Heuristic = Callable[..., Any]


def construct_tour(select_next_node: Heuristic, distances: NDArray[np.float64]) -> list[int]:
    """Build a tour from city 0, each next city chosen by the candidate.

    Args:
        select_next_node: ``(current_node, destination_node, unvisited_nodes, distance_matrix) -> int``, called by
            keyword with copies, down to the last city left; the destination is city 0.
        distances: ``(n, n)`` lengths.

    Returns:
        All cities in the order of the visits.

    Raises:
        CandidateError: ``invalid``, if a choice is not among the cities left.
    """
    tour, unvisited = [0], list(range(1, len(distances)))
    while unvisited:
        # Built twice, as it is when it travels: a set's order comes from its making, and the audit must show the same.
        city = _choose_city(select_next_node, tour[-1], set(iter(set(unvisited))), distances)
        try:
            unvisited.remove(city)
        except ValueError:
            raise CandidateError(f"returned {city}, which is not one of the {len(unvisited)} unvisited_nodes") from None
        tour.append(city)
    return tour


def audit_tour(
    witness: Heuristic, sample: Iterable[int], *, distances: NDArray[np.float64], tour: NDArray[np.int64]
) -> None:
    """Put some decisions of `construct_tour` to a witness; decision ``i`` chose ``tour[i + 1]``.

    Raises:
        CandidateError: ``rejected``, if the witness decides otherwise.
    """
    for step in sample:
        unvisited = set(np.sort(tour[step + 1 :]).tolist())
        choice = _choose_city(witness, int(tour[step]), unvisited, distances)
        if choice != tour[step + 1]:
            raise _mismatch_error(f"city {choice}", f"city {tour[step + 1]} after city {tour[step]}")


def pack_online(priority: Heuristic, items: NDArray[np.int64], capacity: int) -> list[int]:
    """Pack items as they come, each into the bin of the highest priority, the first of them on ties.

    Args:
        priority: ``(item, bins_remain_cap) -> (k,)`` array; it sees the bins in which the item fits, in order of their
            numbers. As many empty bins as there are items stand open from the start.
        items: ``(n,)`` sizes.
        capacity: Capacity of every bin.

    Returns:
        The bin of each item.

    Raises:
        CandidateError: ``invalid``, if priorities have the wrong shape, are no real numbers, or are NaN.
    """
    count = len(items)
    # all bins from number `touched` on are empty: no need to look at them
    room, touched = np.full(count, capacity), 0
    empty, packing = room.copy(), []
    for item in items.tolist():
        fitting = np.flatnonzero(room[:touched] >= item)
        best = _choose_bin(priority, item, np.concatenate((room[fitting], empty[touched:])))
        if best < fitting.size:
            number = int(fitting[best])
        else:
            number = best - fitting.size + touched
        room[number] -= item
        touched = max(touched, number + 1)
        packing.append(number)
    return packing


def audit_packing(
    witness: Heuristic, sample: Iterable[int], *, items: NDArray[np.int64], capacity: int, packing: NDArray[np.int64]
) -> None:
    """Put some decisions of `pack_online`, in ascending order, to a witness; decision ``i`` placed item ``i``.

    Raises:
        CandidateError: ``rejected``, if the witness decides otherwise.
    """
    room, placed = np.full(len(items), capacity), 0
    for step in sample:
        np.subtract.at(room, packing[placed:step], items[placed:step])
        placed = step
        fitting = np.flatnonzero(room >= items[step])
        choice = fitting[_choose_bin(witness, int(items[step]), room[fitting])]
        if choice != packing[step]:
            raise _mismatch_error(f"bin {choice}", f"bin {packing[step]} for item {step}")


def retrace(items: NDArray[np.int64], capacity: int, packing: NDArray[np.int64], watch: Callable[..., None]) -> None:
    """Go through a packing once more, item by item, for who watches: a loop beside the candidate tells nobody anything.

    Args:
        items: ``(n,)`` sizes.
        capacity: Capacity of every bin.
        packing: ``(n,)`` bin of each item, checked.
        watch: Called for each item with ``step``, ``item``, ``bin``, ``room`` (what is left in that bin afterwards) and
            ``rooms`` (``(k,)`` what was left in the bins that were begun, before).
    """
    room, opened = np.full(len(items), capacity), 0
    for step, (item, number) in enumerate(zip(items.tolist(), packing.tolist(), strict=True)):
        rooms = room[:opened].copy()
        room[number] -= item
        opened = max(opened, number + 1)
        watch(step=step, item=item, bin=number, room=int(room[number]), rooms=rooms)


def _choose_city(heuristic: Heuristic, current: int, unvisited: set[int], distances: NDArray[np.float64]) -> int:
    choice = heuristic(
        current_node=current, destination_node=0, unvisited_nodes=unvisited, distance_matrix=distances.copy()
    )
    try:
        return operator.index(choice)
    except TypeError:
        raise CandidateError(f"returned a {type(choice).__name__}; expected an int, one of unvisited_nodes") from None


def _choose_bin(heuristic: Heuristic, item: int, room: NDArray[np.int64]) -> int:
    priorities = np.asarray(heuristic(float(item), room))
    if priorities.shape != room.shape:
        raise CandidateError(f"returned shape {priorities.shape}; expected {room.shape}, one priority a bin")
    if priorities.dtype.kind not in "biuf":
        raise CandidateError(f"returned dtype {priorities.dtype}; expected real numbers")
    best = int(priorities.argmax())
    if priorities[best] != priorities[best]:
        raise CandidateError(f"returned NaN at [{best}]; expected priorities that can be compared")
    return best


def _mismatch_error(now: str, then: str) -> CandidateError:
    return CandidateError(
        f"decides {now} where its solution has {then}: a heuristic must be a function of its arguments alone",
        "rejected",
    )
