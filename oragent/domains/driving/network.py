"""The roads as data, and as networks that SUMO's ``netconvert`` builds from plain sources and that are kept."""

import os
import subprocess
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from oragent._base.distribution import extra_install_command
from oragent._base.errors import ProblemError

EDGE = "E0"
# where it begins and ends
ENDS = ("J0", "J1")
# m/s
SPEED_LIMIT = 13.89
# that a vehicle comes, of each trial of a route and second
CHANCE = 0.03


ROUTES = (
    ("-E1", "E4"),
    ("-E1", "E5"),
    ("-E1", "E6"),
    ("-E2", "E4"),
    ("-E2", "E6"),
    ("-E3", "E4"),
    ("-E3", "E5"),
)
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
# beside the compiled modules, and like them made anew where missing
CACHE = Path(__file__).parent / "__pycache__"
PATIENCE_S = 60.0
INPUTS = {"road.nod.xml": "--node-files", "road.edg.xml": "--edge-files", "road.con.xml": "--connection-files"}


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
    # whether who goes there yields to nobody
    passes: bool


@dataclass(frozen=True)
class RoadPlan:
    """A road before ``netconvert`` makes a network of it."""

    # for people
    name: str
    # names, places in metres; those of `ENDS` are priority junctions, the others dead ends
    nodes: Mapping[str, tuple[float, float]]
    # in the order in which they are written
    edges: tuple[Edge, ...]
    # for each the edge by which a vehicle comes and the edge by which it leaves; E0 is between them
    routes: tuple[tuple[str, str], ...]
    # for each route the probability that a vehicle comes, of each trial a second
    chances: tuple[float, ...]
    # across the junctions; none: netconvert guesses
    links: tuple[Link, ...] = ()
    # of netconvert
    options: tuple[str, ...] = ()

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
            links = (
                f'  <connection from="{link.start}" to="{link.end}" fromLane="{link.from_lane}" '
                f'toLane="{link.to_lane}" pass="{str(link.passes).lower()}"/>'
                for link in self.links
            )
            files["road.con.xml"] = "\n".join(("<connections>", *links, "</connections>\n"))
        return files


def _both_ways(ways: Mapping[str, tuple[str, str]], lanes: int) -> tuple[Edge, ...]:
    """Make edges of pairs of nodes; an edge with a minus sign goes the other way."""
    there = tuple(Edge(name, start, end, lanes) for name, (start, end) in ways.items())
    return there + tuple(Edge(f"-{edge.name}", edge.end, edge.start, lanes) for edge in there)


# Two four-arm priority junctions, 200 m apart, without traffic lights; all arms have three lanes. Vehicles come in by
# the western arm and the two beside it, and leave by the eastern arm and the two beside it.
WEAVING = RoadPlan(
    name="weaving road",
    nodes={
        "J0": (0, 0),
        "J1": (200, 0),
        "west": (-50, 0),
        "north0": (0, 50),
        "south0": (0, -50),
        "east": (250, 0),
        "north1": (200, 50),
        "south1": (200, -50),
    },
    edges=_both_ways(
        {
            "E0": ("J0", "J1"),
            "E1": ("J0", "west"),
            "E2": ("J0", "north0"),
            "E3": ("J0", "south0"),
            "E4": ("J1", "east"),
            "E5": ("J1", "north1"),
            "E6": ("J1", "south1"),
        },
        lanes=3,
    ),
    routes=ROUTES,
    chances=(CHANCE,) * len(ROUTES),
)

PUBLISHED = RoadPlan(
    name="published road",
    nodes=WEAVING.nodes,
    edges=WEAVING.edges,
    routes=ROUTES,
    chances=WEAVING.chances,
    links=tuple(Link(start, end, a, b, bool(passes)) for start, ends in LINKS.items() for end, a, b, passes in ends),
    options=("--no-turnarounds", "--offset.disable-normalization"),
)


def load(name: str) -> Any:
    """Import ``libsumo`` or ``traci``, which are large and optional.

    Raises:
        ProblemError: if it is not installed, or cannot be loaded.
    """
    try:
        return import_module(name)
    except ImportError as problem:
        raise ProblemError(f"SUMO is not installed ({problem}): {extra_install_command('driving')}") from None


def binary(name: str) -> Path:
    """Find a program of SUMO, such as ``netconvert``.

    Raises:
        ProblemError: if it is not installed.
    """
    spec = find_spec("sumo")
    if spec and spec.origin:
        path = Path(spec.origin).parent / "bin" / name
    else:
        path = None
    if path is None or not path.is_file():
        raise ProblemError(f"SUMO is not installed (no program {name}): {extra_install_command('driving')}")
    return path


def versions() -> str:
    """Tell the versions of the programs and of the library, such as ``1.28.0 1.28.0``.

    Raises:
        ProblemError: if one of them is not installed.
    """
    try:
        return f"{version('eclipse-sumo')} {version('libsumo')}"
    except PackageNotFoundError as problem:
        raise ProblemError(f"SUMO is not installed ({problem}): {extra_install_command('driving')}") from None


@dataclass(frozen=True)
class Road:
    """What a controller and a scorer need to know of the network."""

    # the network as SUMO reads it
    file: Path
    # of edge E0, metres
    length: float
    # of edge E0; lane 0 is the rightmost
    lanes: int
    # m/s
    speed_limit: float
    # for every edge after E0 the lanes of E0 that lead there
    exits: dict[str, tuple[int, ...]]
    # boxes of the two junctions: left, bottom, right, top, metres
    junctions: tuple[tuple[float, float, float, float], ...]
    # centre line of every lane of an arm or of E0, for drawing: points ``((x, y), ...)`` in metres
    shapes: tuple[tuple[tuple[float, float], ...], ...]
    # what it was built from
    plan: RoadPlan = WEAVING

    def within(self, x: float, y: float) -> bool:
        """Tell whether a point lies on E0 or at one of its two junctions."""
        lefts, bottoms, rights, tops = zip(*self.junctions, strict=True)
        return bool(min(lefts) <= x <= max(rights) and min(bottoms) <= y <= max(tops))


def build(folder: Path, plan: RoadPlan = WEAVING) -> Road:
    """Build the network, or take the one that was built before.

    Args:
        folder: a writable folder that lives as long as the road is used; the file goes there where the package's own
            folder is not writable.
        plan: of the road.

    Raises:
        ProblemError: if SUMO is not installed, or ``netconvert`` fails.
    """
    content = repr((plan.sources, plan.options, versions()))
    name = f"road-{sha256(content.encode()).hexdigest()[:16]}.net.xml"
    cached = CACHE / name
    if os.access(cached, os.R_OK):
        return read(cached, plan)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        converted = _run_netconvert(Path(work), name, plan)
        if _cache_network(converted, cached):
            path = cached
        else:
            path = converted.replace(folder / name)
    return read(path, plan)


def read(file: Path, plan: RoadPlan = WEAVING) -> Road:
    """Read what matters off a network file."""
    root = ET.parse(file).getroot()
    edges = [edge for edge in root.iter("edge") if edge.get("function") != "internal"]
    lanes = {lane.attrib["id"]: lane.attrib for edge in edges for lane in edge}
    first_lane = lanes[f"{EDGE}_0"]
    exits: dict[str, tuple[int, ...]] = {}
    for link in root.iter("connection"):
        # no route turns round
        if link.get("from") == EDGE and link.get("dir") != "t":
            exits[link.attrib["to"]] = (*exits.get(link.attrib["to"], ()), int(link.attrib["fromLane"]))
    junctions = [node.attrib["shape"] for node in root.iter("junction") if node.get("id") in ENDS]
    return Road(
        file=file,
        length=float(first_lane["length"]),
        lanes=plan.lanes,
        speed_limit=float(first_lane["speed"]),
        exits={name: tuple(sorted(set(exit_edges))) for name, exit_edges in exits.items()},
        junctions=tuple(_bounding_box(shape) for shape in junctions),
        shapes=tuple(_parse_points(lane["shape"]) for lane in lanes.values()),
        plan=plan,
    )


def _bounding_box(shape: str) -> tuple[float, float, float, float]:
    across, along = zip(*_parse_points(shape), strict=True)
    return min(across), min(along), max(across), max(along)


def _parse_points(shape: str) -> tuple[tuple[float, float], ...]:
    pairs = (point.split(",") for point in shape.split())
    return tuple((float(x), float(y)) for x, y, *_ in pairs)


def _run_netconvert(work: Path, name: str, plan: RoadPlan) -> Path:
    for source, text in plan.sources.items():
        (work / source).write_text(text, encoding="utf-8")
    network = work / name
    program = str(binary("netconvert"))
    files = [word for source in plan.sources for word in (INPUTS[source], source)]
    command = [program, *files, "--output-file", name, *plan.options, "--xml-validation", "never"]
    try:
        process = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise ProblemError(f"netconvert did not build the road: {problem}") from None
    if process.returncode or not network.is_file():
        reason = " ".join(process.stderr.split()) or f"exit code {process.returncode}"
        raise ProblemError(f"netconvert did not build the road: {reason}")
    return network


def _cache_network(network: Path, cached: Path) -> bool:
    """Copy the file to where the next evaluation finds it, whole or not at all; False where one cannot write."""
    try:
        cached.parent.mkdir(exist_ok=True)
        handle, name = tempfile.mkstemp(dir=cached.parent, suffix=".part")
    except OSError:
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(network.read_bytes())
        # evaluations may run as somebody else
        Path(name).chmod(0o644)
        Path(name).replace(cached)
    except OSError:
        Path(name).unlink(missing_ok=True)
        return False
    return True
