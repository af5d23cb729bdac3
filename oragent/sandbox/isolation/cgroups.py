"""Control groups: bounds on what all processes of an evaluation use together, where we may make groups."""

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
# The file that bounds a resource, by version of the interface.
MEMORY = {1: "memory.limit_in_bytes", 2: "memory.max"}
TASKS = {1: "pids.max", 2: "pids.max"}
CONTROLLERS = ("memory", "pids", "cpuacct", "cpu,cpuacct")  # of the first version, each in a hierarchy of its own
NOT_OURS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOSPC)


@dataclass
class ControlGroup:
    """A control group in every hierarchy that lets us make one.

    Attributes:
        folders: Folders of the group, one a hierarchy.
        doors: Descriptors of its lists of members; a process that writes "0" there joins.
        clock: Descriptor of the CPU time that all members used, living or not; -1 where nobody counts it.
        ends: Descriptor of the number of members that were ended for want of memory; -1 likewise.
        bounds: Whether it bounds memory or processes.
    """

    folders: list[Path] = field(default_factory=list)
    doors: list[int] = field(default_factory=list)
    clock: int = -1
    ends: int = -1
    bounds: bool = False

    @classmethod
    def make(cls, name: str, memory_mb: int, tasks: int) -> "ControlGroup":
        """Make a group; one without folders where nothing can be made.

        Args:
            name: Name of the group's folder, which nobody else has.
            memory_mb: Memory that all members may use together, in MiB.
            tasks: Most processes and threads that there may be.

        Raises:
            OSError: if there is such a group already: what it bounds is unknown, and who is in it, too.
        """
        group = cls()
        try:
            for version, parent in _parent_groups():
                group._join_hierarchy(version, parent / name, ((MEMORY, memory_mb << 20), (TASKS, tasks)))
        except BaseException:
            group.remove()
            raise
        return group

    def _join_hierarchy(self, version: int, folder: Path, bounds: tuple[tuple[dict[int, str], int], ...]) -> None:
        try:
            folder.mkdir()
        except OSError as problem:
            if problem.errno in NOT_OURS:
                return
            raise
        bounded = [_write_limit(folder / files[version], value) for files, value in bounds]
        clock = -1 if self.clock >= 0 else _open_for_reading(folder / ("cpuacct.usage" if version == 1 else "cpu.stat"))
        ends = (
            -1
            if self.ends >= 0
            else _open_for_reading(folder / ("memory.oom_control" if version == 1 else "memory.events"))
        )
        if not any(bounded) and clock < 0:  # nothing is gained here, and to join costs time
            folder.rmdir()
            return
        self.folders.append(folder)
        self.doors.append(os.open(folder / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC))
        self.clock, self.ends, self.bounds = max(self.clock, clock), max(self.ends, ends), self.bounds or any(bounded)

    def join(self) -> None:
        """Bring the calling process in."""
        for door in self.doors:
            os.write(door, b"0")

    def cpu_s(self) -> float | None:
        """CPU seconds that all members used since the group was made; None where nobody counts them."""
        if self.clock < 0:
            return None
        fields = os.pread(self.clock, 4096, 0).split()
        return int(fields[0]) / 1e9 if len(fields) == 1 else int(fields[fields.index(b"usage_usec") + 1]) / 1e6

    def oom_kills(self) -> int:
        """Return how many members the kernel killed because memory ran out since the group was made."""
        events = b"" if self.ends < 0 else os.pread(self.ends, 4096, 0)
        return sum(int(event.split()[1]) for event in events.splitlines() if event.startswith(b"oom_kill "))

    def remove(self) -> None:
        """Remove it; nobody may be in it any more, and nobody joins it through this."""
        for descriptor in (*self.doors, self.clock, self.ends):
            if descriptor >= 0:
                os.close(descriptor)
        self.doors, self.clock, self.ends = [], -1, -1
        for folder in self.folders:
            with suppress(OSError):
                folder.rmdir()


def remove_groups(prefix: str) -> bool:
    """Remove the groups whose names begin so, as far as nobody is in them; True if none is left."""
    remains = False
    for _, parent in _parent_groups():
        for folder in parent.glob(f"{prefix}*"):
            with suppress(OSError):
                folder.rmdir()
            remains |= folder.is_dir()
    return not remains


def _write_limit(path: Path, value: int) -> bool:
    try:
        path.write_text(str(value))
    except OSError:
        return False
    return True


def _open_for_reading(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


def _parent_groups() -> Iterator[tuple[int, Path]]:
    """The group that we are in, in each hierarchy, with the version of the interface."""
    with suppress(OSError):
        for entry in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = entry.split(":", 2)
            if controllers in CONTROLLERS:
                yield 1, ROOT / controllers / path.lstrip("/")
            elif not controllers:
                mounted = ROOT / "unified" if (ROOT / "unified").is_dir() else ROOT
                yield 2, mounted / path.lstrip("/")
