"""The roads as data: nodes, edges, who may go where, and which ways lead through edge E0."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

EDGE = "E0"
ENDS = ("J0", "J1")  # where it begins and ends
SPEED_LIMIT = 13.89  # m/s
CHANCE = 0.03  # that a vehicle comes, of each trial of a route and second


@dataclass(frozen=True)
class Edge:
    """A one-way road between two nodes."""

    name: str
    start: str
    end: str
    lanes: int


@dataclass(frozen=True)
class Link:
    """A way across a junction, from lane to lane."""

    # start, end: names of edges
    start: str
    end: str
    # from_lane, to_lane: lane 0 is the rightmost
    from_lane: int
    to_lane: int
    passes: bool  # whether who goes there yields to nobody


@dataclass(frozen=True)
class RoadPlan:
    """A road before ``netconvert`` makes a network of it."""

    name: str  # for people
    # names, places in metres; those of `ENDS` are priority junctions, the others dead ends
    nodes: Mapping[str, tuple[float, float]]
    edges: tuple[Edge, ...]  # in the order in which they are written
    # for each the edge by which a vehicle comes and the edge by which it leaves; E0 is between them
    routes: tuple[tuple[str, str], ...]
    chances: tuple[float, ...]  # for each route the probability that a vehicle comes, of each trial a second
    links: tuple[Link, ...] = ()  # across the junctions; none: netconvert guesses
    options: tuple[str, ...] = ()  # of netconvert

    @property
    def lanes(self) -> int:
        """Number of lanes of E0."""
        return next(edge.lanes for edge in self.edges if edge.name == EDGE)

    @cached_property
    def sources(self) -> dict[str, str]:
        """Plain XML by file name, as netconvert reads it."""
        kinds = {name: "priority" if name in ENDS else "dead_end" for name in self.nodes}
        nodes = (f'  <node id="{name}" x="{x}" y="{y}" type="{kinds[name]}"/>' for name, (x, y) in self.nodes.items())
        edges = (
            f'  <edge id="{e.name}" from="{e.start}" to="{e.end}" numLanes="{e.lanes}" speed="{SPEED_LIMIT}"/>'
            for e in self.edges
        )
        files = {
            "road.nod.xml": "\n".join(("<nodes>", *nodes, "</nodes>\n")),
            "road.edg.xml": "\n".join(("<edges>", *edges, "</edges>\n")),
        }
        if self.links:
            links = map(_connection_element, self.links)
            files["road.con.xml"] = "\n".join(("<connections>", *links, "</connections>\n"))
        return files


def _connection_element(link: Link) -> str:
    lanes = f'fromLane="{link.from_lane}" toLane="{link.to_lane}" pass="{str(link.passes).lower()}"'
    return f'  <connection from="{link.start}" to="{link.end}" {lanes}/>'


def _both_ways(ways: Mapping[str, tuple[str, str]], lanes: int) -> tuple[Edge, ...]:
    """Make edges of pairs of nodes; an edge with a minus sign goes the other way."""
    there = tuple(Edge(name, start, end, lanes) for name, (start, end) in ways.items())
    return there + tuple(Edge(f"-{edge.name}", edge.end, edge.start, lanes) for edge in there)


ROUTES = (
    ("-E1", "E4"), ("-E1", "E5"), ("-E1", "E6"),
    ("-E2", "E4"), ("-E2", "E6"),
    ("-E3", "E4"), ("-E3", "E5"),
)  # fmt: skip

# Two four-arm priority junctions, 200 m apart, without traffic lights; all arms have three lanes. Vehicles come in by
# the western arm and the two beside it, and leave by the eastern arm and the two beside it.
WEAVING = RoadPlan(
    name="weaving road",
    nodes={
        "J0": (0, 0), "J1": (200, 0),
        "west": (-50, 0), "north0": (0, 50), "south0": (0, -50),
        "east": (250, 0), "north1": (200, 50), "south1": (200, -50),
    },
    edges=_both_ways(
        {
            "E0": ("J0", "J1"),
            "E1": ("J0", "west"), "E2": ("J0", "north0"), "E3": ("J0", "south0"),
            "E4": ("J1", "east"), "E5": ("J1", "north1"), "E6": ("J1", "south1"),
        },
        lanes=3,
    ),
    routes=ROUTES,
    chances=(CHANCE,) * len(ROUTES),
)  # fmt: skip

# The same places with the published links: straight on from lanes 0 and 1 alone, and hardly anyone yields at J0.
# For every edge into a junction: the edge that follows, the two lanes, and whether one passes there.
LINKS = {
    "-E0": (("E2", 0, 0, 1), ("E1", 0, 0, 1), ("E1", 1, 1, 1), ("E3", 2, 2, 1)),
    "-E1": (("E3", 0, 0, 1), ("E0", 0, 0, 1), ("E0", 1, 1, 1), ("E2", 2, 2, 0)),
    "-E2": (("E1", 0, 0, 1), ("E3", 0, 0, 1), ("E3", 1, 1, 1), ("E0", 2, 2, 1)),
    "-E3": (("E0", 0, 0, 1), ("E2", 0, 0, 1), ("E2", 1, 1, 1), ("E1", 2, 2, 1)),
    "-E4": (("E5", 0, 0, 0), ("-E0", 0, 0, 0), ("-E0", 1, 1, 0), ("E6", 2, 2, 0)),
    "-E5": (("-E0", 0, 0, 0), ("E6", 0, 0, 0), ("E6", 1, 1, 0), ("E4", 2, 2, 0)),
    "-E6": (("E4", 0, 0, 0), ("E5", 0, 0, 0), ("E5", 1, 1, 0), ("-E0", 2, 2, 1)),
    "E0": (("E6", 0, 0, 0), ("E4", 0, 0, 0), ("E4", 1, 1, 1), ("E5", 2, 2, 1)),
}
PUBLISHED = RoadPlan(
    name="published road",
    nodes=WEAVING.nodes,
    edges=WEAVING.edges,
    routes=ROUTES,
    chances=WEAVING.chances,
    links=tuple(Link(start, end, a, b, bool(passes)) for start, ends in LINKS.items() for end, a, b, passes in ends),
    options=("--no-turnarounds", "--offset.disable-normalization"),
)
