"""Readers of what SUMO writes at the end of a simulation."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oragent.domains.driving.network import Road
from oragent.errors import ProblemError

__all__ = ["Statistics", "critical_pairs", "read_statistics"]


@dataclass(frozen=True)
class Statistics:
    """Counts over the whole network and all of the simulation, as SUMO defines them."""

    emergency_stops: int
    emergency_braking: int
    teleports: int


def read_statistics(file: Path) -> Statistics:
    """Read a file of ``--statistic-output``.

    Raises:
        ProblemError: if it is missing or not complete.
    """
    root = _root(file)
    safety, teleports = root.find("safety"), root.find("teleports")
    if safety is None or teleports is None:
        raise ProblemError(f"{file.name} has no <safety> or no <teleports>: this SUMO writes other statistics")
    stops, braking = (int(safety.attrib[name]) for name in ("emergencyStops", "emergencyBraking"))
    return Statistics(stops, braking, int(teleports.attrib["total"]))


def critical_pairs(file: Path, road: Road, threshold: float) -> int:
    """Count pairs of vehicles that came critically close, in a file of the surrogate safety measures device.

    The file lists most conflicts twice, once for either vehicle; a pair counts once. Only what happened on E0 or at its
    two junctions counts: nearly all conflicts arise where vehicles enter the network, beyond any controller's reach.

    Args:
        file: of ``--device.ssm.file``.
        road: for its bounds.
        threshold: seconds; a time to collision of at most that is critical.

    Raises:
        ProblemError: if it is missing or not complete.
    """
    return len(set(_critical(_root(file), road, threshold)))


def _critical(root: ET.Element, road: Road, threshold: float) -> Iterator[frozenset[str]]:
    for conflict in root.iter("conflict"):
        least = conflict.find("minTTC")
        if least is None or least.attrib["value"] in ("", "NA") or float(least.attrib["value"]) > threshold:
            continue
        x, y, *_ = (float(part) for part in least.attrib["position"].split(","))
        if road.within(x, y):
            yield frozenset((conflict.attrib["ego"], conflict.attrib["foe"]))


def _root(file: Path) -> ET.Element:
    try:
        return ET.parse(file).getroot()
    except (OSError, ET.ParseError) as problem:
        raise ProblemError(f"SUMO left no complete {file.name}: {problem}") from None
