"""Memory of a process, read from the kernel in few steps because new processes read it."""

import os
import resource
from dataclasses import dataclass

from oragent.sandbox.isolation import process_usage
from oragent.sandbox.isolation.means import LINUX

PRIVATE, RESIDENT = (b"VmData:", b"VmStk:"), (b"RssAnon:", b"RssShmem:")


@dataclass(frozen=True)
class ProcessMemory:
    """Memory of one process.

    Attributes:
        private: Bytes that are private and can be written, touched or not: what a limit on data counts.
        resident: Bytes of it that lie in main memory; files' pages are free.
    """

    private: int
    resident: int


def read_memory(process: str) -> ProcessMemory:
    """Read the memory of a process; without ``/proc`` the peak of our own.

    Args:
        process: Its number, or ``self``.

    Raises:
        OSError: if nothing can be known of it.
    """
    try:
        if not LINUX:
            return ProcessMemory(0, process_usage.resident_kb(os.getpid() if process == "self" else int(process)) << 10)
        status = os.open(f"/proc/{process}/status", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        if process != "self":
            raise
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10 if LINUX else 0
        return ProcessMemory(peak, peak)
    try:
        text = os.read(status, 1 << 14)
    finally:
        os.close(status)
    return ProcessMemory(_sum_fields(text, PRIVATE), _sum_fields(text, RESIDENT))


def _sum_fields(text: bytes, names: tuple[bytes, ...]) -> int:
    total = 0
    for name in names:
        at = text.find(name)
        if at >= 0:
            total += int(text[at + len(name) :].split(None, 1)[0]) << 10
    return total
