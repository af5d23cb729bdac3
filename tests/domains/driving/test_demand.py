"""Demand is drawn the same everywhere, and as the published benchmark says; no simulation is needed for it."""

from collections import Counter
from hashlib import sha256

import numpy as np
import pytest

from oragent.domains.driving.network import WEAVING
from oragent.domains.driving.rules import TYPES
from oragent.domains.driving.scenario import LONG, TRAFFIC, draw


@pytest.mark.parametrize(
    ("trials", "vehicles", "digest"),
    [(2, 235, "34752d479fa0a567"), (3, 344, "165f930fe6ff07e5")],
)
def test_the_demand_of_a_seed_never_changes(trials: int, vehicles: int, digest: str) -> None:
    drawn = draw(42, trials, 570)
    assert len(drawn) == vehicles
    assert drawn == draw(42, trials, 570)
    text = repr([(one.vehicle, one.second, one.route, one.kind) for one in drawn])
    assert sha256(text.encode()).hexdigest()[:16] == digest
    assert drawn != draw(43, trials, 570)


def test_departures_come_in_order_and_have_names_of_their_own() -> None:
    drawn = draw(7, 3, 570)
    assert [one.second for one in drawn] == sorted(one.second for one in drawn)
    assert [one.vehicle for one in drawn] == [f"v{index}" for index in range(len(drawn))]


@pytest.mark.slow
def test_arrivals_and_types_have_the_published_shares() -> None:
    drawn = draw(0, 2, 40_000)
    assert len(drawn) / 40_000 == pytest.approx(len(WEAVING.routes) * 2 * 0.03, rel=0.02)
    kinds = Counter(one.kind for one in drawn)
    for kind in TYPES.values():
        assert kinds[kind.name] / len(drawn) == pytest.approx(kind.share, abs=0.01)
    counts = Counter((one.second, one.route) for one in drawn)
    pairs = sum(count == 2 for count in counts.values()) / (40_000 * len(WEAVING.routes))
    assert pairs == pytest.approx(0.03**2, rel=0.25)
    assert np.sum([kind.share for kind in TYPES.values()]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("name", "rate", "crossing", "long", "early"),
    [
        ("", 0.63, 2 / 7, 0.3, 1 / 2),
        ("dense", 1.05, 2 / 7, 0.3, 1 / 2),
        ("crossing", 0.63, 2 / 3, 0.3, 1 / 2),
        ("long_vehicles", 0.63, 2 / 7, 0.8, 1 / 2),
        ("platoons", 0.63, 2 / 7, 0.3, 1),
    ],
)
def test_arrivals_of_a_set_differ_as_its_name_says(
    name: str, rate: float, crossing: float, long: float, early: float
) -> None:
    drawn = draw(3, 3, 4000, **({"traffic": TRAFFIC[name]} if name else {}))
    ends = [WEAVING.routes[one.route] for one in drawn]
    # From the north to the south, or from the south to the north.
    sides = [("-E2", "E6"), ("-E3", "E5")]
    assert len(drawn) / 4000 == pytest.approx(rate, rel=0.06)
    assert np.mean([end in sides for end in ends]) == pytest.approx(crossing, abs=0.04)
    assert np.mean([one.kind != "passenger" for one in drawn]) == pytest.approx(long, abs=0.04)
    assert np.mean([one.second % 40 < 20 for one in drawn]) == pytest.approx(early, abs=0.04)


@pytest.mark.parametrize(
    ("name", "rate", "shares"),
    [
        ("val", 0.9, (0.6, 0.15, 0.2, 0.05)),
        ("dense", 1.5, (0.6, 0.15, 0.2, 0.05)),
        ("ramps", 0.9, (0.3, 0.3, 0.35, 0.05)),
    ],
)
def test_routes_of_long_roads_have_the_shares_of_their_set(name: str, rate: float, shares: tuple[float, ...]) -> None:
    drawn = [one.route for scenario in LONG.demands(name, (1,))[1] for one in scenario.departures]
    assert len(drawn) / (2 * 570) == pytest.approx(rate, rel=0.1)
    assert np.bincount(drawn) / len(drawn) == pytest.approx(shares, abs=0.04)
