"""Connects to servers on this machine by TCP and by a name without a file, and sends a datagram."""
# expect: ok
# holds: offline

import socket

SERVERS = (
    (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", PORT)),
    (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", PORT)),
    (socket.AF_UNIX, socket.SOCK_STREAM, "\0oragent-faults-" + str(PORT)),
)


def heuristics(matrix):
    for family, kind, address in SERVERS:
        try:
            with socket.socket(family, kind) as client:
                client.connect(address)
                client.send(b"secret")
        except OSError:
            continue
        raise RuntimeError(f"got through: {address}")
    return -matrix
