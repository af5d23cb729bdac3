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


def test_the_interval_is_that_of_the_published_formula_and_moves_with_the_differences() -> None:
    """Equation 14 of Waudby-Smith et al. 2021, with the mixture that they give for 48 observations."""
    rng = np.random.default_rng(3)
    for count, level in ((12, 0.05), (40, 0.05), (300, 0.001)):
        sample = rng.exponential(size=count)
        test = bet_on_differences(sample.tolist(), level=level)
        rho = np.sqrt((-2 * np.log(level) + np.log(-2 * np.log(level)) + 1) / 48)
        inner = (count * rho**2 + 1) / (count**2 * rho**2) * np.log((count * rho**2 + 1) / level**2)
        width = np.std(sample, ddof=1) * np.sqrt(inner)
        assert (test.low, test.high) == pytest.approx((test.mean - width, test.mean + width))
        moved = bet_on_differences((7 - sample * 3).tolist(), level=level)
        assert (moved.low, moved.high) == pytest.approx((7 - 3 * test.high, 7 - 3 * test.low))


@pytest.mark.parametrize("noise", sorted({*NOISES} | {"exponential"}))
def test_the_interval_misses_the_mean_at_no_time_in_most_duels(noise: str) -> None:
    """Looked at after each sixth pair, up to 120."""
    rng, missed = np.random.default_rng(4), 0
    for _ in range(300):
        sample = rng.exponential(size=120) - 1 if noise == "exponential" else NOISES[noise](rng, 120)
        ends = (bet_on_differences(sample[:count].tolist()) for count in range(12, 121, 6))
        missed += any(not end.low <= 0 <= end.high for end in ends)
    # The level is 0.05, and three standard errors; skewed differences miss more often.
    assert missed <= (30 if noise == "exponential" else 300 * 0.05 + 3 * np.sqrt(300 * 0.05 * 0.95))


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


def test_a_few_large_differences_of_another_sign_widen_the_interval() -> None:
    """Most differences are shown to be below 0, but not their mean."""
    result = bet_on_differences([-0.01] * 30 + [1.9], level=0.01)
    assert result.p < 0.01
    assert result.low < 0 < result.mean < result.high


def test_an_interval_needs_as_many_pairs_as_a_test_that_can_reject() -> None:
    for level in (0.05, 0.01, 1e-6):
        fewest = next(count for count in range(1, 200) if anytime_p([1.0] * count) < level)
        assert bet_on_differences([1.0, 2.0] * fewest, level=level).high < np.inf
        assert bet_on_differences(range(fewest - 1), level=level).low == -np.inf


def test_weights_of_one_size_change_no_interval_and_those_of_few_pairs_widen_it() -> None:
    sample = np.random.default_rng(5).normal(size=40).tolist()
    plain, alike = bet_on_differences(sample), bet_on_differences(sample, [3.0] * 40)
    assert (plain.low, plain.high) == pytest.approx((alike.low, alike.high))
    # Ten pairs count nine tenths, so the interval is about that of eleven pairs.
    few = bet_on_differences(sample, [3.6] * 10 + [0.4 / 3] * 30)
    assert 1.5 < (few.high - few.low) / (plain.high - plain.low) < 2.5
