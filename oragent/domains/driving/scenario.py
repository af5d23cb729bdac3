"""One task: a demand, a horizon, and how SUMO is told of them."""

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from oragent.domains.driving import demand, network, rules
from oragent.domains.driving.demand import CASES, Departure
from oragent.domains.driving.rules import SumoRules

HORIZON = 600  # s
QUIET = 30  # s at the end without arrivals
DEMAND_FILE, WATCHED_FILE = "demand.rou.xml", "watched.txt"
SSM_FILE, STATISTICS_FILE = "ssm.xml", "statistics.xml"


@dataclass(frozen=True)
class Scenario:
    """One simulation's task.

    Attributes:
        trials: 2 (light) or 3 (heavy): how many vehicles may come a route and second.
        seed: of the demand.
        horizon: simulated seconds.
        rules: by which it is run and counted.
        given: a demand that was read from somewhere; empty: it is drawn.

    Raises:
        ValueError: unless there are such a case and at least a second of arrivals.
    """

    trials: int
    seed: int
    horizon: int = HORIZON
    rules: SumoRules = rules.OURS
    read_departures: tuple[Departure, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.trials not in CASES:
            raise ValueError(f"trials must be one of {', '.join(map(str, CASES))}, not {self.trials}")
        if self.horizon <= QUIET:
            raise ValueError(f"horizon must be more than {QUIET} s, not {self.horizon}")

    @property
    def name(self) -> str:
        """Such as ``heavy, demand seed 42``."""
        special = f", {self.rules.label}" if self.rules.label else ""
        demanded = "demand from a file" if self.read_departures else f"demand seed {self.seed}"
        return f"{CASES[self.trials]}, {demanded}{special}"

    @cached_property
    def departures(self) -> tuple[Departure, ...]:
        """Vehicles that want to enter; the first 570 of 600 seconds have arrivals."""
        return self.read_departures or demand.draw(
            self.seed, self.trials, self.horizon - QUIET, self.rules.plan.chances
        )

    @cached_property
    def digest(self) -> str:
        """Hash of all that decides what SUMO's own drivers do: road, demand, options and SUMO's version."""
        plan, text = self.rules.plan, demand.to_xml_file(self.departures, self.rules)
        parts = (plan.sources, plan.options, text, self.rules.options, self.horizon, network.versions())
        return sha256(repr(parts).encode()).hexdigest()[:16]

    def write(self, folder: Path, road: network.Road, *, ssm: bool = True) -> list[str]:
        """Write the demand into ``folder`` and return SUMO's arguments; outputs go there too.

        Args:
            folder: of this simulation alone.
            road: what `network.build` returned.
            ssm: whether conflicts are measured, which takes about half of SUMO's time.
        """
        (folder / DEMAND_FILE).write_text(demand.to_xml_file(self.departures, self.rules), encoding="utf-8")
        files = {
            "--net-file": road.file,
            "--route-files": folder / DEMAND_FILE,
            "--statistic-output": folder / STATISTICS_FILE,
        }
        named = [text for option, path in files.items() for text in (option, str(path))]
        arguments = [*named, *self.rules.options]
        if not ssm:
            return arguments
        arguments += [*self.rules.ssm, "--device.ssm.file", str(folder / SSM_FILE)]
        if self.rules.watched:
            (folder / WATCHED_FILE).write_text(self.rules.watched, encoding="utf-8")
            arguments += ["--device.ssm.filter-edges.input-file", str(folder / WATCHED_FILE)]
        return arguments
