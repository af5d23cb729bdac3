"""A decision agent that gives up whole wishes: it asks for all three, and drops the lightest while they clash."""

from collections.abc import Iterator
from math import inf

from oragent.converse.problems.constraints import Constraints
from oragent.converse.problems.district import District
from oragent.converse.utilities import Direction, Utility

__all__ = ["requests", "wished"]

TIME, LOAD, DEVIATION = range(3)


def wished(utility: Utility, district: District) -> frozenset[tuple[int, int]]:
    """The agent's school at its preferred time."""
    time = 0 if utility.direction is Direction.EARLY else len(district.times) - 1
    return frozenset({(utility.school, time)})


def requests(utility: Utility, district: District) -> Iterator[Constraints]:
    """Ask for all wishes, then without the one of least weight, and so on; ties: time goes first, then load."""
    kept = [TIME, LOAD, DEVIATION]
    while True:
        yield Constraints(
            fixed=wished(utility, district) if TIME in kept else frozenset(),
            load=utility.load if LOAD in kept else inf,
            deviation=utility.deviation if DEVIATION in kept else inf,
        )
        if not kept:
            return
        kept.remove(min(kept, key=lambda wish: utility.weights[wish]))
