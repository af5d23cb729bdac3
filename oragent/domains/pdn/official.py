"""The files of DevFormer and ReEvo, which cannot be shipped: used where a user has placed them.

All are numpy arrays of their own (``.npy``), under the names that they have in github.com/ai4co/reevo
(``problems/dpp_ga``) and github.com/kaist-silab/devformer.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import ProblemError
from oragent.domains.pdn.network import FREQUENCIES, PORTS, Network
from oragent.domains.pdn.placement import STREAM, PlacementInstance, Site

NETWORK_FILE = "10x10_pkg_chip.npy"
SITE_FILES = ("test_100_probe.npy", "test_100_keepout.npy", "test_100_keepout_num.npy")
_SITES = STREAM["test"].stop


def read_network(folder: Path) -> Network | None:
    """Read the impedance of the 10 x 10 chip on its package.

    Args:
        folder: Folder where ``10x10_pkg_chip.npy`` may be: ``(201, 100, 100)`` real or complex, ohms.

    Returns:
        The network; None if there is no such file.

    Raises:
        ProblemError: in one line, if the file is not what it should be.
    """
    path = folder / NETWORK_FILE
    if not path.exists():
        return None
    matrices = _read_array(path, (len(FREQUENCIES), PORTS, PORTS), "fc")
    try:
        return Network.reciprocal(matrices, FREQUENCIES, "official")
    except ValueError as problem:
        raise ProblemError(f"{path}: {problem}; {_ADVICE}") from None


def read_sites(folder: Path, network: Network) -> list[Site] | None:
    """Read the hundred probes and keep-outs.

    Args:
        folder: Folder where ``test_100_probe.npy`` ``(100,)``, ``test_100_keepout.npy`` ``(100, k)`` and
            ``test_100_keepout_num.npy`` ``(100,)`` may be; of every row of keep-outs only the first so many count.
        network: Network that the ports belong to.

    Returns:
        The sites; None if none of the files is there.

    Raises:
        ProblemError: in one line, if some are missing or not what they should be.
    """
    paths = [folder / name for name in SITE_FILES]
    missing = [path for path in paths if not path.exists()]
    if len(missing) == len(paths):
        return None
    if missing:
        raise ProblemError(f"{missing[0]} is missing beside {len(paths) - len(missing)} others of its set; {_ADVICE}")
    probes, keepouts, counts = (
        _read_array(path, shape, "iuf")
        for path, shape in zip(paths, ((_SITES,), (_SITES, None), (_SITES,)), strict=True)
    )
    sites: list[Site] = []
    for index, (probe, row, count) in enumerate(zip(probes, keepouts, counts, strict=True)):
        site = int(probe), np.asarray(row[: int(count)]).astype(np.int64)
        try:
            PlacementInstance(network, *site)
        except ValueError as problem:
            raise ProblemError(f"{folder}, {', '.join(SITE_FILES)}: row {index}: {problem}; {_ADVICE}") from None
        sites.append(site)
    return sites


_ADVICE = "place the original, or remove what is there and oragent makes its own"


def _read_array(path: Path, shape: tuple[int | None, ...], kinds: str) -> NDArray[Any]:
    """Read an array of a shape (None: any extent) and kind, finite."""
    expected = f"({', '.join('any' if extent is None else str(extent) for extent in shape)})"
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as problem:
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise ProblemError(f"{path}: not a numpy array ({reason}); expected shape {expected}; {_ADVICE}") from None
    actual = getattr(array, "shape", ())
    fits = len(actual) == len(shape) and all(
        size in (None, actual_size) for size, actual_size in zip(shape, actual, strict=True)
    )
    if not fits or array.dtype.kind not in kinds:
        kind = f"shape {actual} and dtype {getattr(array, 'dtype', type(array).__name__)}"
        raise ProblemError(f"{path}: found {kind}, expected numbers of shape {expected}; {_ADVICE}")
    if not np.isfinite(array).all():
        raise ProblemError(f"{path}: found numbers that are not finite, expected finite ones; {_ADVICE}")
    return np.asarray(array)
