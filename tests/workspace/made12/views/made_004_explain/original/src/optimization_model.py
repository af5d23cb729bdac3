"""Paper: cutting stock 4"""

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
        pulp.LpVariable('n_1_x_59_1_x_27', 0.0, None, cat="Integer"),
        pulp.LpVariable('n_1_x_56_1_x_27', 0.0, None, cat="Integer"),
        pulp.LpVariable('n_3_x_27', 0.0, None, cat="Integer"),
    ]
    return {one.name: one for one in every}


def objective(x):
    """What is made small or large."""
    terms = [
        1.0 * x['n_1_x_59_1_x_27'],
        1.0 * x['n_1_x_56_1_x_27'],
        1.0 * x['n_3_x_27'],
    ]
    return pulp.lpSum(terms) + 0.0


def add_rows(problem, x):
    """What has to hold."""
    problem += pulp.lpSum([1.0 * x['n_1_x_59_1_x_27']]) >= 3.0, 'n_59_cm'
    problem += pulp.lpSum([1.0 * x['n_1_x_56_1_x_27']]) >= 4.0, 'n_56_cm'
    problem += pulp.lpSum([1.0 * x['n_1_x_59_1_x_27'], 1.0 * x['n_1_x_56_1_x_27'], 3.0 * x['n_3_x_27']]) >= 4.0, 'n_27_cm'


def build_problem(p):
    """The whole model."""
    problem = pulp.LpProblem("cutting_stock", pulp.LpMinimize)
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
