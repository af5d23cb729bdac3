"""Bound the length of a process's output."""


def shorten_middle(text: str, head: int, tail: int) -> str:
    """Return a text, or its first ``head`` and last ``tail`` characters if it is longer than both together."""
    left_out = len(text) - head - tail
    if left_out <= 0:
        return text
    return f"{text[:head]}\n[... {left_out:,} characters left out ...]\n{text[-tail:]}"


class CappedOutput:
    """Head and tail of a byte stream.

    Args:
        limit: Number of bytes to keep, half of them from each end.
    """

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = self._tail = b""
        self._dropped = 0

    def add(self, chunk: bytes) -> None:
        """Append the next bytes of the stream."""
        room = self._half - len(self._head)
        self._head += chunk[:room]
        tail = self._tail + chunk[room:]
        self._tail = tail[-self._half :]
        self._dropped += len(tail) - len(self._tail)

    def text(self) -> str:
        """Return head and tail, with a line between them that counts the dropped bytes."""
        gap = f"\n... {self._dropped} bytes dropped ...\n".encode() if self._dropped else b""
        return (self._head + gap + self._tail).decode(errors="replace")
