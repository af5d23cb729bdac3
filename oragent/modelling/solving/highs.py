"""One call of HiGHS, with one thread by default (Huangfu & Hall 2018, doi:10.1007/s12532-017-0130-5)."""

import os
from typing import Any

import highspy
import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays, Sparse, Vector
from oragent.modelling.data.model_values import Sense
from oragent.modelling.solving.back_ends.protocol import Limit, SolverOptions, SolverResult, SolverStatus
from oragent.modelling.solving.certificate import with_whole_limits

# Option of HiGHS that is on by default.
JUMP = "mip_heuristic_run_feasibility_jump"
# Maximum number of variables at which feasibility jump is off. Branching takes 1 to 2 ms, the jump 10 ms.
SMALL = 100
# Solvers made in advance. Each is used once.
_PREPARED: list[Any] = []
# Number of threads of the last solve in this process.
_THREADS_IN_USE = [1]

_STATUS = highspy.HighsModelStatus
# Variable types by integer + 2 * semi-continuous.
KINDS = (
    highspy.HighsVarType.kContinuous,
    highspy.HighsVarType.kInteger,
    highspy.HighsVarType.kSemiContinuous,
    highspy.HighsVarType.kSemiInteger,
)
# HiGHS's code for "solution status: feasible".
_POINT = 2
# Number of nodes after which a small model is restarted with the first point.
RESTART_NODES = 1000
ITERATION_OPTIONS = ("simplex_iteration_limit", "ipm_iteration_limit", "qp_iteration_limit")


def prepare_engines(count: int) -> None:
    """Make solvers in a process before it forks. Each fork uses one, which halves the cost of a small solve."""
    _PREPARED.extend(_make_engine() for _ in range(count))


def _make_first_engine() -> Any:
    """Make the first solver of a process. Since version 1.16 HiGHS then prints a banner on standard output.

    Child processes answer on standard output, so it is redirected to the null device during this call.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        saved_stdout = os.dup(1)
    except OSError:
        # Standard output is closed, so no banner can appear.
        os.close(nowhere)
        return highspy.Highs()
    os.dup2(nowhere, 1)
    try:
        return highspy.Highs()
    finally:
        os.dup2(saved_stdout, 1)
        os.close(saved_stdout)
        os.close(nowhere)


SOLVER = f"HiGHS {_make_first_engine().version()}"


def _make_engine() -> Any:
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    # If no thread can be started, HiGHS fails without a message unless it is set to one thread.
    highs.setOptionValue("threads", 1)
    # By default HiGHS treats coefficients below 1e-9 as 0.
    highs.setOptionValue("small_matrix_value", 1e-12)
    return highs


STATUSES = {
    _STATUS.kOptimal: SolverStatus.OPTIMAL,
    _STATUS.kInfeasible: SolverStatus.INFEASIBLE,
    _STATUS.kUnbounded: SolverStatus.UNBOUNDED,
    _STATUS.kUnboundedOrInfeasible: SolverStatus.INFEASIBLE_OR_UNBOUNDED,
}
LIMITS = {
    _STATUS.kTimeLimit: Limit.TIME,
    _STATUS.kIterationLimit: Limit.ITERATIONS,
    _STATUS.kSolutionLimit: Limit.NODES,
    _STATUS.kMemoryLimit: Limit.MEMORY,
}
NO_LIMITS = SolverOptions()


def run_highs(arrays: Arrays, options: SolverOptions = NO_LIMITS, start: Vector | None = None) -> SolverResult:
    """Solve a model once.

    Args:
        arrays: The model; supported features are a convex quadratic objective and semi-continuous variables.
        options: Limits.
        start: ``(k,)`` start values of the first columns.

    Raises:
        ModellingError: The model has a feature that HiGHS does not support.
    """
    if arrays.features.parts or arrays.features.soft_rows or any(goal.weight for goal in arrays.features.goals):
        raise ModellingError("HiGHS needs linear rows and one objective: write the model with linear rows first")
    solver = quiet_engine()
    # Feasibility jump (Luteberget & Sartor 2023, doi:10.1007/s12532-023-00234-8) takes longer than it saves there.
    is_small = len(arrays.cost) <= SMALL
    _set_threads(solver, options.threads)
    if options.iterations is not None:
        for name in ITERATION_OPTIONS:
            solver.setOptionValue(name, options.iterations)
    solver.setOptionValue("random_seed", options.seed)
    solver.setOptionValue(JUMP, not is_small)
    if options.seconds is not None:
        solver.setOptionValue("time_limit", options.seconds)
    nodes = options.nodes
    if nodes is not None or is_small:
        solver.setOptionValue("mip_max_nodes", min(nodes or RESTART_NODES, RESTART_NODES) if is_small else nodes)
    solver.setOptionValue("mip_rel_gap", options.gap)
    solver.setOptionValue("mip_abs_gap", 0.0)
    # For an integer from 0 to 2.5, HiGHS 1.15 may return 2.5 and report it as optimal.
    if load_arrays(solver, with_whole_limits(arrays)) == highspy.HighsStatus.kError:
        return SolverResult(SolverStatus.STOPPED, SOLVER, limit=Limit.OTHER, engine=solver)
    # A basis of another size is refused.
    if options.basis is not None and solver.setBasis(options.basis) == highspy.HighsStatus.kOk:
        solver.run()
        if solver.getModelStatus() == _STATUS.kOptimal and solver.getInfo().primal_solution_status == _POINT:
            return _read_result(arrays, solver)
        # From a basis HiGHS skips presolve, and may then not prove that a model is infeasible.
        solver.clearSolver()
    if start is not None:
        solver.setSolution(len(start), np.arange(len(start)), start)
    solver.run()
    # Without bounds, the number of nodes may be infinite.
    if is_small and solver.getInfo().mip_node_count >= RESTART_NODES:
        solver.setOptionValue(JUMP, True)
        solver.setOptionValue("mip_max_nodes", highspy.kHighsIInf if nodes is None else nodes)
        solver.run()
    status = solver.getModelStatus()
    is_violated = status == _STATUS.kOptimal and solver.getInfo().primal_solution_status != _POINT
    if is_violated or status == _STATUS.kSolveError:
        # With presolve, HiGHS can return a point that violates the model, as "optimal" or as an error.
        solver.setOptionValue("presolve", "off")
        solver.run()
    if start is not None and _contradicts_bound(solver, arrays, options.gap):
        # HiGHS 1.16 may return a start point with semi-continuous variables as the optimum.
        solver.clearSolver()
        solver.run()
    return _read_result(arrays, solver)


def _read_result(arrays: Arrays, solver: Any) -> SolverResult:
    info, solution, model_status = solver.getInfo(), solver.getSolution(), solver.getModelStatus()
    status = STATUSES.get(model_status, SolverStatus.STOPPED)
    is_linear = not arrays.integer.any() and not arrays.features.semi_continuous
    has_point = solution.value_valid and info.primal_solution_status == _POINT
    has_point = has_point and status in (SolverStatus.OPTIMAL, SolverStatus.STOPPED)
    has_duals = solution.dual_valid and is_linear
    bound = None if is_linear or not np.isfinite(info.mip_dual_bound) else info.mip_dual_bound
    return SolverResult(
        status,
        SOLVER,
        np.array(solution.col_value) if has_point else None,
        bound,
        np.array(solution.row_dual)[: len(arrays.row_low)] if has_duals else None,
        LIMITS.get(model_status, Limit.OTHER if status is SolverStatus.STOPPED else None),
        {
            "nodes": float(max(info.mip_node_count, 0)),
            "iterations": float(max(info.simplex_iteration_count, 0) + max(info.ipm_iteration_count, 0)),
        },
        solver,
    )


def _contradicts_bound(solver: Any, arrays: Arrays, gap: float) -> bool:
    """Return True if the point of a claimed optimum of an integer model is worse than the solver's bound."""
    info = solver.getInfo()
    if solver.getModelStatus() != _STATUS.kOptimal or info.mip_node_count < 0:
        return False
    best, bound = arrays.objective_at(np.array(solver.getSolution().col_value)), info.mip_dual_bound
    return bool(abs(best - bound) > (gap + 1e-6) * max(1.0, abs(best)))


def _set_threads(solver: Any, threads: int) -> None:
    _use_threads(threads)
    if threads > 1:
        solver.setOptionValue("threads", threads)
        solver.setOptionValue("parallel", "on")


def _use_threads(threads: int = 1) -> None:
    """Set the number of threads of this process. HiGHS refuses a solve if the process already uses another number."""
    if threads != _THREADS_IN_USE[0]:
        highspy.Highs.resetGlobalScheduler(True)
        _THREADS_IN_USE[0] = threads


def run_engine(engine: Any) -> None:
    """Run a solver of ``quiet_engine``, also after solves with other numbers of threads."""
    _use_threads()
    engine.run()


def quiet_engine() -> Any:
    """Return an unused solver without output and threads that keeps small coefficients."""
    return _PREPARED.pop() if _PREPARED else _make_engine()


def infeasibility_ray(arrays: Arrays, limit_s: float | None = None) -> Vector | None:
    """Return the ``(m,)`` multipliers with which HiGHS proves a linear programme infeasible; None if it does not.

    Those of a simplex basis are an extreme ray: no proper subset of their rows and bounds has such multipliers.
    """
    engine = quiet_engine()
    # Presolve can prove infeasibility without multipliers.
    engine.setOptionValue("presolve", "off")
    engine.setOptionValue("solver", "simplex")
    if limit_s is not None:
        engine.setOptionValue("time_limit", max(limit_s, 0.0))
    load_arrays(engine, arrays)
    run_engine(engine)
    if engine.getModelStatus() != _STATUS.kInfeasible:
        return None
    _, exists, *values = engine.getDualRay()
    # The last one may be that of the idle row.
    multipliers = np.array(values[0] if exists and values else (), dtype=float)[: len(arrays.row_low)]
    return multipliers if multipliers.any() else None


def basis_of(engine: object) -> object:
    """Return the basis of the last linear programme of a solver; None without one, or for another solver."""
    basis = engine.getBasis() if isinstance(engine, highspy.Highs) else None
    return basis if basis is not None and basis.valid else None


def load_arrays(engine: Any, arrays: Arrays) -> Any:
    """Load a model into a solver, and return HiGHS's status of it."""
    if arrays.features.quadratic or arrays.features.semi_continuous or arrays.matrix.is_zero:
        return engine.passModel(as_highs_model(arrays))
    # HiGHS reads these arrays in place, but the vectors of its own form number by number.
    rows, columns = arrays.matrix.shape
    return engine.passModel(
        columns,
        rows,
        len(arrays.matrix.values),
        int(highspy.MatrixFormat.kRowwise),
        int(_sense_of(arrays)),
        arrays.constant,
        arrays.cost,
        arrays.low,
        arrays.high,
        arrays.row_low,
        arrays.row_high,
        arrays.matrix.starts,
        arrays.matrix.columns,
        arrays.matrix.values,
        arrays.integer.astype(np.int32),
    )


def _sense_of(arrays: Arrays) -> Any:
    return highspy.ObjSense.kMinimize if arrays.sense is Sense.MINIMIZE else highspy.ObjSense.kMaximize


def as_highs(arrays: Arrays) -> Any:
    """Return a model in HiGHS's form."""
    # The computation of ranges needs at least one coefficient.
    if arrays.matrix.is_zero:
        arrays = arrays.with_idle_row([0])
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = arrays.matrix.shape
    lp.sense_ = _sense_of(arrays)
    lp.offset_ = arrays.constant
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = arrays.cost, arrays.low, arrays.high
    lp.row_lower_, lp.row_upper_ = arrays.row_low, arrays.row_high
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = arrays.matrix.starts
    lp.a_matrix_.index_ = arrays.matrix.columns
    lp.a_matrix_.value_ = arrays.matrix.values
    semi_continuous = [part.variable for part in arrays.features.semi_continuous]
    if arrays.integer.any() or semi_continuous:
        kinds = arrays.integer.astype(int)
        kinds[semi_continuous] += 2
        lp.integrality_ = [KINDS[kind] for kind in kinds.tolist()]
    return lp


def as_highs_model(arrays: Arrays) -> Any:
    """Return the model in HiGHS's form, with its quadratic objective if there is one."""
    model = highspy.HighsModel()
    model.lp_ = as_highs(arrays)
    if not arrays.features.quadratic:
        return model
    # HiGHS minimises c'x + x'Qx / 2 and reads the lower triangle of Q by column.
    entries: dict[tuple[int, int], float] = {}
    for term in arrays.features.quadratic:
        position = (min(term.first, term.second), max(term.first, term.second))
        factor = 2.0 if term.first == term.second else 1.0
        entries[position] = entries.get(position, 0.0) + factor * term.value
    columns, rows = zip(*sorted(entries), strict=True)
    triangle = Sparse.from_entries(
        columns, rows, [entries[position] for position in sorted(entries)], (len(arrays.cost),) * 2
    )
    hessian = model.hessian_
    hessian.dim_ = len(arrays.cost)
    hessian.format_ = highspy.HessianFormat.kTriangular
    hessian.start_, hessian.index_, hessian.value_ = triangle.starts, triangle.columns, triangle.values
    return model
