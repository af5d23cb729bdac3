"""How a simulation is run and counted, by our rules or by the published ones, and the kinds of vehicles."""

from dataclasses import dataclass

from oragent.domains.driving import network
from oragent.domains.driving.network import EDGE, ENDS, RoadPlan

# s
TTC_THRESHOLD = 1.5
COMMON = (
    *("--step-length", "1"),
    *("--collision.action", "warn"),
    *("--no-step-log", "true", "--no-warnings", "true", "--duration-log.disable", "true", "--xml-validation", "never"),
)
SSM = ("--device.ssm.probability", "1", "--device.ssm.measures", "TTC", "--device.ssm.thresholds", str(TTC_THRESHOLD))


@dataclass(frozen=True)
class SumoRules:
    """What SUMO is told besides road and demand, and what is made of what it tells."""

    # the road
    plan: RoadPlan
    # attributes of every vehicle: on which lane and how fast it enters; empty: as SUMO's defaults are
    insertion: str
    # vehicles of one second come spread over it; else all at its beginning
    spread: bool
    # of SUMO
    options: tuple[str, ...]
    # options of its device for conflicts
    ssm: tuple[str, ...]
    # where that device looks, as lines of a file; empty: everywhere
    watched: str
    # count as published: entries of the conflict file on all roads, one for ego and one for foe, speeds before each
    # second, rounded figures; vehicles are not given back to SUMO's drivers behind E0; and the simulation ends when all
    # have arrived
    published: bool = False
    # what names of scenarios end with
    label: str = ""


PUBLISHED = SumoRules(
    plan=network.PUBLISHED,
    # The published files leave lane and speed of departure to SUMO, whose defaults changed between 1.20 and 1.28.
    insertion="",
    spread=True,
    # and SUMO's own 300 s until a vehicle that stands is lifted out
    options=COMMON,
    ssm=SSM,
    watched="",
    published=True,
    label="published protocol",
)


def ours(plan: RoadPlan, label: str = "") -> SumoRules:
    """Our rules on a road: vehicles enter as fast as is safe, and only what a controller can influence is counted."""
    return SumoRules(
        plan=plan,
        insertion='departLane="best" departSpeed="max"',
        spread=False,
        # A jam is the controller's business: nobody is lifted out of it.
        options=(*COMMON, "--time-to-teleport", "-1"),
        # 1.5 s at the speed limit are 21 m: pairs farther than 30 cost most of the time in a jam.
        ssm=(*SSM, "--device.ssm.range", "30"),
        watched="".join((f"edge:{EDGE}\n", *(f"junction:{name}\n" for name in ENDS))),
        label=label,
    )


OURS = ours(network.WEAVING)


@dataclass(frozen=True)
class VehicleType:
    """A kind of vehicle."""

    # also SUMO's vehicle class
    name: str
    # of all vehicles
    share: float
    # metres
    length: float
    # m/s², positive
    max_accel: float
    # m/s², positive; what comfortable drivers brake with at most
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
