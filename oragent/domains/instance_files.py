"""Files of published instances: TSPLIB, CVRPLIB, the bin packing of the OR-Library, and arrays of NumPy.

Problems read a folder of them for a named set with ``data`` in ``problem.yaml``. The folder may mix files. Instances
are grouped by size, in the order of the names of their files. Coordinates of TSPLIB and CVRPLIB are moved and scaled to
the unit square, as in all other sets of these problems; those of arrays are used as they are.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import ProblemError
from oragent.domains import bpp, cvrp, tsp

T = TypeVar("T", tsp.TspInstance, cvrp.CvrpInstance, bpp.BppInstance)
Reader = Callable[[Path], Iterable[T]]


def read_tours(folder: Path) -> dict[int, list[tsp.TspInstance]]:
    """Read all ``.tsp`` files of a folder, and all ``.npy`` files with coordinates ``(instances, n, 2)``.

    Raises:
        ProblemError: A file is of another kind, or the folder lacks such files.
    """
    return _read_folder(folder, {".tsp": _read_tsp, ".npy": _read_cities}, len)


def read_routes(folder: Path) -> dict[int, list[cvrp.CvrpInstance]]:
    """Read all ``.vrp`` files of a folder, and all ``.npy`` files, ``(instances, n + 1, 3)``, by number of customers.

    A row of an array has the demand and the coordinates of a node; node 0 is the depot, and the capacity is that of the
    problem.

    Raises:
        ProblemError: A file is of another kind, or the folder lacks such files.
    """
    return _read_folder(folder, {".vrp": _read_vrp, ".npy": _read_customers}, lambda instance: len(instance) - 1)


def read_packings(folder: Path, capacity: int) -> dict[int, list[bpp.BppInstance]]:
    """Read all ``.txt`` files of the OR-Library in a folder, and all ``.npz`` files, by number of items.

    An ``.npz`` file has ``items`` or ``demands``, ``(instances, n)``, and may have ``capacity``.

    Args:
        folder: Folder of the files.
        capacity: Capacity of the bins of an ``.npz`` file without a capacity.

    Raises:
        ProblemError: A file is of another kind, or the folder lacks such files.
    """
    return _read_folder(folder, {".txt": _read_orlib, ".npz": lambda path: _read_items(path, capacity)}, len)


def scale_to_square(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move and scale points, ``(n, 2)``, so that the longer side of their rectangle is from 0 to 1."""
    side = np.ptp(points, axis=0).max()
    scaled: NDArray[np.float64] = (points - points.min(axis=0)) / (side or 1.0)
    return scaled


def read_coordinates(path: Path) -> NDArray[np.float64]:
    """Return the coordinates of a file of TSPLIB or CVRPLIB, ``(n, 2)``, in its unit.

    Raises:
        ProblemError: The file has other than Euclidean distances, or not two coordinates for each node.
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    kind = re.search(r"^EDGE_WEIGHT_TYPE\s*:\s*EUC_2D\s*$", text, re.MULTILINE)
    rows = _read_section(text, "NODE_COORD_SECTION")
    if kind is None or rows.shape[1] != 3 or not np.array_equal(rows[:, 0], np.arange(1, len(rows) + 1)):
        raise ProblemError(
            f"{path}: expected EDGE_WEIGHT_TYPE EUC_2D, and nodes from 1 in order with two coordinates each"
        )
    return rows[:, 1:]


def _read_section(text: str, name: str) -> NDArray[np.float64]:
    """Return the numbers of a section, a row for each line; ``(0, 0)`` if it is missing or rows differ in length."""
    _, _, after = text.partition(name)
    rows = []
    for line in after.splitlines()[1:]:
        try:
            row = [float(word) for word in line.split()]
        except ValueError:
            break
        if row:
            rows.append(row)
    if len({len(row) for row in rows}) != 1:
        return np.empty((0, 0))
    return np.array(rows)


def _read_folder(folder: Path, readers: Mapping[str, Reader[T]], count: Callable[[T], int]) -> dict[int, list[T]]:
    """Read the files whose names have a suffix with a reader, and group instances by size."""
    by_size: dict[int, list[T]] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.suffix not in readers:
            continue
        try:
            for instance in readers[path.suffix](path):
                by_size.setdefault(count(instance), []).append(instance)
        except (ValueError, LookupError, OSError) as fault:
            raise ProblemError(f"{path} cannot be read as instances: {fault}") from None
    if not by_size:
        raise ProblemError(f"no instances in {folder}: put files {', '.join(f'*{suffix}' for suffix in readers)} there")
    return dict(sorted(by_size.items()))


def _read_tsp(path: Path) -> list[tsp.TspInstance]:
    return [tsp.TspInstance(scale_to_square(read_coordinates(path)))]


def _read_cities(path: Path) -> list[tsp.TspInstance]:
    return [tsp.TspInstance(points) for points in np.load(path).astype(np.float64)]


def _read_vrp(path: Path) -> list[cvrp.CvrpInstance]:
    text = path.read_text(encoding="utf-8", errors="replace")
    capacity = re.search(r"^CAPACITY\s*:\s*(\d+)\s*$", text, re.MULTILINE)
    demands, depots = _read_section(text, "DEMAND_SECTION"), _read_section(text, "DEPOT_SECTION")
    if capacity is None or demands.shape[1] != 2 or depots.ravel().tolist() != [1, -1]:
        raise ValueError("expected a CAPACITY, a demand for each node, and node 1 as the only depot")
    points = scale_to_square(read_coordinates(path))
    return [cvrp.CvrpInstance(points, demands[:, 1].astype(np.int64), int(capacity[1]))]


def _read_customers(path: Path) -> list[cvrp.CvrpInstance]:
    return [
        cvrp.CvrpInstance(rows[:, 1:].astype(np.float64), rows[:, 0].astype(np.int64), cvrp.CAPACITY)
        for rows in np.load(path)
    ]


def _read_orlib(path: Path) -> list[bpp.BppInstance]:
    """Read a file of the OR-Library: number of instances; of each, its name, capacity, number of items, bins, items."""
    words = path.read_text(encoding="utf-8", errors="replace").split()
    instances, at = [], 1
    for _ in range(int(words[0])):
        capacity, count = float(words[at + 1]), int(words[at + 2])
        items = [float(word) for word in words[at + 4 : at + 4 + count]]
        if len(items) != count:
            raise ValueError(f"{words[at]} has {len(items)} items; expected {count}")
        scale = 10 if any(item % 1 for item in items) else 1
        instances.append(bpp.BppInstance(np.rint(scale * np.array(items)).astype(np.int64), int(scale * capacity)))
        at += 4 + count
    return instances


def _read_items(path: Path, capacity: int) -> list[bpp.BppInstance]:
    with np.load(path) as arrays:
        rows = arrays["items"] if "items" in arrays else arrays["demands"]
        size = int(arrays["capacity"]) if "capacity" in arrays else capacity
    return [bpp.BppInstance(row.astype(np.int64), size) for row in rows]
