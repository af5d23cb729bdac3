"""Asks how large files are that it may not read."""
# expect: ok
# holds: unseen

import os
import sys


def heuristics(matrix):
    for path in (os.path.join(ROOT, "data", "val.txt"), "/etc/passwd", "/root", "/tmp"):
        try:
            os.stat(path)
        except OSError:
            continue
        # A folder that Python or oragent lies below can be passed through.
        if not any(f"{shown}/".startswith(f"{path}/") for shown in (sys.prefix, sys.base_prefix, *sys.path, ROOT)):
            raise RuntimeError(f"got through: {path}")
    return -matrix
