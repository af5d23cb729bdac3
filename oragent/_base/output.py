"""The output of a process, bounded: as it comes, or as a text."""


def ends(text: str, head: int, tail: int) -> str:
    """A text, or, where it is longer than both together, so many characters of its begin and its end."""
    left_out = len(text) - head - tail
    if left_out <= 0:
        return text
    return f"{text[:head]}\n[... {left_out:,} characters left out ...]\n{text[-tail:]}"


class Capped:
    """The head and the tail of a byte stream.

    Args:
        limit: Number of bytes kept, half of them from either end.
    """

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = self._tail = b""
        self._dropped = 0

    def add(self, chunk: bytes) -> None:
        """Take the next bytes of the stream."""
        room = self._half - len(self._head)
        self._head += chunk[:room]
        tail = self._tail + chunk[room:]
        self._tail = tail[-self._half :]
        self._dropped += len(tail) - len(self._tail)

    def text(self) -> str:
        """What was kept, with a line in the middle that says how much was not."""
        gap = f"\n... {self._dropped} bytes dropped ...\n".encode() if self._dropped else b""
        return (self._head + gap + self._tail).decode(errors="replace")
