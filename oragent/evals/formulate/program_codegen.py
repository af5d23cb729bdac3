"""Write programs and checkers from a known model, as replies of mock models."""

import math
from collections.abc import Mapping
from typing import Any

from oragent.formulate.problem import DEFAULT
from oragent.milp.model import Milp, Sense

PROGRAM = '''import pulp

PARAMETERS = {parameters!r}
RELATIONS = {{"<=": pulp.LpConstraintLE, ">=": pulp.LpConstraintGE, "=": pulp.LpConstraintEQ}}


def {function}(data):
    """Build the model out of the data, solve it, return its variables."""
    given = {{name: data.get(name, value) for name, value in PARAMETERS.items()}}
    problem = pulp.LpProblem("model", pulp.{sense})
    x = {{}}
    for name, (column, low, high, whole) in {variables!r}.items():
        low, high = given["Least"].get(name, low), given["Most"].get(name, high)
        x[name] = pulp.LpVariable(column, low, high, cat="Integer" if whole else "Continuous")
    problem += pulp.lpSum(value * x[name] for name, value in given["Worth"].items()) + given["Constant"]
    for row, (relation, terms) in {rows!r}.items():
        left = pulp.LpAffineExpression([(x[name], given["Coefficients"][row][name]) for name in terms])
        problem += pulp.LpConstraint(left, RELATIONS[relation], row, given["Limits"][row])
    problem.solve()
    return {{
        "status": pulp.LpStatus[problem.status],
        "objective_value": pulp.value(problem.objective),
        "optimized_vars": x,
    }}
'''
CHECKER = """PARAMETERS = {parameters!r}


def checks(values, data):
    given = {{name: data.get(name, value) for name, value in PARAMETERS.items()}}
    for row, (relation, terms, sentence) in {rows!r}.items():
        left = sum(given["Coefficients"][row][name] * values[name] for name in terms)
        yield (row, left, relation, given["Limits"][row], sentence)
    for name, (_, low, high, whole) in {variables!r}.items():
        low, high = given["Least"].get(name, low), given["Most"].get(name, high)
        if low is not None:
            yield ("least " + name, values[name], ">=", low, "")
        if high is not None:
            yield ("most " + name, values[name], "<=", high, "")
        if whole:
            yield ("whole " + name, values[name], "integer", None, "")
    worth = sum(value * values[name] for name, value in given["Worth"].items()) + given["Constant"]
    yield ("objective", worth, {sense!r}, None, "")
"""


def parameters_of(milp: Milp) -> dict[str, Any]:
    """The figures of a model by parameter; what decides by its sign or kind alone is no figure."""
    return {
        "Worth": dict(milp.objective.terms),
        "Constant": milp.objective.constant,
        "Coefficients": {row.name: dict(row.terms) for row in milp.rows},
        "Limits": {row.name: row.rhs for row in milp.rows},
        "Least": {
            variable.name: variable.low
            for variable in milp.variables
            if math.isfinite(variable.low) and variable.low != 0
        },
        "Most": {variable.name: variable.high for variable in milp.variables if math.isfinite(variable.high)},
    }


def program_of(milp: Milp, parameters: Mapping[str, Any] | None = None, function: str = DEFAULT.function) -> str:
    """A program that builds a model out of its data; without data it has the model's own figures."""
    rows = {row.name: (str(row.relation), tuple(row.terms)) for row in milp.rows}
    return PROGRAM.format(
        parameters=dict(parameters or parameters_of(milp)), variables=_program_variables(milp), rows=rows,
        function=function,
        sense="LpMinimize" if milp.sense is Sense.MINIMIZE else "LpMaximize",
    )  # fmt: skip


def checker_of(milp: Milp) -> str:
    """A checker of a model's rows, bounds, integrality and objective."""
    rows = {row.name: (str(row.relation), tuple(row.terms), row.meaning) for row in milp.rows}
    return CHECKER.format(
        parameters=parameters_of(milp), variables=_program_variables(milp), rows=rows, sense=str(milp.sense)
    )  # fmt: skip


def _program_variables(milp: Milp) -> dict[str, tuple[str, float | None, float | None, bool]]:
    """Column, bounds and integrality by name; PuLP changes names that are no words, so those get other columns."""

    def finite_or_none(value: float) -> float | None:
        return value if math.isfinite(value) else None

    variables: dict[str, tuple[str, float | None, float | None, bool]] = {}
    taken: set[str] = set()
    for index, variable in enumerate(milp.variables):
        word = variable.name.replace(" ", "_")
        column = word if word.isidentifier() and word.isascii() and word not in taken else f"x_{index}"
        taken.add(column)
        variables[variable.name] = (
            column,
            finite_or_none(variable.low),
            finite_or_none(variable.high),
            variable.is_integer,
        )
    return variables
