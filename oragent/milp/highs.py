"""One call of HiGHS (Huangfu & Hall 2018, doi:10.1007/s12532-017-0130-5) on one thread."""

from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

import highspy
import numpy as np

from oragent.milp.arrays import Arrays, Vector
from oragent.milp.engines import JUMP, VERSION, engine, jumps
from oragent.milp.model import Sense
from oragent.milp.sparse import Sparse

SOLVER = f"HiGHS {VERSION}"

_STATUS = highspy.HighsModelStatus
WHOLE = 1e-9  # how far a bound may be from the whole number that it is meant to be
_POINT = 2  # HiGHS's "solution status: feasible"


class SolverClaim(Enum):
    """What the solver says of a model; ``solve`` looks whether it is so."""

    OPTIMAL = auto()
    NO_OPTIMUM = auto()  # infeasible or unbounded: which of them is settled elsewhere
    STOPPED = auto()  # by a limit, or by an error of its own


HASTE = 1000  # nodes after which a small model is begun anew, with the help of a first point
CLAIMS = {
    _STATUS.kOptimal: SolverClaim.OPTIMAL,
    _STATUS.kInfeasible: SolverClaim.NO_OPTIMUM,
    _STATUS.kUnbounded: SolverClaim.NO_OPTIMUM,
    _STATUS.kUnboundedOrInfeasible: SolverClaim.NO_OPTIMUM,
}


@dataclass(frozen=True)
class HighsRun:
    """How a call ended.

    Attributes:
        claim: The solver's word.
        values: ``(n,)`` values of a point that it holds feasible; None where it has none.
        bound: Its bound on the objective; infinite where it has none.
        row_duals: ``(m,)`` d objective / d right-hand side; None for integer models and where there are none.
        engine: The solver, whose basis can be asked for ranges.
    """

    claim: SolverClaim
    values: Vector | None
    bound: float
    row_duals: Vector | None
    engine: Any


def run(arrays: Arrays, limit_s: float | None = None, gap: float = 0.0, nodes: int | None = None) -> HighsRun:
    """Solve a model once.

    Args:
        arrays: The model.
        limit_s: Wall-clock limit in seconds; None for none.
        gap: Relative gap between objective and bound at which an integer model counts as solved.
        nodes: Largest number of branch-and-bound nodes; None for no limit.
    """
    solver = quiet()
    hasty = not jumps(len(arrays.cost))
    solver.setOptionValue(JUMP, not hasty)
    if limit_s is not None:
        solver.setOptionValue("time_limit", max(limit_s, 0.0))
    if nodes is not None or hasty:
        solver.setOptionValue("mip_max_nodes", min(nodes or HASTE, HASTE) if hasty else nodes)
    solver.setOptionValue("mip_rel_gap", gap)
    solver.setOptionValue("mip_abs_gap", 0.0)
    if solver.passModel(as_highs(_with_whole_bounds(arrays))) == highspy.HighsStatus.kError:
        return HighsRun(SolverClaim.STOPPED, None, -arrays.sense.sign * np.inf, None, solver)
    solver.run()
    if hasty and solver.getInfo().mip_node_count >= HASTE:  # without bounds there may be nodes for ever
        solver.setOptionValue(JUMP, True)
        solver.setOptionValue("mip_max_nodes", highspy.kHighsIInf if nodes is None else nodes)
        solver.run()
    if solver.getModelStatus() == _STATUS.kOptimal and solver.getInfo().primal_solution_status != _POINT:
        solver.setOptionValue("presolve", "off")  # "optimal", and the point breaks the model: presolve did it
        solver.run()
    claim = CLAIMS.get(solver.getModelStatus(), SolverClaim.STOPPED)
    info, solution = solver.getInfo(), solver.getSolution()
    has_point = solution.value_valid and info.primal_solution_status == _POINT and claim is not SolverClaim.NO_OPTIMUM
    values = np.array(solution.col_value) if has_point else None
    duals = (
        np.array(solution.row_dual)[: len(arrays.row_low)] if solution.dual_valid and not arrays.integer.any() else None
    )
    bound = info.mip_dual_bound if arrays.integer.any() else -arrays.sense.sign * np.inf
    return HighsRun(claim, values, bound, duals, solver)


def quiet() -> Any:
    """A solver that prints nothing, starts no thread, and keeps small coefficients."""
    made = engine()
    made.setOptionValue("small_matrix_value", 1e-12)  # by default what is below 1e-9 counts as 0
    return made


def as_highs(arrays: Arrays) -> Any:
    """A model in the solver's own form."""
    arrays = _with_a_row(arrays) if arrays.matrix.is_zero else arrays
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = arrays.matrix.shape
    lp.sense_ = highspy.ObjSense.kMinimize if arrays.sense is Sense.MINIMIZE else highspy.ObjSense.kMaximize
    lp.offset_ = arrays.constant
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = arrays.cost, arrays.low, arrays.high
    lp.row_lower_, lp.row_upper_ = arrays.row_low, arrays.row_high
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = arrays.matrix.starts
    lp.a_matrix_.index_ = arrays.matrix.columns
    lp.a_matrix_.value_ = arrays.matrix.values
    if arrays.integer.any():
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(whole)] for whole in arrays.integer]
    return lp


def _with_whole_bounds(arrays: Arrays) -> Arrays:
    """Integers between whole numbers: HiGHS 1.15 may return 2.5 for one from 0 to 2.5 and call it optimal."""
    low = np.where(arrays.integer, np.ceil(arrays.low - WHOLE), arrays.low)
    high = np.where(arrays.integer, np.floor(arrays.high + WHOLE), arrays.high)
    return replace(arrays, low=low, high=high)


def _with_a_row(arrays: Arrays) -> Arrays:
    """A model without any coefficient and an idle row more, after its own: without one HiGHS gives no ranges."""
    idle = Sparse.of([0], [0], [1.0], (1, len(arrays.cost)))
    return replace(
        arrays,
        matrix=arrays.matrix.above(idle),
        row_low=np.append(arrays.row_low, -np.inf),
        row_high=np.append(arrays.row_high, np.inf),
    )
