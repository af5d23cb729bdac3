"""Files of published instances are scored by the problems' own evaluators, and compared with published values."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from oragent.domains.instance_files import read_routes, read_tours
from oragent.evaluation.discovered import find_discovered, list_discovered
from oragent.evaluation.problem import find_problem
from oragent.programs.parameters import read_value

ROOT = Path(__file__).parents[1]
TOOLS = ROOT / "docs" / "tools"
sys.path.insert(0, str(TOOLS))
try:
    import open_track
    import published_tests
finally:
    sys.path.remove(str(TOOLS))

# Four customers in two directions, and the routes that serve each direction.
VRP = """CAPACITY : 6
EDGE_WEIGHT_TYPE : EUC_2D
NODE_COORD_SECTION
1 50 50
2 0 40
3 0 60
4 100 40
5 100 60
DEMAND_SECTION
1 0
2 3
3 3
4 3
5 3
DEPOT_SECTION
1
-1
"""
SOL = "Route #1: 1 2\nRoute #2: 3 4\nCost 244\n"


@pytest.mark.slow
def test_tours_of_a_file_are_measured_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    angles = 2 * np.pi * np.arange(12) / 12
    ring = 0.5 + 0.5 * np.stack((np.cos(angles), np.sin(angles)), axis=1)
    random = np.random.default_rng(0)
    files = tmp_path / "rings"
    files.mkdir()
    np.save(files / "test12_dataset.npy", np.stack([ring[random.permutation(12)] for _ in range(2)]))
    monkeypatch.setattr(sys, "argv", ["published_tests", f"tsp_aco={files}"])
    assert published_tests.main() == 0
    row = capsys.readouterr().out.splitlines()[-1]
    assert row.startswith("| `tsp_aco` | rings | 12 | 2 |")
    # The shortest tour follows the ring.
    assert row.endswith(f"| {12 * math.sin(math.pi / 12):.6g} |")


def test_files_become_a_named_set_of_a_copy(tmp_path: Path) -> None:
    files = tmp_path / "given"
    files.mkdir()
    (files / "a.vrp").write_text(VRP)
    problem = published_tests.with_files("cvrp_aco", files, tmp_path)
    data = problem.find_data(published_tests.SET, tmp_path)
    assert data is not None
    assert data.is_relative_to(tmp_path)
    assert (data / "a.vrp").read_text() == VRP
    original = yaml.safe_load((ROOT / "problems" / "cvrp_aco" / "problem.yaml").read_text())
    assert original["sets"].keys() == problem.about.sets.keys() - {published_tests.SET}


def test_references_are_routes_and_optima_in_the_unit_of_the_scaled_places(tmp_path: Path) -> None:
    (tmp_path / "a.vrp").write_text(VRP)
    (tmp_path / "a.sol").write_text(SOL)
    routes = read_routes(tmp_path)
    (found,) = dict(published_tests.published_references(tmp_path, routes)).values()
    assert found == pytest.approx(2 * (2 * math.hypot(50, 10) + 20) / 100)
    (tmp_path / "eil51.tsp").write_text("EDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 213 0\nEOF\n")
    tours = read_tours(tmp_path)
    references, lkh = published_tests.find_references("tsp_gls", tmp_path, tours, None)
    assert references == {2: [2.0]}
    assert lkh == {}


@pytest.mark.parametrize(("sizes", "groups"), [((50, 100), 2), ((51, 99, 130, 200, 201, 500, 501, 724, 1655), 4)])
def test_many_sizes_are_put_together(sizes: tuple[int, ...], groups: int) -> None:
    found = published_tests.list_groups(sizes)
    assert len(found) == groups
    assert [size for group in found for size in group] == list(sizes)
    assert sum(len(group) > 1 for group in found) == (3 if groups == 4 else 0)


def test_a_row_has_the_mean_gap_of_each_program_and_marks_what_is_worse_than_something_simpler() -> None:
    values = {"seed": {3: [4.0, 3.0]}, "greedy": {3: [2.0, 2.0]}, "best": {3: [3.0, 2.0]}, "LKH": {}}
    (row,) = published_tests.make_rows(values, {3: [2.0, 2.0]}, "best")
    assert row.figures == {"seed": 75.0, "greedy": 0.0, "best": 25.0}
    assert (row.count, row.best_mean) == (2, 2.5)
    assert "↓" in published_tests.show("tsp_aco", Path("x"), row, "best")
    (plain,) = published_tests.make_rows({**values, "greedy": {3: [3.0, 2.0]}}, None, "best")
    assert plain.figures["best"] == 2.5
    assert "↓" not in published_tests.show("tsp_aco", Path("x"), plain, "best")


@pytest.mark.parametrize(("name", "constant"), open_track.WORK.items())
def test_a_shipped_program_can_do_more_work(name: str, constant: str) -> None:
    problem = find_problem(name, ROOT)
    (title,) = list_discovered(problem)
    source = find_discovered(problem, title).read_text()
    more = open_track.with_work(source, constant, 4)
    assert read_value(more, constant) == 4 * read_value(source.replace(*open_track.APART), constant)
    compile(more, title, "exec")
