"""The controller that ships: what it decides in small scenes, and that it drives without accidents."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oragent.discovered import load
from oragent.domains.driving.metrics import score
from oragent.domains.driving.network import Road
from oragent.domains.driving.rules import TYPES
from oragent.domains.driving.scenario import Scenario
from oragent.domains.driving.trials import drive, throughput

PROJECT = Path(__file__).parents[3]
EDGE = {"length": 172.8, "lanes": 3, "speed_limit": 13.89}


def vehicle(name: str, position: float, lane: int, wish: int = 0, speed: float = 10.0) -> dict[str, Any]:
    kind = TYPES["passenger"]
    return {
        "veh_id": name, "veh_type": kind.name, "position": position, "speed": speed, "current_lane": lane,
        "wants_left": wish > 0, "wants_right": wish < 0, "length": kind.length,
        "max_acceleration": kind.max_accel, "max_braking": kind.max_decel, "potential_target_lanes": [lane + wish],
    }  # fmt: skip


def decided(*vehicles: dict[str, Any]) -> dict[str, tuple[float, int]]:
    actions = load("driving", root=PROJECT)(EDGE, list(vehicles))
    return {one["veh_id"]: (one["acceleration"], one["lane_changing"]) for one in actions}


def test_who_need_not_change_stays_and_cruises_below_the_limit() -> None:
    assert decided(vehicle("a", 60.0, 1)) == {"a": (pytest.approx(2.6), 0)}
    assert decided(vehicle("a", 60.0, 1, speed=12.6)) == {"a": (pytest.approx(0.0), 0)}


def test_lanes_are_changed_where_there_is_room_and_not_at_the_begin() -> None:
    assert decided(vehicle("a", 60.0, 1, wish=1))["a"][1] == 1
    assert decided(vehicle("a", 15.0, 1, wish=1))["a"][1] == 0
    assert decided(vehicle("b", 62.0, 2), vehicle("a", 60.0, 1, wish=1))["a"][1] == 0


def test_two_never_come_to_the_same_place_from_both_sides() -> None:
    found = decided(vehicle("a", 61.0, 0, wish=1), vehicle("b", 60.0, 2, wish=-1))
    assert [change for _, change in found.values()] == [1, 0]


def test_who_is_behind_opens_a_gap_but_not_where_both_stand_side_by_side() -> None:
    moving = decided(vehicle("b", 64.0, 1, wish=1), vehicle("a", 60.0, 2))
    assert moving["a"][0] < 0
    standing = decided(vehicle("b", 64.0, 1, wish=1, speed=0.0), vehicle("a", 60.0, 2, speed=0.0))
    assert standing["a"][0] > 0


def test_who_must_go_right_waits_before_the_end_and_who_must_go_left_at_it() -> None:
    beside = [vehicle(f"x{lane}", 137.0, lane, speed=0.0) for lane in (0, 2)]
    right = decided(*beside, vehicle("a", 136.0, 1, wish=-1, speed=5.0))["a"][0]
    left = decided(*beside, vehicle("a", 136.0, 1, wish=1, speed=5.0))["a"][0]
    assert right < -3.0 < left


def test_it_remembers_nothing() -> None:
    rng = np.random.default_rng(0)
    scene = [
        vehicle(f"v{i}", float(p), i % 3, int(rng.integers(-1, 2))) for i, p in enumerate(rng.uniform(20, 170, 12))
    ]
    controller = load("driving", root=PROJECT)
    assert controller(EDGE, scene) == controller(EDGE, scene) == load("driving", root=PROJECT)(EDGE, scene)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [42, 47, 49])
def test_heavy_traffic_weaves_without_accidents(seed: int, road: Road, left_nothing: Path) -> None:
    scenario = Scenario(3, seed)
    ended = drive(scenario, road, load("driving", root=PROJECT), left_nothing).figures
    assert ended.collisions == 0
    assert score(ended, throughput(scenario, road, left_nothing)) > 96
