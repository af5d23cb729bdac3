"""A decision agent that always reaches its maximum: it asks for its outcomes, best first, until one is possible."""

from collections.abc import Iterator

from oragent.converse.problems.constraints import Constraints
from oragent.converse.problems.district import District
from oragent.converse.utilities import Utility, classes

__all__ = ["requests"]


def requests(utility: Utility, district: District) -> Iterator[Constraints]:
    """Ask for each outcome in order of falling utility; ties: better time, load met, deviation met."""
    for _, asked in classes(utility, len(district.times)):
        yield asked
