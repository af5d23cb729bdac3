"""The kinds of vehicles; figures are SUMO's defaults, written out so that another version does not change them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class VehicleType:
    """A kind of vehicle.

    Attributes:
        name: also SUMO's vehicle class.
        share: of all vehicles.
        length: metres.
        max_accel: m/s², positive.
        max_decel: m/s², positive; what comfortable drivers brake with at most.
    """

    name: str
    share: float
    length: float
    max_accel: float
    max_decel: float


TYPES = {
    kind.name: kind
    for kind in (
        VehicleType("passenger", 0.7, 5.0, 2.6, 4.5),
        VehicleType("truck", 0.2, 7.1, 1.3, 4.0),
        VehicleType("bus", 0.1, 12.0, 1.2, 4.0),
    )
}


def to_xml(kind: VehicleType) -> str:
    """Write a type as SUMO reads it."""
    figures = f'length="{kind.length}" accel="{kind.max_accel}" decel="{kind.max_decel}"'
    return f'<vType id="{kind.name}" vClass="{kind.name}" {figures}/>'
