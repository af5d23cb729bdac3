"""Food service: diet 12"""

import csv
from pathlib import Path

import pulp

DATA = Path(__file__).resolve().parent.parent / "data"


def read_parameters():
    """General parameters by name; a cell that is no number is left out."""
    found = {}
    with open(DATA / "general_parameters.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            try:
                found[row["Parameter_Name"].strip()] = float(row["Value"].replace(",", ""))
            except (KeyError, TypeError, ValueError, AttributeError):
                continue
    return found


def add_variables():
    """Decisions by name."""
    every = [
        pulp.LpVariable('bread', 0.0, 7.0),
        pulp.LpVariable('milk', 0.0, 7.0),
        pulp.LpVariable('eggs', 0.0, 6.0),
    ]
    return {one.name: one for one in every}


def objective(x):
    """What is made small or large."""
    terms = [
        57.0 * x['bread'],
        14.0 * x['milk'],
        66.0 * x['eggs'],
    ]
    return pulp.lpSum(terms) + 0.0


def add_rows(problem, x):
    """What has to hold."""
    problem += pulp.lpSum([12.0 * x['bread'], 26.0 * x['milk'], 15.0 * x['eggs']]) >= 127.0, 'protein'
    problem += pulp.lpSum([27.0 * x['bread'], 4.0 * x['milk'], 18.0 * x['eggs']]) >= 132.0, 'calcium'


def build_problem(p):
    """The whole model."""
    problem = pulp.LpProblem("diet", pulp.LpMinimize)
    x = add_variables()
    problem += objective(x)
    add_rows(problem, x)
    return problem


def main():
    """Solve it and print the objective."""
    problem = build_problem(read_parameters())
    problem.solve(pulp.HiGHS(msg=False))
    print("status:", pulp.LpStatus[problem.status])
    print("OBJECTIVE_VALUE:", pulp.value(problem.objective))


if __name__ == "__main__":
    main()
