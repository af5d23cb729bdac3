"""Classes of models, and products of variables."""

from collections.abc import Mapping
from dataclasses import dataclass

from oragent._base.errors import ModellingError
from oragent.modelling.data.features import QuadraticRow, QuadraticTerm
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_values import Relation
from oragent.modelling.data.solution import Solution
from oragent.modelling.solving.back_ends.protocol import SolverOptions
from oragent.modelling.solving.model_solving import solve

# Solver of models that programs write for CP-SAT.
SCHEDULING_SOLVER = "cp-sat"
# Relation of a check with alternative cases.
ANY = "any"
# Relation of a check with tasks of which no two may take place at the same time.
NO_OVERLAP = "no overlap"
# Relation of an entry that defines the largest of several values, for ``max``, ``min`` and ``abs`` of a checker.
LARGEST = "largest"
# Relation of an entry that defines a piecewise linear function of a value.
PIECES = "pieces"


@dataclass(frozen=True)
class ProductTerms:
    """A linear expression and products of two variables: coefficients by variable, and by sorted pair."""

    terms: Mapping[str, float]
    products: Mapping[tuple[str, str], float]

    @property
    def quadratic(self) -> tuple[QuadraticTerm[str], ...]:
        """Return the products as terms of a model."""
        return tuple(QuadraticTerm(*pair, value) for pair, value in sorted(self.products.items()) if value)

    def row(self, name: str, relation: Relation, rhs: float) -> QuadraticRow[str]:
        """Return a row of a model."""
        return QuadraticRow(name, self.terms, self.quadratic, relation, rhs)


def solve_model(
    milp: IndexedModel,
    limit_s: float,
    gap: float = 0.0,
    solver: str = "",
    threads: int = 1,
    *,
    is_schedule: bool = False,
) -> Solution:
    """Solve a model of any class.

    Args:
        milp: The model.
        limit_s: Wall-clock seconds.
        gap: Relative gap at which the search stops.
        solver: Name of a back end; if empty, CP-SAT solves schedules, and HiGHS or SCIP the others and what CP-SAT
            cannot solve.
        threads: Number of threads.
        is_schedule: Whether the model has intervals, machines or other logic over integers.

    Raises:
        ModellingError: The solver cannot solve such a model, or is not installed.
    """
    options = SolverOptions(limit_s, gap, threads)
    if solver:
        return solve(milp, duals=False, solver=solver, options=options)
    if is_schedule:
        try:
            return solve(milp, duals=False, solver=SCHEDULING_SOLVER, options=options)
        except ModellingError:
            pass
    return solve(milp, duals=False, options=options)


def describe_class(milp: IndexedModel, is_schedule: bool = False) -> str:
    """Return the class of a model, such as ``mixed-integer linear``.

    Args:
        milp: The model.
        is_schedule: Whether the program wrote it with intervals, machines or cumulative resources.
    """
    if is_schedule:
        return "scheduling (CP-SAT)"
    features = milp.named_features
    if features.quadratic_rows:
        kind = "quadratically constrained"
    elif features.quadratic:
        kind = "quadratic"
    elif features.is_linear:
        kind = "linear"
    else:
        kind = "logical"
    binaries = sum(variable.is_within_binary for variable in milp.variable_records)
    whole = sum(variable.is_integer for variable in milp.variable_records)
    if not whole:
        return kind
    if whole == milp.shape[1]:
        return f"{'binary' if binaries == whole else 'integer'} {kind}"
    return f"mixed-integer {kind}"
