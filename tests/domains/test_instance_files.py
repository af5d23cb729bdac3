"""Files of published instances are read as they say: by hand-made files of each kind."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from oragent.harness import Arguments
from oragent._base.errors import ProblemError
from oragent.domains import bpp, cvrp, tsp
from oragent.domains.instance_files import read_packings, read_routes, read_tours

ROOT = Path(__file__).parents[2]
# A rectangle of 30 by 40, whose tour is 140 long, in the style of two authors.
TSP = "NAME : four\nTYPE: TSP\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n1 10 5\n2 4.0e+01 5\n 3 40.0 45 \n4 10 45\nEOF\n"
SPACED = TSP.replace("TYPE : EUC_2D", "TYPE: EUC_2D ").replace("EOF\n", "\n")
VRP = """NAME : three
CAPACITY : 10
EDGE_WEIGHT_TYPE : EUC_2D
NODE_COORD_SECTION
1\t0\t0
2\t30\t0
3\t0\t60
DEMAND_SECTION
1\t0
2\t4
3\t10
DEPOT_SECTION
\t1
\t-1
EOF
"""
ORLIB = " 2\n u3_00\n 150 3 2\n42\n69\n100\n t3_01\n100.0 3 1\n49.5\n 25.2\n25.3\n"


def write(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


@pytest.mark.parametrize("text", [TSP, SPACED])
def test_cities_are_scaled_to_the_unit_square(text: str, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.full((2, 4, 2), 0.5, dtype=np.float32))
    (instances,) = read_tours(write(tmp_path, b_tsp=text)).values()
    assert [len(each) for each in instances] == [4, 4, 4]
    assert tsp.objective(instances[2], np.arange(4)) == pytest.approx(140 / 40)
    assert instances[2].coordinates.min(axis=0).tolist() == [0, 0]
    assert instances[0].coordinates.tolist() == 4 * [[0.5, 0.5]]


def test_routes_have_the_capacity_of_their_file(tmp_path: Path) -> None:
    rows = np.array([[[0, 0.5, 0.5], [9, 0.1, 0.2]]])
    np.save(tmp_path / "b.npy", rows)
    by_size = read_routes(write(tmp_path, a_vrp=VRP))
    assert list(by_size) == [1, 2]
    (drawn,), (read,) = by_size.values()
    assert (drawn.capacity, drawn.demands.tolist()) == (cvrp.CAPACITY, [0, 9])
    assert drawn.coordinates.tolist() == rows[0, :, 1:].tolist()
    assert (read.capacity, read.demands.tolist()) == (10, [0, 4, 10])
    assert cvrp.objective(read, cvrp.check(read, [0, 1, 0, 2, 0])) == pytest.approx((2 * 30 + 2 * 60) / 60)


def test_items_keep_their_order_and_halves_are_made_whole(tmp_path: Path) -> None:
    items = np.array([[1, 2, 3, 4]])
    np.savez(tmp_path / "a.npz", items=items, capacity=7)
    np.savez(tmp_path / "b.npz", demands=items)
    by_size = read_packings(write(tmp_path, c_txt=ORLIB), 50)
    assert {size: [each.capacity for each in of_size] for size, of_size in by_size.items()} == {
        3: [150, 1000],
        4: [7, 50],
    }
    assert [each.items.tolist() for each in by_size[3]] == [[42, 69, 100], [495, 252, 253]]
    assert [bpp.lower_bound(each) for each in by_size[3]] == [2, 1]


@pytest.mark.parametrize(
    ("read", "name", "text"),
    [
        (read_tours, "a.tsp", TSP.replace("EUC_2D", "GEO")),
        (read_tours, "a.tsp", TSP.replace("\n2 ", "\n3 ")),
        (read_tours, "a.tsp", TSP.replace(" 45 ", "")),
        (read_tours, "a.tsp", TSP.replace("NODE_COORD", "DISPLAY_DATA")),
        (read_tours, "a.npy", "no array"),
        (read_tours, "a.txt", TSP),
        (read_routes, "a.vrp", VRP.replace("\t1\n\t-1", "\t2\n\t-1")),
        (read_routes, "a.vrp", VRP.replace("CAPACITY", "VEHICLES")),
        (read_routes, "a.vrp", VRP.replace("3\t10\n", "3\t11\n")),
        (read_routes, "a.vrp", VRP.replace("3\t10\n", "")),
        (lambda folder: read_packings(folder, 1), "a.txt", ORLIB.replace("25.3", "")),
        (lambda folder: read_packings(folder, 1), "a.txt", "two\n"),
        (lambda folder: read_packings(folder, 1), "a.npz", "no array"),
    ],
)
def test_a_file_of_another_kind_is_refused(read: object, name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ProblemError):
        read(tmp_path)  # type: ignore[operator]


@pytest.mark.parametrize(
    "name",
    ["tsp_constructive", "tsp_aco", "tsp_gls", "cvrp_aco", "bpp_offline_aco", "bpp_online", "bpp_online_informed"],
)
def test_evaluators_read_the_files_of_a_named_set(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "problems" / name))
    list_instances = runpy.run_path(str(ROOT / "problems" / name / "eval.py"))["list_instances"]
    write(tmp_path, a_tsp=TSP, a_vrp=VRP, a_txt=ORLIB)
    arguments = Arguments(ROOT, "", "files", (), ROOT, data=tmp_path)
    sizes = {size: len(of_size) for size, of_size in list_instances(arguments).items()}
    assert sizes == ({4: 1} if name.startswith("tsp") else {2: 1} if name.startswith("cvrp") else {3: 2})
    size = {"cvrp_aco": 20, "bpp_offline_aco": 120}.get(name, 5000 if name.startswith("bpp") else 50)
    mode = "train" if size == 50 and name != "tsp_gls" else "val"
    drawn = list_instances(Arguments(ROOT, "", mode, (size,), ROOT))
    assert {len(each) - name.startswith("cvrp") for each in drawn[size]} == {size}


def test_names_and_comments_may_be_in_latin_1(tmp_path: Path) -> None:
    for name, text in (("a.tsp", TSP), ("a.vrp", VRP)):
        (tmp_path / name).write_bytes(f"COMMENT : Süd\r\n{text}".encode("latin-1"))
    assert [len(instances) for instances in (read_tours(tmp_path), read_routes(tmp_path))] == [1, 1]
