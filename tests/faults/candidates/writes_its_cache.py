"""Writes a compiled file where the next evaluation would load it."""
# expect: ok
# holds: untouched

import os
import pathlib

import numpy


def heuristics(matrix):
    for folder in (pathlib.Path(numpy.__file__).parent / "__pycache__", pathlib.Path.cwd()):
        try:
            os.close(os.open(folder / "evil.pyc", os.O_CREAT | os.O_WRONLY))
            os.unlink(folder / "evil.pyc")
        except OSError:
            continue
        raise RuntimeError("got through: a compiled file")
    return -matrix
