"""Machine code of a candidate in memory that its compiling process shares with the scorer.

The process appends each function as soon as it is compiled, so the scorer has all of them however the process ends.
The scorer handles the content as bytes and never parses it.
"""

import mmap
import struct

# Maximum size of the machine code of a program, in bytes.
MAX_BYTES = 4 << 20
LENGTH = struct.Struct("<Q")


class CodeMemory:
    """Memory with a length and a content. Create it before the process is forked."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, LENGTH.size + MAX_BYTES)

    def append(self, content: bytes) -> None:
        """Append content, unless there is no room for it."""
        end = self._read_length() + len(content)
        if end <= MAX_BYTES:
            self._memory[LENGTH.size + end - len(content) : LENGTH.size + end] = content
            LENGTH.pack_into(self._memory, 0, end)

    def read(self) -> bytes:
        """Return the content."""
        return self._memory[LENGTH.size : LENGTH.size + self._read_length()]

    def _read_length(self) -> int:
        # The candidate can change it.
        return min(int(LENGTH.unpack_from(self._memory)[0]), MAX_BYTES)
