"""Score a driver of all vehicles: SUMO simulates a road on which they must weave, and traffic must flow safely."""

from oragent.harness import Arguments, Guest, Result, figures, fresh, run

# isort: split
# The harness pins numerical libraries to one thread, so it comes before them.

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter

from oragent.domains.driving.courses import WEAVING
from oragent.domains.driving.drive import Drive
from oragent.domains.driving.driver import Driver
from oragent.domains.driving.evaluation import FLAGS, Named, Setup, evaluate
from oragent.domains.driving.network import Road

DRAWN = "demands of the same law, drawn anew; SUMO's own drivers were timed on them just now"
FUNCTION = "driving_actions"
SEED = Path("problems/driving/heuristic.py")


def score(arguments: Arguments, driving_actions: Guest, data: Path | None = None) -> Result:
    """Simulate every demand of the sizes that were asked for."""
    begun = perf_counter()
    driving_actions.limit_s = WEAVING.call_limit_s
    setup = Setup(
        WEAVING,
        arguments.mode,
        arguments.sizes,
        arguments.root_dir,
        arguments.file_output_prefix,
        arguments.flags,
        data,
        arguments.fresh_seed,
    )
    paint = partial(draw, prefix=setup.prefix) if setup.flags & {"record", "beside"} else None
    with seed(arguments.place(SEED)) if "beside" in setup.flags else nobody() as beside:
        outcome = evaluate(setup, partial(Driver, driving_actions, limit_s=WEAVING.run_limit_s), paint, beside)
    found, total = figures("score", outcome.scores)
    seconds = {
        "candidate_seconds": round(driving_actions.seconds, 3),
        "simulation_seconds": round(perf_counter() - begun - driving_actions.seconds, 3),
    }
    return Result(found | outcome.metrics | fresh(arguments, DRAWN) | seconds, outcome.features, total)


@contextmanager
def seed(heuristic: Path) -> Iterator[Named]:
    """Let the problem's own heuristic drive, in a guest of its own."""
    with Guest(heuristic, FUNCTION, spare=True) as guest:
        guest.limit_s = WEAVING.call_limit_s
        yield partial(Driver, guest, limit_s=WEAVING.run_limit_s)


@contextmanager
def nobody() -> Iterator[None]:
    """Let nobody drive."""
    yield None


def draw(ended: Mapping[str, Drive], road: Road, prefix: str) -> None:
    """Write the pictures of drives on the same demand, and say where they are."""
    from oragent.domains.driving import diagrams, pictures  # matplotlib: most evaluations draw nothing

    for file, paint in (("driving_worst.gif", pictures.animate), ("driving_worst_time_space.png", diagrams.time_space)):
        paint(ended, road, Path(f"{prefix}{file}"))
        print(f"wrote {prefix}{file}")


def data_folder() -> Path | None:
    """Take ``--data FOLDER`` off the command line: the published demands, where somebody has them."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--data", type=Path, help="folder with light.txt and heavy.txt, the published demands")
    given, sys.argv[1:] = parser.parse_known_args()
    return given.data


if __name__ == "__main__":
    run(partial(score, data=data_folder()), function=FUNCTION, sizes=WEAVING.sizes, flags=FLAGS, spare=True)
