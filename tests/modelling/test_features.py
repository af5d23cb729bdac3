"""Quadratic terms, logic, curves, soft rows and further objectives: against trying every point, by each solver."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.modelling import from_json, to_json
from oragent.modelling.data.features import (
    Absolute,
    BinaryProduct,
    Extreme,
    FurtherObjective,
    Indicator,
    ModelFeatures,
    OrderedSet,
    PiecewiseLinear,
    QuadraticRow,
    QuadraticTerm,
    SemiContinuous,
    SoftRow,
)
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.solving.array_solving import solve_arrays
from oragent.modelling.solving.back_ends.highs import HighsSolver
from oragent.modelling.solving.back_ends.registry import list_solvers
from oragent.modelling.solving.linearise import linearise_model
from oragent.modelling.solving.model_solving import breaches, solve
from tests.modelling.models import facts, with_rhs

INSTALLED = {listing.name for listing in list_solvers() if listing.is_installed}
SOLVERS = [name for name in ("highs", "scip", "gurobi", "cp-sat") if name in INSTALLED]
small = st.integers(-4, 4).map(float)


def integer(name: str, low: float, high: float) -> Variable:
    return Variable(name, low, high, VariableKind.INTEGER)


@st.composite
def logical_models(draw: st.DrawFn) -> IndexedModel:
    """An integer model in a small box with some features; y holds what features compute."""
    variables = [integer("a", 0, 1), integer("b", 0, 1), integer("x", -2, 3), integer("z", 0, 4), integer("y", -6, 6)]
    names = [variable.name for variable in variables]
    terms = {name: draw(small) for name in names}
    relation = draw(st.sampled_from(Relation))
    rows = [Row("row", {name: draw(small) for name in names}, draw(st.sampled_from(Relation)), draw(small))]
    kind = draw(st.sampled_from(["indicator", "sos1", "sos2", "semi", "curve", "abs", "max", "min", "product", "soft"]))
    rhs = draw(small)
    indicator = Indicator("if", "a", draw(st.booleans()), terms, relation, rhs)
    soft = SoftRow("row", draw(st.sampled_from([None, 1.0, 2.5])), draw(st.sampled_from([None, 0.5, 3.0])))
    curve = PiecewiseLinear("curve", "x", "y", ((-2, 1), (0, -1), (1, 3), (3, 1)))
    features: dict[str, ModelFeatures[str]] = {
        "indicator": ModelFeatures(indicators=(indicator,)),
        "sos1": ModelFeatures(ordered_sets=(OrderedSet("set", 1, {"x": 1, "z": 2, "y": 3}),)),
        "sos2": ModelFeatures(ordered_sets=(OrderedSet("set", 2, {"z": 3, "x": 1, "y": 2, "a": 4}),)),
        "semi": ModelFeatures(semi_continuous=(SemiContinuous("z"),)),
        "curve": ModelFeatures(piecewise=(curve,)),
        "abs": ModelFeatures(absolutes=(Absolute("size", "x", "y"),)),
        "max": ModelFeatures(
            extremes=(Extreme("most", "y", ("x", "z", "a"), True, draw(st.sampled_from([None, 1.0]))),)
        ),
        "min": ModelFeatures(extremes=(Extreme("least", "y", ("x", "z"), False, draw(st.sampled_from([None, 1.0]))),)),
        "product": ModelFeatures(products=(BinaryProduct("both", "y", ("a", "b")),)),
        "soft": ModelFeatures(soft_rows=(soft,)),
    }
    if kind == "semi":
        variables[3] = integer("z", 2, 4)
    objective = Objective({name: draw(small) for name in names}, draw(small))
    return IndexedModel.from_records(
        tuple(variables), tuple(rows), objective, draw(st.sampled_from(Sense)), features=features[kind]
    )


def best_point(milp: IndexedModel) -> float | None:
    """The optimum by trying every point; written without the code under test for rows and prices."""
    semi = {part.variable for part in milp.named_features.semi_continuous}
    soft = {part.row: part for part in milp.named_features.soft_rows}
    grids = []
    for variable in milp.variable_records:
        grid = set(range(math.ceil(variable.low), math.floor(variable.high) + 1))
        grids.append(sorted(grid | {0} if variable.name in semi else grid))
    best = None
    for point in itertools.product(*grids):
        values = dict(zip((milp.flat_variable_names), map(float, point), strict=True))
        penalty, feasible = 0.0, all(part.violation(values.__getitem__) <= 1e-9 for part in milp.named_features.parts)
        for row in milp.row_records:
            side = sum(value * values[name] for name, value in row.terms.items())
            short, over = max(0.0, row.limits[0] - side), max(0.0, side - row.limits[1])
            prices = soft.get(row.name, SoftRow(row.name))
            feasible = feasible and (short == 0 or prices.below is not None) and (over == 0 or prices.above is not None)
            penalty += short * (prices.below or 0) + over * (prices.above or 0)
        if feasible:
            worth = milp.objective_record.constant + sum(v * values[n] for n, v in milp.objective_record.terms.items())
            worth += sum(term.at(values.__getitem__) for term in milp.named_features.quadratic)
            worth += milp.sense.sign * penalty
            if best is None or milp.sense.sign * (worth - best) < 0:
                best = worth
    return best


@settings(max_examples=12, deadline=None)
@given(logical_models())
def test_features_agree_with_trying_every_point_by_every_solver(milp: IndexedModel) -> None:
    expected = best_point(milp)
    for name in SOLVERS:
        if name == "cp-sat" and milp.named_features.piecewise:
            # the weights of a curve are continuous
            continue
        solution = solve(milp, solver=name)
        status = SolveStatus.INFEASIBLE if expected is None else SolveStatus.OPTIMAL
        assert (name, solution.status) == (name, status)
        if expected is not None:
            assert solution.objective == pytest.approx(expected, abs=1e-6)
            assert not breaches(milp, solution.values)


@settings(max_examples=15, deadline=None)
@given(logical_models())
def test_the_linear_form_has_the_same_optimum_and_features_round_trip(milp: IndexedModel) -> None:
    assert facts(from_json(to_json(milp))) == facts(milp)
    linear, _ = linearise_model(milp)
    assert linear.is_linear
    expected, solution = best_point(milp), solve(linear)
    assert solution.status is (SolveStatus.INFEASIBLE if expected is None else SolveStatus.OPTIMAL)
    if expected is not None:
        assert solution.objective == pytest.approx(expected, abs=1e-6)


@settings(max_examples=15, deadline=None)
@given(st.lists(small, min_size=9, max_size=9), st.lists(small, min_size=4, max_size=4), st.sampled_from(Sense))
def test_products_with_binary_variables_agree_with_trying_every_point(
    coefficients: list[float], cost: list[float], sense: Sense
) -> None:
    names = ("a", "b", "x", "z")
    pairs = [("a", "b"), ("a", "x"), ("b", "z"), ("a", "a"), ("b", "x")]
    quadratic = tuple(QuadraticTerm(p, q, v) for (p, q), v in zip(pairs, coefficients, strict=False))
    row = Row("row", dict(zip(names, coefficients[5:], strict=True)), Relation.AT_MOST, 3.0)
    variables = (integer("a", 0, 1), integer("b", 0, 1), integer("x", -2, 3), integer("z", 0, 4))
    objective = Objective(dict(zip(names, cost, strict=True)))
    milp = IndexedModel.from_records(variables, (row,), objective, sense, features=ModelFeatures(quadratic=quadratic))
    for name in SOLVERS:
        assert solve(milp, solver=name).objective == pytest.approx(best_point(milp), abs=1e-6)


def portfolio(assets: int = 12, seed: int = 4) -> tuple[IndexedModel, np.ndarray, np.ndarray]:
    """Least variance for a return of at least 8 %."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(assets, 4))
    covariance = factors @ factors.T / 100 + np.diag(rng.uniform(0.01, 0.05, assets))
    returns = rng.uniform(0.02, 0.15, assets)
    names = [f"asset {index}" for index in range(assets)]
    quadratic = tuple(
        QuadraticTerm(names[i], names[j], float(covariance[i, j])) for i in range(assets) for j in range(assets)
    )
    rows = (
        Row("budget", dict.fromkeys(names, 1.0), Relation.EQUAL, 1.0),
        Row("return", dict(zip(names, returns.tolist(), strict=True)), Relation.AT_LEAST, 0.08),
    )
    variables = tuple(Variable(name, 0, 0.4) for name in names)
    features = ModelFeatures(quadratic=quadratic)
    return (
        IndexedModel.from_records(variables, rows, Objective(), Sense.MINIMIZE, features=features),
        covariance,
        returns,
    )


@pytest.mark.parametrize("name", [name for name in SOLVERS if name in ("highs", "gurobi")])
def test_a_portfolio_is_proven_optimal_by_its_optimality_conditions(name: str) -> None:
    milp, covariance, _ = portfolio()
    arrays = milp.to_staged_arrays()
    solution = solve_arrays(arrays, solver=name)
    assert solution.status is SolveStatus.OPTIMAL
    expected = solve_arrays(arrays).objective
    assert solution.objective == pytest.approx(expected, abs=1e-6)
    assert solution.objective == pytest.approx(solution.values @ covariance @ solution.values)


def test_duals_of_a_portfolio_are_the_slope_of_its_optimum() -> None:
    milp, _, _ = portfolio()
    solution = solve_arrays(milp.to_staged_arrays())
    step = 1e-4
    up = solve(with_rhs(milp, {"return": 0.08 + step})).objective
    down = solve(with_rhs(milp, {"return": 0.08 - step})).objective
    assert solution.row_duals[1] == pytest.approx((up - down) / (2 * step), rel=1e-3)


def solve_by_highs_alone(milp: IndexedModel) -> None:
    """Solve as where no other solver is installed."""
    solver = HighsSolver()
    solver.name = "highs alone"
    solve(milp, solver=solver)


def test_a_quadratic_objective_that_is_not_convex_names_the_solvers_that_can() -> None:
    features = ModelFeatures(quadratic=(QuadraticTerm("x", "y", -1.0),))
    variables = (Variable("x", 0, 2), Variable("y", 0, 3))
    row = Row("sum", {"x": 1, "y": 1}, Relation.AT_MOST, 4)
    milp = IndexedModel.from_records(variables, (row,), Objective(), Sense.MINIMIZE, features=features)
    with pytest.raises(ModellingError, match="scip"):
        solve_by_highs_alone(milp)
    for name in {"scip", "gurobi"} & set(SOLVERS):
        assert solve(milp, solver=name).objective == pytest.approx(-4, abs=1e-5)
        assert solve(milp).objective == pytest.approx(-4, abs=1e-5)


def test_quadratic_rows_are_solved_where_they_are_native() -> None:
    disc = QuadraticRow("disc", {}, (QuadraticTerm("x", "x", 1.0), QuadraticTerm("y", "y", 1.0)), Relation.AT_MOST, 2)
    variables = (Variable("x", -9, 9), Variable("y", -9, 9))
    milp = IndexedModel.from_records(
        variables, (), Objective({"x": 1, "y": 1}), Sense.MAXIMIZE, features=ModelFeatures(quadratic_rows=(disc,))
    )
    for name in {"scip", "gurobi"} & set(SOLVERS):
        assert solve(milp, solver=name).objective == pytest.approx(2, abs=1e-4)
        assert solve(milp).objective == pytest.approx(2, abs=1e-4)
    with pytest.raises(ModellingError, match="gurobi"):
        solve_by_highs_alone(milp)


def test_an_indicator_without_bounds_names_the_variable_and_the_solvers_that_can() -> None:
    indicator = Indicator("if", "on", True, {"x": 1.0}, Relation.AT_MOST, 2.0)
    variables = (integer("on", 1, 1), Variable("x"))
    milp = IndexedModel.from_records(
        variables, (), Objective({"x": 1}), Sense.MAXIMIZE, features=ModelFeatures(indicators=(indicator,))
    )
    with pytest.raises(ModellingError, match="'x'"):
        solve_by_highs_alone(milp)
    for name in {"scip", "gurobi"} & set(SOLVERS):
        assert solve(milp, solver=name).objective == pytest.approx(2)
        assert solve(milp).objective == pytest.approx(2)


def two_goals(priority: int, weight: float = 1.0, slack: float = 0.0) -> IndexedModel:
    """Profit against emissions of two products."""
    variables = (integer("a", 0, 10), integer("b", 0, 10))
    row = Row("hours", {"a": 1, "b": 1}, Relation.AT_MOST, 12)
    least = Row("least", {"a": 1, "b": 1}, Relation.AT_LEAST, 5)
    emissions = FurtherObjective("emissions", {"a": 3.0, "b": 1.0}, Sense.MINIMIZE, 0.0, weight, priority, slack)
    objective = Objective({"a": 5.0, "b": 2.0})
    return IndexedModel.from_records(
        variables, (row, least), objective, Sense.MAXIMIZE, features=ModelFeatures(goals=(emissions,))
    )


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize(("priority", "weight", "slack"), [(1, 1.0, 0.0), (-1, 1.0, 0.0), (0, 2.0, 0.0), (1, 1.0, 0.6)])
def test_goals_agree_with_sorting_every_point(name: str, priority: int, weight: float, slack: float) -> None:
    solution = solve(two_goals(priority, weight, slack), solver=name)
    points = [(5 * a + 2 * b, 3 * a + b) for a in range(11) for b in range(11) if 5 <= a + b <= 12]
    if priority == 0:
        assert solution.objective - weight * solution.goals["emissions"] == max(p - weight * e for p, e in points)
        return
    if priority > 0:
        least = min(e for _, e in points)
        expected = max((p, -e) for p, e in points if e <= least * (1 + slack))[0]
        assert solution.objective == expected
        assert solution.goals["emissions"] <= least * (1 + slack) + 1e-9
    else:
        best = max(p for p, _ in points)
        assert (solution.objective, solution.goals["emissions"]) == (best, min(e for p, e in points if p == best))


def test_unknown_keys_and_names_of_features_are_refused() -> None:
    text = to_json(two_goals(1)).replace('"priority"', '"prority"')
    with pytest.raises(ModellingError, match="prority"):
        from_json(text)
    with pytest.raises(ModellingError, match="'c'"):
        two_goals(1).with_records(features=ModelFeatures(absolutes=(Absolute("size", "a", "c"),)))
