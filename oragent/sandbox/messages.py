"""Commands and their results, as plain data."""

import base64
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any, Self

from oragent._base.errors import SandboxError

# Without links and ".." in its folder: the interpreter gets the same name in every process that it starts. Its own link
# stays, since a virtual environment is recognised by it.
PYTHON = os.path.join(os.path.realpath(os.path.dirname(sys.executable)), os.path.basename(sys.executable))
# in a word of a command, the path of its folder: known only when it begins, and no word can hold this
FOLDER = "\0"
# of its memory, for all processes of a command: a scorer and two guests may each use theirs
SHARE = 3
NO_NAMES = frozenset(("", ".", ".."))
# in a part of a file's name, as file systems have it
NAME_CHARACTERS = 255


class EndReason(StrEnum):
    """Why it ended."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    DEADLINE = "deadline"
    MEMORY = "memory"
    LOST = "lost"


@dataclass(frozen=True)
class Limits:
    """Bounds of one command.

    Attributes:
        cpu_s: CPU seconds, user and system, of all its processes together, living or not; after them it is ended.
            Where nobody counts them while it runs, seconds by the clock take their place.
        memory_mb: Data of each of its processes beyond what is there when it begins, in MiB: memory that is private
            and can be written, touched or not. All processes together may hold ``SHARE`` times as much.
        counts_used_memory: Whether ``memory_mb`` bounds the memory that all its processes use together, looked at
            several times a second, and what they reserve is bounded by ``SHARE`` times that alone: stacks of threads
            and arenas of solvers are reserved and hardly used.
        file_mb: Size of any file that it writes, of all of them where its folder lies in memory, and of all that is
            brought back, in MiB. What it leaves in a folder that lasts is bounded file by file alone.
        processes: Most processes and threads that it may have.
        output_kb: Size of what is kept of standard output and of standard error, in KiB each; the rest is read and
            dropped.
        idle_s: Seconds by the clock after which it is ended when it used no CPU in all that time: it sleeps.
        wall_s: Seconds by the clock, from its start, after which it is ended in any case; None for no such limit, as a
            busy machine makes every program slow.
    """

    cpu_s: float = 60.0
    memory_mb: int = 2048
    file_mb: int = 64
    processes: int = 64
    output_kb: int = 1024
    idle_s: float = 30.0
    wall_s: float | None = None
    counts_used_memory: bool = False

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not isinstance(value, bool) and value <= 0:
                raise ValueError(f"{name} must be positive, not {value}")


@dataclass(frozen=True)
class CompanionFolder:
    """A folder whose content is found, by links and read-only, beside the files of every command of a server."""

    # existing folder; what begins with a dot in it, and its runs, stay out
    folder: Path
    # names of the files that each command brings itself, in place of the folder's
    brought: tuple[str, ...] = ()


@dataclass(frozen=True)
class Command:
    """A program to be run, with all that it may use.

    Attributes:
        argv: Words of the command line, the program first. A word that names one of ``files`` becomes the path at which
            that lies; ``PYTHON`` is the interpreter that runs us; any other program is looked for on the path. In other
            words ``FOLDER`` stands for the folder's path.
        files: Texts by name of the files that lie in the folder when it begins; a name may have folders in it, and
            every file may be executed. In a folder that lasts they take the place of what had their names.
        environment: Variables added to those on the allow-list. A script that is forked from a warm interpreter sees
            them too, but what Python reads when it starts (such as ``PYTHONPATH``) has no effect on it.
        folder: Existing folder of its own, which lasts: the command works in it, and it alone. Beside it, and in place
            of a home and of a folder for temporary files, it has an empty one that goes with it. None: it works in that
            empty one.
        bring: Patterns of the files to bring back once it has ended: names below the folder, where ``*`` and ``?``
            stand for characters of a name, and ``**`` for any number of folders.
        trusted: Whether the program itself is no stranger's, and confines what is: it may make namespaces, as that
            takes, and the kernel filters none of its calls.
        libraries_only: Whether a command with a lasting folder reads, beside its folders, only Python, its packages and
            the system's libraries; otherwise also the system's programs, its configuration and the list of users.

    Raises:
        SandboxError: in one line, if it cannot be a command.
    """

    argv: tuple[str, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    stdin: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    folder: Path | None = None
    bring: tuple[str, ...] = ()
    trusted: bool = False
    libraries_only: bool = False

    def __post_init__(self) -> None:
        if not self.argv or not self.argv[0]:
            raise SandboxError("a command needs a program: argv is empty")
        for name in self.files:
            if not is_safe_name(name):
                raise SandboxError(
                    f"{name!r} cannot name a file of a command: give a path below its folder, without .."
                )
            if "/" in name and any(str(above) in self.files for above in PurePosixPath(name).parents):
                raise SandboxError(f"{name!r} cannot name a file of a command: a folder above it is a file, too")
        for pattern in self.bring:
            if not is_safe_name(pattern):
                raise SandboxError(
                    f"{pattern!r} is no pattern of files to bring: give one below the folder, without .."
                )
        for name in self.environment:
            if not name or "=" in name or "\0" in name:
                raise SandboxError(f"{name!r} cannot name a variable of the environment")
        if self.folder is not None and not self.folder.is_absolute():
            raise SandboxError(f"the folder of a command is given by its whole path, not as {str(self.folder)!r}")

    @property
    def script(self) -> str | None:
        """The Python program among its files that it runs, which can be forked from a warm interpreter."""
        if self.argv[0] == PYTHON and len(self.argv) > 1 and self.argv[1] in self.files:
            return self.argv[1]
        return None

    @property
    def outline(self) -> Self:
        """All of it but the texts of its files and of its input: what a process that runs others, too, may know."""
        return replace(self, files=dict.fromkeys(self.files, ""), stdin="")

    @property
    def texts(self) -> tuple[bytes, ...]:
        """The texts that its outline leaves out: those of its files, in their order, and that on its standard input."""
        texts = []
        for name, text in (*self.files.items(), ("its standard input", self.stdin)):
            try:
                texts.append(text.encode())
            except UnicodeEncodeError as problem:
                raise SandboxError(f"{name} is no text that a command can be given: {problem}") from None
        return tuple(texts)

    def to_plain(self) -> dict[str, Any]:
        """The command as JSON has it."""
        return {
            "argv": self.argv,
            "files": dict(self.files),
            "stdin": self.stdin,
            "environment": dict(self.environment),
            "limits": vars(self.limits),
            "folder": self.folder and str(self.folder),
            "bring": self.bring,
            "trusted": self.trusted,
            "libraries_only": self.libraries_only,
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Read a command back."""
        try:
            limits, folder = Limits(**plain["limits"]), plain["folder"]
            return cls(
                tuple(plain["argv"]),
                plain["files"],
                plain["stdin"],
                plain["environment"],
                limits,
                None if folder is None else Path(folder),
                tuple(plain["bring"]),
                bool(plain["trusted"]),
                bool(plain["libraries_only"]),
            )
        except (KeyError, TypeError, ValueError) as problem:
            raise SandboxError(f"this is no command: {type(problem).__name__}: {problem}") from None


@dataclass(frozen=True)
class CommandResult:
    """How a command ended, and what is left of it; a failure is data like a success.

    Attributes:
        code: Exit code, or minus the number of the signal; 127 if there was no such program to start.
        stdout: Standard output, head and tail of it; its folders' paths are cut off the names of files.
        stderr: Standard error, head and tail of it, likewise.
        files: Contents of the files that were brought back, by name.
        left_out: Reasons by the names of files that should have been brought and were not: links, devices, odd names,
            what is beyond the limits.
        wall_s: Seconds by the clock, from its start to its end.
        cpu_s: User and system seconds of all its processes, as far as they could be counted.
        peak_mb: Resident memory of its largest process, in MiB, with what it shares with the server it came from.
        queued_s: Seconds for which it waited for a free worker.
        reason: Reason why it was ended, in words; empty where it ended by itself.
    """

    end: EndReason
    code: int
    stdout: str = ""
    stderr: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak_mb: float = 0.0
    queued_s: float = 0.0
    reason: str = ""

    def to_plain(self) -> dict[str, Any]:
        """The end as JSON has it: files that are UTF-8 as text, others in base64."""
        return vars(self) | {
            "files": {name: _content_to_json(content) for name, content in self.files.items()},
            "left_out": dict(self.left_out),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Read an end back."""
        try:
            files = {
                name: text["text"].encode() if "text" in text else base64.b64decode(text["base64"], validate=True)
                for name, text in plain["files"].items()
            }
            return cls(**{**plain, "end": EndReason(plain["end"]), "files": files})
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            raise SandboxError(f"this is no end of a command: {type(problem).__name__}: {problem}") from None


def is_safe_name(name: str) -> bool:
    """Return True if a name is one of a file below a folder, and can be shown as it is."""
    parts = name.split("/")
    return name.isprintable() and NO_NAMES.isdisjoint(parts) and max(map(len, parts)) <= NAME_CHARACTERS


def _content_to_json(content: bytes) -> dict[str, str]:
    try:
        return {"text": content.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}
