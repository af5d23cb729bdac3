"""Control groups: bounds on what all processes of an evaluation use together, where we may make groups."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Group"]

ROOT = Path("/sys/fs/cgroup")
# The file that bounds a resource, by version of the interface.
MEMORY = {1: "memory.limit_in_bytes", 2: "memory.max"}
TASKS = {1: "pids.max", 2: "pids.max"}


@dataclass
class Group:
    """A control group in every hierarchy that lets us make one.

    Attributes:
        folders: Folders of the group, one a hierarchy.
        doors: Descriptors of its lists of members; a process that writes "0" there joins.
    """

    folders: list[Path] = field(default_factory=list)
    doors: list[int] = field(default_factory=list)

    @classmethod
    def make(cls, name: str, memory_mb: int, tasks: int) -> "Group":
        """Make a group; one without folders where nothing can be made.

        Args:
            name: Name of the group's folder.
            memory_mb: Memory that all members may use together, in MiB.
            tasks: Most processes and threads that there may be.
        """
        group = cls()
        for version, parent in _parents():
            folder = parent / name
            bounds = ((MEMORY, memory_mb << 20), (TASKS, tasks))
            with suppress(OSError):
                folder.mkdir()
                if any(_set(folder / files[version], value) for files, value in bounds):
                    group.folders.append(folder)
                    group.doors.append(os.open(folder / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC))
                else:
                    folder.rmdir()
        return group

    def join(self) -> None:
        """Bring the calling process in."""
        for door in self.doors:
            os.write(door, b"0")

    def remove(self) -> None:
        """Remove it; nobody may be in it any more."""
        for folder in self.folders:
            with suppress(OSError):
                folder.rmdir()


def _set(path: Path, value: int) -> bool:
    try:
        path.write_text(str(value))
    except OSError:
        return False
    return True


def _parents() -> Iterator[tuple[int, Path]]:
    """The group that we are in, in each hierarchy, with the version of the interface."""
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers in ("memory", "pids"):
                yield 1, ROOT / controllers / path.lstrip("/")
            elif not controllers:
                mounted = ROOT / "unified" if (ROOT / "unified").is_dir() else ROOT
                yield 2, mounted / path.lstrip("/")
