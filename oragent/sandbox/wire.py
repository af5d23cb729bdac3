"""Messages between the engine and its evaluation servers: JSON with a length before it, and open files beside it."""

import json
import socket
import struct
from typing import Any

__all__ = ["Closed", "receive", "receive_alone", "receive_raw", "send", "send_raw"]

HEAD = struct.Struct("<Q")


class Closed(Exception):
    """The other side is gone."""


def send(connection: socket.socket, message: dict[str, Any], files: tuple[int, ...] = ()) -> None:
    """Send a message, and descriptors with it.

    Raises:
        Closed: if nobody is there to take it.
    """
    body = json.dumps(message).encode()
    try:
        socket.send_fds(connection, [HEAD.pack(len(body))], files)
        connection.sendall(body)
    except OSError as problem:
        raise Closed(str(problem)) from None


def send_raw(connection: socket.socket, part: memoryview) -> None:
    """Send bytes as they are; a message before them said how many.

    Raises:
        Closed: if nobody is there to take them.
    """
    try:
        connection.sendall(part)
    except OSError as problem:
        raise Closed(str(problem)) from None


def receive_raw(connection: socket.socket, length: int) -> bytes:
    """Wait for so many bytes.

    Raises:
        Closed: if no more come.
        TimeoutError: if the connection has a time limit and it ran out.
    """
    body = bytearray()
    try:
        while len(body) < length:
            body += _some(connection, length - len(body))
    except (ConnectionResetError, BrokenPipeError) as problem:
        raise Closed(str(problem)) from None
    return bytes(body)


def receive_alone(connection: socket.socket) -> dict[str, Any]:
    """Wait for a message without files, with as little ado as can be: a new process pays for every page it touches.

    Raises:
        Closed: if none comes any more.
    """
    (length,) = HEAD.unpack(receive_raw(connection, HEAD.size))
    found: dict[str, Any] = json.loads(receive_raw(connection, length))
    return found


def receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Wait for a message.

    Raises:
        Closed: if none comes any more.
        TimeoutError: if the connection has a time limit and it ran out.
    """
    try:
        head, files, _, _ = socket.recv_fds(connection, HEAD.size, 4)
        while head and len(head) < HEAD.size:
            head += _some(connection, HEAD.size - len(head))
        if not head:
            raise Closed("end of stream")
        (length,) = HEAD.unpack(head)
        body = bytearray()
        while len(body) < length:
            body += _some(connection, length - len(body))
    except (ConnectionResetError, BrokenPipeError) as problem:
        raise Closed(str(problem)) from None
    return json.loads(body), files


def _some(connection: socket.socket, count: int) -> bytes:
    chunk = connection.recv(min(count, 1 << 20))
    if not chunk:
        raise Closed("end of stream")
    return chunk
