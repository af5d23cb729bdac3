"""Which demands the problems simulate, in which mode, and longer and wider roads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from oragent.domains import fresh
from oragent.domains.driving import rules
from oragent.domains.driving.plans import EDGE, Edge, Link, RoadPlan
from oragent.domains.driving.rules import SumoRules
from oragent.domains.driving.scenario import CASES, HORIZON, Scenario

KILOMETRES = {1: 1, 2: 2, 3: 4}  # by size
LANES = {1: 3, 2: 4, 3: 5}  # of E0; its rightmost one begins as the ramp and ends as the way out
ARM = 200.0  # m
FLOW = 0.1  # vehicles a second, lane of E0 and trial
ROUTES = {("-E1", "E4"): 0.6, ("-E1", "E6"): 0.15, ("-E3", "E4"): 0.2, ("-E3", "E6"): 0.05}  # and their shares


def plan(size: int) -> RoadPlan:
    """Plan the road of a size: who comes by the main road may want to leave to the right, who comes by the ramp not."""
    length, lanes = 1000.0 * KILOMETRES[size], LANES[size]
    main = range(lanes - 1)
    return RoadPlan(
        name=f"{KILOMETRES[size]} km",
        nodes={
            "J0": (0, 0), "J1": (length, 0),
            "west": (-ARM, 0), "ramp": (-ARM, -ARM / 2),
            "east": (length + ARM, 0), "way_out": (length + ARM, -ARM / 2),
        },
        edges=(
            Edge(EDGE, "J0", "J1", lanes),
            Edge("-E1", "west", "J0", lanes - 1), Edge("-E3", "ramp", "J0", 1),
            Edge("E4", "J1", "east", lanes - 1), Edge("E6", "J1", "way_out", 1),
        ),
        links=(
            *(Link("-E1", EDGE, lane, lane + 1, True) for lane in main), Link("-E3", EDGE, 0, 0, True),
            *(Link(EDGE, "E4", lane + 1, lane, True) for lane in main), Link(EDGE, "E6", 0, 0, True),
        ),
        routes=tuple(ROUTES),
        chances=tuple(FLOW * lanes * share for share in ROUTES.values()),
    )  # fmt: skip


HEAVY = 3


@dataclass(frozen=True)
class CourseCase:
    """A size of a problem: its demand, in trials a route and second, and rules with a road."""

    name: str
    trials: int
    rules: SumoRules


@dataclass(frozen=True)
class Course:
    """The demands of a problem."""

    cases: Mapping[int, CourseCase]  # by size
    sizes: Mapping[str, tuple[int, ...]]  # of each mode
    # of the demands of each mode; those of ``final`` are for the last round of a run's best elites. A fresh set has
    # none: its seeds are drawn.
    seeds: Mapping[str, Sequence[int]]
    # seeds of the published protocol's demands in each mode; a mode that is not there leaves it out
    protocol: Mapping[str, Sequence[int]]
    baseline: Path  # file of the throughputs of SUMO's own drivers, from the project root
    call_limit_s: float = 2.0  # wall seconds that a candidate may take for one call
    run_limit_s: float = 120.0  # likewise, for all calls of one simulation

    @property
    def names(self) -> dict[int, str]:
        """Names of the cases."""
        return {size: case.name for size, case in self.cases.items()}

    def demands(self, mode: str, sizes: Sequence[int], fresh_seed: int | None = None) -> dict[int, list[Scenario]]:
        """Return the demands of a mode, or on a fresh set of as many demands as ``test`` has, by size."""
        horizon = HORIZON // 2 if mode == "train" else HORIZON
        return {
            size: [
                Scenario(self.cases[size].trials, seed, horizon, self.cases[size].rules)
                for seed in self._draw_seeds(mode, size, fresh_seed)
            ]
            for size in sizes
        }

    def _draw_seeds(self, mode: str, size: int, fresh_seed: int | None) -> Sequence[int]:
        if fresh_seed is None:
            return self.seeds[mode]
        return fresh.numbers(fresh_seed, "driving", size, len(self.seeds["test"]))


WEAVING = Course(
    cases={trials: CourseCase(name, trials, rules.OURS) for trials, name in CASES.items()},
    sizes=dict.fromkeys(("train", "val", "test", "fresh", "final"), tuple(CASES)),
    seeds={"train": range(1, 3), "val": range(42, 58), "test": range(101, 131), "final": range(1001, 1021)},
    protocol={"val": range(42, 43), "test": range(101, 109)},
    baseline=Path("problems/driving/sumo_throughput.json"),
)

LONG = Course(
    cases={
        size: CourseCase(f"km_{length}", HEAVY, rules.ours(plan(size), f"{length} km"))
        for size, length in KILOMETRES.items()
    },
    sizes={"train": (1,), "val": (1, 2, 3), "test": (1, 2, 3), "fresh": (1, 2, 3)},
    seeds={"train": range(1, 2), "val": range(42, 44), "test": range(101, 105)},
    protocol={},
    baseline=Path("problems/driving_long/sumo_throughput.json"),
    call_limit_s=5.0,
    run_limit_s=200.0,
)
