"""Write a model as a PuLP program of a workspace."""

import re

from oragent.milp.model import Milp, Relation, Row, Sense, Variable
from oragent.workspace import tables
from oragent.workspace.objective import MARKER

TEMPLATE = '''"""{title}"""

from pathlib import Path

import pulp

from oragent.workspace import read_table  # CSV in any dialect, and Excel workbooks

DATA = Path(__file__).resolve().parent.parent / "data"


def read_parameters():
    """General parameters by name; a cell that is no number is left out."""
    found = {{}}
    for row in read_table(DATA / "{file}"):
        try:
            found[row["Parameter_Name"]] = float(row["Value"].replace(",", ""))
        except (KeyError, ValueError):
            continue
    return found


def add_variables():
    """Decisions by name."""
    every = [
{variables}
    ]
    return {{one.name: one for one in every}}


def objective(x):
    """What is made small or large."""
    terms = [
{terms}
    ]
    return pulp.lpSum(terms) + {constant}


def add_rows(problem, x):
    """What has to hold."""
{rows}


def build_problem(p):
    """The whole model."""
    problem = pulp.LpProblem("{name}", pulp.{sense})
    x = add_variables()
    problem += objective(x)
    add_rows(problem, x)
    return problem


def main():
    """Solve it and print the objective."""
    problem = build_problem(read_parameters())
    problem.solve(pulp.HiGHS(msg=False))
    print("status:", pulp.LpStatus[problem.status])
    print("{marker}", pulp.value(problem.objective))


if __name__ == "__main__":
    main()
'''


def write_program(milp: Milp, title: str) -> str:
    """Write a model, whose names are identifiers, as a program that prints its objective."""
    variables = "\n".join(f"        {_variable_code(variable)}," for variable in milp.variables)
    terms = "\n".join(f"        {value!r} * x[{name!r}]," for name, value in milp.objective.terms.items())
    return TEMPLATE.format(
        title=title,
        file=tables.PARAMETERS_FILE,
        variables=variables,
        terms=terms,
        constant=repr(milp.objective.constant),
        rows="\n".join(map(_row_code, milp.rows)) or "    return",
        name=re.sub(r"\W+", "_", milp.name) or "model",
        sense="LpMinimize" if milp.sense is Sense.MINIMIZE else "LpMaximize",
        marker=MARKER,
    )


def _variable_code(variable: Variable) -> str:
    low, high = (None if abs(bound) == float("inf") else bound for bound in (variable.low, variable.high))
    category = ', cat="Integer"' if variable.is_integer else ""
    return f"pulp.LpVariable({variable.name!r}, {low!r}, {high!r}{category})"


def _row_code(row: Row) -> str:
    terms = ", ".join(f"{value!r} * x[{name!r}]" for name, value in row.terms.items()) or "0"
    relation = "==" if row.relation is Relation.EQUAL else row.relation
    return f"    problem += pulp.lpSum([{terms}]) {relation} {row.rhs!r}, {row.name!r}"
