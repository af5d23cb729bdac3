"""Probabilities and intervals of comparisons, against simulation and against their definitions."""

import math

import numpy as np
import pytest

from oragent._base.direction import Direction
from oragent.report.significance import (
    MeasuredScore,
    Paired,
    compare_pairs,
    compare_sizes,
    gain_probability,
    instance_gains,
    read_paired,
    score_probability,
)

NORMAL_97_5 = 1.959963984540054


def measured(score: float, error: float) -> MeasuredScore:
    """A score whose printed 95 % interval belongs to this standard error."""
    ends = (score - NORMAL_97_5 * error, score + NORMAL_97_5 * error)
    return MeasuredScore.from_figures({"score": score, "ci95": ends})


def test_the_standard_error_is_that_of_the_interval() -> None:
    figures = measured(3.0, 0.25)
    assert figures.error == pytest.approx(0.25)
    assert figures.interval == pytest.approx((3 - 0.49, 3 + 0.49), abs=1e-3)


@pytest.mark.parametrize("interval", [None, (), (1.0,), ("a", 2.0), (2.0, 1.0), (math.nan, 1.0), (0.0, math.inf), 3])
def test_an_interval_of_another_form_gives_no_error(interval: object) -> None:
    figures = MeasuredScore.from_figures({"score": 1.5, "ci95": interval})
    assert (figures.score, figures.error, figures.interval) == (1.5, None, None)


def test_an_interval_of_no_width_has_no_error_to_add() -> None:
    assert MeasuredScore.from_figures({"score": 1.5, "ci95": (1.5, 1.5)}).error == 0.0


# Scores of two sets and their standard errors. The later set is worse where the probability is below one half.
SCORES = [(10.0, 0.3, 9.5, 0.4), (10.0, 0.3, 10.4, 0.4), (-2.0, 1.0, -3.5, 0.1)]


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize(("first", "first_error", "second", "second_error"), SCORES)
def test_the_probability_of_a_difference_is_that_of_simulated_sets(
    direction: Direction, first: float, first_error: float, second: float, second_error: float
) -> None:
    probability = score_probability(direction, measured(first, first_error), measured(second, second_error))
    draws = np.random.default_rng(1).normal(size=(2, 200_000))
    # Two sets of the same mean: how often does the later one look at least this much worse?
    sign = 1 if direction is Direction.MAXIMIZE else -1
    simulated = sign * (first_error * draws[0] - second_error * draws[1]) >= sign * (first - second)
    assert probability == pytest.approx(simulated.mean(), abs=5 * 0.5 / math.sqrt(200_000))


# Scores of seed and best program, whose ratio is far from one, so that the seed's error counts by that ratio.
GAINS = [
    ((2.0, 0.02), (10.0, 0.05), (2.1, 0.02), (10.1, 0.05)),
    ((10.0, 0.1), (4.0, 0.02), (10.2, 0.1), (4.2, 0.02)),
    ((-4.0, 0.05), (-1.0, 0.02), (-4.0, 0.02), (-1.1, 0.03)),
]


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("case", GAINS)
def test_the_probability_of_a_smaller_gain_is_that_of_simulated_gains(direction: Direction, case: tuple) -> None:
    probability = gain_probability(
        direction,
        (measured(*case[0]), measured(*case[1])),
        (measured(*case[2]), measured(*case[3])),
    )
    draws = np.random.default_rng(2).normal(size=(4, 200_000))
    scores = [mean + error * draw for (mean, error), draw in zip(case, draws, strict=True)]
    sign = 1 if direction is Direction.MAXIMIZE else -1

    def gain(seed: float | np.ndarray, best: float | np.ndarray) -> float | np.ndarray:
        return sign * (best - seed) / abs(seed)

    first, second = gain(scores[0], scores[1]), gain(scores[2], scores[3])
    noise = (first - first.mean()) - (second - second.mean())
    difference = gain(case[0][0], case[1][0]) - gain(case[2][0], case[3][0])
    # The delta method is linear: it is exact up to the square of the errors.
    assert probability == pytest.approx((noise >= difference).mean(), abs=0.01)


@pytest.mark.parametrize(("second", "expected"), [(1.9, 0.0), (2.0, 1.0), (2.1, 1.0)])
def test_without_noise_any_loss_is_certain(second: float, expected: float) -> None:
    exact = [MeasuredScore(score, 0.0, None) for score in (2.0, second)]
    assert score_probability(Direction.MAXIMIZE, *exact) == expected


def test_what_has_no_error_has_no_probability() -> None:
    known, unknown = measured(2.0, 0.1), MeasuredScore(2.0, None, None)
    for pair in ((known, unknown), (unknown, known)):
        assert score_probability(Direction.MAXIMIZE, *pair) is None
        assert gain_probability(Direction.MAXIMIZE, pair, (known, known)) is None
        assert gain_probability(Direction.MAXIMIZE, (known, known), pair) is None
    # A share of zero is none.
    assert gain_probability(Direction.MAXIMIZE, (measured(0.0, 0.1), known), (known, known)) is None


@pytest.mark.parametrize("direction", Direction)
def test_sizes_have_equal_weights(direction: Direction) -> None:
    seed = {"by_instance": {"10": [5.0, 5.0, 5.0, 5.0], "20": [8.0, 8.0]}}
    best = {"by_instance": {"10": [4.0, 4.0, 6.0, 5.0], "20": [5.0, 9.0]}}
    sign = 1 if direction is Direction.MAXIMIZE else -1
    paired = compare_pairs(direction, seed, best)
    assert paired is not None
    assert paired.gain == pytest.approx(sign * ((-1 - 1 + 1 + 0) / 4 + (-3 + 1) / 2) / 2)
    worse, better = (3, 2) if sign > 0 else (2, 3)
    assert (paired.instances, paired.better, paired.worse) == (6, better, worse)
    sizes = compare_sizes(direction, seed, best)
    assert [sizes[size].gain for size in ("10", "20")] == pytest.approx([sign * -0.25, sign * -1.0])
    assert [sizes[size].instances for size in ("10", "20")] == [4, 2]


def test_the_p_value_is_the_share_of_signs_that_are_as_extreme() -> None:
    gains = [3.0, 1.0, 2.0, -1.0, 4.0, 2.5]
    seed = {"by_instance": {"10": [0.0] * 6}}
    paired = compare_pairs(Direction.MAXIMIZE, seed, {"by_instance": {"10": gains}})
    signs = (np.array(np.meshgrid(*[[-1, 1]] * 6)).reshape(6, -1).T @ np.array(gains)).round(9)
    assert paired is not None
    assert paired.p == pytest.approx((abs(signs) >= abs(sum(gains))).mean())
    # The interval is that of the test: at its ends, the shifted gains are just not significant.
    assert paired.low is None or paired.low <= paired.gain <= paired.high


@pytest.mark.parametrize(
    ("seed", "best"),
    [
        ({"10": [1.0]}, {"20": [1.0]}),
        ({"10": [1.0, 2.0]}, {"10": [1.0]}),
        ({"10": [1.0], "20": [1.0, 2.0]}, {"10": [1.0], "20": [1.0]}),
        ({"10": [1.0], "20": []}, {"10": [1.0], "20": []}),
        ({"10": []}, {"10": []}),
        ({"10": [1.0]}, {"10": ["a"]}),
        ({"10": [1.0]}, {"10": [True]}),
        ({"10": [1.0]}, {"10": [1e300]}),
        ({"10": [1.0]}, {"10": [-1e300]}),
        ({"10": 1.0}, {"10": 1.0}),
        ({}, {}),
        ([1.0], [1.0]),
    ],
)
def test_results_that_do_not_correspond_are_not_compared(seed: object, best: object) -> None:
    pair = ({"by_instance": seed}, {"by_instance": best})
    assert instance_gains(Direction.MAXIMIZE, *pair) is None
    assert compare_pairs(Direction.MAXIMIZE, *pair) is None
    assert compare_sizes(Direction.MAXIMIZE, *pair) == {}


TREE = {"instances": 6, "better": 4, "worse": 1, "gain": 0.5, "low": 0.1, "high": 0.9, "p": 0.03}


def test_a_stored_comparison_is_read_back() -> None:
    assert read_paired(None) is None
    assert read_paired(TREE) == Paired(**TREE)
    assert read_paired(TREE | {"low": None, "high": None, "p": None}) is not None


@pytest.mark.parametrize("name", TREE)
@pytest.mark.parametrize("value", [math.nan, math.inf, "1", True, [1]])
def test_a_stored_comparison_of_other_values_is_refused(name: str, value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        read_paired(TREE | {name: value})


@pytest.mark.parametrize(
    ("p", "gain", "better"), [(0.049, 1.0, True), (0.049, -1.0, False), (0.05, 1.0, None), (None, 1.0, None)]
)
def test_only_what_chance_does_not_explain_is_a_difference(p: float | None, gain: float, better: bool | None) -> None:
    verdict = Paired(6, 5, 1, gain, None, None, p).verdict
    words = {True: "better", False: "WORSE", None: "not shown"}
    assert verdict.startswith(words[better])
