"""Commands and their results as plain data."""

import base64
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any, Self

from oragent._base.errors import SandboxError

# The path has no links in its folder and no "..", so that every process that the interpreter starts sees the same name.
# The link of the executable itself stays, because it identifies a virtual environment.
PYTHON = os.path.join(os.path.realpath(os.path.dirname(sys.executable)), os.path.basename(sys.executable))
# Placeholder for the path of the command's folder, which is known only at the start. No argument can contain this
# character.
FOLDER = "\0"
# Factor of the memory limit for all processes of a command: a scorer and two guests may each use theirs.
SHARE = 3
NO_NAMES = frozenset(("", ".", ".."))
# Maximum length of a part of a file's path, as in file systems.
NAME_CHARACTERS = 255


class EndReason(StrEnum):
    """Reason for the end of a command."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    DEADLINE = "deadline"
    MEMORY = "memory"
    LOST = "lost"


@dataclass(frozen=True)
class Limits:
    """Limits of one command.

    Attributes:
        cpu_s: CPU seconds, user and system, of all its processes together, after which it is ended. Wall-clock seconds
            if CPU seconds cannot be counted while it runs.
        memory_mb: Private writable memory of each process beyond its initial memory, in MiB, whether touched or not.
            All processes together may hold ``SHARE`` times as much.
        counts_used_memory: Whether ``memory_mb`` limits the memory that all its processes use together, polled several
            times a second. Reserved memory is then limited to ``SHARE`` times that: thread stacks and arenas of solvers
            are reserved and hardly used.
        file_mb: Maximum size in MiB of each file that it writes, of all files if its folder is in memory, and of all
            files that are brought back. Files in a persistent folder are limited one by one only.
        processes: Maximum number of processes and threads.
        output_kb: Captured size of standard output and of standard error, in KiB each; the rest is dropped.
        idle_s: Wall-clock seconds without CPU use after which it is ended as sleeping.
        wall_s: Wall-clock seconds after which it is ended; None for no limit, since a busy machine slows every program.
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
    """Folder whose content every command of a server finds next to its own files, by links and read-only."""

    # Existing folder. Its runs and names that begin with a dot are left out.
    folder: Path
    # Names of the files that each command replaces by its own.
    brought: tuple[str, ...] = ()


@dataclass(frozen=True)
class Command:
    """Program to run, with all its inputs and limits.

    Attributes:
        argv: Arguments, the program first. An argument that names one of ``files`` becomes its path. ``PYTHON`` is the
            current interpreter; any other program is searched on the path. ``FOLDER`` in other arguments becomes the
            folder's path.
        files: Texts by name of the files that the folder contains at the start. Names may contain folders, and every
            file is executable. In a persistent folder they replace existing files.
        environment: Variables added to the allow-listed ones. A script that is forked from a warm interpreter sees
            them, too, but variables that Python reads at its start (such as ``PYTHONPATH``) have no effect.
        folder: Existing persistent folder in which the command works and that only this command uses. In addition, it
            gets an empty temporary folder as home and for temporary files. None: it works in the temporary folder.
        bring: Patterns of the files to bring back at the end, relative to the folder. ``*`` and ``?`` match characters
            of a name.
        trusted: Whether the program itself is trusted and confines untrusted code: it may create namespaces, and no
            system call is filtered.
        libraries_only: Whether a command with a persistent folder reads, apart from its folders, only Python, its
            packages and the system's libraries; otherwise also system programs, configuration and the list of users.

    Raises:
        SandboxError: The command is invalid.
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
                raise SandboxError(f"{name!r} cannot name a file of a command: one of its folders is a file, too")
        for pattern in self.bring:
            if not is_safe_name(pattern):
                raise SandboxError(
                    f"{pattern!r} is not a valid pattern of files to bring: give one below the folder, without .."
                )
        for name in self.environment:
            if not name or "=" in name or "\0" in name:
                raise SandboxError(f"{name!r} is not a valid name of an environment variable")
        if self.folder is not None and not self.folder.is_absolute():
            raise SandboxError(f"the folder of a command needs an absolute path, not {str(self.folder)!r}")

    @property
    def script(self) -> str | None:
        """Python program among the files that the command runs, which can be forked from a warm interpreter."""
        if self.argv[0] == PYTHON and len(self.argv) > 1 and self.argv[1] in self.files:
            return self.argv[1]
        return None

    @property
    def outline(self) -> Self:
        """The command without the texts of its files and its input, for processes that also run other commands."""
        return replace(self, files=dict.fromkeys(self.files, ""), stdin="")

    @property
    def texts(self) -> tuple[bytes, ...]:
        """Texts that the outline leaves out: those of the files in their order, then standard input."""
        texts = []
        for name, text in (*self.files.items(), ("its standard input", self.stdin)):
            try:
                texts.append(text.encode())
            except UnicodeEncodeError as problem:
                raise SandboxError(f"{name} cannot be encoded as UTF-8: {problem}") from None
        return tuple(texts)

    def to_plain(self) -> dict[str, Any]:
        """Return the command as JSON data."""
        return vars(self) | {"limits": vars(self.limits), "folder": self.folder and str(self.folder)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Restore a command from JSON data."""
        try:
            folder, limits = plain["folder"] and Path(plain["folder"]), Limits(**plain["limits"])
            words = {name: tuple(plain[name]) for name in ("argv", "bring")}
            return cls(**{**plain, **words, "folder": folder, "limits": limits})
        except (KeyError, TypeError, ValueError) as problem:
            raise SandboxError(f"invalid command: {type(problem).__name__}: {problem}") from None


@dataclass(frozen=True)
class CommandResult:
    """Result of a command; failures are data like successes.

    Attributes:
        code: Exit code, or minus the number of the signal; 127 if the program was not found.
        stdout: Standard output, its head and tail; paths of the command's folders are removed from file names.
        stderr: Standard error, likewise.
        files: Contents by name of the files that were brought back.
        left_out: Reasons by name of matching files that were not brought back: links, devices, odd names, limits.
        wall_s: Wall-clock seconds from start to end.
        cpu_s: User and system seconds of all processes, as far as they could be counted.
        peak_mb: Resident memory of the largest process in MiB, pages shared with its server included.
        queued_s: Seconds spent waiting for a free worker.
        reason: Reason why the sandbox ended it; empty if it ended by itself.
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
        """Return the result as JSON data: UTF-8 files as text, others in base64."""
        return vars(self) | {"files": {name: _content_to_json(content) for name, content in self.files.items()}}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Restore a result from JSON data."""
        try:
            files = {
                name: text["text"].encode() if "text" in text else base64.b64decode(text["base64"], validate=True)
                for name, text in plain["files"].items()
            }
            return cls(**{**plain, "end": EndReason(plain["end"]), "files": files})
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            raise SandboxError(f"invalid result of a command: {type(problem).__name__}: {problem}") from None


def is_safe_name(name: str) -> bool:
    """Return True if a name is a printable relative path that stays below its folder."""
    parts = name.split("/")
    return name.isprintable() and NO_NAMES.isdisjoint(parts) and max(map(len, parts)) <= NAME_CHARACTERS


def _content_to_json(content: bytes) -> dict[str, str]:
    try:
        return {"text": content.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}
