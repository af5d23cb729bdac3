"""Print what reference controllers get, or keep the throughput of SUMO's own drivers (``--write``).

Modes are those of the evaluator, and ``protocol`` for the published one,
with ``--data FOLDER`` also on the two published demands.
"""

import argparse
import runpy
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from oragent.harness import figures

# isort: split
# The harness pins numerical libraries to one thread, so it comes before them.

import numpy as np
from controllers import IdmMobil, Wanderer, stand_still

from oragent.discovered import load
from oragent.domains.driving import protocol, trials
from oragent.domains.driving.control import Controller
from oragent.domains.driving.evaluation import DrivingBaseline, RoadBench, write_baseline
from oragent.domains.driving.scenario import LONG, WEAVING, Course, Scenario
from oragent.domains.driving.trials import Trial

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
Reference = Callable[[], Controller | None]
REFERENCES: dict[str, Reference] = {
    "SUMO's own": lambda: None,
    "cooperative": lambda: load("driving", root=ROOT),
    "IDM + MOBIL": IdmMobil,
    "seed": lambda: runpy.run_path(str(HERE / "heuristic.py"))["driving_actions"],
    "naive": lambda: runpy.run_path(str(HERE / "naive.py"))["driving_actions"],
    "motionless": lambda: stand_still,
    "random": lambda: Wanderer(np.random.default_rng(0)),
}
HEAD = "mode   controller       score  error   worst    light   heavy   collisions    mean speed   cell"
PROTOCOL_HEAD = "published protocol          score  error    light   heavy   collisions    critical"


def row(mode: str, name: str, bench: RoadBench, known: DrivingBaseline) -> str:
    """One line of the table of scores: all simulations of a mode, none left out."""
    reference = REFERENCES[name]
    seen = trials.run(
        WEAVING.demands(mode, WEAVING.sizes["val"]),
        lambda scenario: Trial(bench.drive(scenario, lambda _: reference()), known.throughput(scenario)),
        floor=None,
    )
    _, score = figures("score", {case: [trial.selected for trial in seen[case]] for case in seen})
    found = trials.summary(seen, WEAVING.names, planned=0)
    light, heavy = (np.mean([trial.selected for trial in of_case]) for of_case in seen.values())
    cases = (found["light"], found["heavy"])
    collisions, speed = (" ".join(f"{case[key]:6.2f}" for case in cases) for key in ("collisions", "mean_speed"))
    scores = f"{score:8.2f} {found['standard_error']:6.2f} {found['worst']['score']:8.1f} {light:8.2f} {heavy:7.2f}"
    return f"{mode:6s} {name:12s} {scores}   {collisions}   {speed}   {trials.cell(seen)}"


def protocol_row(title: str, name: str, pairs: list[dict[int, Scenario]], bench: RoadBench) -> str:
    """One line of the table of the published protocol."""
    reference = REFERENCES[name]
    found: Mapping[str, Any] = protocol.summary(pairs, lambda scenario: bench.drive(scenario, lambda _: reference()))
    cases = (found["light"], found["heavy"])
    error = f"{found['standard_error']:6.2f}" if "standard_error" in found else " " * 6
    scores = " ".join(f"{case['score']:8.2f}" for case in cases)
    collisions, critical = (" ".join(f"{case[key]:6.2f}" for case in cases) for key in ("collisions", "critical_ttc"))
    return f"{title:12s} {name:12s} {found['score']:8.2f} {error} {scores}   {collisions}   {critical}"


def main() -> None:
    """Do what the command line says."""
    modes = [*WEAVING.seeds, "protocol"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="simulate SUMO's own drivers anew and keep the figures")
    parser.add_argument("--mode", action="append", choices=modes, help="just this mode; may be repeated")
    parser.add_argument("--controller", action="append", choices=REFERENCES, help="just this one; may be repeated")
    parser.add_argument("--data", type=Path, help="folder with light.txt and heavy.txt, the published demands")
    given = parser.parse_args()
    names = given.controller or [*REFERENCES]
    with TemporaryDirectory(prefix="driving-") as folder:
        bench = RoadBench(Path(folder))
        if given.write:
            for course in (WEAVING, LONG):
                keep(course, bench)
        known = DrivingBaseline(ROOT / WEAVING.baseline, bench.road, bench.folder)
        asked = given.mode or modes
        print(HEAD)
        for mode in asked:
            for name in names if mode != "protocol" else ():
                print(row(mode, name, bench, known), flush=True)
        if "protocol" in asked:
            print_protocol(names, bench, given.data)


def keep(course: Course, bench: RoadBench) -> None:
    """Simulate SUMO's own drivers on all demands of a course, and keep their throughputs."""
    planned = [course.demands(mode, sizes) for mode, sizes in course.sizes.items() if mode != "fresh"]
    every = [scenario for of_mode in planned for of_case in of_mode.values() for scenario in of_case]
    write_baseline(ROOT / course.baseline, every, bench.road, bench.folder)


def print_protocol(names: list[str], bench: RoadBench, data: Path | None) -> None:
    """Print the table of the published protocol."""
    sets = {"eight drawn": [protocol.drawn(seed) for seed in WEAVING.protocol["test"]]}
    if data is not None:
        sets["its files"] = [protocol.files(data)]
    print(PROTOCOL_HEAD)
    for title, pairs in sets.items():
        for name in names:
            print(protocol_row(title, name, pairs, bench), flush=True)


if __name__ == "__main__":
    main()
