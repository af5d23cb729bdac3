"""Write a model as a PuLP program of a workspace."""

import re
from collections.abc import Sequence

from oragent.milp.model import Milp, Row, Sense, Variable
from oragent.workspace import tables
from oragent.workspace.objective import MARKER

HEAD = '''"""{title}"""

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
'''
MAIN = '''

def build_problem(p):
    """The whole model."""
    problem = pulp.LpProblem("{name}", pulp.{sense})
    x = add_variables()
{calls}    problem += {objective}
    add_rows(problem, x)
{rows}    return problem


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
    return assemble_program(milp, title, milp.rows)


def assemble_program(
    milp: Milp, title: str, rows: Sequence[Row], functions: str = "", extra_calls: tuple[str, str, str] = ("", "", "")
) -> str:
    """Put a program together.

    Rows are stated as they are; functions are source beside the standard ones, and ``extra_calls`` what they add: lines
    after the variables, a term of the objective, lines after the rows.
    """
    calls, term, more_rows = extra_calls
    parts = [HEAD.format(title=title, file=tables.PARAMETERS_FILE), variables_code(milp), objective_code(milp)]
    sense = "LpMinimize" if milp.sense is Sense.MINIMIZE else "LpMaximize"
    name = re.sub(r"\W+", "_", milp.name) or "model"
    main = MAIN.format(
        name=name, sense=sense, marker=MARKER, calls=calls, objective=f"objective(x){term}", rows=more_rows
    )
    return "".join([*parts, rows_code(list(rows)), functions, main])


def variables_code(milp: Milp) -> str:
    """Return the function that declares all variables."""
    lines = [f"        {variable_code(variable)}," for variable in milp.variables]
    body = "\n".join(lines)
    return (
        f'\n\ndef add_variables():\n    """Decisions by name."""\n    every = [\n{body}\n    ]\n'
        "    return {one.name: one for one in every}\n"
    )


def variable_code(variable: Variable) -> str:
    """Return the PuLP expression that declares a variable."""
    low, high = (None if abs(bound) == float("inf") else bound for bound in (variable.low, variable.high))
    category = ', cat="Integer"' if variable.is_integer else ""
    return f"pulp.LpVariable({variable.name!r}, {low!r}, {high!r}{category})"


def objective_code(milp: Milp) -> str:
    """Return the function that builds the objective."""
    terms = [f"        {value!r} * x[{name!r}]," for name, value in milp.objective.terms.items()]
    body = "\n".join(terms)
    return (
        f'\n\ndef objective(x):\n    """What is made small or large."""\n    terms = [\n{body}\n    ]\n'
        f"    return pulp.lpSum(terms) + {milp.objective.constant!r}\n"
    )


def rows_code(rows: list[Row]) -> str:
    """Return the function that adds rows to a problem."""
    lines = []
    for row in rows:
        terms = " + ".join(f"{value!r} * x[{name!r}]" for name, value in row.terms.items()) or "0"
        lines.append(f"    problem += {_sum_code(terms)} {relation_sign(str(row.relation))} {row.rhs!r}, {row.name!r}")
    body = "\n".join(lines) or "    return"
    return f'\n\ndef add_rows(problem, x):\n    """What has to hold."""\n{body}\n'


def _sum_code(terms: str) -> str:
    return f"pulp.lpSum([{terms.replace(' + ', ', ')}])"


def relation_sign(relation: str) -> str:
    """Return the sign of a relation in Python."""
    return "==" if relation == "=" else relation
