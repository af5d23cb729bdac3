"""The direction in which an unbounded model improves for ever."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from oragent.milp.arrays import FEASIBLE, Arrays, Vector
from oragent.milp.highs import SolverClaim, run
from oragent.milp.model import Milp


def ray(milp: Milp) -> Mapping[str, float] | None:
    """The variables that run off, and how fast against each other.

    Returns:
        By variable, only those that move, the fastest at 1 in size; None where no direction improves for ever.
    """
    direction = ray_of(Arrays.of(milp))
    if direction is None:
        return None
    return {variable.name: float(step) for variable, step in zip(milp.variables, direction, strict=True) if step != 0.0}


def ray_of(arrays: Arrays) -> Vector | None:
    """An improving direction of the recession cone, ``(n,)``, largest step 1; None where there is none.

    With rational figures, as doubles are, an integer model with a feasible point is unbounded if and only if its
    relaxation has such a direction (Meyer 1974, doi:10.1007/BF01585523).
    """
    cone = replace(
        arrays.relaxed(),
        constant=0.0,
        low=np.where(np.isfinite(arrays.low), 0.0, -1.0),
        high=np.where(np.isfinite(arrays.high), 0.0, 1.0),
        row_low=np.where(np.isfinite(arrays.row_low), 0.0, -np.inf),
        row_high=np.where(np.isfinite(arrays.row_high), 0.0, np.inf),
    )
    found = run(cone)
    if found.claim is not SolverClaim.OPTIMAL or found.values is None:
        return None
    direction = np.where(np.abs(found.values) < 1e-9, 0.0, found.values)
    gain = -arrays.sense.sign * float(arrays.cost @ direction)
    size = float(np.abs(arrays.cost) @ np.abs(direction))
    if gain <= FEASIBLE * size or cone.violation(direction) > FEASIBLE:
        return None
    return np.asarray(direction / np.abs(direction).max())
