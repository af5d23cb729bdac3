"""Places for evaluations: a semaphore whose size changes with the workers."""

import asyncio
from heapq import heappop, heappush
from itertools import count as numbers


class Places:
    """A semaphore whose size changes, which serves who waits by an order that they bring, and then as they came.

    It is to be used in one event loop.
    """

    def __init__(self, count: int = 0) -> None:
        self._count, self.taken = count, 0
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []  # a heap: by order, then as they came
        self._tickets = numbers()
        self._broken: Exception | None = None

    @property
    def count(self) -> int:
        """Number of places."""
        return self._count

    def resize(self, count: int) -> None:
        """There are so many from now on; who has one keeps it."""
        self._count = count
        self._wake()

    def fail(self, problem: Exception) -> None:
        """There will never be one again: who waits, or comes later, is told why."""
        self._broken = problem
        for _, _, turn in self._waiting:
            if not turn.done():
                turn.set_exception(problem)
        self._waiting.clear()

    def try_take(self) -> bool:
        """Take a place that nobody waits for; whether there was one."""
        if self._waiting or self.taken >= self._count:
            return False
        self.taken += 1
        return True

    async def take(self, order: int = 0) -> None:
        """Wait for a place, and take it, before all who wait with a larger order.

        Raises:
            Exception: what ``fail`` was told.
        """
        if self._broken is not None:
            raise self._broken
        if self.try_take():
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (order, next(self._tickets), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.give_back()
            raise

    def give_back(self) -> None:
        """Free a place."""
        self.taken -= 1
        self._wake()

    def _wake(self) -> None:
        while self._waiting and self.taken < self._count:
            _, _, turn = heappop(self._waiting)
            if not turn.done():
                self.taken += 1
                turn.set_result(None)
