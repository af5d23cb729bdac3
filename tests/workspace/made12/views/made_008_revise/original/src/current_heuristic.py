"""Logistics: transport 8"""

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
        pulp.LpVariable('north_to_Alton', 0.0, None),
        pulp.LpVariable('north_to_Bexley', 0.0, None),
        pulp.LpVariable('north_to_Corby', 0.0, None),
        pulp.LpVariable('north_to_Derby', 0.0, None),
        pulp.LpVariable('south_to_Alton', 0.0, None),
        pulp.LpVariable('south_to_Bexley', 0.0, None),
        pulp.LpVariable('south_to_Corby', 0.0, None),
        pulp.LpVariable('south_to_Derby', 0.0, None),
        pulp.LpVariable('east_to_Alton', 0.0, None),
        pulp.LpVariable('east_to_Bexley', 0.0, None),
        pulp.LpVariable('east_to_Corby', 0.0, None),
        pulp.LpVariable('east_to_Derby', 0.0, None),
    ]
    return {one.name: one for one in every}


def objective(x):
    """What is made small or large."""
    terms = [
        7.0 * x['north_to_Alton'],
        6.0 * x['north_to_Bexley'],
        9.0 * x['north_to_Corby'],
        37.0 * x['north_to_Derby'],
        34.0 * x['south_to_Alton'],
        16.0 * x['south_to_Bexley'],
        8.0 * x['south_to_Corby'],
        29.0 * x['south_to_Derby'],
        20.0 * x['east_to_Alton'],
        3.0 * x['east_to_Bexley'],
        37.0 * x['east_to_Corby'],
        3.0 * x['east_to_Derby'],
    ]
    return pulp.lpSum(terms) + 0.0


def add_rows(problem, x):
    """What has to hold."""
    problem += pulp.lpSum([1.0 * x['north_to_Alton'], 1.0 * x['north_to_Bexley'], 1.0 * x['north_to_Corby'], 1.0 * x['north_to_Derby']]) <= 10.0, 'stock_north'
    problem += pulp.lpSum([1.0 * x['south_to_Alton'], 1.0 * x['south_to_Bexley'], 1.0 * x['south_to_Corby'], 1.0 * x['south_to_Derby']]) <= 21.0, 'stock_south'
    problem += pulp.lpSum([1.0 * x['east_to_Alton'], 1.0 * x['east_to_Bexley'], 1.0 * x['east_to_Corby'], 1.0 * x['east_to_Derby']]) <= 8.0, 'stock_east'
    problem += pulp.lpSum([1.0 * x['north_to_Alton'], 1.0 * x['south_to_Alton'], 1.0 * x['east_to_Alton']]) >= 9.0, 'need_Alton'
    problem += pulp.lpSum([1.0 * x['north_to_Bexley'], 1.0 * x['south_to_Bexley'], 1.0 * x['east_to_Bexley']]) >= 12.0, 'need_Bexley'
    problem += pulp.lpSum([1.0 * x['north_to_Corby'], 1.0 * x['south_to_Corby'], 1.0 * x['east_to_Corby']]) >= 7.0, 'need_Corby'
    problem += pulp.lpSum([1.0 * x['north_to_Derby'], 1.0 * x['south_to_Derby'], 1.0 * x['east_to_Derby']]) >= 3.0, 'need_Derby'


def build_problem(p):
    """The whole model."""
    problem = pulp.LpProblem("transport", pulp.LpMinimize)
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
