"""Any function that answers messages with text becomes a model."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

from oragent._base.errors import ModelError
from oragent.llm import fenced
from oragent.llm.model import Message, Model, Reply, Request, estimate_tokens
from oragent.llm.wire import bounded

Function = Callable[[list[dict[str, str]]], str | Awaitable[str]]


def wrapped(function: Function, name: str = "", concurrency: int = 4) -> Model:
    """Make a model of a function.

    Args:
        function: Function that gets the conversation as a list of ``{"role": ..., "content": ...}`` and returns the
            reply as a text; it may be a coroutine function, else it is called in a thread, so that nothing waits for
            it. Tools are told to it, and called by it, as fenced JSON in the texts.
        name: Name under which its replies are recorded; empty: the function's own.
        concurrency: Most calls of a function in threads at once; 1 for one that is not made for threads.

    Returns:
        The model, whose price is unknown and whose tokens are a guess by length. An exception of the function's is a
        ``ModelError``, and so is a reply that is no text.

    Raises:
        ModelError: ``function`` cannot be called.
    """
    if not callable(function):
        raise ModelError(f"a model is a function of messages that returns a text, not {type(function).__name__}")
    return _Wrapped(function, name or str(getattr(function, "__name__", type(function).__name__)), concurrency)


class _Wrapped:
    def __init__(self, function: Function, name: str, concurrency: int) -> None:
        self._function, self._name = function, name
        self._waits = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
        self._threads = None if self._waits else ThreadPoolExecutor(concurrency, f"model {name}")

    async def __call__(self, request: Request, /) -> Reply:
        asked, begin = fenced.written(request), time.monotonic()
        text = await self._answer(asked)
        seconds = time.monotonic() - begin
        shown, calls = fenced.read(text, request)
        return Reply(
            text=shown,
            tool_calls=calls,
            tokens_in=sum(estimate_tokens(message.content) for message in asked),
            tokens_out=estimate_tokens(text),
            money=None,
            seconds=seconds,
            model=self._name,
            estimated=True,
        )

    async def _answer(self, asked: list[Message]) -> str:
        messages = [{"role": message.role, "content": message.content} for message in asked]
        said: object
        try:
            if self._waits:
                said = self._function(messages)
            else:
                said = await asyncio.get_running_loop().run_in_executor(self._threads, self._called, messages)
            said = await said if inspect.isawaitable(said) else said
        except Exception as problem:
            what = " ".join(f"{type(problem).__name__}: {problem}".split())
            raise ModelError(f"the model {self._name!r} failed: {what[:200]}") from problem
        if not isinstance(said, str):
            raise ModelError(f"the model {self._name!r} returned {type(said).__name__}, expected a text (str)")
        return bounded(said)

    def _called(self, messages: list[dict[str, str]]) -> object:
        try:
            return self._function(messages)
        except StopIteration as problem:  # no future can hold it: whoever waits would wait for ever
            raise RuntimeError("it has no more replies (StopIteration)") from problem
