"""Where a candidate could tell from its calls which instance it is at, every instance has a guest of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
COUNTS = """
calls = []
def crossover(parents, n_offspring):
    calls.append(len(parents))
    if len(calls) > {most}:
        raise RuntimeError("remembers another instance")
    return original(parents, n_offspring)
"""


def scored(heuristic: Path) -> subprocess.CompletedProcess[str]:
    evaluator = ROOT / "problems" / "dpp_ga" / "eval.py"
    return subprocess.run(
        [sys.executable, evaluator, f"--root_dir={ROOT}", "--mode=train", f"--candidate={heuristic}"],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_a_crossover_cannot_count_instances(tmp_path: Path) -> None:
    seed = (ROOT / "problems" / "dpp_ga" / "heuristic.py").read_text().replace("def crossover", "def original")
    heuristic = tmp_path / "heuristic.py"
    heuristic.write_text(seed + COUNTS.format(most=5))
    done = scored(heuristic)
    assert done.returncode == 0, done.stdout[-500:]
    heuristic.write_text(seed + COUNTS.format(most=4))  # one instance asks five times
    assert "remembers another instance" in scored(heuristic).stdout
