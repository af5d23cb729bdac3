"""Each vehicle cruises below the limit, looks early for a gap beside it, falls back gently behind the one beside which it wants to come, and opens a gap for those that must come just ahead of it; two that wait never stand side by side."""

from operator import itemgetter

CRUISE = 12.6  # m/s, just below the limit, so that speeds vary little
ENTRY = 20.0  # metres in which nobody changes lanes: who leaves the junction behind is not seen
STANDING = 3.2  # metres to a stopped vehicle ahead
TOUCHING = 2.7  # least gap in a lane change, metres
LEAST = 2.5  # metres that the simulator keeps to a stopped vehicle
HEADWAY = 0.7  # further gap to a vehicle ahead, seconds of the own speed
CLOSING = 1.5  # further gap in a lane change, seconds of the difference in speed
STAGGER = 35.0  # who must go right waits these metres before the end, who must go left at it: never side by side
COMFORT = 2.5  # braking to wait for a gap, m/s²
YIELDS = 1.5  # braking to open a gap for another vehicle, m/s²
SIGHT = 25.0  # metres ahead in which others are let in
CRAWL = 2.0  # m/s; two that stand side by side open no gap by slowing down, so the faster one goes ahead

front = itemgetter("front")


def stopping_speed(gap, speed, brake, delay=1.0):
    """Highest speed from which a vehicle stops behind another one that brakes equally hard, m/s."""
    reach = brake * delay
    return (reach**2 + speed**2 + 2.0 * brake * max(0.0, gap)) ** 0.5 - reach


def follow_speed(car, ahead):
    """Safe speed behind another vehicle: the lower of ours and the one that the simulator enforces."""
    gap = ahead["rear"] - car["front"]
    ours = stopping_speed(gap - STANDING, ahead["speed"], COMFORT, HEADWAY)
    return min(ours, stopping_speed(gap - LEAST, ahead["speed"], car["braking"]))


def give_way(car, other):
    """Speed that falls back gently behind another vehicle."""
    return max(follow_speed(car, other), car["speed"] - YIELDS)


def neighbours(road, car, lane):
    """Nearest vehicle ahead on a lane, by its front, and nearest one behind."""
    others = [other for other, its in road if its == lane and other is not car]
    ahead = min((other for other in others if other["front"] > car["front"]), key=front, default=None)
    return ahead, max((other for other in others if other["front"] <= car["front"]), key=front, default=None)


def fits(behind, ahead, speed):
    """Whether the gap suffices for a change if the vehicle ahead drives at that speed in the next second."""
    return ahead["rear"] - behind["front"] > TOUCHING + CLOSING * max(0.0, behind["speed"] - speed)


def lets_in(road, car, other):
    """Whether another vehicle must come just ahead of the car, and slowing down opens a gap for it."""
    if not other["wish"] or other["changes"] or other["lane"] + other["wish"] != car["lane"]:
        return False
    opens = other["rear"] - car["front"] > TOUCHING or other["speed"] > CRAWL
    if not opens or not 0.0 < other["front"] - car["front"] < SIGHT:
        return False
    ahead, behind = neighbours(road, other, car["lane"])
    return behind is car and (ahead is None or fits(other, ahead, ahead["next"]))


def target_speed(road, car, change, length):
    """Speed in the next second, with or without the change."""
    leaders = [neighbours(road, car, lane)[0] for lane in {car["lane"], car["lane"] + change}]
    speeds = [CRUISE, car["speed"] + car["acceleration"]]
    speeds += [follow_speed(car, leader) for leader in leaders if leader is not None]
    if car["wish"] and not change:
        stop = length - STAGGER * (car["wish"] < 0)
        if car["front"] < stop:
            speeds.append(stopping_speed(stop - car["front"], 0.0, COMFORT))
        beside, _ = neighbours(road, car, car["lane"] + car["wish"])
        if beside is not None and car["front"] >= ENTRY:
            speeds.append(give_way(car, beside))
    speeds += [give_way(car, other) for other, _ in road if lets_in(road, car, other)]
    return max(0.0, min(speeds))


def may_change(road, car, speed):
    """Whether the lane of the wish has a gap, now and for some seconds, that needs no hard braking."""
    if not car["wish"] or car["front"] < ENTRY or speed < car["speed"] - COMFORT:
        return False
    ahead, behind = neighbours(road, car, car["lane"] + car["wish"])
    if ahead is not None and not fits(car, ahead, ahead["next"]):
        return False
    return behind is None or fits(behind, car, speed)


def driving_actions(edge_info: dict, vehicles_info: list[dict]) -> list[dict]:
    cars = [
        {
            "front": vehicle["position"],
            "rear": vehicle["position"] - vehicle["length"],
            "speed": vehicle["speed"],
            "next": vehicle["speed"],
            "lane": vehicle["current_lane"],
            "acceleration": vehicle["max_acceleration"],
            "braking": vehicle["max_braking"],
            "wish": vehicle["wants_left"] - vehicle["wants_right"],
            "changes": False,
        }
        for vehicle in vehicles_info
    ]
    # The foremost decides first. Who changes lanes is on both of them from then on.
    road = [(car, car["lane"]) for car in cars]
    actions = []
    for vehicle, car in zip(vehicles_info, cars, strict=True):
        change, speed = car["wish"], target_speed(road, car, car["wish"], edge_info["length"])
        if not may_change(road, car, speed):
            change, speed = 0, target_speed(road, car, 0, edge_info["length"])
        if change:
            road.append((car, car["lane"] + change))
            car["changes"] = True
        car["next"] = speed
        actions.append(
            {"veh_id": vehicle["veh_id"], "acceleration": speed - car["speed"], "lane_changing": int(change)}
        )
    return actions
