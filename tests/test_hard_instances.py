"""The examples that breed hard instances: ratios against enumeration, and makers that try to cheat."""

import itertools
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oragent._base.errors import CandidateError
from oragent.domains import bpp, tsp
from oragent.solvers.constructive import construct_tour, pack_online

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the names of an evaluator, which imports the rule beside it."""
    monkeypatch.syspath_prepend(EXAMPLES / name)
    monkeypatch.delitem(sys.modules, "attacked", raising=False)
    names = runpy.run_path(str(EXAMPLES / name / "eval.py"))
    monkeypatch.delitem(sys.modules, "attacked")
    return names


@pytest.fixture
def tours(monkeypatch: pytest.MonkeyPatch) -> Any:
    return load("hard_tours", monkeypatch)


@pytest.fixture
def items(monkeypatch: pytest.MonkeyPatch) -> Any:
    return load("hard_items", monkeypatch)


@pytest.mark.parametrize("seed", range(4))
def test_a_ratio_of_tours_is_at_most_that_of_the_shortest_tour(tours: Any, seed: int) -> None:
    instance = tsp.generate(np.random.default_rng(seed), 7)
    shortest = min(tsp.objective(instance, np.array((0, *rest))) for rest in itertools.permutations(range(1, 7)))
    built = tsp.objective(instance, np.array(construct_tour(tours["select_next_node"], instance.distances)))
    assert 1 <= tours["compare_tours"](instance) <= built / shortest + 1e-9


def test_a_ratio_of_tours_does_not_depend_on_their_scale_or_place(tours: Any) -> None:
    points = np.random.default_rng(1).random((20, 2))
    expected = tours["lay_out"](points, 20).coordinates
    for answer in (points * 1e-6, points * 64 - 7, 1e12 * points):
        assert np.abs(tours["lay_out"](answer, 20).coordinates - expected).max() <= 2e-4
    assert (expected.min(), expected.max()) == (0, 1)


SPREAD = np.arange(20.0).reshape(10, 2)
FAR = np.where(np.arange(10) < 9, 0.0, 1e308)[:, None] * np.array((1, -1)) + SPREAD


@pytest.mark.parametrize(
    "answer",
    [
        np.zeros((10, 2)),
        np.full((10, 2), np.nan),
        np.where(SPREAD > 18, np.inf, SPREAD),
        np.where(SPREAD > 18, 1e9, SPREAD),
        FAR,
        FAR * np.where(np.arange(10) < 5, 1, -1)[:, None],
        np.repeat(SPREAD[:5], 2, axis=0),
        SPREAD[:, :1],
        SPREAD.tolist()[:9],
        None,
        "points",
    ],
)
def test_cities_that_coincide_or_are_no_numbers_are_refused(tours: Any, answer: object) -> None:
    with pytest.raises(CandidateError):
        tours["lay_out"](answer, 10)


def test_cities_of_a_line_or_a_lattice_have_a_spacing(tours: Any) -> None:
    line = tours["lay_out"](np.arange(16)[:, None] * np.array((1, 0)), 16)
    grid = tours["lay_out"](np.stack(np.divmod(np.arange(16), 4), axis=1), 16)
    assert tours["measure_spacing"](line) == pytest.approx((2 / 15 * 16, 0.0), rel=1e-3)
    # Each of 16 points in a square has its neighbour at a third of a side.
    assert tours["measure_spacing"](grid) == pytest.approx((2 * 4 / 3, 1.0), rel=1e-3)


def fewest_bins(sizes: list[int], rooms: tuple[int, ...] = ()) -> int:
    """Return the least number of bins, by enumeration."""
    if not sizes:
        return len(rooms)
    first, rest = sizes[0], sizes[1:]
    tries = [
        (*rooms[:at], rooms[at] - first, *rooms[at + 1 :])
        for at in {rooms.index(room) for room in rooms if room >= first}
    ]
    return min(fewest_bins(rest, grown) for grown in [*tries, (*rooms, 100 - first)])


@pytest.mark.parametrize("seed", range(4))
def test_a_ratio_of_packings_is_at_most_that_of_the_fewest_bins(items: Any, seed: int) -> None:
    instance = bpp.BppInstance(np.random.default_rng(seed).integers(15, 70, 9), 100)
    online = bpp.objective(instance, np.array(pack_online(items["priority"], instance.items, 100)))
    assert 1 <= items["compare_packings"](instance) <= online / fewest_bins(instance.items.tolist())


def test_best_fit_decreasing_opens_a_bin_where_no_other_holds_the_item(items: Any) -> None:
    instance = bpp.BppInstance(np.array([20, 70, 40, 60, 10]), 100)
    assert items["pack_decreasing"](instance) == [0, 0, 1, 1, 0]


def test_the_order_of_sizes_is_not_the_makers_and_sizes_fit_into_bins(items: Any) -> None:
    answer = np.linspace(-5, 105, 40)
    made = [items["make_items"](sizes, np.random.default_rng(5), 40).items for sizes in (answer, answer[::-1])]
    assert np.array_equal(*made)
    assert (made[0].min(), made[0].max()) == (1, 100)
    assert sorted(made[0]) == sorted(np.rint(np.clip(answer, 1, 100)))
    assert not np.array_equal(made[0], np.sort(made[0]))


@pytest.mark.parametrize(
    ("answer", "refused"),
    [
        (np.repeat(np.arange(10) + 9, 4), False),
        (np.append(np.repeat(np.arange(10) + 9, 4)[1:], 10.4), True),
        (np.full(40, 100), True),
        (np.linspace(-50, 100, 40), True),
        (np.append(np.arange(39), np.nan), True),
        (np.arange(39), True),
        (None, True),
    ],
)
def test_few_items_have_one_size(items: Any, answer: Any, refused: bool) -> None:
    if refused:
        with pytest.raises(CandidateError):
            items["make_items"](answer, np.random.default_rng(5), 40)
    else:
        assert sorted(items["make_items"](answer, np.random.default_rng(5), 40).items) == answer.tolist()


@pytest.mark.parametrize("size", [1, 10, 34, 51, 100])
def test_items_of_one_size_are_hard_for_no_good_rule(items: Any, size: int) -> None:
    assert items["compare_packings"](bpp.BppInstance(np.full(30, size), 100)) == 1
