"""Models without a server: a Python function, prepared replies, and a command with the prompt on standard input."""

import asyncio
import contextlib
import inspect
import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from pydantic import SecretStr

from oragent._base.errors import ModelError, ModelTimeout
from oragent.llm import wire
from oragent.llm.endpoint import AttemptFailed, extend_silence
from oragent.llm.model import Message, Model, Reply, Request, estimate_tokens
from oragent.llm.model_settings import ModelSettings, delay_s, explain_timeout
from oragent.llm.prices import Prices
from oragent.llm.wire import MAX_TEXT_CHARACTERS, encode_call, replace_surrogates, truncate_text
from oragent.sandbox.confined_command import wrap_command

Function = Callable[[list[dict[str, str]]], str | Awaitable[str]]


# Maximum size of a reply in bytes: the longest text, with four bytes per character.
MAX_BYTES = 4 * MAX_TEXT_CHARACTERS
# Maximum number of bytes of stderr in the reason of a failure.
MAX_ERROR_BYTES = 4000
TITLES = {"user": "# Request", "assistant": "# Your answer", "system": "# Instructions"}


def wrap_function(function: Function, name: str = "", concurrency: int = 4) -> Model:
    """Make a model from a function.

    Args:
        function: Function that takes the conversation as a list of ``{"role": ..., "content": ...}`` and returns the
            reply as text. If it is not a coroutine function, it runs in a thread. Tools are described, and called, as
            fenced JSON in the texts.
        name: Name under which its replies are recorded. Empty means the name of the function.
        concurrency: Maximum number of parallel calls in threads. Use 1 for a function that is not thread-safe.

    Returns:
        The model. Its price is unknown and its tokens are estimated by length. An exception of the function, or a reply
        that is not a text, becomes a ``ModelError``.

    Raises:
        ModelError: ``function`` is not callable.
    """
    if not callable(function):
        raise ModelError(f"expected a function of messages that returns a text, not {type(function).__name__}")
    return _FunctionModel(function, name or str(getattr(function, "__name__", type(function).__name__)), concurrency)


class _FunctionModel:
    def __init__(self, function: Function, name: str, concurrency: int) -> None:
        self._function, self._name = function, name
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
        self._threads = None if self._is_async else ThreadPoolExecutor(concurrency, f"model {name}")

    async def __call__(self, request: Request, /) -> Reply:
        messages, begin = wire.write_calls_as_text(request), time.monotonic()
        text = await self._call_function(messages)
        return wire.make_reply(text, request, messages, time.monotonic() - begin, self._name)

    async def _call_function(self, request_messages: list[Message]) -> str:
        messages = [{"role": message.role, "content": message.content} for message in request_messages]
        reply: object
        try:
            if self._is_async:
                reply = self._function(messages)
            else:
                reply = await asyncio.get_running_loop().run_in_executor(self._threads, self._call_in_thread, messages)
            if inspect.isawaitable(reply):
                reply = await reply
        except Exception as problem:
            reason = " ".join(f"{type(problem).__name__}: {problem}".split())
            raise ModelError(f"the model {self._name!r} failed: {reason[:200]}") from problem
        if not isinstance(reply, str):
            raise ModelError(f"the model {self._name!r} returned {type(reply).__name__}, expected a text (str)")
        return truncate_text(reply)

    def _call_in_thread(self, messages: list[dict[str, str]]) -> object:
        try:
            return self._function(messages)
        except StopIteration as problem:
            # A future cannot contain a StopIteration: the caller would wait for ever.
            raise RuntimeError("it has no more replies (StopIteration)") from problem


# A reply with tool calls is a message.
ScriptedReply = str | Message


class Scripted:
    """Deterministic model for tests. It costs nothing and counts one token for every four characters.

    Args:
        replies: Replies, repeated cyclically, or a function of the request and the number of the call, counted from 0.
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
        """Return the next reply. The temperature is ignored."""
        number, self.calls = self.calls, self.calls + 1
        # Let other tasks run, as a real call would.
        await asyncio.sleep(0)
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


class CommandModel:
    """Program of the user that answers prompts, such as a command-line agent.

    Each call starts it in a temporary empty folder and in namespaces of its own, where the kernel allows them: it sees
    no other processes, and its own are killed afterwards. It inherits the environment without the keys of models,
    except the one that its settings name by ``api_key_env``. A non-zero exit code and a reply that is too long are
    failures, which are retried. After ``timeout_s`` seconds without
    output it is ended and not started again.
    """

    def __init__(self, settings: ModelSettings, prices: Prices | None = None, key: SecretStr | None = None) -> None:
        self.settings, self._prices, self._key = settings, prices or Prices(), key
        self._words = settings.command_words
        program = shutil.which(self._words[0])
        if program is None:
            raise ModelError(f"model.command: no program {self._words[0]!r} is on the path")
        self._words[0] = os.path.abspath(program)
        self._slots = asyncio.Semaphore(settings.concurrency)

    async def __call__(self, request: Request, /) -> Reply:
        """Ask the program."""
        messages = wire.write_calls_as_text(request)
        async with self._slots:
            begin = time.monotonic()
            text, failed = await self._run_with_retries(render_conversation(messages))
            seconds = time.monotonic() - begin
        reply = wire.make_reply(text, request, messages, seconds, self.settings.name)
        money = self._prices.call_cost(reply.model, reply.tokens_in, reply.tokens_out)
        return replace(reply, money=money, retries=failed)

    async def _run_with_retries(self, prompt: str) -> tuple[str, int]:
        """Run the program until it answers. Return the answer and the number of failed attempts."""
        failed = 0
        while True:
            try:
                return await self._run_once(prompt), failed
            except AttemptFailed as problem:
                if problem.timed_out:
                    raise ModelTimeout(explain_timeout(problem.message, self.settings)) from None
                if failed >= self.settings.retries:
                    raise ModelError(f"{problem.message}{f' ({failed} retries)' if failed else ''}") from None
            await asyncio.sleep(delay_s(failed, self.settings.backoff_s))
            failed += 1

    async def _run_once(self, prompt: str) -> str:
        with tempfile.TemporaryDirectory(prefix="oragent-model-", ignore_cleanup_errors=True) as folder:
            try:
                process = await asyncio.create_subprocess_exec(
                    *wrap_command(self._words, None),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    cwd=folder,
                    env=self._build_environment(),
                    start_new_session=True,
                )
            except OSError as problem:
                raise AttemptFailed(f"cannot start {self.settings.name}: {problem.strerror}", passing=False) from None
            try:
                async with asyncio.timeout(self.settings.timeout_s) as silence:
                    hear = partial(extend_silence, silence, self.settings.timeout_s)
                    out, errors = await _exchange(process, prompt.encode("utf-8", "replace"), hear)
                    code = await process.wait()
            except TimeoutError:
                why = f"{self.settings.name} printed nothing for {self.settings.timeout_s:g} s"
                raise AttemptFailed(why, passing=False, timed_out=True) from None
            finally:
                await _kill_process_group(process)
        if code:
            reason = " ".join(replace_surrogates(errors.decode("utf-8", "replace")).split())[-200:]
            raise AttemptFailed(f"{self.settings.name} ended with code {code}: {reason or 'no reason'}", passing=True)
        if len(out) > MAX_BYTES:
            raise AttemptFailed(f"{self.settings.name} wrote more than {MAX_BYTES:,} bytes", passing=True)
        return truncate_text(out.decode("utf-8", "replace")).strip()

    def _build_environment(self) -> dict[str, str]:
        key = {} if self._key is None else {self.settings.api_key_env or "": self._key.get_secret_value()}
        return os.environ | {name: value for name, value in key.items() if name and value}


def render_conversation(messages: list[Message]) -> str:
    """Render a conversation as one text. A single message stays as it is; several have titles."""
    if len(messages) == 1:
        return replace_surrogates(messages[0].content)
    return (
        "\n\n".join(
            f"{TITLES.get(message.role, '# ' + message.role)}\n\n{replace_surrogates(message.content)}"
            for message in messages
        )
        + "\n"
    )


async def _exchange(
    process: asyncio.subprocess.Process, prompt: bytes, hear: Callable[[], None]
) -> tuple[bytes, bytes]:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    _, out, errors = await asyncio.gather(
        _feed_stdin(process.stdin, prompt),
        _read_tail(process.stdout, MAX_BYTES + 1, hear),
        _read_tail(process.stderr, MAX_ERROR_BYTES, hear),
    )
    return out, errors


async def _feed_stdin(stdin: asyncio.StreamWriter, prompt: bytes) -> None:
    try:
        stdin.write(prompt)
        await stdin.drain()
        stdin.close()
        await stdin.wait_closed()
    except (BrokenPipeError, ConnectionResetError):
        # The program may answer without reading all of its input.
        pass


async def _read_tail(stream: asyncio.StreamReader, limit: int, hear: Callable[[], None]) -> bytes:
    """Read a stream to its end, so that the writer never waits. Return the last ``limit`` bytes.

    ``hear`` is called for every piece.
    """
    tail = b""
    while piece := await stream.read(65536):
        hear()
        tail = (tail + piece)[-limit:]
    return tail


async def _kill_process_group(process: asyncio.subprocess.Process) -> None:
    """Kill the process and all processes that it started, and close its pipes."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
    transport = getattr(process, "_transport", None)
    # Otherwise the pipes would stay open until garbage collection.
    if transport is not None:
        transport.close()
