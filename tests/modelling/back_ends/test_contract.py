"""All back ends give the same optima, statuses and duals."""

import sys
import time
from importlib.metadata import EntryPoint

import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.names import group_by_names
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.operations import ModelSession, SolveLimits
from oragent.modelling.solving.array_solving import dual_bound
from oragent.modelling.solving.back_ends import Ability, SolverOptions, SolverStatus, registry
from oragent.modelling.solving.back_ends.registry import find_solver, list_solvers
from oragent.modelling.solving.model_solving import solve
from oragent_benchmarks.families import FAMILIES
from tests.benchmarks import bench_solvers
from tests.modelling import nl4opt

INSTALLED = [listing.name for listing in list_solvers() if listing.is_installed]
# a first-order method and CP-SAT's scaling reach that much
CLOSE = 1e-6


def solver_for(name: str, arrays: Arrays):
    solver = find_solver(name)
    if arrays.integer.any() and Ability.INTEGER not in solver.abilities:
        pytest.skip(f"{name} solves linear models only")
    if not arrays.integer.all() and Ability.CONTINUOUS not in solver.abilities:
        pytest.skip(f"{name} solves models of integers only")
    return solver


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", INSTALLED)
def test_optima_of_families_are_the_proven_ones(name: str, family: str) -> None:
    instance = FAMILIES[family](3, 4)
    arrays = instance.milp.to_staged_arrays()
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
    arrays = FAMILIES[family](2, 4).milp.to_staged_arrays().without_integrality()
    result = solver.solve(arrays, SolverOptions())
    optimum = arrays.objective_at(result.values)
    assert dual_bound(arrays, result.row_duals) == pytest.approx(optimum, rel=1e-5, abs=1e-5)


def infeasible() -> IndexedModel:
    rows = (Row("least", {"x": 1, "y": 1}, Relation.AT_LEAST, 3), Row("most", {"x": 1, "y": 1}, Relation.AT_MOST, 1))
    variables = (Variable("x", 0, 9, VariableKind.INTEGER), Variable("y", 0, 9, VariableKind.INTEGER))
    return IndexedModel.from_records(variables, rows, Objective({"x": 1}), Sense.MINIMIZE)


def unbounded() -> IndexedModel:
    rows = (Row("difference", {"x": 1, "y": -1}, Relation.AT_MOST, 1),)
    return IndexedModel.from_records((Variable("x"), Variable("y")), rows, Objective({"x": 1}), Sense.MAXIMIZE)


@pytest.mark.parametrize("name", INSTALLED)
def test_infeasible_models_are_infeasible(name: str) -> None:
    arrays = infeasible().to_staged_arrays()
    result = find_solver(name).solve(
        arrays if Ability.INTEGER in find_solver(name).abilities else arrays.without_integrality(), SolverOptions()
    )
    assert result.status in (SolverStatus.INFEASIBLE, SolverStatus.INFEASIBLE_OR_UNBOUNDED)
    assert result.values is None


@pytest.mark.parametrize("name", INSTALLED)
def test_unbounded_models_have_no_optimum(name: str) -> None:
    if name == "cp-sat":
        pytest.skip("all variables of CP-SAT have bounds")
    result = find_solver(name).solve(unbounded().to_staged_arrays(), SolverOptions())
    assert result.status in (SolverStatus.UNBOUNDED, SolverStatus.INFEASIBLE_OR_UNBOUNDED)


@pytest.mark.parametrize(("kind", "optimum"), [(VariableKind.CONTINUOUS, 3.3), (VariableKind.INTEGER, 3.0)])
@pytest.mark.parametrize("name", INSTALLED)
def test_each_solver_finds_the_optimum_or_refuses_the_kind_of_variables(
    name: str, kind: VariableKind, optimum: float
) -> None:
    """The optimum over all points is x = 1.7 and y = 1.6, and that over whole numbers x = 2 and y = 1."""
    rows = [Row("a", {"x": 2, "y": 1}, Relation.AT_MOST, 5), Row("b", {"x": 1, "y": 3}, Relation.AT_MOST, 6.5)]
    variables = [Variable("x", kind=kind), Variable("y", kind=kind)]
    milp = IndexedModel.from_records(variables, rows, Objective({"x": 1, "y": 1}), Sense.MAXIMIZE)
    needed = Ability.CONTINUOUS if kind is VariableKind.CONTINUOUS else Ability.INTEGER
    session = ModelSession(group_by_names(milp), SolveLimits(solver=name))
    if needed in find_solver(name).abilities:
        assert solve(milp, solver=name).objective == pytest.approx(optimum)
        assert session.ask("solve").objective.value == pytest.approx(optimum)
        return
    for ask in (lambda: solve(milp, solver=name), lambda: session.ask("solve")):
        with pytest.raises(ModellingError):
            ask()


def test_an_unknown_solver_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ModellingError, match="highs"):
        find_solver("simplx")


@pytest.mark.slow
@pytest.mark.skipif(not nl4opt.FOLDER.exists(), reason="the problems of NL4Opt are not on this machine")
@pytest.mark.parametrize("name", INSTALLED)
def test_optima_of_the_verified_problems_of_nl4opt(name: str) -> None:
    if Ability.INTEGER not in find_solver(name).abilities:
        pytest.skip("every verified problem has integer variables")
    wrong, solved = [], 0
    for milp, optimum in nl4opt.verified():
        if name == "cp-sat" and not all(variable.is_integer for variable in milp.variable_records):
            continue
        solution = solve(milp, solver=name, duals=False)
        solved += 1
        if solution.status is not SolveStatus.OPTIMAL or abs(solution.objective - optimum) > 1e-6 * max(
            1, abs(optimum)
        ):
            wrong.append((milp.name, solution.status, solution.objective, optimum))
    print(name, solved)
    assert wrong == []
    assert solved > 20


def test_a_registered_back_end_is_found_and_a_broken_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another package's class is a solver; one that cannot be imported is refused in one line."""
    entries = [EntryPoint("mine", "oragent.modelling.solving.back_ends.highs:HighsSolver", registry.GROUP)]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: entries)
    registry._known_solvers.cache_clear()
    try:
        assert solve(infeasible(), solver="mine").status is SolveStatus.INFEASIBLE
        entries[0] = EntryPoint("broken", "no_such_package:Solver", registry.GROUP)
        registry._known_solvers.cache_clear()
        with pytest.raises(ModellingError, match="'broken'"):
            find_solver("broken")
    finally:
        registry._known_solvers.cache_clear()


@pytest.mark.parametrize("name", ["scip", "gurobi"])
def test_a_solver_that_is_not_installed_is_refused_with_the_command(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools", None)
    monkeypatch.setitem(sys.modules, "gurobipy", None)
    with pytest.raises(ModellingError, match="pip install"):
        solve(infeasible(), solver=name)


@pytest.mark.skipif("gurobi" not in INSTALLED, reason="gurobipy is not installed")
def test_a_licence_that_is_too_small_is_said_in_one_line() -> None:
    variables = tuple(Variable(f"x{index}", 0, 1) for index in range(2500))
    milp = IndexedModel.from_records(variables, (), Objective({"x1": -1.0}), Sense.MINIMIZE)
    try:
        solution = solve(milp, solver="gurobi")
    except ModellingError as problem:
        message = str(problem)
    else:
        pytest.skip(f"this machine has a larger licence: {solution.status}")
    assert "licence" in message
    assert "\n" not in message


def test_a_limit_without_an_incumbent_is_said_with_the_limit() -> None:
    milp = FAMILIES["facility_location"](1, 8).milp
    solution = solve(milp, options=SolverOptions(seconds=0.0))
    if not solution.status.has_point:
        assert solution.status is SolveStatus.UNKNOWN
        assert solution.limit == "time"


@pytest.mark.slow
def test_arrays_cost_at_most_a_third_more_than_the_native_interface() -> None:
    arrays = bench_solvers.transport(50, 1000)
    spent = {by: [] for by in (bench_solvers.by_highspy, bench_solvers.by_arrays)}
    for _ in range(5):
        for by, times in spent.items():
            began = time.process_time()
            by(arrays)
            times.append(time.process_time() - began)
    native, ours = (min(times) for times in spent.values())
    assert ours <= 1.3 * native + 0.02
