"""Shares of successes and McNemar's test against enumeration, closed forms and scipy."""

from itertools import product
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from oragent._base.statistics import Alternative, bootstrap_mean
from oragent_benchmarks.success_shares import mcnemar, success_share

outcomes = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=9)


def mcnemar_greater(gained: int, lost: int) -> float | None:
    first = [True] * gained + [False] * lost + [True, False]  # cases on which both agree say nothing
    return mcnemar(first, [not one for one in first[:-2]] + [True, False], Alternative.GREATER)


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


@pytest.mark.parametrize(("successes", "count"), [(0, 1), (0, 20), (20, 20), (1, 1)])
def test_a_share_of_which_all_are_alike_has_an_interval_too(successes: int, count: int) -> None:
    found = success_share([True] * successes + [False] * (count - successes))
    end = 0.025 ** (1 / count)  # of none in so many: the largest share that would do so once in forty times
    assert (found.mean, found.low, found.high) == pytest.approx((1.0, end, 1.0) if successes else (0.0, 0.0, 1 - end))


def test_another_share_has_the_interval_of_its_bootstrap() -> None:
    assert success_share([True, False, True, True]) == bootstrap_mean([1.0, 0.0, 1.0, 1.0])


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_one_sided_binomial_test(gained: int, lost: int) -> None:
    expected = stats.binomtest(gained, gained + lost, alternative="greater").pvalue if gained + lost else 1.0
    assert mcnemar_greater(gained, lost) == pytest.approx(expected)


def test_mcnemar_on_numbers_that_can_be_added_by_hand() -> None:
    assert mcnemar_greater(0, 0) == 1.0
    assert mcnemar_greater(3, 0) == pytest.approx(1 / 8)
    assert mcnemar_greater(3, 1) == pytest.approx(5 / 16)
    assert mcnemar_greater(0, 5) == 1.0
