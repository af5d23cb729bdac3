"""Where a candidate could tell from its calls which instance it is at, every instance has a guest of its own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
COUNTS = """
calls = []
def crossover(parents, n_offspring):
    calls.append(len(parents))
    if len(calls) > {most}:
        raise RuntimeError("remembers another instance")
    return original(parents, n_offspring)
"""


def test_a_crossover_cannot_count_instances(tmp_path: Path) -> None:
    problem = ROOT / "problems" / "dpp_ga"
    seed = (problem / "heuristic.py").read_text().replace("def crossover", "def original")
    (tmp_path / "heuristic.py").write_text(seed + COUNTS.format(most=5))
    command = [sys.executable, problem / "eval.py", f"--root_dir={ROOT}", "--mode=train"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, f"--candidate={tmp_path / 'heuristic.py'}"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-500:]
    (tmp_path / "heuristic.py").write_text(seed + COUNTS.format(most=4))  # one instance asks five times
    again = subprocess.run(
        [*command, f"--candidate={tmp_path / 'heuristic.py'}"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "remembers another instance" in again.stdout
