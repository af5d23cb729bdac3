"""The road: built from plain sources with SUMO's ``netconvert``, and kept as long as they do not change.

Two four-arm priority junctions, 200 m apart, without traffic lights; all arms have three lanes. Vehicles come in by the
western arm and the two beside it, and leave by the eastern arm and the two beside it, so that all of them share edge E0
between the junctions and many must cross its lanes within 172.8 m.
"""

import os
import subprocess
import tempfile
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from oragent.domains.driving import installation
from oragent.errors import ProblemError

__all__ = ["EDGE", "ENDS", "SOURCES", "Road", "build", "read"]

EDGE = "E0"
LANES, SPEED_LIMIT = 3, 13.89  # m/s
ENDS = ("J0", "J1")
NODES = {
    "J0": (0, 0), "J1": (200, 0),
    "west": (-50, 0), "north0": (0, 50), "south0": (0, -50),
    "east": (250, 0), "north1": (200, 50), "south1": (200, -50),
}  # fmt: skip
EDGES = {
    "E0": ("J0", "J1"),
    "E1": ("J0", "west"), "E2": ("J0", "north0"), "E3": ("J0", "south0"),
    "E4": ("J1", "east"), "E5": ("J1", "north1"), "E6": ("J1", "south1"),
}  # fmt: skip
CACHE = Path(__file__).parent / "__pycache__"  # beside the compiled modules, and like them made anew where missing
PATIENCE_S = 60.0


def _sources() -> dict[str, str]:
    """Write the plain XML of nodes and edges; an edge with a minus sign goes the other way."""
    kinds = {name: "priority" if name in ENDS else "dead_end" for name in NODES}
    nodes = (f'  <node id="{name}" x="{x}" y="{y}" type="{kinds[name]}"/>' for name, (x, y) in NODES.items())
    ways = EDGES | {f"-{name}": ends[::-1] for name, ends in EDGES.items()}
    edges = (
        f'  <edge id="{name}" from="{start}" to="{end}" numLanes="{LANES}" speed="{SPEED_LIMIT}"/>'
        for name, (start, end) in ways.items()
    )
    return {
        "road.nod.xml": "\n".join(("<nodes>", *nodes, "</nodes>\n")),
        "road.edg.xml": "\n".join(("<edges>", *edges, "</edges>\n")),
    }


SOURCES = _sources()


@dataclass(frozen=True)
class Road:
    """What a controller and a scorer need to know of the network.

    Attributes:
        file: the network as SUMO reads it.
        length: of edge E0, metres.
        lanes: of edge E0; lane 0 is the rightmost.
        speed_limit: m/s.
        exits: for every edge after E0 the lanes of E0 that lead there.
        junctions: boxes of the two junctions: left, bottom, right, top, metres.
        shapes: centre line of every lane of an arm or of E0, for drawing: points ``((x, y), ...)`` in metres.
    """

    file: Path
    length: float
    lanes: int
    speed_limit: float
    exits: dict[str, tuple[int, ...]]
    junctions: tuple[tuple[float, float, float, float], ...]
    shapes: tuple[tuple[tuple[float, float], ...], ...]

    def within(self, x: float, y: float) -> bool:
        """Tell whether a point lies on E0 or at one of its two junctions."""
        lefts, bottoms, rights, tops = zip(*self.junctions, strict=True)
        return bool(min(lefts) <= x <= max(rights) and min(bottoms) <= y <= max(tops))


def build(folder: Path) -> Road:
    """Build the network, or take the one that was built before.

    Args:
        folder: a writable folder that lives as long as the road is used; the file goes there where the package's own
            folder is not writable.

    Raises:
        ProblemError: if SUMO is not installed, or ``netconvert`` fails.
    """
    content = repr((SOURCES, installation.versions()))
    name = f"road-{sha256(content.encode()).hexdigest()[:16]}.net.xml"
    kept = CACHE / name
    if os.access(kept, os.R_OK):
        return read(kept)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        made = _convert(Path(work), name)
        place = kept if _keep(made, kept) else made.replace(folder / name)
    return read(place)


def read(file: Path) -> Road:
    """Read what matters off a network file."""
    root = ET.parse(file).getroot()
    lanes = {
        lane.attrib["id"]: lane.attrib
        for edge in root.iter("edge")
        if edge.get("function") != "internal"
        for lane in edge
    }
    own = lanes[f"{EDGE}_0"]
    exits: dict[str, tuple[int, ...]] = {}
    for link in root.iter("connection"):
        if link.get("from") == EDGE and link.get("dir") != "t":  # no route turns round
            exits[link.attrib["to"]] = (*exits.get(link.attrib["to"], ()), int(link.attrib["fromLane"]))
    junctions = [node.attrib["shape"] for node in root.iter("junction") if node.get("id") in ENDS]
    return Road(
        file=file,
        length=float(own["length"]),
        lanes=LANES,
        speed_limit=float(own["speed"]),
        exits={name: tuple(sorted(set(found))) for name, found in exits.items()},
        junctions=tuple(_box(_points(shape)) for shape in junctions),
        shapes=tuple(_points(lane["shape"]) for lane in lanes.values()),
    )


def _box(points: tuple[tuple[float, float], ...]) -> tuple[float, float, float, float]:
    across, along = zip(*points, strict=True)
    return min(across), min(along), max(across), max(along)


def _points(shape: str) -> tuple[tuple[float, float], ...]:
    pairs = (point.split(",") for point in shape.split())
    return tuple((float(x), float(y)) for x, y, *_ in pairs)


def _convert(work: Path, name: str) -> Path:
    for source, text in SOURCES.items():
        (work / source).write_text(text, encoding="utf-8")
    made = work / name
    program = str(installation.binary("netconvert"))
    files = ["--node-files", "road.nod.xml", "--edge-files", "road.edg.xml", "--output-file", name]
    command = [program, *files, "--xml-validation", "never"]
    try:
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise ProblemError(f"netconvert did not build the road: {problem}") from None
    if done.returncode or not made.is_file():
        said = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise ProblemError(f"netconvert did not build the road: {said}")
    return made


def _keep(made: Path, kept: Path) -> bool:
    """Copy the file to where the next evaluation finds it, whole or not at all; False where one cannot write."""
    try:
        kept.parent.mkdir(exist_ok=True)
        handle, name = tempfile.mkstemp(dir=kept.parent, suffix=".part")
    except OSError:
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(made.read_bytes())
        Path(name).chmod(0o644)  # evaluations may run as somebody else
        Path(name).replace(kept)
    except OSError:
        Path(name).unlink(missing_ok=True)
        return False
    return True
