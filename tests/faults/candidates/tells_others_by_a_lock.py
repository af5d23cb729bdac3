"""Passes a word to other processes by a lock on a file that all may read, which any of them can ask for."""
# expect: ok
# holds: unseen

import fcntl
import struct


def heuristics(matrix):
    lock = struct.pack("hhqqi", fcntl.F_RDLCK, 0, 7, 1, 0)
    with open(struct.__file__, "rb") as file:
        try:
            fcntl.fcntl(file, fcntl.F_SETLK, lock)
            fcntl.fcntl(file, fcntl.F_GETLK, lock)
        except OSError:
            return -matrix
    raise RuntimeError("got through: a lock that others see")
