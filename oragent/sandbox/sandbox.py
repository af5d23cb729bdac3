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

# attempts at a command under which its server dies
LIVES = 2


# open files that the engine and its servers need, and for each command that runs at once
FILES, FILES_OF_WORKER = 128, 16


def require_open_files(count: int) -> None:
    """Make sure that this process and its children may open so many files at once, as far as its hard limit allows.

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
    """Runs commands, several at once, each in a process of its own; it knows nothing of what they are for.

    What holds a command depends on the machine; ``oragent doctor`` tells what there is of it.

    - Everywhere: limits, an allow-listed environment, no process of it left after its end, nobody else's text in the
      memory that it begins with.
    - With namespaces: there is no network, no other process is seen, and of the machine's files it sees, read-only,
      what programs need to start, Python, and ``root_dir`` without its runs and what begins with a dot; one without a
      lasting folder also, likewise, the folder ``beside`` it and that of the script that is kept warm. Of the folder
      that holds its lasting one it sees that one alone.
    - With Landlock: it writes only in its own folders, unless it is trusted and namespaces see to that; one with a
      lasting folder reads, beside these, only Python, the system's programs and libraries, and ``root_dir``, and so
      does one without, unless it is trusted, where namespaces do not see to that.
    - With seccomp: unless it is trusted, it neither makes namespaces nor mounts, traces, or reaches into the kernel;
      without a lasting folder it makes no socket.
    - Where root may become nobody, a lasting folder belongs to nobody in particular while a command runs in it.
    - With limits alone: all of this works, and nothing keeps a command from the files of its user, those in the
      lasting folders of others among them.

    Args:
        workers: Number of commands that run at once.
        warm: Whether Python scripts are forked from an interpreter that has imported what they need; otherwise each
            starts a fresh one, as by hand.
        alone: Whether nobody else here runs as many commands: then each stays on one processor, where there are
            workers for all of them.
        tell: Callback that gets a line, once for each script, where it cannot be forked from a warm interpreter; may
            be called from any thread. None: standard error.
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
        beside: CompanionFolder | None = None,
        device_line: int | None = None,
    ) -> CommandResult:
        """Run a command from its start to its end, whatever that is; may be called from several threads.

        A command under which its server dies is begun again, once; in a folder that lasts it finds what it did before.

        Args:
            command: Command to run. Commands with the same lasting folder run one after the other.
            root_dir: Folder that must stay readable to it, such as a project's.
            warm_up: Python script on disk whose imports are those of the command's own script, which is then forked
                from an interpreter that has done them.
            beside: Folder whose content is found beside the command's own files, where it has no lasting folder.
            device_line: Descriptor of a socket that the command finds open; a variable of its environment names it. The
                other end must treat the command as untrusted. None for none.

        Raises:
            SandboxError: if our own side fails: no server, no isolation that was there when it began, no folder.
            OSError: if the machine does: no room, no process to be had.
        """
        client = self.start(command.limits, root_dir=root_dir, warm_up=warm_up, beside=beside)
        queued_at = time.monotonic()
        with self._lock_folder(command) as command:
            for _ in range(LIVES):
                slot, worker = client.take_worker()
                started_at = time.monotonic()
                try:
                    ended = worker.run(command, device_line)
                except ConnectionClosed:
                    # it waits for another worker, and goes on waiting since it first did
                    worker.close()
                    client.give_back(slot, None)
                    continue
                except BaseException:
                    worker.kill()
                    client.give_back(slot, None)
                    raise
                client.give_back(slot, worker)
                return replace(ended, queued_s=started_at - queued_at)
        wall_s = time.monotonic() - started_at
        return CommandResult(EndReason.LOST, -signal.SIGKILL, queued_s=started_at - queued_at, wall_s=wall_s)

    def start(
        self,
        limits: Limits,
        *,
        root_dir: Path | None = None,
        warm_up: Path | None = None,
        beside: CompanionFolder | None = None,
    ) -> ServerClient:
        """The server for such commands; the first call starts it, and does not wait until it is warm."""
        if warm_up and self._warm:
            warm = resolve_path(warm_up)
        else:
            warm = None
        key = warm, root_dir and resolve_path(root_dir), beside, limits.memory_mb
        with self._lock:
            if key not in self._clients:
                self._clients[key] = ServerClient(*key[:3], limits, self._workers, self._alone, self._tell)
            return self._clients[key]

    def close(self) -> None:
        """End all servers, and what runs under them."""
        with self._lock:
            for client in self._clients.values():
                client.close()
            self._clients.clear()

    @contextmanager
    def _lock_folder(self, command: Command) -> Iterator[Command]:
        """Wait until nobody else works in the command's lasting folder."""
        if command.folder is None:
            yield command
            return
        folder = command.folder.resolve()
        if not folder.is_dir():
            raise SandboxError(f"the folder of a command must exist, and {command.folder} is none: make it first")
        if folder.parent == folder.parent.parent:
            raise SandboxError(
                f"the folder of a command cannot lie directly below the root of all files, as {folder} does"
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
