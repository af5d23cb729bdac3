"""Entry point of the sandbox: run a command and return its result."""

import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Condition, Lock
from typing import Self

from oragent._base.errors import SandboxError
from oragent._base.files import resolve_path
from oragent._base.frames import ConnectionClosed
from oragent._base.text_format import escape_text
from oragent.sandbox.client import ServerClient
from oragent.sandbox.folders import hand_over, open_folder
from oragent.sandbox.messages import Command, CommandResult, CompanionFolder, EndReason, Limits

# Attempts to run a command if its server dies.
LIVES = 2


# Open files that the engine and its servers need, and those per concurrent command.
FILES, FILES_OF_WORKER = 128, 16


def require_open_files(count: int) -> None:
    """Raise the limit on open files of this process and its children to a number, if necessary.

    Raises:
        SandboxError: The hard limit is lower.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= count:
        return
    if hard != resource.RLIM_INFINITY and hard < count:
        raise SandboxError(
            f"a process may open only {hard} files here, and {count} are needed: run 'ulimit -n {count}'"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


class Sandbox:
    """Runner of untrusted commands, each in its own process, several at once.

    The confinement depends on the machine; ``oragent doctor`` prints it.

    - Everywhere: resource limits, allow-listed variables, no process left at the end, no data of other commands in the
      initial memory.
    - With namespaces: no network and no other processes. Of the machine's files it sees, read-only, the files that
      programs need to start, Python, and ``root_dir`` without its runs and hidden files. Without a persistent folder it
      also sees the companion folder and the folder of the warm-up script. With one, it sees no sibling of this folder.
    - With Landlock: it writes only to its own folders, unless it is trusted and namespaces enforce this. With a
      persistent folder it also reads only Python, system programs and libraries, and ``root_dir``. Without one, the
      same holds for untrusted commands if there are no namespaces.
    - With seccomp: an untrusted command cannot create namespaces, mount, trace or reach into the kernel. Without a
      persistent folder it cannot create sockets.
    - If root can become an unprivileged user, a persistent folder belongs to that user while a command runs in it.
    - With limits alone: a command can access all files of its user, persistent folders of other commands included.

    Args:
        workers: Number of commands that run at once.
        warm: Whether Python scripts are forked from an interpreter that has imported their modules; otherwise each
            starts a new interpreter.
        alone: Whether no other sandbox on this machine runs as many commands. If so, and if there are workers for all
            processors, each worker stays on one processor.
        tell: Callback for a note if a script cannot be forked from a warm interpreter, called once per script from any
            thread. None: standard error.
    """

    def __init__(
        self,
        workers: int = 1,
        *,
        warm: bool = True,
        alone: bool = True,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        if workers < 1:
            raise ValueError(f"workers must be positive, not {workers}")
        require_open_files(FILES + FILES_OF_WORKER * workers)
        self._workers, self._warm, self._alone = workers, warm, alone
        self._tell = tell or _print_note
        self._clients: dict[tuple[Path | None, Path | None, CompanionFolder | None, int], ServerClient] = {}
        self._lock = Lock()
        self._occupied: set[Path] = set()
        self._released = Condition()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __call__(
        self,
        command: Command,
        *,
        root_dir: Path | None = None,
        warm_up: Path | None = None,
        companion_folder: CompanionFolder | None = None,
        device_line: int | None = None,
    ) -> CommandResult:
        """Run a command and return its result; several threads may call this.

        A command whose server dies is started once more, in a persistent folder with the files of the first attempt.

        Args:
            command: Command to run. Commands with the same persistent folder run one after the other.
            root_dir: Folder that stays readable, such as a project.
            warm_up: Python script whose imports are those of the command's script, which is then forked from an
                interpreter that has done them.
            companion_folder: Folder whose content a command without a persistent folder finds next to its files.
            device_line: Descriptor of a socket that the command inherits; an environment variable names it. The other
                end must treat the command as untrusted. None for none.

        Raises:
            SandboxError: The sandbox failed: no server, no folder, or a mechanism that no longer works.
            OSError: The machine failed, for example for lack of disk space or processes.
        """
        client = self.start(command.limits, root_dir=root_dir, warm_up=warm_up, companion_folder=companion_folder)
        queued_at = time.monotonic()
        with self._lock_folder(command) as command:
            for _ in range(LIVES):
                slot, worker = client.take_worker()
                started_at = time.monotonic()
                try:
                    result = worker.run(command, device_line)
                except ConnectionClosed:
                    # The command waits for another worker; its queueing time continues.
                    worker.close()
                    client.give_back(slot, None)
                    continue
                except BaseException:
                    worker.kill()
                    client.give_back(slot, None)
                    raise
                client.give_back(slot, worker)
                return replace(result, queued_s=started_at - queued_at)
        wall_s = time.monotonic() - started_at
        return CommandResult(EndReason.LOST, -signal.SIGKILL, queued_s=started_at - queued_at, wall_s=wall_s)

    def start(
        self,
        limits: Limits,
        *,
        root_dir: Path | None = None,
        warm_up: Path | None = None,
        companion_folder: CompanionFolder | None = None,
    ) -> ServerClient:
        """Return the server for such commands. The first call starts it and does not wait until it is ready."""
        warm = resolve_path(warm_up) if warm_up and self._warm else None
        key = warm, root_dir and resolve_path(root_dir), companion_folder, limits.memory_mb
        with self._lock:
            if key not in self._clients:
                self._clients[key] = ServerClient(*key[:3], limits, self._workers, self._alone, self._tell)
            return self._clients[key]

    def close(self) -> None:
        """End all servers and their commands."""
        with self._lock:
            for client in self._clients.values():
                client.close()
            self._clients.clear()

    @contextmanager
    def _lock_folder(self, command: Command) -> Iterator[Command]:
        """Wait until no other command uses the command's persistent folder."""
        if command.folder is None:
            yield command
            return
        folder = command.folder.resolve()
        if not folder.is_dir():
            raise SandboxError(f"the folder {command.folder} of a command does not exist: create it first")
        if folder.parent == folder.parent.parent:
            raise SandboxError(
                f"the folder of a command cannot be directly below the root of the file system, as {folder} is"
            )
        with self._released:
            self._released.wait_for(lambda: folder not in self._occupied)
            self._occupied.add(folder)
        owner = folder.stat()
        try:
            yield replace(command, folder=folder)
        finally:
            if folder.is_dir() and folder.stat().st_uid != owner.st_uid:
                with open_folder(folder) as descriptor:
                    hand_over(descriptor, owner.st_uid, owner.st_gid)
            with self._released:
                self._occupied.discard(folder)
                self._released.notify_all()


def _print_note(note: str) -> None:
    print(f"note: {escape_text(note)}", file=sys.stderr, flush=True)
