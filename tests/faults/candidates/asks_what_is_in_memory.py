"""Asks which pages of a file are in memory: another process can read some of them, and so pass on a word."""
# expect: ok
# holds: unseen

import ctypes
import mmap


def heuristics(matrix):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    with open(ctypes.__file__, "rb") as file:
        place = libc.mmap(None, mmap.PAGESIZE, 1, 2, file.fileno(), ctypes.c_long(0))
    if libc.mincore(ctypes.c_void_p(place), mmap.PAGESIZE, ctypes.create_string_buffer(8)) == 0:
        raise RuntimeError("got through: pages in memory")
    return -matrix
