"""Evaluation of a controller: its demands, the published protocol, and optional pictures.

The score compares the throughput with that of SUMO's own drivers. A file has these throughputs for the shipped
scenarios, each with a digest of everything that determines it. If the digest differs, for example with another version
of SUMO, the throughput is simulated during the evaluation.
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

# Number of demands of each size whose drives are drawn.
SHOWN = 2
FLAGS = {
    "record": "draw the worst simulation: an animation and a time-space diagram",
    "beside": "likewise, with the seed's drive on the same demand beside it",
    "gui": "show the simulations in sumo-gui",
    "traci": "drive a SUMO process over TraCI instead of libsumo",
}
# Metric of an evaluation that ended early because its score floor was out of reach.
BELOW_FLOOR = "below_floor"
# Function that creates a controller for the simulation of a given name.
Named = Callable[[str], Controller]
# Function that draws drives, given by label.
Paint = Callable[[Mapping[str, Drive], Road], None]


class DrivingBaseline:
    """Throughputs of SUMO's own drivers, from a file if it exists, or simulated when needed."""

    def __init__(self, file: Path, roads: Callable[[SumoRules], Road], folder: Path) -> None:
        self._kept = _read_figures(file) if file.is_file() else {}
        self._roads, self._folder = roads, folder

    def throughput(self, scenario: Scenario) -> int:
        """Return the throughput of a scenario, positive.

        Raises:
            ProblemError: if it must be simulated and SUMO fails, or if no vehicle arrives.
        """
        count = self._kept.get(scenario.digest)
        if count is None:
            count = self._kept[scenario.digest] = throughput(scenario, self._roads(scenario.rules), self._folder)
        if count <= 0:
            raise ProblemError(
                f"no vehicle of SUMO's own drivers arrives ({scenario.name}), so there is no throughput to compare"
            )
        return count


def write_baseline(file: Path, scenarios: Iterable[Scenario], roads: Callable[[SumoRules], Road], folder: Path) -> None:
    """Simulate scenarios and write their throughputs to a file."""
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
    """Settings of an evaluation."""

    # Demands of the problem.
    course: Course
    # Mode: ``train``, ``val``, ``test`` or ``fresh``.
    mode: str
    # Sizes of the cases to evaluate.
    sizes: tuple[int, ...]
    # Project root, for the file of the throughputs of SUMO's own drivers.
    root: Path
    # Prefix of the names of saved files.
    prefix: str = ""
    # Options, a subset of `FLAGS`.
    flags: frozenset[str] = frozenset()
    # Folder of the published demands; None leaves them out.
    data: Path | None = None
    # Seed of a fresh set of demands; None in other modes.
    fresh_seed: int | None = None
    # Score that a candidate must be able to reach on ``val``; otherwise the remaining demands are not simulated. None
    # means the default threshold.
    floor: float | None = None
    # Function called after each second of the planned simulations with the name of the ``demand`` and the arguments
    # that `drive` passes; None means no observer.
    watch: Callable[..., None] | None = None

    @property
    def least(self) -> float | None:
        """Minimum score that must be within reach in this mode; None means that every demand is simulated."""
        if self.mode == "val":
            return max(trials.HOPELESS, self.floor or trials.HOPELESS)
        return None


@dataclass(frozen=True)
class DrivingResult:
    """Result of an evaluation: scores by case, metrics, and the cell of the archive."""

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
    """Simulate every demand of the requested sizes, then the published protocol if it applies.

    Args:
        setup: Settings of the evaluation.
        controller: Function that creates a controller for a simulation; its method ``announce``, if any, is called each
            second.
        paint: Function that draws the worst simulation. The simulation is repeated and recorded for this.
        beside: Function that creates controllers which drive the same demand for the picture.
        show: Function that is called for the first demands of each size with name, road, recorded drive and score.

    Raises:
        CandidateError: if the controller returns anything but one valid action per vehicle.
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
        """Return the road of the given rules, built at its first use."""
        if rules.plan.name not in self._roads:
            self._roads[rules.plan.name] = network.build(self.folder, rules.plan)
        return self._roads[rules.plan.name]

    def drive(
        self, scenario: Scenario, controller: Named, *, record: bool = False, watch: Callable[..., None] | None = None
    ) -> Drive:
        """Simulate a scenario with a new controller."""
        driver, road = controller(scenario.name), self.road(scenario.rules)
        announce = getattr(driver, "announce", lambda second: None)
        observer = None if watch is None else partial(watch, demand=scenario.name)
        return drive(
            scenario, road, driver, self.folder, backend=self._backend, record=record, announce=announce, watch=observer
        )
