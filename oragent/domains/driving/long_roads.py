"""Longer and wider roads with a ramp at either end, for those who have time."""

from oragent.domains.driving.plans import EDGE, Edge, Link, RoadPlan

KILOMETRES = {1: 1, 2: 2, 3: 4}  # by size
LANES = {1: 3, 2: 4, 3: 5}  # of E0; its rightmost one begins as the ramp and ends as the way out
ARM = 200.0  # m
FLOW = 0.1  # vehicles a second, lane of E0 and trial
ROUTES = {("-E1", "E4"): 0.6, ("-E1", "E6"): 0.15, ("-E3", "E4"): 0.2, ("-E3", "E6"): 0.05}  # and their shares


def plan(size: int) -> RoadPlan:
    """Plan the road of a size: who comes by the main road may want to leave to the right, who comes by the ramp not.

    Args:
        size: 1, 2 or 3; its demand grows with its lanes.
    """
    length, lanes = 1000.0 * KILOMETRES[size], LANES[size]
    main = range(lanes - 1)
    return RoadPlan(
        name=f"{KILOMETRES[size]} km",
        nodes={
            "J0": (0, 0), "J1": (length, 0),
            "west": (-ARM, 0), "ramp": (-ARM, -ARM / 2),
            "east": (length + ARM, 0), "way_out": (length + ARM, -ARM / 2),
        },
        edges=(
            Edge(EDGE, "J0", "J1", lanes),
            Edge("-E1", "west", "J0", lanes - 1), Edge("-E3", "ramp", "J0", 1),
            Edge("E4", "J1", "east", lanes - 1), Edge("E6", "J1", "way_out", 1),
        ),
        links=(
            *(Link("-E1", EDGE, lane, lane + 1, True) for lane in main), Link("-E3", EDGE, 0, 0, True),
            *(Link(EDGE, "E4", lane + 1, lane, True) for lane in main), Link(EDGE, "E6", 0, 0, True),
        ),
        routes=tuple(ROUTES),
        chances=tuple(FLOW * lanes * share for share in ROUTES.values()),
    )  # fmt: skip
