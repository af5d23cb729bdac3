"""Score a controller of all vehicles: SUMO simulates every demand of a course."""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib import import_module
from pathlib import Path
from time import perf_counter

from oragent.harness import Arguments, Guest, Result, figures, fresh, watching
from oragent.domains.driving.control import Driver
from oragent.domains.driving.evaluation import Named, Setup, evaluate
from oragent.domains.driving.network import Road
from oragent.domains.driving.scenario import Course
from oragent.domains.driving.trials import Drive, iterate_moves
from oragent.harness.drawing import MARGIN, SIDE, WIDTH, wrap_shapes

FUNCTION = "driving_actions"
# Steps of the hook are seconds of simulated time.
HOOK = "second"
DRAWN = "demands of the same law, drawn anew; SUMO's own drivers were timed on them just now"


# Colors of speeds, the slowest first.
COLORS = "#a50026", "#f46d43", "#b8a020", "#66bd63", "#006837"
# Speed range of one color in m/s, and time between two drawn positions in s.
STEP_MPS, STEP_S = 3.0, 2
# Sizes in pixels.
PANEL, GAP, LEGEND = 110.0, 18.0, 26.0


def score(
    arguments: Arguments,
    driving_actions: Guest,
    *,
    course: Course,
    problem: str,
    driver: Callable[..., Driver] = Driver,
    data: Path | None = None,
) -> Result:
    """Simulate every demand of the requested sizes.

    Args:
        arguments: Arguments of the evaluation.
        driving_actions: Candidate that controls all vehicles.
        course: Demands of the problem, and the time limits of a candidate.
        problem: Name of the problem, whose seed heuristic may be drawn next to the candidate.
        driver: Class that queries the candidate, with or without a memory of the simulation.
        data: Folder of the published demands; None leaves them out.
    """
    begun = perf_counter()
    driving_actions.limit_s = course.call_limit_s
    setup = Setup(
        course=course,
        mode=arguments.mode,
        sizes=arguments.sizes,
        root=arguments.root_dir,
        prefix=arguments.file_output_prefix,
        flags=arguments.flags,
        data=data,
        fresh_seed=arguments.fresh_seed,
        floor=arguments.floor if arguments.protocol == "reevo" else None,
        watch=watching(HOOK),
    )
    paint = partial(_draw_pictures, prefix=setup.prefix) if setup.flags & {"record", "beside"} else None
    asks = partial(driver, limit_s=course.run_limit_s)
    seed = arguments.place(Path("problems", problem, "heuristic.py"))
    with _seed_controller(seed, course, asks) if "beside" in setup.flags else nullcontext() as beside:
        show = partial(_show_drive, driving_actions) if driving_actions.album is not None else None
        outcome = evaluate(setup, partial(asks, driving_actions), paint, beside, show)
    metrics, total = figures("score", outcome.scores)
    # The study reports its own score and demand.
    if arguments.protocol == "oragent" and "paper_protocol" in outcome.metrics:
        total = outcome.metrics["paper_protocol"]["score"]
    seconds = {
        "candidate_seconds": round(driving_actions.seconds, 3),
        "simulation_seconds": round(perf_counter() - begun - driving_actions.seconds, 3),
    }
    return Result(metrics | outcome.metrics | fresh(arguments, DRAWN) | seconds, outcome.features, total)


def data_folder() -> Path | None:
    """Parse ``--data FOLDER`` from the command line: folder of the published demands, or None."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--data", type=Path, help="folder with light.txt and heavy.txt, the published demands")
    options, sys.argv[1:] = parser.parse_known_args()
    folder: Path | None = options.data
    return folder


@contextmanager
def _seed_controller(file: Path, course: Course, asks: Callable[..., Driver]) -> Iterator[Named]:
    """Yield controllers that run the seed heuristic of the problem in a separate guest."""
    with Guest(file, FUNCTION, fresh_processes=True) as guest:
        guest.limit_s = course.call_limit_s
        yield partial(asks, guest)


def _show_drive(guest: Guest, where: str, road: Road, ended: Drive, value: float) -> None:
    guest.where = where
    guest.show(road, ended, value)


def _draw_pictures(ended: Mapping[str, Drive], road: Road, prefix: str) -> None:
    """Write the pictures of drives on the same demand, and print their paths."""
    # Imported by name because the module imports matplotlib, and most evaluations draw nothing.
    pictures = import_module("oragent.domains.driving.pictures")
    for file, paint in (("driving_worst.gif", pictures.animate), ("driving_worst_time_space.png", pictures.time_space)):
        paint(ended, road, Path(f"{prefix}{file}"))
        print(f"wrote {prefix}{file}")


def draw_drive(road: Road, ended: Drive) -> str:
    """Draw a recorded drive: one panel per lane of E0, leftmost first; colors show speeds.

    Args:
        road: Road of the drive.
        ended: Recorded drive.
    """
    along, across = SIDE / max(1, len(ended.seconds)), PANEL / road.length
    shapes = [f'<text x="{MARGIN}" y="14" font-size="12" font-family="sans-serif">m/s:</text>']
    for at, color in enumerate(COLORS):
        x, text = (
            MARGIN + 40 + 70 * at,
            f"{STEP_MPS * at:g} to {STEP_MPS * (at + 1):g}" if at < len(COLORS) - 1 else f"{STEP_MPS * at:g} or more",
        )
        shapes.append(f'<rect x="{x:.0f}" y="4" width="10" height="10" fill="{color}"/>')
        shapes.append(f'<text x="{x + 14:.0f}" y="14" font-size="11" font-family="sans-serif">{text}</text>')
    for row, lane in enumerate(reversed(range(road.lanes))):
        top = LEGEND + row * (PANEL + GAP)
        side = {0: ", right", road.lanes - 1: ", left"}.get(lane, "")
        label = f"lane {lane}{side}: {road.length:.0f} m upwards, {len(ended.seconds)} s to the right"
        shapes.append(f'<text x="{MARGIN}" y="{top + 10:.0f}" font-size="11" font-family="sans-serif">{label}</text>')
        shapes.append(f'<rect x="{MARGIN}" y="{top + GAP - 4:.0f}" width="{SIDE}" height="{PANEL}" fill="#f2f3f0"/>')
        paths = dict.fromkeys(COLORS, "")
        base = top + GAP - 4 + PANEL
        for time, former, now, speed in iterate_moves(ended, lane, STEP_S):
            color = COLORS[min(int(max(speed, 0.0) / STEP_MPS), len(COLORS) - 1)]
            x, y = MARGIN + (time - STEP_S) * along, base - former * across
            paths[color] += f"M{x:.1f} {y:.1f}l{STEP_S * along:.1f} {(former - now) * across:.1f}"
        shapes += [
            f'<path d="{path}" fill="none" stroke="{color}" stroke-width="1"/>' for color, path in paths.items() if path
        ]
    return wrap_shapes(WIDTH, LEGEND + road.lanes * (PANEL + GAP) + MARGIN, shapes)
