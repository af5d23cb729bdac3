"""Score a driver of all vehicles: SUMO simulates a road on which they must weave, and traffic must flow safely."""

from oragent.harness import Arguments, CandidateError, Guest, Result, figures, run

# isort: split
# The harness pins numerical libraries to one thread, so it comes before them.

from functools import partial
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from oragent.domains.driving import metrics, network
from oragent.domains.driving.baseline import Baseline
from oragent.domains.driving.connected import Connected
from oragent.domains.driving.demand import CASES
from oragent.domains.driving.drive import Backend, Drive, drive
from oragent.domains.driving.hosted import Hosted
from oragent.domains.driving.scenario import HORIZON, Scenario

SIZES = {"train": (2, 3), "val": (2, 3), "test": (2, 3)}  # trials a route and second: the light and the heavy case
SEEDS = {"train": (1, 2), "val": (42, 43, 44), "test": (101, 102, 103, 104, 105)}  # of the demand
HORIZONS = {"train": 300, "val": HORIZON, "test": HORIZON}  # s
BASELINE = Path("problems/driving/sumo_throughput.json")
STEP_LIMIT_S, RUN_LIMIT_S = 2.0, 20.0  # wall seconds for one call, and for all calls of one simulation
FLAGS = {
    "record": "write an animation and a time-space diagram of each case's first simulation",
    "gui": "show the simulations in sumo-gui",
    "traci": "drive a SUMO process over TraCI instead of libsumo",
}


def evaluate(arguments: Arguments, driving_actions: Guest) -> Result:
    """Simulate every demand of the sizes that were asked for."""
    begun = perf_counter()
    driving_actions.limit_s = STEP_LIMIT_S
    backend: Backend = Hosted
    if arguments.flags & {"gui", "traci"}:
        backend = partial(Connected, window="gui" in arguments.flags)
    writable = Path(f"{arguments.file_output_prefix}x").parent if arguments.file_output_prefix else None
    with TemporaryDirectory(prefix="driving-", dir=writable) as name:
        folder = Path(name)
        road = network.build(folder)
        baseline = Baseline(arguments.root_dir / BASELINE, road, folder)
        seen: dict[int, list[tuple[Drive, int]]] = {size: [] for size in arguments.sizes}
        for size in arguments.sizes:
            for seed in SEEDS[arguments.mode]:
                scenario = Scenario(size, seed, HORIZONS[arguments.mode])
                record = "record" in arguments.flags and not seen[size]
                driver = Driver(driving_actions, scenario.name)
                ended = drive(
                    scenario, road, driver, folder, backend=backend, record=record, announce=driver.announce
                )  # fmt: skip
                seen[size].append((ended, baseline.throughput(scenario)))
                if record:
                    draw(ended, road, arguments.file_output_prefix)
    return summary(seen, driving_actions.seconds, perf_counter() - begun)


class Driver:
    """The candidate at the wheel of one simulation."""

    def __init__(self, guest: Guest, name: str) -> None:
        self._guest, self._name, self._before = guest, name, guest.seconds

    def announce(self, second: int) -> None:
        """Say in failures which second it is."""
        self._guest.where = f"{self._name}, second {second}"

    def __call__(self, edge_info: dict[str, Any], vehicles_info: list[dict[str, Any]]) -> Any:
        """Ask the candidate."""
        if self._guest.seconds - self._before > RUN_LIMIT_S:
            raise CandidateError(f"took more than {RUN_LIMIT_S:g} s for the calls of one simulation", "timeout")
        return self._guest(edge_info, vehicles_info)


def summary(seen: dict[int, list[tuple[Drive, int]]], candidate_seconds: float, seconds: float) -> Result:
    """Sum up simulations, given for each size with the throughput of SUMO's own drivers."""
    scores = {size: [metrics.score(ended.figures, reference) for ended, reference in seen[size]] for size in seen}
    found, score = figures("score", scores)
    every = [one for of_size in seen.values() for one in of_size]
    worst, reference = min(every, key=lambda one: metrics.score(one[0].figures, one[1]))
    found["worst"] = {
        "demand": worst.scenario.name,
        "score": round(metrics.score(worst.figures, reference), 3),
        "paper_score": round(metrics.paper_score(worst.figures), 3),
    }
    found["paper_score"] = round(fmean(fmean(papers(of_size)) for of_size in seen.values()), 3)
    for size, of_size in seen.items():
        found[CASES[size]] = case_figures(of_size)
    found |= {
        "candidate_seconds": round(candidate_seconds, 3),
        "simulation_seconds": round(seconds - candidate_seconds, 3),
    }
    return Result(found, metrics.features([ended.figures for ended, _ in every]), score)


def papers(of_size: list[tuple[Drive, int]]) -> list[float]:
    """The published score of each simulation."""
    return [metrics.paper_score(ended.figures) for ended, _ in of_size]


def case_figures(of_size: list[tuple[Drive, int]]) -> dict[str, float]:
    """Means over the demands of a case."""
    measured = [vars(ended.figures) for ended, _ in of_size]
    means = {name: round(fmean(one[name] for one in measured), 3) for name in measured[0]}
    return {
        "paper_score": round(fmean(papers(of_size)), 3),
        "paper_score_worst": round(min(papers(of_size)), 3),
        **means,
        "throughput_of_sumo": round(fmean(reference for _, reference in of_size), 3),
    }


def draw(ended: Drive, road: network.Road, prefix: str) -> None:
    """Write the pictures of a recorded simulation, and say where they are."""
    from oragent.domains.driving import pictures  # matplotlib: most evaluations draw nothing

    stem = f"{prefix}driving_{CASES[ended.scenario.trials]}_{ended.scenario.seed}"
    for file, paint in ((f"{stem}.gif", pictures.animate), (f"{stem}_time_space.png", pictures.time_space)):
        paint(ended, road, Path(file))
        print(f"wrote {file}")


if __name__ == "__main__":
    run(evaluate, function="driving_actions", sizes=SIZES, flags=FLAGS)
