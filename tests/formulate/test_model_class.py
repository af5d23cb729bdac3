"""Quadratic models, cases and objectives by importance, in programs and checkers, against answers by enumeration."""

import numpy as np
import pytest

from oragent._base.errors import ModellingError
from oragent.formulate import model_class
from oragent.formulate.checks import Checked, CheckStatus, judge
from oragent.formulate.model_class import ProductTerms, describe_class, solve_model
from oragent.formulate.options import choose_options
from oragent.formulate.problem import ProblemText
from oragent.formulate.running import ExecutionResult, FormulationRunner
from oragent.modelling.data.features import Indicator, ModelFeatures, QuadraticRow, QuadraticTerm
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.solving.back_ends.protocol import SolverOptions
from tests.formulate.stories import STORIES

PRICES = """
import pulp

def solve(data):
    p, q = pulp.LpVariable("p", 0), pulp.LpVariable("q", 0)
    problem = pulp.LpProblem("prices", pulp.LpMaximize)
    problem += pulp.lpSum([(p - 2) * (data["a"] - 3 * p + q), q * (40 - 2 * q + p)])
    problem += p * p + q ** 2 <= data["ball"], "ball"
    assert pulp.LpStatus[problem.solve()] == "Optimal"
    return {"optimized_vars": {"p": p, "q": q}}
"""
CHECK_PRICES = """
def checks(values, data):
    p, q = values["p"], values["q"]
    yield ("p", p, ">=", 0, "")
    yield ("q", q, ">=", 0, "")
    yield ("ball", p**2 + q * q, "<=", data["ball"], "within the ball")
    yield ("profit", (p - 2) * (data["a"] - 3 * p + q) + q * (40 + p) - 2 * q * q, "maximize", None, "")
"""


def check(runner: FormulationRunner, program: str, checker: str, data: dict) -> tuple[ExecutionResult, Checked]:
    ran = runner.run_program(program, ProblemText("story", "text", data).interface, data)
    assert ran.milp is not None, ran.message
    return ran, judge(ran, runner.run_checker(checker, ran, data), choose_options("default"))


@pytest.mark.slow
def test_products_in_rows_and_objective_are_solved_and_compared(runner: FormulationRunner) -> None:
    pytest.importorskip("ortools")
    data = {"a": 30, "ball": 90}
    ran, checked = check(runner, PRICES, CHECK_PRICES, data)
    angle, radius = np.meshgrid(np.linspace(0, np.pi / 2, 2001), np.linspace(0, np.sqrt(90), 1001))
    p, q = radius * np.cos(angle), radius * np.sin(angle)
    best = ((p - 2) * (30 - 3 * p + q) + q * (40 - 2 * q + p)).max()
    assert ran.objective == pytest.approx(best, rel=1e-4)
    assert describe_class(ran.milp) == "quadratically constrained"
    assert checked.state is CheckStatus.PASSED
    assert checked.confirmed
    for right, wrong in (('data["ball"]', '0.9 * data["ball"]'), ("- 2 * q * q", "- 3 * q * q"), ("q * q, ", "q, ")):
        _, other = check(runner, PRICES, CHECK_PRICES.replace(right, wrong), data)
        assert other.state is CheckStatus.FAILED, wrong


def test_a_convex_model_without_bounds_is_proven() -> None:
    square = ModelFeatures(
        quadratic=(QuadraticTerm("x", "x", -3.0), QuadraticTerm("x", "y", 1.1), QuadraticTerm("y", "y", -1))
    )
    row = Row("limit", {"x": -2.5, "y": -0.6}, Relation.AT_MOST, -2)
    milp = IndexedModel.from_records(
        (Variable("x"), Variable("y")), (row,), Objective({"x": 31, "y": 19}), Sense.MAXIMIZE, features=square
    )
    best = np.linalg.solve([[6, -1.1], [-1.1, 2]], [31, 19])
    solution = solve_model(milp, 20.0)
    assert solution.status is SolveStatus.OPTIMAL
    assert [solution.values["x"], solution.values["y"]] == pytest.approx(best, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        # the grinder may do two jobs at once; the first objective has the wrong direction; a step begins later
        (
            "jobs",
            "if machine == same:\n                        a",
            'if machine == same == "mill":\n                        a',
        ),
        ("tutors", 'courses, "maximize"', 'courses, "minimize"'),
        ("tariffs", '(amount, ">=", step["from"])', '(amount, ">=", 2 * step["from"])'),
    ],
)
def test_a_checker_with_cases_or_several_objectives_disagrees_if_it_differs(
    runner: FormulationRunner, name: str, right: str, wrong: str
) -> None:
    if name == "jobs":
        # SCIP solves alternatives of rows whose variables have no bounds.
        pytest.importorskip("ortools")
    (story,) = (story for story in STORIES if story.name == name)
    data = story.data()
    program, checker = (part.rpartition("```python\n")[2].rstrip("`\n") for part in story.parts[1:])
    assert right in checker
    assert check(runner, program, checker, data)[1].state is CheckStatus.PASSED
    assert check(runner, program, checker.replace(right, wrong), data)[1].state is CheckStatus.FAILED


WHOLE = VariableKind.INTEGER
PRODUCT = (QuadraticTerm("x", "y", 1.0),)


@pytest.mark.parametrize(
    ("kinds", "high", "features", "name"),
    [
        ((None, None), 9, ModelFeatures(), "linear"), ((WHOLE, None), 9, ModelFeatures(), "mixed-integer linear"),
        ((WHOLE, WHOLE), 9, ModelFeatures(), "integer linear"), ((WHOLE, WHOLE), 1, ModelFeatures(), "binary linear"),
        ((None, None), 9, ModelFeatures(quadratic=PRODUCT), "quadratic"),
        ((None, WHOLE), 9, ModelFeatures(quadratic_rows=(QuadraticRow("q", {}, PRODUCT, Relation.AT_MOST, 4.0),)),
         "mixed-integer quadratically constrained"),
        ((WHOLE, WHOLE), 1, ModelFeatures(indicators=(Indicator("i", "x", True, {"y": 1.0}, Relation.AT_MOST, 0.0),)), "binary logical"),
    ],
)  # fmt: skip
def test_the_class_of_a_model_is_that_of_its_variables_and_rows(
    kinds: tuple, high: float, features: ModelFeatures, name: str
) -> None:
    variables = tuple(
        Variable(name, 0, high, kind or VariableKind.CONTINUOUS) for name, kind in zip("xy", kinds, strict=True)
    )
    milp = IndexedModel.from_records(variables, (), Objective({"x": 1.0}), Sense.MAXIMIZE, features=features)
    assert describe_class(milp) == name
    assert describe_class(milp, is_schedule=True).startswith("scheduling")


@pytest.mark.parametrize(
    ("solver", "is_schedule", "refuses", "solvers"),
    [
        ("", False, False, [None]), ("highs", False, False, ["highs"]), ("highs", True, False, ["highs"]), ("", True, False, ["cp-sat"]),
        # What CP-SAT cannot solve is left to the others; a solver of the user is not replaced.
        ("", True, True, ["cp-sat", None]), ("highs", True, True, ["highs"]),
    ],
)  # fmt: skip
def test_a_model_is_solved_by_the_solver_of_its_class(
    monkeypatch: pytest.MonkeyPatch, solver: str, is_schedule: bool, refuses: bool, solvers: list[str | None]
) -> None:
    met: list[dict[str, object]] = []

    def solve(milp: IndexedModel, **named: object) -> Solution:
        met.append(named)
        if refuses and named.get("solver"):
            raise ModellingError("another class")
        return Solution(SolveStatus.OPTIMAL)

    monkeypatch.setattr(model_class, "solve", solve)
    milp = IndexedModel.from_records((Variable("x"),), (), Objective({"x": 1.0}), Sense.MINIMIZE)
    if refuses and solver:
        with pytest.raises(ModellingError):
            solve_model(milp, 7.0, 0.25, solver, 3, is_schedule=is_schedule)
    else:
        assert solve_model(milp, 7.0, 0.25, solver, 3, is_schedule=is_schedule).status is SolveStatus.OPTIMAL
    assert [named.get("solver") for named in met] == solvers
    assert {named["duals"] for named in met} == {False}
    assert {named["options"] for named in met} == {SolverOptions(7.0, 0.25, 3)}


def test_products_are_terms_in_the_order_of_their_names() -> None:
    terms = ProductTerms({"x": 2.0}, {("x", "z"): 1.0, ("a", "y"): -3.0, ("b", "b"): 0.0})
    assert [(term.first, term.second, term.value) for term in terms.quadratic] == [("a", "y", -3.0), ("x", "z", 1.0)]
    row = terms.row("area", Relation.AT_LEAST, 4.0)
    assert (row.name, dict(row.terms), row.quadratic, row.relation, row.rhs) == (
        "area",
        {"x": 2.0},
        terms.quadratic,
        Relation.AT_LEAST,
        4.0,
    )
