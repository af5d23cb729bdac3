import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import CandidateError
from oragent.domains import bpp

THREE = bpp.BppInstance(np.array([6, 5, 4]), 10)


def best_fit(instance: bpp.BppInstance) -> np.ndarray:
    room, packing = np.full(len(instance), instance.capacity), []
    for item in instance.items:
        packing.append(int(np.where(room >= item, room, instance.capacity + 1).argmin()))
        room[packing[-1]] -= item
    return np.array(packing)


@pytest.mark.parametrize(("mode", "percent"), [("train", 4.12), ("val", 4.19)])
def test_best_fit_exceeds_the_bound_on_the_weibull_stream_as_published(mode: str, percent: float) -> None:
    instances = bpp.weibull_stream(mode, 5000)
    bins = sum(bpp.objective(one, bpp.check(one, best_fit(one))) for one in instances)
    bound = sum(map(bpp.lower_bound, instances))
    assert round(100 * (bins / bound - 1), 2) == percent


def test_the_parts_of_the_stream_differ_and_a_longer_part_follows() -> None:
    train, val, test, longer = (bpp.weibull_stream(mode, size) for mode, size, _ in bpp.WEIBULL_STREAM)
    firsts = {tuple(part[0].items[:20].tolist()) for part in (train, val, test, longer)}
    assert len(firsts) == 4
    assert [len(part) for part in (train, val, test, longer)] == [5, 5, 5, 5]
    assert len(longer[0]) == 10000


def test_an_unknown_part_of_the_stream_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="10000"):
        bpp.weibull_stream("val", 10000)


def test_generated_items_fit_and_have_the_distributions_mean() -> None:
    instance = bpp.generate_weibull(np.random.default_rng(3), 20000)
    assert instance.items.max() <= instance.capacity == 100
    assert instance.items.mean() == pytest.approx(45 * 0.89298, rel=0.01)  # 45 gamma(4/3)


@given(st.lists(st.integers(0, 10), min_size=1, max_size=30))
def test_no_packing_has_fewer_bins_than_the_lower_bound(items: list[int]) -> None:
    instance = bpp.BppInstance(np.array(items), 10)
    packing = bpp.check(instance, best_fit(instance))
    assert bpp.lower_bound(instance) <= bpp.objective(instance, packing) <= len(items)
    assert bpp.fills(instance, packing).sum() == sum(items)


def test_bins_are_counted_by_use_and_not_by_number() -> None:
    packing = bpp.check(THREE, [2, 0, 2])
    assert bpp.objective(THREE, packing) == 2
    assert bpp.fills(THREE, packing).tolist() == [5, 0, 10]
    assert bpp.lower_bound(THREE) == 2


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ([0, 0, 1], "bin 0 holds 11; its capacity is 10"),
        ([0, 1], "places 2 items; expected 3"),
        ([0, 1, 2, 0], "places 4 items; expected 3"),
        ([0, 1, 3], "names bin 3; expected 0 to 2"),
        ([0, 1, -1], "names bin -1"),
        ([0, 1, 0.5], "flat list of whole numbers"),
        (7, "not a int"),
    ],
)
def test_what_is_no_packing_is_invalid_and_the_message_says_why(claim: object, message: str) -> None:
    with pytest.raises(CandidateError, match=message) as caught:
        bpp.check(THREE, claim)
    assert caught.value.status == "invalid"


@pytest.mark.parametrize(
    ("items", "capacity", "message"),
    [
        (np.array([1.0]), 10, "int64"),
        (np.array([], dtype=np.int64), 10, "flat int64"),
        (np.array([11]), 10, "0 to 10, not 11 to 11"),
        (np.array([-1]), 10, "0 to 10, not -1"),
        (np.array([1]), 0, "capacity must be positive"),
    ],
)
def test_an_instance_validates_its_numbers(items: np.ndarray, capacity: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bpp.BppInstance(items, capacity)


def test_the_wait_is_the_mean_distance_of_arrivals_in_a_bin() -> None:
    assert bpp.wait(np.array([0, 1, 0, 2, 0])) == 2.0
    assert bpp.wait(np.array([0, 0, 1, 1])) == 1.0
    assert bpp.wait(np.array([0, 1, 2])) == 0.0
