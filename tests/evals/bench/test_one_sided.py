"""One-sided paired tests against enumeration, closed forms and scipy."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from oragent._base.statistics import EXACT, Alternative, sign_flip_test
from oragent_benchmarks.success_shares import mcnemar


def sign_flip_greater(sample: list[float]) -> float | None:
    return sign_flip_test(sample, Alternative.GREATER)


def mcnemar_greater(gained: int, lost: int) -> float | None:
    first = [True] * gained + [False] * lost + [True, False]  # cases on which both agree say nothing
    return mcnemar(first, [not one for one in first[:-2]] + [True, False], Alternative.GREATER)


samples = st.lists(st.integers(-50, 50).map(lambda whole: whole / 10), min_size=2, max_size=9)


@given(samples)
def test_p_is_the_share_of_sign_patterns_that_are_at_least_as_large(sample: list[float]) -> None:
    sums = np.array([np.dot(signs, sample) for signs in product((-1, 1), repeat=len(sample))])
    assert sign_flip_greater(sample) == pytest.approx(np.mean(sums >= sum(sample) - 1e-9))


@given(samples)
def test_both_sides_together_count_every_pattern_and_the_seen_one_twice(sample: list[float]) -> None:
    upper, lower = sign_flip_greater(sample), sign_flip_greater([-one for one in sample])
    assert upper + lower >= 1
    assert upper > 0


@given(samples, st.integers(1, 4))
@example([2.1, -4.1, -0.6, -1.2, 0.0, 3.8], 2)  # adds up to nothing, but for rounding
def test_pairs_without_a_difference_say_nothing(sample: list[float], zeros: int) -> None:
    assert sign_flip_greater(sample + [0.0] * zeros) == pytest.approx(sign_flip_greater(sample))


@pytest.mark.parametrize("pairs", [2, 5, EXACT])
def test_when_all_differences_agree_p_is_as_small_as_it_can_be(pairs: int) -> None:
    assert sign_flip_greater([1.0 + place for place in range(pairs)]) == pytest.approx(2.0**-pairs)
    assert sign_flip_greater([-1.0 - place for place in range(pairs)]) == 1.0


def test_no_difference_at_all_is_no_evidence_and_one_pair_is_no_test() -> None:
    assert sign_flip_greater([0.0, 0.0, 0.0]) == 1.0
    assert sign_flip_greater([3.0]) is None
    assert sign_flip_greater([]) is None


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_the_unit_of_the_differences_does_not_matter(scale: float) -> None:
    assert sign_flip_greater([scale * one for one in (0.1, 0.2, -0.3, 0.4)]) == sign_flip_greater([0.1, 0.2, -0.3, 0.4])


def test_drawn_patterns_agree_with_scipy_and_are_the_same_twice() -> None:
    sample = np.random.default_rng(4).normal(0.2, 1.0, 60).tolist()
    theirs = stats.permutation_test(
        (sample,), np.mean, permutation_type="samples", alternative="greater", n_resamples=20_000, vectorized=True,
        rng=np.random.default_rng(9),
    )  # fmt: skip
    assert sign_flip_greater(sample) == pytest.approx(theirs.pvalue, abs=0.01)
    assert sign_flip_greater(sample) == sign_flip_greater(sample)
    assert sign_flip_greater([1.0] * 161) == 1 / 10_001


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_one_sided_binomial_test(gained: int, lost: int) -> None:
    expected = stats.binomtest(gained, gained + lost, alternative="greater").pvalue if gained + lost else 1.0
    assert mcnemar_greater(gained, lost) == pytest.approx(expected)


def test_mcnemar_on_numbers_that_can_be_added_by_hand() -> None:
    assert mcnemar_greater(0, 0) == 1.0
    assert mcnemar_greater(3, 0) == pytest.approx(1 / 8)
    assert mcnemar_greater(3, 1) == pytest.approx(5 / 16)
    assert mcnemar_greater(0, 5) == 1.0
