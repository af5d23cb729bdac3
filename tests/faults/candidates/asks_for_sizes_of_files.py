"""Asks how large files are that it may not read."""
# expect: ok
# holds: unseen

import os


def heuristics(matrix):
    for path in (os.path.join(ROOT, "data", "val.txt"), "/etc/passwd", "/root", "/tmp"):
        try:
            os.stat(path)
        except OSError:
            continue
        if path != "/root":  # Python itself may lie below it
            raise RuntimeError(f"got through: {path}")
    return -matrix
