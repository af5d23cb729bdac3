"""A race ends who cannot come up to an elite, seldom anybody else, and always in the same way."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from oragent._base import racing
from oragent._base.direction import Direction
from oragent._base.racing import BY_INSTANCE, RaceTerms, mean_score, race_steps, read_instance_values

PLANNED = {"20": 64, "50": 64, "100": 64}


def drawn(rng: np.random.Generator, shift: float, planned=PLANNED) -> tuple[dict, dict]:
    """Values of an elite, and of a candidate that is worse by so much on average, as instances are hard alike."""
    hard = {size: rng.normal(6, 1, count) for size, count in planned.items()}
    bar = {size: (values + rng.normal(0, 0.2, len(values))).round(6).tolist() for size, values in hard.items()}
    own = {size: (values + shift + rng.normal(0, 0.2, len(values))).round(6).tolist() for size, values in hard.items()}
    return bar, own


def test_who_is_far_behind_is_ended_at_once_and_who_is_better_never_is() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        bar, own = drawn(rng, 2.0)
        ended = RaceTerms(Direction.MINIMIZE, bar).replay_race(own, "")
        assert ended is not None
        assert ended.measured <= 0.07 * ended.planned
        assert RaceTerms(Direction.MAXIMIZE, bar).replay_race(own, "") is None


@pytest.mark.slow
def test_an_equal_of_the_elite_is_nearly_always_scored_to_the_end() -> None:
    rng = np.random.default_rng(2)
    pairs = [drawn(rng, 0.0) for _ in range(300)]
    lost = sum(mean_score(own) <= mean_score(bar) and _ended(bar, own) for bar, own in pairs)
    assert sum(_ended(*pair) for pair in pairs) <= 0.15 * len(pairs)
    assert lost <= 0.03 * len(pairs)  # of those that would have come up to it


def _ended(bar: dict, own: dict) -> bool:
    return RaceTerms(Direction.MINIMIZE, bar).replay_race(own, "") is not None


def test_what_it_would_come_to_is_near_what_it_comes_to() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        bar, own = drawn(rng, 1.0)
        ended = RaceTerms(Direction.MINIMIZE, bar).replay_race(own, "")
        assert ended is not None
        assert ended.estimated_score == pytest.approx(mean_score(own), abs=0.5)
        assert f"ended after {ended.measured} of 192 instances" in ended.reason
        assert ended.metrics == {"raced": {"done": ended.measured, "planned": 192, "estimate": ended.estimated_score}}


@pytest.mark.parametrize("freedom", [3, 4, 6, 10, 30, 190])
def test_the_quantiles_are_students(freedom: int) -> None:
    assert racing._student_quantile(0.995, freedom) == pytest.approx(t.ppf(0.995, freedom), rel=2 / freedom**4)


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from("abcd"), st.integers(1, 90), min_size=1), st.integers(0, 6))
def test_steps_grow_until_all_is_done(planned: dict[str, int], probes: int) -> None:
    found = list(race_steps(planned, probes))
    assert found[-1] == planned
    for before, after in pairwise(found):
        assert all(before[size] <= after[size] for size in planned)
        assert before != after
    if probes:
        first = next(
            step for step in found if RaceTerms(Direction.MINIMIZE, probes=probes).is_behaviour_known(step, planned)
        )
        assert all(first[size] >= min(probes, count) for size, count in planned.items())


def test_few_differences_end_nobody_and_a_bar_of_other_instances_none_at_all() -> None:
    terms = RaceTerms(Direction.MINIMIZE, {"5000": [1.0] * 5})
    assert terms.check_bar({"5000": [2.0] * 3}, {"5000": 5}) is None
    assert terms.check_bar({"5000": [2.0] * 4}, {"5000": 5}) is not None
    assert terms.check_bar({"5000": [2.0] * 4}, {"5000": 6}) is None
    assert terms.check_bar({"20": [2.0] * 4}, {"20": 5}) is None
    assert terms.check_bar({"5000": [2.0] * 5}, {"5000": 5}) is None  # there is nothing left to save


def stop_by_definition(
    direction: Direction, bar: dict[str, list[float]], seen: dict[str, list[float]]
) -> tuple[int, float] | None:
    """Instances and estimate at which the paired t-test with the finite population correction ends an evaluation."""
    gains = {size: direction.sign * (np.array(seen[size]) - bar[size][: len(seen[size])]) for size in bar}
    freedom = sum(len(of) - 1 for of in gains.values())
    if freedom < 3 or any(len(of) < min(2, len(bar[size])) for size, of in gains.items()):
        return None
    if all(len(of) == len(bar[size]) for size, of in gains.items()):
        return None
    variances = [
        np.var(of, ddof=1) / len(of) * (1 - len(of) / len(bar[size])) if len(of) < len(bar[size]) else 0.0
        for size, of in gains.items()
    ]
    gap = np.mean([of.mean() for of in gains.values()])
    if gap + t.ppf(0.99, freedom) * np.sqrt(sum(variances)) / len(gains) >= 0:
        return None
    mean = np.mean([np.mean(values) for values in bar.values()])
    return sum(map(len, gains.values())), mean + direction.sign * gap


@pytest.mark.parametrize("direction", Direction)
def test_an_evaluation_ends_where_the_test_by_its_definition_rejects(direction: Direction) -> None:
    rng, ends = np.random.default_rng(4), 0
    for _ in range(400):
        planned = {size: int(rng.integers(1, 30)) for size in ("20", "50", "100")[: rng.integers(1, 4)]}
        bar, own = drawn(rng, -direction.sign * rng.uniform(-0.1, 0.5), planned)
        seen = {size: values[: rng.integers(1, len(values) + 1)] for size, values in own.items()}
        expected = stop_by_definition(direction, bar, seen)
        stop = RaceTerms(direction, bar).check_bar(seen, planned)
        assert (stop is None) is (expected is None)
        if stop is not None and expected is not None:
            assert (stop.measured, stop.planned) == (expected[0], sum(planned.values()))
            assert stop.estimated_score == pytest.approx(expected[1], abs=1e-6)
            ends += 1
    assert 50 < ends < 350


@pytest.mark.parametrize(
    ("planned", "probes", "steps"),
    [
        # Two of the smaller set at least, else as many in proportion, rounded up.
        ({"a": 10, "b": 5}, 0, [(2, 2), (3, 2), (4, 2), (6, 3), (8, 4), (10, 5)]),
        ({"a": 10, "b": 5}, 5, [(2, 2), (3, 2), (4, 2), (6, 3), (6, 5), (8, 5), (10, 5)]),
        ({"a": 3, "b": 1}, 0, [(2, 1), (3, 1)]),
        ({"a": 2}, 0, [(2,)]),
        ({"a": 1}, 3, [(1,)]),
        ({}, 0, [()]),
    ],
)
def test_tests_are_made_after_these_instances(
    planned: dict[str, int], probes: int, steps: list[tuple[int, ...]]
) -> None:
    assert [tuple(step.values()) for step in race_steps(planned, probes)] == steps


@pytest.mark.parametrize(
    ("probes", "step", "expected"), [(0, (9, 9), False), (3, (3, 2), True), (3, (2, 2), False), (3, (3, 1), False)]
)
def test_a_behaviour_is_known_when_all_hashed_instances_are_measured(
    probes: int, step: tuple[int, int], expected: bool
) -> None:
    terms = RaceTerms(Direction.MINIMIZE, probes=probes)
    assert terms.is_behaviour_known({"a": step[0], "b": step[1]}, {"a": 9, "b": 2}) is expected


def test_terms_are_compact_and_the_same_for_equal_sets() -> None:
    terms = RaceTerms(Direction.MAXIMIZE, {"20": [1.0]}, 2, frozenset(["b", "a", "c"]))
    assert terms.dumps() == '{"direction":"maximize","bar":{"20":[1.0]},"probes":2,"twins":["a","b","c"]}'
    assert RaceTerms.loads('{"direction": "minimize"}') == RaceTerms(Direction.MINIMIZE)
    assert RaceTerms.loads('{"direction": "minimize", "probes": 0}').probes == 0


def test_values_have_six_digits() -> None:
    assert read_instance_values({BY_INSTANCE: {"20": [1.23456789, 2]}}) == {"20": [1.234568, 2.0]}


def test_a_twin_is_not_tested_without_a_behaviour_and_a_bar_still_is() -> None:
    terms = RaceTerms(Direction.MINIMIZE, {"5": [1.0] * 9}, 1, frozenset([""]))
    assert terms.check_stop({"5": [1.0] * 4}, {"5": 9}, "") is None
    stop = terms.check_stop({"5": [2.0] * 4}, {"5": 9}, "")
    assert stop is not None
    assert (stop.measured, stop.planned, stop.estimated_score) == (4, 9, 2.0)


def test_a_twin_is_ended_where_its_answers_are_known_and_none_is_left_at_the_end() -> None:
    terms = RaceTerms(Direction.MINIMIZE, probes=1, twins=frozenset(["beef"]))
    values = {size: [1.0] * count for size, count in PLANNED.items()}
    ended = terms.replay_race(values, "beef")
    assert ended is not None
    assert (ended.measured, ended.estimated_score) == (3, None)
    assert terms.replay_race(values, "cafe") is None
    assert terms.replay_race({"20": [1.0]}, "beef") is None


@given(
    st.sampled_from(Direction),
    st.none() | st.dictionaries(st.text(max_size=3), st.lists(st.floats(-1e6, 1e6), min_size=1), min_size=1),
    st.integers(0, 5),
    st.frozensets(st.text("abcdef0123456789", min_size=1)),
)
def test_terms_are_read_as_they_were_written(direction, bar, probes, twins) -> None:
    rounded = None if bar is None else read_instance_values({BY_INSTANCE: bar})
    terms = RaceTerms(direction, rounded, probes, twins)
    assert RaceTerms.loads(terms.dumps()) == terms


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "7", '{"direction": "up"}', '{"direction": "minimize", "bar": 3}', "{}",
        '{"direction": "minimize", "bar": {"20": ["x"]}}', '{"direction": "minimize", "probes": -1}',
        '{"direction": "minimize", "bar": {"20": [NaN]}}', '{"direction": "minimize", "more": 1}',
        '{"direction": "minimize", "twins": "beef"}',
    ],
)  # fmt: skip
def test_terms_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        RaceTerms.loads(text)


@pytest.mark.parametrize("told", [None, 3, {}, {"20": []}, {"20": [True]}, {"20": [float("inf")]}, {"20": "12"}])
def test_values_in_another_form_are_no_bar(told) -> None:
    assert read_instance_values({BY_INSTANCE: told}) is None


@pytest.mark.parametrize(
    ("told", "expected"),
    [({}, None), ({"raced": 3}, None), ({"raced": {"estimate": None}}, None), ({"raced": {"estimate": "9"}}, None),
     ({"raced": {"estimate": float("nan")}}, None), ({"raced": {"estimate": True}}, None), ({"raced": {"estimate": 7}}, 7.0)],
)  # fmt: skip
def test_an_estimate_is_a_number_or_none(told: dict, expected: float | None) -> None:
    assert racing.read_race_estimate(told) == expected
