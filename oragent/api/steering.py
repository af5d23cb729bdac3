"""Run a search for a Python caller, report its progress, and stop it on request.

Stopping works like the first Ctrl-C on the command line: running evaluations and calls finish and are recorded.
A second interruption stops them too.
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
from oragent.search.events import Observer, Progress, SearchResult

Search = Callable[["Steering", Observer], Coroutine[Any, Any, SearchResult]]
# Seconds between two checks for an interruption of the caller.
POLL_S = 0.1


class Steering:
    """Handle of a running engine; its methods are called in the engine's event loop."""

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._task: asyncio.Task[SearchResult] | None = None
        self._asked = False

    def take(self, task: asyncio.Task[SearchResult]) -> None:
        """Set the task of the search."""
        self._task = task

    @contextmanager
    def __call__(self, engine: Engine) -> Iterator[None]:
        """Set the engine of the running search."""
        self._engine = engine
        try:
            yield
        finally:
            self._engine = None

    def stop(self) -> None:
        """Stop the search: after running work at the first call, if it has begun; immediately at the second."""
        if self._engine and not self._asked:
            self._engine.stop("stopped by the program that began it")
        elif self._task:
            self._task.cancel()
        self._asked = True


def run_in_thread(search: Search, observer: Observer) -> SearchResult:
    """Run a search in an event loop of another thread, and wait for it; call the observer in this thread.

    A running event loop of this thread is not disturbed, and signals are handled as usual.

    Raises:
        BaseException: Error of the search, or of the observer or an interruption, after the search has ended.
    """
    waiting = _EventQueue()
    steering = Steering()

    async def thread_body() -> SearchResult:
        waiting.loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(search(steering, waiting.post_event))
        steering.take(task)
        waiting.begun.set()
        return await task

    def run_work() -> None:
        try:
            waiting.outcome = asyncio.run(thread_body())
        except BaseException as problem:
            waiting.ended = problem
        finally:
            waiting.begun.set()
            waiting.over.set()
            waiting.messages.put(None)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run_work,), name="oragent search")
    thread.start()
    problem = waiting.wait_for_events(observer, steering)
    thread.join()
    if problem is not None:
        raise problem
    if waiting.ended is not None:
        raise waiting.ended
    assert waiting.outcome is not None
    return waiting.outcome


class _EventQueue:
    """State shared by the caller and the thread of a search."""

    def __init__(self) -> None:
        self.messages: queue.SimpleQueue[tuple[Progress, threading.Event] | None] = queue.SimpleQueue()
        self.begun = threading.Event()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.outcome: SearchResult | None = None
        self.ended: BaseException | None = None
        self.interrupted = threading.Event()
        self.over = threading.Event()

    def post_event(self, progress: Progress) -> None:
        """Pass a round from the search's thread to the caller, and wait until it was observed."""
        seen = threading.Event()
        self.messages.put((progress, seen))
        while not seen.wait(POLL_S):
            if self.interrupted.is_set():
                return

    def wait_for_events(self, observer: Observer, steering: Steering) -> BaseException | None:
        """Call the observer for each round until the search has ended; return the interruption, or None."""
        problem: BaseException | None = None
        while True:
            try:
                if problem is None:
                    if self._show_event(observer):
                        return None
                    continue
                self._request_stop(steering)
                while not self.over.is_set():
                    self.messages.get()
                return problem
            except BaseException as interruption:
                # An interruption may occur anywhere in this block, and more than once.
                self.interrupted.set()
                problem = problem or interruption

    def _show_event(self, observer: Observer) -> bool:
        message = self.messages.get()
        if message is None:
            return True
        progress, seen = message
        try:
            observer(progress)
        finally:
            seen.set()
        return False

    def _request_stop(self, steering: Steering) -> None:
        self.begun.wait()
        if self.loop:
            # The search may have ended in the meantime.
            with contextlib.suppress(RuntimeError):
                self.loop.call_soon_threadsafe(steering.stop)


async def await_in_thread(search: Search, observer: Observer) -> SearchResult:
    """Run a search in the current event loop.

    Raises:
        BaseException: Error of the search, or of the observer or a cancellation, after the search has ended.
    """
    steering = Steering()
    raised: list[BaseException] = []

    def guard(progress: Progress) -> None:
        if raised:
            return
        try:
            observer(progress)
        except BaseException as problem:
            raised.append(problem)
            steering.stop()

    task = asyncio.ensure_future(search(steering, guard))
    steering.take(task)
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as problem:
            raised.append(problem)
            steering.stop()
    if raised:
        # The search ends with the error that stopped it.
        with contextlib.suppress(BaseException):
            task.result()
        raise raised[0]
    return task.result()
