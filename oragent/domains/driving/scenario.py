"""One task: a demand, a horizon, and how SUMO is told of them."""

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from oragent.domains.driving import demand, installation, network
from oragent.domains.driving.demand import CASES, Departure

__all__ = ["HORIZON", "SSM_FILE", "STATISTICS_FILE", "TTC_THRESHOLD", "Scenario"]

HORIZON = 600  # s
QUIET = 30  # s at the end without arrivals
TTC_THRESHOLD = 1.5  # s
DEMAND_FILE, WATCHED_FILE = "demand.rou.xml", "watched.txt"
SSM_FILE, STATISTICS_FILE = "ssm.xml", "statistics.xml"
WATCHED = "".join((f"edge:{network.EDGE}\n", *(f"junction:{name}\n" for name in network.ENDS)))
OPTIONS = (
    *("--step-length", "1"),
    *("--collision.action", "warn"),
    *("--time-to-teleport", "-1"),  # a jam is the controller's business: nobody is lifted out of it
    *("--no-step-log", "true", "--no-warnings", "true", "--duration-log.disable", "true", "--xml-validation", "never"),
)
SSM = (
    *("--device.ssm.probability", "1", "--device.ssm.measures", "TTC"),
    *("--device.ssm.thresholds", str(TTC_THRESHOLD)),
    *("--device.ssm.range", "30"),  # m; 1.5 s at the speed limit are 21: farther pairs cost most of the time in a jam
)


@dataclass(frozen=True)
class Scenario:
    """One simulation's task.

    Attributes:
        trials: 2 (light) or 3 (heavy): how many vehicles may come a route and second.
        seed: of the demand.
        horizon: simulated seconds.

    Raises:
        ValueError: unless there are such a case and at least a second of arrivals.
    """

    trials: int
    seed: int
    horizon: int = HORIZON

    def __post_init__(self) -> None:
        if self.trials not in CASES:
            raise ValueError(f"trials must be one of {', '.join(map(str, CASES))}, not {self.trials}")
        if self.horizon <= QUIET:
            raise ValueError(f"horizon must be more than {QUIET} s, not {self.horizon}")

    @property
    def name(self) -> str:
        """Such as ``heavy, demand seed 42``."""
        return f"{CASES[self.trials]}, demand seed {self.seed}"

    @cached_property
    def departures(self) -> tuple[Departure, ...]:
        """Who wants to enter; the first 570 of 600 seconds have arrivals."""
        return demand.draw(self.seed, self.trials, self.horizon - QUIET)

    @cached_property
    def digest(self) -> str:
        """Hash of all that decides what SUMO's own drivers do: road, demand, options and SUMO's version."""
        parts = (network.SOURCES, demand.to_xml_file(self.departures), OPTIONS, self.horizon, installation.versions())
        return sha256(repr(parts).encode()).hexdigest()[:16]

    def write(self, folder: Path, road: network.Road, *, ssm: bool = True) -> list[str]:
        """Write the demand into ``folder`` and return SUMO's arguments; outputs go there too.

        Args:
            folder: of this simulation alone.
            road: what `network.build` returned.
            ssm: whether conflicts are measured, which takes about half of SUMO's time.
        """
        (folder / DEMAND_FILE).write_text(demand.to_xml_file(self.departures), encoding="utf-8")
        files = {
            "--net-file": road.file,
            "--route-files": folder / DEMAND_FILE,
            "--statistic-output": folder / STATISTICS_FILE,
        }
        named = [text for option, path in files.items() for text in (option, str(path))]
        if not ssm:
            return [*named, *OPTIONS]
        (folder / WATCHED_FILE).write_text(WATCHED, encoding="utf-8")
        watched = ("--device.ssm.filter-edges.input-file", str(folder / WATCHED_FILE))
        return [*named, *OPTIONS, *SSM, *watched, "--device.ssm.file", str(folder / SSM_FILE)]
