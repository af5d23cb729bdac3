"""Prepare a command's folder, files and access rules before its process is forked.

The worker does as much as possible here, because each page of the warm interpreter that the command's process touches
has to be copied.
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
# Folder in the root of commands that becomes the root of guests.
SHOWN_TO_GUESTS = Path("/.guest")
HARDWARE = "/sys/devices/system/cpu", "/sys/devices/system/node"
# System files that a command with a persistent folder may read: programs of any language need them to start.
SYSTEM = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", *HARDWARE)))
EVERYTHING = tuple(map(Path, ("/proc", "/sys")))
PACKAGE = Path(__file__).parents[1]
FILES = """
    alternatives fonts group hosts ld.so.cache ld.so.conf ld.so.conf.d localtime nsswitch.conf os-release passwd ssl
"""
# System files that Python packages read.
LIBRARY_DATA = tuple(map(Path, ("/usr/share/zoneinfo", *HARDWARE)))
CONFIGURATION = tuple(Path("/etc") / name for name in FILES.split())


@dataclass(frozen=True)
class ServerSetting:
    """Settings that all commands of a server have in common."""

    mechanisms: frozenset[Mechanism]
    # Empty folder, which each command finds covered by its own temporary folder.
    scratch: Path
    # Control group that limits it; without folders if none can be created.
    group: ControlGroup
    # Folder that stays readable, such as a project; None for none.
    root_dir: Path | None
    warm: bool
    # Folder of compiled numba kernels; numba ignores folders that it cannot write to.
    kernels: Path
    # Tasks of this user when the server started.
    other_tasks: int
    # Descriptor of the mount namespace with all files of the machine; -1 without namespaces.
    outside: int = -1
    # Descriptor of a ``/proc`` with the PIDs that the server's processes use; -1 for none.
    processes: int = -1
    # Paths that an untrusted command can read if Landlock rules alone restrict it.
    shown: tuple[Path, ...] = ()
    # Folder whose content commands find next to their files; None for none.
    companion_folder: CompanionFolder | None = None
    # Names in it, target paths, and contents to copy.
    companions: tuple[tuple[str, str, bytes | None], ...] = ()

    @property
    def projects(self) -> tuple[Path, ...]:
        """Folders that commands read without the secrets in them."""
        companion_folder = () if self.companion_folder is None else (self.companion_folder.folder,)
        return tuple(dict.fromkeys((*self.needed, *companion_folder)))

    @property
    def needed(self) -> tuple[Path, ...]:
        """Paths that every process must be able to read, in addition to Python."""
        if self.root_dir is None:
            return ()
        return (self.root_dir,)


@dataclass(frozen=True)
class Outline:
    """A command whose texts have not been received yet."""

    command: Command
    # Sizes in bytes of its files, in their order, and of its standard input.
    lengths: Sequence[int]
    connection: socket.socket
    # Descriptor that the command inherits; -1 for none.
    device_line: int = -1


@dataclass(frozen=True)
class Launch:
    """Instructions for a command's process."""

    # Command without its texts.
    command: Command
    # Arguments, with paths in place of names.
    argv: list[str]
    folder: Path
    # True if it is a Python script that this interpreter runs.
    forked: bool
    # Paths that must stay readable, in addition to Python.
    needed: tuple[Path, ...]
    # True if the old root still has to be detached.
    rooted: bool
    # PID of its parent, as seen by the process.
    parent: int
    # Descriptor of its Landlock ruleset; -1 for none.
    rules: int
    # Descriptor of its folder, which stays open if files are to be brought back.
    folder_descriptor: int
    # Initial memory in bytes, which does not count against its limit.
    initial_bytes: int
    # Compiled script; None if its own process has to report the error.
    program: CodeType | None = None
    stdin: int = -1
    # Descriptor that it inherits; -1 for none.
    device_line: int = -1


def switch_root(setting: ServerSetting, script: Path | None) -> ServerSetting:
    """Restrict the zygote to the files that commands without a persistent folder may see."""
    if Mechanism.NAMESPACES in setting.mechanisms:
        namespaces.make_files_read_only()
    processes = -1
    with suppress(OSError):
        if os.readlink("/proc/self") == str(os.getpid()):
            processes = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    setting = replace(setting, processes=processes, companions=list_entries(setting.companion_folder))
    if Mechanism.NAMESPACES not in setting.mechanisms:
        return replace(setting, shown=_readable_by_rules(setting, script))
    outside = namespaces.open_namespace()
    kernel.unshare(kernel.CLONE_NEWNS)
    shown = _readable_paths(setting, script)
    root.build_root((*shown, setting.scratch), devices=_list_devices())
    required = [path.resolve() for path in (*shown, setting.scratch)]
    # Cover outer paths first, because paths shown again within them may contain others.
    for path in sorted({secret for project in setting.projects for secret in _secret_paths(project)}):
        if path not in required:
            root.cover_path(path, [nested for nested in required if path in nested.parents])
    for path in displaced_files(setting.companion_folder, script):
        root.cover_path(path)
    root.prepare_inner_root(SHOWN_TO_GUESTS, [path for path in interpreter_places() if path != PACKAGE])
    hidden = Path(f"{SHOWN_TO_GUESTS}{PACKAGE}")
    if hidden.is_dir():
        # This package is installed among the packages of Python.
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
    # Files that a project does not have itself are taken from the installed package.
    if setting.root_dir:
        paths |= {path for name in package_data.FOLDERS if (path := package_data.shipped_root() / name).is_dir()}
    # The project is the root folder itself.
    if Path("/") in paths:
        paths |= {Path("/data"), Path("/checkpoints"), Path("/problems")}
    return tuple(sorted(paths - {Path("/"), *EVERYTHING}))


def _readable_by_rules(setting: ServerSetting, script: Path | None) -> tuple[Path, ...]:
    """Return the readable paths for Landlock rules, which allow a folder with all its content: projects are split."""
    shown = [path for path in _readable_paths(setting, script) if path not in setting.projects]
    for project in setting.projects:
        if project != Path("/"):
            secrets = _secret_paths(project)
            shown += [path for path in project.iterdir() if path not in secrets]
    return (*shown, *map(Path, ("/proc/cpuinfo", "/proc/meminfo")))


def _search_paths() -> set[Path]:
    """Return the folders in which programs and modules are searched, without our own checkout."""
    entries = {Path(entry) for entry in (*os.environ.get("PATH", "").split(os.pathsep), *sys.path) if entry}
    return {path for path in entries if path.is_absolute() and path != PACKAGE.parent}


def _secret_paths(root_dir: Path) -> list[Path]:
    """Return the secret paths of a project: runs with their candidates, and hidden files, such as keys."""
    names = [] if root_dir == Path("/") else [RUNS, *(name for name in os.listdir(root_dir) if name.startswith("."))]
    return [root_dir / name for name in names if (root_dir / name).exists() and not (root_dir / name).is_symlink()]


class PlacementError(Exception):
    """The machine refused a step that worked when the server started."""


@contextmanager
def prepare_place(outline: Outline, setting: ServerSetting, after: ExitStack) -> Iterator[Launch]:
    """Prepare the folder and files of a command; a child forked in this context must follow the launch."""
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
    has_namespaces, writable = Mechanism.NAMESPACES in setting.mechanisms, [scratch]
    forked = setting.warm and script is not None
    if has_namespaces:
        shadowed = not command.folder and not forked and os.path.isdir(setting.kernels)
        kinds = kernel.CLONE_NEWPID
        # The filter forbids System V objects, so a namespace for them, which costs a millisecond, is not needed.
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
            root.build_root(_readable_with_folder(command, setting), (folder, scratch), devices=_list_devices())
        elif shadowed:
            namespaces.cover_with_copy(setting.kernels, KERNELS_MB)
            writable.append(setting.kernels)
    else:
        scratch.mkdir(mode=0o777)
        # Override the umask: the command may run as another user.
        scratch.chmod(0o777)
    needed = setting.needed
    if command.folder:
        writable.append(folder)
        needed = (*needed, folder.parent)
    # If the folder stayed open longer than necessary, the next command would have to free its memory.
    folder_descriptor = (after if command.bring else stack).enter_context(folders.open_folder(folder))
    _set_variables(scratch, limits)
    base = f"{folder}{os.sep}"
    launch = Launch(
        command=command,
        argv=[base + word if word in command.files else word.replace(FOLDER, str(folder)) for word in command.argv],
        folder=folder,
        forked=forked,
        needed=needed,
        rooted=has_namespaces and command.folder is not None,
        # A parent outside the namespace has PID 0 inside it.
        parent=0 if has_namespaces else os.getpid(),
        rules=_make_rules(command, setting, writable, stack),
        folder_descriptor=folder_descriptor,
        initial_bytes=_private_data(setting.processes),
        device_line=outline.device_line,
    )
    launch = _write_files(outline, launch, setting)
    if launch.stdin >= 0:
        stack.callback(os.close, launch.stdin)
    return launch


def _write_files(outline: Outline, launch: Launch, setting: ServerSetting) -> Launch:
    """Write the files, and give a persistent folder to the unprivileged user if the command runs as that user.

    The engine restores the owner when the command has ended.
    """
    command, program, is_persistent = outline.command, None, outline.command.folder is not None
    for name, length in zip(command.files, outline.lengths, strict=False):
        expected, code = compiled_script(launch.argv[1]) if launch.forked and name == command.script else (b"", None)
        passed = _PassedText(outline.connection, length, expected)
        folders.write_file(launch.folder_descriptor, name, 0o755 if is_persistent else 0o777, passed.write_to)
        program = code if passed.is_expected else program
    stdin = _write_stdin(outline.connection, outline.lengths[-1], setting.scratch)
    if not is_persistent:
        for name, target, content in setting.companions:
            if content is None:
                folders.make_link(launch.folder_descriptor, name, target)
            else:
                folders.put_content(launch.folder_descriptor, name, content)
    if is_persistent and Mechanism.IDENTITY in setting.mechanisms and will_become_nobody(launch.needed):
        # A process that is root only in a user namespace stays root.
        with suppress(OSError):
            folders.hand_over(launch.folder_descriptor, NOBODY, NOBODY)
    return replace(launch, program=program, stdin=stdin)


class _PassedText:
    """Text that is passed on from the engine to a file and compared with an expected text."""

    def __init__(self, connection: socket.socket, length: int, expected: bytes = b"") -> None:
        self._connection, self._length, self._expected = connection, length, memoryview(expected)
        self.is_expected = length == len(expected)

    def write_to(self, target: int) -> None:
        """Write the text to a descriptor."""
        offset = 0

        def write_part(part: memoryview) -> None:
            nonlocal offset
            self.is_expected = self.is_expected and part == self._expected[offset : offset + len(part)]
            offset += len(part)
            folders.write_all(target, part)

        stream_bytes(self._connection, self._length, write_part)


def _write_stdin(connection: socket.socket, length: int, scratch: Path) -> int:
    if not length:
        return -1
    # No file of a command can have this name.
    path = scratch / "\x01"
    target = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    path.unlink()
    _PassedText(connection, length).write_to(target)
    os.lseek(target, 0, os.SEEK_SET)
    return target


# Cached, because the memory of a worker hardly grows.
@cache
def _private_data(processes: int) -> int:
    """Return the private writable memory of this process in bytes, with which its children start."""
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
        # For programs in other languages: the Python on the path may be hidden.
        "ORAGENT_PYTHON": sys.executable,
    }


def _make_rules(command: Command, setting: ServerSetting, writable: list[Path], stack: ExitStack) -> int:
    if Mechanism.LANDLOCK not in setting.mechanisms:
        return -1
    read: Sequence[Path] | None = [Path("/")]
    # The command must not read files of other commands in such folders.
    if command.folder:
        read = _readable_with_folder(command, setting)
    elif command.trusted and Mechanism.NAMESPACES in setting.mechanisms:
        # A trusted command has a minimal root, and mounts one for guests.
        if landlock.abi_version() < landlock.WITHOUT_FILES:
            return -1
        read = None
    elif not command.trusted and Mechanism.NAMESPACES not in setting.mechanisms:
        read = setting.shown
    # This package can be imported from a checkout.
    listed = [PACKAGE.parent] if PACKAGE in (read or ()) else []
    rules = landlock.make_ruleset(read, [*writable, *_open_devices()], network=False, listed=listed)
    stack.callback(os.close, rules)
    return rules


def _readable_with_folder(command: Command, setting: ServerSetting) -> tuple[Path, ...]:
    program = shutil.which(command.argv[0], path=command.environment.get("PATH"))
    system = LIBRARY_DATA if command.libraries_only else (*SYSTEM, *EVERYTHING, *CONFIGURATION)
    paths = (*setting.needed, *system, *interpreter_places())
    return (*(path for path in paths if os.path.exists(path)), *([Path(program).absolute()] if program else []))


# Opened once per worker for all its commands.
@cache
def _open_devices() -> tuple[int, ...]:
    return tuple(device for device in map(landlock.open_path, _list_devices()) if device >= 0)


@cache
def _list_devices() -> tuple[Path, ...]:
    return *root.DEVICES, *Path("/dev").glob("nvidia*")
