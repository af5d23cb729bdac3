"""A power distribution network as its impedance seen from ports, and the decoupling capacitors that go onto ports.

`generate` computes a physical one by nodal analysis: a chip on a package, fed through a board. Chip and package are
grids of square unit cells. A cell is a node, a shunt to ground, and a branch of resistance and inductance to each of
its neighbours. C4 bumps join some cells of the chip to the package cells below them; four inductive paths lead from the
package's corners over balls and board to the voltage regulator, which is a short circuit at these frequencies. The
pieces are computed one by one and joined at their ports, which is called segmentation.

Sources: Kim and Swaminathan 2001, Modeling of irregular shaped power distribution planes using transmission matrix
method, IEEE Transactions on Advanced Packaging 24(3), for the cell of a plane pair; Okoshi 1985, Planar circuits for
microwaves and lightwaves, for segmentation. The values are ours, round ones of the usual order:
this is no model of a certain product, and rewards on it are not those on the impedance that DevFormer published.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# ports stand in a square of GRID x GRID, port = GRID * row + column
GRID = 10
PORTS = GRID * GRID
# Hz, as in DevFormer (Kim et al. 2023, arXiv:2205.13225) and ReEvo
FREQUENCIES = np.linspace(0.1e9, 20e9, 201)

# DevFormer's MOS capacitor: a capacitance and its resistance in series
_DECAP_FARADS, _DECAP_OHMS = 0.1e-9, 0.1436
# of the largest impedance: what a file in single precision, or a field solver's output, may have
_ASYMMETRY = 1e-3
_VACUUM_PERMITTIVITY, _VACUUM_PERMEABILITY = 8.854e-12, 4e-7 * np.pi
# S/m
_COPPER = 5.8e7


@dataclass(frozen=True, eq=False)
class Network:
    """What the ports of a power distribution network see; raises `ValueError` unless they are such arrays, finite."""

    # ``(p, p, f)`` complex array, ohms: voltage at the first port over the current into the second, at every frequency.
    # Symmetric in the ports; frequencies stand last, as what is computed is computed for all.
    impedance: NDArray[np.complex128]
    # ``(f,)`` float array, Hz, positive
    frequencies: NDArray[np.float64]
    # origin of the network, for people to read
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
        # by rows: less memory
        gap = max(np.abs(row - matrices[:, port]).max() for port, row in enumerate(matrices))
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


Complex = NDArray[np.complexfloating[Any, Any]]


@dataclass(frozen=True)
class Parameters:
    """What the network is made of, in SI units."""

    # branch_ohms, branch_henries: resistance and inductance between neighbouring cells of the chip: a mesh of power and
    # ground lines
    branch_ohms: float = 6.0
    branch_henries: float = 100e-12
    # cell_farads, cell_ohms: capacitance and resistance from a cell of the chip to ground: wiring and idle gates, and
    # the way there
    cell_farads: float = 1.5e-12
    cell_ohms: float = 50.0
    # number of cells along each side of the package
    package_cells: int = 7
    # side of a package cell; the chip covers the three by three cells in the middle
    cell_metres: float = 1e-3
    # gap_metres, permittivity, loss: thickness, permittivity relative to vacuum, and loss tangent of the dielectric
    # between the planes
    gap_metres: float = 50e-6
    permittivity: float = 4.2
    loss: float = 0.02
    # thickness of each plane
    copper_metres: float = 18e-6
    # bump_ohms, bump_henries: resistance and inductance from a package cell to the chip: bumps, and vias through the
    # chip's layers
    bump_ohms: float = 0.5
    bump_henries: float = 300e-12
    # board_ohms, board_henries: resistance and inductance of each of the four paths to the voltage regulator
    board_ohms: float = 1.0
    board_henries: float = 20e-9


def generate(parameters: Parameters | None = None, frequencies: NDArray[np.float64] = FREQUENCIES) -> Network:
    """Compute the impedance of the chip's cells, which are the ports, with all that is below its bumps."""
    parameters = parameters or Parameters()
    below, above = bumps(parameters)
    package = np.linalg.inv(package_admittance(parameters, frequencies))[:, below[:, None], below]
    bump = parameters.bump_ohms + 2j * np.pi * frequencies * parameters.bump_henries
    chip = chip_admittance(parameters, frequencies)
    chip[:, above[:, None], above] += np.linalg.inv(package + bump[:, None, None] * np.eye(len(below)))
    return Network.reciprocal(np.linalg.inv(chip), frequencies, "generated")


def bumps(parameters: Parameters) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cells of the package, and of the chip above them, that bumps join: ``(9,)`` arrays."""
    middle = parameters.package_cells // 2 + np.arange(-1, 2)
    # the chip's cell over each middle
    spread = np.rint((np.arange(3) + 0.5) * GRID / 3 - 0.5).astype(np.int64)
    below = parameters.package_cells * middle[:, None] + middle
    return below.ravel(), (GRID * spread[:, None] + spread).ravel()


def chip_admittance(parameters: Parameters, frequencies: NDArray[np.float64]) -> Complex:
    """``(f, p, p)`` nodal admittance of the chip alone."""
    omega = 2j * np.pi * frequencies
    branch = parameters.branch_ohms + omega * parameters.branch_henries
    shunt = parameters.cell_ohms + 1 / (omega * parameters.cell_farads)
    return _cell_network(GRID, 1 / branch, 1 / shunt)


def package_admittance(parameters: Parameters, frequencies: NDArray[np.float64]) -> Complex:
    """``(f, q, q)`` nodal admittance of the package, board and regulator.

    The formulas are those of a plane pair: a cell has the capacitance of its area, a branch the inductance of the gap
    and twice the larger of the resistance of direct current and of the skin.
    """
    omega = 2j * np.pi * frequencies
    skin = np.sqrt(np.pi * frequencies * _VACUUM_PERMEABILITY / _COPPER)
    ohms = 2 * np.maximum(1 / (_COPPER * parameters.copper_metres), skin)
    branch = ohms + omega * _VACUUM_PERMEABILITY * parameters.gap_metres
    area = parameters.cell_metres**2
    farads = _VACUUM_PERMITTIVITY * parameters.permittivity * area / parameters.gap_metres
    matrices = _cell_network(parameters.package_cells, 1 / branch, (1 - 1j * parameters.loss) * omega * farads)
    side = parameters.package_cells
    corners = np.array([0, side - 1, side * (side - 1), side * side - 1])
    board = parameters.board_ohms + omega * parameters.board_henries
    matrices[:, corners, corners] += 1 / board[:, None]
    return matrices


def _cell_network(side: int, branch: Complex, shunt: Complex) -> Complex:
    """Nodal admittance of ``side * side`` unit cells, from the ``(f,)`` admittances of a branch and of a shunt."""
    chain = np.diag(np.full(side - 1, 1.0), 1)
    chain += chain.T
    neighbours = np.kron(np.eye(side), chain) + np.kron(chain, np.eye(side))
    laplacian = np.diag(neighbours.sum(axis=0)) - neighbours
    return np.asarray(branch[:, None, None] * laplacian + shunt[:, None, None] * np.eye(side * side))
