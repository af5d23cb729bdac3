"""Asks for the sizes of what the kernel shows of processes, without opening anything."""
# expect: ok
# holds: unseen

import os


def heuristics(matrix):
    for path in (f"/proc/{os.getppid()}/fd", "/proc/1/fd", "/proc/self/fd"):
        try:
            os.stat(path)
        except OSError:
            continue
        raise RuntimeError(f"got through: {path}")
    return -matrix
