"""On fresh sets of online packing, programs that try to know later items are never better than their honest part."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from oragent._base.protocol import Result, parse

PROJECT = Path(__file__).parents[2]
CHANNELS = Path(__file__).parent / "sends_bits.py"
RUNS = int(os.environ.get("ORAGENT_TEST_FRESH_RUNS", "3"))
HONEST = "def priority(item, bins_remain_cap):\n    return -bins_remain_cap\n"
# sends the size class of each hundredth item, and keeps room for what it hears of the next one
LISTENS = """
calls = 0
word = None
def priority(item, bins_remain_cap):
    global calls, word
    calls += 1
    if calls % 100 == 1:
        try:
            word = max(hear([NAME]).values(), default=None)
            (CHANNELS | OPEN)[NAME][0](int(item) * 8 // 101)
        except Exception:
            pass
    wasted = bins_remain_cap - item
    if word:
        expected = 12.5 * word
        return -bins_remain_cap + 5.0 * (abs(wasted - expected) < 3)
    return -bins_remain_cap
"""
# looks for the items of the instance in all of its memory, and packs by the next one if it finds it
SEARCHES = """
import gc
import numpy as np
seen = []
def following():
    if len(seen) < 40 or len(seen) % 500:
        return None
    for found in gc.get_objects():
        if isinstance(found, np.ndarray) and found.ndim == 1 and found.dtype.kind in "if" and len(found) > len(seen):
            if np.array_equal(found[: len(seen)], seen):
                raise RuntimeError("got through: I know the next items")
        if type(found) is list and found is not seen and len(found) > len(seen) and found[: len(seen)] == seen:
            raise RuntimeError("got through: I know the next items")
    return None
def priority(item, bins_remain_cap):
    seen.append(item)
    following()
    return -bins_remain_cap
"""
NAMES = (
    "inodes of pipes",
    "inode of the inherited pipe",
    "times of access",
    "pages in memory",
    "flags of an inherited file",
    "shared memory",
    "files",
    "a process left behind",
    "room on disks",
    "locks",
    "memory pressure",
    "missing names",
    "time of the end",
)


def evaluate(program: Path, seed: int) -> float:
    words = [sys.executable, PROJECT / "problems" / "bpp_online" / "eval.py", f"--root_dir={PROJECT}", "--mode=fresh"]
    words += ["--problem_size=5000", f"--fresh_seed={seed}", f"--candidate={program}", "--heuristic_s=none"]
    ended = parse(subprocess.run(words, capture_output=True, text=True, check=False).stdout)
    assert isinstance(ended, Result), ended
    return ended.score


@cache
def honest_score(folder: Path, seed: int) -> float:
    program = folder / "honest.py"
    program.write_text(HONEST)
    return evaluate(program, seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_channel_says_anything_of_later_items(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp()
    program = folder / "listens.py"
    program.write_text(f"NAME = {name!r}\nSALT = 'x'\n{CHANNELS.read_text()}\n{LISTENS}")
    gains = [honest_score(folder, seed) - evaluate(program, seed) for seed in range(1000, 1000 + RUNS)]
    # five instances: less than one bin each
    assert max(gains) < 1, gains


@pytest.mark.slow
def test_no_item_that_is_still_to_come_is_in_memory(tmp_path: Path) -> None:
    program = tmp_path / "searches.py"
    program.write_text(SEARCHES)
    for seed in range(2000, 2000 + RUNS):
        assert evaluate(program, seed) == honest_score(tmp_path, seed)
