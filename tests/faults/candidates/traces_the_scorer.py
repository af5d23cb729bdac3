"""Attaches to its parent as a debugger, and opens its memory."""
# expect: ok
# holds: scored

import ctypes
import os


def heuristics(matrix):
    parent = os.getppid()
    if ctypes.CDLL(None).ptrace(16, parent, None, None) == 0:
        raise RuntimeError("got through: the scorer is traced")
    try:
        open(f"/proc/{parent}/mem", "rb").close()
    except OSError:
        return -matrix
    raise RuntimeError("got through: the scorer's memory")
