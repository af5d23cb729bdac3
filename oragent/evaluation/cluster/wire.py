"""Lines of JSON between the engine and the courier; neither reads more of the other than it must."""

import json
import socket
import threading
from contextlib import suppress
from typing import Any, BinaryIO

from oragent.evaluation.cluster.parcel import MOST_CHARACTERS

LONGEST = 2 * MOST_CHARACTERS  # bytes of a line: an answer in a text of JSON again


def packed(message: dict[str, Any]) -> bytes:
    """A message as a line."""
    return json.dumps(message).encode() + b"\n"


def unpacked(line: bytes) -> dict[str, Any] | None:
    """A line as a message; None where the other side is gone, or says what is no message."""
    if not line.endswith(b"\n") or len(line) > LONGEST:
        return None
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


class Wire:
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
            self._connection.sendall(packed(message))

    def receive(self) -> dict[str, Any] | None:
        """Wait for a message; None once there are no more that could be understood."""
        try:
            return unpacked(self._lines.readline(LONGEST))
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
