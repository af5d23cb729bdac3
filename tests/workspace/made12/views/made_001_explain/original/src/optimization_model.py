"""Manufacturing: product mix 1"""

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
        pulp.LpVariable('tables', 0.0, 54.0),
        pulp.LpVariable('chairs', 0.0, 42.0),
        pulp.LpVariable('desks', 0.0, 57.0),
    ]
    return {one.name: one for one in every}


def objective(x):
    """What is made small or large."""
    terms = [
        83.0 * x['tables'],
        44.0 * x['chairs'],
        38.0 * x['desks'],
    ]
    return pulp.lpSum(terms) + 0.0


def add_rows(problem, x):
    """What has to hold."""
    problem += pulp.lpSum([5.0 * x['tables'], 2.0 * x['chairs'], 5.0 * x['desks']]) <= 373.0, 'hours_on_saw'
    problem += pulp.lpSum([6.0 * x['tables'], 3.0 * x['chairs'], 7.0 * x['desks']]) <= 493.0, 'hours_on_lathe'


def build_problem(p):
    """The whole model."""
    problem = pulp.LpProblem("product_mix", pulp.LpMaximize)
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
