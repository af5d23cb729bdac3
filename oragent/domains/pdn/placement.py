"""The decap placement problem: reduce the impedance at a probed port with a given number of capacitors.

The files of DevFormer and ReEvo do not ship with oragent; users provide them. All are numpy arrays
(``.npy``) with the same names as in github.com/ai4co/reevo (``problems/dpp_ga``) and
github.com/kaist-silab/devformer.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oragent._base.errors import CandidateError, ProblemError
from oragent.domains import streams
from oragent.domains.pdn.network import FREQUENCIES, PORTS, Network, decap_magnitude

DECAPS = 20
# Parts of the hundred sites, as in ReEvo.
STREAM = {"train": slice(0, 3), "val": slice(5, 10), "test": slice(36, 100)}
_SITES, _MAX_KEEPOUTS = 100, 15
_CROWDED_KEEPOUTS = 40

# Probed port, and the ports that must stay free.
Site = tuple[int, NDArray[np.int64]]


NETWORK_FILE = "10x10_pkg_chip.npy"
SITE_FILES = ("test_100_probe.npy", "test_100_keepout.npy", "test_100_keepout_num.npy")
_ADVICE = "place the original, or remove what is there and oragent makes its own"


@dataclass(frozen=True, eq=False)
class PlacementInstance:
    """Network, probed port, and ports without capacitors. Too few remaining ports raise `ValueError`."""

    # Network as seen from its ports.
    network: Network
    # Port whose impedance is measured; it takes no capacitor.
    probe: int
    # Ports that must stay free, ``(k,)`` int array without repetition and without the probe.
    keepouts: NDArray[np.int64]
    # Number of capacitors to place.
    decaps: int = DECAPS

    def __post_init__(self) -> None:
        ports = np.append(self.keepouts, self.probe)
        if not (np.issubdtype(ports.dtype, np.integer) and ports.min() >= 0 and ports.max() < len(self.network)):
            raise ValueError(f"probe and keepouts must be whole numbers, 0 to {len(self.network) - 1}")
        if len(np.unique(ports)) < len(ports):
            raise ValueError("probe and keepouts must be different ports")
        if not 0 < self.decaps <= len(self.free):
            raise ValueError(f"decaps must be 1 to {len(self.free)}, the number of free ports, not {self.decaps}")

    @property
    def free(self) -> NDArray[np.int64]:
        """Ports that may take a capacitor, in ascending order."""
        return np.setdiff1d(np.arange(len(self.network)), np.append(self.keepouts, self.probe))


def draw_sites(rng: np.random.Generator) -> list[Site]:
    """Draw a hundred sites with DevFormer's distribution: a uniform probe, and 0 to 15 keep-outs, equally likely."""
    sites = []
    for _ in range(_SITES):
        ports = rng.permutation(PORTS)
        sites.append((int(ports[0]), ports[1 : 1 + rng.integers(_MAX_KEEPOUTS + 1)]))
    return sites


def part(mode: str, sites: list[Site], network: Network) -> list[PlacementInstance]:
    """Return the instances of a mode from a hundred sites, as ReEvo does (Ye et al. 2024, arXiv:2402.01145).

    Raises:
        ValueError: if the mode does not exist.
    """
    if mode == "turned":
        # Bumps and board lie elsewhere on the chip.
        turned = Network(network.impedance[::-1, ::-1].copy(), network.frequencies, network.origin)
        return fresh_part(0, turned)[: streams.OTHERS]
    if mode == "crowded":
        ports = [streams.generator(number, "pdn crowded").permutation(PORTS) for number in range(streams.OTHERS)]
        return [PlacementInstance(network, int(row[0]), row[1 : 1 + _CROWDED_KEEPOUTS]) for row in ports]
    if mode not in STREAM:
        raise ValueError(f"unknown mode {mode} of instances; expected one of {', '.join(STREAM)}")
    return [PlacementInstance(network, *site) for site in sites[STREAM[mode]]]


def fresh_part(fresh_seed: int, network: Network) -> list[PlacementInstance]:
    """Draw as many instances as ``test`` has, with sites of the same distribution, from a new seed."""
    sites = draw_sites(streams.generator(fresh_seed, "pdn sites"))
    return [PlacementInstance(network, *site) for site in sites[STREAM["test"]]]


def check(instance: PlacementInstance, placement: Any) -> NDArray[np.int64]:
    """Check that a placement puts the right number of capacitors on different free ports.

    Args:
        instance: Network, probe and keep-outs.
        placement: Untrusted value. A valid placement is a sequence of ports in any order.

    Returns:
        The placement as a flat array.

    Raises:
        CandidateError: ``invalid``, with the reason, if the placement is not valid.
    """
    ports = streams.whole_numbers(placement, "a placement", "port", len(instance.network))
    if len(ports) != instance.decaps:
        raise CandidateError(f"the placement has {len(ports)} capacitors; expected {instance.decaps}")
    if (repeated := np.flatnonzero(np.bincount(ports) > 1)).size:
        raise CandidateError(f"the placement puts two capacitors on port {repeated[0]}; at most one is allowed")
    if instance.probe in ports:
        raise CandidateError(f"the placement puts a capacitor on port {instance.probe}, which is the probe")
    if (blocked := np.intersect1d(ports, instance.keepouts)).size:
        raise CandidateError(f"the placement puts a capacitor on port {blocked[0]}, which must be kept free")
    return ports


def objective(instance: PlacementInstance, placement: NDArray[np.int64]) -> float:
    """Return the reward of a placement that `check` returned, by a full matrix inversion; to be maximised."""
    matrices = np.moveaxis(instance.network.impedance, 2, 0)
    decaps = decap_magnitude(instance.network.frequencies)[:, None, None] * np.eye(len(placement))
    inverse = np.linalg.inv(matrices[:, placement[:, None], placement] + decaps)
    towards = matrices[:, instance.probe, placement]
    seen = matrices[:, instance.probe, instance.probe] - np.einsum("fi,fij,fj->f", towards, inverse, towards)
    return float(reward(instance, seen))


def reward(instance: PlacementInstance, seen: ArrayLike) -> NDArray[np.float64]:
    """Return the reward of an impedance at the probe.

    Args:
        instance: Network and probe.
        seen: ``(..., f)`` complex array, ohms.

    Returns:
        ``(...)`` array: the reduction of the magnitude in ohms, weighted by 1 GHz over the frequency, summed, over 10.
    """
    former = np.abs(instance.network.impedance[instance.probe, instance.probe])
    return np.asarray(((former - np.abs(seen)) * (1e9 / instance.network.frequencies)).sum(axis=-1) / 10)


def read_network(folder: Path) -> Network | None:
    """Read the impedance of the 10 x 10 chip on its package.

    Args:
        folder: Folder that may contain ``10x10_pkg_chip.npy``: ``(201, 100, 100)`` real or complex, ohms.

    Returns:
        The network; None if the file does not exist.

    Raises:
        ProblemError: in one line, if the file is not as expected.
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
            ``test_100_keepout_num.npy`` ``(100,)`` may be; the last array has the number of valid entries in each row
            of keep-outs.
        network: Network of the ports.

    Returns:
        The sites; None if all files are missing.

    Raises:
        ProblemError: in one line, if some files are missing or not as expected.
    """
    paths = [folder / name for name in SITE_FILES]
    missing = [path for path in paths if not path.exists()]
    if len(missing) == len(paths):
        return None
    if missing:
        raise ProblemError(
            f"{missing[0]} is missing, although {len(paths) - len(missing)} other files of its set exist; {_ADVICE}"
        )
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


def _read_array(path: Path, shape: tuple[int | None, ...], kinds: str) -> NDArray[Any]:
    """Read a finite array of a given shape (None means any extent) and kind."""
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
