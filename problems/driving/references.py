"""Print what reference controllers get, or keep the throughput of SUMO's own drivers (``--write``)."""

import argparse
import runpy
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import eval as problem  # the evaluator beside this script; it imports the harness, which comes before numpy
import numpy as np

from oragent.domains.driving import baseline, network
from oragent.domains.driving.control import Controller
from oragent.domains.driving.controllers import IdmMobil, Wanderer, stand_still
from oragent.domains.driving.drive import Drive, drive
from oragent.domains.driving.scenario import Scenario

HERE = Path(__file__).parent
SEED = runpy.run_path(str(HERE / "heuristic.py"))["driving_actions"]
REFERENCES: dict[str, Callable[[Scenario], Controller | None]] = {
    "SUMO's own": lambda scenario: None,
    "IDM + MOBIL": lambda scenario: IdmMobil(),
    "seed": lambda scenario: SEED,
    "motionless": lambda scenario: stand_still,
    "random": lambda scenario: Wanderer(np.random.default_rng([scenario.seed, scenario.trials])),
}


def scenarios(mode: str) -> list[Scenario]:
    """What an evaluation in that mode simulates."""
    return [
        Scenario(size, seed, problem.HORIZONS[mode]) for size in problem.SIZES[mode] for seed in problem.SEEDS[mode]
    ]


def row(name: str, mode: str, road: network.Road, known: baseline.Baseline, folder: Path) -> str:
    """One line of the table."""
    seen: dict[int, list[tuple[Drive, int]]] = {size: [] for size in problem.SIZES[mode]}
    for scenario in scenarios(mode):
        ended = drive(scenario, road, REFERENCES[name](scenario), folder)
        seen[scenario.trials].append((ended, known.throughput(scenario)))
    result = problem.summary(seen, 0.0, 0.0)
    light, heavy = (result.metrics[case] for case in ("light", "heavy"))
    figures = (result.score, result.metrics["worst"]["score"], result.metrics["paper_score"])
    scores = " ".join(f"{figure:9.2f}" for figure in (*figures, light["paper_score"], heavy["paper_score"]))
    collisions, speed = (f"{light[key]:6.1f} {heavy[key]:6.1f}" for key in ("collisions", "mean_speed"))
    return f"{mode:6s} {name:12s} {scores}   {collisions}   {speed}   {result.features}"


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="simulate SUMO's own drivers anew and keep the figures")
    parser.add_argument("--mode", action="append", choices=problem.SIZES, help="just this mode; may be repeated")
    given = parser.parse_args()
    with TemporaryDirectory(prefix="driving-") as name:
        folder = Path(name)
        road = network.build(folder)
        if given.write:
            every = [scenario for mode in problem.SIZES for scenario in scenarios(mode)]
            baseline.write(HERE / problem.BASELINE.name, every, road, folder)
        print("mode   controller       score     worst  paper_score   light     heavy   collisions      mean speed")
        for mode in given.mode or problem.SIZES:
            known = baseline.Baseline(HERE / problem.BASELINE.name, road, folder)
            for reference in REFERENCES:
                print(row(reference, mode, road, known, folder), flush=True)


if __name__ == "__main__":
    main()
