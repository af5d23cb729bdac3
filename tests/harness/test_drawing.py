"""Drawings of problems show the checked solution, at most 480 x 480 pixels large, and cost an evaluation nothing."""

import math
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oragent._base.protocol import Result, parse
from oragent.domains import bpp, cvrp, mkp, op, pdn, tsp
from oragent.harness.drawing import COLORS, ROW_HEIGHT, draw_grid, draw_packing
from oragent.report.solution_pictures import is_plain_svg
from tests.sources import ROOT

SIDE = 456.0  # of the square that coordinates are scaled to, pixels
MEASURED = re.compile("seconds|by_|drawn")  # metrics that differ from evaluation to evaluation, or come with pictures
POLYGON, CIRCLE, COLUMN = (
    re.compile(r'<polygon points="([^"]+)"'),
    re.compile("<circle"),
    re.compile(r"M([\d.]+ [\d.]+)"),
)


def evaluated(problem: str, folder: Path, *options: str) -> tuple[Result, list[str]]:
    """The result of the seed on the first training instance, and the pictures."""
    evaluator, prefix = ROOT / "problems" / problem / "eval.py", f"--file_output_prefix={folder}/"
    few = ["--instances=1"]
    if problem == "cvrp_solver":
        pytest.importorskip("pyvrp")
    if problem == "milp_branching":
        pytest.importorskip("pyscipopt")
        few.append("--problem_size=30")
    if problem in NEURAL:  # their networks solve all instances of a size at once, so the copy has one
        evaluator, few = one_instance(evaluator.parent, folder), ["--device=cpu"]
    command = [sys.executable, evaluator, f"--root_dir={folder}", "--mode=train", prefix]
    ended = subprocess.run([*command, *few, *options], cwd=folder, capture_output=True, text=True)
    result = parse(ended.stdout)
    assert isinstance(result, Result), ended.stderr
    return result, [path.read_text() for path in folder.glob("*.svg")]


def one_instance(problem: Path, folder: Path) -> Path:
    """The evaluator in a copy of a neural problem with one training instance."""
    if find_spec("torch") is None:
        pytest.skip("torch is not installed")
    shutil.copytree(problem, folder / problem.name, dirs_exist_ok=True)
    evaluator = folder / problem.name / "eval.py"
    text, replaced = re.subn(r'"train": \d+', '"train": 1', evaluator.read_text())
    assert replaced == 1
    evaluator.write_text(text)
    return evaluator


def drawn_length(picture: str, nodes: Any) -> float:
    """Length of all polygons of a picture, in the unit of the instance."""
    total = 0.0
    for polygon in POLYGON.findall(picture):
        points = [tuple(map(float, point.split(","))) for point in polygon.split()]
        total += sum(math.dist(*pair) for pair in zip(points, points[1:] + points[:1], strict=True))
    return total * float((nodes.max(axis=0) - nodes.min(axis=0)).max()) / SIDE


def has_tour(picture: str, result: Result, instance: tsp.TspInstance) -> bool:
    drawn = len(POLYGON.findall(picture)), len(CIRCLE.findall(picture)), 'fill="none" stroke="#222"' in picture
    assert drawn == (1, len(instance), False)
    return drawn_length(picture, instance.coordinates) == pytest.approx(result.score, rel=0.01)


def has_routes(picture: str, result: Result, instance: cvrp.CvrpInstance) -> bool:
    count = round(result.metrics["routes_over_least"] * cvrp.least_routes(instance))
    assert len(POLYGON.findall(picture)) == count > 1
    return drawn_length(picture, instance.coordinates) == pytest.approx(result.score, rel=0.01)


def has_all_routes(picture: str, result: Result, instance: cvrp.CvrpInstance) -> bool:
    assert len(POLYGON.findall(picture)) >= cvrp.least_routes(instance)
    assert 'fill="none" stroke="#222"' not in picture  # nobody is left out
    visits = sum(len(points.split()) for points in POLYGON.findall(picture))
    assert visits == len(instance) - 1 + len(POLYGON.findall(picture))  # each customer once, each route from the depot
    return drawn_length(picture, instance.coordinates) == pytest.approx(result.score, rel=0.01)


def has_scaled_routes(picture: str, result: Result, instance: Any) -> bool:
    polygons = POLYGON.findall(picture)
    assert sum(len(points.split()) for points in polygons) == instance.size + len(polygons)
    length = result.score * instance.estimate_length()
    return drawn_length(picture, instance.coordinates) == pytest.approx(length, rel=0.02)


def has_path(picture: str, result: Result, instance: op.OpInstance) -> bool:
    (polygon,), fills = POLYGON.findall(picture), re.findall(r'<circle [^>]*fill="([^"]+)"', picture)
    visited = np.array([fill != "none" for fill in fills])
    assert len(polygon.split()) == visited.sum() == 1 + result.metrics["visited_50"] < len(visited) == len(instance)
    assert drawn_length(picture, instance.coordinates) <= 1.01 * instance.maxlen
    return instance.prizes[visited].sum() == pytest.approx(result.score)


def has_bins(picture: str, result: Result, instance: bpp.BppInstance) -> bool:
    items = COLUMN.findall(picture)
    assert len(items) == len(instance)
    # The first item of each bin begins at the lower edge of a row.
    grounds = {
        float(y) + float(height) for y, height in re.findall(r'y="([\d.]+)" width="[\d.]+" height="([\d.]+)"', picture)
    }
    standing = [item for item in items if min(abs(float(item.split()[1]) - ground) for ground in grounds) < 0.11]
    return len(standing) == result.score


def has_columns(picture: str, result: Result, instance: mkp.MkpInstance) -> bool:
    columns: dict[float, list[tuple[float, float]]] = {}
    for x, y, height in re.findall(r"M([\d.]+) ([\d.]+)v-([\d.]+)", picture):
        columns.setdefault(float(x), []).append((-float(y), float(height) / ROW_HEIGHT))
    weights = np.array([[share for _, share in sorted(columns[x])] for x in sorted(columns)]).T
    items = [int(np.abs(instance.weights - row).sum(axis=1).argmin()) for row in weights]  # the likest item
    return len(set(items)) == len(items) and instance.prizes[items].sum() == pytest.approx(result.score)


def has_capacitors(picture: str, result: Result, instance: pdn.PlacementInstance) -> bool:
    colors = re.findall(r'<rect [^>]*fill="([^"]+)"', picture)[: pdn.PORTS]  # the legend comes later
    placed, kept, probed = ([port for port, fill in enumerate(colors) if fill == color] for color in COLORS[:3])
    assert (kept, probed) == (sorted(instance.keepouts), [instance.probe])
    return pdn.objective(instance, pdn.check(instance, placed)) == pytest.approx(result.score)


def torch_stream() -> Any:
    """The module of instances that PyTorch draws; it needs an extra."""
    return import_module("oragent.domains.network_instances")


def first_steered_instance() -> Any:
    """The first instance of mode train of the problem inside PyVRP."""
    rng = np.random.default_rng([*b"cvrp_solver train", 100, 0]).spawn(1)[0]
    return import_module("tests.test_cvrp_solver").instances.draw(rng, 100)


def has_depths(picture: str, result: Result, instance: Any) -> bool:
    """The seed branches on the largest product of gains, and probes nothing."""
    branching = import_module("tests.test_branching")
    seed = np.random.SeedSequence([*b"milp_branching train", 30, 0, 0]).generate_state(1)[0] % 2**31
    outcome = branching.tree.search(
        instance,
        int(seed),
        lambda node: np.zeros(len(node.fraction)),
        lambda node: np.maximum(node.gain_down, 1e-6) * np.maximum(node.gain_up, 1e-6),
    )
    assert outcome.nodes == result.metrics["nodes"]
    strokes = np.array([float(length) for length in re.findall(r"v([\d.]+)", picture)])
    return strokes == pytest.approx(strokes.min() * (1 + np.array(outcome.depths)), abs=0.1 * max(outcome.depths))


def first_branching_instance() -> Any:
    """The first instance of mode train of the problem inside SCIP."""
    rng = np.random.default_rng([*b"milp_branching train", 30, 0]).spawn(1)[0]
    return import_module("tests.test_branching").instances.draw(rng, 30)


NEURAL = ("tsp_pomo", "tsp_lehd", "cvrp_pomo", "cvrp_lehd")
Check = Callable[[str, Result, Any], bool]
DRAWN: dict[str, tuple[Check, Callable[[], Any]]] = {
    "tsp_constructive": (has_tour, lambda: tsp.stream(tsp.CONSTRUCTIVE_STREAM, "train", 50)[0]),
    "tsp_aco": (has_tour, lambda: tsp.stream(tsp.ACO_STREAM, "train", 50)[0]),
    "tsp_gls": (has_tour, lambda: tsp.stream(tsp.GLS_STREAM, "train", 200)[0]),
    "cvrp_aco": (has_routes, lambda: cvrp.stream("train", 50)[0]),
    "cvrp_solver": (has_scaled_routes, first_steered_instance),
    "milp_branching": (has_depths, first_branching_instance),
    "op_aco": (has_path, lambda: op.stream("train", 50)[0]),
    "bpp_online": (has_bins, lambda: bpp.weibull_stream("train", 5000)[0]),
    "bpp_online_informed": (has_bins, lambda: bpp.weibull_stream("train", 5000)[0]),
    "bpp_offline_aco": (has_bins, lambda: bpp.uniform_stream("train", 500)[0]),
    "mkp_aco": (has_columns, lambda: mkp.stream("train", 100)[0]),
    "tsp_pomo": (has_tour, lambda: torch_stream().tsp_stream("train", 200)[0]),
    "tsp_lehd": (has_tour, lambda: torch_stream().tsp_stream("train", 200)[0]),
    "cvrp_pomo": (has_all_routes, lambda: torch_stream().cvrp_stream("train", 200)[0]),
    "cvrp_lehd": (has_all_routes, lambda: torch_stream().cvrp_stream("train", 200)[0]),
    "dpp_ga": (has_capacitors, lambda: pdn.part("train", pdn.draw_sites(np.random.default_rng(20)), pdn.generate())[0]),
}


# Tested with the other tests of driving.
DRIVING = {"driving", "driving_long", "driving_stateful"}
# Problems of the default tests; the slow ones take all.
QUICK = {"bpp_online", "tsp_constructive", "tsp_gls"}


def test_all_problems_draw_and_are_tested_here() -> None:
    drawing = {path.parent.name for path in ROOT.glob("problems/*/eval.py") if "draw=" in path.read_text()}
    assert drawing == set(DRAWN) | DRIVING == {path.parent.name for path in ROOT.glob("problems/*/eval.py")}


@pytest.mark.parametrize(
    "problem", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in DRAWN]
)
def test_a_problem_draws_its_checked_solution(problem: str, tmp_path: Path) -> None:
    result, (picture,) = evaluated(problem, tmp_path, "--draw_solutions")
    assert list(result.metrics["drawn"].values()) == [pytest.approx(result.score)]
    has_shapes, make_instance = DRAWN[problem]
    assert is_plain_svg(picture.encode())
    assert max(pixels(picture)) <= 480
    assert has_shapes(picture, result, make_instance())


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["tsp_constructive", "bpp_online", "mkp_aco", "tsp_pomo"])
def test_a_problem_draws_on_request_alone_and_scores_alike(problem: str, tmp_path: Path) -> None:
    plain, nothing = evaluated(problem, tmp_path)
    assert nothing == []
    assert "drawn" not in plain.metrics
    result, _ = evaluated(problem, tmp_path, "--draw_solutions")
    assert (plain.score, plain.features) == (result.score, result.features)
    same = [{key: value for key, value in each.metrics.items() if not MEASURED.search(key)} for each in (plain, result)]
    assert same[0] == same[1]


def pixels(picture: str) -> tuple[int, int]:
    """Width and height."""
    found = re.search(r'width="(\d+)" height="(\d+)"', picture)
    assert found
    return int(found[1]), int(found[2])


@pytest.mark.parametrize("count", [0, 1, 5, 160, 161, 2060, 3200, 3201, 20_000])
def test_packings_of_any_number_of_bins_fit(count: int) -> None:
    picture = draw_packing([1.0] * count, range(count), 2.0)
    assert is_plain_svg(picture.encode())
    assert len(COLUMN.findall(picture)) == count
    assert max(pixels(picture)) <= 480
    assert "-" not in "".join(re.findall(r'height="([^"]+)"', picture))


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 30), (30, 2), (10, 10)])
def test_grids_of_any_form_fit(rows: int, columns: int) -> None:
    picture = draw_grid(rows, columns, {"a < b": [0], "c": range(rows * columns)})
    assert is_plain_svg(picture.encode())
    assert max(pixels(picture)) <= 480
    assert picture.count(f'fill="{COLORS[1]}"') == rows * columns + 1  # the last kind of a cell is drawn
    assert picture.count(f'fill="{COLORS[0]}"') == 1


def test_cells_outside_a_grid_are_refused() -> None:
    assert is_plain_svg(draw_grid(2, 2, {}).encode())
    with pytest.raises(ValueError, match="cells"):
        draw_grid(2, 2, {"a": [0, 4]})
