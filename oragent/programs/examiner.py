"""Puts text of strangers to a child with limits, kept warm: parsing alone can hang a process, or fill its memory.

The engine parses only what the child has passed (``inspection`` says how), and takes what it answers for data from a
stranger: JSON of bounded length, checked field by field.
"""

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
from pathlib import Path
from typing import Any

from oragent.errors import OragentError
from oragent.isolation.means import FORBID
from oragent.programs.examining import CPU_S, HEAD, MEMORY_MB

__all__ = ["Examiner", "Hopeless", "ask"]

LONGEST = 64 << 20  # bytes of an answer: a canonical form, a reply's JSON
PATIENCE_S = 120.0  # by the clock on the wall, for a machine with other things to do; the kernel counts CPU time
STARTS = 2  # attempts at a request: what dies of something else must not blame the text
REMEMBERED = 4096  # texts that were the end of a child
ALLOWED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", FORBID)
PACKAGE = Path(__file__).parents[1]
BEGIN = "import sys; sys.path[:] = sys.argv[1:]; from oragent.programs.examining import main; main()"


class Hopeless(Exception):
    """A text cannot be read within the limits; the reason on one line, that it can be told to whoever wrote it."""


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
        with self._lock:
            if key in self._hopeless:
                raise Hopeless(self._hopeless[key])
            try:
                return self._asked(body)
            except Hopeless as problem:
                self._hopeless[key] = str(problem)
                if len(self._hopeless) > REMEMBERED:
                    self._hopeless.popitem(last=False)
                raise
            except BaseException:  # an interrupt: the answer to this would be taken for that to the next request
                self.close()
                raise

    def close(self) -> None:
        """End the child, if there is one."""
        with self._lock:
            process, self._process = self._process, None
            if process is None or self._owner != os.getpid():  # a fork's parent goes on using it
                return
            process.kill()
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    if stream:
                        stream.close()
            process.wait()
            self._log.close()

    def _asked(self, body: bytes) -> dict[str, Any]:
        code = 0
        for _ in range(STARTS):
            process = self._started()
            try:
                _write(process, body)
                answer = _read(process)
            except _Gone as problem:
                self.close()
                code = problem.code
                if code == -signal.SIGPROF:
                    break
                continue
            if answer.get("last") is not False:
                self.close()
            if isinstance(found := answer.get("answer"), dict):
                return found
            raise Hopeless(_trouble(str(answer.get("trouble"))))
        raise Hopeless(_ended(code))

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._owner == os.getpid() and self._process.poll() is None:
            return self._process
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
            if _read(self._process) == {"ready": True}:
                return self._process
            said = "it did not say that it is ready"
        except _Gone as problem:
            self._log.seek(0)
            lines = self._log.read()[-2000:].decode(errors="replace").strip().splitlines()
            said = lines[-1] if lines else str(problem)
        self.close()
        raise OragentError(f"the process that reads programs cannot be started: {said}")


def _write(process: subprocess.Popen[bytes], body: bytes) -> None:
    assert process.stdin
    try:
        process.stdin.write(HEAD.pack(len(body)) + body)
        process.stdin.flush()
    except OSError:
        raise _Gone(_code(process)) from None


def _read(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Wait for one message.

    Raises:
        _Gone: if none comes, or something that is none.
    """
    until = time.monotonic() + PATIENCE_S
    (length,) = HEAD.unpack(_bytes(process, HEAD.size, until))
    if length > LONGEST:
        raise _Gone(_code(process))
    try:
        message = json.loads(_bytes(process, length, until))
    except (ValueError, RecursionError):
        raise _Gone(_code(process)) from None
    if not isinstance(message, dict):
        raise _Gone(_code(process))
    return message


def _bytes(process: subprocess.Popen[bytes], count: int, until: float) -> bytes:
    assert process.stdout
    found = bytearray()
    place = process.stdout.fileno()
    while len(found) < count:
        waiting = select.poll()
        waiting.register(place, select.POLLIN)
        ready = waiting.poll(max(0.0, until - time.monotonic()) * 1000)
        chunk = os.read(place, min(count - len(found), 1 << 20)) if ready else b""
        if not chunk:
            raise _Gone(_code(process))
        found += chunk
    return bytes(found)


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
