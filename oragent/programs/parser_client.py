"""Client of the process that parses untrusted text: parsing alone can hang a process or fill its memory.

The engine parses only text that this process accepted (see ``inspection``). Its answers are untrusted, too: JSON of
limited length, checked field by field.
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
from oragent._base.frames import HEAD, take_body
from oragent.programs.parser_worker import CPU_S, MEMORY_MB
from oragent.sandbox.isolation.mechanisms import FORBID

T = TypeVar("T")
# Maximum bytes of an answer: a canonical form, or the JSON of a reply.
MAX_ANSWER_BYTES = 64 << 20
# Wall-clock limit, for busy machines; the kernel limits CPU time.
PATIENCE_S = 120.0
# Maximum wait of an event loop for an answer; a usual text takes a tenth of it.
BRIEF_S = 0.005
# Maximum size of a request that a pipe accepts at once.
BRIEF_BYTES = 32 << 10
# Attempts at a request, because the child may die for other reasons than the text.
STARTS = 2
# Maximum number of remembered texts that ended a child.
REMEMBERED = 4096
ALLOWED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", FORBID)
PACKAGE = Path(__file__).parents[1]
BEGIN = "import sys; sys.path[:] = sys.argv[1:]; from oragent.programs.parser_worker import main; main()"


class ParseLimitExceeded(Exception):
    """A text cannot be parsed within the limits; the message is one line for its author."""


_THIS_THREAD = threading.local()


class _NotReadyYet(BaseException):
    """The answer is not available yet. A ``BaseException``, so that no handler treats it as a failure of the text."""


class _WorkerEnded(Exception):
    """The child has ended without an answer."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit code {code}")
        self.code = code


class ParserClient:
    """Client of one child, which is started on demand, and again after a text exceeded its limits."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._log: Any = None
        self._refused_requests: OrderedDict[bytes, str] = OrderedDict()
        self._received = bytearray()
        # Key of the request whose answer has not been read yet.
        self._pending = b""

    def request(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Send a request to the parser process.

        Returns:
            The answer, of which only the type has been checked.

        Raises:
            ParseLimitExceeded: The text exceeds the limits; remembered for later requests.
            OragentError: The child cannot be started.
        """
        body = json.dumps({"kind": kind, "fields": fields}).encode()
        key = hashlib.sha256(body).digest()
        if not self._lock.acquire(blocking=not _is_brief()):
            raise _NotReadyYet
        try:
            if key in self._refused_requests:
                raise ParseLimitExceeded(self._refused_requests[key])
            return self._request_once(key, body)
        except ParseLimitExceeded as problem:
            self._refused_requests[key] = str(problem)
            if len(self._refused_requests) > REMEMBERED:
                self._refused_requests.popitem(last=False)
            raise
        except _NotReadyYet:
            raise
        except BaseException:
            # After an interrupt, the next request would read the answer to this one.
            self.close()
            raise
        finally:
            self._lock.release()

    def close(self) -> None:
        """End the child, if any."""
        with self._lock:
            process, self._process = self._process, None
            self._received, self._pending = bytearray(), b""
            # After a fork, the parent process continues to use it.
            if process is None or self._owner != os.getpid():
                return
            process.kill()
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    if stream:
                        stream.close()
            process.wait()
            self._log.close()

    def _request_once(self, key: bytes, body: bytes) -> dict[str, Any]:
        if _is_brief() and len(body) > BRIEF_BYTES:
            raise _NotReadyYet
        code = 0
        for _ in range(STARTS):
            process = self._get_free_process(key)
            try:
                if not self._pending:
                    _send_request(process, body)
                    self._pending = key
                answer = self._read_message(process)
            except _WorkerEnded as problem:
                self.close()
                code = problem.code
                if code == -signal.SIGPROF:
                    break
                continue
            self._pending = b""
            # The child must not send unrequested data.
            if answer.get("last") is not False or self._received:
                self.close()
            if isinstance(content := answer.get("answer"), dict):
                return content
            raise ParseLimitExceeded(_describe_trouble(str(answer.get("trouble"))))
        raise ParseLimitExceeded(_describe_exit(code))

    def _get_free_process(self, key: bytes) -> subprocess.Popen[bytes]:
        """Return a process to which at most this request has been sent."""
        process = self._ensure_started()
        if self._pending in (b"", key):
            return process
        try:
            # The caller of the pending request will repeat it.
            must_restart = self._read_message(process).get("last") is not False
            self._pending = b""
        except _WorkerEnded:
            must_restart = True
        if must_restart:
            self.close()
        return self._ensure_started()

    def _ensure_started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._owner == os.getpid() and self._process.poll() is None:
            return self._process
        if _is_brief():
            raise _NotReadyYet
        self.close()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._owner = os.getpid()
        paths = [str(PACKAGE.parent), *dict.fromkeys(path for path in sys.path if Path(path).is_absolute())]
        environment = {name: os.environ[name] for name in ALLOWED if name in os.environ}
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", "-c", BEGIN, *paths],
            env={**environment, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            # An interrupt from the keyboard is handled by this process.
            start_new_session=True,
        )
        try:
            if self._read_message(self._process) == {"ready": True}:
                return self._process
            complaint = "it did not say that it is ready"
        except _WorkerEnded as problem:
            self._log.seek(0)
            lines = self._log.read()[-2000:].decode(errors="replace").strip().splitlines()
            complaint = lines[-1] if lines else str(problem)
        self.close()
        raise OragentError(f"the process that reads programs cannot be started: {complaint}")

    def _read_message(self, process: subprocess.Popen[bytes]) -> dict[str, Any]:
        """Wait for one message; `_WorkerEnded` if none comes, `_NotReadyYet` if this thread may not wait for it."""
        until = time.monotonic() + (BRIEF_S if _is_brief() else PATIENCE_S)
        while (body := take_body(self._received)) is None:
            self._receive_chunk(process, until)
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            raise _WorkerEnded(_exit_code_of(process)) from None
        if not isinstance(message, dict):
            raise _WorkerEnded(_exit_code_of(process))
        return message

    def _receive_chunk(self, process: subprocess.Popen[bytes], until: float) -> None:
        assert process.stdout
        descriptor = process.stdout.fileno()
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        ready = waiting.poll(max(0.0, until - time.monotonic()) * 1000)
        if not ready and _is_brief():
            raise _NotReadyYet
        chunk = os.read(descriptor, 1 << 20) if ready else b""
        if not chunk or len(self._received) > MAX_ANSWER_BYTES:
            raise _WorkerEnded(_exit_code_of(process))
        self._received += chunk


_CLIENT = ParserClient()


async def run_briefly(work: Callable[[], T]) -> T:
    """Run work that uses the parser process in an event loop: directly if answers come at once, else in a thread.

    A thread for each usual text would cost more than parsing it. The work is restarted if an answer takes longer, so it
    must have no side effects before.
    """
    _THIS_THREAD.is_brief = True
    try:
        return work()
    except _NotReadyYet:
        pass
    finally:
        _THIS_THREAD.is_brief = False
    return await asyncio.to_thread(work)


def _is_brief() -> bool:
    return getattr(_THIS_THREAD, "is_brief", False)


def _send_request(process: subprocess.Popen[bytes], body: bytes) -> None:
    assert process.stdin
    try:
        process.stdin.write(HEAD.pack(len(body)) + body)
        process.stdin.flush()
    except OSError:
        raise _WorkerEnded(_exit_code_of(process)) from None


def _exit_code_of(process: subprocess.Popen[bytes]) -> int:
    """Return the exit code of a child that does not answer; kill it if it still runs."""
    try:
        return process.wait(1.0)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _describe_trouble(what: str) -> str:
    if what == "memory":
        return f"the text takes more than {MEMORY_MB} MB to be read and compiled; write a simpler program"
    return "the text is nested too deeply to be read; write a simpler program"


def _describe_exit(code: int) -> str:
    if code == -signal.SIGPROF:
        return f"the text takes more than {CPU_S:g} s to be read and compiled; write a simpler program"
    ending = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return f"Python's own parser or compiler ends with the text ({ending}); write a simpler program"


atexit.register(_CLIENT.close)
request = _CLIENT.request
