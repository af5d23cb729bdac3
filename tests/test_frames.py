"""Messages between processes arrive whole, with their descriptors and the bytes that follow them."""

import os
import socket
import threading
from collections.abc import Iterator

import pytest

from oragent._base import frames
from oragent._base.frames import (
    ConnectionClosed,
    pack_message,
    receive_bytes,
    receive_message,
    send_message,
    stream_bytes,
    take_body,
)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    first, second = socket.socketpair()
    for end in (first, second):
        end.settimeout(20)
    with first, second:
        yield first, second


@pytest.mark.parametrize("size", [0, 1, 5_000_000])
@pytest.mark.parametrize("parts", [0, 1, frames.MAX_PARTS - 1, frames.MAX_PARTS + 5])
def test_a_message_arrives_with_what_follows(size: int, parts: int, pair: tuple[socket.socket, socket.socket]) -> None:
    sender, receiver = pair
    message = {"text": "é" * size}
    after = [bytes([at % 256]) * (at % 3 * 700) for at in range(parts)]
    thread = threading.Thread(target=send_message, args=(sender, message, (), after))
    thread.start()
    assert receive_message(receiver) == (message, [])
    expected = b"".join(after)
    assert receive_bytes(receiver, len(expected)) == expected
    thread.join(20)
    assert not thread.is_alive()


def test_descriptors_arrive_with_their_message(pair: tuple[socket.socket, socket.socket]) -> None:
    reading, writing = os.pipe()
    send_message(pair[0], {"a": 1}, (writing,))
    message, (received,) = receive_message(pair[1])
    assert message == {"a": 1}
    os.write(received, b"through")
    assert os.read(reading, 99) == b"through"
    for descriptor in (reading, writing, received):
        os.close(descriptor)


def test_a_frame_is_taken_once_it_is_whole() -> None:
    frame = pack_message({"a": 1})
    buffer = bytearray()
    for byte in frame:
        assert take_body(buffer) is None
        buffer.append(byte)
    buffer += frames.HEAD.pack(0)
    assert (take_body(buffer), take_body(buffer), buffer) == (frame[frames.HEAD.size :], b"", b"")


@pytest.mark.parametrize("size", [0, 3, (1 << 18) - 1, 1 << 18, (1 << 18) * 3 + 7])
def test_bytes_are_streamed_and_leave_no_copy(size: int, pair: tuple[socket.socket, socket.socket]) -> None:
    sent, taken = b"secret!" * (size // 7) + b"x" * (size % 7), bytearray()
    thread = threading.Thread(target=pair[0].sendall, args=(sent + b"next",))
    thread.start()
    stream_bytes(pair[1], size, taken.extend)
    thread.join(20)
    assert bytes(taken) == sent
    assert pair[1].recv(99) == b"next"
    assert not any(frames._PASSAGE[:])


def test_all_bytes_are_read_although_they_cannot_be_stored(pair: tuple[socket.socket, socket.socket]) -> None:
    calls = []

    def take(part: memoryview) -> None:
        calls.append(len(part))
        raise OSError("full")

    thread = threading.Thread(target=pair[0].sendall, args=(b"x" * (1 << 19) + b"next",))
    thread.start()
    with pytest.raises(OSError, match="full"):
        stream_bytes(pair[1], 1 << 19, take)
    thread.join(20)
    assert len(calls) == 1
    assert pair[1].recv(99) == b"next"


def test_a_closed_connection_is_told(pair: tuple[socket.socket, socket.socket]) -> None:
    pair[0].sendall(b"abc")
    pair[0].close()
    with pytest.raises(ConnectionClosed):
        receive_bytes(pair[1], 4)
    with pytest.raises(ConnectionClosed):
        receive_message(pair[1])
    with pytest.raises(ConnectionClosed):
        stream_bytes(pair[1], 1, lambda part: None)
    with pytest.raises(ConnectionClosed):
        send_message(pair[1], {})


def test_a_head_may_arrive_in_pieces(pair: tuple[socket.socket, socket.socket]) -> None:
    frame = frames.pack_message({"a": 1})

    def send() -> None:
        for at in range(len(frame)):
            pair[0].sendall(frame[at : at + 1])

    thread = threading.Thread(target=send)
    thread.start()
    assert receive_message(pair[1]) == ({"a": 1}, [])
    thread.join(20)
