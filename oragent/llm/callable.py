"""Use a Python function as a model."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

from oragent._base.errors import ModelError
from oragent.llm import fenced
from oragent.llm.model import Message, Model, Reply, Request, estimate_tokens
from oragent.llm.wire import truncate_text

Function = Callable[[list[dict[str, str]]], str | Awaitable[str]]


def wrap_function(function: Function, name: str = "", concurrency: int = 4) -> Model:
    """Make a model from a function.

    Args:
        function: Function that takes the conversation as a list of ``{"role": ..., "content": ...}`` and returns the
            reply as text. A function that is no coroutine function runs in a thread. Tools are described, and called,
            as fenced JSON in the texts.
        name: Name under which its replies are recorded; empty: the name of the function.
        concurrency: Largest number of calls in threads at once; 1 for a function that is not thread-safe.

    Returns:
        The model. Its price is unknown and its tokens are estimated by length. An exception of the function, or a reply
        that is no text, is a ``ModelError``.

    Raises:
        ModelError: ``function`` cannot be called.
    """
    if not callable(function):
        raise ModelError(f"a model is a function of messages that returns a text, not {type(function).__name__}")
    return _FunctionModel(function, name or str(getattr(function, "__name__", type(function).__name__)), concurrency)


class _FunctionModel:
    def __init__(self, function: Function, name: str, concurrency: int) -> None:
        self._function, self._name = function, name
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
        self._threads = None if self._is_async else ThreadPoolExecutor(concurrency, f"model {name}")

    async def __call__(self, request: Request, /) -> Reply:
        messages, begin = fenced.write_calls_as_text(request), time.monotonic()
        text = await self._call_function(messages)
        seconds = time.monotonic() - begin
        shown, calls = fenced.extract_calls(text, request)
        return Reply(
            text=shown,
            tool_calls=calls,
            tokens_in=sum(estimate_tokens(message.content) for message in messages),
            tokens_out=estimate_tokens(text),
            money=None,
            seconds=seconds,
            model=self._name,
            estimated=True,
        )

    async def _call_function(self, asked: list[Message]) -> str:
        messages = [{"role": message.role, "content": message.content} for message in asked]
        reply: object
        try:
            if self._is_async:
                reply = self._function(messages)
            else:
                reply = await asyncio.get_running_loop().run_in_executor(self._threads, self._call_in_thread, messages)
            reply = await reply if inspect.isawaitable(reply) else reply
        except Exception as problem:
            reason = " ".join(f"{type(problem).__name__}: {problem}".split())
            raise ModelError(f"the model {self._name!r} failed: {reason[:200]}") from problem
        if not isinstance(reply, str):
            raise ModelError(f"the model {self._name!r} returned {type(reply).__name__}, expected a text (str)")
        return truncate_text(reply)

    def _call_in_thread(self, messages: list[dict[str, str]]) -> object:
        try:
            return self._function(messages)
        except StopIteration as problem:  # a future cannot hold it: the caller would wait for ever
            raise RuntimeError("it has no more replies (StopIteration)") from problem
