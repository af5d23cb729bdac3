"""Changes a file through shared memory, which no limit on file size stops."""
# expect: ok
# holds: untouched

import mmap
import os


def heuristics(matrix):
    try:
        descriptor = os.open(os.path.join(ROOT, "open", "keep.txt"), os.O_RDWR)
        with mmap.mmap(descriptor, 4) as view:
            view[:4] = b"evil"
    except (OSError, ValueError):
        return -matrix
    raise RuntimeError("got through: a file was changed")
