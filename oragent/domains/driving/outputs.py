"""Readers of what SUMO writes at the end of a simulation."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import ProblemError
from oragent.domains.driving.network import Road


@dataclass(frozen=True)
class Statistics:
    """Counts over the whole network and all of the simulation, as SUMO defines them."""

    collisions: int
    emergency_stops: int
    emergency_braking: int
    teleports: int


@dataclass(frozen=True)
class TrafficConflict:
    """An entry of the surrogate safety measures device, which lists most conflicts twice, once for either vehicle.

    Attributes:
        pair: names of the two vehicles.
        within: whether it came to its worst on E0 or at one of its two junctions. Nearly all others arise where
            vehicles enter the network, beyond any controller's reach.
    """

    pair: frozenset[str]
    within: bool


def read_statistics(file: Path) -> Statistics:
    """Read a file of ``--statistic-output``.

    Raises:
        ProblemError: if it is missing or not complete.
    """
    root = _parse_root(file)
    safety, teleports = root.find("safety"), root.find("teleports")
    if safety is None or teleports is None:
        raise ProblemError(f"{file.name} has no <safety> or no <teleports>: this SUMO writes other statistics")
    collisions, stops, braking = (
        int(safety.attrib[name]) for name in ("collisions", "emergencyStops", "emergencyBraking")
    )
    return Statistics(collisions, stops, braking, int(teleports.attrib["total"]))


def critical_entries(file: Path, road: Road, threshold: float) -> list[TrafficConflict]:
    """List the entries of vehicles that came critically close, in a file of ``--device.ssm.file``.

    Args:
        file: what the device wrote.
        road: for its bounds.
        threshold: seconds; a time to collision of at most that is critical.

    Raises:
        ProblemError: if it is missing or not complete.
    """
    return list(_read_critical(_parse_root(file), road, threshold))


def _read_critical(root: ET.Element, road: Road, threshold: float) -> Iterator[TrafficConflict]:
    for conflict in root.iter("conflict"):
        least = conflict.find("minTTC")
        if least is None or least.attrib["value"] in ("", "NA") or float(least.attrib["value"]) > threshold:
            continue
        x, y, *_ = (float(part) for part in least.attrib["position"].split(","))
        yield TrafficConflict(frozenset((conflict.attrib["ego"], conflict.attrib["foe"])), road.within(x, y))


def _parse_root(file: Path) -> ET.Element:
    try:
        return ET.parse(file).getroot()
    except (OSError, ET.ParseError) as problem:
        raise ProblemError(f"SUMO left no complete {file.name}: {problem}") from None
