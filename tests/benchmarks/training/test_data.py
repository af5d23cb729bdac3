"""Pieces cut for training are what they claim to be, and labels are made once."""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

from oragent._base.errors import ProblemError
from oragent.domains import cvrp, tsp
from oragent_benchmarks.training import labels
from oragent_benchmarks.training.labels import TrainingLabels, capacity, cvrp_batch, symmetric, tsp_batch
from oragent_benchmarks.training.tasks import cut_routes, cut_tours


def square_tours(count: int = 5, size: int = 8) -> TrainingLabels:
    """Cities on a circle, visited in order."""
    angles = np.linspace(0, 2 * np.pi, size, endpoint=False)
    points = (0.5 + 0.4 * np.stack((np.cos(angles), np.sin(angles)), 1)).astype(np.float32)
    tours = np.tile(np.arange(size, dtype=np.int16), (count, 1))
    return TrainingLabels(np.tile(points, (count, 1, 1)), np.empty((count, 0), np.float32), tours)


def routes(count: int = 5) -> TrainingLabels:
    """Four routes of two customers each."""
    rng = np.random.default_rng(0)
    steps = np.array([[[customer, customer % 2] for customer in range(1, 9)]] * count, np.int16)
    demands = np.pad(np.full((count, 8), 0.4, np.float32), ((0, 0), (1, 0)))
    return TrainingLabels(rng.random((count, 9, 2), dtype=np.float32), demands, steps)


@pytest.mark.parametrize("left", [2, 5, 7])
def test_a_piece_of_a_tour_goes_along_it_in_either_direction(left: int) -> None:
    pieces = cut_tours(np.random.default_rng(0), square_tours(), 20, left)
    assert pieces.shape == (20, left + 2, 2)
    steps = np.linalg.norm(np.diff(pieces, axis=1), axis=2)
    assert np.allclose(steps, 0.8 * np.sin(np.pi / 8), atol=1e-6)
    ends = np.linalg.norm(pieces[:, 0] - pieces[:, -1], axis=1)
    assert (ends < 1e-6).all() == (left == 7)


@pytest.mark.parametrize("left", [2, 3, 7, 8])
def test_an_end_of_a_solution_tells_room_and_way_home(left: int) -> None:
    inputs, room, home = cut_routes(np.random.default_rng(0), routes(), 50, left)
    assert inputs.shape == (50, left + 2, 3)
    assert np.allclose(inputs[:, 1:-1, 2], 0.4)
    assert np.allclose(inputs[:, -1, 2], 0)
    expected = {8: (1.0, 1), 7: (0.6, 0), 3: (0.6, 0), 2: (0.2, 1)}[left]
    assert np.allclose(room, expected[0], atol=1e-6)
    assert (home == expected[1]).all()


def test_after_a_route_comes_the_one_with_an_end_nearest_to_its_last_customer() -> None:
    inputs, _, _ = cut_routes(np.random.default_rng(1), routes(), 200, 6)
    at, left = inputs[:, 0, :2], inputs[:, 1:-1, :2]
    away = np.linalg.norm(left - at[:, None], axis=2)  # every customer is an end of its route
    assert np.allclose(away[:, 0], away.min(axis=1))


def test_symmetries_keep_all_distances() -> None:
    points = tsp_batch(np.random.default_rng(0), 30, 6)
    turned = symmetric(np.random.default_rng(1), points)
    for before, after in zip(points.astype(float), turned.astype(float), strict=True):
        assert np.allclose(tsp.TspInstance(before).distances, tsp.TspInstance(after).distances, atol=1e-6)
    assert ((turned >= 0) & (turned <= 1)).all()
    assert not np.allclose(points, turned)


def test_usual_capacities_are_those_of_the_literature() -> None:
    assert [capacity(size) for size in (20, 50, 100)] == [30, 40, 50]
    _, demands, capacities = cvrp_batch(np.random.default_rng(0), 200, 50)
    assert (demands[:, 0] == 0).all()
    assert demands[:, 1:].min() == 1
    assert demands.max() == 9
    assert 0.6 < (capacities == 40).mean() < 0.9
    assert (cvrp_batch(np.random.default_rng(0), 20, 50, usual=True)[2] == 40).all()


def test_without_the_outside_solver_the_message_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "elkai", None)
    with pytest.raises(ProblemError):
        labels.tsp_labels(tmp_path, 6, 1, 0)


def test_tours_of_lkh_are_made_once_and_are_optimal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("elkai")
    monkeypatch.setattr(labels, "BLOCK", 4)
    monkeypatch.setattr(labels, "CORES", 1)
    made = labels.tsp_labels(tmp_path, 7, 6, 0)
    assert len(made) == 6
    monkeypatch.setattr(labels, "_tsp_block", None)  # no second time
    again = labels.tsp_labels(tmp_path, 7, 6, 0)
    assert np.array_equal(made.solutions, again.solutions)
    instance = tsp.TspInstance(made.coordinates[0].astype(float))
    best = min(tsp.objective(instance, np.array((0, *rest))) for rest in itertools.permutations(range(1, 7)))
    assert tsp.objective(instance, tsp.check(instance, made.solutions[0])) == pytest.approx(best)


def test_routes_of_pyvrp_are_feasible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyvrp")
    monkeypatch.setattr(labels, "BLOCK", 3)
    made = labels.cvrp_labels(tmp_path, 12, 3, 0)
    for points, demands, steps in zip(made.coordinates, made.demands, made.solutions, strict=True):
        path = [node for customer, home in steps for node in ([0, customer] if home else [customer])]
        whole = np.rint(demands * 2520).astype(np.int64)
        cvrp.check(cvrp.CvrpInstance(points.astype(float), whole, 2520 + 20), [*path, 0])
