"""What SUMO makes of commands: speeds, accelerations, and lane changes that hit somebody."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oragent.domains.driving.network import Road
from oragent.domains.driving.rules import TYPES
from oragent.domains.driving.scenario import Scenario
from oragent.domains.driving.simulation import VehicleState
from oragent.domains.driving.trials import Drive, drive
from problems.driving.controllers import Wanderer

SCENARIO = Scenario(3, 42, horizon=120)


class Recorder:
    """Remembers what a controller asked of each vehicle in each second."""

    def __init__(self, controller: Callable[..., list[dict[str, Any]]]) -> None:
        self._controller = controller
        self.asked: list[dict[str, dict[str, Any]]] = []

    def __call__(self, edge: dict[str, Any], vehicles: list[dict[str, Any]]) -> list[dict[str, Any]]:
        actions = self._controller(edge, vehicles)
        self.asked.append({one["veh_id"]: one for one in actions})
        return actions


def race(edge: dict[str, Any], vehicles: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"veh_id": one["veh_id"], "acceleration": 99.0, "lane_changing": 0} for one in vehicles]


def moves(ended: Drive, recorder: Recorder) -> Iterator[tuple[VehicleState, VehicleState, dict[str, Any]]]:
    """States of a vehicle before and after a second, and what was asked of it in between."""
    asked = iter(recorder.asked)
    for before, after in zip(ended.seconds, ended.seconds[1:], strict=False):
        actions = next(asked) if before.states else {}
        now = {state.vehicle: state for state in after.states}
        yield from (
            (state, now[state.vehicle], actions[state.vehicle]) for state in before.states if state.vehicle in now
        )


@pytest.mark.parametrize("controller", [race, partial(Wanderer, np.random.default_rng(0))], ids=["race", "wander"])
def test_nobody_who_is_told_what_to_do_exceeds_the_limit_or_what_the_vehicle_can(
    controller: Callable[..., Any], road: Road, left_nothing: Path
) -> None:
    recorder = Recorder(controller if controller is race else controller())
    ended = drive(SCENARIO, road, recorder, left_nothing)
    kinds = {one.vehicle: TYPES[one.kind] for one in SCENARIO.departures}
    seen = list(moves(ended, recorder))
    assert len(seen) > 300
    for before, after, _ in seen:
        assert after.speed <= road.speed_limit + 1e-9
        assert after.speed - before.speed <= kinds[before.vehicle].max_accel + 1e-9
    assert max(after.speed for _, after, _ in seen) > (13.8 if controller is race else 5.0)


def test_sumo_changes_lanes_in_the_same_second_whoever_is_beside(road: Road, left_nothing: Path) -> None:
    recorder = Recorder(Wanderer(np.random.default_rng(0)))
    ended = drive(SCENARIO, road, recorder, left_nothing)
    seen = list(moves(ended, recorder))
    assert sum(abs(action["lane_changing"]) for *_, action in seen) > 200
    assert all(after.lane - before.lane == action["lane_changing"] for before, after, action in seen)
    assert ended.figures.collisions > 10  # that is the price
    assert ended.figures.lane_changes == sum(abs(action["lane_changing"]) for *_, action in seen)
