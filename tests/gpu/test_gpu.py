"""What only a GPU can show; skipped where PyTorch sees none: pytest -m gpu tests/gpu."""

from pathlib import Path

import numpy as np
import pytest

from oragent.evaluation import EvaluationRunner
from oragent.evaluation.devices import find_devices
from oragent.evaluation.problem import LimitSettings, load_problem

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not find_devices().cards, reason=find_devices().why_not or "there is one"),
]
ROOT = Path(__file__).parents[2]
PROBLEMS = ("tsp_pomo", "cvrp_pomo", "tsp_lehd", "cvrp_lehd")
CARD = find_devices().cards[0].device if find_devices().cards else "cpu"


@pytest.mark.parametrize("low", [False, True])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_tours_of_a_gpu_are_as_long_as_those_of_processors_and_the_loop_does_not_wait(problem: str, low: bool) -> None:
    torch = pytest.importorskip("torch")
    solving = pytest.importorskip("oragent.solvers.neural.solve")
    find = pytest.importorskip("oragent.solvers.neural.weights").load
    generator = torch.Generator().manual_seed(0)
    points = torch.rand(16, 100, 2, generator=generator)
    demands = torch.randint(1, 10, (16, 100), generator=generator) / 50
    demands[:, 0] = 0
    loads = None if problem.startswith("tsp") else demands
    there = [points.to(CARD), None if loads is None else loads.to(CARD)]
    model = find(problem, ROOT, torch.device(CARD)).model
    solving.solve(model, *there, bfloat16=low)  # what is chosen and asked for once
    looks = problem == "cvrp_pomo" or (low and "lehd" in problem)  # now and then, and once in the end
    torch.cuda.set_sync_debug_mode("warn" if looks else "error")
    try:
        found = solving.solve(model, *there, bfloat16=low)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    ours = solving.solve(find(problem, ROOT, torch.device("cpu")).model, points, loads)
    lengths = [float(solving.lengths(points, paths.cpu()).mean()) for paths in (found, ours)]
    assert lengths[0] == pytest.approx(lengths[1], rel=0.01)


@pytest.mark.parametrize("problem", ["tsp_pomo", "tsp_lehd"])
def test_a_search_scores_on_it_the_same_twice_and_near_the_processors(problem: str) -> None:
    about = load_problem(ROOT / "problems" / problem)
    limits = about.make_limits(LimitSettings())
    with EvaluationRunner(2) as run:
        on, off = (
            about.make_job(about.seed, ROOT, limits, "train", None, (f"--device={where}",)) for where in (CARD, "cpu")
        )
        first, second, slow = run(on), run(on), run(off)
    assert first.score is not None, first.message
    assert first.score == second.score
    assert first.metrics["device"] == CARD
    assert first.score == pytest.approx(slow.score, rel=0.01)


def test_evaluations_answered_together_get_what_each_gets_alone() -> None:
    torch = pytest.importorskip("torch")
    serving = pytest.importorskip("oragent.solvers.attention_bias.serving")
    requests = pytest.importorskip("oragent.solvers.attention_bias.serving")
    rng = np.random.default_rng(0)
    points = rng.random((4, 100, 2), dtype=np.float32)
    asked = [
        requests.Request("tsp_lehd", points, None, rng.random((4, 100, 100), dtype=np.float32), 1, False, False, 0)
        for _ in range(3)
    ]
    server = serving.Server.__new__(serving.Server)
    server.__dict__ |= {"_root": ROOT, "_device": torch.device(CARD), "_networks": {}, "_same": {}}
    server.__dict__["_instances"] = serving.OrderedDict()
    together = server._computed(asked)
    for one, found in zip(asked, together, strict=True):
        assert np.array_equal(server._computed([one])[0]["paths"], found["paths"])


@pytest.mark.parametrize("problem", ["tsp_pomo", "cvrp_pomo"])
def test_a_training_on_it_goes_on_and_counts_its_hours(problem: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    training = pytest.importorskip("oragent_benchmarks.training.trainer")
    request = pytest.importorskip("oragent_benchmarks.training.request").TrainRequest
    for steps in (3, 6):
        now = training.train(request(problem, tmp_path, tmp_path, steps=steps, device="cuda", batch=2), measure=False)
    assert (now.step, now.batch) == (6, 2)
    assert now.gpu_s > 0
    assert now.gpu
