"""Impedance of one port of a network with shunts on other ports, for many sets of these at once.

With shunts ``D`` on the ports ``s``, the port ``a`` sees ``Z_aa - Z_as (Z_ss + D)^-1 Z_sa``. This is the last pivot
when the symmetric matrix of these ports, with shunts on its diagonal, is factored into ``L D L^T`` with ``a`` last. So
only the entries of these ports are read, and no inverse is formed. Blocks of frequencies are processed side by side,
which fills the processor's vector registers and keeps the matrices in its fast caches. Pivoting is not needed, because
the real part of a passive network's impedance is positive definite, and shunts that absorb power add to its diagonal.

Source: Golub and Van Loan 2013, Matrix Computations (ISBN 978-1-4214-0794-4), sections 4.1 and 4.2.
"""

import numpy as np
from numba import njit, types
from numpy.typing import ArrayLike, NDArray

from oragent.solvers.kernels import VECTOR, kernel

# Block size: 201 frequencies in three blocks. Measured at 8 to 201.
_LANES = 72
_MATRICES = types.Array(types.complex128, 3, "C", readonly=True)
_ROWS = types.Array(types.int64, 2, "C", readonly=True)


def with_shunts(
    impedance: NDArray[np.complex128], port: int, shunts: NDArray[np.float64], choices: ArrayLike
) -> NDArray[np.complex128]:
    """Compute the impedance of a port, for each set of ports with a shunt.

    Args:
        impedance: ``(p, p, f)`` impedance of the network at every frequency, symmetric in its ports.
        port: Port whose impedance is computed.
        shunts: ``(f,)`` impedance of one shunt, real and positive.
        choices: ``(n, k)`` ports with a shunt: in range, different in each row, never ``port``.

    Returns:
        ``(n, f)`` array; bitwise equal for rows with the same ports, in any order.
    """
    rows = np.sort(np.asarray(choices, dtype=np.int64), axis=1)
    seen: NDArray[np.complex128] = _with_shunts(impedance, port, shunts, rows)
    return seen


@njit(error_model="numpy", fastmath={"contract"}, inline="always")
def _eliminate(real, imag, over_real, over_imag):  # type: ignore[no-untyped-def]
    """Factor the lower triangles in place: pivots on the diagonal, and ``over`` the rows divided by them."""
    for i in range(real.shape[0]):
        for j in range(i + 1):
            if j == i:
                _divide(real, imag, over_real, over_imag, i)
            for k in range(j):
                for lane in range(_LANES):
                    left_real, left_imag = real[i, k, lane], imag[i, k, lane]
                    right_real, right_imag = over_real[j, k, lane], over_imag[j, k, lane]
                    real[i, j, lane] -= left_real * right_real - left_imag * right_imag
                    imag[i, j, lane] -= left_real * right_imag + left_imag * right_real


@njit(error_model="numpy", fastmath={"contract"}, inline="always")
def _divide(real, imag, over_real, over_imag, i):  # type: ignore[no-untyped-def]
    for k in range(i):
        for lane in range(_LANES):
            pivot_real, pivot_imag = real[k, k, lane], imag[k, k, lane]
            square = pivot_real * pivot_real + pivot_imag * pivot_imag
            value_real, value_imag = real[i, k, lane], imag[i, k, lane]
            over_real[i, k, lane] = (value_real * pivot_real + value_imag * pivot_imag) / square
            over_imag[i, k, lane] = (value_imag * pivot_real - value_real * pivot_imag) / square


@kernel([types.complex128[:, ::1](_MATRICES, types.int64, VECTOR, _ROWS)], error_model="numpy")
def _with_shunts(impedance, port, shunts, choices):  # type: ignore[no-untyped-def]
    count, size = choices.shape
    seen, ports = np.empty((count, shunts.size), np.complex128), np.empty(size + 1, np.int64)
    real, imag = np.empty((size + 1, size + 1, _LANES)), np.empty((size + 1, size + 1, _LANES))
    over_real, over_imag = np.empty_like(real), np.empty_like(imag)
    for row in range(count):
        ports[:size], ports[size] = choices[row], port
        for start in range(0, shunts.size, _LANES):
            # Lanes after the last one repeat it.
            last = min(_LANES, shunts.size - start) - 1
            for i in range(size + 1):
                for j in range(i + 1):
                    entries = impedance[ports[i], ports[j], start:]
                    for lane in range(_LANES):
                        entry = entries[min(lane, last)]
                        real[i, j, lane], imag[i, j, lane] = entry.real, entry.imag
            for i in range(size):
                for lane in range(_LANES):
                    real[i, i, lane] += shunts[start + min(lane, last)]
            _eliminate(real, imag, over_real, over_imag)
            for lane in range(last + 1):
                seen[row, start + lane] = complex(real[size, size, lane], imag[size, size, lane])
    return seen
