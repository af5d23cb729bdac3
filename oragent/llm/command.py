"""Use a command as a model: prompt on its standard input, reply on its standard output."""

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
import time
from dataclasses import replace

from pydantic import SecretStr

from oragent._base.errors import ModelError
from oragent.llm import fenced
from oragent.llm.endpoint import AttemptFailed
from oragent.llm.model import Message, Reply, Request
from oragent.llm.model_settings import ModelSettings, delay_s
from oragent.llm.prices import Prices
from oragent.llm.wire import LONGEST, replace_surrogates, truncate_text

MOST_BYTES = 4 * LONGEST  # of a reply: the longest text, in characters of four bytes
MOST_ERROR_BYTES = 4000  # bytes of stderr that are read for the reason of a failure
TITLES = {"user": "# Request", "assistant": "# Your answer", "system": "# Instructions"}


class CommandModel:
    """A program of the user that answers prompts, such as a command-line agent.

    Each call starts it in a temporary empty folder and in its own process group, which is killed afterwards. It
    inherits the environment without the keys of models, except the one that its settings name by ``api_key_env``. A
    non-zero exit code, a time-out and a reply that is too long are failures, which are retried.
    """

    def __init__(self, settings: ModelSettings, prices: Prices | None = None, key: SecretStr | None = None) -> None:
        self.settings, self._prices, self._key = settings, prices or Prices(), key
        self._words = settings.command_words
        program = shutil.which(self._words[0])
        if program is None:
            raise ModelError(f"model.command: there is no program {self._words[0]!r} on the path")
        self._words[0] = os.path.abspath(program)
        self._slots = asyncio.Semaphore(settings.concurrency)

    async def __call__(self, request: Request, /) -> Reply:
        """Ask the program."""
        messages = fenced.write_calls_as_text(request)
        async with self._slots:
            begin = time.monotonic()
            text, failed = await self._run_with_retries(render_conversation(messages))
            seconds = time.monotonic() - begin
        reply = fenced.make_reply(text, request, messages, seconds, self.settings.name)
        money = self._prices.call_cost(reply.model, reply.tokens_in, reply.tokens_out)
        return replace(reply, money=money, retries=failed)

    async def _run_with_retries(self, prompt: str) -> tuple[str, int]:
        """Run until there is an answer; return it and the number of failed attempts."""
        failed = 0
        while True:
            try:
                return await self._run_once(prompt), failed
            except AttemptFailed as problem:
                if failed >= self.settings.retries:
                    raise ModelError(f"{problem.message}{f' ({failed} retries)' if failed else ''}") from None
            await asyncio.sleep(delay_s(failed, self.settings.backoff_s))
            failed += 1

    async def _run_once(self, prompt: str) -> str:
        with tempfile.TemporaryDirectory(prefix="oragent-model-", ignore_cleanup_errors=True) as folder:
            try:
                process = await asyncio.create_subprocess_exec(
                    *self._words,
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
                async with asyncio.timeout(self.settings.timeout_s):
                    out, errors = await _exchange(process, prompt.encode("utf-8", "replace"))
                    code = await process.wait()
            except TimeoutError:
                why = f"{self.settings.name} gave no answer within {self.settings.timeout_s:g} s"
                raise AttemptFailed(why, passing=True) from None
            finally:
                await _kill_process_group(process)
        if code:
            reason = " ".join(replace_surrogates(errors.decode("utf-8", "replace")).split())[-200:]
            raise AttemptFailed(f"{self.settings.name} ended with code {code}: {reason or 'no reason'}", passing=True)
        if len(out) > MOST_BYTES:
            raise AttemptFailed(f"{self.settings.name} wrote more than {MOST_BYTES:,} bytes", passing=True)
        return truncate_text(out.decode("utf-8", "replace")).strip()

    def _build_environment(self) -> dict[str, str]:
        key = {} if self._key is None else {self.settings.api_key_env or "": self._key.get_secret_value()}
        return os.environ | {name: value for name, value in key.items() if name and value}


def render_conversation(messages: list[Message]) -> str:
    """Render a conversation as one text: a single message unchanged, several under titles."""
    if len(messages) == 1:
        return replace_surrogates(messages[0].content)
    return (
        "\n\n".join(
            f"{TITLES.get(message.role, '# ' + message.role)}\n\n{replace_surrogates(message.content)}"
            for message in messages
        )
        + "\n"
    )


async def _exchange(process: asyncio.subprocess.Process, prompt: bytes) -> tuple[bytes, bytes]:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    _, out, errors = await asyncio.gather(
        _feed_stdin(process.stdin, prompt),
        _read_tail(process.stdout, MOST_BYTES + 1),
        _read_tail(process.stderr, MOST_ERROR_BYTES),
    )
    return out, errors


async def _feed_stdin(stdin: asyncio.StreamWriter, prompt: bytes) -> None:
    try:
        stdin.write(prompt)
        await stdin.drain()
        stdin.close()
        await stdin.wait_closed()
    except (BrokenPipeError, ConnectionResetError):  # it answers without reading to the end
        pass


async def _read_tail(stream: asyncio.StreamReader, limit: int) -> bytes:
    """Read a stream to its end, so that the writer never waits, and return the last ``limit`` bytes."""
    tail = b""
    while piece := await stream.read(65536):
        tail = (tail + piece)[-limit:]
    return tail


async def _kill_process_group(process: asyncio.subprocess.Process) -> None:
    """Kill the process and all that it started, and close its pipes."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
    transport = getattr(process, "_transport", None)
    if transport is not None:  # its pipes would wait for the garbage collector
        transport.close()
