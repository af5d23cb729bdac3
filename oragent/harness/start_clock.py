"""CPU seconds that a guest spends on imports and compilation, in memory that it shares with the scorer.

A guest whose first call runs out of time is killed, and can report nothing. The scorer then reads these seconds. It
also subtracts them from the reported time of a guest's only call. The candidate can change them, so no limit and no
score depends on them. Each clock belongs to one guest: two guests with the same memory could pass on what they know.
"""

import math
import mmap
import struct
import time
from collections.abc import Callable

# Seconds until the candidate was imported, seconds of compilation since then, and the time when the running one began;
# -1 means not yet, or none.
FIELDS = struct.Struct("<ddd")
NONE = -1.0


class StartClock:
    """Seconds of imports and compilation of one guest. Create it just before the guest is forked."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)
        self._depth = 0
        self._write(NONE, 0.0, NONE)

    def end_import(self) -> None:
        """Note that the candidate is imported."""
        self._write(time.process_time(), 0.0, NONE)

    def enter_compiler(self) -> None:
        """Note that a compilation begins. Those that begin within it belong to it."""
        imported_s, compiled_s, _ = self._read()
        if self._depth == 0 and imported_s != NONE:
            self._write(imported_s, compiled_s, time.process_time())
        self._depth += 1

    def leave_compiler(self) -> None:
        """Note that a compilation ends."""
        self._depth -= 1
        imported_s, compiled_s, since = self._read()
        if self._depth == 0 and since != NONE:
            self._write(imported_s, compiled_s + time.process_time() - since, NONE)

    def measure(self, cpu_s: float) -> tuple[float, bool]:
        """Return the seconds of imports and compilation among all CPU seconds of the guest, and whether they go on."""
        imported_s, compiled_s, since = self._read()
        if imported_s == NONE:
            return cpu_s, True
        start_s = imported_s + compiled_s + (cpu_s - since if since != NONE else 0.0)
        if not math.isfinite(start_s):
            return 0.0, False
        return min(max(start_s, 0.0), cpu_s), since != NONE

    def _read(self) -> tuple[float, float, float]:
        return FIELDS.unpack_from(self._memory)

    def _write(self, imported_s: float, compiled_s: float, since: float) -> None:
        FIELDS.pack_into(self._memory, 0, imported_s, compiled_s, since)


def observe_compiler(clock: StartClock) -> None:
    """Tell a clock when Numba begins and ends to compile, if it is installed."""
    try:
        from numba.core import event
    except ImportError:
        return

    class CompileListener(event.Listener):
        def on_start(self, _: object) -> None:
            clock.enter_compiler()

        def on_end(self, _: object) -> None:
            clock.leave_compiler()

    register: Callable[..., None] = event.register
    register("numba:compile", CompileListener())
