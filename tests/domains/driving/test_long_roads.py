"""Longer roads: what is built of their plans, and that traffic gets through."""

from pathlib import Path

import pytest

from oragent.domains.driving import network, scenario
from oragent.domains.driving.scenario import LONG
from oragent.domains.driving.trials import throughput
from tests.extras import need


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_road_has_its_kilometres_and_lanes_and_leads_out_on_the_right(size: int, tmp_path: Path) -> None:
    need("sumo")
    road = network.build(tmp_path, scenario.plan(size))
    assert road.length == pytest.approx(1000 * scenario.KILOMETRES[size], rel=0.03)
    assert road.lanes == scenario.LANES[size] == size + 2
    assert road.exits == {"E4": tuple(range(1, road.lanes)), "E6": (0,)}


@pytest.mark.parametrize("size", [1, 2, 3])
def test_demand_grows_with_the_lanes(size: int) -> None:
    plan = scenario.plan(size)
    assert sum(plan.chances) == pytest.approx(0.1 * plan.lanes)
    drawn = LONG.demands("val", [size])[size][0].departures
    assert len(drawn) == pytest.approx(0.3 * plan.lanes * 570, rel=0.1)
    assert {one.route for one in drawn} == {0, 1, 2, 3}


def test_sumos_own_drivers_get_through_the_first_one(tmp_path: Path) -> None:
    need("libsumo")
    scenario = LONG.demands("train", [1])[1][0]
    assert scenario.name == "heavy, demand seed 1, 1 km"
    assert throughput(scenario, network.build(tmp_path, scenario.rules.plan), tmp_path) > 100
