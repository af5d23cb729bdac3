"""Sends a datagram to a server on this machine."""
# expect: ok
# holds: offline

import socket


def heuristics(matrix):
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.sendto(b"secret", ("127.0.0.1", PORT))
    except OSError:
        return -matrix
    raise RuntimeError("got through: UDP")
