"""Scenarios, each with departures, a horizon and input files for SUMO, and the scenarios of the problems.

Departures are drawn from a seed and identical on every machine, or read from a file.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import numpy as np

from oragent._base.errors import ProblemError
from oragent.domains import streams
from oragent.domains.driving import network, rules
from oragent.domains.driving.network import EDGE, Edge, Link, RoadPlan
from oragent.domains.driving.rules import TYPES, SumoRules, to_xml

# Number of trials per route and second, and name of the case.
CASES = {2: "light", 3: "heavy"}
# Letters of the types in files.
LETTERS = {name[0]: name for name in TYPES}
# Limits of a file: one day, and more rows than any road can take.
MAX_SECONDS, MAX_ROWS = 86_400, 100_000
# Simulated time in s.
HORIZON = 600
# Time in s without arrivals at the end.
QUIET = 30
DEMAND_FILE, WATCHED_FILE = "demand.rou.xml", "watched.txt"
SSM_FILE, STATISTICS_FILE = "ssm.xml", "statistics.xml"


# Length of E0 in km by size.
KILOMETRES = {1: 1, 2: 2, 3: 4}
# Number of lanes of E0 by size; the rightmost lane begins as the on-ramp and ends as the off-ramp.
LANES = {1: 3, 2: 4, 3: 5}
# Length of an arm in metres.
ARM = 200.0
# Vehicles per second, lane of E0 and trial.
FLOW = 0.1
# Routes and their shares.
ROUTES = {("-E1", "E4"): 0.6, ("-E1", "E6"): 0.15, ("-E3", "E4"): 0.2, ("-E3", "E6"): 0.05}
HEAVY = 3


@dataclass(frozen=True)
class Departure:
    """A vehicle that wants to enter; ``route`` is an index into the routes of the plan."""

    vehicle: str
    second: int
    route: int
    kind: str


@dataclass(frozen=True)
class Traffic:
    """Arrivals of a set that no search uses, where they differ from those of the search."""

    # Further trials per route and second.
    more: int = 0
    # Probability of each route; if empty, that of the road.
    chances: tuple[float, ...] = ()
    # Shares of the routes, whose probabilities together are those of the road; if empty, those of the road.
    ways: tuple[float, ...] = ()
    # Shares of the types; if empty, the usual ones.
    shares: tuple[float, ...] = ()
    # Seconds with twice the trials, which as many without arrivals follow; 0 means that all seconds are alike.
    platoon: int = 0


USUAL = Traffic()
# Sets with other arrivals.
TRAFFIC = {
    "dense": Traffic(more=2),
    # Two thirds of all vehicles come from one side and leave to the other.
    "crossing": Traffic(chances=(0.01, 0.01, 0.01, 0.02, 0.07, 0.02, 0.07)),
    "long_vehicles": Traffic(shares=(0.2, 0.5, 0.3)),
    "platoons": Traffic(platoon=20),
    # Two thirds of all vehicles come by the ramp and go on, or come straight and leave.
    "ramps": Traffic(ways=(0.3, 0.3, 0.35, 0.05)),
}
# Sets of the weaving road and of the long roads, whose routes differ.
WEAVING_SETS = ("dense", "crossing", "long_vehicles", "platoons")
LONG_SETS = ("dense", "ramps", "long_vehicles", "platoons")
# Seed of the first demand of each set, and number of demands of a case.
SET_SEEDS = {name: 1000 * number + 1 for number, name in enumerate(TRAFFIC, 2)}
SET_DEMANDS = 4
# Fewer on long roads, which take longer.
LONG_SET_DEMANDS = 2


def draw(
    seed: int,
    trials: int,
    seconds: int,
    chances: Sequence[float] = network.WEAVING.chances,
    traffic: Traffic = USUAL,
) -> tuple[Departure, ...]:
    """Draw the arrivals: for every second and route Binomial(``trials``, chance) vehicles of random types.

    Args:
        seed: Seed of a legacy ``RandomState``, whose stream never changes.
        trials: 2 in the light case, 3 in the heavy one.
        seconds: Number of seconds with arrivals.
        chances: Probability of each route.
        traffic: Differences to these arrivals.

    Returns:
        Departures in order of time.
    """
    rng = np.random.RandomState(seed)
    names, shares = list(TYPES), traffic.shares or [kind.share for kind in TYPES.values()]
    departures: list[Departure] = []
    chances = traffic.chances or [sum(chances) * share for share in traffic.ways] or chances
    for second in range(seconds):
        of_second = trials + traffic.more
        if traffic.platoon:
            of_second *= 2 * (second // traffic.platoon % 2 == 0)
        for route, chance in enumerate(chances):
            for _ in range(rng.binomial(of_second, chance)):
                kind = names[rng.choice(len(names), p=shares)]
                departures.append(Departure(f"v{len(departures)}", second, route, kind))
    return tuple(departures)


def read(file: Path, routes: int) -> tuple[Departure, ...]:
    """Read arrivals from text: comma-separated rows ``route second type``, such as ``3 5 p``, in order of time.

    Args:
        file: Text file; types are ``p`` (passenger), ``t`` (truck) and ``b`` (bus).
        routes: Number of routes; they are counted from 0.

    Raises:
        ProblemError: in one line, if the file cannot be read or a row is not as expected.
    """
    try:
        rows = file.read_text(encoding="utf-8").strip().strip(",").split(",")
    except (OSError, UnicodeDecodeError) as problem:
        raise ProblemError(f"the demand {file} cannot be read: {problem}") from None
    if len(rows) > MAX_ROWS:
        raise ProblemError(f"the demand {file} has {len(rows)} rows; expected at most {MAX_ROWS}")
    departures: list[Departure] = []
    for index, row in enumerate(rows):
        departure = _parse_departure(row.split(), index, routes)
        if departure is None or (departures and departure.second < departures[-1].second):
            expected = "expected 'route second type' in the order of time, such as '3 5 p'"
            raise ProblemError(f"row {index + 1} of the demand {file} is {row.strip()[:40]!r}; {expected}")
        departures.append(departure)
    return tuple(departures)


def _parse_departure(parts: list[str], index: int, routes: int) -> Departure | None:
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() and len(part) < 9 for part in parts[:2]):
        return None
    route, second, letter = int(parts[0]), int(parts[1]), parts[2]
    if route >= routes or second > MAX_SECONDS or letter not in LETTERS:
        return None
    return Departure(f"v{index}", second, route, LETTERS[letter])


def to_xml_file(departures: Sequence[Departure], rules: SumoRules) -> str:
    """Return the demand in the XML format of SUMO."""
    ways = enumerate(rules.plan.routes)
    routes = (f'<route id="r{index}" edges="{start} {EDGE} {end}"/>' for index, (start, end) in ways)
    times = _spread_times(departures) if rules.spread else (str(departure.second) for departure in departures)
    vehicles = (
        f'<vehicle id="{new.vehicle}" type="{new.kind}" route="r{new.route}" depart="{time}" {rules.insertion}/>'
        for new, time in zip(departures, times, strict=True)
    )
    return "\n".join(("<routes>", *map(to_xml, TYPES.values()), *routes, *vehicles, "</routes>\n"))


def _spread_times(departures: Sequence[Departure]) -> Iterator[str]:
    """Yield times of departure: those of one second are evenly spaced inside it, none at its ends."""
    counts = Counter(departure.second for departure in departures)
    seen: Counter[int] = Counter()
    for departure in departures:
        seen[departure.second] += 1
        yield f"{departure.second + seen[departure.second] / (counts[departure.second] + 1):.4f}"


@dataclass(frozen=True)
class Scenario:
    """Task of one simulation. An unknown case, or less than one second of arrivals, raises `ValueError`."""

    # Number of trials per route and second: 2 (light) or 3 (heavy).
    trials: int
    # Seed of the demand.
    seed: int
    # Simulated time in s.
    horizon: int = HORIZON
    # Rules of simulation and counting.
    rules: SumoRules = rules.OURS
    # Departures read from a file; if empty, they are drawn from the seed.
    read_departures: tuple[Departure, ...] = field(default=(), repr=False)
    # Name of the set of `TRAFFIC` whose arrivals are drawn; empty for the usual ones.
    traffic: str = ""

    def __post_init__(self) -> None:
        if self.trials not in CASES:
            raise ValueError(f"trials must be one of {', '.join(map(str, CASES))}, not {self.trials}")
        if self.horizon <= QUIET:
            raise ValueError(f"horizon must be more than {QUIET} s, not {self.horizon}")

    @property
    def name(self) -> str:
        """Name such as ``heavy, demand seed 42``."""
        special = f", {self.rules.label}" if self.rules.label else ""
        demanded = "demand from a file" if self.read_departures else f"demand seed {self.seed}"
        return ", ".join(part for part in (CASES[self.trials], self.traffic, demanded + special) if part)

    @cached_property
    def departures(self) -> tuple[Departure, ...]:
        """Vehicles that want to enter; the first 570 of 600 seconds have arrivals."""
        traffic, seconds = TRAFFIC.get(self.traffic, USUAL), self.horizon - QUIET
        return self.read_departures or draw(self.seed, self.trials, seconds, self.rules.plan.chances, traffic)

    @cached_property
    def digest(self) -> str:
        """Return a hash of everything that affects SUMO's own drivers: road, demand, options and SUMO's version."""
        plan, text = self.rules.plan, to_xml_file(self.departures, self.rules)
        parts = (plan.sources, plan.options, text, self.rules.options, self.horizon, network.versions())
        return sha256(repr(parts).encode()).hexdigest()[:16]

    def write(self, folder: Path, road: network.Road, *, ssm: bool = True) -> list[str]:
        """Write the demand into ``folder`` and return SUMO's arguments; SUMO writes its output there too.

        Args:
            folder: Folder used only by this simulation.
            road: Road from `network.build`.
            ssm: Whether conflicts are measured, which takes about half of SUMO's time.
        """
        (folder / DEMAND_FILE).write_text(to_xml_file(self.departures, self.rules), encoding="utf-8")
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


def plan(size: int) -> RoadPlan:
    """Return the road of a size: vehicles from the main road may leave to the right, those from the ramp do not."""
    length, lanes = 1000.0 * KILOMETRES[size], LANES[size]
    main = range(lanes - 1)
    return RoadPlan(
        name=f"{KILOMETRES[size]} km",
        nodes={
            "J0": (0, 0),
            "J1": (length, 0),
            "west": (-ARM, 0),
            "ramp": (-ARM, -ARM / 2),
            "east": (length + ARM, 0),
            "way_out": (length + ARM, -ARM / 2),
        },
        edges=(
            Edge(EDGE, "J0", "J1", lanes),
            Edge("-E1", "west", "J0", lanes - 1),
            Edge("-E3", "ramp", "J0", 1),
            Edge("E4", "J1", "east", lanes - 1),
            Edge("E6", "J1", "way_out", 1),
        ),
        links=(
            *(Link("-E1", EDGE, lane, lane + 1, True) for lane in main),
            Link("-E3", EDGE, 0, 0, True),
            *(Link(EDGE, "E4", lane + 1, lane, True) for lane in main),
            Link(EDGE, "E6", 0, 0, True),
        ),
        routes=tuple(ROUTES),
        chances=tuple(FLOW * lanes * share for share in ROUTES.values()),
    )


@dataclass(frozen=True)
class CourseCase:
    """Case of a size: its demand, in trials per route and second, and the rules with the road."""

    name: str
    trials: int
    rules: SumoRules


@dataclass(frozen=True)
class Course:
    """The demands of a problem."""

    # Cases by size.
    cases: Mapping[int, CourseCase]
    # Sizes of each mode.
    sizes: Mapping[str, tuple[int, ...]]
    # Seeds of the demands of each mode. Those of ``final`` are for scoring the best elites of a run at its end. A fresh
    # set has no fixed seeds: they are drawn.
    seeds: Mapping[str, Sequence[int]]
    # Seeds of the published protocol's demands in each mode; modes without an entry do not run the protocol.
    protocol: Mapping[str, Sequence[int]]
    # File of the throughputs of SUMO's own drivers, relative to the project root.
    baseline: Path
    # Maximum wall seconds of one call of a candidate.
    call_limit_s: float = 2.0
    # Maximum wall seconds of all calls of a candidate in one simulation.
    run_limit_s: float = 120.0

    @property
    def names(self) -> dict[int, str]:
        """Names of the cases."""
        return {size: case.name for size, case in self.cases.items()}

    def demands(self, mode: str, sizes: Sequence[int], fresh_seed: int | None = None) -> dict[int, list[Scenario]]:
        """Return the demands of a mode by size; a fresh set has as many demands as ``test``."""
        horizon = HORIZON // 2 if mode == "train" else HORIZON
        scenarios: dict[int, list[Scenario]] = {}
        for size in sizes:
            seeds, case = self.seeds["test" if fresh_seed is not None else mode], self.cases[size]
            if fresh_seed is not None:
                seeds = streams.numbers(fresh_seed, "driving", size, len(seeds))
            traffic = mode if mode in TRAFFIC else ""
            scenarios[size] = [Scenario(case.trials, seed, horizon, case.rules, traffic=traffic) for seed in seeds]
        return scenarios


WEAVING = Course(
    cases={trials: CourseCase(name, trials, rules.OURS) for trials, name in CASES.items()},
    sizes=dict.fromkeys(("train", "val", "test", "fresh", "final", *WEAVING_SETS), tuple(CASES)),
    seeds={
        "train": range(1, 3),
        "val": range(42, 58),
        "test": range(101, 131),
        "final": range(1001, 1021),
        **{name: range(SET_SEEDS[name], SET_SEEDS[name] + SET_DEMANDS) for name in WEAVING_SETS},
    },
    protocol={"val": range(42, 43), "test": range(101, 109)},
    baseline=Path("problems/driving/sumo_throughput.json"),
)

LONG = Course(
    cases={
        size: CourseCase(f"km_{length}", HEAVY, SumoRules.of_road(plan(size), f"{length} km"))
        for size, length in KILOMETRES.items()
    },
    sizes={"train": (1,), **dict.fromkeys(("val", "test", "fresh"), (1, 2, 3)), **dict.fromkeys(LONG_SETS, (1,))},
    seeds={
        "train": range(1, 2),
        "val": range(42, 44),
        "test": range(101, 105),
        **{name: range(SET_SEEDS[name], SET_SEEDS[name] + LONG_SET_DEMANDS) for name in LONG_SETS},
    },
    protocol={},
    baseline=Path("problems/driving_long/sumo_throughput.json"),
    call_limit_s=5.0,
    run_limit_s=200.0,
)
