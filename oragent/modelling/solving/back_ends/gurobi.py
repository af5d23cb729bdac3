"""Gurobi through gurobipy, whose wheel includes a licence for small models."""

import math
from typing import Any

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays, Vector
from oragent.modelling.data.display import plain
from oragent.modelling.data.features import QuadraticTerm
from oragent.modelling.data.model_values import Relation
from oragent.modelling.solving.back_ends.protocol import (
    Ability,
    Limit,
    SolverOptions,
    SolverResult,
    SolverStatus,
    not_installed,
)

INSTALL = 'pip install "operations-research-agents[gurobi]"'
# Values of ``GRB.Status``, which the manual fixes.
STATUSES = {
    2: SolverStatus.OPTIMAL,
    3: SolverStatus.INFEASIBLE,
    4: SolverStatus.INFEASIBLE_OR_UNBOUNDED,
    5: SolverStatus.UNBOUNDED,
}
LIMITS = {7: Limit.ITERATIONS, 8: Limit.NODES, 9: Limit.TIME, 17: Limit.MEMORY}
TOO_LARGE = 10010
SENSES = {Relation.AT_MOST: "<", Relation.AT_LEAST: ">", Relation.EQUAL: "="}


class GurobiSolver:
    """Adapter of gurobipy."""

    name = "gurobi"
    install = INSTALL
    abilities = frozenset(Ability)

    def version(self) -> str:
        """Return name and version."""
        try:
            import gurobipy
        except ImportError:
            raise not_installed(self.name, INSTALL) from None
        return "Gurobi " + ".".join(map(str, gurobipy.gurobi.version()))

    def solve(self, arrays: Arrays, options: SolverOptions, start: Vector | None = None) -> SolverResult:
        """Solve a model once; see ``Solver``."""
        version = self.version()
        import gurobipy

        try:
            with gurobipy.Env(params={"OutputFlag": 0}) as environment, gurobipy.Model(env=environment) as model:
                build_model(model, arrays, gurobipy)
                _set_options(model, options)
                if start is not None:
                    model.setAttr("Start", model.getVars()[: len(start)], start.tolist())
                model.optimize()
                return _result(model, arrays, version)
        except gurobipy.GurobiError as problem:
            raise _refusal(problem, arrays) from None


def _refusal(problem: Any, arrays: Arrays) -> ModellingError:
    if problem.errno == TOO_LARGE:
        rows, columns = arrays.matrix.shape
        return ModellingError(
            f"the licence of Gurobi is too small for {columns:,} variables and {rows:,} rows: install a larger "
            "licence, or choose another solver such as highs"
        )
    return ModellingError(f"Gurobi refused the model: {plain(str(problem), 200)}")


def _set_options(model: Any, options: SolverOptions) -> None:
    parameters = model.Params
    parameters.Threads, parameters.Seed = options.threads, options.seed
    parameters.MIPGap, parameters.MIPGapAbs = options.gap, 0.0
    parameters.NonConvex = 2
    if options.seconds is not None:
        parameters.TimeLimit = options.seconds
    if options.nodes is not None:
        parameters.NodeLimit = options.nodes
    if options.iterations is not None:
        parameters.IterationLimit = options.iterations


def build_model(model: Any, arrays: Arrays, gurobipy: Any) -> None:
    """Fill an empty model of gurobipy with arrays and features."""
    from scipy.sparse import csr_matrix

    features = arrays.features
    kinds = np.where(arrays.integer, "I", "C")
    low, high = arrays.low.copy(), arrays.high.copy()
    for part in features.semi_continuous:
        kinds[part.variable] = "N" if arrays.integer[part.variable] else "S"
    # Gurobi requires the binary type for the variable of an indicator.
    for indicator in features.indicators:
        kinds[indicator.binary] = "B"
    block = model.addMVar(len(arrays.cost), lb=low, ub=high, obj=arrays.cost, vtype=kinds)
    model.ModelSense = int(arrays.sense.sign)
    model.ObjCon = arrays.constant
    matrix = arrays.matrix
    whole = csr_matrix((matrix.values, matrix.columns, matrix.starts), shape=matrix.shape)
    for row_set, sense, rhs in _row_blocks(arrays):
        if len(row_set):
            model.addMConstr(whole[row_set], block, sense, rhs[row_set])
    columns = block.tolist()
    if features.quadratic:
        linear = gurobipy.LinExpr(arrays.cost.tolist(), columns) + arrays.constant
        model.setObjective(linear + _quadratic(features.quadratic, columns, gurobipy), int(arrays.sense.sign))
    for row in features.quadratic_rows:
        expression = _linear(row.terms, columns, gurobipy) + _quadratic(row.quadratic, columns, gurobipy)
        model.addQConstr(expression, SENSES[row.relation], row.rhs)
    for indicator in features.indicators:
        expression = _linear(indicator.terms, columns, gurobipy)
        sense = SENSES[indicator.relation]
        model.addGenConstrIndicator(columns[indicator.binary], indicator.active, expression, sense, indicator.rhs)
    for ordered in features.ordered_sets:
        members = [columns[member] for member in ordered.order]
        model.addSOS(ordered.kind, members, [ordered.members[member] for member in ordered.order])
    model.update()


def _row_blocks(arrays: Arrays) -> list[tuple[Any, str, Vector]]:
    """Return rows by sense. A row with two limits is in two blocks."""
    equal = arrays.row_low == arrays.row_high
    return [
        (np.flatnonzero(equal), "=", arrays.row_low),
        (np.flatnonzero(~equal & np.isfinite(arrays.row_high)), "<", arrays.row_high),
        (np.flatnonzero(~equal & np.isfinite(arrays.row_low)), ">", arrays.row_low),
    ]


def _linear(terms: Any, columns: list[Any], gurobipy: Any) -> Any:
    return gurobipy.LinExpr(list(terms.values()), [columns[column] for column in terms])


def _quadratic(terms: tuple[QuadraticTerm[int], ...], columns: list[Any], gurobipy: Any) -> Any:
    expression = gurobipy.QuadExpr()
    values = [term.value for term in terms]
    expression.addTerms(values, [columns[term.first] for term in terms], [columns[term.second] for term in terms])
    return expression


def _result(model: Any, arrays: Arrays, version: str) -> SolverResult:
    status = STATUSES.get(model.Status, SolverStatus.STOPPED)
    has_point = model.SolCount > 0 and status in (SolverStatus.OPTIMAL, SolverStatus.STOPPED)
    is_linear = not arrays.integer.any() and not arrays.features
    row_duals = None
    if is_linear and status is SolverStatus.OPTIMAL:
        row_duals = _by_row(arrays, np.array(model.getAttr("Pi", model.getConstrs())))
    bound = float(model.ObjBound) if not is_linear and has_point else math.inf
    stopped_by = LIMITS.get(model.Status, Limit.OTHER) if status is SolverStatus.STOPPED else None
    return SolverResult(
        status,
        version,
        np.array(model.getAttr("X", model.getVars())) if has_point else None,
        bound if abs(bound) < 1e100 else None,
        row_duals,
        stopped_by,
        {"nodes": float(model.NodeCount), "iterations": float(model.IterCount)},
    )


def _by_row(arrays: Arrays, duals: Vector) -> Vector:
    """Add the values of both blocks for rows with two limits."""
    total, first = np.zeros(len(arrays.row_low)), 0
    for rows, _, _ in _row_blocks(arrays):
        total[rows] += duals[first : first + len(rows)]
        first += len(rows)
    return total
