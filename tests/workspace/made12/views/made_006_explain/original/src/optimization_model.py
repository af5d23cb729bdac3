"""Beverages: lot sizing 6"""

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
        pulp.LpVariable('brew_1', 0.0, 143.0),
        pulp.LpVariable('brew_2', 0.0, 143.0),
        pulp.LpVariable('brew_3', 0.0, 143.0),
        pulp.LpVariable('brew_4', 0.0, 143.0),
        pulp.LpVariable('clean_1', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('clean_2', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('clean_3', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('clean_4', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('store_1', 0.0, None),
        pulp.LpVariable('store_2', 0.0, None),
        pulp.LpVariable('store_3', 0.0, None),
        pulp.LpVariable('store_4', 0.0, None),
    ]
    return {one.name: one for one in every}


def objective(x):
    """What is made small or large."""
    terms = [
        179.0 * x['clean_1'],
        2.0 * x['brew_1'],
        1.0 * x['store_1'],
        179.0 * x['clean_2'],
        2.0 * x['brew_2'],
        1.0 * x['store_2'],
        179.0 * x['clean_3'],
        2.0 * x['brew_3'],
        1.0 * x['store_3'],
        179.0 * x['clean_4'],
        2.0 * x['brew_4'],
        1.0 * x['store_4'],
    ]
    return pulp.lpSum(terms) + 0.0


def add_rows(problem, x):
    """What has to hold."""
    problem += pulp.lpSum([1.0 * x['brew_1'], -143.0 * x['clean_1']]) <= 0.0, 'cleaning_1'
    problem += pulp.lpSum([1.0 * x['brew_2'], -143.0 * x['clean_2']]) <= 0.0, 'cleaning_2'
    problem += pulp.lpSum([1.0 * x['brew_3'], -143.0 * x['clean_3']]) <= 0.0, 'cleaning_3'
    problem += pulp.lpSum([1.0 * x['brew_4'], -143.0 * x['clean_4']]) <= 0.0, 'cleaning_4'
    problem += pulp.lpSum([1.0 * x['brew_1'], -1.0 * x['store_1']]) == 58.0, 'balance_1'
    problem += pulp.lpSum([1.0 * x['brew_2'], -1.0 * x['store_2'], 1.0 * x['store_1']]) == 43.0, 'balance_2'
    problem += pulp.lpSum([1.0 * x['brew_3'], -1.0 * x['store_3'], 1.0 * x['store_2']]) == 11.0, 'balance_3'
    problem += pulp.lpSum([1.0 * x['brew_4'], -1.0 * x['store_4'], 1.0 * x['store_3']]) == 31.0, 'balance_4'


def build_problem(p):
    """The whole model."""
    problem = pulp.LpProblem("lot_sizing", pulp.LpMinimize)
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
