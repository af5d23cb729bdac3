"""Resource use of a running command: CPU seconds, and memory where no control group bounds it."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from oragent.sandbox.isolation import process_usage
from oragent.sandbox.isolation.cgroups import ControlGroup
from oragent.sandbox.isolation.means import LINUX

TICKS = os.sysconf("SC_CLK_TCK")
# Places in a process's line of figures, counted from what follows its name; system time follows user time.
USER, USER_OF_CHILDREN, BEGUN = 11, 13, 19
GLANCES, GLANCE_S = 5, 0.01


@dataclass(frozen=True)
class _Process:
    """Figures of one process: CPU seconds of its own, and of its children that it has waited for; whether it runs."""

    number: int
    begun: int
    self_s: float
    waited_s: float
    runs: bool


class Meter:
    """Counts what one command uses: by its control group where there is one, else by walking its processes.

    A walk sees what lives, and what died and was waited for. Processes that are born and die unseen between two walks,
    under a parent that waits for none of its children, are not counted; a control group counts those, too.

    Args:
        group: Control group, in which nothing else runs now.
        processes: Descriptor of a ``/proc`` in which this process has the number that it knows; -1 for none.
    """

    def __init__(self, group: ControlGroup, processes: int) -> None:
        self._group, self._processes = group, processes
        self._cpu_s_at_start, self._ends_before = group.cpu_s(), group.oom_kills()
        self._seen: dict[tuple[int, int], float] = {}
        self._used = 0.0

    @property
    def counts(self) -> bool:
        """True if CPU seconds can be had while it runs."""
        return self.is_exact or self._processes >= 0 or not LINUX

    @property
    def is_exact(self) -> bool:
        """True if a control group counts, which is quick and also knows what has died."""
        return self._cpu_s_at_start is not None

    def cpu_s(self) -> float:
        """CPU seconds so far; what was once counted stays so."""
        if self._cpu_s_at_start is not None:
            return (self._group.cpu_s() or 0.0) - self._cpu_s_at_start
        processes = list(self._walk_processes())
        self._seen |= {(process.number, process.begun): process.self_s for process in processes}
        self._used = max(
            self._used, sum(self._seen.values()), sum(process.self_s + process.waited_s for process in processes)
        )
        return self._used

    def wants_to_run(self) -> bool:
        """Return True if one of its processes computes or waits for a processor; one that sleeps does neither."""
        for _ in range(GLANCES):
            if any(process.runs for process in self._walk_processes()):
                return True
            time.sleep(GLANCE_S)
        return False

    def was_out_of_memory(self) -> bool:
        """Return True if the kernel ended a process of it for want of memory in its group."""
        return self._group.oom_kills() > self._ends_before

    @property
    def watches_memory(self) -> bool:
        """True if memory has to be watched, as nothing bounds it, and can be."""
        return not self._group.bounds and (self._processes >= 0 or not LINUX)

    def memory_mb(self) -> float:
        """Memory that all its processes hold beyond what each inherits from this one, in MiB; files' pages are free."""
        if not LINUX:
            rows = process_usage.process_table()
            own_kb = rows[os.getpid()].resident_kb if os.getpid() in rows else 0
            return sum(max(0, rows[process].resident_kb - own_kb) for process in _list_descendants(rows)) / 1024
        inherited = self._held_kb("self")
        return sum(max(0, self._held_kb(str(process.number)) - inherited) for process in self._walk_processes()) / 1024

    def _held_kb(self, process: str) -> int:
        try:
            lines = self._read_proc(f"{process}/status").splitlines()
            return sum(int(line.split()[1]) for line in lines if line.startswith((b"RssAnon:", b"RssShmem:")))
        except (OSError, ValueError):
            return 0  # it ended while we looked

    def _walk_processes(self) -> Iterator[_Process]:
        """All descendants of this process."""
        if not LINUX:
            rows = process_usage.process_table()
            yield from (
                _Process(process, 0, rows[process].cpu_s, 0.0, rows[process].runs)
                for process in _list_descendants(rows)
            )
        if self._processes < 0:
            return
        ahead = self._list_children(os.getpid())
        while ahead:
            number = ahead.pop()
            with suppress(OSError, ValueError, IndexError):
                line = self._read_proc(f"{number}/stat").rpartition(b")")[2].split()
                ahead += self._list_children(number)
                own_ticks, waited = (int(line[at]) + int(line[at + 1]) for at in (USER, USER_OF_CHILDREN))
                yield _Process(number, int(line[BEGUN]), own_ticks / TICKS, waited / TICKS, line[0] in b"RD")

    def _list_children(self, process: int) -> list[int]:
        """Those that any thread of a process started, or that fell to it."""
        children: list[int] = []
        with suppress(OSError, ValueError):
            tasks = os.open(f"{process}/task", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._processes)
            try:
                for task in os.listdir(tasks):
                    children += map(int, self._read_proc(f"{process}/task/{task}/children").split())
            finally:
                os.close(tasks)
        return children

    def _read_proc(self, name: str) -> bytes:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._processes)
        try:
            return os.read(descriptor, 1 << 16)
        finally:
            os.close(descriptor)


def _list_descendants(rows: Mapping[int, process_usage.ProcessRow]) -> Iterator[int]:
    """Numbers of all processes below this one."""
    ahead = [os.getpid()]
    while ahead:
        above = ahead.pop()
        below = [row.pid for row in rows.values() if row.parent == above]
        yield from below
        ahead += below
