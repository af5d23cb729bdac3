"""OR-Tools' MathOpt: SCIP, CP-SAT, GLOP and PDLP behind one adapter.

The model is a ``ModelProto`` filled with arrays, because one Python object per variable would take longer than the
solve.
"""

import datetime
import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import FEASIBLE, Arrays, Vector
from oragent.modelling.data.display import plain
from oragent.modelling.data.features import QuadraticTerm
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.solving.back_ends.protocol import (
    Ability,
    Limit,
    SolverOptions,
    SolverResult,
    SolverStatus,
    not_installed,
)

INSTALL = 'pip install "operations-research-agents[solvers]"'
LIMITED = frozenset({Ability.TIME})
MIP = LIMITED | {Ability.SEED, Ability.LINEAR, Ability.INTEGER, Ability.GAP, Ability.START}
LP = LIMITED | {Ability.LINEAR, Ability.CONTINUOUS, Ability.DUALS, Ability.ITERATIONS}
STATUSES = {
    "OPTIMAL": SolverStatus.OPTIMAL,
    "INFEASIBLE": SolverStatus.INFEASIBLE,
    "UNBOUNDED": SolverStatus.UNBOUNDED,
    "INFEASIBLE_OR_UNBOUNDED": SolverStatus.INFEASIBLE_OR_UNBOUNDED,
}
LIMITS = {"TIME": Limit.TIME, "NODE": Limit.NODES, "ITERATION": Limit.ITERATIONS, "MEMORY": Limit.MEMORY}
# Branching on continuous variables never reaches a gap of 0.
QUADRATIC_GAP = 2e-7
# Error of MathOpt if SCIP returns a point of an unbounded model.
INFINITE_POINT = "found value: inf; invalid PrimalSolutionProto.objective_value"
# With PDLP's default relative tolerance of 1e-6, points fail the check.
PDLP_TOLERANCE = 1e-9


CP_SAT = "cp-sat"
# Largest values that CP-SAT tries. It is less precise with larger ones, so they are tried only if they are needed.
LARGEST, LARGEST_AGAIN = 1e7, 1e12


@dataclass(frozen=True)
class MathOptKind:
    """A solver of MathOpt."""

    # Name by which users choose it.
    name: str
    # Title in messages.
    title: str
    # Value of ``SolverTypeProto``.
    code: str
    abilities: frozenset[Ability]


MATHOPT_SOLVERS = (
    MathOptKind(
        "scip",
        "SCIP",
        "SOLVER_TYPE_GSCIP",
        MIP
        | {
            Ability.CONTINUOUS,
            Ability.CONVEX_OBJECTIVE,
            Ability.QUADRATIC_OBJECTIVE,
            Ability.QUADRATIC_ROWS,
            Ability.INDICATORS,
            Ability.ORDERED_SETS,
            Ability.NODES,
            Ability.THREADS,
        },
    ),
    # CP-SAT takes continuous variables as whole ones, and calls the optimum of that model the optimum.
    MathOptKind("cp-sat", "CP-SAT", "SOLVER_TYPE_CP_SAT", MIP | {Ability.THREADS}),
    MathOptKind("glop", "GLOP", "SOLVER_TYPE_GLOP", LP | {Ability.SEED}),
    MathOptKind("pdlp", "PDLP", "SOLVER_TYPE_PDLP", LP | {Ability.THREADS}),
)


class MathOptSolver:
    """Adapter of one solver of MathOpt."""

    install = INSTALL

    def __init__(self, kind: MathOptKind) -> None:
        self.kind = kind
        self.name = kind.name
        self.abilities = kind.abilities

    def version(self) -> str:
        """Return the solver's name and the version of OR-Tools."""
        try:
            import ortools
        except ImportError:
            raise not_installed(self.name, INSTALL) from None
        return f"{self.kind.title} (OR-Tools {ortools.__version__})"

    def solve(self, arrays: Arrays, options: SolverOptions, start: Vector | None = None) -> SolverResult:
        """Solve a model once; see ``Solver``."""
        if self.name != CP_SAT:
            return self._solve_within(arrays, options, start)
        if has_impossible_row(arrays):
            # With an indicator beside it, CP-SAT 9.15 calls such a model invalid.
            return SolverResult(SolverStatus.INFEASIBLE, self.version())
        begin = time.perf_counter()
        result = self._solve_within(arrays, options, start, LARGEST)
        is_bounded = bool((arrays.low >= -LARGEST).all() and (arrays.high <= LARGEST).all())
        is_sure = result.limit is Limit.TIME if result.values is None else not _touches(arrays, result, LARGEST)
        if is_bounded or is_sure:
            return result
        limits = options
        if options.seconds is not None:
            limits = replace(options, seconds=max(0.0, options.seconds - (time.perf_counter() - begin)))
        further = self._solve_within(arrays, limits, start, LARGEST_AGAIN)
        if _touches(arrays, further, LARGEST_AGAIN):
            return replace(further, status=SolverStatus.INFEASIBLE_OR_UNBOUNDED, values=None, bound=None)
        if further.values is not None:
            return further
        if result.values is None:
            return result if further.status is SolverStatus.STOPPED else further
        return replace(result, status=SolverStatus.STOPPED, bound=None, limit=further.limit or Limit.OTHER)

    def _solve_within(
        self, arrays: Arrays, options: SolverOptions, start: Vector | None, largest: float | None = None
    ) -> SolverResult:
        """Solve a model, for CP-SAT with values up to a largest one."""
        version = self.version()
        from ortools.math_opt import (
            callback_pb2,
            model_parameters_pb2,
            parameters_pb2,
            result_pb2,
        )
        from ortools.math_opt.core.python import solver as core

        hints = model_parameters_pb2.ModelSolveParametersProto()
        if start is not None and Ability.START in self.abilities:
            hint = hints.solution_hints.add()
            hint.variable_values.ids.extend(range(len(start)))
            hint.variable_values.values.extend(start.tolist())
        code = parameters_pb2.SolverTypeProto.Value(self.kind.code)
        try:
            initializer = parameters_pb2.SolverInitializerProto()
            registration = callback_pb2.CallbackRegistrationProto()
            parameters = self._parameters(arrays, options)
            if largest is not None:
                parameters.cp_sat.mip_max_bound = largest
            model = fill_model(arrays)
            answer = core.solve(model, code, initializer, parameters, hints, None, registration, None, None)
        # MathOpt raises an error class without a public name.
        except Exception as problem:
            if INFINITE_POINT in str(problem):
                return SolverResult(SolverStatus.INFEASIBLE_OR_UNBOUNDED, version)
            raise ModellingError(f"{self.kind.title} refused the model: {plain(str(problem), 200)}") from None
        reason = result_pb2.TerminationReasonProto.Name(answer.termination.reason).removeprefix("TERMINATION_REASON_")
        limit = result_pb2.LimitProto.Name(answer.termination.limit).removeprefix("LIMIT_")
        return self._result(arrays, answer, reason, limit, version)

    def _parameters(self, arrays: Arrays, options: SolverOptions) -> Any:
        from ortools.math_opt import parameters_pb2

        parameters = parameters_pb2.SolveParametersProto()
        if Ability.SEED in self.abilities:
            parameters.random_seed = options.seed
        if options.seconds is not None:
            parameters.time_limit.FromTimedelta(datetime.timedelta(seconds=options.seconds))
        if Ability.THREADS in self.abilities:
            parameters.threads = options.threads
        if Ability.GAP in self.abilities:
            is_quadratic = bool(arrays.features.quadratic or arrays.features.quadratic_rows)
            parameters.relative_gap_tolerance = max(options.gap, QUADRATIC_GAP) if is_quadratic else options.gap
            parameters.absolute_gap_tolerance = QUADRATIC_GAP if is_quadratic else 0.0
        if options.nodes is not None and Ability.NODES in self.abilities:
            parameters.node_limit = options.nodes
        if options.iterations is not None and Ability.ITERATIONS in self.abilities:
            parameters.iteration_limit = options.iterations
        if self.name == "pdlp":
            optimality = parameters.pdlp.termination_criteria.simple_optimality_criteria
            optimality.eps_optimal_relative = optimality.eps_optimal_absolute = PDLP_TOLERANCE
        return parameters

    def _result(self, arrays: Arrays, answer: Any, reason: str, limit: str, version: str) -> SolverResult:
        status = STATUSES.get(reason, SolverStatus.STOPPED)
        values = row_duals = None
        if answer.solutions and status in (SolverStatus.OPTIMAL, SolverStatus.STOPPED):
            solution = answer.solutions[0]
            if solution.HasField("primal_solution"):
                values = _dense(solution.primal_solution.variable_values, len(arrays.cost))
            if solution.HasField("dual_solution") and Ability.DUALS in self.abilities:
                row_duals = _dense(solution.dual_solution.dual_values, len(arrays.row_low))
        bound = answer.termination.objective_bounds.dual_bound
        stats = answer.solve_stats
        iterations = stats.simplex_iterations + stats.barrier_iterations + stats.first_order_iterations
        stopped_by = LIMITS.get(limit, Limit.OTHER) if status is SolverStatus.STOPPED else None
        return SolverResult(
            status,
            version,
            values,
            bound if math.isfinite(bound) else None,
            row_duals,
            limit=stopped_by,
            work={"nodes": float(stats.node_count), "iterations": float(iterations)},
        )


def _touches(arrays: Arrays, result: SolverResult, largest: float) -> bool:
    """Return True if a point has a value at the largest one although the model allows larger ones."""
    if result.values is None:
        return False
    is_high = (result.values >= largest) & (arrays.high > largest)
    return bool((is_high | ((result.values <= -largest) & (arrays.low < -largest))).any())


def _dense(sparse: Any, size: int) -> Vector:
    dense = np.zeros(size)
    dense[np.array(sparse.ids, dtype=np.int64)] = np.array(sparse.values, dtype=float)
    return dense


def has_impossible_row(arrays: Arrays) -> bool:
    """Return True if a row of whole variables and coefficients can only take values outside its limits.

    Its values are the multiples of the greatest common divisor of its coefficients.
    """
    matrix = arrays.matrix
    for row, (low, high) in enumerate(zip(arrays.row_low.tolist(), arrays.row_high.tolist(), strict=True)):
        part = slice(matrix.starts[row], matrix.starts[row + 1])
        values = matrix.values[part]
        if low == -math.inf or not arrays.integer[matrix.columns[part]].all() or (values != np.round(values)).any():
            continue
        divisor = math.gcd(*(int(value) for value in values))
        # A right-hand side that was summed has rounding errors.
        if divisor and math.ceil((low - FEASIBLE) / divisor) * divisor > high + FEASIBLE:
            return True
    return False


def fill_model(arrays: Arrays) -> Any:
    """Return the ``ModelProto`` of a model whose features are quadratic terms, indicators and ordered sets."""
    from ortools.math_opt import model_pb2

    model = model_pb2.ModelProto()
    columns, rows = len(arrays.cost), len(arrays.row_low)
    model.variables.ids.extend(range(columns))
    model.variables.lower_bounds.extend(arrays.low)
    model.variables.upper_bounds.extend(arrays.high)
    model.variables.integers.extend(arrays.integer)
    model.objective.maximize = arrays.sense is Sense.MAXIMIZE
    model.objective.offset = arrays.constant
    used = np.flatnonzero(arrays.cost)
    model.objective.linear_coefficients.ids.extend(used)
    model.objective.linear_coefficients.values.extend(arrays.cost[used])
    model.linear_constraints.ids.extend(range(rows))
    model.linear_constraints.lower_bounds.extend(arrays.row_low)
    model.linear_constraints.upper_bounds.extend(arrays.row_high)
    ordered = arrays.matrix.with_sorted_columns()
    model.linear_constraint_matrix.row_ids.extend(ordered.row_indices)
    model.linear_constraint_matrix.column_ids.extend(ordered.columns)
    model.linear_constraint_matrix.coefficients.extend(ordered.values)
    if arrays.features:
        _fill_features(model, arrays)
    return model


def _fill_features(model: Any, arrays: Arrays) -> None:
    features = arrays.features
    _fill_quadratic(model.objective.quadratic_coefficients, features.quadratic)
    for index, row in enumerate(features.quadratic_rows):
        target = model.quadratic_constraints[index]
        target.lower_bound, target.upper_bound = _limits(row.relation, row.rhs)
        _fill_terms(target.linear_terms, row.terms)
        _fill_quadratic(target.quadratic_terms, row.quadratic)
    sides = [(part, relation) for part in features.indicators for relation in _single_sides(part.relation)]
    for index, (part, relation) in enumerate(sides):
        target = model.indicator_constraints[index]
        target.indicator_id, target.activate_on_zero = part.binary, not part.active
        target.lower_bound, target.upper_bound = _limits(relation, part.rhs)
        _fill_terms(target.expression, part.terms)
    for index, ordered in enumerate(features.ordered_sets):
        target = (model.sos1_constraints if ordered.kind == 1 else model.sos2_constraints)[index]
        for member in ordered.order:
            expression = target.expressions.add()
            expression.ids.append(member)
            expression.coefficients.append(1.0)
            target.weights.append(ordered.members[member])


def _single_sides(relation: Relation) -> tuple[Relation, ...]:
    """Return the inequalities equivalent to a relation. SCIP supports no indicator of a row with two sides."""
    if relation is Relation.EQUAL:
        return Relation.AT_MOST, Relation.AT_LEAST
    return (relation,)


def _fill_terms(target: Any, terms: Any) -> None:
    for column, value in sorted(terms.items()):
        if value:
            target.ids.append(column)
            target.values.append(value)


def _fill_quadratic(target: Any, terms: tuple[QuadraticTerm[int], ...]) -> None:
    entries: dict[tuple[int, int], float] = {}
    for term in terms:
        position = (min(term.first, term.second), max(term.first, term.second))
        entries[position] = entries.get(position, 0.0) + term.value
    for (first, second), value in sorted(entries.items()):
        target.row_ids.append(first)
        target.column_ids.append(second)
        target.coefficients.append(value)


def _limits(relation: Relation, rhs: float) -> tuple[float, float]:
    low = -math.inf if relation is Relation.AT_MOST else rhs
    high = math.inf if relation is Relation.AT_LEAST else rhs
    return low, high
