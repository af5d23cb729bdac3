"""A command as a model: the prompt on its standard input, the reply on its standard output."""

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
import time

from pydantic import SecretStr

from oragent._base.errors import ModelError
from oragent.llm import fenced
from oragent.llm.endpoint import AttemptFailed
from oragent.llm.model import Message, Reply, Request, estimate_tokens
from oragent.llm.model_settings import ModelSettings
from oragent.llm.patience import delay_s
from oragent.llm.prices import Prices
from oragent.llm.wire import LONGEST, bounded, clean

MOST_BYTES = 4 * LONGEST  # of a reply: the longest, in the widest letters
MOST_SAID = 4000  # bytes of stderr that are read for the reason of a failure
TITLES = {"user": "# Request", "assistant": "# Your answer", "system": "# Instructions"}


class CommandModel:
    """A program of the user's own that answers prompts, such as an agent for the command line.

    It is started anew for each call, in an empty folder that goes with it, as the leader of a process group that is
    ended with it. It inherits the environment without the keys that models name; the one that its own settings name by
    ``api_key_env`` it gets. A non-zero exit code, a time-out and a reply that is too long are failures; another attempt
    is made.

    Args:
        settings: Settings: which command, and how patiently.
        prices: Prices of models; None: unknown.
        key: Key that it gets in the variable that its settings name.

    Raises:
        ModelError: there is no such program.
    """

    def __init__(self, settings: ModelSettings, prices: Prices | None = None, key: SecretStr | None = None) -> None:
        self.settings, self._prices, self._key = settings, prices or Prices(), key
        self._words = settings.words
        found = shutil.which(self._words[0])
        if found is None:
            raise ModelError(f"model.command: there is no program {self._words[0]!r} on the path")
        self._words[0] = os.path.abspath(found)
        self._slots = asyncio.Semaphore(settings.concurrency)

    async def __call__(self, request: Request, /) -> Reply:
        """Ask the program.

        Returns:
            The reply, whose text may be empty; its tokens are a guess by length.

        Raises:
            ModelError: it failed once more than the settings allow for.
        """
        asked = fenced.written(request)
        async with self._slots:
            begin = time.monotonic()
            text, failed = await self._persist(written(asked))
            seconds = time.monotonic() - begin
        shown, calls = fenced.read(text, request)
        tokens_in, tokens_out = sum(estimate_tokens(message.content) for message in asked), estimate_tokens(text)
        return Reply(
            text=shown,
            tool_calls=calls,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            money=self._prices.cost(self.settings.name, tokens_in, tokens_out),
            seconds=seconds,
            model=self.settings.name,
            retries=failed,
            estimated=True,
        )

    async def _persist(self, prompt: str) -> tuple[str, int]:
        """Try until there is an answer; returns it, and how many attempts failed."""
        failed = 0
        while True:
            try:
                return await self._attempt(prompt), failed
            except AttemptFailed as problem:
                if failed >= self.settings.retries:
                    raise ModelError(f"{problem.message}{f' ({failed} retries)' if failed else ''}") from None
            await asyncio.sleep(delay_s(failed, self.settings.backoff_s))
            failed += 1

    async def _attempt(self, prompt: str) -> str:
        with tempfile.TemporaryDirectory(prefix="oragent-model-", ignore_cleanup_errors=True) as folder:
            try:
                process = await asyncio.create_subprocess_exec(
                    *self._words,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    cwd=folder,
                    env=self._environment(),
                    start_new_session=True,
                )
            except OSError as problem:
                raise AttemptFailed(f"cannot start {self.settings.name}: {problem.strerror}", passing=False) from None
            try:
                async with asyncio.timeout(self.settings.timeout_s):
                    out, said = await _exchanged(process, prompt.encode("utf-8", "replace"))
                    code = await process.wait()
            except TimeoutError:
                why = f"{self.settings.name} gave no answer within {self.settings.timeout_s:g} s"
                raise AttemptFailed(why, passing=True) from None
            finally:
                await _ended(process)
        if code:
            reason = " ".join(clean(said.decode("utf-8", "replace")).split())[-200:]
            raise AttemptFailed(f"{self.settings.name} ended with code {code}: {reason or 'no reason'}", passing=True)
        if len(out) > MOST_BYTES:
            raise AttemptFailed(f"{self.settings.name} wrote more than {MOST_BYTES:,} bytes", passing=True)
        return bounded(out.decode("utf-8", "replace")).strip()

    def _environment(self) -> dict[str, str]:
        own = {} if self._key is None else {self.settings.api_key_env or "": self._key.get_secret_value()}
        return os.environ | {name: value for name, value in own.items() if name and value}


def written(messages: list[Message]) -> str:
    """A conversation as one text: one message as it is, several under titles."""
    if len(messages) == 1:
        return clean(messages[0].content)
    return "\n\n".join(f"{TITLES.get(one.role, '# ' + one.role)}\n\n{clean(one.content)}" for one in messages) + "\n"


async def _exchanged(process: asyncio.subprocess.Process, prompt: bytes) -> tuple[bytes, bytes]:
    """Write the prompt and read what comes, both at once and no more than is wanted."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    _, out, said = await asyncio.gather(
        _fed(process.stdin, prompt), _read(process.stdout, MOST_BYTES + 1), _read(process.stderr, MOST_SAID)
    )
    return out, said


async def _fed(stdin: asyncio.StreamWriter, prompt: bytes) -> None:
    try:
        stdin.write(prompt)
        await stdin.drain()
        stdin.close()
        await stdin.wait_closed()
    except (BrokenPipeError, ConnectionResetError):  # it answers without reading to the end
        pass


async def _read(stream: asyncio.StreamReader, most: int) -> bytes:
    """The last ``most`` bytes of a stream, which is read to its end so that nobody waits."""
    kept = b""
    while piece := await stream.read(65536):
        kept = (kept + piece)[-most:]
    return kept


async def _ended(process: asyncio.subprocess.Process) -> None:
    """End the process and all that it started, and take leave of it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
    transport = getattr(process, "_transport", None)
    if transport is not None:  # its pipes would wait for the garbage collector
        transport.close()
