"""A controller of our own that lets vehicles weave without a memory: a reference for what a search may reach."""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

STANDING = 2.5  # m, the gap that SUMO keeps to a vehicle that stands; less than that counts as a collision


@dataclass(frozen=True)
class _Car:
    """A vehicle; ``wish`` is the side of the lanes from which its route goes on: 1 left, -1 right, 0 for none."""

    name: str
    front: float
    rear: float
    speed: float
    lane: int
    wish: int
    max_acceleration: float  # m/s², of acceleration
    brake: float  # m/s², positive


@dataclass(frozen=True)
class Cooperative:
    """Everyone cruises just below the limit; who must change looks for a gap early, and who can opens one for it."""

    cruise: float = 12.6  # speed at which traffic flows, m/s
    # nobody changes within that many metres of E0's begin: who comes out of the junction there is not seen
    entry: float = 20.0
    standing: float = 3.2  # gap to a vehicle ahead that stands, m
    touching: float = 2.7  # least gap in a change, m
    headway: float = 0.7  # further gap to a vehicle ahead, s
    closing: float = 1.5  # further gap in a change, s of the difference in speed
    # who must go right waits that many metres before E0's end, who must go left at it: they never wait side by side,
    # each in the other's way
    stagger: float = 35.0
    comfort: float = 2.5  # braking for a gap to come, m/s²
    yields: float = 1.5  # braking to open a gap for another, m/s²
    sight: float = 25.0  # one opens a gap for those who are that many metres ahead at most
    # where both stand side by side, slowing down opens no gap; another faster than that drives out of it, m/s
    crawl: float = 2.0

    def __call__(self, edge_info: Mapping[str, Any], vehicles_info: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Decide for one vehicle after the other, that in front first; who changes is on both lanes from then on."""
        road = [(car, car.lane) for car in map(_make_car, vehicles_info)]
        scene = _Scene(road, {car.name: car.speed for car, _ in road}, set(), edge_info["length"])
        return [self._choose_action(car, scene) for car, _ in list(road)]

    def _choose_action(self, car: _Car, scene: "_Scene") -> dict[str, Any]:
        change, speed = car.wish, self._target_speed(car, car.wish, scene)
        if not self._may_change(car, speed, scene):
            change, speed = 0, self._target_speed(car, 0, scene)
        if change:
            scene.road.append((car, car.lane + change))
            scene.changing.add(car.name)
        scene.speeds[car.name] = speed
        return {"veh_id": car.name, "acceleration": speed - car.speed, "lane_changing": change}

    def _may_change(self, car: _Car, speed: float, scene: "_Scene") -> bool:
        """Tell whether there is a gap beside, now and for some seconds, where one need not brake hard to get in."""
        if not car.wish or car.front < self.entry or speed < car.speed - self.comfort:
            return False
        ahead, behind = scene.neighbours(car, car.lane + car.wish)
        if ahead is not None and not self._is_gap_enough(car, ahead, scene.speeds[ahead.name]):
            return False
        return behind is None or self._is_gap_enough(behind, car, speed)

    def _is_gap_enough(self, car: _Car, ahead: _Car, speed: float) -> bool:
        """Tell whether the gap to a vehicle ahead, which moves at that speed next, suffices for a change."""
        return ahead.rear - car.front > self.touching + self.closing * max(0.0, car.speed - speed)

    def _target_speed(self, car: _Car, change: int, scene: "_Scene") -> float:
        """The speed of the next second, m/s."""
        speeds = [self.cruise, car.speed + car.max_acceleration]
        leaders = [scene.neighbours(car, lane)[0] for lane in {car.lane, car.lane + change}]
        speeds += [self._follow_speed(car, leader) for leader in leaders if leader is not None]
        if car.wish and not change:
            stop = scene.length if car.wish > 0 else scene.length - self.stagger
            if car.front < stop:
                speeds.append(_stopping_speed(stop - car.front, 0.0, self.comfort))
            beside, _ = scene.neighbours(car, car.lane + car.wish)
            if beside is not None and car.front >= self.entry:
                speeds.append(self._give_way(car, beside))
        speeds += [
            self._give_way(car, neighbour) for neighbour, _ in scene.road if self._must_await(neighbour, car, scene)
        ]
        return max(0.0, min(speeds))

    def _follow_speed(self, car: _Car, ahead: _Car) -> float:
        """A safe speed behind another: the lower one of ours and of that which SUMO enforces."""
        gap = ahead.rear - car.front
        ours = _stopping_speed(gap - self.standing, ahead.speed, self.comfort, self.headway)
        return min(ours, _stopping_speed(gap - STANDING, ahead.speed, car.brake))

    def _give_way(self, car: _Car, neighbour: _Car) -> float:
        """Fall back behind another, gently."""
        return max(self._follow_speed(car, neighbour), car.speed - self.yields)

    def _must_await(self, neighbour: _Car, car: _Car, scene: "_Scene") -> bool:
        """Tell whether another must come to the car's lane, just ahead of it, and whether slowing down opens a gap."""
        if not neighbour.wish or neighbour.name in scene.changing or neighbour.lane + neighbour.wish != car.lane:
            return False
        opens = neighbour.rear - car.front > self.touching or neighbour.speed > self.crawl
        if not opens or not 0.0 < neighbour.front - car.front < self.sight:
            return False
        ahead, behind = scene.neighbours(neighbour, car.lane)
        return behind is car and (ahead is None or self._is_gap_enough(neighbour, ahead, scene.speeds[ahead.name]))


@dataclass(frozen=True)
class _Scene:
    """What is known while decisions are made: who is on which lane, who moves how fast in the next second."""

    road: list[tuple[_Car, int]]
    speeds: dict[str, float]
    changing: set[str]
    length: float

    def neighbours(self, car: _Car, lane: int) -> tuple[_Car | None, _Car | None]:
        """The nearest vehicle ahead on a lane, by its front, and the nearest behind."""
        others = [candidate for candidate, its in self.road if its == lane and candidate is not car]
        ahead = min(
            (candidate for candidate in others if candidate.front > car.front), key=attrgetter("front"), default=None
        )
        behind = max(
            (candidate for candidate in others if candidate.front <= car.front), key=attrgetter("front"), default=None
        )
        return ahead, behind


def _make_car(vehicle: Mapping[str, Any]) -> _Car:
    return _Car(
        name=vehicle["veh_id"],
        front=vehicle["position"],
        rear=vehicle["position"] - vehicle["length"],
        speed=vehicle["speed"],
        lane=vehicle["current_lane"],
        wish=vehicle["wants_left"] - vehicle["wants_right"],
        max_acceleration=vehicle["max_acceleration"],
        brake=vehicle["max_braking"],
    )


def _stopping_speed(gap: float, speed: float, brake: float, delay: float = 1.0) -> float:
    """The highest speed from which one can brake behind a vehicle that brakes as hard itself, m/s."""
    reach = brake * delay
    return float((reach**2 + speed**2 + 2.0 * brake * max(0.0, gap)) ** 0.5 - reach)
