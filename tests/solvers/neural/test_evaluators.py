"""The evaluators of the neural problems, in mode train: what the contract test does for faster problems."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from oragent._base.protocol import Result, parse
from oragent.domains.network_instances import CAPACITIES, cvrp_stream, tsp_stream

ROOT = Path(__file__).parents[3]
SAYING = "import torch\ndef heuristics(distance_matrix, demands=None):\n    return {}\n"


def score(problem: str, candidate: Path, *options: str) -> Result:
    command = [sys.executable, f"problems/{problem}/eval.py", "--mode=train", f"--candidate={candidate}", *options]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    found = parse(ended.stdout)
    assert isinstance(found, Result), ended.stderr
    return found


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["tsp_lehd", "cvrp_lehd"])
def test_nearness_changes_what_lehd_does_and_the_score_is_repeated(problem: str, tmp_path: Path) -> None:
    near, none = tmp_path / "near.py", tmp_path / "none.py"
    near.write_text(SAYING.format("-9 * torch.log(distance_matrix + 0.001)"))
    none.write_text(SAYING.format("torch.zeros_like(distance_matrix)"))
    first = score(problem, near)
    assert first.score == score(problem, near).score
    plain = score(problem, none)
    assert plain.score != first.score
    assert (plain.metrics["reach"], plain.metrics["strength"]) == (0, 0)
    assert first.metrics["strength"] > 0.5


@pytest.mark.slow
def test_people_may_ask_for_more_than_one_greedy_tour(tmp_path: Path) -> None:
    none = tmp_path / "none.py"
    none.write_text(SAYING.format("torch.zeros_like(distance_matrix)"))
    plain = score("tsp_pomo", none, "--device=cpu")
    assert score("tsp_pomo", none, "--multi_start").score < plain.score


def test_a_candidate_computes_with_the_vector_instructions_of_its_processor(tmp_path: Path) -> None:
    asks = tmp_path / "asks.py"
    body = "raise ValueError(torch.backends.cpu.get_cpu_capability())"
    asks.write_text(f"import torch\n\n\ndef heuristics(distance_matrix):\n    {body}\n")
    command = [sys.executable, str(ROOT / "problems/tsp_pomo/eval.py"), f"--root_dir={ROOT}", f"--candidate={asks}"]
    ended = subprocess.run([*command, "--mode=train"], capture_output=True, text=True, cwd=ROOT)
    assert f"ValueError: {torch.backends.cpu.get_cpu_capability()} " in ended.stdout
    assert "cpuinfo" not in ended.stderr


@pytest.mark.slow
def test_weights_that_a_project_does_not_have_are_those_that_ship(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "problems/tsp_pomo/eval.py"), f"--root_dir={tmp_path}", "--mode=train"]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert ended.returncode == 0
    assert "__SANDBOX_SUCCESS__" in ended.stdout


@pytest.mark.parametrize(("mode", "count"), [("train", 10), ("val", 64), ("test", 64)])
def test_instances_are_what_pytorch_draws_after_the_seed_of_the_mode(mode: str, count: int) -> None:
    torch.manual_seed(len(mode))
    for size in (200, 500):
        drawn = torch.rand(count, size, 2)[:10].double().numpy()
        assert np.array_equal([one.coordinates for one in tsp_stream(mode, size)], drawn)
    torch.manual_seed(len(mode))
    for size in (200, 500):
        points = torch.cat((torch.rand(count, 1, 2), torch.rand(count, size, 2)), 1)[:10].double().numpy()
        demands = torch.randint(1, 10, (count, size))[:10].numpy()
        found = cvrp_stream(mode, size)
        assert np.array_equal([one.coordinates for one in found], points)
        assert np.array_equal([one.demands[1:] for one in found], demands)
        assert {one.capacity for one in found} == {CAPACITIES[size]}


def test_a_size_that_the_stream_does_not_have_is_told() -> None:
    with pytest.raises(ValueError, match="modes"):
        tsp_stream("val", 300)
