"""The test files of LEHD, where somebody has them: tours and routes of 200 and 500 nodes in the unit square.

Luo et al. 2023 (arXiv:2310.07985; CIAM-Group/NCO_code), for non-commercial use: they do not ship with oragent. The
parts are those of ReEvo (Ye et al. 2024, arXiv:2402.01145): lines 0 to 9 for ``train``, 10 to 41 for ``val``, 64 to 127
for ``test``.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from oragent._base.errors import ProblemError
from oragent.domains import cvrp, tsp

SIZES = (200, 500)
PARTS = {"train": range(10), "val": range(10, 42), "test": range(64, 128)}
T = TypeVar("T")


def tours(folder: Path, mode: str, size: int) -> list[tsp.TspInstance]:
    """Read cities of one part of ``test_TSP<size>_n128.txt``.

    Raises:
        ProblemError: naming the file, if it is missing or not as expected; or if there is no such part or size.
    """
    return _read_part(folder / f"test_TSP{size}_n128.txt", mode, size, lambda row: _parse_tour(row, size))


def routes(folder: Path, mode: str, size: int) -> list[cvrp.CvrpInstance]:
    """Read customers of one part of ``vrp<size>_test_lkh.txt``; arguments and errors as for ``tours``."""
    return _read_part(folder / f"vrp{size}_test_lkh.txt", mode, size, lambda row: _parse_route(row, size))


def _read_part(path: Path, mode: str, size: int, read: Callable[[str], T]) -> list[T]:
    if size not in SIZES or mode not in PARTS:
        offered = f"sizes {' and '.join(map(str, SIZES))}, modes {', '.join(PARTS)}"
        raise ProblemError(f"LEHD's test files have no {mode} instances of size {size}: they have {offered}")
    if not path.is_file():
        raise ProblemError(
            f"{path} is missing: put LEHD's test file there (CIAM-Group/NCO_code, for non-commercial use), "
            "or leave --protocol=oragent away"
        )
    numbers = PARTS[mode]
    with path.open(encoding="utf-8") as lines:
        chosen = [row for number, row in enumerate(lines) if number in numbers]
    if len(chosen) < len(numbers):
        raise ProblemError(f"{path} has too few lines: expected {numbers.stop}, an instance each")
    try:
        return [read(row) for row in chosen]
    except (ValueError, IndexError, LookupError) as problem:
        raise ProblemError(f"{path} is not LEHD's test file of {size} nodes: {problem}") from None


def _parse_tour(row: str, size: int) -> tsp.TspInstance:
    words = row.split()
    end = words.index("output")
    return tsp.TspInstance(_parse_points(words[:end], size))


def _parse_route(row: str, size: int) -> cvrp.CvrpInstance:
    words = [word.strip() for word in row.split(",")]
    at = {name: words.index(name) for name in ("depot", "customer", "capacity", "demand", "cost")}
    points = _parse_points(
        words[at["depot"] + 1 : at["customer"]] + words[at["customer"] + 1 : at["capacity"]], size + 1
    )
    demands = [int(float(word)) for word in words[at["demand"] + 1 : at["cost"]]]
    if len(demands) == size:  # the depot's, which some files have
        demands = [0, *demands]
    return cvrp.CvrpInstance(points, np.array(demands, dtype=np.int64), int(float(words[at["capacity"] + 1])))


def _parse_points(words: list[str], count: int) -> np.ndarray:
    points = np.array(words, dtype=float).reshape(-1, 2)
    if len(points) != count:
        raise ValueError(f"{len(points)} nodes in a line, expected {count}")
    return points
