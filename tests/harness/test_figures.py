"""Checked matrices and summed-up figures."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent import harness
from oragent._base.errors import CandidateError


def test_a_matrix_of_the_right_shape_passes_as_float64() -> None:
    checked = harness.matrix([[1, 2], [3, 4]], (2, 2))
    assert checked.dtype == np.float64
    assert checked.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.ones(3), r"shape \(3,\); expected \(2, 2\)"),
        ([[1, 2], [3]], "ragged list"),
        (None, "a NoneType; expected real numbers"),
        ("text", "a str; expected real numbers"),
        (np.ones((2, 2), complex), "dtype complex128"),
        ([[0, 1], [np.nan, 1]], r"nan at \[1, 0\] \(1 such entries\)"),
        ([[np.inf, 1], [1, -np.inf]], r"inf at \[0, 0\] \(2 such entries\)"),
    ],
)
def test_anything_else_is_named_with_what_was_expected(value: object, words: str) -> None:
    with pytest.raises(CandidateError, match=words) as caught:
        harness.matrix(value, (2, 2))
    assert caught.value.status == "invalid"


def test_infinity_passes_where_it_has_a_meaning() -> None:
    assert harness.matrix([np.inf], (1,), allow_inf=True)[0] == np.inf
    with pytest.raises(CandidateError):
        harness.matrix([np.nan], (1,), allow_inf=True)


def test_the_score_is_the_mean_over_sizes_of_means() -> None:
    metrics, score = harness.figures("length", {20: [1.0, 3.0], 50: [10.0]})
    assert (metrics["length_20"], metrics["length_50"]) == (2.0, 10.0)
    assert score == 6.0


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=20))
def test_the_interval_holds_the_score_and_lies_within_the_sample(values: list[float]) -> None:
    metrics, score = harness.figures("length", {1: values})
    low, high = metrics["ci95"]
    assert min(values) - 1e-5 <= low <= score + 1e-5
    assert score - 1e-5 <= high <= max(values) + 1e-5


def test_the_interval_is_close_to_that_of_the_normal_law() -> None:
    sample = np.random.default_rng(1).normal(size=400)
    low, high = harness.figures("x", {1: list(sample)})[0]["ci95"]
    half = 1.96 * sample.std() / 20
    assert low == pytest.approx(sample.mean() - half, abs=0.03)
    assert high == pytest.approx(sample.mean() + half, abs=0.03)


def test_averages_are_named_by_size() -> None:
    assert harness.averages("spread", {20: [1.0, 2.0], 50: [0.12345]}) == {"spread_20": 1.5, "spread_50": 0.123}


def test_seconds_are_the_candidates_and_all_the_rest() -> None:
    spent = harness.seconds(time.perf_counter() - 3.0, 1.25)
    assert spent["candidate_seconds"] == 1.25
    assert 1.7 < spent["solver_seconds"] < 3.0
