"""Lines of JSON between the engine and its Dask process, of bounded length."""

import json
import socket
import threading
from contextlib import suppress
from typing import Any, BinaryIO

from oragent.evaluation.cluster.payload import MOST_CHARACTERS

LONGEST = 2 * MOST_CHARACTERS  # bytes of a line: an answer in a text of JSON again


def pack_line(message: dict[str, Any]) -> bytes:
    """A message as a line."""
    return json.dumps(message).encode() + b"\n"


def unpack_line(received: bytes) -> dict[str, Any] | None:
    """A line as a message; None where the other side is gone, or says what is no message."""
    if not received.endswith(b"\n") or len(received) > LONGEST:
        return None
    try:
        message = json.loads(received)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


class LineConnection:
    """The engine's end of a socket; who sends may be any thread, who reads is one.

    Args:
        connection: Connected socket, which is this end's from now on.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._lock = connection, threading.Lock()
        self._lines: BinaryIO = connection.makefile("rb")

    def send(self, message: dict[str, Any]) -> None:
        """Send a message.

        Raises:
            OSError: if nobody is there to take it.
        """
        with self._lock:
            self._connection.sendall(pack_line(message))

    def receive(self) -> dict[str, Any] | None:
        """Wait for a message; None once there are no more that could be understood."""
        try:
            return unpack_line(self._lines.readline(LONGEST))
        except OSError:
            return None

    def end(self) -> None:
        """Let both sides know that nothing more comes; who reads here closes it."""
        with suppress(OSError):  # the other side may have been the first to go
            self._connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End it for good; for who reads."""
        self.end()
        self._lines.close()
        self._connection.close()
