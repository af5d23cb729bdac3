"""Rules of simulation and counting, our own or the published ones, and the types of vehicles."""

from dataclasses import dataclass

from oragent.domains.driving import network
from oragent.domains.driving.network import EDGE, ENDS, RoadPlan

# Threshold of the time to collision in s.
TTC_THRESHOLD = 1.5
COMMON = (
    *("--step-length", "1"),
    *("--collision.action", "warn"),
    *("--no-step-log", "true", "--no-warnings", "true", "--duration-log.disable", "true", "--xml-validation", "never"),
)
SSM = ("--device.ssm.probability", "1", "--device.ssm.measures", "TTC", "--device.ssm.thresholds", str(TTC_THRESHOLD))


@dataclass(frozen=True)
class SumoRules:
    """Settings of SUMO other than road and demand, and rules for evaluating its output."""

    # Plan of the road.
    plan: RoadPlan
    # Attributes of every vehicle for its lane and speed of entry; if empty, the defaults of SUMO apply.
    insertion: str
    # Whether the vehicles of one second are spread over it; otherwise all depart at its beginning.
    spread: bool
    # Command-line options of SUMO.
    options: tuple[str, ...]
    # Options of SUMO's surrogate safety device.
    ssm: tuple[str, ...]
    # Edges that the surrogate safety device observes, as lines of a file; if empty, all edges.
    watched: str
    # Whether to count as published: entries of the conflict file on all roads, one for ego and one for foe; speeds
    # before each second; rounded figures. Vehicles are then not released to SUMO's drivers behind E0, and the
    # simulation ends when all vehicles have arrived.
    published: bool = False
    # Suffix of the names of scenarios.
    label: str = ""

    @classmethod
    def of_road(cls, plan: RoadPlan, label: str = "") -> "SumoRules":
        """Return oragent's rules for a road: vehicles enter at a safe speed; only the controller's effects count."""
        return cls(
            plan=plan,
            insertion='departLane="best" departSpeed="max"',
            spread=False,
            # Vehicles are not teleported out of a jam, because the controller is responsible for jams.
            options=(*COMMON, "--time-to-teleport", "-1"),
            # At the speed limit, 1.5 s are 21 m. In a jam, pairs farther apart than 30 m would take most of the time.
            ssm=(*SSM, "--device.ssm.range", "30"),
            watched="".join((f"edge:{EDGE}\n", *(f"junction:{name}\n" for name in ENDS))),
            label=label,
        )


OURS = SumoRules.of_road(network.WEAVING)
PUBLISHED = SumoRules(
    plan=network.PUBLISHED,
    # The published files leave lane and speed of departure to SUMO, whose defaults changed between 1.20 and 1.28.
    insertion="",
    spread=True,
    # These options keep SUMO's default of 300 s before a stopped vehicle is teleported.
    options=COMMON,
    ssm=SSM,
    watched="",
    published=True,
    label="published protocol",
)


@dataclass(frozen=True)
class VehicleType:
    """Type of vehicle."""

    # Name of the type, which is also SUMO's vehicle class.
    name: str
    # Share of all vehicles.
    share: float
    # Length in metres.
    length: float
    # Maximum acceleration in m/s², positive.
    max_accel: float
    # Maximum comfortable deceleration in m/s², positive.
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
    """Return a type in the XML format of SUMO."""
    figures = f'length="{kind.length}" accel="{kind.max_accel}" decel="{kind.max_decel}"'
    return f'<vType id="{kind.name}" vClass="{kind.name}" {figures}/>'
