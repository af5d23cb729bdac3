"""A power distribution network as its impedance seen from ports, and the decoupling capacitors that go onto ports."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

GRID = 10  # ports stand in a square of GRID x GRID, port = GRID * row + column
PORTS = GRID * GRID
FREQUENCIES = np.linspace(0.1e9, 20e9, 201)  # Hz, as in DevFormer (Kim et al. 2023, arXiv:2205.13225) and ReEvo

_DECAP_FARADS, _DECAP_OHMS = 0.1e-9, 0.1436  # DevFormer's MOS capacitor: a capacitance and its resistance in series
_ASYMMETRY = 1e-3  # of the largest impedance: what a file in single precision, or a field solver's output, may have


@dataclass(frozen=True, eq=False)
class Network:
    """What the ports of a power distribution network see.

    Attributes:
        impedance: ``(p, p, f)`` complex array, ohms: voltage at the first port over the current into the second, at
            every frequency. Symmetric in the ports; frequencies stand last, as what is computed is computed for all.
        frequencies: ``(f,)`` float array, Hz, positive.
        origin: Origin of the network, for people to read.

    Raises:
        ValueError: unless they are such arrays, finite.
    """

    impedance: NDArray[np.complex128]
    frequencies: NDArray[np.float64]
    origin: str

    def __post_init__(self) -> None:
        expected = (len(self), len(self), len(self.frequencies))
        if self.impedance.shape != expected or not self.impedance.size:
            raise ValueError(f"impedance must have shape (p, p, {expected[2]}), not {self.impedance.shape}")
        if not np.isfinite(self.impedance).all():
            raise ValueError("impedance must be finite")
        if not (np.isfinite(self.frequencies).all() and self.frequencies.min() > 0):
            raise ValueError("frequencies must be finite and positive")
        if not np.array_equal(self.impedance, self.impedance.swapaxes(0, 1)):
            raise ValueError("impedance must be symmetric in its ports")

    @classmethod
    def reciprocal(cls, impedance: NDArray[np.generic], frequencies: NDArray[np.float64], origin: str) -> "Network":
        """Build a network from matrices that are symmetric to rounding; what is left of asymmetry is averaged out.

        Args:
            impedance: ``(f, p, p)`` real or complex array, ohms.
            frequencies: ``(f,)`` float array, Hz.
            origin: Origin of the network, for people to read.

        Raises:
            ValueError: if they are not symmetric, or no such arrays.
        """
        matrices = np.ascontiguousarray(np.moveaxis(impedance, 0, 2), dtype=np.complex128)
        largest = np.abs(matrices).max()
        gap = max(np.abs(row - matrices[:, port]).max() for port, row in enumerate(matrices))  # by rows: less memory
        if gap > _ASYMMETRY * largest:
            raise ValueError(f"impedance differs by up to {gap:.3g} ohms between its two directions")
        matrices += matrices.swapaxes(0, 1)
        matrices /= 2
        return cls(matrices, frequencies, origin)

    def __len__(self) -> int:
        return len(self.impedance)


def decap_magnitude(frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Magnitude of a decoupling capacitor's impedance, ohms: 0.1 nF and 0.1436 ohms in series.

    The magnitude alone, and not the complex impedance, is attached to a port: so the published figures were computed
    (DevFormer, and ReEvo after it).
    """
    return np.hypot(_DECAP_OHMS, 1 / (2 * np.pi * frequencies * _DECAP_FARADS))
