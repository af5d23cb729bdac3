from pathlib import Path

import numpy as np
import pytest

from oragent._base.errors import ProblemError
from oragent.domains import tsp
from oragent.domains.tsp import read_tsplib

LIBRARY = Path(__file__).parents[3] / "shared" / "data" / "tsplib"
SMALL = """NAME: small
TYPE : TSP
COMMENT : three cities: a right triangle
DIMENSION: 3
EDGE_WEIGHT_TYPE : {kind}
NODE_COORD_SECTION
1 0 0
2 3.0e+00 0
3 0 1.2
EOF
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "small.tsp"
    path.write_text(text)
    return path


def test_coordinates_and_rounding_are_read(tmp_path: Path) -> None:
    nearest = read_tsplib(written(tmp_path, SMALL.format(kind="EUC_2D")))
    assert nearest.coordinates.tolist() == [[0, 0], [3, 0], [0, 1.2]]
    assert tsp.objective(nearest, np.arange(3)) == 3 + 3 + 1  # 3, 3.23 and 1.2, each rounded
    up = read_tsplib(written(tmp_path, SMALL.format(kind="CEIL_2D")))
    assert tsp.objective(up, np.arange(3)) == 3 + 4 + 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SMALL.format(kind="GEO"), "EDGE_WEIGHT_TYPE is GEO; expected one of EUC_2D, CEIL_2D"),
        ("NAME: empty\n", "EDGE_WEIGHT_TYPE is nothing"),
        (SMALL.format(kind="EUC_2D").replace("DIMENSION: 3", "DIMENSION: 5"), "broken"),
        (SMALL.format(kind="EUC_2D").replace("3 0 1.2", "3 0 x"), "broken"),
        (SMALL.format(kind="EUC_2D").replace("NODE_COORD_SECTION\n", ""), "broken"),
    ],
)
def test_a_broken_file_is_refused_in_one_line_that_names_it(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ProblemError, match=message) as caught:
        read_tsplib(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"nowhere.tsp: cannot be read"):
        read_tsplib(tmp_path / "nowhere.tsp")


@pytest.mark.skipif(not LIBRARY.is_dir(), reason="TSPLIB is not here")
def test_the_library_files_have_as_many_cities_as_their_names_say() -> None:
    for path in sorted(LIBRARY.glob("*.tsp")):
        assert len(read_tsplib(path)) == int("".join(filter(str.isdigit, path.stem)))
