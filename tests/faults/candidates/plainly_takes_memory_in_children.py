"""Takes memory in many processes, in each of them less than one may have."""
# evaluator: plain.py
# expect: memory error
# seconds: 60

import os
import time

CHILDREN, SIZE = 8, 500 << 20


def heuristics(matrix):
    reader, writer = os.pipe()
    for _ in range(CHILDREN):
        if os.fork() == 0:
            taken = bytearray(SIZE)
            for at in range(0, SIZE, 4096):
                taken[at] = 1
            os.write(writer, b"x")
            time.sleep(10)
            os._exit(0)
    ended = [os.waitpid(-1, 0)[1] for _ in range(CHILDREN)]
    os.set_blocking(reader, False)
    if not any(ended) and len(os.read(reader, CHILDREN)) == CHILDREN:
        raise RuntimeError("got through: all of it")
    raise MemoryError
