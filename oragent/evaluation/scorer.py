"""Client of the process that keeps networks on a device: starts it, opens connections, replaces it."""

import contextlib
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from oragent._base.errors import SandboxError
from oragent.sandbox.limits import server_environment

SERVING = "oragent.solvers.attention_bias.serving"
MEMORY_MB = 16_384  # of the process, and of the device
START_S = 300.0  # the first import of PyTorch's CUDA build on a machine takes a minute, the driver its time
IDLE_S = 600.0  # an evaluation that waits for the device uses no CPU, and sleeps longer than others may
LIVES = 3  # attempts at an evaluation under which the process dies
WORD = 64  # bytes of what goes with a line
LAST_WORDS = 300


class DeviceScorer:
    """A process outside of any evaluation's bounds that owns a device; it is started when it is first needed.

    Nothing of a candidate gets there but the numbers of its biases. What an evaluation may send, that process bounds
    and checks; how long the device may compute for it, the engine says here.

    Args:
        device: Device, as PyTorch names it.
        root_dir: Root of the project, where weights are.
        memory_mb: Memory of the process, and on the device, in MiB.
    """

    def __init__(self, device: str, root_dir: Path, memory_mb: int = MEMORY_MB) -> None:
        self._device, self._root_dir, self._memory_mb = device, root_dir, memory_mb
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self.starts = 0
        self.again = threading.Lock()  # whom it died under tries again alone

    def open_line(self, seconds: float) -> tuple[socket.socket, int]:
        """A line for one evaluation, and the number of the life of the process that it leads to.

        Args:
            seconds: Seconds that the device may compute for it.

        Raises:
            SandboxError: if the process ends whenever it is started.
        """
        ours, theirs = socket.socketpair()
        with contextlib.ExitStack() as failed, theirs, self._lock:
            failed.callback(ours.close)
            for _ in range(2):
                self._start_process()
                assert self._control is not None
                with contextlib.suppress(OSError):
                    socket.send_fds(self._control, [f"line {seconds:.3f}".encode().ljust(WORD)], [theirs.fileno()])
                    failed.pop_all()
                    return ours, self.starts
                self._stop_process()
        raise SandboxError(f"the process that computes on {self._device} takes no evaluation")

    def is_in_life(self, life: int) -> bool:
        """Return True if the process is still in that life."""
        with self._lock:
            return self.starts == life and self._process is not None and self._process.poll() is None

    def close(self) -> None:
        """End it; who asks for a line next has it started again."""
        with self._lock:
            self._stop_process()

    def _start_process(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self._stop_process()
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs, tempfile.TemporaryFile() as log:
            command = [
                sys.executable, "-m", SERVING, f"--socket={theirs.fileno()}",
                f"--root-dir={self._root_dir.resolve()}", f"--device={self._device}", f"--memory-mb={self._memory_mb}",
            ]  # fmt: skip
            self._process = subprocess.Popen(
                command,
                env=server_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
                pass_fds=[theirs.fileno()],
            )
            theirs.close()
            self._control, self.starts = control, self.starts + 1
            control.settimeout(START_S)
            try:
                hello = control.recv(16)
            except OSError:
                hello = b""
            if not hello:
                self._stop_process()
                log.seek(0)
                words = log.read()[-4000:].decode(errors="replace").strip().splitlines() or ["it said nothing"]
                raise SandboxError(f"no process can compute on {self._device}: {words[-1][:LAST_WORDS]}")

    def _stop_process(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._control = self._process = None
