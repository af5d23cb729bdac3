"""Controllers to compare with; they see what a candidate sees. SUMO's own drivers are none of them: see `drive`.

Sources: Treiber, Hennecke and Helbing 2000, Congested traffic states in empirical observations and microscopic
simulations (the Intelligent Driver Model), DOI 10.1103/PhysRevE.62.1805; Kesting, Treiber and Helbing 2007, General
lane-changing model MOBIL for car-following models, DOI 10.3141/1999-10.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from oragent.domains.driving.rules import TYPES

Action = dict[str, Any]
STOP = -9.0  # m/s², more than any vehicle can brake


def stand_still(edge_info: Mapping[str, Any], vehicles_info: list[dict[str, Any]]) -> list[Action]:
    """Brake every vehicle to a halt and keep it there: the hole in the published score."""
    return [_make_action(vehicle["veh_id"], STOP, 0) for vehicle in vehicles_info]


class Wanderer:
    """Draws accelerations and lane changes at random, all of them possible."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def __call__(self, edge_info: Mapping[str, Any], vehicles_info: list[dict[str, Any]]) -> list[Action]:
        """Draw one action a vehicle."""
        return [self._draw_action(vehicle, edge_info["lanes"]) for vehicle in vehicles_info]

    def _draw_action(self, vehicle: Mapping[str, Any], lanes: int) -> Action:
        kind = TYPES[vehicle["veh_type"]]
        changes = [change for change in (-1, 0, 1) if 0 <= vehicle["current_lane"] + change < lanes]
        acceleration = float(self._rng.uniform(-kind.max_decel, kind.max_accel))
        return _make_action(vehicle["veh_id"], acceleration, changes[int(self._rng.integers(len(changes)))])


@dataclass(frozen=True)
class _Car:
    """A vehicle as the models see it; the end of a lane that leads elsewhere is one that stands there."""

    name: str
    front: float  # m
    rear: float  # m
    speed: float  # m/s
    lane: int
    accel: float  # m/s²
    decel: float  # m/s²
    targets: tuple[int, ...]


@dataclass(frozen=True)
class IdmMobil:
    """The Intelligent Driver Model for speeds and MOBIL for lanes, biased to lanes from which the route goes on."""

    headway: float = 1.0  # desired time gap T, s
    standstill: float = 3.0  # desired gap s0 of standing vehicles, m
    politeness: float = 0.2  # weight p of what a change does to others
    threshold: float = 0.2  # least gain that is worth a change, m/s²
    safe: float = 4.0  # a new follower need not brake harder than that, m/s²
    bias: float = 6.0  # gain of a change that the route calls for, m/s², where E0 ends; half of that where it begins
    # nobody changes within that many metres of E0's begin: who comes out of the junction there is not seen
    entry: float = 20.0
    # who must go right waits that many metres before E0's end and who must go left at it, so that they never wait side
    # by side, each in the other's way
    stagger: float = 30.0

    def __call__(self, edge_info: Mapping[str, Any], vehicles_info: list[dict[str, Any]]) -> list[Action]:
        """Decide on lanes, the vehicle in front first, then on speeds among those who stay and those who come."""
        length, lanes, limit = edge_info["length"], edge_info["lanes"], edge_info["speed_limit"]
        cars = [_make_car(vehicle) for vehicle in vehicles_info]
        road = list(cars)  # a vehicle that changes is in both lanes for this second
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
        """Return the side with the largest gain by MOBIL's criteria, 0 for none."""
        here = self._acceleration_on(car, car.lane, road, length, limit)
        best, chosen = self.threshold, 0
        for side in (-1, 1):
            lane = car.lane + side
            if car.front < self.entry or not 0 <= lane < lanes or not self._is_free(car, lane, road):
                continue
            follower = _nearest_behind(car, lane, road)
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
        """Tell whether nobody is beside the vehicle, with the gap of standing vehicles to spare."""
        ahead, behind = car.front + self.standstill, car.rear - self.standstill
        return all(neighbour.rear > ahead or neighbour.front < behind for neighbour in _others_on_lane(car, lane, road))

    def _exit_incentive(self, car: _Car, side: int, length: float) -> float:
        distance, after = (min(abs(lane - target) for target in car.targets) for lane in (car.lane, car.lane + side))
        return self.bias * (distance - after) * (0.5 + 0.5 * car.front / length)

    def _acceleration_on(self, car: _Car, lane: int, road: list[_Car], length: float, limit: float) -> float:
        """The acceleration that the vehicle would choose on a lane."""
        ahead = [neighbour for neighbour in _others_on_lane(car, lane, road) if neighbour.front > car.front]
        leader = min(ahead, key=lambda neighbour: neighbour.rear, default=None)
        accelerations = [self._idm_acceleration(car, leader, limit)]
        if lane not in car.targets:
            stop = length if min(car.targets) > lane else length - self.stagger
            if car.front < stop:
                accelerations.append(self._idm_acceleration(car, replace(car, front=stop, rear=stop, speed=0.0), limit))
        return min(accelerations)

    def _idm_acceleration(self, car: _Car, leader: _Car | None, limit: float) -> float:
        """The Intelligent Driver Model."""
        free = 1.0 - (car.speed / limit) ** 4
        if leader is None:
            return car.accel * free
        closing = car.speed * (car.speed - leader.speed) / (2.0 * (car.accel * car.decel) ** 0.5)
        desired = self.standstill + max(0.0, car.speed * self.headway + closing)
        gap = max(0.1, leader.rear - car.front)
        return float(max(STOP, car.accel * (free - (desired / gap) ** 2)))


def _make_car(vehicle: Mapping[str, Any]) -> _Car:
    kind = TYPES[vehicle["veh_type"]]
    front = vehicle["position"]
    return _Car(
        name=vehicle["veh_id"],
        front=front,
        rear=front - kind.length,
        speed=vehicle["speed"],
        lane=vehicle["current_lane"],
        accel=kind.max_accel,
        decel=kind.max_decel,
        targets=tuple(vehicle["potential_target_lanes"]),
    )


def _others_on_lane(car: _Car, lane: int, road: list[_Car]) -> Iterator[_Car]:
    return (neighbour for neighbour in road if neighbour.lane == lane and neighbour.name != car.name)


def _nearest_behind(car: _Car, lane: int, road: list[_Car]) -> _Car | None:
    behind = (neighbour for neighbour in _others_on_lane(car, lane, road) if neighbour.front <= car.front)
    return max(behind, key=lambda neighbour: neighbour.front, default=None)


def _make_action(name: str, acceleration: float, change: int) -> Action:
    return {"veh_id": name, "acceleration": acceleration, "lane_changing": change}
