"""One evaluation of a controller: its demands, the published protocol, and pictures where they are asked for.

The score compares with how many vehicles SUMO's own drivers bring through. The figures of the shipped scenarios are
kept in a file, each with a digest of all that decides it; where that is another one, as with another SUMO, the figure
is simulated on the spot.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from oragent._base import package_data
from oragent._base.errors import ProblemError
from oragent.domains.driving import network, protocol, trials
from oragent.domains.driving.control import Controller
from oragent.domains.driving.network import Road
from oragent.domains.driving.rules import SumoRules
from oragent.domains.driving.scenario import Course, Scenario
from oragent.domains.driving.simulation import Connected, Hosted
from oragent.domains.driving.trials import Backend, Drive, Trial, drive, throughput

# demands of each size of which the drives are drawn
SHOWN = 2
FLAGS = {
    "record": "draw the worst simulation: an animation and a time-space diagram",
    "beside": "likewise, with the seed's drive on the same demand beside it",
    "gui": "show the simulations in sumo-gui",
    "traci": "drive a SUMO process over TraCI instead of libsumo",
}
# the metric that says that an evaluation ended early, as its floor is out of reach
BELOW_FLOOR = "below_floor"
# makes a controller for the simulation of that name
Named = Callable[[str], Controller]
# of drives by label
Paint = Callable[[Mapping[str, Drive], Road], None]


class DrivingBaseline:
    """Throughputs of SUMO's own drivers: from a file, which may be missing, or simulated on the spot."""

    def __init__(self, file: Path, roads: Callable[[SumoRules], Road], folder: Path) -> None:
        self._kept = _read_figures(file) if file.is_file() else {}
        self._roads, self._folder = roads, folder

    def throughput(self, scenario: Scenario) -> int:
        """Return the figure of a scenario, positive.

        Raises:
            ProblemError: if it must be simulated and SUMO fails, or if nobody gets through.
        """
        count = self._kept.get(scenario.digest)
        if count is None:
            count = self._kept[scenario.digest] = throughput(scenario, self._roads(scenario.rules), self._folder)
        if count <= 0:
            raise ProblemError(f"SUMO's own drivers bring nobody through ({scenario.name}): no throughput to compare")
        return count


def write_baseline(file: Path, scenarios: Iterable[Scenario], roads: Callable[[SumoRules], Road], folder: Path) -> None:
    """Simulate scenarios and keep their figures."""
    figures = [
        {
            "name": scenario.name,
            "trials": scenario.trials,
            "seed": scenario.seed,
            "horizon": scenario.horizon,
            "digest": scenario.digest,
            "throughput": throughput(scenario, roads(scenario.rules), folder),
        }
        for scenario in scenarios
    ]
    content = {
        "what": "vehicles that SUMO's own drivers bring to their destinations",
        "made with": f"eclipse-sumo and libsumo {network.versions()}",
        "figures": figures,
    }
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _read_figures(file: Path) -> dict[str, int]:
    try:
        figures = json.loads(file.read_text(encoding="utf-8"))["figures"]
        return {str(row["digest"]): int(row["throughput"]) for row in figures}
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise ProblemError(f"{file} is broken ({problem!r}); 'python problems/driving/references.py --write'") from None


@dataclass(frozen=True)
class Setup:
    """What an evaluation is asked to do."""

    # the demands of the problem
    course: Course
    # ``train``, ``val``, ``test`` or ``fresh``
    mode: str
    # which of its cases
    sizes: tuple[int, ...]
    # project root, for the throughputs of SUMO's own drivers
    root: Path
    # of files that are saved
    prefix: str = ""
    # of `FLAGS`
    flags: frozenset[str] = frozenset()
    # folder with the published demands; None: they are left out
    data: Path | None = None
    # of a fresh set of demands; None in other modes
    fresh_seed: int | None = None
    # score that a candidate must be able to reach on ``val`` for the rest of it to be simulated; None: what nobody who
    # can win stays below
    floor: float | None = None
    # called each second of the planned simulations with the name of the ``demand`` and all that `drive` tells; None:
    # nobody watches
    watch: Callable[..., None] | None = None

    @property
    def least(self) -> float | None:
        """Score that a candidate must be able to reach in this mode; None: every demand is simulated."""
        if self.mode == "val":
            return max(trials.HOPELESS, self.floor or trials.HOPELESS)
        return None


@dataclass(frozen=True)
class DrivingResult:
    """What an evaluation found: scores by case, metrics for people and models, and the cell of the archive."""

    scores: dict[int, list[float]]
    metrics: dict[str, Any]
    features: tuple[int, int, int]


def evaluate(
    setup: Setup,
    controller: Named,
    paint: Paint | None = None,
    beside: Named | None = None,
    show: Callable[[str, Road, Drive, float], None] | None = None,
) -> DrivingResult:
    """Simulate every demand of the sizes that were asked for, then the published protocol where there is one.

    Args:
        setup: what to do.
        controller: makes one for a simulation; where it has a method ``announce``, it is told each second.
        paint: draws the worst simulation, which is driven once more for it.
        beside: makes controllers that drive the same demand for the picture.
        show: gets the first demands of each size once more, recorded: name, road, drive and score.

    Raises:
        CandidateError: if the controller answers with anything but one valid action a vehicle.
        ProblemError: if SUMO is not installed or fails, or the published demands are not as expected.
    """
    pairs = {"paper_protocol": [protocol.drawn(seed) for seed in setup.course.protocol.get(setup.mode, ())]}
    pairs["paper_files"] = [] if setup.data is None else [protocol.files(setup.data)]
    backend = partial(Connected, window="gui" in setup.flags) if setup.flags & {"gui", "traci"} else Hosted
    parent = Path(f"{setup.prefix}x").parent if setup.prefix else None
    with TemporaryDirectory(prefix="driving-", dir=parent) as name:
        bench = RoadBench(Path(name), backend)
        planned = setup.course.demands(setup.mode, setup.sizes, setup.fresh_seed)
        baseline = DrivingBaseline(package_data.find_path(setup.root, setup.course.baseline), bench.road, bench.folder)
        seen = trials.run(
            planned,
            lambda scenario: Trial(bench.drive(scenario, controller, watch=setup.watch), baseline.throughput(scenario)),
            floor=setup.least,
        )
        every = [trial for of_case in seen.values() for trial in of_case]
        count = sum(map(len, planned.values()))
        metrics = trials.summary(seen, setup.course.names, planned=count)
        if setup.floor is not None and len(every) < count and trials.is_below(seen, setup.floor):
            metrics[BELOW_FLOOR] = True
        for title, of_title in filter(itemgetter(1), pairs.items()):
            metrics[title] = protocol.summary(of_title, lambda scenario: bench.drive(scenario, controller))
        if show is not None:
            for size, trials_of_size in seen.items():
                for index, trial in enumerate(trials_of_size[:SHOWN]):
                    scenario = trial.ended.scenario
                    recorded = bench.drive(scenario, controller, record=True)
                    show(f"size {size}, instance {index}", bench.road(scenario.rules), recorded, trial.selected)
        if paint is not None:
            worst = min(every, key=lambda trial: trial.score).ended.scenario
            shown = {"candidate": controller} | ({} if beside is None else {"seed": beside})
            paint(
                {label: bench.drive(worst, drive, record=True) for label, drive in shown.items()},
                bench.road(worst.rules),
            )
    return DrivingResult(
        scores={size: [trial.selected for trial in of_case] for size, of_case in seen.items()},
        metrics=metrics,
        features=trials.cell(seen),
    )


class RoadBench:
    """Roads and backend of an evaluation."""

    def __init__(self, folder: Path, backend: Backend = Hosted) -> None:
        self.folder, self._backend = folder, backend
        self._roads: dict[str, Road] = {}

    def road(self, rules: SumoRules) -> Road:
        """The road of some rules, built at its first use."""
        if rules.plan.name not in self._roads:
            self._roads[rules.plan.name] = network.build(self.folder, rules.plan)
        return self._roads[rules.plan.name]

    def drive(
        self, scenario: Scenario, controller: Named, *, record: bool = False, watch: Callable[..., None] | None = None
    ) -> Drive:
        """Simulate a scenario under a controller of its own."""
        driver, road = controller(scenario.name), self.road(scenario.rules)
        announce = getattr(driver, "announce", lambda second: None)
        observer = None if watch is None else partial(watch, demand=scenario.name)
        return drive(
            scenario, road, driver, self.folder, backend=self._backend, record=record, announce=announce, watch=observer
        )
