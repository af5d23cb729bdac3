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


def add_revised_variables(x):
    """Decisions of the revision."""
    x['use_bread'] = pulp.LpVariable('use_bread', 0.0, 1.0, cat="Integer")
    x['use_eggs'] = pulp.LpVariable('use_eggs', 0.0, 1.0, cat="Integer")


def revised_objective(x, p):
    """What the revision adds to it."""
    return pulp.lpSum([

    ])


def add_revised_rows(problem, x, p):
    """What has to hold since the revision."""
    # What is not opened stays at zero; opened, bread comes to at most `ceiling_bread`.
    problem += pulp.lpSum([(1.0) * x['bread'], (-1.0 * p['ceiling_bread']) * x['use_bread']]) <= 0.0, 'open_bread'
    # What is not opened stays at zero; opened, eggs comes to at most `ceiling_eggs`.
    problem += pulp.lpSum([(1.0) * x['eggs'], (-1.0 * p['ceiling_eggs']) * x['use_eggs']]) <= 0.0, 'open_eggs'
    # Where `rule_in_force` is 1, bread may be run only if eggs is opened as well; where it is 0, the rule is off.
    problem += pulp.lpSum([(1.0) * x['use_bread'], (-1.0) * x['use_eggs']]) <= 1.0 + -1.0 * p['rule_in_force'], 'needs_the_other'
    # What is opened is run at `least_when_opened` units or more: eggs.
    problem += pulp.lpSum([(1.0) * x['eggs'], (-1.0 * p['least_when_opened']) * x['use_eggs']]) >= 0.0, 'least_of_it'


def build_problem(p):
    """The whole model."""
    problem = pulp.LpProblem("diet", pulp.LpMinimize)
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
