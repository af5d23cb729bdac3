from collections.abc import Iterator
from pathlib import Path

import pytest

from oragent.authoring import ContractFinding, check_problem
from oragent.search.genetics.variation import child_of_seed

from .folders import Checked

DESCRIPTION = """
title: halves
description: Halve a number.
function: half
direction: maximize
timeout_s: 20
sizes: {train: [2], val: [2, 4]}
features:
  - {name: size, bins: 5}
primitives: [x / 3, np.sqrt(x)]
"""

SEED = '''
def half(x):
    """Halve ``x``."""
    return x / 2
'''

# Plain and quick to start: no numpy, and the candidate in its own process.
EVALUATOR = """
import argparse, math, random, sys, time
from heuristic import half

parser = argparse.ArgumentParser()
parser.add_argument("--root_dir")
parser.add_argument("--file_output_prefix")
parser.add_argument("--mode", default="val", choices=["train", "val"])
parser.add_argument("--problem_size", type=int, choices=[2, 4])
given = parser.parse_args()
score = half(10.0)
if type(score) is not float or not math.isfinite(score):
    raise ValueError("no finite number")
metrics, features = {"length_2": score}, (min(4, max(0, int(score) // 4)),)
print(f'''
__SANDBOX_RESULT__
__METRICS_START__
{metrics!r}
__METRICS_END__
__FEATURES_START__
{features!r}
__FEATURES_END__
__SCORE_START__
{score!r}
__SCORE_END__
__SANDBOX_SUCCESS__''')
"""


@pytest.fixture
def checked(tmp_path: Path) -> Checked:
    """Check a small problem after a change of one of its files: of ``old`` text to ``new``."""

    def run(file: str = "", old: str = "", new: str = "", **options: object) -> Iterator[ContractFinding]:
        texts = {"problem.yaml": DESCRIPTION, "heuristic.py": SEED, "eval.py": EVALUATOR}
        if file:
            assert old in texts[file]
            texts[file] = texts[file].replace(old, new)
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
        return check_problem(tmp_path, tmp_path, child_of_seed, **options)

    return run
