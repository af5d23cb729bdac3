"""Test files of other papers are scored by the problems' own evaluators."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
TOOLS = ROOT / "docs" / "tools"
sys.path.insert(0, str(TOOLS))
try:
    import published_tests
finally:
    sys.path.remove(str(TOOLS))


@pytest.mark.slow
def test_tours_of_a_file_are_measured_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    angles = 2 * np.pi * np.arange(12) / 12
    ring = 0.5 + 0.5 * np.stack((np.cos(angles), np.sin(angles)), axis=1)
    random = np.random.default_rng(0)
    files = tmp_path / "tsp_aco"
    files.mkdir()
    np.save(files / "test12_dataset.npy", np.stack([ring[random.permutation(12)] for _ in range(2)]))
    monkeypatch.setattr(sys, "argv", ["published_tests", str(tmp_path), "tsp_aco"])
    assert published_tests.main() == 0
    printed = capsys.readouterr().out
    # The shortest tour follows the ring.
    assert f"{{'12': {round(12 * math.sin(math.pi / 12), 6)}}}" in printed


@pytest.mark.parametrize("name", published_tests.DRAWN)
def test_each_evaluator_uses_the_instances_of_the_file(name: str, tmp_path: Path) -> None:
    rows = np.zeros((1, 3, {"tsp_aco": 2, "cvrp_aco": 3}.get(name, 1)))
    published_tests.with_instances(name, {7: rows, 9: rows}, tmp_path / name)
    evaluator = (tmp_path / name / "eval.py").read_text()
    assert '"test": (7, 9)' in evaluator
    assert evaluator.index("_FILES") < evaluator.index("def evaluate(")
    compile(evaluator, name, "exec")
    described = (tmp_path / name / "problem.yaml").read_text()
    assert "  test: [7, 9]\n" in described
    assert described != (ROOT / "problems" / name / "problem.yaml").read_text()
