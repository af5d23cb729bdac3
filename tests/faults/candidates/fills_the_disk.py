"""Writes until the disk is full."""
# expect: ok

import os


def heuristics(matrix):
    for folder in (os.getcwd(), "/tmp", "/dev/shm"):
        try:
            with open(os.path.join(folder, f"oragent-fault-{os.getpid()}"), "wb") as file:
                os.unlink(file.name)
                while True:
                    file.write(bytes(1 << 20))
                    file.flush()
                    if file.tell() > 100 << 20:
                        raise RuntimeError("got through: 100 MB written")
        except OSError:
            continue
    return -matrix
