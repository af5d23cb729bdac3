import numpy as np


def column(vehicles_info, key):
    """One figure of all vehicles, ``(n,)``."""
    return np.array([float(vehicle[key]) for vehicle in vehicles_info])


def wishes(vehicles_info):
    """Side of the lanes on which each vehicle's route goes on, ``(n,)``: 1 left, -1 right, 0: it is on one of them."""
    return column(vehicles_info, "wants_left") - column(vehicles_info, "wants_right")


def gaps(vehicles_info, lane, coming=0.0):
    """Metres from each vehicle, if it were on that lane, to each one ahead, and behind, ``(n, n)``; 200: none is there.

    Who is ahead and one change away from that lane is taken for being there, if ``coming`` says that it changes so.
    """
    position, length = column(vehicles_info, "position"), column(vehicles_info, "length")
    now = column(vehicles_info, "current_lane")
    offset = position - position[:, None]
    ahead = (offset > 0) & ((now == lane[:, None]) | (now + coming == lane[:, None]))
    behind = (offset <= 0) & (now == lane[:, None]) & ~np.eye(len(now), dtype=bool)
    return np.where(ahead, offset - length, 200.0), np.where(behind, -offset - length[:, None], 200.0)


def openings(vehicles_info):
    """Metres from each vehicle to each one ahead that must come to its lane and can be let in, ``(n, n)``; 200: none.

    Where two stand side by side, to stand still opens no gap.
    """
    position, lane = column(vehicles_info, "position"), column(vehicles_info, "current_lane")
    wish = wishes(vehicles_info)
    gap = position - position[:, None] - column(vehicles_info, "length")
    comes = (wish != 0) & (lane + wish == lane[:, None]) & (position > position[:, None])
    return np.where(comes & ((gap > 2.7) | (column(vehicles_info, "speed") > 2.0)), gap, 200.0)


def follow(speed, gap, closing):
    """Acceleration of the Intelligent Driver Model, ``(n,)``, m/s²."""
    desired = 5.0 + np.maximum(0.0, 1.3 * speed + 0.25 * speed * closing)
    return 2.0 - 2.0 * (speed / 13.0) ** 4 - 2.0 * (desired / np.maximum(gap, 0.5)) ** 2


def behind_nearest(speed, ahead):
    """Acceleration of each vehicle behind the nearest of those ahead, ``(n,)``, m/s²."""
    return follow(speed, ahead.min(1), speed - speed[ahead.argmin(1)])


def accelerations(edge_info, vehicles_info):
    """How each vehicle accelerates, ``(n,)``, m/s²: it follows the one ahead, and stops where it must have changed.

    It falls back gently behind who must come to its lane, and behind the one beside which it wants to come itself.
    """
    speed, wish, lane = column(vehicles_info, "speed"), wishes(vehicles_info), column(vehicles_info, "current_lane")
    line = edge_info["length"] - 30.0 * (wish < 0) - column(vehicles_info, "position")
    line = np.where((wish == 0) | (line < 0), 200.0, line)
    must = np.minimum(behind_nearest(speed, gaps(vehicles_info, lane)[0]), follow(speed, line, speed))
    lets_in = behind_nearest(speed, openings(vehicles_info))
    falls_in = behind_nearest(speed, gaps(vehicles_info, lane + wish)[0])
    return np.minimum(must, np.maximum(np.minimum(lets_in, falls_in), -1.5))


def merits(edge_info, vehicles_info, wish):
    """How good it is to change one lane towards those on which the route goes on, ``(n,)``; above 0: do it.

    Neither the vehicle nor the one that would be behind it may have to brake hard.
    """
    speed = column(vehicles_info, "speed")
    ahead, behind = gaps(vehicles_info, column(vehicles_info, "current_lane") + wish, wish)
    follower = speed[behind.argmin(1)]
    mine, other = behind_nearest(speed, ahead), follow(follower, behind.min(1), follower - speed)
    return np.minimum(mine, other) + 2.0 - 20.0 * (column(vehicles_info, "position") < 20.0)


def driving_actions(edge_info: dict, vehicles_info: list[dict]) -> list[dict]:
    """Decide what all vehicles on the road do in the next second.

    Args:
        edge_info: the road: ``length`` (172.8, metres), ``lanes`` (3), ``speed_limit`` (13.89, m/s).
        vehicles_info: at least one vehicle, the one in front first. Of each: ``veh_id``, ``veh_type`` (``passenger``,
            ``truck`` or ``bus``), ``position`` (of its front, metres from the road's begin), ``speed`` (m/s),
            ``current_lane`` (0 is the rightmost, 2 the leftmost), ``potential_target_lanes`` (list of the lanes from
            which its route goes on at the road's end), ``wants_left`` and ``wants_right`` (bool: all of those lanes
            lie on that side), ``length`` (metres), ``max_acceleration`` and ``max_braking`` (m/s², positive).

    Returns:
        One dict a vehicle: its ``veh_id``; ``acceleration``, a finite float, m/s², which is clipped to what the vehicle
        can do; ``lane_changing``, 1 (to the left), 0 or -1 (to the right), never off the road.
    """
    wish = wishes(vehicles_info)
    change = wish * (merits(edge_info, vehicles_info, wish) > 0)
    return [
        {"veh_id": vehicle["veh_id"], "acceleration": float(acceleration), "lane_changing": int(step)}
        for vehicle, acceleration, step in zip(
            vehicles_info, accelerations(edge_info, vehicles_info), change, strict=True
        )
    ]
