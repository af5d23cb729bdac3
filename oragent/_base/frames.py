"""Messages between the processes of oragent: JSON with a length prefix, on pipes and on sockets (with descriptors)."""

import json
import mmap
import socket
import struct
from collections.abc import Callable, Sequence
from typing import Any

# Length of the body.
HEAD = struct.Struct("<Q")
# Maximum number of buffers in a system call; the kernel allows a thousand.
MAX_PARTS = 64
Buffer = bytes | memoryview
# Buffer that is wiped after each use.
_PASSAGE = mmap.mmap(-1, 1 << 18, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


class ConnectionClosed(Exception):
    """The other side has closed the connection."""


def pack_message(message: dict[str, Any]) -> bytes:
    """Return the frame of a message."""
    body = json.dumps(message).encode()
    return HEAD.pack(len(body)) + body


def take_body(buffer: bytearray) -> bytes | None:
    """Remove the first frame from a buffer and return its body; None if it is incomplete."""
    if len(buffer) < HEAD.size:
        return None
    end = HEAD.size + int(HEAD.unpack_from(buffer)[0])
    if end > len(buffer):
        return None
    body = bytes(buffer[HEAD.size : end])
    del buffer[:end]
    return body


def send_message(
    connection: socket.socket, message: dict[str, Any], files: tuple[int, ...] = (), after: Sequence[Buffer] = ()
) -> None:
    """Send a message and the bytes ``after`` it in one call, so that the receiver is woken once.

    Raises:
        ConnectionClosed: The other side has closed the connection.
    """
    parts = [memoryview(pack_message(message)), *(memoryview(part) for part in after if len(part))]
    try:
        sent = socket.send_fds(connection, parts[:MAX_PARTS], files)
        for part in parts:
            if sent < len(part):
                connection.sendall(part[sent:])
            sent = max(sent - len(part), 0)
    except OSError as problem:
        raise ConnectionClosed(str(problem)) from None


def receive_bytes(connection: socket.socket, length: int) -> bytes:
    """Receive a number of bytes.

    Raises:
        ConnectionClosed: The other side has closed the connection.
        TimeoutError: The time limit of the connection is exceeded.
    """
    body = bytearray()
    try:
        while len(body) < length:
            body += _receive_some(connection, length - len(body))
    except (ConnectionResetError, BrokenPipeError) as problem:
        raise ConnectionClosed(str(problem)) from None
    return bytes(body)


def stream_bytes(connection: socket.socket, length: int, take: Callable[[memoryview], None]) -> None:
    """Receive a number of bytes without leaving any in this process's memory, which forked processes inherit.

    ``take`` is called with each part of them and must not keep it.

    Raises:
        ConnectionClosed: The other side has closed the connection.
        TimeoutError: The time limit of the connection is exceeded.
        OSError: Raised by ``take``, after all bytes have been read.
    """
    problem: OSError | None = None
    used = 0
    with memoryview(_PASSAGE) as passage:
        try:
            while length:
                count = connection.recv_into(passage[: min(length, len(passage))])
                if not count:
                    raise ConnectionClosed("end of stream")
                used, length = max(used, count), length - count
                try:
                    if problem is None:
                        take(passage[:count])
                except OSError as error:
                    problem = error
        except (ConnectionResetError, BrokenPipeError) as gone:
            raise ConnectionClosed(str(gone)) from None
        finally:
            passage[:used] = bytes(used)
    if problem is not None:
        raise problem


def receive_message(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Receive a message.

    Raises:
        ConnectionClosed: The other side has closed the connection.
        TimeoutError: The time limit of the connection is exceeded.
    """
    try:
        head, files, _, _ = socket.recv_fds(connection, HEAD.size, 4)
        while head and len(head) < HEAD.size:
            head += _receive_some(connection, HEAD.size - len(head))
        if not head:
            raise ConnectionClosed("end of stream")
    except (ConnectionResetError, BrokenPipeError) as problem:
        raise ConnectionClosed(str(problem)) from None
    return json.loads(receive_bytes(connection, HEAD.unpack(head)[0])), files


def _receive_some(connection: socket.socket, count: int) -> bytes:
    chunk = connection.recv(min(count, 1 << 20))
    if not chunk:
        raise ConnectionClosed("end of stream")
    return chunk
