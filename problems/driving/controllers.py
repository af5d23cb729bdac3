"""Controllers for comparison, with the same inputs as a candidate. For SUMO's own drivers see `drive`.

Sources: Treiber, Hennecke and Helbing 2000, Congested traffic states in empirical observations and microscopic
simulations (the Intelligent Driver Model), DOI 10.1103/PhysRevE.62.1805; Kesting, Treiber and Helbing 2007, General
lane-changing model MOBIL for car-following models, DOI 10.3141/1999-10. For a cooperative one see ``discovered``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np

from oragent.domains.driving.rules import TYPES

Action = dict[str, Any]
# Acceleration in m/s², which means stronger braking than any vehicle can do.
STOP = -9.0


def stand_still(edge_info: Mapping[str, Any], vehicles_info: list[dict[str, Any]]) -> list[Action]:
    """Brake every vehicle to a halt and keep it there. The published score rewards this too much."""
    return [_make_action(vehicle["veh_id"], STOP, 0) for vehicle in vehicles_info]


class Wanderer:
    """Controller that draws feasible accelerations and lane changes at random."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def __call__(self, edge_info: Mapping[str, Any], vehicles_info: list[dict[str, Any]]) -> list[Action]:
        """Draw one action per vehicle."""
        return [self._draw_action(vehicle, edge_info["lanes"]) for vehicle in vehicles_info]

    def _draw_action(self, vehicle: Mapping[str, Any], lanes: int) -> Action:
        kind = TYPES[vehicle["veh_type"]]
        changes = [change for change in (-1, 0, 1) if 0 <= vehicle["current_lane"] + change < lanes]
        acceleration = float(self._rng.uniform(-kind.max_decel, kind.max_accel))
        return _make_action(vehicle["veh_id"], acceleration, changes[int(self._rng.integers(len(changes)))])


@dataclass(frozen=True)
class _Car:
    """Vehicle in the models. The end of a lane that leads elsewhere is modelled as a stopped vehicle."""

    name: str
    # Position of the front in metres.
    front: float
    # Position of the rear in metres.
    rear: float
    # Speed in m/s.
    speed: float
    lane: int
    # Maximum acceleration in m/s².
    accel: float
    # Maximum deceleration in m/s², positive.
    decel: float
    # Lanes from which its route continues.
    targets: tuple[int, ...]


@dataclass(frozen=True)
class IdmMobil:
    """Intelligent Driver Model for speeds and MOBIL for lanes, biased to lanes from which the route continues."""

    # Desired time gap T in s.
    headway: float = 1.0
    # Desired gap s0 of stopped vehicles in metres.
    standstill: float = 3.0
    # Weight p of the effect of a change on other vehicles.
    politeness: float = 0.2
    # Minimum gain of a lane change in m/s².
    threshold: float = 0.2
    # Maximum braking in m/s² that a change may require of the new follower.
    safe: float = 4.0
    # Gain in m/s² of a change that the route requires, at the end of E0. At the beginning it is half of this.
    bias: float = 6.0
    # No vehicle changes lanes within this many metres of the beginning of E0, because vehicles that leave the junction
    # there are not seen.
    entry: float = 20.0
    # Vehicles that must go right wait this many metres before the end of E0; those that must go left wait at the end.
    # They therefore never block each other side by side.
    stagger: float = 30.0

    def __call__(self, edge_info: Mapping[str, Any], vehicles_info: list[dict[str, Any]]) -> list[Action]:
        """Decide on lanes, the foremost vehicle first, then on speeds with regard to all vehicles on the same lane."""
        length, lanes, limit = edge_info["length"], edge_info["lanes"], edge_info["speed_limit"]
        cars = [_make_car(vehicle) for vehicle in vehicles_info]
        # A vehicle that changes lanes occupies both lanes during this second.
        road = list(cars)
        moves: dict[str, int] = {}
        for car in cars:
            moves[car.name] = self._choose_change(car, road, length, lanes, limit)
            if moves[car.name]:
                road.append(replace(car, lane=car.lane + moves[car.name]))
        actions = []
        for car in cars:
            lanes_used = {car.lane, car.lane + moves[car.name]}
            acceleration = min(self._acceleration_on(car, lane, road, length, limit) for lane in lanes_used)
            actions.append(_make_action(car.name, acceleration, moves[car.name]))
        return actions

    def _choose_change(self, car: _Car, road: list[_Car], length: float, lanes: int, limit: float) -> int:
        """Return the side with the largest gain by MOBIL's criteria, or 0 for no change."""
        here = self._acceleration_on(car, car.lane, road, length, limit)
        best, chosen = self.threshold, 0
        for side in (-1, 1):
            lane = car.lane + side
            if car.front < self.entry or not 0 <= lane < lanes or not self._is_free(car, lane, road):
                continue
            behind = (neighbour for neighbour in _others_on_lane(car, lane, road) if neighbour.front <= car.front)
            follower = max(behind, key=attrgetter("front"), default=None)
            loss = 0.0
            if follower is not None:
                after = self._idm_acceleration(follower, car, limit)
                if after < -self.safe:
                    continue
                loss = self._acceleration_on(follower, lane, road, length, limit) - after
            gain = self._acceleration_on(car, lane, road, length, limit) - here - self.politeness * max(0.0, loss)
            gain += self._exit_incentive(car, side, length)
            if gain > best:
                best, chosen = gain, side
        return chosen

    def _is_free(self, car: _Car, lane: int, road: list[_Car]) -> bool:
        """Return True if the space on that lane is free, including the gap between stopped vehicles."""
        ahead, behind = car.front + self.standstill, car.rear - self.standstill
        return all(neighbour.rear > ahead or neighbour.front < behind for neighbour in _others_on_lane(car, lane, road))

    def _exit_incentive(self, car: _Car, side: int, length: float) -> float:
        distance, after = (min(abs(lane - target) for target in car.targets) for lane in (car.lane, car.lane + side))
        return self.bias * (distance - after) * (0.5 + 0.5 * car.front / length)

    def _acceleration_on(self, car: _Car, lane: int, road: list[_Car], length: float, limit: float) -> float:
        ahead = [neighbour for neighbour in _others_on_lane(car, lane, road) if neighbour.front > car.front]
        leader = min(ahead, key=attrgetter("rear"), default=None)
        accelerations = [self._idm_acceleration(car, leader, limit)]
        if lane not in car.targets:
            stop = length if min(car.targets) > lane else length - self.stagger
            if car.front < stop:
                accelerations.append(self._idm_acceleration(car, replace(car, front=stop, rear=stop, speed=0.0), limit))
        return min(accelerations)

    def _idm_acceleration(self, car: _Car, leader: _Car | None, limit: float) -> float:
        free = 1.0 - (car.speed / limit) ** 4
        if leader is None:
            return car.accel * free
        closing = car.speed * (car.speed - leader.speed) / (2.0 * (car.accel * car.decel) ** 0.5)
        desired = self.standstill + max(0.0, car.speed * self.headway + closing)
        gap = max(0.1, leader.rear - car.front)
        return float(max(STOP, car.accel * (free - (desired / gap) ** 2)))


def _make_car(vehicle: Mapping[str, Any]) -> _Car:
    return _Car(
        name=vehicle["veh_id"],
        front=vehicle["position"],
        rear=vehicle["position"] - vehicle["length"],
        speed=vehicle["speed"],
        lane=vehicle["current_lane"],
        accel=vehicle["max_acceleration"],
        decel=vehicle["max_braking"],
        targets=tuple(vehicle["potential_target_lanes"]),
    )


def _others_on_lane(car: _Car, lane: int, road: list[_Car]) -> Iterator[_Car]:
    return (neighbour for neighbour in road if neighbour.lane == lane and neighbour.name != car.name)


def _make_action(name: str, acceleration: float, change: int) -> Action:
    return {"veh_id": name, "acceleration": acceleration, "lane_changing": change}
