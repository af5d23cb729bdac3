"""Client of the evaluation servers: starts them, sends them commands, replaces those that die."""

import contextlib
import os
import queue
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oragent._base.errors import SandboxError
from oragent._base.frames import ConnectionClosed, receive_bytes, receive_message, send_message
from oragent.sandbox.isolation import process_usage
from oragent.sandbox.limits import join_stream as shown
from oragent.sandbox.limits import server_environment
from oragent.sandbox.messages import PYTHON, Command, CommandResult, CompanionFolder, Limits

# a worker answers its first message within this time
GRACE_S = 5.0
# one of which nothing is heard for so long is dead: it tells every other second that it watches
SILENT_S = 20.0
# the first import on a machine compiles kernels
START_S = 300.0
# so long after the end of all its processes a control group must be gone
REMOVE_S = 5.0
# attempts at a start before we give up
STARTS = 2
# where a server found that all mechanisms work, its next ones need not try them
_ALL_MECHANISMS: set[tuple[object, ...]] = set()
_COLD = "each evaluation starts a new interpreter and imports all it needs, which takes far longer than a fork"


@dataclass
class ServerConnection:
    """The connection to a process that runs one command at a time."""

    # socket to it
    connection: socket.socket
    # descriptor of the process, for a kill that cannot hit another one; -1 where the kernel has none
    handle: int
    # whether it has seen what no other command may find in its memory
    spent: bool = False

    def run(self, command: Command, device_line: int | None = None) -> CommandResult:
        """Have a command run, and wait for its end.

        Raises:
            Closed: if the worker dies under it, or does not answer any more.
            SandboxError: if it cannot be confined, or one of its texts is none.
        """
        texts = command.texts
        self.connection.settimeout(SILENT_S)
        self.spent = bool(command.folder or command.bring)
        try:
            lengths = [len(text) for text in texts]
            outline = command.outline.to_plain() | {"lengths": lengths}
            send_message(self.connection, outline, () if device_line is None else (device_line,), after=texts)
            answer: dict[str, Any] = {"watched": True}
            while "watched" in answer:
                answer, _ = receive_message(self.connection)
            out, err = (self._receive_stream(command, answer, lengths) for lengths in answer.pop("streams", ((), ())))
        except TimeoutError:
            self.kill()
            raise ConnectionClosed("no answer") from None
        if "trouble" in answer:
            raise SandboxError(f"a command cannot be confined as the one before it was: {answer['trouble']}")
        answer.pop("scratch")
        return CommandResult.from_plain(answer | {"stdout": out, "stderr": err})

    def _receive_stream(self, command: Command, answer: Mapping[str, Any], lengths: Sequence[int]) -> str:
        """One of its streams; files go by their names, as prompts quote it and where they lie may be new each time."""
        if not lengths:
            return ""
        head, dropped, tail = lengths
        printed = shown(receive_bytes(self.connection, head), dropped, receive_bytes(self.connection, tail))
        for folder in filter(None, (command.folder, answer["scratch"])):
            printed = printed.replace(f"{folder}{os.sep}", "").replace(str(folder), ".")
        return printed

    def kill(self) -> None:
        """End it, and what it runs, at once."""
        if self.handle >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.handle, signal.SIGKILL)
        self.close()

    def close(self) -> None:
        """Let it end: nobody will ask it any more."""
        self.connection.close()
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1


class ServerClient:
    """An evaluation server: started at once, ready when it has imported what it is to keep warm.

    Args:
        warm_up: Python script whose imports it keeps warm; None: every command starts a program of its own.
        beside: Folder whose content is found beside the files of a command; None for none.
    """

    def __init__(
        self,
        warm_up: Path | None,
        root_dir: Path | None,
        beside: CompanionFolder | None,
        limits: Limits,
        workers: int,
        alone: bool = True,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._tell = tell
        self._warm_up, self._root_dir, self._limits, self._workers = warm_up, root_dir, limits, workers
        self._beside, self._alone = beside, alone
        self._name = str(warm_up or root_dir or "commands without a project")
        self._lock = threading.Lock()
        self._free: queue.SimpleQueue[tuple[int, ServerConnection | None]] = queue.SimpleQueue()
        for slot in range(workers):
            self._free.put((slot, None))
        self._ready = self._closed = False
        self._start_server()

    def take_worker(self) -> tuple[int, ServerConnection]:
        """Wait for a free worker, or have one forked; a SandboxError if the server does not live that long."""
        slot, worker = self._free.get()
        try:
            return slot, worker or self._connect_worker(slot)
        except BaseException:
            self._free.put((slot, None))
            raise

    def give_back(self, slot: int, worker: ServerConnection | None) -> None:
        """Free a place, with the worker in it if that can be used again."""
        if worker and worker.spent:
            worker.close()
            worker = None
        self._free.put((slot, worker))

    def close(self) -> None:
        """End the server and everything in it."""
        with self._lock:
            self._closed = True
            while not self._free.empty():
                _, worker = self._free.get()
                if worker:
                    worker.close()
            self._stop_server()

    def _connect_worker(self, slot: int) -> ServerConnection:
        for _ in range(STARTS):
            with self._lock:
                if self._closed:
                    raise SandboxError("the sandbox is closed")
                control = self._control
                ours, theirs = socket.socketpair()
                try:
                    self._await_ready()
                    send_message(control, {"slot": slot}, (theirs.fileno(),))
                    theirs.close()
                    ours.settimeout(GRACE_S)
                    _, files = receive_message(ours)
                    return ServerConnection(ours, files[0] if files else -1)
                except (ConnectionClosed, TimeoutError):
                    # one of them may have failed
                    _ALL_MECHANISMS.clear()
                    ours.close()
                    theirs.close()
                    self._stop_server()
                    self._start_server()
        raise SandboxError(
            f"the evaluation server of {self._name} ends whenever it is started{self._describe_failure()}"
        )

    def _await_ready(self) -> None:
        if not self._ready:
            self._control.settimeout(START_S)
            hello, _ = receive_message(self._control)
            self._ready = True
            if hello["all_mechanisms"]:
                _ALL_MECHANISMS.add(_mechanisms_key())
            if self._warm_up is None:
                return
            # a fork would copy only one of them, and the locks that the others hold
            if hello["threads"] > 1:
                self._tell(f"{_COLD}: its imports start threads, which a fork would lose")
                self._warm_up = None
                raise ConnectionClosed("what is imported starts threads")
            if hello["python"] != PYTHON:
                self._tell(f"{_COLD}: the server runs {hello['python']}, and commands name {PYTHON}")

    def _start_server(self) -> None:
        self._ready = False
        self._scratch = Path(tempfile.mkdtemp(prefix="oragent-"))
        # a command that is nobody in particular goes through
        self._scratch.chmod(0o711)
        self._group = f"oragent-{os.urandom(8).hex()}"
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._control, theirs = socket.socketpair()
        command = [
            PYTHON,
            "-m",
            "oragent.sandbox.server",
            f"--socket={theirs.fileno()}",
            *([f"--warm-up={self._warm_up}"] if self._warm_up else []),
            *([f"--root-dir={self._root_dir}"] if self._root_dir else []),
            f"--scratch={self._scratch}",
            *([f"--beside={self._beside.folder.resolve()}"] if self._beside else []),
            *(f"--brought={name}" for name in (self._beside.brought if self._beside else ())),
            f"--workers={self._workers}",
            f"--memory-mb={self._limits.memory_mb}",
            f"--tasks={self._limits.processes}",
            f"--group={self._group}",
            *(["--alone"] if self._alone else []),
            *(["--all-mechanisms"] if _mechanisms_key() in _ALL_MECHANISMS else []),
        ]
        with theirs:
            self._process = subprocess.Popen(
                command,
                cwd=self._scratch,
                env=server_environment(),
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                start_new_session=True,
                pass_fds=[theirs.fileno()],
            )

    def _stop_server(self) -> None:
        self._control.close()
        # all others die with it
        self._process.kill()
        self._process.wait()
        self._log.seek(0)
        self._last_words = self._log.read()[-500:].decode(errors="replace")
        self._log.close()
        shutil.rmtree(self._scratch, ignore_errors=True)
        give_up = time.monotonic() + REMOVE_S
        while not process_usage.remove_groups(self._group) and time.monotonic() < give_up:
            # the last of its processes are just ending
            time.sleep(0.005)

    def _describe_failure(self) -> str:
        lines = [text for text in self._last_words.splitlines() if text.strip()]
        if lines:
            return f": {lines[-1]}"
        return ""


def _mechanisms_key() -> tuple[object, ...]:
    """Return what decides, within a process, which mechanisms work: user and environment."""
    return os.geteuid(), *sorted(server_environment().items())
