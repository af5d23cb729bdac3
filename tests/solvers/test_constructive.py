import runpy
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import CandidateError
from oragent.domains import bpp, tsp
from oragent.solvers.constructive import construct_tour, pack_online

PROBLEMS = Path(__file__).parents[2] / "problems"


def seed(problem: str, function: str) -> Callable[..., object]:
    return runpy.run_path(str(PROBLEMS / problem / "heuristic.py"))[function]  # type: ignore[no-any-return]


nearest = seed("tsp_constructive", "select_next_node")
best_fit = seed("bpp_online", "priority")


def funsearch(item: float, bins: np.ndarray) -> np.ndarray:
    """The rule that FunSearch published for Weibull items (DOI 10.1038/s41586-023-06924-6)."""
    score = (bins - bins.max()) ** 2 / item + bins**2 / item**2 + bins**2 / item**3
    score[bins > item] = -score[bins > item]
    score[1:] -= score[:-1]
    return score


def test_nearest_neighbour_has_the_published_length_on_the_val_stream() -> None:
    means = [
        np.mean([tsp.objective(one, tsp.check(one, construct_tour(nearest, one.distances))) for one in instances])
        for instances in (tsp.stream(tsp.CONSTRUCTIVE_STREAM, "val", size) for size in (20, 50, 100))
    ]
    assert round(float(np.mean(means)), 3) == 7.034


@pytest.mark.slow
@pytest.mark.parametrize(("priority", "percent"), [(best_fit, 4.19), (funsearch, 0.72), (lambda _, b: 0 * b, 4.47)])
def test_packing_rules_have_their_published_excess_on_the_val_stream(
    priority: Callable[..., object], percent: float
) -> None:
    instances = bpp.weibull_stream("val", 5000)
    bins = [bpp.objective(one, bpp.check(one, pack_online(priority, one.items, one.capacity))) for one in instances]
    assert round(100 * (sum(bins) / sum(map(bpp.lower_bound, instances)) - 1), 2) == percent


@given(st.lists(st.integers(0, 10), min_size=1, max_size=25), st.integers(0, 2**32 - 1))
def test_a_packing_rule_sees_every_bin_in_which_the_item_fits_in_order(items: list[int], salt: int) -> None:
    rng, seen = np.random.default_rng(salt), []

    def priority(item: float, bins: np.ndarray) -> np.ndarray:
        seen.append((item, bins.copy()))
        return rng.random(len(bins))

    packing = pack_online(priority, np.array(items), 10)
    room = np.full(len(items), 10)
    for (item, bins), size, number in zip(seen, items, packing, strict=True):
        assert item == size
        assert np.array_equal(bins, room[room >= size])
        room[number] -= size
    assert room.min() >= 0


def test_the_first_bin_wins_a_tie() -> None:
    assert pack_online(lambda _, bins: np.zeros(len(bins)), np.array([6, 3, 3, 4]), 10) == [0, 0, 1, 1]


def test_a_packing_rule_may_write_into_its_argument() -> None:
    def greedy(item: float, bins: np.ndarray) -> np.ndarray:
        bins -= int(item)
        return -bins

    items = np.array([5, 4, 3, 5, 1, 2])
    assert pack_online(greedy, items, 10) == pack_online(best_fit, items, 10)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros(3), r"shape \(3,\); expected \(4,\)"),
        (1.0, r"shape \(\); expected"),
        (np.array([0.0, np.nan, 1.0, 0.0]), r"NaN at \[1\]"),
        (np.array(["a", "b", "c", "d"]), "expected real numbers"),
        (np.zeros(4, complex), "expected real numbers"),
    ],
)
def test_bad_priorities_are_invalid(value: object, message: str) -> None:
    with pytest.raises(CandidateError, match=message):
        pack_online(lambda *_: value, np.array([1, 2, 3, 4]), 10)


def test_a_tour_rule_gets_copies_by_keyword_down_to_the_last_city() -> None:
    instance, left = tsp.generate(np.random.default_rng(0), 5), []

    def vandal(
        *, current_node: int, destination_node: int, unvisited_nodes: set[int], distance_matrix: np.ndarray
    ) -> np.int64:
        left.append(len(unvisited_nodes))
        assert destination_node == 0
        assert np.array_equal(distance_matrix, instance.distances)
        distance_matrix[:] = 0
        return np.int64(unvisited_nodes.pop())

    assert tsp.check(instance, construct_tour(vandal, instance.distances))[0] == 0
    assert left == [4, 3, 2, 1]


@pytest.mark.parametrize(
    ("choice", "message"), [(0, "0, which is not one of the 3"), (9, "9"), (1.5, "float"), (None, "NoneType")]
)
def test_a_bad_choice_of_city_is_invalid(choice: object, message: str) -> None:
    with pytest.raises(CandidateError, match=f"returned (a )?{message}"):
        construct_tour(lambda **_: choice, tsp.generate(np.random.default_rng(0), 4).distances)
