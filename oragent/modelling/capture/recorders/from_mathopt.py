"""Recorder of OR-Tools' MathOpt."""

from copy import copy
from datetime import timedelta
from typing import Any

from oragent.modelling.capture.recorder import Recorder, package_version
from oragent.modelling.capture.snapshot import Snapshot

NOT_LINEAR = {
    "quadratic_constraints": "quadratic rows",
    "second_order_cone_constraints": "cones",
    "sos1_constraints": "special-ordered sets",
    "sos2_constraints": "special-ordered sets",
    "indicator_constraints": "indicator constraints",
    "auxiliary_objectives": "several objectives",
}


def install(module: Any, recorder: Recorder) -> None:
    """Watch solves, variables and constraints."""
    from ortools.math_opt.python import model as models

    version = package_version(module, "ortools")
    adders = ("add_variable", "add_integer_variable", "add_binary_variable")
    recorder.watch_additions(models.Model, adders, "columns", lambda model: int(model.get_num_variables()))
    recorder.watch_additions(
        models.Model, ("add_linear_constraint",), "rows", lambda model: int(model.get_num_linear_constraints())
    )

    def snapshot(model: Any, *arguments: Any, **named: Any) -> Snapshot:
        return _snapshot(model, version, recorder)

    def claim(result: Any, model: Any, *arguments: Any, **named: Any) -> tuple[str, float | None, Any]:
        return _claim(result, model)

    _limit_solves(module, recorder)
    recorder.watch_solve(module, ("solve",), version, snapshot, claim)
    incremental = getattr(module, "IncrementalSolver", None)
    if incremental is not None:
        _watch_incremental(incremental, version, recorder)


def _limit_solves(module: Any, recorder: Recorder) -> None:
    """Limit solves to the remaining time.

    If other threads may not start, solves use one, and SCIP replaces HiGHS, which conflicts with highspy in one
    process.
    """
    from ortools.math_opt.python import parameters

    solve = module.solve
    threaded = (parameters.SolverType.CP_SAT, parameters.SolverType.GSCIP)

    def solve_limited(opt_model: Any, solver_type: Any, **named: Any) -> Any:
        given = copy(named.pop("params", None)) or parameters.SolveParameters()
        if recorder.is_confined and solver_type is parameters.SolverType.HIGHS:
            solver_type = parameters.SolverType.GSCIP
        if solver_type in threaded and (recorder.is_confined or not given.threads):
            given.threads = 1
        remaining = timedelta(seconds=recorder.remaining_s(given.threads or 1))
        given.time_limit = remaining if given.time_limit is None else min(given.time_limit, remaining)
        if recorder.gap is not None:
            given.relative_gap_tolerance = recorder.gap
        return solve(opt_model, solver_type, params=given, **named)

    module.solve = solve_limited


def _watch_incremental(incremental: Any, version: str, recorder: Recorder) -> None:
    begin, solve = incremental.__init__, incremental.solve

    def begin_noted(self: Any, opt_model: Any, *arguments: Any, **named: Any) -> None:
        begin(self, opt_model, *arguments, **named)
        self._recorded_model = opt_model

    def solve_recorded(self: Any, *arguments: Any, **named: Any) -> Any:
        model = self._recorded_model
        number = recorder.record(version, lambda: _snapshot(model, version, recorder))
        result = solve(self, *arguments, **named)
        recorder.claim(number, lambda: _claim(result, model))
        return result

    incremental.__init__, incremental.solve = begin_noted, solve_recorded


def _snapshot(model: Any, version: str, recorder: Recorder) -> Snapshot:
    proto = model.export_model()
    snapshot = Snapshot(version, proto.name, proto.objective.maximize, proto.objective.offset)
    snapshot.objective = str(proto.objective.name)
    for part, what in NOT_LINEAR.items():
        if len(getattr(proto, part, ())):
            snapshot.missing.append(what)
    if proto.objective.quadratic_coefficients.row_ids:
        snapshot.missing.append("a quadratic objective")
    columns = {identity: at for at, identity in enumerate(proto.variables.ids)}
    rows = {identity: at for at, identity in enumerate(proto.linear_constraints.ids)}
    for at in range(len(columns)):
        variables = proto.variables
        name = variables.names[at] if variables.names else ""
        snapshot.add_column(name, variables.lower_bounds[at], variables.upper_bounds[at], variables.integers[at])
    costs = proto.objective.linear_coefficients
    for identity, value in zip(costs.ids, costs.values, strict=True):
        snapshot.cost[columns[identity]] = value
    terms: list[dict[int, float]] = [{} for _ in rows]
    matrix = proto.linear_constraint_matrix
    for row, column, value in zip(matrix.row_ids, matrix.column_ids, matrix.coefficients, strict=True):
        terms[rows[row]][columns[column]] = value
    for at in range(len(rows)):
        found = proto.linear_constraints
        name = found.names[at] if found.names else ""
        snapshot.add_row(name, terms[at], found.lower_bounds[at], found.upper_bounds[at])

    def find_column(value: Any) -> int | None:
        return columns.get(value.id) if type(value).__name__ == "Variable" and _is_of(value, model) else None

    def find_row(value: Any) -> int | None:
        return rows.get(value.id) if type(value).__name__ == "LinearConstraint" and _is_of(value, model) else None

    return recorder.fill_keys(snapshot, model, find_column, find_row)


def _is_of(value: Any, model: Any) -> bool:
    return getattr(value, "elemental", None) is getattr(model, "_elemental", None)


def _claim(result: Any, model: Any) -> tuple[str, float | None, list[float] | None]:
    status = str(result.termination.reason.name).lower()
    if not result.has_primal_feasible_solution():
        return status, None, None
    return status, result.objective_value(), [result.variable_values(variable) for variable in model.variables()]
