"""Retail: configuration 2"""

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
        pulp.LpVariable('P1', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('P2', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('P3', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('P4', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('P6', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('P7', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('P8', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('P9', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('P11', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('P13', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('P14', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('P15', 0.0, 1.0, cat="Integer"),
    ]
    return {one.name: one for one in every}


def objective(x):
    """What is made small or large."""
    terms = [
        16.0 * x['P1'],
        37.0 * x['P2'],
        71.0 * x['P3'],
        92.0 * x['P4'],
        70.0 * x['P6'],
        59.0 * x['P7'],
        48.0 * x['P8'],
        91.0 * x['P9'],
        26.0 * x['P11'],
        75.0 * x['P13'],
        18.0 * x['P14'],
        25.0 * x['P15'],
    ]
    return pulp.lpSum(terms) + 0.0


def add_rows(problem, x):
    """What has to hold."""
    problem += pulp.lpSum([1.0 * x['P1']]) == 1.0, 'one_of_C1'
    problem += pulp.lpSum([1.0 * x['P2'], 1.0 * x['P4'], 1.0 * x['P7'], 1.0 * x['P9'], 1.0 * x['P14'], 1.0 * x['P15']]) == 1.0, 'one_of_C2'
    problem += pulp.lpSum([1.0 * x['P3'], 1.0 * x['P6'], 1.0 * x['P8'], 1.0 * x['P11'], 1.0 * x['P13']]) == 1.0, 'one_of_C3'
    problem += pulp.lpSum([352.0 * x['P1'], 54.0 * x['P2'], 266.0 * x['P3'], 270.0 * x['P4'], 300.0 * x['P6'], 392.0 * x['P7'], 408.5 * x['P8'], 160.0 * x['P9'], 430.0 * x['P11'], 133.0 * x['P13'], 95.0 * x['P14'], 50.0 * x['P15']]) <= 750.0, 'budget'


def build_problem(p):
    """The whole model."""
    problem = pulp.LpProblem("configuration", pulp.LpMaximize)
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
