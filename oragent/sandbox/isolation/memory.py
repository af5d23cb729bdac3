"""What a process holds of memory, as the kernel tells it; read in few steps, as new processes do."""

import os
import resource
from dataclasses import dataclass

from oragent.sandbox.isolation import ps
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


def of(process: str) -> ProcessMemory:
    """What a process holds; of our own, where there is no ``/proc``, the most that it ever held.

    Args:
        process: Its number, or ``self``.

    Raises:
        OSError: if nothing can be known of it.
    """
    try:
        if not LINUX:
            return ProcessMemory(0, ps.resident_kb(os.getpid() if process == "self" else int(process)) << 10)
        told = os.open(f"/proc/{process}/status", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        if process != "self":
            raise
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10 if LINUX else 0
        return ProcessMemory(most, most)
    try:
        text = os.read(told, 1 << 14)
    finally:
        os.close(told)
    return ProcessMemory(_sum(text, PRIVATE), _sum(text, RESIDENT))


def _sum(text: bytes, names: tuple[bytes, ...]) -> int:
    found = 0
    for name in names:
        at = text.find(name)
        if at >= 0:
            found += int(text[at + len(name) :].split(None, 1)[0]) << 10
    return found
