import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import CandidateError
from oragent.domains import mkp

# First 12 hexadecimal digits of sha1 over the bytes of ReEvo's arrays of prizes and of weights.
CHECKSUMS = {
    ("train", 100): ("ed04457edea1", "bdee598ccb31"),
    ("val", 100): ("d35b8056be71", "330bfe059e47"),
    ("val", 300): ("bae2fe7f31ac", "f5f996a4282c"),
    ("val", 500): ("32ac03bd2873", "a5158c8a3cad"),
    ("test", 100): ("15bb47d68f6d", "80e050a889c4"),
    ("test", 200): ("0c38d625d648", "f5f0bf44176f"),
    ("test", 300): ("7011507cd3fe", "e1666621caac"),
    ("test", 500): ("ba39bde3607d", "9b3867b523b9"),
    ("test", 1000): ("8fdedd74044e", "50395383e36d"),
}
THREE = mkp.MkpInstance(np.array([1.0, 2.0, 4.0]), np.array([[0.5, 0.1], [0.5, 0.3], [0.2, 0.8]]))


def checksum(arrays: list[np.ndarray]) -> str:
    return hashlib.sha1(np.stack(arrays).tobytes()).hexdigest()[:12]


@pytest.mark.parametrize(("part", "expected"), CHECKSUMS.items())
def test_the_stream_is_bit_identical_to_reevos(part: tuple[str, int], expected: tuple[str, str]) -> None:
    instances = mkp.stream(*part)
    assert checksum([one.prizes for one in instances]) == expected[0]
    assert checksum([one.weights for one in instances]) == expected[1]


def test_a_stream_leaves_the_global_generator_alone() -> None:
    before = np.random.get_state()[1].copy()  # type: ignore[index, union-attr]
    mkp.stream("train", 100)
    assert np.array_equal(before, np.random.get_state()[1])  # type: ignore[index]


@pytest.mark.parametrize(("mode", "size"), [("train", 300), ("val", 200), ("validate", 100)])
def test_an_unknown_part_of_the_stream_lists_the_known_ones(mode: str, size: int) -> None:
    with pytest.raises(ValueError, match=mode):
        mkp.stream(mode, size)


@given(st.integers(1, 30), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_every_generated_item_fits_alone_and_all_together_fit_nowhere_loosely(size: int, m: int, seed: int) -> None:
    instance, again = (mkp.generate(np.random.default_rng(seed), size, m) for _ in range(2))
    assert np.array_equal(instance.weights, again.weights)
    assert instance.weights.shape == (size, m)
    assert all(mkp.check(instance, [item]).tolist() == [item] for item in range(size))
    assert mkp.loads(instance, np.arange(size)).min() >= 1 - 1e-9  # a capacity is at most the sum of weights


def test_a_choice_is_worth_the_sum_of_its_prizes() -> None:
    assert mkp.objective(THREE, mkp.check(THREE, [2, 0])) == 5.0
    assert mkp.objective(THREE, mkp.check(THREE, [])) == 0.0
    assert mkp.loads(THREE, np.array([2, 0])).tolist() == pytest.approx([0.7, 0.9])


def test_a_dimension_may_be_filled_to_the_brim_whatever_the_rounding() -> None:
    tenths = mkp.MkpInstance(np.ones(10), np.full((10, 1), 0.1))  # ten times 0.1 is not exactly 1
    assert len(mkp.check(tenths, range(10))) == 10


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ([1, 2], "dimension 1 holds 1.1; its capacity is 1"),
        ([0, 1, 2], "dimension 0 holds 1.2; its capacity is 1"),
        ([1, 1], "names item 1 more than once"),
        ([0, 3], "names item 3; expected 0 to 2"),
        ([-1], "names item -1"),
        ([0.5], "flat list of whole numbers"),
        (np.ones((1, 3), dtype=int), "flat list of whole numbers"),
        (None, "not a NoneType"),
    ],
)
def test_what_is_no_choice_is_invalid_and_the_message_says_why(claim: object, message: str) -> None:
    with pytest.raises(CandidateError, match=message) as caught:
        mkp.check(THREE, claim)
    assert caught.value.status == "invalid"


@pytest.mark.parametrize(
    ("prizes", "weights", "message"),
    [
        (np.ones(0), np.ones((0, 5)), "prizes must have shape"),
        (np.ones((2, 2)), np.ones((2, 5)), "prizes must have shape"),
        (np.ones(2), np.ones((3, 5)), r"shape \(2, m\)"),
        (np.ones(2), np.ones((2, 0)), r"shape \(2, m\)"),
        (np.array([-1.0]), np.ones((1, 5)), "not negative"),
        (np.array([np.nan]), np.ones((1, 5)), "finite"),
        (np.ones(1), np.full((1, 2), 1.5), "0 to 1"),
        (np.ones(1), np.full((1, 2), np.nan), "0 to 1"),
    ],
)
def test_an_instance_validates_its_numbers(prizes: np.ndarray, weights: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mkp.MkpInstance(prizes, weights)
