import hashlib
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import CandidateError
from oragent.domains import op

# First 12 hexadecimal digits of sha1 over the bytes of ReEvo's coordinate arrays.
CHECKSUMS = {
    ("train", 50): "ee5c6d187bc8",
    ("val", 50): "6ce66ee3e918",
    ("val", 100): "03f941fd30cd",
    ("val", 200): "bc5c2d9709e6",
    ("test", 50): "b75a80dd0593",
    ("test", 100): "d1544c56a474",
    ("test", 200): "f8fdbfba7cfd",
}
# The depot in a corner of the unit square; once around has length 4.
SQUARE = op.OpInstance(
    np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]), np.array([0.125, 0.25, 0.5, 1.0]), maxlen=3.5
)


@pytest.mark.parametrize(("part", "expected"), CHECKSUMS.items())
def test_the_stream_is_bit_identical_to_reevos(part: tuple[str, int], expected: str) -> None:
    drawn = np.stack([one.coordinates for one in op.stream(*part)])
    assert hashlib.sha1(drawn.tobytes()).hexdigest()[:12] == expected


def test_a_stream_leaves_the_global_generator_alone() -> None:
    before = np.random.get_state()[1].copy()  # type: ignore[index, union-attr]
    op.stream("train", 50)
    assert np.array_equal(before, np.random.get_state()[1])  # type: ignore[index]


@pytest.mark.parametrize(("mode", "size"), [("train", 100), ("val", 20), ("exam", 50)])
def test_an_unknown_part_of_the_stream_lists_the_known_ones(mode: str, size: int) -> None:
    with pytest.raises(ValueError, match=mode):
        op.stream(mode, size)


@pytest.mark.parametrize(
    ("size", "bound"), [(1, 3), (50, 3), (51, 4), (100, 4), (101, 5), (200, 5), (201, 6), (300, 6), (301, 7), (999, 7)]
)
def test_the_usual_bound_grows_with_the_number_of_nodes(size: int, bound: float) -> None:
    assert op.usual_bound(size) == bound


def test_prizes_grow_in_hundredths_with_the_distance_from_the_depot() -> None:
    line = np.array([[0.0, 0.0], [0.5, 0.0], [2.0, 0.0], [-1.0, 0.0]])
    assert op.distant_prizes(line).tolist() == [0.01, 0.25, 1.0, 0.5]  # 1 + floor(99 d / 2) hundredths
    assert op.distant_prizes(np.zeros((3, 2))).tolist() == [1.0, 1.0, 1.0]


@given(st.integers(2, 80), st.integers(0, 2**32 - 1))
def test_generated_prizes_are_whole_multiples_of_the_depots_ordered_by_distance(size: int, seed: int) -> None:
    first, again = (op.generate(np.random.default_rng(seed), size) for _ in range(2))
    assert np.array_equal(first.coordinates, again.coordinates)
    assert (len(first), first.prizes.max()) == (size, 1.0)
    assert first.prizes[0] in (1 / 100, 1 / 99)  # 99 where rounding keeps the farthest node below its 100 parts
    multiples = first.prizes / first.prizes[0]
    assert np.allclose(multiples, np.rint(multiples), atol=1e-9)
    assert (np.diff(first.prizes[np.argsort(first.distances[0])]) >= 0).all()


@pytest.mark.parametrize(
    ("path", "prize"), [([0], 0.125), ([0, 1], 0.375), ([0, 1, 2], 0.875), ([0, 2, 3], 1.625), ([0, 3, 2], 1.625)]
)
def test_the_prize_of_a_path_counts_the_depots_own(path: list[int], prize: float) -> None:
    assert op.objective(SQUARE, op.check(SQUARE, path)) == prize


def test_a_tour_of_just_the_allowed_length_is_allowed() -> None:
    around = op.OpInstance(SQUARE.coordinates, SQUARE.prizes, maxlen=4.0)
    assert op.check(around, [0, 1, 2, 3]).tolist() == [0, 1, 2, 3]


@given(st.permutations(range(1, 9)), st.integers(0, 8), st.floats(0.0, 6.0), st.integers(0, 99))
def test_a_path_is_rejected_exactly_where_the_tour_is_too_long(
    order: list[int], count: int, maxlen: float, seed: int
) -> None:
    drawn = op.generate(np.random.default_rng(seed), 9)
    instance = op.OpInstance(drawn.coordinates, drawn.prizes, maxlen)
    path = [0, *order[:count]]
    length = sum(math.dist(*drawn.coordinates[[a, b]]) for a, b in itertools.pairwise([*path, 0]))
    if length <= maxlen:
        assert op.check(instance, path).tolist() == path
    elif length > maxlen + 1e-6:
        with pytest.raises(CandidateError):
            op.check(instance, path)


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (
            [0, 1, 2, 3],
            "has length 4, the way back included; at most 3.5 is allowed; from node 3 the tour returns too late",
        ),
        ([0, 2, 1, 3], "has length 4.82843, .* from node 3"),
        ([1, 2], "starts at node 1; expected the depot, node 0, first"),
        ([], "is empty; expected the depot, node 0, first"),
        ([0, 1, 1], "visits node 1 2 times; expected at most once"),
        ([0, 1, 0], "visits node 0 2 times"),
        ([0, 4], "names node 4; expected 0 to 3"),
        ([0, -1], "names node -1; expected 0 to 3"),
        ([[0, 1]], "flat list of whole numbers"),
        ([0.0, 1.0], "flat list of whole numbers"),
        (None, "not a NoneType"),
    ],
)
def test_what_is_no_tour_in_time_is_invalid_and_the_message_says_why(claim: object, message: str) -> None:
    with pytest.raises(CandidateError, match=message) as caught:
        op.check(SQUARE, claim)
    assert caught.value.status == "invalid"


@pytest.mark.parametrize(
    ("coordinates", "prizes", "maxlen", "message"),
    [
        (np.zeros((2, 3)), np.ones(2), 1.0, "coordinates must have shape"),
        (np.zeros((2, 2)), np.ones(3), 1.0, r"prizes must have shape \(2,\), not \(3,\)"),
        (np.zeros((2, 2)), np.array([1.0, -1.0]), 1.0, "prizes must be finite and not negative"),
        (np.zeros((2, 2)), np.array([1.0, np.nan]), 1.0, "prizes must be finite and not negative"),
        (np.zeros((2, 2)), np.ones(2), -1.0, "maxlen must be finite and not negative, not -1.0"),
        (np.zeros((2, 2)), np.ones(2), np.nan, "maxlen must be finite"),
    ],
)
def test_an_instance_validates_its_numbers(
    coordinates: np.ndarray, prizes: np.ndarray, maxlen: float, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        op.OpInstance(coordinates, prizes, maxlen)
