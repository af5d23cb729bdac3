"""Blocks of simulations and their sums, with simulations that cost nothing."""

import math
from dataclasses import replace
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.domains.driving import trials
from oragent.domains.driving.metrics import Figures, features, loss, score, selected
from oragent.domains.driving.scenario import CASES, Scenario
from oragent.domains.driving.trials import Drive, Trial

CALM = Figures(0, 0, 0, 0, 0, mean_speed=12.5, speed_variance=4.0, throughput=200, travel_time=30.0)
DEMANDS = {case: [Scenario(case, seed) for seed in range(10)] for case in (2, 3)}


def crashed(collisions: int) -> Figures:
    return replace(CALM, collisions=collisions)


def trial(scenario: Scenario, figures: Figures) -> Trial:
    return Trial(Drive(scenario, (), figures), 200)


def test_blocks_take_equally_many_of_each_case_and_leave_none_out() -> None:
    blocks = list(trials.blocks(DEMANDS))
    assert [[(case, one.seed) for case, one in block] for block in blocks[:1]] == [
        [(2, 0), (2, 1), (2, 2), (2, 3), (3, 0), (3, 1), (3, 2), (3, 3)]
    ]
    assert [len(block) for block in blocks] == [8, 8, 4]
    assert sorted((case, one.seed) for block in blocks for case, one in block) == [
        (t, s) for t in (2, 3) for s in range(10)
    ]


@pytest.mark.parametrize(("collisions", "done"), [(0, 20), (1, 20), (2, 8), (9, 8)])
def test_who_cannot_win_ends_after_a_block(collisions: int, done: int) -> None:
    def simulate(scenario: Scenario) -> Trial:
        return trial(scenario, crashed(collisions))

    seen = trials.run(DEMANDS, simulate, floor=trials.HOPELESS)
    assert sum(map(len, seen.values())) == done
    assert {len(of_case) for of_case in seen.values()} == {done // 2}
    assert trials.summary(seen, CASES, planned=20)["simulations"] == {"done": done, "planned": 20}
    assert sum(map(len, trials.run(DEMANDS, simulate, floor=None).values())) == 20


def test_a_single_pile_up_among_good_simulations_ends_nobody() -> None:
    seen = trials.run(
        DEMANDS, lambda scenario: trial(scenario, crashed(9 if scenario == DEMANDS[2][0] else 0)), floor=trials.HOPELESS
    )
    assert sum(map(len, seen.values())) == 20


@given(st.integers(0, 30), st.integers(0, 200))
def test_no_simulation_counts_less_than_minus_a_hundred(collisions: int, throughput: int) -> None:
    figures = replace(crashed(collisions), throughput=throughput)
    assert selected(figures, 200) == max(-100.0, score(figures, 200))


def test_metrics_keep_the_truth_beside_the_score_that_selects() -> None:
    figures = iter([crashed(9), CALM, CALM, CALM])
    seen = trials.run(
        {2: DEMANDS[2][:2], 3: DEMANDS[3][:2]}, lambda one: trial(one, next(figures)), floor=trials.HOPELESS
    )
    found = trials.summary(seen, CASES, planned=4)
    assert found["true_score"] == pytest.approx(fmean([fmean([-125, 100]), 100]))
    assert found["worst"] == {"demand": "light, demand seed 0", "score": -125.0, "paper_score": -125.0}
    assert found["standard_error"] == pytest.approx(math.sqrt(stdev([-100, 100]) ** 2 / 2) / 2)
    assert found["lost_by"]["accidents"] == pytest.approx(225 / 4)
    assert found["light"]["collisions"] == 4.5


def test_one_simulation_a_case_has_no_standard_error() -> None:
    seen = {2: [trial(DEMANDS[2][0], CALM)]}
    assert trials.summary(seen, CASES, planned=1)["standard_error"] is None


@given(
    st.builds(
        Figures,
        *(st.integers(0, 5) for _ in range(5)),
        mean_speed=st.floats(0, 16),
        speed_variance=st.floats(0, 40),
        throughput=st.integers(0, 250),
        travel_time=st.just(30.0),
        lane_changes=st.integers(0, 100),
        change_place=st.floats(0, 1),
    )
)
def test_losses_add_up_to_what_is_missing_and_features_fit_their_bins(figures: Figures) -> None:
    lost = loss(figures, 200)
    assert min(vars(lost).values()) >= -1e-9
    assert 100.0 - lost.total == pytest.approx(score(figures, 200))
    assert all(0 <= value <= 4 for value in features([(figures, 200), (CALM, 200)]))


def test_features_are_the_shares_of_speed_and_of_gaps_in_the_loss_and_the_place_of_changes() -> None:
    slow = replace(CALM, mean_speed=11.0, lane_changes=10, change_place=0.9)
    close = replace(CALM, critical_ttc=20, lane_changes=30, change_place=0.1)
    assert loss(slow, 200).total == loss(slow, 200).speed == pytest.approx(0.3 * 5 * 1.39)
    assert loss(close, 200).total == loss(close, 200).gaps == 5.0
    assert features([(slow, 200)]) == (4, 0, 4)
    assert features([(close, 200)]) == (0, 4, 0)
    assert features([(slow, 200), (close, 200)]) == (1, 4, 2)  # 2.1 and 5 of 7.1 points; at 0.3 of the road
    assert features([(crashed(4), 200)]) == (0, 0, 0)
