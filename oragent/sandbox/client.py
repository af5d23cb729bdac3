"""Client of the evaluation servers: starts them, sends them commands and replaces servers that die."""

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

# Time within which a worker must answer its first message.
GRACE_S = 5.0
# A worker that sends nothing for this time is dead: live workers send a heartbeat every two seconds.
SILENT_S = 20.0
# Time to become ready. The first import on a machine compiles kernels.
START_S = 300.0
# Time within which a control group can be removed after its last process has ended.
REMOVE_S = 5.0
# Attempts to start a server.
STARTS = 2
# Users and environments for which a server found that all mechanisms work. Later servers skip the probe.
_ALL_MECHANISMS: set[tuple[object, ...]] = set()
_COLD = "each evaluation starts a new interpreter and repeats all imports, which is much slower than a fork"


@dataclass
class ServerConnection:
    """Connection to a worker process, which runs one command at a time."""

    # Socket to the worker.
    connection: socket.socket
    # Process descriptor, so that a kill cannot hit another process; -1 if the kernel has no such descriptors.
    handle: int
    # True if the memory of the worker may hold data that later commands must not read.
    spent: bool = False

    def run(self, command: Command, device_line: int | None = None) -> CommandResult:
        """Run a command and wait for its end.

        Raises:
            ConnectionClosed: The worker died or does not answer.
            SandboxError: The command cannot be confined, or one of its texts cannot be encoded.
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
            raise SandboxError(f"the command cannot be confined as earlier ones were: {answer['trouble']}")
        answer.pop("scratch")
        return CommandResult.from_plain(answer | {"stdout": out, "stderr": err})

    def _receive_stream(self, command: Command, answer: Mapping[str, Any], lengths: Sequence[int]) -> str:
        """Receive one output stream and remove folder paths, which can differ from run to run, from file names."""
        if not lengths:
            return ""
        head, dropped, tail = lengths
        printed = shown(receive_bytes(self.connection, head), dropped, receive_bytes(self.connection, tail))
        for folder in filter(None, (command.folder, answer["scratch"])):
            printed = printed.replace(f"{folder}{os.sep}", "").replace(str(folder), ".")
        return printed

    def kill(self) -> None:
        """Kill the worker and the command that it runs."""
        if self.handle >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.handle, signal.SIGKILL)
        self.close()

    def close(self) -> None:
        """Close the connection, after which the worker ends by itself."""
        self.connection.close()
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1


class ServerClient:
    """Client of one evaluation server, which starts at once and is ready when its warm-up imports are done.

    Args:
        warm_up: Python script whose imports the server keeps loaded. None: every command starts a new interpreter.
        companion_folder: Folder whose content every command finds next to its own files; None for none.
    """

    def __init__(
        self,
        warm_up: Path | None,
        root_dir: Path | None,
        companion_folder: CompanionFolder | None,
        limits: Limits,
        workers: int,
        alone: bool = True,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._tell = tell
        self._warm_up, self._root_dir, self._limits, self._workers = warm_up, root_dir, limits, workers
        self._beside, self._alone = companion_folder, alone
        self._name = str(warm_up or root_dir or "commands without a project")
        self._lock = threading.Lock()
        self._free: queue.SimpleQueue[tuple[int, ServerConnection | None]] = queue.SimpleQueue()
        for slot in range(workers):
            self._free.put((slot, None))
        self._ready = self._closed = False
        self._start_server()

    def take_worker(self) -> tuple[int, ServerConnection]:
        """Wait for a free worker, or fork one. Raise SandboxError if the server dies repeatedly."""
        slot, worker = self._free.get()
        try:
            return slot, worker or self._connect_worker(slot)
        except BaseException:
            self._free.put((slot, None))
            raise

    def give_back(self, slot: int, worker: ServerConnection | None) -> None:
        """Release a slot, together with its worker if the worker can run another command."""
        if worker and worker.spent:
            worker.close()
            worker = None
        self._free.put((slot, worker))

    def close(self) -> None:
        """End the server and all its processes."""
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
                    # A mechanism may have stopped working, so the next server probes them again.
                    _ALL_MECHANISMS.clear()
                    ours.close()
                    theirs.close()
                    self._stop_server()
                    self._start_server()
        raise SandboxError(f"the evaluation server of {self._name} ended at each start{self._describe_failure()}")

    def _await_ready(self) -> None:
        if not self._ready:
            self._control.settimeout(START_S)
            hello, _ = receive_message(self._control)
            self._ready = True
            if hello["all_mechanisms"]:
                _ALL_MECHANISMS.add(_mechanisms_key())
            if self._warm_up is None:
                return
            # A fork copies only the calling thread, and the locks that other threads hold stay locked.
            if hello["threads"] > 1:
                self._tell(f"{_COLD}: its imports start threads, which a fork would lose")
                self._warm_up = None
                raise ConnectionClosed("the imports start threads")
            if hello["python"] != PYTHON:
                self._tell(f"{_COLD}: the server runs {hello['python']}, and commands name {PYTHON}")

    def _start_server(self) -> None:
        self._ready = False
        self._scratch = Path(tempfile.mkdtemp(prefix="oragent-"))
        # Commands that run as another user must be able to pass through this folder.
        self._scratch.chmod(0o711)
        self._group = f"oragent-{os.urandom(8).hex()}"
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._control, theirs = socket.socketpair()
        command = [
            PYTHON,
            "-P",
            "-m",
            "oragent.sandbox.server",
            f"--socket={theirs.fileno()}",
            *([f"--warm-up={self._warm_up}"] if self._warm_up else []),
            *([f"--root-dir={self._root_dir}"] if self._root_dir else []),
            f"--scratch={self._scratch}",
            *([f"--companion-folder={self._beside.folder.resolve()}"] if self._beside else []),
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
        # The other processes of the server end with this one.
        self._process.kill()
        self._process.wait()
        self._log.seek(0)
        self._last_words = self._log.read()[-500:].decode(errors="replace")
        self._log.close()
        shutil.rmtree(self._scratch, ignore_errors=True)
        give_up = time.monotonic() + REMOVE_S
        while not process_usage.remove_groups(self._group) and time.monotonic() < give_up:
            # Its last processes are still ending.
            time.sleep(0.005)

    def _describe_failure(self) -> str:
        lines = [text for text in self._last_words.splitlines() if text.strip()]
        if lines:
            return f": {lines[-1]}"
        return ""


def _mechanisms_key() -> tuple[object, ...]:
    """Return the user and the environment, which decide which mechanisms work."""
    return os.geteuid(), *sorted(server_environment().items())
