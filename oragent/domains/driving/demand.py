"""Who wants to go where, and when: drawn from a seed, the same on every machine."""

from dataclasses import dataclass

import numpy as np

from oragent.domains.driving.network import EDGE
from oragent.domains.driving.vehicles import TYPES, to_xml

__all__ = ["CASES", "ROUTES", "Departure", "draw", "to_xml_file"]

CASES = {2: "light", 3: "heavy"}  # trials a route and second
CHANCE = 0.03  # of each trial
ROUTES = (  # (edge by which a vehicle comes, edge by which it leaves); E0 is between them
    ("-E1", "E4"), ("-E1", "E5"), ("-E1", "E6"),
    ("-E2", "E4"), ("-E2", "E6"),
    ("-E3", "E4"), ("-E3", "E5"),
)  # fmt: skip


@dataclass(frozen=True)
class Departure:
    """A vehicle that wants to enter.

    Attributes:
        vehicle: its name, ``v0`` for the first.
        second: when.
        route: index into `ROUTES`.
        kind: name of its type.
    """

    vehicle: str
    second: int
    route: int
    kind: str


def draw(seed: int, trials: int, seconds: int) -> tuple[Departure, ...]:
    """Draw the arrivals: for every second and route Binomial(``trials``, 0.03) vehicles, each with a type of its own.

    Args:
        seed: of the stream, which is a legacy ``RandomState``: its numbers never change.
        trials: 2 in the light case, 3 in the heavy one.
        seconds: for how long there are arrivals.

    Returns:
        Departures in the order of time.
    """
    rng = np.random.RandomState(seed)
    names, shares = list(TYPES), [kind.share for kind in TYPES.values()]
    found: list[Departure] = []
    for second in range(seconds):
        for route in range(len(ROUTES)):
            for _ in range(rng.binomial(trials, CHANCE)):
                kind = names[rng.choice(len(names), p=shares)]
                found.append(Departure(f"v{len(found)}", second, route, kind))
    return tuple(found)


def to_xml_file(departures: tuple[Departure, ...]) -> str:
    """Write the demand as SUMO reads it; vehicles enter on the lane that suits their route, as fast as is safe."""
    routes = (f'<route id="r{index}" edges="{start} {EDGE} {end}"/>' for index, (start, end) in enumerate(ROUTES))
    vehicles = (
        f'<vehicle id="{one.vehicle}" type="{one.kind}" route="r{one.route}" depart="{one.second}" '
        'departLane="best" departSpeed="max"/>'
        for one in departures
    )
    return "\n".join(("<routes>", *map(to_xml, TYPES.values()), *routes, *vehicles, "</routes>\n"))
