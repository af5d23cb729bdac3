"""Prepare a command's folder, files and access rules before its process is forked.

A worker does here all that need not be done in the command's own process, where every page of the warm interpreter that
is touched for the first time has to be copied.
"""

import os
import resource
import shutil
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import CodeType

from oragent._base import package_data
from oragent._base.frames import stream_bytes
from oragent.sandbox import folders
from oragent.sandbox.folders import RUNS, displaced_files, list_entries
from oragent.sandbox.isolation import kernel, landlock, namespaces, root
from oragent.sandbox.isolation.environment import (
    NOBODY,
    forget_readable,
    interpreter_paths,
    interpreter_places,
)
from oragent.sandbox.isolation.guest import GUEST_ROOT, will_become_nobody
from oragent.sandbox.isolation.mechanisms import Mechanism
from oragent.sandbox.isolation.process_usage import ControlGroup
from oragent.sandbox.messages import FOLDER, Command, CompanionFolder, Limits
from oragent.sandbox.warm_script import compiled_script

KERNELS_MB = 256
# in the root of commands, what the harness shows a candidate
SHOWN_TO_GUESTS = Path("/.guest")
HARDWARE = "/sys/devices/system/cpu", "/sys/devices/system/node"
# What programs of any language need to start: a command with a folder that lasts may read that much of the machine.
SYSTEM = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", *HARDWARE)))
EVERYTHING = tuple(map(Path, ("/proc", "/sys")))
PACKAGE = Path(__file__).parents[1]
FILES = """
    alternatives fonts group hosts ld.so.cache ld.so.conf ld.so.conf.d localtime nsswitch.conf os-release passwd ssl
"""
# what Python's packages read beside themselves
LIBRARY_DATA = tuple(map(Path, ("/usr/share/zoneinfo", *HARDWARE)))
CONFIGURATION = tuple(Path("/etc") / name for name in FILES.split())


@dataclass(frozen=True)
class ServerSetting:
    """What all commands of a server have in common."""

    mechanisms: frozenset[Mechanism]
    # empty folder; each command finds an empty folder of its own in its place
    scratch: Path
    # control group that bounds it; without folders where there is none
    group: ControlGroup
    # folder that must stay readable, such as a project's; None for none
    root_dir: Path | None
    warm: bool
    # where numba keeps what it compiled; it uses nothing from a folder that it cannot write
    kernels: Path
    # tasks of our user when the server began
    others: int
    # descriptor of the mounts in which all files of the machine are seen; -1 without namespaces
    outside: int = -1
    # descriptor of a ``/proc`` with the numbers that the server's processes know; -1 for none
    processes: int = -1
    # what a command that is not trusted can read where only rules see to that
    shown: tuple[Path, ...] = ()
    # folder whose content is found beside a command's files; None for none
    beside: CompanionFolder | None = None
    # names in it, their paths, contents to copy
    companions: tuple[tuple[str, str, bytes | None], ...] = ()

    @property
    def projects(self) -> tuple[Path, ...]:
        """Folders that commands read without their secrets."""
        beside = () if self.beside is None else (self.beside.folder,)
        return tuple(dict.fromkeys((*self.needed, *beside)))

    @property
    def needed(self) -> tuple[Path, ...]:
        """Paths that every process here must be able to read, beside Python."""
        if self.root_dir is None:
            return ()
        return (self.root_dir,)


@dataclass(frozen=True)
class Outline:
    """A command whose texts are still on their way."""

    command: Command
    # numbers of bytes of its files, in their order, and of its standard input
    lengths: Sequence[int]
    connection: socket.socket
    # descriptor that the command is to find open; -1 for none
    device_line: int = -1


@dataclass(frozen=True)
class Launch:
    """What a command's process is to do."""

    # the command without its texts
    command: Command
    # words of its command line, with paths in place of names
    argv: list[str]
    folder: Path
    # whether it is a Python script that this interpreter runs
    forked: bool
    # what must stay readable, beside Python
    needed: tuple[Path, ...]
    # whether the machine's root has yet to be left
    rooted: bool
    # process id of its parent, as it sees it
    parent: int
    # descriptor of its Landlock rules; -1 for none
    rules: int
    # descriptor of its folder, which stays open where anything is to be brought from there
    folder_descriptor: int
    # bytes of memory with which it begins, that do not count against its limit
    held: int
    # its script, compiled; None where it is to say itself what is wrong with it
    program: CodeType | None = None
    stdin: int = -1
    # descriptor that it finds open; -1 for none
    device_line: int = -1


def switch_root(setting: ServerSetting, script: Path | None) -> ServerSetting:
    """Change over to the files of which commands without a lasting folder are shown no more, in the zygote."""
    if Mechanism.NAMESPACES in setting.mechanisms:
        namespaces.make_files_read_only()
    processes = -1
    with suppress(OSError):
        if os.readlink("/proc/self") == str(os.getpid()):
            processes = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    setting = replace(setting, processes=processes, companions=list_entries(setting.beside))
    if Mechanism.NAMESPACES not in setting.mechanisms:
        return replace(setting, shown=_readable_by_rules(setting, script))
    outside = namespaces.open_namespace()
    kernel.unshare(kernel.CLONE_NEWNS)
    shown = _readable_paths(setting, script)
    root.build_root((*shown, setting.scratch), devices=_list_devices())
    required = [path.resolve() for path in (*shown, setting.scratch)]
    # Outer ones first: what is shown again within them may hold others.
    for path in sorted({secret for project in setting.projects for secret in _secret_paths(project)}):
        if path not in required:
            root.cover_path(path, [nested for nested in required if path in nested.parents])
    for path in displaced_files(setting.beside, script):
        root.cover_path(path)
    root.prepare_inner_root(SHOWN_TO_GUESTS, [place for place in interpreter_places() if place != PACKAGE])
    hidden = Path(f"{SHOWN_TO_GUESTS}{PACKAGE}")
    if hidden.is_dir():
        # it lies among the installed packages
        root.cover_path(hidden)
    os.environ[GUEST_ROOT] = str(SHOWN_TO_GUESTS)
    root.leave_old_root(proc=True)
    forget_readable()
    return replace(setting, outside=outside)


def _readable_paths(setting: ServerSetting, script: Path | None) -> tuple[Path, ...]:
    paths = {*SYSTEM, *CONFIGURATION, *interpreter_places(), *_search_paths()}
    paths |= {setting.kernels} if os.path.isdir(setting.kernels) else set()
    paths |= {script.parent} if script else set()
    paths |= set(setting.projects)
    # what a project does not have itself, it finds here
    if setting.root_dir:
        paths |= {path for name in package_data.FOLDERS if (path := package_data.shipped_root() / name).is_dir()}
    # a project in the root of all files
    if Path("/") in paths:
        paths |= {Path("/data"), Path("/checkpoints"), Path("/problems")}
    return tuple(sorted(paths - {Path("/"), *EVERYTHING}))


def _readable_by_rules(setting: ServerSetting, script: Path | None) -> tuple[Path, ...]:
    """The same where rules have to see to it: they allow a folder with all in it, so a project is given in parts."""
    shown = [path for path in _readable_paths(setting, script) if path not in setting.projects]
    for project in setting.projects:
        if project != Path("/"):
            secrets = _secret_paths(project)
            shown += [path for path in project.iterdir() if path not in secrets]
    return (*shown, *map(Path, ("/proc/cpuinfo", "/proc/meminfo")))


def _search_paths() -> set[Path]:
    """Where programs and modules are looked for; of a checkout of ours, only what is named elsewhere."""
    entries = {Path(entry) for entry in (*os.environ.get("PATH", "").split(os.pathsep), *sys.path) if entry}
    return {path for path in entries if path.is_absolute() and path != PACKAGE.parent}


def _secret_paths(root_dir: Path) -> list[Path]:
    """What a project holds beside data: runs with their candidates, and what begins with a dot, such as keys."""
    names = [] if root_dir == Path("/") else [RUNS, *(name for name in os.listdir(root_dir) if name.startswith("."))]
    return [root_dir / name for name in names if (root_dir / name).exists() and not (root_dir / name).is_symlink()]


class PlacementError(Exception):
    """The machine refuses what it did not refuse when the server began."""


@contextmanager
def prepare_place(outline: Outline, setting: ServerSetting, after: ExitStack) -> Iterator[Launch]:
    """Make the place; a child that is forked within this has it, and must do as the launch says."""
    with ExitStack() as stack:
        try:
            launch = _make_place(outline, setting, stack, after)
        except (OSError, ValueError) as problem:
            raise PlacementError(f"{type(problem).__name__}: {problem}") from None
        yield launch


def _make_place(outline: Outline, setting: ServerSetting, stack: ExitStack, after: ExitStack) -> Launch:
    command, script = outline.command, outline.command.script
    limits, scratch = command.limits, setting.scratch
    folder = command.folder or scratch
    apart, writable = Mechanism.NAMESPACES in setting.mechanisms, [scratch]
    forked = setting.warm and script is not None
    if apart:
        shadowed = not command.folder and not forked and os.path.isdir(setting.kernels)
        kinds = kernel.CLONE_NEWPID
        # Who may not make what is shared by number needs no namespace for it, which costs a millisecond.
        kinds |= 0 if Mechanism.SECCOMP in setting.mechanisms else kernel.CLONE_NEWIPC
        kinds |= kernel.CLONE_NEWNS if command.folder or shadowed else 0
        stack.enter_context(namespaces.restore_namespaces(kinds))
        if command.folder:
            kernel.rejoin_namespace(setting.outside)
        namespaces.prepare_child(scratch, limits.file_mb, kinds)
        if not kinds & kernel.CLONE_NEWNS:
            after.callback(namespaces.unmount_child_files, scratch)
        if command.folder:
            namespaces.show_alone(folder, (*setting.needed, *SYSTEM, *interpreter_paths(), scratch))
            root.build_root(_readable_beside(command, setting), (folder, scratch), devices=_list_devices())
        elif shadowed:
            namespaces.cover_with_copy(setting.kernels, KERNELS_MB)
            writable.append(setting.kernels)
    else:
        scratch.mkdir(mode=0o777)
        # whatever the umask: the command may be somebody else than us
        scratch.chmod(0o777)
    needed = setting.needed
    if command.folder:
        writable.append(folder)
        needed = (*needed, folder.parent)
    # Held open longer than needed, what lies in memory would be cleared away at the next command's cost.
    folder_descriptor = (after if command.bring else stack).enter_context(folders.open_folder(folder))
    _set_variables(scratch, limits)
    base = f"{folder}{os.sep}"
    launch = Launch(
        command=command,
        argv=[base + word if word in command.files else word.replace(FOLDER, str(folder)) for word in command.argv],
        folder=folder,
        forked=forked,
        needed=needed,
        rooted=apart and command.folder is not None,
        # from inside a namespace, a parent outside has no number
        parent=0 if apart else os.getpid(),
        rules=_make_rules(command, setting, writable, stack),
        folder_descriptor=folder_descriptor,
        held=_private_data(setting.processes),
        device_line=outline.device_line,
    )
    launch = _write_files(outline, launch, setting)
    if launch.stdin >= 0:
        stack.callback(os.close, launch.stdin)
    return launch


def _write_files(outline: Outline, launch: Launch, setting: ServerSetting) -> Launch:
    """Put the files into the folder, and let a folder that lasts be that of nobody in particular, as the command is.

    The engine takes it back when the command has ended, whatever became of it.
    """
    command, program, lasts = outline.command, None, outline.command.folder is not None
    for name, length in zip(command.files, outline.lengths, strict=False):
        expected, code = compiled_script(launch.argv[1]) if launch.forked and name == command.script else (b"", None)
        passed = _PassedText(outline.connection, length, expected)
        folders.write_file(launch.folder_descriptor, name, 0o755 if lasts else 0o777, passed.write_to)
        program = code if passed.is_expected else program
    stdin = _write_stdin(outline.connection, outline.lengths[-1], setting.scratch)
    if not lasts:
        for name, target, content in setting.companions:
            if content is None:
                folders.make_link(launch.folder_descriptor, name, target)
            else:
                folders.put_content(launch.folder_descriptor, name, content)
    if lasts and Mechanism.IDENTITY in setting.mechanisms and will_become_nobody(launch.needed):
        # who is root in a user namespace alone stays that
        with suppress(OSError):
            folders.hand_over(launch.folder_descriptor, NOBODY, NOBODY)
    return replace(launch, program=program, stdin=stdin)


class _PassedText:
    """A text that is passed on from the engine to a file, and compared with one that it may be."""

    def __init__(self, connection: socket.socket, length: int, expected: bytes = b"") -> None:
        self._connection, self._length, self._expected = connection, length, memoryview(expected)
        self.is_expected = length == len(expected)

    def write_to(self, target: int) -> None:
        """Write it to a descriptor."""
        at = 0

        def write_part(part: memoryview) -> None:
            nonlocal at
            self.is_expected = self.is_expected and part == self._expected[at : at + len(part)]
            at += len(part)
            folders.write_all(target, part)

        stream_bytes(self._connection, self._length, write_part)


def _write_stdin(connection: socket.socket, length: int, scratch: Path) -> int:
    if not length:
        return -1
    # no file of a command can have this name
    path = scratch / "\x01"
    target = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    path.unlink()
    _PassedText(connection, length).write_to(target)
    os.lseek(target, 0, os.SEEK_SET)
    return target


# a worker hardly grows
@cache
def _private_data(processes: int) -> int:
    """Bytes of private memory that can be written, which this process has and a child of it begins with."""
    if processes < 0:
        return 0
    statm = os.open("self/statm", os.O_RDONLY | os.O_CLOEXEC, dir_fd=processes)
    try:
        return int(os.read(statm, 4096).split()[5]) * resource.getpagesize()
    finally:
        os.close(statm)


def _set_variables(scratch: Path, limits: Limits) -> None:
    os.environ |= {
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "ORAGENT_MEMORY_MB": str(limits.memory_mb),
        "ORAGENT_TIME_LIMIT_S": str(limits.cpu_s),
        # for programs in other languages: the one on the path may be out of sight
        "ORAGENT_PYTHON": sys.executable,
    }


def _make_rules(command: Command, setting: ServerSetting, writable: list[Path], stack: ExitStack) -> int:
    if Mechanism.LANDLOCK not in setting.mechanisms:
        return -1
    read: Sequence[Path] | None = [Path("/")]
    # what others keep in such folders is not for it to read
    if command.folder:
        read = _readable_beside(command, setting)
    elif command.trusted and Mechanism.NAMESPACES in setting.mechanisms:
        # it has a minimal root, and mounts one for others
        if landlock.abi_version() < landlock.WITHOUT_FILES:
            return -1
        read = None
    elif not command.trusted and Mechanism.NAMESPACES not in setting.mechanisms:
        read = setting.shown
    rules = landlock.make_ruleset(read, [*writable, *_open_devices()], network=False)
    stack.callback(os.close, rules)
    return rules


def _readable_beside(command: Command, setting: ServerSetting) -> tuple[Path, ...]:
    program = shutil.which(command.argv[0], path=command.environment.get("PATH"))
    system = LIBRARY_DATA if command.libraries_only else (*SYSTEM, *EVERYTHING, *CONFIGURATION)
    paths = (*setting.needed, *system, *interpreter_places())
    return (*(path for path in paths if os.path.exists(path)), *([Path(program).absolute()] if program else []))


# by a worker, for all its commands
@cache
def _open_devices() -> tuple[int, ...]:
    return tuple(device for device in map(landlock.open_path, _list_devices()) if device >= 0)


@cache
def _list_devices() -> tuple[Path, ...]:
    return *root.DEVICES, *Path("/dev").glob("nvidia*")
