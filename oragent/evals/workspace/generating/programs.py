"""Programs of the planning team: the exact model in PuLP, as somebody wrote it last year, and as it should be now."""

import re

from oragent.evals.workspace.generating.patches import NewRow, Patch
from oragent.milp.model import Milp, Row, Sense, Variable
from oragent.workspace import parameters
from oragent.workspace.objective import MARKER

__all__ = ["functions", "program"]

HEAD = '''"""{title}"""

import csv
from pathlib import Path

import pulp

DATA = Path(__file__).resolve().parent.parent / "data"


def read_parameters():
    """General parameters by name; a cell that is no number is left out."""
    found = {{}}
    with open(DATA / "{file}", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            try:
                found[row["Parameter_Name"].strip()] = float(row["Value"].replace(",", ""))
            except (KeyError, TypeError, ValueError, AttributeError):
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
TOP = re.compile(r"^def (\w+)\(.*?(?=^\S|\Z)", re.MULTILINE | re.DOTALL)


def program(milp: Milp, title: str, patch: Patch | None = None) -> str:
    """Write a model as a program that prints its objective.

    Args:
        milp: The original; its names are identifiers.
        title: Docstring of the program.
        patch: Revision, whose figures the program reads from the data; None for the original alone.
    """
    changed = {row.name for row in patch.changed} if patch else set()
    kept = [row for row in milp.rows if row.name not in changed]
    parts = [HEAD.format(title=title, file=parameters.FILE), _variables(milp), _objective(milp), _rows(kept)]
    if patch is None:
        objective, calls, rows = "objective(x)", "", ""
    else:
        parts.append(_patched(patch))
        objective, calls = "objective(x) + revised_objective(x, p)", "    add_revised_variables(x)\n"
        rows = "    add_revised_rows(problem, x, p)\n"
    sense = "LpMinimize" if milp.sense is Sense.MINIMIZE else "LpMaximize"
    name = re.sub(r"\W+", "_", milp.name) or "model"
    main = MAIN.format(name=name, sense=sense, marker=MARKER, calls=calls, objective=objective, rows=rows)
    return "".join([*parts, main])


def functions(source: str) -> dict[str, str]:
    """The functions at the top of a program by name, white space aside; found as text, nothing is parsed."""
    return {match[1]: " ".join(match[0].split()) for match in TOP.finditer(source)}


def _variables(milp: Milp) -> str:
    lines = [f"        {_declared(one)}," for one in milp.variables]
    body = "\n".join(lines)
    return (
        f'\n\ndef add_variables():\n    """Decisions by name."""\n    every = [\n{body}\n    ]\n'
        "    return {one.name: one for one in every}\n"
    )


def _declared(one: Variable) -> str:
    low, high = (None if abs(bound) == float("inf") else bound for bound in (one.low, one.high))
    category = ', cat="Integer"' if one.is_integer else ""
    return f"pulp.LpVariable({one.name!r}, {low!r}, {high!r}{category})"


def _objective(milp: Milp) -> str:
    terms = [f"        {value!r} * x[{name!r}]," for name, value in milp.objective.terms.items()]
    body = "\n".join(terms)
    return (
        f'\n\ndef objective(x):\n    """What is made small or large."""\n    terms = [\n{body}\n    ]\n'
        f"    return pulp.lpSum(terms) + {milp.objective.constant!r}\n"
    )


def _rows(rows: list[Row]) -> str:
    lines = []
    for row in rows:
        terms = " + ".join(f"{value!r} * x[{name!r}]" for name, value in row.terms.items()) or "0"
        lines.append(f"    problem += {_sum(terms)} {_sign(str(row.relation))} {row.rhs!r}, {row.name!r}")
    body = "\n".join(lines) or "    return"
    return f'\n\ndef add_rows(problem, x):\n    """What has to hold."""\n{body}\n'


def _sum(terms: str) -> str:
    return f"pulp.lpSum([{terms.replace(' + ', ', ')}])"


def _sign(relation: str) -> str:
    return "==" if relation == "=" else relation


def _patched(patch: Patch) -> str:
    declared = [f"    x[{one.name!r}] = {_declared(one)}" for one in patch.variables]
    terms = [f"        ({figure.program()}) * x[{name!r}]," for name, figure in patch.objective.items()]
    rows = [line for row in (*patch.changed, *patch.rows) for line in _patched_row(row)]
    return (
        '\n\ndef add_revised_variables(x):\n    """Decisions of the revision."""\n'
        + ("\n".join(declared) or "    return")
        + '\n\n\ndef revised_objective(x, p):\n    """What the revision adds to it."""\n    return pulp.lpSum([\n'
        + "\n".join(terms)
        + '\n    ])\n\n\ndef add_revised_rows(problem, x, p):\n    """What has to hold since the revision."""\n'
        + ("\n".join(rows) or "    return")
        + "\n"
    )


def _patched_row(row: NewRow) -> list[str]:
    terms = ", ".join(f"({figure.program()}) * x[{name!r}]" for name, figure in row.terms.items())
    comment = [f"    # {row.sentence}"] if row.sentence else []
    return [
        *comment,
        f"    problem += pulp.lpSum([{terms}]) {_sign(str(row.relation))} {row.rhs.program()}, {row.name!r}",
    ]
