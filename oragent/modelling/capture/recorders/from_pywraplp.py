"""Recorder of OR-Tools' linear solver wrapper, ``pywraplp``."""

import math
from typing import Any

from oragent.modelling.capture.recorder import Recorder, package_version
from oragent.modelling.capture.snapshot import Snapshot

STATUSES = ("optimal", "feasible", "infeasible", "unbounded", "abnormal", "model invalid", "not solved")


def install(module: Any, recorder: Recorder) -> None:
    """Watch solves, variables and constraints."""
    version = package_version(module, "ortools")
    solver_class = module.Solver
    set_limit, set_threads = solver_class.SetTimeLimit, solver_class.SetNumThreads
    recorder.watch_additions(
        solver_class, ("NumVar", "IntVar", "BoolVar", "Var"), "columns", lambda model: int(model.NumVariables())
    )
    recorder.watch_additions(
        solver_class, ("Add", "Constraint", "RowConstraint"), "rows", lambda model: int(model.NumConstraints())
    )

    for name in ("SetTimeLimit", "set_time_limit"):
        setattr(solver_class, name, _noted(getattr(solver_class, name), "_requested_ms"))
    solver_class.SetNumThreads = _noted(set_threads, "_threads")

    def snapshot(model: Any, *arguments: Any) -> Snapshot:
        threads = getattr(model, "_threads", 0)
        if not threads:
            threads = 1
            set_threads(model, threads)
        requested = getattr(model, "_requested_ms", 0) or math.inf
        set_limit(model, int(min(requested, 1000 * recorder.remaining_s(threads))))
        taken = _snapshot(model, version)

        def find_column(value: Any) -> int | None:
            if not isinstance(value, module.Variable) or value.index() >= len(taken.columns):
                return None
            return int(value.index()) if taken.columns[value.index()] == value.name() else None

        def find_row(value: Any) -> int | None:
            if not isinstance(value, module.Constraint) or value.index() >= len(taken.rows):
                return None
            return int(value.index()) if taken.rows[value.index()] == value.name() else None

        return recorder.fill_keys(taken, model, find_column, find_row)

    recorder.watch_solve(solver_class, ("Solve",), version, snapshot, _claim)


def _noted(set_option: Any, name: str) -> Any:
    """Return a method that sets an option and notes its value on the model, because it cannot be read back."""

    def set_noted(model: Any, value: int) -> Any:
        setattr(model, name, value)
        return set_option(model, value)

    set_noted.__doc__ = set_option.__doc__
    return set_noted


def _snapshot(model: Any, version: str) -> Snapshot:
    from ortools.linear_solver import linear_solver_pb2

    proto = linear_solver_pb2.MPModelProto()
    model.ExportModelToProto(proto)
    snapshot = Snapshot(version, proto.name, proto.maximize, proto.objective_offset)
    if proto.general_constraint:
        snapshot.missing.append("general constraints")
    if proto.HasField("quadratic_objective"):
        snapshot.missing.append("a quadratic objective")
    for variable in proto.variable:
        snapshot.add_column(
            variable.name,
            variable.lower_bound,
            variable.upper_bound,
            variable.is_integer,
            variable.objective_coefficient,
        )
    for row in proto.constraint:
        terms: dict[int, float] = {}
        for column, value in zip(row.var_index, row.coefficient, strict=True):
            terms[column] = terms.get(column, 0.0) + value
        snapshot.add_row(row.name, terms, row.lower_bound, row.upper_bound)
    return snapshot


def _claim(result: Any, model: Any, *arguments: Any) -> tuple[str, float | None, list[float] | None]:
    status = STATUSES[result] if 0 <= result < len(STATUSES) else str(result)
    if result > 1:
        return status, None, None
    return status, model.Objective().Value(), [variable.solution_value() for variable in model.variables()]
