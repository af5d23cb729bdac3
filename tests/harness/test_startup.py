"""An evaluator by hand: what its environment holds of the user's is nowhere in the memory of a guest."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EVALUATOR = """
from oragent.harness import Result, run
def evaluate(arguments, guest):
    return Result({"found": guest(0)}, (0,), 1.0)
run(evaluate, function="f", sizes={"val": [1]})
"""
READS = """
import ctypes, re
libc = ctypes.CDLL(None)
def f(x):
    environ = ctypes.c_char_p.in_dll(libc, "program_invocation_name")
    start = ctypes.cast(environ, ctypes.c_void_p).value
    found, page = 0, start & ~4095
    while page < start + (1 << 16):  # names and values lie behind the words of the command, up to the end of the stack
        try:
            found += ctypes.string_at(page, 4096).count(b"sk-" + b"very-secret")
        except Exception:
            break
        page += 4096
        if not mapped(page):
            break
    return found
def mapped(page):
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    return libc.msync(ctypes.c_void_p(page), ctypes.c_size_t(4096), 1) == 0
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["eval.py", "score.py"])
@pytest.mark.skipif(sys.platform != "linux", reason="looks into memory as Linux lays it out")
def test_a_key_is_not_in_the_memory_of_a_guest(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(EVALUATOR)
    (tmp_path / "heuristic.py").write_text(READS)
    environment = {**os.environ, "OPENAI_API_KEY": "sk-very-secret", "PYTHONPATH": str(ROOT)}
    environment.pop("ORAGENT_RESTARTED", None)
    done = subprocess.run(
        [sys.executable, tmp_path / name], env=environment, capture_output=True, text=True, check=False
    )
    assert "{'found': 0," in done.stdout, done.stdout + done.stderr
    environment["ORAGENT_RESTARTED"] = "1"  # who says so is left alone: the look above finds what is there
    done = subprocess.run(
        [sys.executable, tmp_path / name], env=environment, capture_output=True, text=True, check=False
    )
    assert "{'found': 0," not in done.stdout
