"""Connects to a server's socket by its path, as to those of a system or of another user's programs."""
# evaluator: plain.py
# expect: invalid
# holds: offline

import socket


def heuristics(matrix):
    try:
        with socket.socket(socket.AF_UNIX) as wire:
            wire.connect(f"{ROOT}/open/server")
    except OSError:
        return
    raise RuntimeError("got through: a socket by its path")
