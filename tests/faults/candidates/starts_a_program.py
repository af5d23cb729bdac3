"""Runs a shell."""
# expect: ok
# holds: alone

import subprocess


def heuristics(matrix):
    try:
        subprocess.run(["/bin/sh", "-c", f"sleep 61.{PORT} & echo"], capture_output=True, timeout=1)
    except OSError:
        return -matrix
    except subprocess.TimeoutExpired:
        pass
    raise RuntimeError("got through: a program was started")
