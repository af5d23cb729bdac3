"""A test that may be looked at after every pair: its error, its interval, and the number of pairs that it needs."""

from itertools import product

import numpy as np
import pytest

from oragent._base.sequential import MAX_BET, anytime_p, bet_on_differences, pairs_for
from tests.tools.duels import NOISES, simulate


@pytest.mark.parametrize("noise", sorted(NOISES))
def test_of_duels_without_a_difference_at_most_the_level_is_decided(noise: str) -> None:
    """Looked at after each fourth pair, up to 120; a fixed test would decide a quarter of them."""
    rng = np.random.default_rng(1)
    verdicts = [simulate(rng, 0.0, 0.05, 120, noise=noise)[1] for _ in range(300)]
    # Level 0.05, and three standard errors.
    assert sum(verdict != 0 for verdict in verdicts) <= 300 * 0.05 + 3 * np.sqrt(300 * 0.05 * 0.95)


def test_the_wealth_is_a_martingale_under_all_patterns_of_signs() -> None:
    """By enumeration: the mean of the final wealth is 1, so that of the largest one is bounded by Ville's inequality."""
    sizes = np.array([0.3, 2.0, 1.0, 0.0, 5.0, 1.0, 0.7, 0.1])
    p_values = [anytime_p(sizes * signs) for signs in product((-1.0, 1.0), repeat=len(sizes))]
    for level in (0.5, 0.2, 0.1, 0.05):
        assert np.mean(np.array(p_values) <= level) <= level


def test_a_difference_is_found_in_its_direction_and_within_twice_the_fixed_number_of_pairs() -> None:
    rng = np.random.default_rng(2)
    for effect in (0.5, 1.0, -1.0):
        ends = [simulate(rng, effect, 0.01, 400, step=1) for _ in range(60)]
        assert all(verdict == np.sign(effect) for _, verdict in ends)
        assert np.median([count for count, _ in ends]) <= 2 * pairs_for(effect, 1.0, 0.01)


def test_the_interval_excludes_0_where_p_is_below_the_level_and_is_that_of_the_shifted_differences() -> None:
    rng = np.random.default_rng(3)
    for shift in (-0.9, -0.2, 0.0, 0.2, 0.9):
        sample = shift + rng.normal(size=40)
        test = bet_on_differences(sample.tolist(), level=0.05)
        assert (test.low <= 0 <= test.high) == (test.p > 0.05)
        for end, outwards in ((test.low, -1e-6), (test.high, 1e-6)):
            assert anytime_p(sample - end - outwards) < 0.05 <= anytime_p(sample - end)
        moved = bet_on_differences((sample * 3 + 7).tolist(), level=0.05)
        assert (moved.low, moved.high) == pytest.approx((3 * test.low + 7, 3 * test.high + 7))


def test_the_unit_and_the_order_of_signs_do_not_matter_but_their_number_does() -> None:
    assert anytime_p([1.0] * 12) == pytest.approx(anytime_p([1e-9] * 12))
    assert anytime_p([1.0] * 12) == pytest.approx(anytime_p([-1.0] * 12))
    assert anytime_p([1.0] * 12) < anytime_p([1.0] * 6) < 0.5
    # The best of the bets stakes nearly all of its wealth each time, and is a tenth of the whole.
    assert anytime_p([1e6] * 20) >= 10 / (1 + MAX_BET) ** 20


def test_equal_values_decide_nothing_but_their_interval_shrinks_to_0() -> None:
    few, many = bet_on_differences([0.0] * 3), bet_on_differences([0.0] * 30)
    assert (few.p, many.p, many.low, many.high) == (1.0, 1.0, pytest.approx(0, abs=1e-90), pytest.approx(0, abs=1e-90))
    assert few.high == np.inf
    assert few.low == -np.inf


def test_weights_change_the_mean_and_the_test() -> None:
    test = bet_on_differences([1.0, 1.0, -1.0], [1.0, 1.0, 4.0])
    assert test.mean == pytest.approx(-1 / 3)
    assert test.p == pytest.approx(anytime_p([1.0, 1.0, -4.0]))


def test_the_number_of_pairs_is_the_published_formula() -> None:
    # 94 pairs show 0.3 % with sd 0.85 at p < 0.01 and power 80 %: n = (3.42 sd / d)^2.
    assert pairs_for(0.3, 0.85, 0.01) == pytest.approx((3.417 * 0.85 / 0.3) ** 2, abs=1)
    assert pairs_for(0.3, 0.85, 0.01, 2.0) == pytest.approx(2 * pairs_for(0.3, 0.85, 0.01), abs=1)
    assert pairs_for(0.0, 1.0) is None
    assert pairs_for(-0.5, 1.0) == pairs_for(0.5, 1.0) == 32


def test_a_few_large_differences_of_another_sign_widen_the_interval_to_their_mean() -> None:
    """The mean is rejected itself, so the interval holds both the centre of most differences and the mean."""
    result = bet_on_differences([-0.01] * 30 + [1.9], level=0.01)
    assert result.p < 0.01
    assert result.low == pytest.approx(-0.01, abs=1e-6)
    assert result.high == result.mean > 0
