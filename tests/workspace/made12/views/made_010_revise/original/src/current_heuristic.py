"""Utilities: largest flow 10"""

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
        pulp.LpVariable('N1_to_N2', 0.0, 12.0),
        pulp.LpVariable('N2_to_N3', 0.0, 14.0),
        pulp.LpVariable('N3_to_N4', 0.0, 8.0),
        pulp.LpVariable('N4_to_N5', 0.0, 5.0),
        pulp.LpVariable('N1_to_N4', 0.0, 22.0),
        pulp.LpVariable('N1_to_N5', 0.0, 6.0),
        pulp.LpVariable('N2_to_N4', 0.0, 9.0),
        pulp.LpVariable('N2_to_N5', 0.0, 7.0),
        pulp.LpVariable('N3_to_N2', 0.0, 19.0),
        pulp.LpVariable('N4_to_N2', 0.0, 12.0),
        pulp.LpVariable('N4_to_N3', 0.0, 19.0),
    ]
    return {one.name: one for one in every}


def objective(x):
    """What is made small or large."""
    terms = [
        1.0 * x['N4_to_N5'],
        1.0 * x['N1_to_N5'],
        1.0 * x['N2_to_N5'],
    ]
    return pulp.lpSum(terms) + 0.0


def add_rows(problem, x):
    """What has to hold."""
    problem += pulp.lpSum([1.0 * x['N1_to_N2'], -1.0 * x['N2_to_N3'], -1.0 * x['N2_to_N4'], -1.0 * x['N2_to_N5'], 1.0 * x['N3_to_N2'], 1.0 * x['N4_to_N2']]) == 0.0, 'balance_N2'
    problem += pulp.lpSum([1.0 * x['N2_to_N3'], -1.0 * x['N3_to_N4'], -1.0 * x['N3_to_N2'], 1.0 * x['N4_to_N3']]) == 0.0, 'balance_N3'
    problem += pulp.lpSum([1.0 * x['N3_to_N4'], -1.0 * x['N4_to_N5'], 1.0 * x['N1_to_N4'], 1.0 * x['N2_to_N4'], -1.0 * x['N4_to_N2'], -1.0 * x['N4_to_N3']]) == 0.0, 'balance_N4'


def build_problem(p):
    """The whole model."""
    problem = pulp.LpProblem("largest_flow", pulp.LpMaximize)
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
