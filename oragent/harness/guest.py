"""The candidate in a process of its own, behind a callable: the scorer never runs it."""

import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from oragent.harness import frames, inside
from oragent.errors import CandidateError
from oragent.output import Capped
from oragent.protocol import Status

__all__ = ["Guest"]

LOOK_S = 0.05  # how often a silent guest is looked at: a dead one is noticed within this time
LOG_BYTES = 16384  # kept of what a candidate prints
CHUNK = 1 << 16
STATUSES = frozenset(Status) - {Status.OK}


class Guest:
    """Calls into a candidate, which lives in a forked and confined process.

    Fork it before data is loaded: what the scorer reads later is not in the guest's memory.

    Attributes:
        where: Name of the instance at hand, such as ``size 50, instance 3``; every failure's message ends with it.
        seconds: Wall seconds spent in calls.
        limit_s: Wall seconds that one call may take; None for as long as the evaluation has.
    """

    limit_s: float | None = None

    def __init__(self, candidate: Path, function: str, *, witness: bool = False) -> None:
        """Fork the guest.

        Args:
            candidate: Python file that defines the function.
            function: Name of the function that evolves.
            witness: Whether to fork a second, untouched guest too, for spot checks.

        Raises:
            CandidateError: ``rejected``, if the file is no UTF-8 text.
        """
        self.where = ""
        self.seconds = 0.0
        try:
            source = candidate.read_text(encoding="utf-8")
        except UnicodeDecodeError as problem:
            raise CandidateError(f"{candidate.name} is not UTF-8 text: {problem}", Status.REJECTED) from None
        self._main = _Process(candidate, source, function)
        self._witness = _Process(candidate, source, function) if witness else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (self._main, self._witness):
            if process is not None:
                process.close()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the candidate's function on copies of the arguments.

        Returns:
            What it returned, as plain data and fresh arrays; nothing about it is checked yet.

        Raises:
            CandidateError: if it raised, died, ran out of memory or returned what cannot travel.
        """
        return self._ask(self._main, None, args, kwargs)

    def run(self, loop: Callable[..., Any], *args: Any) -> Any:
        """Run ``loop(function, *args)`` beside the candidate, for heuristics that are called thousands of times.

        Args:
            loop: Module-level function of ours, imported before the fork.
            args: Rest of its arguments, copied.

        Returns:
            What the loop returned. It ran in reach of the candidate, so it is a claim: check it, and spot-check its
            decisions with ``witness``.
        """
        return self._ask(self._main, [loop.__module__, loop.__qualname__], args, {})

    def witness(self, *args: Any, **kwargs: Any) -> Any:
        """Call the candidate's function in a guest in which no loop ever ran."""
        if self._witness is None:
            raise ValueError("this guest was made without a witness")
        return self._ask(self._witness, None, args, kwargs)

    @property
    def log(self) -> str:
        """The head and tail of what the candidate printed."""
        return self._main.log.text()

    def _ask(self, process: "_Process", loop: list[str] | None, args: Any, kwargs: Any) -> Any:
        begun = time.perf_counter()
        try:
            answer = process.ask(frames.encode({"loop": loop, "args": args, "kwargs": kwargs}), self.limit_s)
            if isinstance(answer, dict) and answer.get("status") in STATUSES:
                raise CandidateError(str(answer.get("message")), answer["status"], str(answer.get("traceback")))
            if not isinstance(answer, dict) or "value" not in answer:
                raise CandidateError("broke the wire to its scorer", Status.REJECTED)
            return answer["value"]
        except CandidateError as problem:
            raise CandidateError(self._located(str(problem)), problem.status, problem.traceback) from None
        finally:
            self.seconds += time.perf_counter() - begun

    def _located(self, message: str) -> str:
        return f"{message} ({self.where})" if self.where else message


class _Process:
    """One guest process: its wire, its log, its end."""

    def __init__(self, path: Path, source: str, function: str) -> None:
        self.log = Capped(LOG_BYTES)
        self._status: int | None = None
        self._deadline: float | None = None
        self._wire, theirs = socket.socketpair()
        reader, writer = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        scorer = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            self._wire.close()
            inside.live(theirs, writer, scorer, path, source, function)
        theirs.close()
        os.close(writer)
        self._reader = reader
        os.set_blocking(reader, False)
        self._poll = select.poll()
        self._poll.register(self._wire, select.POLLIN)
        self._poll.register(reader, select.POLLIN)

    def ask(self, request: bytes, limit_s: float | None = None) -> Any:
        """Send a request and wait for its answer, for the guest's death, or for whoever interrupts us."""
        self._deadline = None if limit_s is None else time.monotonic() + limit_s
        try:
            self._wire.sendall(request)
        except (BrokenPipeError, ConnectionResetError):
            raise self._death() from None
        try:
            head = self._read(frames.HEAD.size)
            header, payload = frames.HEAD.unpack(head)
            frames.check_lengths(header, payload)
            return frames.decode(self._read(header), self._read(payload))
        except frames.FrameError as problem:
            raise CandidateError(f"returned {problem}", Status.INVALID) from None

    def close(self) -> None:
        """End the guest, whatever it is doing."""
        if self._status is None:
            os.kill(self._pid, signal.SIGKILL)
            self._reap(0)
        if self._reader >= 0:
            self._drain()
            self._wire.close()
            os.close(self._reader)
            self._reader = -1

    def _read(self, length: int) -> bytes:
        buffer = bytearray()
        while len(buffer) < length:
            if self._deadline is not None and time.monotonic() > self._deadline:
                self.close()
                raise CandidateError("took too long for one call", Status.TIMEOUT)
            ready = dict(self._poll.poll(LOOK_S * 1000))
            if self._reader in ready:
                self._drain()
            if self._wire.fileno() in ready:
                try:
                    chunk = self._wire.recv(min(length - len(buffer), 1 << 20))
                except ConnectionResetError:  # it ended before it had read all of the request
                    chunk = b""
                if not chunk:
                    raise self._death()
                buffer += chunk
            elif not ready and self._reap(os.WNOHANG):
                raise self._death()
        return bytes(buffer)

    def _drain(self) -> None:
        try:
            while chunk := os.read(self._reader, CHUNK):
                self.log.add(chunk)
                if len(chunk) < CHUNK:
                    return
            self._poll.unregister(self._reader)
        except (BlockingIOError, KeyError):
            return

    def _reap(self, options: int) -> bool:
        if self._status is None:
            pid, status = os.waitpid(self._pid, options)
            if pid:
                self._status = status
        return self._status is not None

    def _death(self) -> CandidateError:
        """Ask the kernel why the guest is gone."""
        if not self._reap(os.WNOHANG):
            time.sleep(LOOK_S)  # the wire closes a moment before the process can be reaped
            if not self._reap(os.WNOHANG):
                return CandidateError("closed the wire to its scorer", Status.CRASHED)
        code = os.waitstatus_to_exitcode(self._status or 0)
        if code == -signal.SIGXCPU:
            return CandidateError("ran out of CPU time", Status.TIMEOUT)
        reason = f"with exit code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"
        return CandidateError(f"ended its own process {reason}", Status.CRASHED)
