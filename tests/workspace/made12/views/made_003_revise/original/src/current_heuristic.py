"""Finance: investment 3"""

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
        pulp.LpVariable('share_of_solar', 0.0, 1.0),
        pulp.LpVariable('share_of_wind', 0.0, 1.0),
        pulp.LpVariable('share_of_ferry', 0.0, 1.0),
        pulp.LpVariable('share_of_hotel', 0.0, 1.0),
        pulp.LpVariable('share_of_dairy', 0.0, 1.0),
        pulp.LpVariable('cash_in_year_0', 0.0, None),
        pulp.LpVariable('cash_in_year_1', 0.0, None),
        pulp.LpVariable('cash_in_year_2', 0.0, None),
        pulp.LpVariable('cash_in_year_3', 0.0, None),
        pulp.LpVariable('cash_in_year_4', 0.0, None),
    ]
    return {one.name: one for one in every}


def objective(x):
    """What is made small or large."""
    terms = [
        1.0 * x['cash_in_year_4'],
    ]
    return pulp.lpSum(terms) + 0.0


def add_rows(problem, x):
    """What has to hold."""
    problem += pulp.lpSum([-0.0 * x['share_of_solar'], -0.0 * x['share_of_wind'], -0.0 * x['share_of_ferry'], -0.0 * x['share_of_hotel'], 86.0 * x['share_of_dairy'], 1.0 * x['cash_in_year_0']]) == 96.0, 'money_in_year_0'
    problem += pulp.lpSum([-0.0 * x['share_of_solar'], 45.0 * x['share_of_wind'], -0.0 * x['share_of_ferry'], -0.0 * x['share_of_hotel'], -69.0 * x['share_of_dairy'], 1.0 * x['cash_in_year_1'], -1.02 * x['cash_in_year_0']]) == 0.0, 'money_in_year_1'
    problem += pulp.lpSum([83.0 * x['share_of_solar'], -26.0 * x['share_of_wind'], -0.0 * x['share_of_ferry'], 40.0 * x['share_of_hotel'], -0.0 * x['share_of_dairy'], 1.0 * x['cash_in_year_2'], -1.02 * x['cash_in_year_1']]) == 0.0, 'money_in_year_2'
    problem += pulp.lpSum([-37.0 * x['share_of_solar'], -10.0 * x['share_of_wind'], 52.0 * x['share_of_ferry'], -8.0 * x['share_of_hotel'], -0.0 * x['share_of_dairy'], 1.0 * x['cash_in_year_3'], -1.02 * x['cash_in_year_2']]) == 0.0, 'money_in_year_3'
    problem += pulp.lpSum([-60.0 * x['share_of_solar'], -13.0 * x['share_of_wind'], -65.0 * x['share_of_ferry'], -46.0 * x['share_of_hotel'], -50.0 * x['share_of_dairy'], 1.0 * x['cash_in_year_4'], -1.02 * x['cash_in_year_3']]) == 0.0, 'money_in_year_4'


def build_problem(p):
    """The whole model."""
    problem = pulp.LpProblem("investment", pulp.LpMaximize)
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
