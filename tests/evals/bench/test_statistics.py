"""Intervals and tests against closed forms, enumeration and scipy."""

import re
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

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
    sign_flip_interval,
    sign_flip_test,
)
from oragent_benchmarks.success_shares import mcnemar, success_share

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


outcomes = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=9)


def swapped(pairs: list[tuple[bool, bool]], alternative: Alternative) -> float:
    """Share of all ways to swap the two within pairs that are as extreme; swaps of equal ones change nothing."""
    lead = sum(one - other for one, other in pairs)
    leads = [sum(s * (one - other) for s, (one, other) in zip(signs, pairs, strict=True))
             for signs in product((-1, 1), repeat=len(pairs))]  # fmt: skip
    as_extreme = {
        Alternative.TWO_SIDED: lambda found: abs(found) >= abs(lead),
        Alternative.GREATER: lambda found: found >= lead,
        Alternative.LESS: lambda found: found <= lead,
    }[alternative]
    return sum(map(as_extreme, leads)) / len(leads)


@given(outcomes, st.sampled_from(Alternative))
def test_mcnemar_is_the_share_of_swaps_that_are_as_extreme(
    pairs: list[tuple[bool, bool]], alternative: Alternative
) -> None:
    first, second = zip(*pairs, strict=True)
    assert mcnemar(first, second, alternative) == pytest.approx(swapped(pairs, alternative))


def test_mcnemar_is_the_tail_of_a_binomial_in_closed_form() -> None:
    first, second = [True] * 9 + [False] * 2 + [True] * 30, [False] * 9 + [True] * 2 + [True] * 30
    tail = sum(comb(11, count) for count in (9, 10, 11)) / 2**11
    assert mcnemar(first, second, Alternative.GREATER) == pytest.approx(tail) == pytest.approx(0.03271484375)
    assert mcnemar(first, second) == pytest.approx(2 * tail)
    assert mcnemar(second, first, Alternative.LESS) == pytest.approx(tail)


def test_cases_on_which_both_do_the_same_are_no_evidence() -> None:
    assert [mcnemar([True, False], [True, False], one) for one in Alternative] == [1.0, 1.0, 1.0]
    assert mcnemar([], []) is None
    with pytest.raises(ValueError, match="shorter"):
        mcnemar([True, False], [True])


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
    if told:
        assert f"the smallest possible p is {adjusted:.3g};" in told
        (needed,) = re.findall(r"at least (\d+) seeds", told)
        assert not best_case(int(needed), "seed", tests)
        assert best_case(int(needed) - 1, "seed", tests)


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


@pytest.mark.parametrize(("successes", "count"), [(0, 1), (0, 20), (20, 20), (1, 1)])
def test_a_share_of_which_all_are_alike_has_an_interval_too(successes: int, count: int) -> None:
    found = success_share([True] * successes + [False] * (count - successes))
    end = 0.025 ** (1 / count)  # of none in so many: the largest share that would do so once in forty times
    assert (found.mean, found.low, found.high) == pytest.approx((1.0, end, 1.0) if successes else (0.0, 0.0, 1 - end))


def test_another_share_has_the_interval_of_its_bootstrap() -> None:
    assert success_share([True, False, True, True]) == bootstrap_mean([1.0, 0.0, 1.0, 1.0])


def test_drawn_patterns_of_signs_have_no_interval_at_a_level_that_their_number_cannot_reach() -> None:
    differences = [1.0, 1.1] * 10
    assert sign_flip_interval(differences, level=0.5 / RESAMPLES) is None
    assert compare_paired(differences, level=0.5 / RESAMPLES).low is None
    low, high = sign_flip_interval(differences, level=0.001)
    assert 1 - 1e-9 <= low < 1.05 < high <= 1.1 + 1e-9
