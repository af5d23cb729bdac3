"""The place of a command: its folder and files, and the rules for them, made before its process is forked.

A worker does here all that need not be done in the command's own process, where every page of the warm interpreter that
is touched for the first time has to be copied.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType

from oragent.isolation import landlock, namespaces
from oragent.isolation.cgroups import Group
from oragent.isolation.credentials import NOBODY, interpreter_paths
from oragent.isolation.guest import DEVICES, becomes_nobody
from oragent.isolation.means import Means
from oragent.sandbox import folders, script
from oragent.sandbox.messages import FOLDER, Command, Limits

__all__ = ["Launch", "Setting", "Unplaced", "placed"]

KERNELS_MB = 256
# What programs of any language need to start: a command with a folder that lasts may read that much of the machine.
SYSTEM = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/proc", "/sys")))
FILES = (
    "alternatives fonts group hosts ld.so.cache ld.so.conf ld.so.conf.d localtime nsswitch.conf os-release passwd ssl"
)
CONFIGURATION = tuple(Path("/etc") / name for name in FILES.split())


@dataclass(frozen=True)
class Setting:
    """What all commands of a server have in common.

    Attributes:
        means: Mechanisms of isolation that work here.
        scratch: Empty folder; each command finds an empty folder of its own in its place.
        group: Control group that bounds it; without folders where there is none.
        root_dir: Folder that must stay readable, such as a project's; None for none.
        warm: Whether a Python script runs in the forked interpreter and not in a fresh one.
        kernels: Where numba keeps what it compiled; it uses nothing from a folder that it cannot write.
        others: Tasks of our user when the server began.
    """

    means: frozenset[Means]
    scratch: Path
    group: Group
    root_dir: Path | None
    warm: bool
    kernels: Path
    others: int

    @property
    def needed(self) -> tuple[Path, ...]:
        """What must stay readable, beside Python, to whoever runs here."""
        return () if self.root_dir is None else (self.root_dir,)


@dataclass(frozen=True)
class Launch:
    """What a command's process is to do.

    Attributes:
        folder: Where it works.
        argv: Words of the command, program first.
        forked: Whether it is a Python script that this interpreter runs.
        program: That script, compiled; None where it is to say itself what is wrong with it.
        stdin: Descriptor of its standard input; -1 for an empty one.
        environment: Variables of its own.
        limits: Bounds that it keeps.
        needed: What must stay readable, beside Python.
        parent: Process id of its parent, as it sees it.
        rules: Descriptor of its Landlock rules; -1 for none.
        place: Descriptor of its folder, which stays open where anything is to be brought from there.
    """

    folder: Path
    argv: list[str]
    forked: bool
    program: CodeType | None
    stdin: int
    environment: Mapping[str, str]
    limits: Limits
    needed: tuple[Path, ...]
    parent: int
    rules: int
    place: int


class Unplaced(Exception):
    """The machine refuses what it did not refuse when the server began."""


@contextmanager
def placed(command: Command, setting: Setting, after: ExitStack) -> Iterator[Launch]:
    """Make the place; a child that is forked within this has it, and must do as the launch says.

    Args:
        command: Command to be launched.
        setting: Setting of the server.
        after: Stack to be closed once the command has ended and what is to be brought has been read.

    Raises:
        Unplaced: in one line, if it cannot be made.
    """
    with ExitStack() as stack:
        try:
            launch = _make(command, setting, stack, after)
        except (OSError, ValueError) as problem:
            raise Unplaced(f"{type(problem).__name__}: {problem}") from None
        yield launch


def _make(command: Command, setting: Setting, stack: ExitStack, after: ExitStack) -> Launch:
    limits, scratch = command.limits, setting.scratch
    folder = command.folder or scratch
    apart, own = Means.NAMESPACES in setting.means, [scratch]
    forked = setting.warm and command.script is not None
    if apart:
        stack.enter_context(namespaces.child_apart(scratch, limits.file_mb))
        if command.folder:
            namespaces.alone(folder, (*setting.needed, *SYSTEM, *interpreter_paths(), scratch))
        elif not forked and setting.kernels.is_dir():
            namespaces.shadow(setting.kernels, KERNELS_MB)
            own.append(setting.kernels)
    else:
        scratch.mkdir(mode=0o777)
        scratch.chmod(0o777)  # whatever the umask: the command may be somebody else than us
    needed = setting.needed
    if command.folder:
        own.append(folder)
        needed = (*needed, folder.parent)
    # Held open longer than needed, what lies in memory would be cleared away at the next command's cost.
    place = _furnish(command, setting, needed, after if command.bring else stack)
    argv = [str(folder / word) if word in command.files else word.replace(FOLDER, str(folder)) for word in command.argv]
    _tell(scratch, limits)
    return Launch(
        folder=folder,
        argv=argv,
        forked=forked,
        program=script.compiled(argv[1], command.files[command.argv[1]]) if forked else None,
        stdin=_stdin(command.stdin, scratch, stack),
        environment=command.environment,
        limits=limits,
        needed=needed,
        parent=0 if apart else os.getpid(),  # from inside a namespace, a parent outside has no number
        rules=_rules(command, setting, own, stack),
        place=place,
    )


def _furnish(command: Command, setting: Setting, needed: tuple[Path, ...], stack: ExitStack) -> int:
    """Put the files into the folder, and let a folder that lasts be that of nobody in particular, as the command is.

    The engine takes it back when the command has ended, whatever became of this process.
    """
    place = stack.enter_context(folders.opened(command.folder or setting.scratch))
    folders.write(place, command.files, folder_mode=0o755 if command.folder else 0o777)
    if command.folder and Means.IDENTITY in setting.means and becomes_nobody(needed):
        with suppress(OSError):  # who is root in a user namespace alone stays that
            folders.hand_over(place, NOBODY, NOBODY)
    return place


def _tell(scratch: Path, limits: Limits) -> None:
    """What every command finds in its environment, beside what is allowed from ours."""
    os.environ |= {
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "ORAGENT_MEMORY_MB": str(limits.memory_mb),
        "ORAGENT_TIME_LIMIT_S": str(limits.wall_s),
    }


def _stdin(text: str, scratch: Path, stack: ExitStack) -> int:
    """A file without a name, so that nobody has to feed a pipe."""
    if not text:
        return -1
    path = scratch / "\x01"  # no file of a command can have this name
    path.write_text(text, encoding="utf-8")
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    path.unlink()
    stack.callback(os.close, descriptor)
    return descriptor


def _rules(command: Command, setting: Setting, own: list[Path], stack: ExitStack) -> int:
    if Means.LANDLOCK not in setting.means:
        return -1
    read = [Path("/")]
    if command.folder:  # what others keep in such folders is not for it to read
        program = shutil.which(command.argv[0], path=command.environment.get("PATH"))
        read = [
            *setting.needed,
            *SYSTEM,
            *CONFIGURATION,
            *interpreter_paths(),
            *([Path(program).resolve()] if program else []),
        ]
    rules = landlock.ruleset(read, [*own, *_devices()], network=False)
    stack.callback(os.close, rules)
    return rules


@cache
def _devices() -> tuple[Path, ...]:
    return *DEVICES, *Path("/dev").glob("nvidia*")
