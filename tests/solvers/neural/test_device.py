"""What networks do on a GPU, tested without one: no waiting in the loop, other shapes, attention in bfloat16."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from oragent.solvers.neural import attention, lehd, pomo
from oragent.solvers.neural.solve import ALL, _as_paths, _cut, _routes, as_nodes, lengths, routes, solve
from oragent.solvers.neural.weights import NETWORKS

PROBLEMS = ("tsp_pomo", "cvrp_pomo", "tsp_lehd", "cvrp_lehd")
WAITS = {"_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero", "unique_dim", "_unique2"}


class Waits(TorchDispatchMode):
    """Counts what makes the program wait for a GPU: values that it looks at, shapes that depend on values, copies."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        masks = name in ("index", "index_put", "index_put_") and any(
            one is not None and one.dtype is torch.bool for one in args[1]
        )
        self.count += name in WAITS or masks or (name == "_to_copy" and "device" in (kwargs or {}))
        return func(*args, **(kwargs or {}))


def network(problem: str, scale: float = 1.5) -> torch.nn.Module:
    torch.manual_seed(0)
    model = NETWORKS[problem]().eval().requires_grad_(False)
    for value in model.parameters():
        value.mul_(scale)
    return model


def given(problem: str, size: int, count: int = 3) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]:
    generator = torch.Generator().manual_seed(size)
    points = torch.rand(count, size, 2, generator=generator)
    demands = torch.randint(1, 10, (count, size), generator=generator) / 20
    demands[:, 0] = 0
    return points, None if problem.startswith("tsp") else demands, torch.randn(count, size, size, generator=generator)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads that wait for each other on a busy machine take longer than these small networks."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the way of a GPU, on the processor."""
    monkeypatch.setattr(lehd, "WIDTHS", {"cpu": 8})
    monkeypatch.setattr(lehd, "WAITING", set())
    monkeypatch.setattr(pomo, "STEPS_BETWEEN_TESTS", {"cpu": 16})


@pytest.mark.usefixtures("as_on_a_gpu")
@pytest.mark.parametrize(
    ("problem", "low"), [pytest.param(name, False, marks=pytest.mark.slow) for name in PROBLEMS] + [("cvrp_lehd", True)]
)
def test_the_loop_waits_no_more_often_for_more_nodes(problem: str, low: bool) -> None:
    model, counts = network(problem), []
    for size in (12, 28):
        points, demands, bias = given(problem, size)
        with Waits() as waits:
            solve(model, points, demands, bias, bfloat16=low)
        counts.append(waits.count)
    most = {"tsp_pomo": 0, "cvrp_pomo": 4, "tsp_lehd": int(low), "cvrp_lehd": int(low)}  # routes: a look in 16 steps
    assert counts[1] <= most[problem] + (1 if problem == "cvrp_pomo" else 0), counts


def test_the_counter_sees_what_would_wait() -> None:
    with Waits() as waits:
        values = torch.arange(3)
        bool(values.any()), values[values > 1], values.nonzero(), values.sum().item()
    assert waits.count == 4


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_gpus_way_leads_to_the_same_solutions(problem: str, request: pytest.FixtureRequest) -> None:
    model, (points, demands, bias) = network(problem), given(problem, 30)
    before = solve(model, points, demands, bias)
    request.getfixturevalue("as_on_a_gpu")
    assert torch.equal(solve(model, points, demands, bias), before)


@pytest.mark.slow
@pytest.mark.usefixtures("as_on_a_gpu")
def test_where_more_decisions_are_close_than_are_made_again_all_is_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    model, (points, _, bias) = network("tsp_lehd"), given("tsp_lehd", 15, count=6)
    exact = solve(model, points, None, bias)
    monkeypatch.setattr(lehd, "DOUBT", torch.inf)
    assert torch.equal(solve(model, points, None, bias, bfloat16=True), exact)
    monkeypatch.setattr(lehd, "AGAIN", 1)  # every row is made again at once
    monkeypatch.setattr(lehd, "surely", lambda build, kind: build()[0])
    assert torch.equal(solve(model, points, None, bias, bfloat16=True), exact)


def test_attention_in_bfloat16_is_near_that_in_single_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    queries, keys, values = torch.randn(3, 2, 8, 12, 16).bfloat16()
    mask = torch.zeros(2, 12, 12)
    mask[:, :, 3] = -torch.inf
    with torch.inference_mode():
        exact = attention.attend(queries, keys, values, mask)
    monkeypatch.setattr(attention, "SINGLE", set())
    low = attention.attend(queries, keys, values, mask)
    assert (exact.dtype, low.dtype) == (torch.float32, torch.bfloat16)
    assert torch.allclose(low.float(), exact, atol=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["tsp_lehd", "cvrp_lehd"])
def test_rebuilt_solutions_are_whole_and_never_longer(problem: str) -> None:
    model, (points, demands, bias) = network(problem), given(problem, 14)
    lasts = [torch.inf] * 3
    for rebuilds in (0, 3, 12):
        paths = solve(model, points, demands, bias, rebuilds=rebuilds)
        now = lengths(points, paths).tolist()
        assert all(new <= old + 1e-5 for new, old in zip(now, lasts, strict=True))
        lasts = now
        for number, path in enumerate(paths):
            visits = path.tolist() if demands is None else [node for node in routes(path).tolist() if node]
            assert sorted(visits) == list(range(0 if demands is None else 1, 14))
            for route in [] if demands is None else _routes(path.numpy()):
                assert float(demands[number, route].sum()) <= 1 + 1e-4
    assert lasts != lengths(points, solve(model, points, demands, bias)).tolist()  # twelve parts help somewhere


def test_a_tour_completed_from_one_city_to_another_keeps_its_ends_and_all_between() -> None:
    model, (points, _, _) = network("tsp_lehd"), given("tsp_lehd", 9)
    found = model.complete(points)
    assert found[:, 0].tolist() == [0] * 3
    assert found[:, -1].tolist() == [8] * 3
    assert found.sort(1).values.tolist() == [list(range(9))] * 3


def test_routes_are_cut_where_a_vehicle_stands_and_written_back() -> None:
    own = [[1, 2, 3], [4, 5], [6]]
    assert _cut(own, 2) == ([[1, 2, 3], [4]], [5, 6])
    assert _cut(own, 3) == ([[1, 2, 3]], [4, 5, 6])
    assert _cut(own, 6) == ([], [1, 2, 3, 4, 5, 6])
    assert _routes(_as_paths([own], torch.device("cpu"))[0].numpy()) == own
    assert _routes(as_nodes(torch.tensor([[[2, 1], [1, 0]]]))[0].numpy()) == [[2, 1]]


@pytest.mark.parametrize("problem", ["tsp_pomo", "cvrp_pomo"])
def test_all_starts_are_the_best_of_each_alone_and_memory_is_bounded(
    problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, (points, demands, bias) = network(problem), given(problem, 11)
    whole = solve(model, points, demands, bias, starts=ALL)
    first = 0 if demands is None else 1
    inputs = (points,) if demands is None else (points, demands)
    singles = []
    for start in range(first, 11):
        walked = model.walk(model.encode(*inputs), torch.full((3, 1), start), bias=bias)[:, 0]
        singles.append(lengths(points, walked))
    assert torch.allclose(lengths(points, whole), torch.stack(singles).min(0).values, atol=1e-6)
    monkeypatch.setattr("oragent.solvers.neural.solve.MAX_ENTRIES", 11 * 11)
    assert torch.allclose(lengths(points, solve(model, points, demands, bias, starts=ALL)), lengths(points, whole))
