import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import CandidateError
from oragent.domains import bpp

# First 12 hexadecimal digits of sha1 over the bytes of ReEvo's arrays of demands.
CHECKSUMS = {
    ("train", 500): "0cfef09aaa2f",
    ("val", 120): "505ad8fd056a",
    ("val", 500): "1e6319007216",
    ("val", 1000): "2bc59f132c6c",
    ("test", 120): "5596490b5afb",
    ("test", 500): "6943cbc7e41f",
    ("test", 1000): "0531bde92b02",
}


@pytest.mark.parametrize(("part", "expected"), CHECKSUMS.items())
def test_the_offline_stream_is_bit_identical_to_reevos(part: tuple[str, int], expected: str) -> None:
    instances = bpp.uniform_stream(*part)
    assert hashlib.sha1(np.stack([one.items for one in instances]).tobytes()).hexdigest()[:12] == expected
    assert {one.capacity for one in instances} == {150}


def test_the_stream_leaves_the_global_generator_alone() -> None:
    before = np.random.get_state()[1].copy()  # type: ignore[index, union-attr]
    bpp.uniform_stream("train", 500)
    assert np.array_equal(before, np.random.get_state()[1])  # type: ignore[index]


@pytest.mark.parametrize(("mode", "size"), [("train", 120), ("val", 5000), ("exam", 500)])
def test_an_unknown_part_of_the_offline_stream_lists_the_known_ones(mode: str, size: int) -> None:
    with pytest.raises(ValueError, match=mode):
        bpp.uniform_stream(mode, size)


@given(st.integers(0, 2**32 - 1))
def test_generated_items_are_of_falkenauers_range_and_depend_on_the_seed_alone(seed: int) -> None:
    first, again = (bpp.generate_uniform(np.random.default_rng(seed), 50) for _ in range(2))
    assert np.array_equal(first.items, again.items)
    assert 20 <= first.items.min() <= first.items.max() <= 100


def test_all_sizes_of_the_range_are_drawn_about_equally_often() -> None:
    counts = np.bincount(bpp.generate_uniform(np.random.default_rng(0), 81_000).items)[20:]
    assert len(counts) == 81
    assert ((counts - 1000) ** 2 / 1000).sum() < 124.8  # 99.9 % quantile with 80 degrees of freedom


def test_a_bin_that_holds_too_much_is_named() -> None:
    instance = bpp.BppInstance(np.array([100, 20, 31, 30]), 150)
    assert bpp.objective(instance, bpp.check(instance, [0, 0, 1, 0])) == 2
    with pytest.raises(CandidateError, match="bin 2"):
        bpp.check(instance, [2, 2, 2, 0])
