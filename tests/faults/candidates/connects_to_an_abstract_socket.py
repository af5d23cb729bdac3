"""Connects to a server that has a name and no file."""
# expect: ok
# holds: offline

import socket


def heuristics(matrix):
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect("\0oragent-faults-" + str(PORT))
    except OSError:
        return -matrix
    raise RuntimeError("got through: an abstract socket")
