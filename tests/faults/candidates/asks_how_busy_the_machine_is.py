"""Asks for load, memory and room on disks: what one process does there, another could see."""
# expect: ok
# holds: unseen

import ctypes
import os


def heuristics(matrix):
    for ask in (os.getloadavg, lambda: os.statvfs("/"), lambda: os.getpriority(os.PRIO_PROCESS, os.getppid() or 1)):
        try:
            ask()
        except OSError:
            continue
        raise RuntimeError("got through: the state of the machine")
    if ctypes.CDLL(None).sysinfo(ctypes.create_string_buffer(512)) == 0:
        raise RuntimeError("got through: the load of the machine")
    return -matrix
