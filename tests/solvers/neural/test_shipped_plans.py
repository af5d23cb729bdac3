"""Networks follow the plans of the programs that ship, which overrule them."""

from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest
import torch

from oragent.discovered import load as load_program
from oragent.domains import cvrp
from oragent.solvers.neural.solve import lengths, routes, solve
from oragent.solvers.neural.weights import load

ROOT = Path(__file__).parents[3]
CPU = torch.device("cpu")
# They are compiled.
pytestmark = pytest.mark.slow


def distances_of(points: torch.Tensor) -> torch.Tensor:
    return (points[:, :, None] - points[:, None]).norm(dim=-1)


@pytest.mark.parametrize("problem", ["tsp_pomo", "tsp_lehd"])
def test_planned_tours_of_few_cities_are_the_shortest_of_all(problem: str) -> None:
    points = torch.rand(4, 8, 2, generator=torch.Generator().manual_seed(1))
    plan = load_program(problem, "planned_tour", root=ROOT)
    bias = torch.stack([plan(matrix) for matrix in distances_of(points)])
    tours = solve(load(problem, ROOT, CPU).model, points, None, bias)
    every = torch.tensor([(0, *order) for order in permutations(range(1, 8))])
    for number, tour in enumerate(tours):
        shortest = lengths(points[number].expand(len(every), -1, -1), every).min()
        assert lengths(points[number, None], tour[None]).item() == pytest.approx(shortest.item(), rel=1e-5)


def test_customers_are_served_in_the_planned_order_whenever_the_network_returns() -> None:
    generator = torch.Generator().manual_seed(1)
    points = torch.rand(1, 31, 2, generator=generator)
    loads = torch.randint(1, 10, (31,), generator=generator)
    loads[0] = 0
    bias = load_program("cvrp_lehd", "planned_routes", root=ROOT)(distances_of(points)[0], loads / 40)
    path = routes(solve(load("cvrp_lehd", ROOT, CPU).model, points, loads[None] / 40, bias[None])[0])
    instance = cvrp.CvrpInstance(points[0].double().numpy(), loads.numpy(), 40)
    cvrp.check(instance, path)
    customers = [0, *path[path != 0].tolist()]
    planned = [0]
    while len(planned) < 31:
        planned.append(int(bias[planned[-1]].argmax()))
    assert customers == planned
    assert sorted(customers) == list(range(31))
    assert all(bias[a, b] == bias.max() for a, b in pairwise(customers))
    assert np.isfinite(cvrp.objective(instance, path))
