"""Places for evaluations: as many as workers have now, which may be more or fewer in a moment."""

import asyncio
from collections import deque

__all__ = ["Places"]


class Places:
    """A semaphore whose size changes; to be used in one event loop, whose waiters it serves in their order."""

    def __init__(self, count: int = 0) -> None:
        self._count, self.taken = count, 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._broken: Exception | None = None

    @property
    def count(self) -> int:
        """How many there are."""
        return self._count

    def resize(self, count: int) -> None:
        """There are so many from now on; who has one keeps it."""
        self._count = count
        self._wake()

    def fail(self, problem: Exception) -> None:
        """There will never be one again: who waits, or comes later, is told why."""
        self._broken = problem
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_exception(problem)

    def spare(self) -> bool:
        """Take a place that nobody waits for; whether there was one."""
        if self._waiting or self.taken >= self._count:
            return False
        self.taken += 1
        return True

    async def take(self, *, first: bool = False) -> None:
        """Wait for a place, and take it; ``first``: before all who wait, as others wait for what was begun earlier.

        Raises:
            Exception: what ``fail`` was told.
        """
        if self._broken is not None:
            raise self._broken
        if self.spare():
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._waiting.appendleft if first else self._waiting.append)(turn)
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
            turn = self._waiting.popleft()
            if not turn.done():
                self.taken += 1
                turn.set_result(None)
