import hashlib
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import CandidateError
from oragent.domains import tsp

# First 12 hexadecimal digits of sha1 over the bytes of ReEvo's coordinate arrays.
ACO_CHECKSUMS = {
    ("train", 50): "ee5c6d187bc8",
    ("val", 20): "bcab50d52941",
    ("val", 50): "f0e3c7871d32",
    ("val", 100): "c81ab9654e81",
    ("test", 20): "327582b8e113",
    ("test", 50): "34f7096af361",
    ("test", 100): "cc406b438340",
}
CONSTRUCTIVE_CHECKSUMS = {
    ("train", 50): "eb130f8bb362",
    ("val", 20): "676e9cdd7400",
    ("val", 50): "586122c2b9e2",
    ("val", 100): "f41b7f60e789",
    ("val", 200): "0c28a2a546c0",
    ("test", 20): "8c21d4c606bd",
    ("test", 50): "d47f00a2677c",
    ("test", 100): "4d1d4022b51b",
    ("test", 200): "ce85302c4120",
    ("test", 500): "8ee9922ef16f",
    ("test", 1000): "cb945b511960",
}
SQUARE = tsp.TspInstance(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]))


def checksum(instances: list[tsp.TspInstance]) -> str:
    return hashlib.sha1(np.stack([one.coordinates for one in instances]).tobytes()).hexdigest()[:12]


@pytest.mark.parametrize(("part", "expected"), ACO_CHECKSUMS.items())
def test_the_ant_colony_stream_is_bit_identical_to_reevos(part: tuple[str, int], expected: str) -> None:
    assert checksum(tsp.stream(tsp.ACO_STREAM, *part)) == expected


@pytest.mark.parametrize(("part", "expected"), CONSTRUCTIVE_CHECKSUMS.items())
def test_the_constructive_stream_is_bit_identical_to_reevos(part: tuple[str, int], expected: str) -> None:
    assert checksum(tsp.stream(tsp.CONSTRUCTIVE_STREAM, *part)) == expected


def test_a_stream_leaves_the_global_generator_alone() -> None:
    before = np.random.get_state()[1].copy()  # type: ignore[index, union-attr]
    tsp.stream(tsp.ACO_STREAM, "train", 50)
    assert np.array_equal(before, np.random.get_state()[1])  # type: ignore[index]


def test_an_unknown_part_of_a_stream_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="20"):
        tsp.stream(tsp.ACO_STREAM, "train", 20)


def test_generated_cities_lie_in_the_unit_square_and_depend_on_the_seed_alone() -> None:
    first, again = (tsp.generate(np.random.default_rng(7), 30) for _ in range(2))
    assert np.array_equal(first.coordinates, again.coordinates)
    assert len(first) == 30
    assert first.coordinates.min() >= 0
    assert first.coordinates.max() < 1


def test_the_shortest_tour_around_a_square_has_length_four() -> None:
    lengths = [tsp.objective(SQUARE, np.array(tour)) for tour in itertools.permutations(range(4))]
    assert min(lengths) == 4.0
    assert max(lengths) == pytest.approx(2 + 2 * math.sqrt(2))


@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_the_objective_is_the_sum_of_the_matrix_entries_along_the_tour(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    instance = tsp.TspInstance(100 * rng.random((size, 2)))
    tour = rng.permutation(size)
    expected = sum(instance.distances[tour[i - 1], tour[i]] for i in range(size))
    assert tsp.objective(instance, tour) == pytest.approx(expected)
    assert tsp.objective(instance, np.roll(tour[::-1], 3)) == pytest.approx(expected)


@given(st.permutations(range(6)))
def test_every_permutation_is_a_tour(cities: list[int]) -> None:
    instance = tsp.generate(np.random.default_rng(0), 6)
    assert tsp.check(instance, cities).tolist() == cities


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ([0, 1, 2, 2], "visits city 2 twice"),
        ([0, 0, 0, 1], "visits city 0 3 times"),
        ([0, 1, 3], "visits 3 of 4 cities; city 2 is missing"),
        ([], "visits 0 of 4 cities; city 0 is missing"),
        ([0, 1, 2, 4], "names city 4; expected 0 to 3"),
        ([0, 1, 2, -1], "names city -1; expected 0 to 3"),
        ([0, 1, 2, 10**30], "flat list of whole numbers"),
        ([0.0, 1.0, 2.0, 3.0], "flat list of whole numbers, not a list"),
        ([[0, 1], [2, 3]], "flat list of whole numbers"),
        ([[0, 1], [2]], "flat list of whole numbers"),
        (np.zeros((2, 2)), "array of dtype float64 and shape"),
        ([True, False, True, False], "flat list of whole numbers"),
        (None, "not a NoneType"),
        ("0123", "not a str"),
    ],
)
def test_what_is_no_tour_is_invalid_and_the_message_says_why(claim: object, message: str) -> None:
    with pytest.raises(CandidateError, match=message) as caught:
        tsp.check(SQUARE, claim)
    assert caught.value.status == "invalid"


@pytest.mark.parametrize(
    ("coordinates", "message"),
    [(np.zeros((3, 3)), "shape"), (np.zeros((0, 2)), "shape"), (np.full((2, 2), np.nan), "finite")],
)
def test_an_instance_validates_its_coordinates(coordinates: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tsp.TspInstance(coordinates)


def test_an_instances_distances_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        SQUARE.distances[0, 0] = 1.0


def test_the_mean_turn_around_a_square_is_a_right_angle() -> None:
    assert tsp.mean_turn(SQUARE, np.arange(4)) == pytest.approx(math.pi / 2)
    assert tsp.mean_turn(SQUARE, np.arange(4)[::-1]) == pytest.approx(math.pi / 2)


def test_the_share_of_nearest_choices_counts_free_choices_only() -> None:
    line = tsp.TspInstance(np.array([[0.0, 0.0], [1.0, 0.0], [2.5, 0.0], [4.5, 0.0]]))
    assert tsp.nearest_share(line, np.array([0, 1, 2, 3])) == 1.0
    assert tsp.nearest_share(line, np.array([0, 2, 1, 3])) == 0.5  # passes 1 by, then goes back to it
    assert tsp.nearest_share(line, np.array([0, 3, 1, 2])) == 0.0
    assert tsp.nearest_share(tsp.TspInstance(np.eye(2)), np.array([0, 1])) == 1.0


def test_the_late_share_weighs_the_last_quarter_of_the_steps() -> None:
    assert tsp.late_share(SQUARE, np.arange(4)) == pytest.approx(0.25)
    line = tsp.TspInstance(np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]))
    assert tsp.late_share(line, np.arange(4)) == pytest.approx(0.5)  # the way back is half of all
    assert tsp.late_share(tsp.TspInstance(np.zeros((3, 2))), np.arange(3)) == 0.25
