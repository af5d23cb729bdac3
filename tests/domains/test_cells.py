import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.domains.streams import cell, geometric_mean

EDGES = (1.0, 2.0, 4.0)


def test_a_value_on_an_edge_falls_into_the_upper_bin() -> None:
    assert cell((0.5, EDGES), (1.0, EDGES), (3.9, EDGES), (4.0, EDGES)) == (0, 1, 2, 3)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_bins_are_ints_in_range_and_rise_with_the_value(one: float, other: float) -> None:
    low, high = cell((min(one, other), EDGES), (max(one, other), EDGES))
    assert 0 <= low <= high <= len(EDGES)
    assert type(low) is int


def test_the_geometric_mean_counts_sizes_alike() -> None:
    assert geometric_mean({20: [2.0, 8.0], 50: [1.0]}) == pytest.approx(2.0)
