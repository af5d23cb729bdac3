import numpy as np


def column(vehicles_info, key):
    """One figure of all vehicles, ``(n,)``."""
    return np.array([float(vehicle[key]) for vehicle in vehicles_info])


def gaps(vehicles_info, lane):
    """Metres from each vehicle, if it were on that lane, to each one ahead, and behind, there; 200: it is not."""
    position, length = column(vehicles_info, "position"), column(vehicles_info, "length")
    offset = (position - position[:, None]) * (column(vehicles_info, "current_lane") == lane[:, None])
    return np.where(offset > 0, offset - length, 200), np.where(offset < 0, -offset - length[:, None], 200)


def accelerations(edge_info, vehicles_info):
    """How each vehicle accelerates, ``(n,)``, m/s²: a simple Intelligent Driver Model; who must go right lets pass."""
    speed = np.array([vehicle["speed"] for vehicle in vehicles_info])
    ahead, _ = gaps(vehicles_info, column(vehicles_info, "current_lane"))
    desired = 2.5 + 1.2 * speed + 0.2 * speed * (speed - speed[ahead.argmin(1)])
    free = 2.0 - 2.0 * (speed / (13.89 - 4.0 * column(vehicles_info, "wants_right"))) ** 4
    return free - 2.0 * (desired / np.maximum(ahead.min(1), 0.5)) ** 2


def merits(edge_info, vehicles_info, wish):
    """How good it is to change one lane towards those on which the route goes on, ``(n,)``; above 0: do it."""
    speed = np.array([vehicle["speed"] for vehicle in vehicles_info])
    ahead, behind = gaps(vehicles_info, column(vehicles_info, "current_lane") + wish)
    return np.minimum(ahead.min(1), behind.min(1)) - 3.0 - 0.1 * speed


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
    wish = column(vehicles_info, "wants_left") - column(vehicles_info, "wants_right")
    change = wish * (merits(edge_info, vehicles_info, wish) > 0)
    return [
        {"veh_id": vehicle["veh_id"], "acceleration": float(acceleration), "lane_changing": int(step)}
        for vehicle, acceleration, step in zip(
            vehicles_info, accelerations(edge_info, vehicles_info), change, strict=True
        )
    ]
