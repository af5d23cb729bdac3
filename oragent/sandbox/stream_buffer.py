"""Buffer for a command's output, in mapped memory that no later command inherits."""

import mmap
import os


class StreamBuffer:
    """The head and the tail of a stream of bytes.

    What is read never becomes an object of Python's, whose memory would be used again as it is.

    Args:
        limit: Number of bytes kept, half of them from either end.
    """

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._memory = mmap.mmap(-1, 2 * self._half, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._view = memoryview(self._memory)
        self._taken = 0

    def read_from(self, descriptor: int) -> bool:
        """Take what a pipe holds, or a part of it; False at its end.

        Raises:
            BlockingIOError: if it holds nothing now.
        """
        at, end = self._taken, self._half
        if at >= end:
            at, end = self._half + (self._taken - self._half) % self._half, 2 * self._half
        with self._view[at:end] as room:
            count = os.readv(descriptor, [room])
        self._taken += count
        return count > 0

    @property
    def lengths(self) -> tuple[int, int, int]:
        """Number of bytes kept of the head, dropped, and kept of the tail."""
        tail = max(self._taken - self._half, 0)
        return min(self._taken, self._half), max(tail - self._half, 0), min(tail, self._half)

    def parts(self) -> list[memoryview]:
        """Return the kept bytes, in order; release them before closing this buffer."""
        head, dropped, tail = self.lengths
        begin = (self._taken - self._half) % self._half if dropped else 0
        second = self._view[self._half + begin : self._half + tail]
        return [self._view[:head], second, self._view[self._half : self._half + begin]]

    def close(self) -> None:
        """Give the memory back."""
        self._view.release()
        self._memory.close()


def join_stream(head: bytes, dropped: int, tail: bytes) -> str:
    """Join the kept bytes to a text, with a line that says how many were dropped."""
    gap = f"\n... {dropped} bytes dropped ...\n".encode() if dropped else b""
    return (head + gap + tail).decode(errors="replace")
