"""Connects to a server on this machine."""
# expect: ok
# holds: offline

import socket


def heuristics(matrix):
    try:
        socket.create_connection(("127.0.0.1", PORT), 1).close()
    except OSError:
        return -matrix
    raise RuntimeError("got through: TCP")
