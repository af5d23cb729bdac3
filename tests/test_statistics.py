"""Intervals and tests against closed forms, enumeration and scipy."""

import re
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from oragent._base import statistics
from oragent._base.direction import Direction
from oragent._base.statistics import (
    ALPHA,
    RESAMPLES,
    Alternative,
    adjust_holm,
    best_case,
    bootstrap_mean,
    compare_paired,
    least_p,
    pairs_needed,
    relative_gain,
    sign_flip_interval,
    sign_flip_test,
    weigh_sizes,
)

differences = st.lists(st.integers(-50, 50).map(float), min_size=2, max_size=8)


def enumerated(sample: list[float]) -> float:
    """Share of all patterns of signs whose mean is at least as far from zero."""
    means = [abs(np.dot(signs, sample)) for signs in product((-1, 1), repeat=len(sample))]
    return float(np.mean(np.array(means) >= abs(sum(sample)) - 1e-9))


@given(differences)
def test_p_is_the_share_of_sign_patterns_that_are_as_extreme(sample: list[float]) -> None:
    assert sign_flip_test(sample) == pytest.approx(enumerated(sample))


def one_sided(sample: list[float], sign: int) -> float:
    """Share of all patterns of signs whose mean is at least as far in one direction."""
    sums = [sign * np.dot(signs, sample) for signs in product((-1, 1), repeat=len(sample))]
    return float(np.mean(np.array(sums) >= sign * sum(sample) - 1e-9))


@given(differences)
def test_the_one_sided_p_counts_the_patterns_of_one_direction(sample: list[float]) -> None:
    assert sign_flip_test(sample, Alternative.GREATER) == pytest.approx(one_sided(sample, 1))
    assert sign_flip_test(sample, Alternative.LESS) == pytest.approx(one_sided(sample, -1))


@given(differences)
def test_what_is_greater_one_way_is_less_the_other(sample: list[float]) -> None:
    other = [-value for value in sample]
    assert sign_flip_test(sample, Alternative.GREATER) == pytest.approx(sign_flip_test(other, Alternative.LESS))


def test_of_many_pairs_the_one_sided_p_is_close_to_that_of_a_t_test() -> None:
    sample = np.random.default_rng(3).normal(0.3, 1.0, 40).tolist()
    for alternative in Alternative:
        theirs = stats.ttest_1samp(sample, 0, alternative=str(alternative)).pvalue
        assert sign_flip_test(sample, alternative) == pytest.approx(theirs, abs=0.01)


@pytest.mark.parametrize("pairs", [2, 5, 10])
def test_one_side_needs_one_pair_less(pairs: int) -> None:
    agreed = [1.0 + place for place in range(pairs)]
    assert sign_flip_test(agreed, Alternative.GREATER) == pytest.approx(least_p(pairs) / 2) == 0.5**pairs
    assert sign_flip_test(agreed, Alternative.LESS) == 1.0
    assert pairs_needed(2 * 0.05) == 5
    assert least_p(5) / 2 < 0.05 <= least_p(4) / 2


@pytest.mark.parametrize("pairs", [2, 3, 6, 10])
def test_when_all_seeds_agree_p_is_as_small_as_it_can_be(pairs: int) -> None:
    assert sign_flip_test([1.0 + place for place in range(pairs)]) == pytest.approx(least_p(pairs)) == 2 / 2**pairs


def test_six_pairs_are_the_fewest_that_can_fall_below_one_in_twenty() -> None:
    assert pairs_needed() == 6
    assert least_p(6) < 0.05 <= least_p(5)


@given(st.integers(2, 12), st.integers(1, 12))
def test_what_few_pairs_show_at_best_is_what_the_tests_give_at_best(pairs: int, tests: int) -> None:
    p = sign_flip_test([1.0] * pairs)
    adjusted = adjust_holm([p] * tests)[0]
    told = best_case(pairs, "seed", tests)
    assert (told == "") == (adjusted is not None and adjusted < ALPHA)
    if told != "":
        assert f"the smallest possible p is {adjusted:.3g};" in told
        (needed,) = re.findall(r"at least (\d+) seeds", told)
        assert not best_case(int(needed), "seed", tests)
        assert best_case(int(needed) - 1, "seed", tests)


@pytest.mark.parametrize("alpha", [0.05, 0.01, 1 / 16, 1 / 32, 0.3])
def test_the_number_of_pairs_is_the_first_at_which_p_can_be_below_the_level(alpha: float) -> None:
    assert pairs_needed(alpha) == next(pairs for pairs in range(1, 99) if least_p(pairs) < alpha)


def test_one_pair_allows_no_test() -> None:
    assert best_case(1, "seed") == "1 seed allows no test; at least 6 seeds are needed for p < 0.05"


def test_no_difference_at_all_is_no_evidence_and_one_pair_is_no_test() -> None:
    assert sign_flip_test([0.0, 0.0, 0.0]) == 1.0
    assert sign_flip_test([3.0]) is None


def test_with_many_pairs_p_is_close_to_that_of_a_t_test_and_the_same_twice() -> None:
    sample = np.random.default_rng(3).normal(0.35, 1.0, 40).tolist()
    assert sign_flip_test(sample) == pytest.approx(stats.ttest_1samp(sample, 0).pvalue, abs=0.01)
    assert sign_flip_test(sample) == sign_flip_test(sample)


def test_the_interval_is_that_of_scipy() -> None:
    sample = np.random.default_rng(1).exponential(2.0, 12)
    ours = bootstrap_mean(sample)
    theirs = stats.bootstrap((sample,), np.mean, method="percentile", n_resamples=20_000, rng=np.random.default_rng(5))
    assert ours.mean == pytest.approx(sample.mean())
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval), abs=0.06)


def test_of_two_values_the_interval_reaches_from_one_to_the_other() -> None:
    found = bootstrap_mean([0.0, 1.0])  # a quarter of the resamples holds just one of them
    assert (found.low, found.mean, found.high) == (0.0, 0.5, 1.0)


@given(st.floats(-1e6, 1e6), st.integers(1, 6))
def test_equal_values_leave_no_doubt(value: float, count: int) -> None:
    found = bootstrap_mean([value] * count)
    assert found.low == pytest.approx(found.high) == pytest.approx(value)


def test_holm_adjusts_as_its_paper_does() -> None:
    assert adjust_holm([0.01, 0.04, None, 0.03, 0.005]) == pytest.approx([0.03, 0.06, None, 0.06, 0.02])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_adjusting_keeps_the_order_and_never_makes_a_claim_stronger(p_values: list[float]) -> None:
    adjusted = [p for p in adjust_holm(p_values) if p is not None]
    assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    order = np.argsort(p_values)
    assert (np.diff(np.array(adjusted)[order]) >= 0).all()


def test_drawn_patterns_of_signs_have_no_interval_at_a_level_that_their_number_cannot_reach() -> None:
    differences = [1.0, 1.1] * 10
    assert sign_flip_interval(differences, level=0.5 / RESAMPLES) is None
    assert compare_paired(differences, level=0.5 / RESAMPLES).low is None
    low, high = sign_flip_interval(differences, level=0.001)
    assert 1 - 1e-9 <= low < 1.05 < high <= 1.1 + 1e-9


@given(st.lists(st.integers(-9, 30).map(float), min_size=6, max_size=8))
def test_no_gain_is_inside_of_the_interval_unless_it_is_rejected(sample: list[float]) -> None:
    p = sign_flip_test(sample)
    for level in (p, np.nextafter(p, 1)):
        if level < 1 and (interval := sign_flip_interval(sample, level=level)):
            assert (interval[0] <= 0 <= interval[1]) == (p >= level)


def test_a_level_that_the_smallest_p_just_reaches_rejects_nothing() -> None:
    sample = [1.0, 2.0, 4.0, 3.0, 2.0, 5.0]
    assert sign_flip_test(sample) == least_p(6) == 1 / 32
    assert sign_flip_interval(sample, level=1 / 32) is None
    assert sign_flip_interval(sample, level=1 / 31) is not None


def greater(sample: list[float]) -> float | None:
    return sign_flip_test(sample, Alternative.GREATER)


@given(differences.map(lambda sample: [value / 10 for value in sample]), st.integers(1, 4))
@example([2.1, -4.1, -0.6, -1.2, 0.0, 3.8], 2)  # adds up to nothing, but for rounding
def test_pairs_without_a_difference_say_nothing(sample: list[float], zeros: int) -> None:
    assert greater(sample + [0.0] * zeros) == pytest.approx(greater(sample))


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_the_unit_of_the_differences_does_not_matter(scale: float) -> None:
    assert greater([scale * one for one in (0.1, 0.2, -0.3, 0.4)]) == greater([0.1, 0.2, -0.3, 0.4])


def test_drawn_patterns_agree_with_scipy_and_are_the_same_twice() -> None:
    sample = np.random.default_rng(4).normal(0.2, 1.0, 60).tolist()
    theirs = stats.permutation_test(
        (sample,), np.mean, permutation_type="samples", alternative="greater", n_resamples=20_000, vectorized=True,
        rng=np.random.default_rng(9),
    )  # fmt: skip
    assert greater(sample) == pytest.approx(theirs.pvalue, abs=0.01)
    assert greater(sample) == greater(sample)
    assert greater([1.0] * 161) == 1 / 10_001


def test_the_interval_is_that_of_shifted_tests() -> None:
    rng = np.random.default_rng(3)
    for count in (8, 40):
        gains = rng.normal(0.4, 1.0, count)
        low, high = sign_flip_interval(gains)
        width = high - low
        for shift, is_inside in ((low + width / 50, True), (low - width / 50, False), (high - width / 50, True)):
            assert (sign_flip_test(gains - shift) >= 0.05) is is_inside
        assert low < gains.mean() < high
    student = stats.ttest_1samp(gains, 0).confidence_interval(0.95)
    assert (low, high) == pytest.approx((student.low, student.high), abs=0.1)
    assert sign_flip_interval([1.0] * 5) is None


weighted = st.lists(
    st.tuples(st.integers(-30, 30).map(float), st.sampled_from([0.5, 1.0, 3.0])), min_size=6, max_size=9
)


@given(weighted)
def test_the_test_of_weighted_pairs_is_that_of_the_weighted_differences(pairs: list[tuple[float, float]]) -> None:
    sample, weights = (list(column) for column in zip(*pairs, strict=True))
    result = compare_paired(sample, weights)
    assert (result.pairs, result.better, result.worse) == (
        len(sample),
        sum(value > 0 for value in sample),
        sum(value < 0 for value in sample),
    )
    assert result.mean == pytest.approx(np.average(sample, weights=weights))
    assert result.p == pytest.approx(enumerated([value * weight for value, weight in pairs]))
    assert result.spread == pytest.approx(np.std(sample, ddof=1))
    if result.low is None:
        assert result.half_width is result.high is None
        return
    assert result.half_width == pytest.approx((result.high - result.low) / 2)
    # The shifts within the interval are those that the test does not reject.
    width = max(result.high - result.low, 1e-3)
    for shift, is_inside in ((result.low, True), (result.low - width / 100, False), (result.high + width / 100, False)):
        shifted = [(value - shift) * weight for value, weight in pairs]
        if is_inside and not 0 < abs(shift) < 1e-9:
            shifted = [(value - shift - (0.0 if shift == 0 else width / 100)) * weight for value, weight in pairs]
        assert (enumerated(shifted) >= 0.05) is is_inside


def test_one_pair_has_no_spread_and_no_interval() -> None:
    result = compare_paired([3.0])
    assert (result.mean, result.p, result.spread, result.low, result.high, result.half_width) == (3.0, *[None] * 5)
    assert compare_paired([0.0] * 8).low == compare_paired([0.0] * 8).high == 0.0


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_sizes_count_alike_whatever_their_numbers_of_pairs(counts: list[int]) -> None:
    weights = weigh_sizes(counts)
    assert len(weights) == sum(counts) == pytest.approx(sum(weights))
    begins = np.cumsum([0, *counts])
    parts = [sum(weights[begin:end]) for begin, end in pairwise(begins)]
    assert parts == pytest.approx([parts[0]] * len(parts))


@pytest.mark.parametrize("direction", Direction)
def test_a_relative_gain_is_relative_to_the_mean_size(direction: Direction) -> None:
    for first, second, gain in ((3.0, 1.0, 1.0), (1.0, 3.0, -1.0), (-1.0, 1.0, -2.0), (2.0, 2.0, 0.0), (0.0, 0.0, 0.0)):
        assert relative_gain(direction, first, second) == direction.sign * gain


def test_many_pairs_are_drawn_in_pieces_with_the_same_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = np.random.default_rng(6).normal(0.2, 1.0, 20).tolist()
    expected = stats.ttest_1samp(sample, 0).pvalue
    for most in (1, 21, 4_000_000):
        monkeypatch.setattr(statistics, "MAX_SIGNS", most * len(sample))
        monkeypatch.setattr(statistics, "RESAMPLES", 200 if most == 1 else 10_000)
        assert sign_flip_test(sample) == pytest.approx(expected, abs=0.1 if most == 1 else 0.02)
    # The smallest p of drawn signs, whose number counts the unchanged pattern too.
    monkeypatch.setattr(statistics, "RESAMPLES", 10_000)
    assert sign_flip_test([1.0] * 60) == 1 / 10_001
    assert sign_flip_interval([1.0, 1.1] * 10, level=1 / 10_001) is None
    assert sign_flip_interval([1.0, 1.1] * 10, level=1.01 / 10_001) is not None
