"""Logistics: shortest path 7"""

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
        pulp.LpVariable('N1_to_N2', 0.0, None),
        pulp.LpVariable('N2_to_N3', 0.0, None),
        pulp.LpVariable('N3_to_N4', 0.0, None),
        pulp.LpVariable('N1_to_N3', 0.0, None),
        pulp.LpVariable('N1_to_N4', 0.0, None),
        pulp.LpVariable('N2_to_N4', 0.0, None),
        pulp.LpVariable('N3_to_N2', 0.0, None),
    ]
    return {one.name: one for one in every}


def objective(x):
    """What is made small or large."""
    terms = [
        25.0 * x['N1_to_N2'],
        23.0 * x['N2_to_N3'],
        20.0 * x['N3_to_N4'],
        29.0 * x['N1_to_N3'],
        48.0 * x['N1_to_N4'],
        50.0 * x['N2_to_N4'],
        15.0 * x['N3_to_N2'],
    ]
    return pulp.lpSum(terms) + 0.0


def add_rows(problem, x):
    """What has to hold."""
    problem += pulp.lpSum([-1.0 * x['N1_to_N2'], -1.0 * x['N1_to_N3'], -1.0 * x['N1_to_N4']]) == -1.0, 'through_N1'
    problem += pulp.lpSum([1.0 * x['N1_to_N2'], -1.0 * x['N2_to_N3'], -1.0 * x['N2_to_N4'], 1.0 * x['N3_to_N2']]) == 0.0, 'through_N2'
    problem += pulp.lpSum([1.0 * x['N2_to_N3'], -1.0 * x['N3_to_N4'], 1.0 * x['N1_to_N3'], -1.0 * x['N3_to_N2']]) == 0.0, 'through_N3'
    problem += pulp.lpSum([1.0 * x['N3_to_N4'], 1.0 * x['N1_to_N4'], 1.0 * x['N2_to_N4']]) == 1.0, 'through_N4'


def build_problem(p):
    """The whole model."""
    problem = pulp.LpProblem("shortest_path", pulp.LpMinimize)
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
