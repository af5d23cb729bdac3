"""HiGHS through highspy: linear, mixed-integer and convex quadratic models."""

import time
from typing import Any

import highspy
import numpy as np

from oragent.modelling.data.arrays import Arrays, Vector
from oragent.modelling.solving.back_ends.protocol import Ability, Limit, SolverOptions, SolverResult, SolverStatus
from oragent.modelling.solving.highs import SOLVER, HighsRun, run_highs

_STATUS = highspy.HighsModelStatus
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


class HighsSolver:
    """Default back end, which is always installed."""

    name = "highs"
    install = 'pip install "highspy>=1.15"'
    abilities = frozenset(
        {
            Ability.LINEAR,
            Ability.INTEGER,
            Ability.CONVEX_OBJECTIVE,
            Ability.SEMI_CONTINUOUS,
            Ability.DUALS,
            Ability.RAY,
            Ability.FARKAS,
            Ability.START,
            Ability.THREADS,
            Ability.GAP,
            Ability.TIME,
            Ability.NODES,
            Ability.ITERATIONS,
            Ability.SEED,
        }
    )

    def version(self) -> str:
        """Return name and version."""
        return SOLVER

    def solve(self, arrays: Arrays, options: SolverOptions, start: Vector | None = None) -> SolverResult:
        """Solve a model once; see ``Solver``."""
        started = time.perf_counter()
        run = run_highs(
            arrays,
            options.seconds,
            options.gap,
            options.nodes,
            threads=options.threads,
            iterations=options.iterations,
            seed=options.seed,
            start=start,
        )
        return result_of_run(arrays, run, time.perf_counter() - started)


def result_of_run(arrays: Arrays, run: HighsRun, seconds: float) -> SolverResult:
    """Convert the outcome of a call of HiGHS to a result."""
    model_status, info = run.engine.getModelStatus(), run.engine.getInfo()
    status = STATUSES.get(model_status, SolverStatus.STOPPED)
    limit = LIMITS.get(model_status)
    if status is SolverStatus.STOPPED and limit is None:
        limit = Limit.OTHER
    work = {
        "nodes": float(max(info.mip_node_count, 0)),
        "iterations": float(max(info.simplex_iteration_count, 0) + max(info.ipm_iteration_count, 0)),
    }
    return SolverResult(
        status,
        SOLVER,
        run.values,
        run.bound if np.isfinite(run.bound) else None,
        row_duals=run.row_duals,
        reduced_costs=_reduced_costs(arrays, run),
        ray=_certificate(run.engine.getPrimalRay, len(arrays.cost)) if status is SolverStatus.UNBOUNDED else None,
        farkas=_farkas(arrays, run) if status is SolverStatus.INFEASIBLE else None,
        limit=limit,
        work=work,
        seconds=seconds,
        engine=run.engine,
    )


def _reduced_costs(arrays: Arrays, run: HighsRun) -> Vector | None:
    if run.row_duals is None or not run.engine.getSolution().dual_valid:
        return None
    return np.array(run.engine.getSolution().col_dual)[: len(arrays.cost)]


def _farkas(arrays: Arrays, run: HighsRun) -> Vector | None:
    if arrays.integer.any() or arrays.features:
        return None
    return _certificate(run.engine.getDualRay, len(arrays.row_low))


def _certificate(get: Any, size: int) -> Vector | None:
    """Return a ray of the engine without the idle row, or None."""
    _, exists, *values = get()
    if not exists or not values:
        return None
    return np.array(values[0], dtype=float)[:size]
