"""Power distribution network, given by the impedance between its ports, and decoupling capacitors at ports.

`generate` computes a physical network by nodal analysis: a chip on a package, fed through a board. Chip and package are
grids of square unit cells. A cell is a node, a shunt to ground, and a branch of resistance and inductance to each of
its neighbours. C4 bumps connect some cells of the chip to the package cells below them. Four inductive paths lead from
the package's corners over balls and board to the voltage regulator, which is a short circuit at these frequencies. The
parts are computed one by one and connected at their ports, which is called segmentation.

Sources: Kim and Swaminathan 2001, Modeling of irregular shaped power distribution planes using transmission matrix
method, IEEE Transactions on Advanced Packaging 24(3), for the cell of a plane pair; Okoshi 1985, Planar circuits for
microwaves and lightwaves, for segmentation. The parameter values are our own, rounded and of typical magnitude. They
do not model a specific product, and rewards are not comparable with those on the impedance that DevFormer published.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Ports form a square of GRID x GRID, port = GRID * row + column.
GRID = 10
PORTS = GRID * GRID
# Frequencies in Hz, as in DevFormer (Kim et al. 2023, arXiv:2205.13225) and ReEvo.
FREQUENCIES = np.linspace(0.1e9, 20e9, 201)

# MOS capacitor of DevFormer: a capacitance and a resistance in series.
_DECAP_FARADS, _DECAP_OHMS = 0.1e-9, 0.1436
# Tolerated asymmetry, relative to the largest impedance. Files in single precision and outputs of field solvers are not
# exactly symmetric.
_ASYMMETRY = 1e-3
_VACUUM_PERMITTIVITY, _VACUUM_PERMEABILITY = 8.854e-12, 4e-7 * np.pi
# Conductivity in S/m.
_COPPER = 5.8e7


@dataclass(frozen=True, eq=False)
class Network:
    """Impedance between the ports of a power distribution network; raises `ValueError` for invalid arrays."""

    # ``(p, p, f)`` complex array, ohms: voltage at the first port per current into the second, at every frequency. It
    # is symmetric in the ports. Frequencies are the last axis, because computations run over all of them.
    impedance: NDArray[np.complex128]
    # Frequencies in Hz, ``(f,)`` float array, positive.
    frequencies: NDArray[np.float64]
    # Origin of the network, for display.
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
        """Build a network from matrices that are symmetric up to rounding. The remaining asymmetry is averaged out.

        Args:
            impedance: ``(f, p, p)`` real or complex array, ohms.
            frequencies: ``(f,)`` float array, Hz.
            origin: Origin of the network, for display.

        Raises:
            ValueError: if the matrices are not symmetric or the arrays are invalid.
        """
        matrices = np.ascontiguousarray(np.moveaxis(impedance, 0, 2), dtype=np.complex128)
        largest = np.abs(matrices).max()
        # A loop over rows needs less memory.
        gap = max(np.abs(row - matrices[:, port]).max() for port, row in enumerate(matrices))
        if gap > _ASYMMETRY * largest:
            raise ValueError(f"impedance differs by up to {gap:.3g} ohms between its two directions")
        matrices += matrices.swapaxes(0, 1)
        matrices /= 2
        return cls(matrices, frequencies, origin)

    def __len__(self) -> int:
        return len(self.impedance)


def decap_magnitude(frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the magnitude of a decoupling capacitor's impedance, ohms: 0.1 nF and 0.1436 ohms in series.

    A port receives only the magnitude, not the complex impedance, because the published figures of DevFormer and ReEvo
    were computed in this way.
    """
    return np.hypot(_DECAP_OHMS, 1 / (2 * np.pi * frequencies * _DECAP_FARADS))


Complex = NDArray[np.complexfloating[Any, Any]]


@dataclass(frozen=True)
class Parameters:
    """Parameters of the network, in SI units."""

    # branch_ohms, branch_henries: resistance and inductance between neighbouring cells of the chip, which is a mesh of
    # power and ground lines.
    branch_ohms: float = 6.0
    branch_henries: float = 100e-12
    # cell_farads, cell_ohms: capacitance and resistance from a cell of the chip to ground, through wiring and idle
    # gates.
    cell_farads: float = 1.5e-12
    cell_ohms: float = 50.0
    # Number of cells along each side of the package.
    package_cells: int = 7
    # Side of a package cell; the chip covers the three by three cells in the middle.
    cell_metres: float = 1e-3
    # gap_metres, permittivity, loss: thickness, permittivity relative to vacuum, and loss tangent of the dielectric
    # between the planes.
    gap_metres: float = 50e-6
    permittivity: float = 4.2
    loss: float = 0.02
    # Thickness of each plane.
    copper_metres: float = 18e-6
    # bump_ohms, bump_henries: resistance and inductance from a package cell to the chip, through bumps and the vias in
    # the chip's layers.
    bump_ohms: float = 0.5
    bump_henries: float = 300e-12
    # board_ohms, board_henries: resistance and inductance of each of the four paths to the voltage regulator.
    board_ohms: float = 1.0
    board_henries: float = 20e-9


def generate(parameters: Parameters | None = None, frequencies: NDArray[np.float64] = FREQUENCIES) -> Network:
    """Compute the impedance at the chip's cells, which are the ports, including package and board."""
    parameters = parameters or Parameters()
    below, above = bumps(parameters)
    package = np.linalg.inv(package_admittance(parameters, frequencies))[:, below[:, None], below]
    bump = parameters.bump_ohms + 2j * np.pi * frequencies * parameters.bump_henries
    chip = chip_admittance(parameters, frequencies)
    chip[:, above[:, None], above] += np.linalg.inv(package + bump[:, None, None] * np.eye(len(below)))
    return Network.reciprocal(np.linalg.inv(chip), frequencies, "generated")


def bumps(parameters: Parameters) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the cells of the package, and the chip cells above them, that bumps connect: ``(9,)`` arrays."""
    middle = parameters.package_cells // 2 + np.arange(-1, 2)
    # Cell of the chip above the middle of each package cell.
    spread = np.rint((np.arange(3) + 0.5) * GRID / 3 - 0.5).astype(np.int64)
    below = parameters.package_cells * middle[:, None] + middle
    return below.ravel(), (GRID * spread[:, None] + spread).ravel()


def chip_admittance(parameters: Parameters, frequencies: NDArray[np.float64]) -> Complex:
    """Return the ``(f, p, p)`` nodal admittance of the chip alone."""
    omega = 2j * np.pi * frequencies
    branch = parameters.branch_ohms + omega * parameters.branch_henries
    shunt = parameters.cell_ohms + 1 / (omega * parameters.cell_farads)
    return _cell_network(GRID, 1 / branch, 1 / shunt)


def package_admittance(parameters: Parameters, frequencies: NDArray[np.float64]) -> Complex:
    """Return the ``(f, q, q)`` nodal admittance of the package, board and regulator.

    The formulas are those of a plane pair. A cell has the capacitance of its area. A branch has the inductance of the
    gap and twice the larger of the direct-current resistance and the skin resistance.
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
    """Return the nodal admittance of ``side * side`` unit cells, from ``(f,)`` admittances of a branch and a shunt."""
    chain = np.diag(np.full(side - 1, 1.0), 1)
    chain += chain.T
    neighbours = np.kron(np.eye(side), chain) + np.kron(chain, np.eye(side))
    laplacian = np.diag(neighbours.sum(axis=0)) - neighbours
    return np.asarray(branch[:, None, None] * laplacian + shunt[:, None, None] * np.eye(side * side))
