"""Roads as data, and the cached networks that SUMO's ``netconvert`` builds from them."""

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
from oragent._base.errors import ProblemError, SandboxError
from oragent.sandbox.children import ChildLimits, run_child
from oragent.sandbox.confined_command import ProgramAccess
from oragent.sandbox.isolation.environment import interpreter_places

EDGE = "E0"
# Junctions at the begin and the end of E0.
ENDS = ("J0", "J1")
# Speed limit in m/s.
SPEED_LIMIT = 13.89
# Probability that a vehicle arrives, per trial of a route in one second.
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
# Same positions with the published links: only lanes 0 and 1 lead straight on, and few vehicles yield at J0. For each
# edge into a junction: the next edge, the two lanes, and whether vehicles pass without yielding.
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
# Folder of cached networks, next to the compiled modules. Missing networks are built again.
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

    @classmethod
    def both_ways(cls, ways: Mapping[str, tuple[str, str]], lanes: int) -> "tuple[Edge, ...]":
        """Create edges from pairs of nodes; an edge with a minus sign has the opposite direction."""
        there = tuple(cls(name, start, end, lanes) for name, (start, end) in ways.items())
        return there + tuple(cls(f"-{edge.name}", edge.end, edge.start, lanes) for edge in there)


@dataclass(frozen=True)
class Link:
    """Connection across a junction, from lane to lane."""

    # start, end: names of edges.
    start: str
    end: str
    # from_lane, to_lane: numbers of lanes; lane 0 is the rightmost.
    from_lane: int
    to_lane: int
    # Whether vehicles on this link need not yield.
    passes: bool


@dataclass(frozen=True)
class RoadPlan:
    """Definition of a road, from which ``netconvert`` builds a network."""

    # Name of the road for display.
    name: str
    # Positions of the nodes by name, in metres; those of `ENDS` are priority junctions, the others dead ends.
    nodes: Mapping[str, tuple[float, float]]
    # Edges in the order in which they are written.
    edges: tuple[Edge, ...]
    # For each route, the edge by which a vehicle enters and the edge by which it leaves; E0 is between them.
    routes: tuple[tuple[str, str], ...]
    # For each route, the probability that a vehicle arrives, per trial and second.
    chances: tuple[float, ...]
    # Links across the junctions; if empty, netconvert determines them.
    links: tuple[Link, ...] = ()
    # Command-line options of netconvert.
    options: tuple[str, ...] = ()

    @property
    def lanes(self) -> int:
        """Number of lanes of E0."""
        return next(edge.lanes for edge in self.edges if edge.name == EDGE)

    @cached_property
    def sources(self) -> dict[str, str]:
        """Return plain XML by file name, in the format of netconvert."""
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


# Two four-arm priority junctions, 200 m apart, without traffic lights; all arms have three lanes. Vehicles enter by the
# western arm and its two neighbours, and leave by the eastern arm and its two neighbours.
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
    edges=Edge.both_ways(
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
    path = Path(spec.origin).parent / "bin" / name if spec and spec.origin else None
    if path is None or not path.is_file():
        raise ProblemError(f"SUMO is not installed (no program {name}): {extra_install_command('driving')}")
    return path


def versions() -> str:
    """Return the versions of the programs and of the library, such as ``1.28.0 1.28.0``.

    Raises:
        ProblemError: if one of them is not installed.
    """
    try:
        return f"{version('eclipse-sumo')} {version('libsumo')}"
    except PackageNotFoundError as problem:
        raise ProblemError(f"SUMO is not installed ({problem}): {extra_install_command('driving')}") from None


@dataclass(frozen=True)
class Road:
    """Properties of the network that a controller and a scorer need."""

    # Network file in the format of SUMO.
    file: Path
    # Length of edge E0 in metres.
    length: float
    # Number of lanes of edge E0; lane 0 is the rightmost.
    lanes: int
    # Speed limit in m/s.
    speed_limit: float
    # For every edge after E0, the lanes of E0 that lead to it.
    exits: dict[str, tuple[int, ...]]
    # Bounding boxes of the two junctions: left, bottom, right, top, in metres.
    junctions: tuple[tuple[float, float, float, float], ...]
    # Centre line of every lane of an arm or of E0, for drawing: points ``((x, y), ...)`` in metres.
    shapes: tuple[tuple[tuple[float, float], ...], ...]
    # Plan from which the network was built.
    plan: RoadPlan = WEAVING

    def within(self, x: float, y: float) -> bool:
        """Return True if a point lies on E0 or at one of its two junctions."""
        lefts, bottoms, rights, tops = zip(*self.junctions, strict=True)
        return bool(min(lefts) <= x <= max(rights) and min(bottoms) <= y <= max(tops))


def build(folder: Path, plan: RoadPlan = WEAVING) -> Road:
    """Build the network, or use a network that was built before.

    Args:
        folder: Writable folder that exists as long as the road is used. The file is written there if the package's own
            folder is not writable.
        plan: Plan of the road.

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
        path = cached if _cache_network(converted, cached) else converted.replace(folder / name)
    return read(path, plan)


def read(file: Path, plan: RoadPlan = WEAVING) -> Road:
    """Read a road from a network file."""
    root = ET.parse(file).getroot()
    edges = [edge for edge in root.iter("edge") if edge.get("function") != "internal"]
    lanes = {lane.attrib["id"]: lane.attrib for edge in edges for lane in edge}
    first_lane = lanes[f"{EDGE}_0"]
    exits: dict[str, tuple[int, ...]] = {}
    for link in root.iter("connection"):
        # Routes contain no U-turns.
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
        access = ProgramAccess(str(work.resolve()), tuple(map(str, interpreter_places())), is_lenient=True)
        ended = run_child(command, access, ChildLimits(wall_s=PATIENCE_S), forks=True)
    except (SandboxError, subprocess.TimeoutExpired) as problem:
        raise ProblemError(f"netconvert did not build the road: {problem}") from None
    if ended.returncode or not network.is_file():
        reason = " ".join(ended.stderr.decode(errors="replace").split()) or f"exit code {ended.returncode}"
        raise ProblemError(f"netconvert did not build the road: {reason}")
    return network


def _cache_network(network: Path, cached: Path) -> bool:
    """Copy the file atomically into the cache; return False if the cache is not writable."""
    try:
        cached.parent.mkdir(exist_ok=True)
        handle, name = tempfile.mkstemp(dir=cached.parent, suffix=".part")
    except OSError:
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(network.read_bytes())
        # Evaluations may run as another user.
        Path(name).chmod(0o644)
        Path(name).replace(cached)
    except OSError:
        Path(name).unlink(missing_ok=True)
        return False
    return True
