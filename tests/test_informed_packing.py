"""Online packing with more in sight: its states against a plain list of bins, best fit against that of `bpp_online`."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from oragent._base.errors import CandidateError
from oragent.domains import bpp
from oragent.solvers.constructive import pack_online

FOLDER = Path(__file__).parent.parent / "problems" / "bpp_online_informed"
packing = runpy.run_path(str(FOLDER / "packing.py"))
InformedPacking, list_bins = packing["InformedPacking"], packing["list_bins"]
CAPACITY = 20


@given(st.lists(st.integers(1, CAPACITY), min_size=1, max_size=40), st.integers(0, 2**32))
def test_an_item_goes_into_the_bin_of_the_best_room_and_all_figures_follow_from_the_bins(
    items: list[int], seed: int
) -> None:
    rng, state = np.random.default_rng(seed), InformedPacking(len(items), CAPACITY)
    bins: list[list[int]] = []
    chosen, numbers = [], []
    for step, item in enumerate(items):
        rooms = [CAPACITY - sum(content) for content in bins]
        told, open_bins, packed, to_come = state.arguments(item)
        assert (told, to_come) == (item, len(items) - step - 1)
        assert open_bins.tolist() == [rooms.count(room) for room in range(CAPACITY + 1)]
        assert packed.tolist() == [items[:step].count(size) for size in range(CAPACITY + 1)]
        answer = rng.integers(0, 4, CAPACITY + 1).astype(float)
        decision = state.choose(answer)
        possible = sorted({room for room in rooms if room >= item} | {CAPACITY})
        assert decision == max(possible, key=lambda room: (answer[room], -room))
        number = state.apply(decision)
        if decision == CAPACITY:
            assert number == len(bins)
            bins.append([])
        else:
            assert rooms[number] == decision
        bins[number].append(item)
        chosen.append(decision)
        numbers.append(number)
    assert list_bins(np.array(items), CAPACITY, chosen) == numbers
    bpp.check(bpp.BppInstance(np.array(items), CAPACITY), numbers)


def test_arguments_are_copies() -> None:
    state = InformedPacking(3, CAPACITY)
    state.apply(state.choose(state.arguments(5)[1]))
    state.arguments(5)[1][:] = 9
    assert state.arguments(5)[1].sum() == 1


def wrong_answers() -> dict[str, Any]:
    short, nan = np.zeros(CAPACITY), np.zeros(CAPACITY + 1)
    nan[CAPACITY] = np.nan
    return {"short": short, "nan": nan, "none": None, "text": np.full(CAPACITY + 1, "a"), "number": 3.0}


@pytest.mark.parametrize("answer", wrong_answers().values(), ids=wrong_answers())
def test_a_wrong_answer_is_invalid(answer: Any) -> None:
    state = InformedPacking(3, CAPACITY)
    state.arguments(5)
    with pytest.raises(CandidateError):
        state.choose(answer)


@pytest.mark.parametrize(
    "rooms",
    [
        [CAPACITY, 3],
        [CAPACITY, 14],
        [5, CAPACITY],
        [-1, CAPACITY],
        [CAPACITY, CAPACITY + 1],
        [CAPACITY, 15.0],
        [CAPACITY, "15"],
        [None, CAPACITY],
    ],
)
def test_a_decision_that_no_answer_gives_is_refused(rooms: list[Any]) -> None:
    with pytest.raises(CandidateError):
        list_bins(np.array([5, 7]), CAPACITY, rooms)


def test_a_bin_without_enough_room_is_refused() -> None:
    with pytest.raises(CandidateError):
        list_bins(np.array([15, 7]), CAPACITY, [CAPACITY, 5])


def pack(priority: Any, items: NDArray[np.int64]) -> int:
    state = InformedPacking(len(items), 100)
    bins: int = 1 + max(state.apply(state.choose(priority(*state.arguments(item)))) for item in items.tolist())
    return bins


def test_best_fit_uses_as_many_bins_as_best_fit_that_sees_every_bin() -> None:
    items = bpp.weibull_stream("train", 5000)[0].items[:800]
    seed = runpy.run_path(str(FOLDER / "heuristic.py"))["priority"]
    best_fit = runpy.run_path(str(FOLDER.parent / "bpp_online" / "heuristic.py"))["priority"]
    assert pack(seed, items) == len(set(pack_online(best_fit, items, 100)))


def test_sum_of_squares_makes_the_sum_grow_least() -> None:
    rule = runpy.run_path(str(FOLDER / "references" / "sum_of_squares.py"))["priority"]
    rng = np.random.default_rng(1)
    for _ in range(50):
        item, counts = int(rng.integers(1, 101)), rng.integers(0, 5, 101)
        answer = rule(item, counts, counts, 9)
        for room in range(item, 101):
            after = counts.copy()
            after[room] -= room < 100
            after[room - item] += 1
            growth = (after[1:100] ** 2).sum() - (counts[1:100] ** 2).sum()
            if room == 100 or counts[room]:
                assert answer[room] == -growth
