"""The score, against values worked out by hand; no simulation is needed for it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.domains.driving.metrics import Figures, paper_score, safety, score, smoothness, speediness

CALM = Figures(0, 0, 0, 0, 0, mean_speed=12.5, speed_variance=4.0, throughput=200, travel_time=30.0)


@pytest.mark.parametrize(
    ("figures", "published"),
    [
        # SUMO's own drivers: what was measured, and the score that was published with it.
        (replace(CALM, critical_ttc=10, mean_speed=11.63, speed_variance=6.48), 95.18),
        (replace(CALM, critical_ttc=60, emergency_braking=1, mean_speed=10.36, speed_variance=11.0), 75.32),
        # A road on which nothing moves: safe, smooth, and nobody gets anywhere.
        (replace(CALM, mean_speed=0.0, speed_variance=0.0), 70.0),
    ],
)
def test_the_published_score_is_reproduced(figures: Figures, published: float) -> None:
    assert paper_score(figures) == pytest.approx(published, abs=0.01)


def test_every_kind_of_danger_has_its_price() -> None:
    danger = replace(CALM, collisions=2, emergency_stops=3, emergency_braking=4, teleports=1, critical_ttc=5)
    assert safety(danger) == 100 - 2 * 50 - 3 * 5 - 4 * 2 - 30 - 5 * 0.5


@pytest.mark.parametrize(
    ("speed", "expected"),
    [
        (13.89, 100.0),
        (12.39, 100.0),  # 1.5 below the limit
        (15.39, 100.0),  # and above
        (11.39, 95.0),  # 2.5 below
        (10.39, 90.0),  # 3.5 below
        (9.39, 90.0 - 8.662),
        (3.4, 90.0 - 8.662 * 6.99),
        (3.0, 90.0 - 8.662 * 7.39),
        (0.0, 0.0),
    ],
)
def test_speed_counts_by_its_distance_from_the_limit(speed: float, expected: float) -> None:
    assert speediness(replace(CALM, mean_speed=speed)) == pytest.approx(expected, abs=0.002)


@pytest.mark.parametrize(("variance", "expected"), [(0, 100), (5, 100), (6, 96), (10, 80), (11, 72), (20, 0), (50, 0)])
def test_smoothness_counts_by_the_variance_of_speeds(variance: float, expected: float) -> None:
    assert smoothness(replace(CALM, speed_variance=variance)) == pytest.approx(expected)


def test_traffic_that_does_not_get_through_costs_its_share() -> None:
    assert score(CALM, reference=200) == paper_score(CALM)
    assert score(CALM, reference=250) == pytest.approx(paper_score(CALM) - 20.0)
    assert score(replace(CALM, throughput=0, mean_speed=0.0), reference=200) == pytest.approx(-30.0, abs=0.01)


@given(more=st.integers(0, 1000))
def test_more_traffic_than_sumo_brings_through_earns_nothing(more: int) -> None:
    assert score(replace(CALM, throughput=200 + more), reference=200) == paper_score(CALM)
