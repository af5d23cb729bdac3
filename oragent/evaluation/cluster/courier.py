"""The engine's side of the courier: start it, put work to it, believe nothing that it says but in one form."""

import hashlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import IO, Any

from oragent._base.errors import SandboxError
from oragent._base.plain import plain
from oragent.evaluation.cluster import introduction
from oragent.evaluation.cluster.dispatch import Lost
from oragent.evaluation.cluster.introduction import Introduction
from oragent.evaluation.cluster.local import last_words
from oragent.evaluation.cluster.station import serve
from oragent.evaluation.cluster.wire import Wire
from oragent.sandbox.limits import environment

RESTARTS = 5  # of one run's courier
MOST_PLACES = 100_000
MOST_WORKERS = 20_000


class KnownWorkers:
    """The workers in use, by address: what each says of itself, and its places."""

    def __init__(self) -> None:
        self.workers: dict[str, tuple[Introduction, int]] = {}
        self.refused: dict[str, tuple[str, str]] = {}  # host, and why
        self.looked_at = 0  # those of whom it is not known yet whether they can be used

    def copy(self) -> "KnownWorkers":
        """What is known at this moment."""
        made = KnownWorkers()
        made.workers, made.refused, made.looked_at = dict(self.workers), dict(self.refused), self.looked_at
        return made

    @property
    def places(self) -> int:
        """Evaluations that they run at once."""
        return min(sum(places for _, places in list(self.workers.values())), MOST_PLACES)


class Courier:
    """An executor: what is put to it is done by a worker of the cluster.

    Args:
        order: What the courier's process is told first.
        event: Function that takes down, in one line each, what happens.
        changed: Function that is called, in a thread of ours, when there are other workers than before.
        moved: Function that is called with the scheduler's address, once at the start and whenever it is a new one.
        variables: Environment that its process has beside the allow-list, such as Dask's own.
    """

    def __init__(
        self,
        order: Mapping[str, Any],
        event: Callable[[str], None],
        changed: Callable[[], None],
        moved: Callable[[str], None],
        variables: Mapping[str, str],
    ) -> None:
        self._order, self._event, self._changed, self._moved = dict(order), event, changed, moved
        self._variables = dict(variables)
        self._futures: dict[int, Future[str]] = {}
        self._lock, self._number, self._starts = threading.Lock(), 0, 0
        self._closed, self._arrived, self._fatal = False, False, ""
        self._process: subprocess.Popen[bytes] | None = None
        self._wire: Wire | None = None
        self._reader: threading.Thread | None = None
        self._scratch = Path(tempfile.mkdtemp(prefix="oragent-courier-"))  # all that its process may write
        self.known = KnownWorkers()

    def start(self) -> None:
        """Start its process, and do not wait for a scheduler or a worker."""
        ours, theirs = socket.socketpair()
        self._starts += 1
        log = tempfile.TemporaryFile()  # noqa: SIM115
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "oragent.evaluation.cluster.bridge", str(theirs.fileno())],
                cwd=self._scratch, env=environment() | self._variables | {"TMPDIR": str(self._scratch)},
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, pass_fds=[theirs.fileno()],
            )  # fmt: skip
        self._wire = Wire(ours)
        self._send(self._order)
        self._reader = threading.Thread(target=self._read, args=(self._wire, self._process, log), daemon=True)
        self._reader.start()

    def submit(self, fn: Callable[..., str], /, *args: Any) -> "Future[str]":
        """Have a worker call our one function with a text.

        Raises:
            SandboxError: if nothing can be put to it any more.
        """
        if fn is not serve or len(args) != 1 or not isinstance(args[0], str):
            raise SandboxError("a courier takes one text for our own function, and nothing else")
        future: Future[str] = Future()
        with self._lock:
            if self._fatal or self._closed:
                raise SandboxError(self._fatal or "the cluster is closed")
            self._number += 1
            number = self._number
            self._futures[number] = future
        future.set_running_or_notify_cancel()
        key = hashlib.sha256(args[0].encode()).hexdigest()
        self._send({"do": "work", "number": number, "key": key, "request": args[0]})
        return future

    def settle(self, not_held: frozenset[str]) -> None:
        """From now on no worker is used that leaves more undone than this."""
        self._order["floor"] = sorted(not_held)
        self._send({"do": "floor", "floor": sorted(not_held)})

    def close(self) -> None:
        """End it; nothing that was put to it comes back."""
        self._closed = True
        if self._wire:
            self._wire.end()
        if self._process:
            self._process.kill()
            self._process.wait()
        if self._reader:
            self._reader.join()
        self._lose_all("the cluster is closed")
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _send(self, message: dict[str, Any]) -> None:
        try:
            if self._wire:
                self._wire.send(message)
        except OSError:
            pass  # its end is seen by who reads

    def _read(self, wire: Wire, process: "subprocess.Popen[bytes]", log: IO[bytes]) -> None:
        """Read what one courier says, to its end."""
        while (message := wire.receive()) is not None:
            try:
                self._take(message)
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError, SandboxError) as problem:
                self._event(f"the courier says what it should not ({type(problem).__name__}), and is replaced")
                break
        wire.close()
        process.kill()
        process.wait()
        said = last_words(log)
        log.close()
        self.known.workers.clear()
        self.known.looked_at = 0
        if not self._closed and not self._fatal:
            if self._starts <= RESTARTS and self._arrived:
                self._event(f"the courier ended, and another is started; its last words: {said}")
                self._lose_all("the courier is gone")
                self._changed()
                self.start()
                return
            self._fatal = f"the process that speaks with the cluster ended, {self._starts} times: {said}"
        self._lose_all(self._fatal)
        self._changed()

    def _take(self, message: dict[str, Any]) -> None:
        """Take one message of the courier's.

        Raises:
            KeyError, TypeError, ValueError, AttributeError, OverflowError, SandboxError: if it is none.
        """
        if "number" in message:
            lost = None if "answer" in message else Lost(_line(message["lost"]))  # else it is none
            with self._lock:
                future = self._futures.pop(int(message["number"]), None)
            if future is not None:
                if lost is None:
                    future.set_result(message["answer"])
                else:
                    future.set_exception(lost)
        elif "event" in message:
            self._event(_line(message["event"]))
        elif "joined" in message:
            self._join(str(message["joined"]), int(message["places"]), message["introduction"])
        elif "left" in message:
            if self.known.workers.pop(_line(message["left"]), None):
                self._event(f"worker {_line(message['left'])} is gone, or left alone for a while")
                self._changed()
        elif "refused" in message:
            if len(self.known.refused) < MOST_WORKERS:
                self.known.refused[_line(message["refused"])] = (_line(message["host"]), _line(message["why"]))
            self._changed()
        elif "looked_at" in message:
            self.known.looked_at = int(message["looked_at"])
            self._changed()
        elif "address" in message:
            address, self._arrived = _line(message["address"]), True
            threading.Thread(target=self._arrive, args=(address,), daemon=True).start()
        else:
            self._fatal = _line(message["fatal"])
            self._changed()

    def _arrive(self, address: str) -> None:
        """Start workers for a scheduler; what keeps them from being started ends the run."""
        try:
            self._moved(address)
        except Exception as problem:  # also of a library: nobody waits for workers that never come
            self._fatal = str(problem) or type(problem).__name__
            self._lose_all(self._fatal)
            self._changed()

    def _join(self, address: str, places: int, tree: object) -> None:
        if not 1 <= places <= MOST_PLACES or len(self.known.workers) >= MOST_WORKERS:
            raise ValueError("so many places")
        found = introduction.read(tree)
        self.known.workers[_line(address)] = found, places
        self._event(f"worker {_line(address)} on {found.host} begins, with {places} place{'s' if places > 1 else ''}")
        self._changed()

    @property
    def fatal(self) -> str:
        """Why nothing can be done any more; empty as long as something can."""
        return self._fatal

    def _lose_all(self, why: str) -> None:
        """Nothing comes back of what was put to a courier."""
        with self._lock:
            futures, self._futures = list(self._futures.values()), {}
        for future in futures:
            future.set_exception(SandboxError(self._fatal) if self._fatal else Lost(why))


def _line(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError("no text")
    return " ".join(plain(text).split())[:500]
