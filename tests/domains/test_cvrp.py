import hashlib
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import CandidateError
from oragent.domains import cvrp

# First 12 hexadecimal digits of sha1 over the bytes of ReEvo's arrays of (demand, x, y).
CHECKSUMS = {
    ("train", 50): "80f9aa8917a2",
    ("val", 20): "cf15f18b4e1c",
    ("val", 50): "090ddd4bd3fb",
    ("val", 100): "382eac161bc3",
    ("test", 20): "14a0c0146d6c",
    ("test", 50): "6a78d881a8b1",
    ("test", 100): "f41b0db6362e",
}
# The depot in the middle of a square with a customer in every corner.
CROSS = cvrp.CvrpInstance(
    np.array([[0.0, 0.0], [1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]]), np.array([0, 4, 5, 6, 7]), 11
)


@pytest.mark.parametrize(("part", "expected"), CHECKSUMS.items())
def test_the_stream_is_bit_identical_to_reevos(part: tuple[str, int], expected: str) -> None:
    drawn = np.stack([np.column_stack((one.demands, one.coordinates)) for one in cvrp.stream(*part)])
    assert hashlib.sha1(drawn.tobytes()).hexdigest()[:12] == expected


def test_a_stream_leaves_the_global_generator_alone() -> None:
    before = np.random.get_state()[1].copy()  # type: ignore[index, union-attr]
    cvrp.stream("train", 50)
    assert np.array_equal(before, np.random.get_state()[1])  # type: ignore[index]


def test_an_unknown_part_of_the_stream_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="20"):
        cvrp.stream("train", 20)


def test_generated_instances_have_a_central_depot_and_depend_on_the_seed_alone() -> None:
    first, again = (cvrp.generate(np.random.default_rng(7), 300, 60) for _ in range(2))
    assert np.array_equal(first.coordinates, again.coordinates)
    assert np.array_equal(first.demands, again.demands)
    assert (len(first), first.capacity, first.coordinates[0].tolist()) == (301, 60, [0.5, 0.5])
    assert set(first.demands[1:].tolist()) == set(range(1, 10))


@pytest.mark.parametrize(
    ("path", "length"),
    [
        ([0, 1, 0, 2, 0, 3, 0, 4, 0], 8 * math.sqrt(2)),
        ([0, 1, 2, 0, 3, 0, 4, 0], 6 * math.sqrt(2) + 2),
        ([0, 0, 1, 2, 0, 0, 3, 0, 4, 0, 0], 6 * math.sqrt(2) + 2),  # a route without customers costs nothing
        ([0, 1, 3, 0, 2, 0, 4, 0], 8 * math.sqrt(2)),
    ],
)
def test_the_length_of_routes_around_a_square_is_known(path: list[int], length: float) -> None:
    assert cvrp.objective(CROSS, cvrp.check(CROSS, path)) == pytest.approx(length)


@given(st.permutations(range(1, 8)), st.sets(st.integers(1, 6)), st.integers(0, 99))
def test_the_objective_is_the_sum_of_the_matrix_entries_along_the_path(
    customers: list[int], cuts: set[int], seed: int
) -> None:
    instance = cvrp.generate(np.random.default_rng(seed), 7, capacity=63)
    path = [0, *itertools.chain(*([0, one] if place in cuts else [one] for place, one in enumerate(customers))), 0]
    checked = cvrp.check(instance, path)
    expected = sum(instance.distances[a, b] for a, b in itertools.pairwise(path))
    assert cvrp.objective(instance, checked) == pytest.approx(expected)
    assert cvrp.objective(instance, checked[::-1]) == pytest.approx(expected)
    assert len(cvrp.split(checked)) == len(cuts) + 1
    assert np.concatenate(cvrp.split(checked)).tolist() == customers


@given(st.permutations(range(1, 9)), st.integers(9, 60), st.integers(0, 99))
def test_a_route_is_rejected_exactly_where_its_load_exceeds_the_capacity(
    customers: list[int], capacity: int, seed: int
) -> None:
    instance = cvrp.generate(np.random.default_rng(seed), 8, capacity)
    loads = instance.demands[customers[:4]].sum(), instance.demands[customers[4:]].sum()
    path = [0, *customers[:4], 0, *customers[4:], 0]
    if max(loads) <= capacity:
        assert cvrp.check(instance, path).tolist() == path
    else:
        with pytest.raises(CandidateError, match=f"route {int(loads[0] <= capacity)} .* the capacity is {capacity}"):
            cvrp.check(instance, path)


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ([0, 1, 2, 0, 3, 4, 0], r"route 1 \(3, 4\) carries 13; the capacity is 11"),
        ([0, 1, 2, 0, 3, 0], "leave out 1 of 4 customers, such as 4"),
        ([0, 0], "leave out 4 of 4 customers, such as 1"),
        ([0, 1, 2, 0, 2, 0, 3, 0, 4, 0], "visit customer 2 2 times; expected once"),
        ([1, 2, 0, 3, 0, 4, 0], "start and end at the depot, node 0, not at 1 and 0"),
        ([0, 1, 2, 0, 3, 0, 4], "start and end at the depot, node 0, not at 0 and 4"),
        ([], "but are empty"),
        ([0, 5, 0], "names node 5; expected 0 to 4"),
        ([0, -1, 0], "names node -1; expected 0 to 4"),
        ([[0, 1, 2], [0, 3, 0]], "flat list of whole numbers"),
        ([0.0, 1.0], "flat list of whole numbers"),
        (None, "not a NoneType"),
    ],
)
def test_what_serves_not_all_customers_within_the_capacity_is_invalid_and_the_message_says_why(
    claim: object, message: str
) -> None:
    with pytest.raises(CandidateError, match=message) as caught:
        cvrp.check(CROSS, claim)
    assert caught.value.status == "invalid"


@pytest.mark.parametrize(
    ("coordinates", "demands", "capacity", "message"),
    [
        (np.zeros((2, 3)), np.array([0, 1]), 5, "coordinates must have shape"),
        (np.zeros((2, 2)), np.array([0, 1, 1]), 5, r"int64 array of shape \(2,\)"),
        (np.zeros((2, 2)), np.array([0.0, 1.0]), 5, "not float64"),
        (np.zeros((2, 2)), np.array([1, 1]), 5, "depot must have demand 0, not 1"),
        (np.zeros((2, 2)), np.array([0, 6]), 5, "demands must be 0 to 5, not 0 to 6"),
        (np.zeros((2, 2)), np.array([0, -1]), 5, "demands must be 0 to 5, not -1 to 0"),
        (np.zeros((2, 2)), np.array([0, 0]), 0, "capacity must be positive, not 0"),
    ],
)
def test_an_instance_validates_its_numbers(
    coordinates: np.ndarray, demands: np.ndarray, capacity: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        cvrp.CvrpInstance(coordinates, demands, capacity)


def test_the_least_number_of_routes_is_the_demand_in_capacities() -> None:
    assert cvrp.least_routes(CROSS) == 2  # 22 by 11
    assert cvrp.least_routes(cvrp.CvrpInstance(CROSS.coordinates, CROSS.demands, 10)) == 3
    assert cvrp.least_routes(cvrp.CvrpInstance(np.zeros((1, 2)), np.array([0]), 1)) == 0


def test_the_spread_is_the_angle_between_neighbours_on_a_route() -> None:
    assert cvrp.spread(CROSS, np.array([0, 1, 2, 0, 3, 0, 4, 0])) == pytest.approx(math.pi / 2)
    assert cvrp.spread(CROSS, np.array([0, 1, 3, 0, 2, 0, 4, 0])) == pytest.approx(math.pi)
    assert cvrp.spread(CROSS, np.array([0, 3, 2, 0, 1, 0, 4, 0])) == pytest.approx(math.pi / 2)  # across -pi
    assert cvrp.spread(CROSS, np.array([0, 1, 0, 2, 0, 3, 0, 4, 0])) == 0.0
