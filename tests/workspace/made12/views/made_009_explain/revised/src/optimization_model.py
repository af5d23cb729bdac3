"""Aviation: crew scheduling 9"""

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
        pulp.LpVariable('duty_1', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('duty_2', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('duty_3', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('duty_4', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('duty_5', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('duty_6', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('duty_7', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('duty_8', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('duty_9', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('duty_10', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('duty_11', 0.0, 1.0, cat="Integer"),
    ]
    return {one.name: one for one in every}


def objective(x):
    """What is made small or large."""
    terms = [
        12.0 * x['duty_1'],
        11.0 * x['duty_2'],
        14.0 * x['duty_3'],
        15.0 * x['duty_4'],
        22.0 * x['duty_5'],
        20.0 * x['duty_6'],
        15.0 * x['duty_7'],
        16.0 * x['duty_8'],
        22.0 * x['duty_9'],
        18.0 * x['duty_10'],
        15.0 * x['duty_11'],
    ]
    return pulp.lpSum(terms) + 0.0


def add_rows(problem, x):
    """What has to hold."""
    problem += pulp.lpSum([1.0 * x['duty_1'], 1.0 * x['duty_5'], 1.0 * x['duty_9'], 1.0 * x['duty_10'], 1.0 * x['duty_11']]) == 1.0, 'F1'
    problem += pulp.lpSum([1.0 * x['duty_2'], 1.0 * x['duty_5'], 1.0 * x['duty_6'], 1.0 * x['duty_7'], 1.0 * x['duty_9'], 1.0 * x['duty_11']]) == 1.0, 'F2'
    problem += pulp.lpSum([1.0 * x['duty_3'], 1.0 * x['duty_6'], 1.0 * x['duty_8'], 1.0 * x['duty_9'], 1.0 * x['duty_10']]) == 1.0, 'F3'
    problem += pulp.lpSum([1.0 * x['duty_4'], 1.0 * x['duty_5'], 1.0 * x['duty_6'], 1.0 * x['duty_7'], 1.0 * x['duty_8'], 1.0 * x['duty_9']]) == 1.0, 'F4'


def add_revised_variables(x):
    """Decisions of the revision."""
    return


def revised_objective(x, p):
    """What the revision adds to it."""
    return pulp.lpSum([
        (p['desk_fee']) * x['duty_9'],
        (p['desk_fee']) * x['duty_1'],
        (p['desk_fee']) * x['duty_2'],
        (p['desk_fee']) * x['duty_3'],
        (p['desk_fee']) * x['duty_4'],
        (p['desk_fee']) * x['duty_5'],
    ])


def add_revised_rows(problem, x, p):
    """What has to hold since the revision."""
    # The staff can look after `open_at_most` of duty 9, duty 1, duty 2, duty 3, duty 4 and duty 5 and no more; the others stay closed.
    problem += pulp.lpSum([(1.0) * x['duty_9'], (1.0) * x['duty_1'], (1.0) * x['duty_2'], (1.0) * x['duty_3'], (1.0) * x['duty_4'], (1.0) * x['duty_5']]) <= p['open_at_most'], 'few_open'


def build_problem(p):
    """The whole model."""
    problem = pulp.LpProblem("crew_scheduling", pulp.LpMinimize)
    x = add_variables()
    add_revised_variables(x)
    problem += objective(x) + revised_objective(x, p)
    add_rows(problem, x)
    add_revised_rows(problem, x, p)
    return problem


def main():
    """Solve it and print the objective."""
    problem = build_problem(read_parameters())
    problem.solve(pulp.HiGHS(msg=False))
    print("status:", pulp.LpStatus[problem.status])
    print("OBJECTIVE_VALUE:", pulp.value(problem.objective))


if __name__ == "__main__":
    main()
