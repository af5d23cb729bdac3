import numpy as np


def column(vehicles_info, key):
    """One figure of all vehicles, ``(n,)``."""
    return np.array([float(vehicle[key]) for vehicle in vehicles_info])


def wishes(vehicles_info):
    """Side of the lanes on which each vehicle's route goes on, ``(n,)``: 1 left, -1 right, 0: it is on one of them."""
    return column(vehicles_info, "wants_left") - column(vehicles_info, "wants_right")


def gaps(vehicles_info, lane):
    """Metres from each vehicle, if it were on that lane, to each one ahead, and behind, ``(n, n)``; 200: none is there.

    Who is ahead and wishes to come to that lane is taken for being there, too.
    """
    position, length = column(vehicles_info, "position"), column(vehicles_info, "length")
    now = column(vehicles_info, "current_lane")
    offset = position - position[:, None]
    ahead = (offset > 0) & ((now == lane[:, None]) | (now + wishes(vehicles_info) == lane[:, None]))
    behind = (offset <= 0) & (now == lane[:, None]) & ~np.eye(len(now), dtype=bool)
    return np.where(ahead, offset - length, 200.0), np.where(behind, -offset - length[:, None], 200.0)


def follow(speed, gap, closing):
    """Acceleration of the Intelligent Driver Model, ``(n,)``, m/s²."""
    desired = 5.0 + np.maximum(0.0, 1.5 * speed + 0.25 * speed * closing)
    return 2.0 - 2.0 * (speed / 13.0) ** 4 - 2.0 * (desired / np.maximum(gap, 0.5)) ** 2


def accelerations(edge_info, vehicles_info):
    """How each vehicle accelerates, ``(n,)``, m/s²: it follows the one ahead, and stops where it must have changed."""
    speed, wish = column(vehicles_info, "speed"), wishes(vehicles_info)
    ahead, _ = gaps(vehicles_info, column(vehicles_info, "current_lane"))
    line = edge_info["length"] - 30.0 * (wish < 0) - column(vehicles_info, "position")
    line = np.where((wish == 0) | (line < 0), 200.0, line)
    return np.minimum(follow(speed, ahead.min(1), speed - speed[ahead.argmin(1)]), follow(speed, line, speed))


def waits(vehicles_info, memory):
    """Seconds for which each vehicle has nearly stood, ``(n,)``."""
    return np.array([float(memory.get(vehicle["veh_id"], 0)) for vehicle in vehicles_info])


def remember(vehicles_info, memory):
    """Count on for who nearly stands; who has left is forgotten."""
    return {
        vehicle["veh_id"]: memory.get(vehicle["veh_id"], 0) + 1 for vehicle in vehicles_info if vehicle["speed"] < 0.5
    }


def merits(edge_info, vehicles_info, memory, wish):
    """How good it is to change one lane towards those on which the route goes on, ``(n,)``; above 0: do it.

    Neither the vehicle nor the one that would be behind it may have to brake hard; who has waited long minds less.
    """
    speed = column(vehicles_info, "speed")
    ahead, behind = gaps(vehicles_info, column(vehicles_info, "current_lane") + wish)
    leader, follower = speed[ahead.argmin(1)], speed[behind.argmin(1)]
    mine = follow(speed, ahead.min(1), speed - leader)
    other = follow(follower, behind.min(1), follower - speed)
    patience = np.minimum(4.0, 0.2 * waits(vehicles_info, memory))
    return np.minimum(mine, other) + 2.0 + patience - 20.0 * (column(vehicles_info, "position") < 20.0)


def driving_actions(edge_info: dict, vehicles_info: list[dict], memory: dict) -> tuple[list[dict], dict]:
    """Decide what all vehicles on the road do in the next second.

    Args:
        edge_info: the road: ``length`` (172.8, metres), ``lanes`` (3), ``speed_limit`` (13.89, m/s).
        vehicles_info: at least one vehicle, the one in front first. Of each: ``veh_id``, ``veh_type`` (``passenger``,
            ``truck`` or ``bus``), ``position`` (of its front, metres from the road's begin), ``speed`` (m/s),
            ``current_lane`` (0 is the rightmost, 2 the leftmost), ``potential_target_lanes`` (list of the lanes from
            which its route goes on at the road's end), ``wants_left`` and ``wants_right`` (bool: all of those lanes
            lie on that side), ``length`` (metres), ``max_acceleration`` and ``max_braking`` (m/s², positive).
        memory: the dict that was returned in the second before; empty in the first second of each simulation. Where
            no vehicle is on the road the function is not called, and the memory stays as it is.

    Returns:
        Two things. First, one dict a vehicle: its ``veh_id``; ``acceleration``, a finite float, m/s², which is clipped
        to what the vehicle can do; ``lane_changing``, 1 (to the left), 0 or -1 (to the right), never off the road.
        Second, the memory for the next second: a dict with text or whole numbers as keys, of None, bool, numbers,
        text, lists, tuples and dicts, 64 KiB written as JSON at most.
    """
    wish = wishes(vehicles_info)
    change = wish * (merits(edge_info, vehicles_info, memory, wish) > 0)
    actions = [
        {"veh_id": vehicle["veh_id"], "acceleration": float(acceleration), "lane_changing": int(step)}
        for vehicle, acceleration, step in zip(
            vehicles_info, accelerations(edge_info, vehicles_info), change, strict=True
        )
    ]
    return actions, remember(vehicles_info, memory)
