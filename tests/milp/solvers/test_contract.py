"""All back ends give the same optima, statuses and duals."""

import pytest

from oragent._base.errors import MilpError
from oragent.milp.arrays import Arrays
from oragent.milp.families import FAMILIES
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind
from oragent.milp.solvers import Ability, SolverOptions, SolverStatus, find_solver, list_solvers
from oragent.milp.solving import dual_bound

INSTALLED = [listing.name for listing in list_solvers() if listing.is_installed]
# a first-order method and CP-SAT's scaling reach that much
CLOSE = 1e-6


def solver_for(name: str, arrays: Arrays):
    solver = find_solver(name)
    if arrays.integer.any() and Ability.INTEGER not in solver.abilities:
        pytest.skip(f"{name} solves linear models only")
    return solver


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", INSTALLED)
def test_optima_of_families_are_the_proven_ones(name: str, family: str) -> None:
    instance = FAMILIES[family](3, 4)
    arrays = Arrays.from_milp(instance.milp)
    if name == "cp-sat" and not arrays.integer.all():
        pytest.skip("CP-SAT solves pure integer models exactly, others on a grid")
    result = solver_for(name, arrays).solve(arrays, SolverOptions())
    assert result.status is SolverStatus.OPTIMAL
    assert arrays.largest_violation(result.values) <= CLOSE
    assert arrays.objective_at(result.values) == pytest.approx(instance.optimum, rel=CLOSE, abs=CLOSE)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", INSTALLED)
def test_duals_of_relaxations_prove_their_optimum(name: str, family: str) -> None:
    solver = find_solver(name)
    if Ability.DUALS not in solver.abilities:
        pytest.skip(f"{name} offers no duals")
    arrays = Arrays.from_milp(FAMILIES[family](2, 4).milp).without_integrality()
    result = solver.solve(arrays, SolverOptions())
    optimum = arrays.objective_at(result.values)
    assert dual_bound(arrays, result.row_duals) == pytest.approx(optimum, rel=1e-5, abs=1e-5)


def infeasible() -> Milp:
    rows = (Row("least", {"x": 1, "y": 1}, Relation.AT_LEAST, 3), Row("most", {"x": 1, "y": 1}, Relation.AT_MOST, 1))
    variables = (Variable("x", 0, 9, VariableKind.INTEGER), Variable("y", 0, 9, VariableKind.INTEGER))
    return Milp(variables, rows, Objective({"x": 1}), Sense.MINIMIZE)


def unbounded() -> Milp:
    rows = (Row("difference", {"x": 1, "y": -1}, Relation.AT_MOST, 1),)
    return Milp((Variable("x"), Variable("y")), rows, Objective({"x": 1}), Sense.MAXIMIZE)


@pytest.mark.parametrize("name", INSTALLED)
def test_infeasible_models_are_infeasible(name: str) -> None:
    arrays = Arrays.from_milp(infeasible())
    result = find_solver(name).solve(
        arrays if Ability.INTEGER in find_solver(name).abilities else arrays.without_integrality(), SolverOptions()
    )
    assert result.status in (SolverStatus.INFEASIBLE, SolverStatus.INFEASIBLE_OR_UNBOUNDED)
    assert result.values is None


@pytest.mark.parametrize("name", INSTALLED)
def test_unbounded_models_have_no_optimum(name: str) -> None:
    if name == "cp-sat":
        pytest.skip("all variables of CP-SAT have bounds")
    result = find_solver(name).solve(Arrays.from_milp(unbounded()), SolverOptions())
    assert result.status in (SolverStatus.UNBOUNDED, SolverStatus.INFEASIBLE_OR_UNBOUNDED)


def test_an_unknown_solver_is_refused_with_the_known_ones() -> None:
    with pytest.raises(MilpError, match="highs"):
        find_solver("simplx")
