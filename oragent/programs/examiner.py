"""Puts text of strangers to a child with limits, kept warm: parsing alone can hang a process, or fill its memory.

The engine parses only what the child has passed (``inspection`` says how), and takes what it answers for data from a
stranger: JSON of bounded length, checked field by field.
"""

import asyncio
import atexit
import contextlib
import hashlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from oragent._base.errors import OragentError
from oragent.programs.examining import CPU_S, HEAD, MEMORY_MB
from oragent.sandbox.isolation.means import FORBID

T = TypeVar("T")
LONGEST = 64 << 20  # bytes of an answer: a canonical form, a reply's JSON
PATIENCE_S = 120.0  # by the clock on the wall, for a machine with other things to do; the kernel counts CPU time
BRIEF_S = 0.005  # what an event loop waits for an answer; a usual text takes a tenth of that
BRIEF_BYTES = 32 << 10  # of a request that a pipe takes at once
STARTS = 2  # attempts at a request: what dies of something else must not blame the text
REMEMBERED = 4096  # texts that were the end of a child
ALLOWED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", FORBID)
PACKAGE = Path(__file__).parents[1]
BEGIN = "import sys; sys.path[:] = sys.argv[1:]; from oragent.programs.examining import main; main()"


class Hopeless(Exception):
    """A text cannot be read within the limits; the reason on one line, that it can be told to whoever wrote it."""


_THIS_THREAD = threading.local()


class _Later(BaseException):
    """The answer is not there at once; nobody on the way takes this for a failure of the text."""


class _Gone(Exception):
    """The child has ended without an answer."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit code {code}")
        self.code = code


class Examiner:
    """One child, started when it is first needed, and again when a text was too much for it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._log: Any = None
        self._hopeless: OrderedDict[bytes, str] = OrderedDict()
        self._received = bytearray()
        self._pending = b""  # key of the request whose answer nobody has waited for yet

    def ask(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Have a text examined.

        Args:
            kind: Name of one of ``examining.REQUESTS``.
            fields: Its arguments, plain data.

        Returns:
            What it answers; nothing about it is checked yet, but that it is an object.

        Raises:
            Hopeless: if the text takes more than it may; from the second time on at once.
            OragentError: if no child can be started.
        """
        body = json.dumps({"kind": kind, "fields": fields}).encode()
        key = hashlib.sha256(body).digest()
        if not self._lock.acquire(blocking=not _is_brief()):
            raise _Later
        try:
            if key in self._hopeless:
                raise Hopeless(self._hopeless[key])
            return self._asked(key, body)
        except Hopeless as problem:
            self._hopeless[key] = str(problem)
            if len(self._hopeless) > REMEMBERED:
                self._hopeless.popitem(last=False)
            raise
        except _Later:
            raise
        except BaseException:  # an interrupt: the answer to this would be taken for that to the next request
            self.close()
            raise
        finally:
            self._lock.release()

    def close(self) -> None:
        """End the child, if there is one."""
        with self._lock:
            process, self._process = self._process, None
            self._received, self._pending = bytearray(), b""
            if process is None or self._owner != os.getpid():  # a fork's parent goes on using it
                return
            process.kill()
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    if stream:
                        stream.close()
            process.wait()
            self._log.close()

    def _asked(self, key: bytes, body: bytes) -> dict[str, Any]:
        if _is_brief() and len(body) > BRIEF_BYTES:
            raise _Later
        code = 0
        for _ in range(STARTS):
            process = self._free(key)
            try:
                if not self._pending:
                    _write(process, body)
                    self._pending = key
                answer = self._message(process)
            except _Gone as problem:
                self.close()
                code = problem.code
                if code == -signal.SIGPROF:
                    break
                continue
            self._pending = b""
            if answer.get("last") is not False or self._received:  # nobody has asked for more
                self.close()
            if isinstance(found := answer.get("answer"), dict):
                return found
            raise Hopeless(_trouble(str(answer.get("trouble"))))
        raise Hopeless(_ended(code))

    def _free(self, key: bytes) -> subprocess.Popen[bytes]:
        """A child to which this request, and no other, may have been put already."""
        process = self._started()
        if self._pending in (b"", key):
            return process
        try:
            worn = self._message(process).get("last") is not False  # whoever waits for that will ask again
            self._pending = b""
        except _Gone:
            worn = True
        if worn:
            self.close()
        return self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._owner == os.getpid() and self._process.poll() is None:
            return self._process
        if _is_brief():
            raise _Later
        self.close()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._owner = os.getpid()
        paths = [str(PACKAGE.parent), *dict.fromkeys(path for path in sys.path if Path(path).is_absolute())]
        given = {name: os.environ[name] for name in ALLOWED if name in os.environ}
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", "-c", BEGIN, *paths],
            env={**given, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,  # an interrupt from the keyboard is ours to handle
        )
        try:
            if self._message(self._process) == {"ready": True}:
                return self._process
            said = "it did not say that it is ready"
        except _Gone as problem:
            self._log.seek(0)
            lines = self._log.read()[-2000:].decode(errors="replace").strip().splitlines()
            said = lines[-1] if lines else str(problem)
        self.close()
        raise OragentError(f"the process that reads programs cannot be started: {said}")

    def _message(self, process: subprocess.Popen[bytes]) -> dict[str, Any]:
        """Wait for one message.

        Raises:
            _Gone: if none comes, or something that is none.
            _Later: if this thread may not wait for it.
        """
        until = time.monotonic() + (BRIEF_S if _is_brief() else PATIENCE_S)
        while (end := _end(self._received)) is None:
            self._receive(process, until)
        body = bytes(self._received[HEAD.size : end])
        del self._received[:end]
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            raise _Gone(_code(process)) from None
        if not isinstance(message, dict):
            raise _Gone(_code(process))
        return message

    def _receive(self, process: subprocess.Popen[bytes], until: float) -> None:
        assert process.stdout
        place = process.stdout.fileno()
        waiting = select.poll()
        waiting.register(place, select.POLLIN)
        ready = waiting.poll(max(0.0, until - time.monotonic()) * 1000)
        if not ready and _is_brief():
            raise _Later
        chunk = os.read(place, 1 << 20) if ready else b""
        if not chunk or len(self._received) > LONGEST:
            raise _Gone(_code(process))
        self._received += chunk


async def run_briefly(work: Callable[[], T]) -> T:
    """Do, for an event loop, what has texts examined: at once where the answers come at once, else in a thread.

    A thread for each usual text would cost more than the text does.

    Args:
        work: Function that asks; it begins anew where an answer takes longer, and may change nothing before.
    """
    _THIS_THREAD.is_brief = True
    try:
        return work()
    except _Later:
        pass
    finally:
        _THIS_THREAD.is_brief = False
    return await asyncio.to_thread(work)


def _is_brief() -> bool:
    """Whether this thread may not wait."""
    return getattr(_THIS_THREAD, "is_brief", False)


def _write(process: subprocess.Popen[bytes], body: bytes) -> None:
    assert process.stdin
    try:
        process.stdin.write(HEAD.pack(len(body)) + body)
        process.stdin.flush()
    except OSError:
        raise _Gone(_code(process)) from None


def _end(received: bytearray) -> int | None:
    """Where the first message ends; None as long as it is not whole."""
    if len(received) < HEAD.size:
        return None
    end = HEAD.size + int(HEAD.unpack_from(received)[0])
    return end if end <= len(received) else None


def _code(process: subprocess.Popen[bytes]) -> int:
    """How a child that gives no answer has ended, or is ended now."""
    try:
        return process.wait(1.0)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _trouble(what: str) -> str:
    if what == "memory":
        return f"the text takes more than {MEMORY_MB} MB to be read and compiled; write a simpler program"
    return "the text is nested too deeply to be read; write a simpler program"


def _ended(code: int) -> str:
    if code == -signal.SIGPROF:
        return f"the text takes more than {CPU_S:g} s to be read and compiled; write a simpler program"
    ending = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return f"Python's own parser or compiler ends with the text ({ending}); write a simpler program"


_EXAMINER = Examiner()
atexit.register(_EXAMINER.close)
ask = _EXAMINER.ask
