"""Which demands the problems simulate, in which mode."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from oragent.domains import fresh
from oragent.domains.driving import long_roads, rules
from oragent.domains.driving.demand import CASES
from oragent.domains.driving.rules import SumoRules
from oragent.domains.driving.scenario import HORIZON, Scenario

HEAVY = 3


@dataclass(frozen=True)
class CourseCase:
    """A size of a problem.

    Attributes:
        name: in metrics.
        trials: of its demand, a route and second.
        rules: with its road.
    """

    name: str
    trials: int
    rules: SumoRules


@dataclass(frozen=True)
class Course:
    """The demands of a problem.

    Attributes:
        cases: by size.
        sizes: of each mode.
        seeds: of the demands of each mode; those of ``final`` are for the last round of a run's best elites. A fresh
            set has none: its seeds are drawn.
        protocol: seeds of the published protocol's demands in each mode; a mode that is not there leaves it out.
        baseline: file of the throughputs of SUMO's own drivers, from the project root.
        call_limit_s: wall seconds that a candidate may take for one call.
        run_limit_s: likewise, for all calls of one simulation.
    """

    cases: Mapping[int, CourseCase]
    sizes: Mapping[str, tuple[int, ...]]
    seeds: Mapping[str, Sequence[int]]
    protocol: Mapping[str, Sequence[int]]
    baseline: Path
    call_limit_s: float = 2.0
    run_limit_s: float = 120.0

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
        size: CourseCase(f"km_{length}", HEAVY, rules.ours(long_roads.plan(size), f"{length} km"))
        for size, length in long_roads.KILOMETRES.items()
    },
    sizes={"train": (1,), "val": (1, 2, 3), "test": (1, 2, 3), "fresh": (1, 2, 3)},
    seeds={"train": range(1, 2), "val": range(42, 44), "test": range(101, 105)},
    protocol={},
    baseline=Path("problems/driving_long/sumo_throughput.json"),
    call_limit_s=5.0,
    run_limit_s=200.0,
)
