"""Models without a server: a Python function, and prepared replies."""

import asyncio
import inspect
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from oragent._base.errors import ModelError
from oragent.llm import fenced
from oragent.llm.model import Message, Model, Reply, Request, estimate_tokens
from oragent.llm.wire import encode_call, truncate_text

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
        return fenced.make_reply(text, request, messages, time.monotonic() - begin, self._name)

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


ScriptedReply = str | Message  # a message where the reply calls tools


class Scripted:
    """A deterministic model for tests: costs nothing, and counts one token for every four characters.

    Args:
        replies: Replies, repeated cyclically; or a function of the request and the number of the call, counted from 0.
            A reply is a text, or a message with tool calls.
        name: Model name of its replies.
    """

    def __init__(
        self, replies: Sequence[ScriptedReply] | Callable[[Request, int], ScriptedReply], name: str = "scripted"
    ) -> None:
        if not callable(replies) and not replies:
            raise ValueError("replies must not be empty.")
        self._replies = replies
        self._name = name
        self.calls = 0

    async def __call__(self, request: Request, /) -> Reply:
        """Return the next reply; the temperature is ignored."""
        number, self.calls = self.calls, self.calls + 1
        await asyncio.sleep(0)  # let others run, as a real call would
        replies = self._replies
        reply = replies(request, number) if callable(replies) else replies[number % len(replies)]
        message = Message("assistant", reply) if isinstance(reply, str) else reply
        return Reply(
            text=message.content,
            tool_calls=message.tool_calls,
            tokens_in=sum(map(_message_tokens, request.messages)),
            tokens_out=_message_tokens(message),
            money=0.0,
            seconds=0.0,
            model=self._name,
        )


def _message_tokens(message: Message) -> int:
    calls = json.dumps([encode_call(call) for call in message.tool_calls]) if message.tool_calls else ""
    return estimate_tokens(message.content) + estimate_tokens(calls)
