"""Searches its own memory for keys, and for the text of the candidate that was scored before it."""
# evaluator: plain.py
# expect: invalid
# runs: 3

import ctypes
import re
import sys

KEY = re.compile(rb"ORAGENT_TEST_KE[Y]=")  # so that this text is not found itself
MARK = re.compile(rb"mar[k]: ([0-9a-f]{32})")


def memory():
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # its memory may be opened again
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as mem:
        for line in maps:
            where, rights, *_ = line.split()
            begin, end = (int(part, 16) for part in where.split("-"))
            if rights.startswith("rw"):
                try:
                    mem.seek(begin)
                    yield mem.read(end - begin)
                except (OSError, ValueError, OverflowError):
                    continue


def heuristics(matrix):
    with open(__file__) as own:
        text = own.readline()
    print(text, flush=True)
    print(text, file=sys.stderr, flush=True)
    try:
        pieces = list(memory())
    except PermissionError:
        return  # it cannot even look
    marks = set()
    for piece in pieces:
        if KEY.search(piece):
            raise RuntimeError("got through: a key")
        marks |= set(MARK.findall(piece))
    if len(marks) > 1:
        raise RuntimeError("got through: the text of another candidate")
    if not marks:
        raise RuntimeError("nothing was searched: it should find its own text")
