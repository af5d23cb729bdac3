"""Both networks do, in batches and with what they keep, what the papers say one step at a time."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch

from oragent.domains import cvrp, tsp
from oragent.solvers.neural import lehd
from oragent.solvers.neural.pomo import sampler
from oragent.solvers.neural.solve import lengths, routes, solve
from oragent.solvers.neural.weights import NETWORKS, load, official_names

ROOT = Path(__file__).parents[3]
SPEC = importlib.util.spec_from_file_location("plain", Path(__file__).with_name("plain.py"))
plain = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(plain)

COUNTS = {"tsp_pomo": 1_269_760, "cvrp_pomo": 1_254_016, "tsp_lehd": 1_431_681, "cvrp_lehd": 1_415_682}


def network(problem: str, seed: int = 0, scale: float = 1.5) -> torch.nn.Module:
    """One with first weights, made larger so that nodes differ more."""
    torch.manual_seed(seed)
    model = NETWORKS[problem]().eval().requires_grad_(False)
    for value in model.parameters():
        value.mul_(scale)
    return model


def instances(size: int, seed: int, count: int = 3) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Coordinates, demands and biases."""
    generator = torch.Generator().manual_seed(seed)
    points = torch.rand(count, size, 2, generator=generator)
    demands = torch.randint(1, 10, (count, size), generator=generator) / 20
    demands[:, 0] = 0
    return points, demands, torch.randn(count, size, size, generator=generator)


@pytest.mark.parametrize(("problem", "count"), COUNTS.items())
def test_a_network_has_as_many_parameters_as_the_official_one(problem: str, count: int) -> None:
    assert sum(value.numel() for value in NETWORKS[problem]().parameters()) == count


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
@pytest.mark.parametrize("problem", COUNTS)
def test_a_batch_is_solved_as_by_the_plain_reference(problem: str, seed: int) -> None:
    model = network(problem, seed)
    weights = official_names(problem, model.state_dict())
    points, demands, bias = instances(13, seed)
    tsp_like = problem.startswith("tsp")
    paths = solve(model, points, None if tsp_like else demands, 3 * bias)
    for number, path in enumerate(paths):
        given = (points[number],) if tsp_like else (points[number], demands[number])
        expected, _ = getattr(plain, problem)(weights, *given, 3 * bias[number])
        found = path.tolist() if tsp_like else routes(path).tolist()
        assert found == expected


def test_pomo_scores_every_step_as_the_plain_reference_does() -> None:
    for problem in ("tsp_pomo", "cvrp_pomo"):
        model = network(problem, scale=1.0)
        points, demands, bias = instances(13, 5)
        given = (points,) if problem == "tsp_pomo" else (points, demands)
        seen: list[torch.Tensor] = []

        def pick(logits: torch.Tensor, seen: list[torch.Tensor] = seen) -> torch.Tensor:
            seen.append(logits)
            return logits.argmax(-1)

        starts = torch.tensor([[2, 5]]).repeat(3, 1)
        model.walk(model.encode(*given), starts, pick, bias)
        weights = official_names(problem, model.state_dict())
        for number in range(3):
            for walk, start in enumerate((2, 5)):
                own = [part[number] for part in given]
                _, expected = getattr(plain, problem)(weights, *own, bias[number], start)
                found = [logits[number, walk] for logits in seen][: len(expected)]
                assert torch.allclose(torch.stack(found), torch.stack(expected), atol=1e-5)


@pytest.mark.parametrize("problem", ["tsp_lehd", "cvrp_lehd"])
def test_lehd_scores_the_first_decision_as_the_plain_reference_does(problem: str) -> None:
    model = network(problem, scale=1.0)
    points, demands, bias = instances(13, 6)
    given = (points,) if problem == "tsp_lehd" else (points, demands)
    found = model.first_scores(*given)
    for number in range(3):
        own = [part[number] for part in given]
        expected = getattr(plain, problem)(official_names(problem, model.state_dict()), *own, 0 * bias[number])[1][0]
        assert torch.allclose(found[number], expected.reshape(12, -1)[:, -1], atol=1e-5)


@pytest.mark.parametrize("problem", ["tsp_pomo", "cvrp_pomo"])
def test_the_likelihood_of_paths_is_the_product_of_their_steps(problem: str) -> None:
    model = network(problem)
    points, demands, _ = instances(9, 7)
    given = (points,) if problem == "tsp_pomo" else (points, demands)
    steps: list[torch.Tensor] = []
    draw = sampler(torch.Generator().manual_seed(0))

    def pick(logits: torch.Tensor) -> torch.Tensor:
        node = draw(logits)
        steps.append(logits.log_softmax(-1).gather(-1, node[..., None]).squeeze(-1))
        return node

    encoded = model.encode(*given)
    paths = model.walk(encoded, torch.tensor([[1, 2, 3]]).repeat(3, 1), pick)
    assert torch.allclose(model.log_likelihood(encoded, paths), torch.stack(steps).sum(0), atol=1e-4)


@pytest.mark.parametrize("size", [2, 3, 30])
@pytest.mark.parametrize("problem", COUNTS)
def test_solutions_are_feasible_and_as_long_as_said(problem: str, size: int) -> None:
    points, demands, bias = instances(size, size)
    tsp_like = problem.startswith("tsp")
    paths = solve(network(problem), points, None if tsp_like else demands, bias)
    said = lengths(points, paths)
    for number, path in enumerate(paths):
        where = points[number].double().numpy()
        if tsp_like:
            instance = tsp.TspInstance(where)
            length = tsp.objective(instance, tsp.check(instance, path.numpy()))
        else:
            whole = np.rint(demands[number].numpy() * 20).astype(np.int64)
            instance = cvrp.CvrpInstance(where, whole, 20)
            length = cvrp.objective(instance, cvrp.check(instance, routes(path)))
        assert length == pytest.approx(float(said[number]), rel=1e-5)


@pytest.mark.parametrize("problem", COUNTS)
def test_more_starts_and_symmetries_never_make_it_longer(problem: str) -> None:
    model, (points, demands, bias) = network(problem), instances(9, 8)
    loads = None if problem.startswith("tsp") else demands
    alone = lengths(points, solve(model, points, loads, bias))
    many = lengths(points, solve(model, points, loads, bias, starts=4, augment=True))
    assert (many <= alone + 1e-5).all()


@pytest.mark.parametrize("problem", COUNTS)
def test_a_strong_bias_rules_the_network(problem: str) -> None:
    points, demands, _ = instances(12, 9)
    order = torch.zeros(3, 12, 12)
    for node in range(11):
        order[:, node, node + 1] = 1e4
    path = solve(network(problem), points, None if problem.startswith("tsp") else demands / 99, order)
    visits = [node for node in path[0].tolist() if node] if "cvrp" in problem else path[0, 1:].tolist()
    assert list(dict.fromkeys(visits)) == list(range(1, 12))


@pytest.mark.parametrize("problem", ["tsp_lehd", "cvrp_lehd"])
@pytest.mark.slow
def test_bfloat16_decides_alike_as_close_decisions_are_made_again(
    problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(problem, ROOT, torch.device("cpu")).model
    points, demands, _ = instances(60, 10, count=8)
    loads = None if problem.startswith("tsp") else demands
    exact, low = (solve(model, points, loads, bfloat16=on) for on in (False, True))
    assert float(lengths(points, low).mean()) == pytest.approx(float(lengths(points, exact).mean()), rel=1e-3)
    monkeypatch.setattr(lehd, "DOUBT", torch.inf)
    assert torch.equal(solve(model, points, loads, bfloat16=True), exact)
    monkeypatch.setattr(lehd, "DOUBT", 0.0)
    scored = model.first_scores(points, *([] if loads is None else [loads]))
    with torch.autocast("cpu", torch.bfloat16):
        rounded = model.first_scores(points, *([] if loads is None else [loads]))
    assert not torch.equal(scored, rounded.float())
    assert (
        float(lengths(points, solve(model, points, loads, bfloat16=True)).mean() / lengths(points, exact).mean()) < 1.1
    )
