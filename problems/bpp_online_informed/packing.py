"""Online packing whose rule sees the open bins by room, the packed items by size, and the number of items to come."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oragent.harness import CandidateError

Arrays = tuple[int, NDArray[np.int64], NDArray[np.int64], int]


class InformedPacking:
    """Bins of one instance, filled by items in order of arrival."""

    def __init__(self, count: int, capacity: int) -> None:
        """Start without bins.

        Args:
            count: Number of items.
            capacity: Capacity of every bin.
        """
        self._capacity, self._to_come, self._bins = capacity, count, 0
        # Numbers of the begun bins by room, in the order in which they came to that room.
        self._by_room: list[list[int]] = [[] for _ in range(capacity + 1)]
        self._open, self._packed = np.zeros(capacity + 1, np.int64), np.zeros(capacity + 1, np.int64)
        self._item = 0

    def arguments(self, item: int) -> Arrays:
        """Return the arguments of ``priority``, which are copies."""
        self._item, self._to_come = item, self._to_come - 1
        return item, self._open.copy(), self._packed.copy(), self._to_come

    def choose(self, answer: Any) -> int:
        """Return the room of the bin of the highest priority, the smallest room on ties.

        Raises:
            CandidateError: ``invalid`` if priorities have the wrong shape, are not real numbers, or are NaN.
        """
        priorities, expected = np.asarray(answer), (self._capacity + 1,)
        if priorities.shape != expected:
            raise CandidateError(f"returned shape {priorities.shape}; expected {expected}, one priority for each room")
        if priorities.dtype.kind not in "biuf":
            raise CandidateError(f"returned dtype {priorities.dtype}; expected real numbers")
        rooms = np.flatnonzero(self._open[self._item :]) + self._item
        rooms = np.append(rooms, self._capacity)  # a new bin
        best = int(priorities[rooms].argmax())
        if priorities[rooms[best]] != priorities[rooms[best]]:
            raise CandidateError(f"returned NaN at [{rooms[best]}]; expected priorities that can be compared")
        return int(rooms[best])

    def apply(self, decision: Any) -> int:
        """Put the item into a bin with that room, the one that has it for the longest time; return the bin's number.

        Raises:
            CandidateError: ``invalid`` if no bin has that room, or the item does not fit.
        """
        if type(decision) is not int:
            raise CandidateError(f"decided {type(decision).__name__}; expected a room, a whole number")
        if decision == self._capacity:
            number, self._bins = self._bins, self._bins + 1
        elif self._item <= decision < self._capacity and self._by_room[decision]:
            number = self._by_room[decision].pop(0)
            self._open[decision] -= 1
        else:
            raise CandidateError(f"no open bin of room {decision} takes an item of size {self._item}")
        room = decision - self._item
        self._by_room[room].append(number)
        self._open[room] += 1
        self._packed[self._item] += 1
        return number


def list_bins(items: NDArray[np.int64], capacity: int, rooms: Any) -> list[int]:
    """Replay decisions.

    Args:
        items: ``(n,)`` sizes.
        capacity: Capacity of every bin.
        rooms: The room that was chosen for each item, not checked.

    Returns:
        The bin of each item.

    Raises:
        CandidateError: ``invalid`` if a decision is not possible.
    """
    state = InformedPacking(len(items), capacity)
    bins = []
    for item, room in zip(items.tolist(), rooms, strict=True):
        state.arguments(item)
        bins.append(state.apply(room))
    return bins
