"""LEHD's test files: what is read of one of ours, of the published ones where they lie beside the repository, and what is wrong."""

from pathlib import Path

import numpy as np
import pytest

from oragent._base.errors import ProblemError
from oragent.domains import network_instances, tsp
from oragent.domains.network_instances import PARTS, routes, tours

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "lehd"
published = pytest.mark.skipif(not SHARED.is_dir(), reason="LEHD's test files are not here")


def written(folder: Path, rng: np.random.Generator, lines: int = 128) -> np.ndarray:
    """Files of random instances in the published form; the cities of the first one."""
    points = rng.random((lines, 200, 2))
    tour = " ".join(map(str, [*range(1, 201), 1]))
    (folder / "test_TSP200_n128.txt").write_text(
        "".join(f"{' '.join(map(repr, one.ravel().tolist()))} output {tour} \n" for one in points)
    )
    zero = ",".join(["0"] * 200)
    (folder / "vrp200_test_lkh.txt").write_text(
        "".join(
            f"depot,0.5,0.25,customer,{','.join(map(repr, one.ravel().tolist()))},capacity,80.0,demand,"
            f"{','.join(['3'] * 200)},cost,20.5,node_flag,{zero},{zero}\n"
            for one in points
        )
    )
    return points


def test_the_parts_are_the_lines_of_reevo(tmp_path: Path) -> None:
    points = written(tmp_path, np.random.default_rng(0))
    for mode, part in PARTS.items():
        found = tours(tmp_path, mode, 200)
        assert len(found) == len(part)
        assert np.array_equal(found[0].coordinates, points[part.start])
    route = routes(tmp_path, "val", 200)[0]
    assert route.coordinates[0].tolist() == [0.5, 0.25]
    assert np.array_equal(route.coordinates[1:], points[10])
    assert (route.capacity, route.demands[0], route.demands[1:].tolist()) == (80, 0, [3] * 200)


def test_a_file_that_is_missing_or_broken_is_one_line_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="missing"):
        tours(tmp_path, "val", 200)
    with pytest.raises(ProblemError, match="1000"):
        tours(tmp_path, "val", 1000)
    written(tmp_path, np.random.default_rng(0), lines=20)
    with pytest.raises(ProblemError, match="42"):
        tours(tmp_path, "val", 200)
    for text in ("nothing", "0.5 0.5 output 1 1", "x y output 1"):
        (tmp_path / "test_TSP200_n128.txt").write_text(f"{text}\n" * 128)
        with pytest.raises(ProblemError, match="LEHD"):
            tours(tmp_path, "val", 200)
    (tmp_path / "vrp200_test_lkh.txt").write_text("depot,0,0\n" * 128)
    with pytest.raises(ProblemError, match="LEHD"):
        routes(tmp_path, "val", 200)


@published
@pytest.mark.parametrize("size", network_instances.LEHD_SIZES)
def test_the_published_tours_are_as_short_as_tours_of_random_cities_are(size: int) -> None:
    instances = tours(SHARED, "val", size)
    lines = (SHARED / f"test_TSP{size}_n128.txt").read_text().splitlines()[10:42]
    lengths = []
    for instance, line in zip(instances, lines, strict=True):
        tour = [int(word) - 1 for word in line.split("output")[1].split()][:-1]
        lengths.append(tsp.objective(instance, tsp.check(instance, tour)))
    constant = np.mean(lengths) / np.sqrt(
        size
    )  # Johnson & McGeoch 1996: 0.7124 (1 + 0.33 / n) at the border of a torus
    assert 0.73 < constant < 0.78


@published
def test_the_published_routes_have_their_capacities_and_demands() -> None:
    for size, capacity in ((200, 80), (500, 100)):
        found = routes(SHARED, "val", size)
        assert {one.capacity for one in found} == {capacity}
        assert {len(one) for one in found} == {size + 1}
        assert {int(value) for one in found for value in one.demands[1:]} == set(range(1, 10))
