"""A search that runs for a caller: stopped from outside, told to the caller, and nothing of the caller's changed.

A search is stopped as by the first Ctrl-C on the command line: what is being evaluated or asked still ends and is kept.
A second interruption ends that too.
"""

import asyncio
import contextlib
import contextvars
import queue
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from oragent.search.engine import Engine
from oragent.search.progress import Observer, Progress, SearchResult

Search = Callable[["Steering", Observer], Coroutine[Any, Any, SearchResult]]
POLL_S = 0.1  # between two looks at whether a caller who owes an answer was interrupted


class Steering:
    """The way to a running engine; all of it is called in the engine's event loop."""

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._task: asyncio.Task[SearchResult] | None = None
        self._asked = False

    def take(self, task: asyncio.Task[SearchResult]) -> None:
        """Know the task in which everything happens."""
        self._task = task

    @contextmanager
    def __call__(self, engine: Engine) -> Iterator[None]:
        """Know the engine, for as long as it runs."""
        self._engine = engine
        try:
            yield
        finally:
            self._engine = None

    def stop(self) -> None:
        """End the search: at the first time in order, if it has begun; at the second at once."""
        if self._engine and not self._asked:
            self._engine.stop("stopped by the program that began it")
        elif self._task:
            self._task.cancel()
        self._asked = True


def in_own_thread(search: Search, observer: Observer) -> SearchResult:
    """Run a search in an event loop of its own thread, and wait for it; the observer is called in this one.

    So a loop that runs here is not in the way, and signals go where they went before.

    Args:
        search: begins it.
        observer: told of every committed round; the search waits for it.

    Raises:
        BaseException: what the search raised; or what the observer did, or an interruption, once the search has ended.
    """
    waiting = _Waiting()
    steering = Steering()

    async def body() -> SearchResult:
        waiting.loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(search(steering, waiting.tell))
        steering.take(task)
        waiting.begun.set()
        return await task

    def work() -> None:
        try:
            waiting.outcome = asyncio.run(body())
        except BaseException as problem:
            waiting.ended = problem
        finally:
            waiting.begun.set()
            waiting.over.set()
            waiting.messages.put(None)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), name="oragent search")
    thread.start()
    problem = waiting.wait(observer, steering)
    thread.join()
    if problem is not None:
        raise problem
    if waiting.ended is not None:
        raise waiting.ended
    assert waiting.outcome is not None
    return waiting.outcome


class _Waiting:
    """The caller's side of a search in another thread."""

    def __init__(self) -> None:
        self.messages: queue.SimpleQueue[tuple[Progress, threading.Event] | None] = queue.SimpleQueue()
        self.begun = threading.Event()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.outcome: SearchResult | None = None
        self.ended: BaseException | None = None
        self.interrupted = threading.Event()
        self.over = threading.Event()

    def tell(self, progress: Progress) -> None:
        """Hand a round over, in the search's thread, and wait until the caller has seen it."""
        seen = threading.Event()
        self.messages.put((progress, seen))
        while not seen.wait(POLL_S):
            if self.interrupted.is_set():
                return

    def wait(self, observer: Observer, steering: Steering) -> BaseException | None:
        """Show each round to the observer until the search has ended; return what interrupted that, if anything."""
        problem: BaseException | None = None
        while True:
            try:
                if problem is None:
                    if self._show(observer):
                        return None
                    continue
                self._stop(steering)
                while not self.over.is_set():
                    self.messages.get()
                return problem
            except BaseException as interruption:  # it may come anywhere in here, and more than once
                self.interrupted.set()
                problem = problem or interruption

    def _show(self, observer: Observer) -> bool:
        message = self.messages.get()
        if message is None:
            return True
        progress, seen = message
        try:
            observer(progress)
        finally:
            seen.set()
        return False

    def _stop(self, steering: Steering) -> None:
        self.begun.wait()
        if self.loop:
            with contextlib.suppress(RuntimeError):  # it has ended in the meantime
                self.loop.call_soon_threadsafe(steering.stop)


async def awaited(search: Search, observer: Observer) -> SearchResult:
    """Run a search in the event loop that runs here.

    Raises:
        BaseException: what the search raised; or what the observer did, or a cancellation, once the search has ended.
    """
    steering = Steering()
    raised: list[BaseException] = []

    def guarded(progress: Progress) -> None:
        if raised:
            return
        try:
            observer(progress)
        except BaseException as problem:
            raised.append(problem)
            steering.stop()

    task = asyncio.ensure_future(search(steering, guarded))
    steering.take(task)
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as problem:
            raised.append(problem)
            steering.stop()
    if raised:
        with contextlib.suppress(BaseException):  # it ended by what stopped it
            task.result()
        raise raised[0]
    return task.result()
