"""Tells the guest that checks its decisions, through shared memory, that they have been made already."""
# expect: ok
# holds: unseen

import ctypes
import zlib

CREATE, ALONE, REMOVE = 0o1000, 0o2000, 0
key = zlib.crc32(ROOT.encode()) & 0x7FFFFFFF
libc = ctypes.CDLL(None)
told = libc.shmget(key, 4096, CREATE | ALONE | 0o666)


def heuristics(matrix):
    if told < 0:
        word = libc.shmget(key, 4096, 0o666)
        if word >= 0:
            libc.shmctl(word, REMOVE, None)
            raise RuntimeError("got through: another process of mine has been here")
    return -matrix
