"""Standard input and output of a program that runs as a function of a guest.

Output is sent to the scorer when the program reads, and in between when it becomes long. Each message
brings back further input, so that the other side can be a file, or a tester that answers.
"""

import builtins
import io
import sys
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self

# Function of the scorer that receives output, and returns further input, or no bytes at its end. The
# second argument is False if the program does not wait for input.
Exchange = Callable[[bytes, bool], bytes]
# Bytes that are written before they are sent.
MAX_PENDING = 1 << 16
# Key of the output that was not sent, and numbers of the streams.
REST, STDIN, STDOUT = "rest", 0, 1


class ProgramStreams:
    """Lets ``sys.stdin``, ``sys.stdout``, ``open(0)`` and what uses them exchange bytes with the scorer."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._input, self._pending = bytearray(), bytearray()
        self._streams = (
            io.TextIOWrapper(io.BufferedReader(_Input(self)), encoding="utf-8"),
            io.TextIOWrapper(_Output(self), encoding="utf-8", write_through=True),  # type: ignore[type-var]
        )

    def __enter__(self) -> Self:
        self._saved = sys.stdin, sys.stdout, builtins.open
        _current.update(enumerate(self._streams))
        sys.stdin, sys.stdout, builtins.open = _RELAYS[STDIN], _RELAYS[STDOUT], self._open
        return self

    def __exit__(self, kind: type | None, problem: BaseException | None, trace: TracebackType | None) -> bool:
        sys.stdin, sys.stdout, builtins.open = self._saved
        # The usual end of a program in the middle of a function.
        return isinstance(problem, SystemExit) and problem.code in (None, 0)

    def outputs(self) -> dict[str, bytes]:
        """Return the output that was not sent."""
        return {REST: bytes(self._pending)}

    def read(self, size: int) -> bytes:
        """Return up to ``size`` bytes of input; none at its end."""
        if not self._input:
            pending = bytes(self._pending)
            self._pending.clear()
            self._input += self._exchange(pending, True)
        content = bytes(self._input[:size])
        del self._input[:size]
        return content

    def write(self, content: Any) -> int:
        """Take bytes of output."""
        self._pending += content
        if len(self._pending) > MAX_PENDING:
            pending = bytes(self._pending)
            self._pending.clear()
            self._input += self._exchange(pending, False)
        return len(content)

    def _open(self, file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if type(file) is int and file in (STDIN, STDOUT):
            stream = self._streams[file]
            return stream.buffer if "b" in mode else stream
        return self._saved[2](file, mode, *args, **kwargs)


class _Input(io.RawIOBase):
    def __init__(self, streams: ProgramStreams) -> None:
        self._owner = streams

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._owner.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)


class _Output(io.RawIOBase):
    def __init__(self, streams: ProgramStreams) -> None:
        self._owner = streams

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        return self._owner.write(bytes(content))


class _Relay:
    """Stream that passes everything on to that of the current call: a program may keep ``sys.stdin.readline``."""

    def __init__(self, find: Callable[[], Any]) -> None:
        self._find = find

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._find(), name)
        if not callable(value):
            return value
        return lambda *args, **kwargs: getattr(self._find(), name)(*args, **kwargs)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._find())

    @property
    def buffer(self) -> "_Relay":
        return _Relay(lambda: self._find().buffer)


_current: dict[int, Any] = {}
_RELAYS = tuple(_Relay(lambda number=number: _current[number]) for number in (STDIN, STDOUT))  # type: ignore[misc]
