"""Options of an evaluator's own pass through ``oragent eval``."""

import subprocess
from pathlib import Path

import pytest

from tests.cli.test_cli import oragent

EVALUATOR = """
import sys
if "--fail" in sys.argv:
    sys.exit(7)
print(sys.argv[1:])
open("made.txt", "w").close()
"""


def oragent_eval(toy: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (toy / "eval.py").write_text(EVALUATOR)
    return oragent("eval", "toy", *words, cwd=toy.parents[1])


@pytest.mark.slow
def test_own_options_run_the_evaluator_here_with_all_that_was_given(toy: Path) -> None:
    candidate = toy / "heuristic.py"
    done = oragent_eval(toy, "--mode", "train", f"--candidate={candidate}", "--draw", "--file_output_prefix=x")
    assert done.returncode == 0, done.stderr
    root = toy.parents[1]
    wanted = [f"--root_dir={root}", f"--candidate={candidate}", "--mode=train", "--draw", "--file_output_prefix=x"]
    assert done.stdout.strip() == repr(wanted)
    assert (root / "made.txt").exists()


def test_its_exit_code_is_passed_on(toy: Path) -> None:
    assert oragent_eval(toy, "--fail").returncode == 7
