"""Retail: facility location 11"""

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
        pulp.LpVariable('rent_Lyon', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('rent_Turin', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('rent_Basel', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Lyon_serves_Abel', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Lyon_serves_Boyd', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Lyon_serves_Cruz', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Lyon_serves_Dunn', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Lyon_serves_Ekman', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Lyon_serves_Ford', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Turin_serves_Abel', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Turin_serves_Boyd', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Turin_serves_Cruz', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Turin_serves_Dunn', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Turin_serves_Ekman', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Turin_serves_Ford', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Basel_serves_Abel', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Basel_serves_Boyd', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Basel_serves_Cruz', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Basel_serves_Dunn', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Basel_serves_Ekman', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Basel_serves_Ford', 0.0, 1.0, cat="Integer"),
    ]
    return {one.name: one for one in every}


def objective(x):
    """What is made small or large."""
    terms = [
        94.0 * x['rent_Lyon'],
        96.0 * x['rent_Turin'],
        154.0 * x['rent_Basel'],
        57.0 * x['Lyon_serves_Abel'],
        56.0 * x['Lyon_serves_Boyd'],
        58.0 * x['Lyon_serves_Cruz'],
        26.0 * x['Lyon_serves_Dunn'],
        11.0 * x['Lyon_serves_Ekman'],
        55.0 * x['Lyon_serves_Ford'],
        56.0 * x['Turin_serves_Abel'],
        33.0 * x['Turin_serves_Boyd'],
        11.0 * x['Turin_serves_Cruz'],
        8.0 * x['Turin_serves_Dunn'],
        40.0 * x['Turin_serves_Ekman'],
        73.0 * x['Turin_serves_Ford'],
        13.0 * x['Basel_serves_Abel'],
        52.0 * x['Basel_serves_Boyd'],
        8.0 * x['Basel_serves_Cruz'],
        38.0 * x['Basel_serves_Dunn'],
        9.0 * x['Basel_serves_Ekman'],
        12.0 * x['Basel_serves_Ford'],
    ]
    return pulp.lpSum(terms) + 0.0


def add_rows(problem, x):
    """What has to hold."""
    problem += pulp.lpSum([1.0 * x['Lyon_serves_Abel'], 1.0 * x['Turin_serves_Abel'], 1.0 * x['Basel_serves_Abel']]) == 1.0, 'Abel_is_served'
    problem += pulp.lpSum([1.0 * x['Lyon_serves_Boyd'], 1.0 * x['Turin_serves_Boyd'], 1.0 * x['Basel_serves_Boyd']]) == 1.0, 'Boyd_is_served'
    problem += pulp.lpSum([1.0 * x['Lyon_serves_Cruz'], 1.0 * x['Turin_serves_Cruz'], 1.0 * x['Basel_serves_Cruz']]) == 1.0, 'Cruz_is_served'
    problem += pulp.lpSum([1.0 * x['Lyon_serves_Dunn'], 1.0 * x['Turin_serves_Dunn'], 1.0 * x['Basel_serves_Dunn']]) == 1.0, 'Dunn_is_served'
    problem += pulp.lpSum([1.0 * x['Lyon_serves_Ekman'], 1.0 * x['Turin_serves_Ekman'], 1.0 * x['Basel_serves_Ekman']]) == 1.0, 'Ekman_is_served'
    problem += pulp.lpSum([1.0 * x['Lyon_serves_Ford'], 1.0 * x['Turin_serves_Ford'], 1.0 * x['Basel_serves_Ford']]) == 1.0, 'Ford_is_served'
    problem += pulp.lpSum([1.0 * x['Lyon_serves_Abel'], -1.0 * x['rent_Lyon']]) <= 0.0, 'Lyon_serves_Abel_when_rented'
    problem += pulp.lpSum([1.0 * x['Lyon_serves_Boyd'], -1.0 * x['rent_Lyon']]) <= 0.0, 'Lyon_serves_Boyd_when_rented'
    problem += pulp.lpSum([1.0 * x['Lyon_serves_Cruz'], -1.0 * x['rent_Lyon']]) <= 0.0, 'Lyon_serves_Cruz_when_rented'
    problem += pulp.lpSum([1.0 * x['Lyon_serves_Dunn'], -1.0 * x['rent_Lyon']]) <= 0.0, 'Lyon_serves_Dunn_when_rented'
    problem += pulp.lpSum([1.0 * x['Lyon_serves_Ekman'], -1.0 * x['rent_Lyon']]) <= 0.0, 'Lyon_serves_Ekman_when_rented'
    problem += pulp.lpSum([1.0 * x['Lyon_serves_Ford'], -1.0 * x['rent_Lyon']]) <= 0.0, 'Lyon_serves_Ford_when_rented'
    problem += pulp.lpSum([1.0 * x['Turin_serves_Abel'], -1.0 * x['rent_Turin']]) <= 0.0, 'Turin_serves_Abel_when_rented'
    problem += pulp.lpSum([1.0 * x['Turin_serves_Boyd'], -1.0 * x['rent_Turin']]) <= 0.0, 'Turin_serves_Boyd_when_rented'
    problem += pulp.lpSum([1.0 * x['Turin_serves_Cruz'], -1.0 * x['rent_Turin']]) <= 0.0, 'Turin_serves_Cruz_when_rented'
    problem += pulp.lpSum([1.0 * x['Turin_serves_Dunn'], -1.0 * x['rent_Turin']]) <= 0.0, 'Turin_serves_Dunn_when_rented'
    problem += pulp.lpSum([1.0 * x['Turin_serves_Ekman'], -1.0 * x['rent_Turin']]) <= 0.0, 'Turin_serves_Ekman_when_rented'
    problem += pulp.lpSum([1.0 * x['Turin_serves_Ford'], -1.0 * x['rent_Turin']]) <= 0.0, 'Turin_serves_Ford_when_rented'
    problem += pulp.lpSum([1.0 * x['Basel_serves_Abel'], -1.0 * x['rent_Basel']]) <= 0.0, 'Basel_serves_Abel_when_rented'
    problem += pulp.lpSum([1.0 * x['Basel_serves_Boyd'], -1.0 * x['rent_Basel']]) <= 0.0, 'Basel_serves_Boyd_when_rented'
    problem += pulp.lpSum([1.0 * x['Basel_serves_Cruz'], -1.0 * x['rent_Basel']]) <= 0.0, 'Basel_serves_Cruz_when_rented'
    problem += pulp.lpSum([1.0 * x['Basel_serves_Dunn'], -1.0 * x['rent_Basel']]) <= 0.0, 'Basel_serves_Dunn_when_rented'
    problem += pulp.lpSum([1.0 * x['Basel_serves_Ekman'], -1.0 * x['rent_Basel']]) <= 0.0, 'Basel_serves_Ekman_when_rented'
    problem += pulp.lpSum([1.0 * x['Basel_serves_Ford'], -1.0 * x['rent_Basel']]) <= 0.0, 'Basel_serves_Ford_when_rented'


def add_revised_variables(x):
    """Decisions of the revision."""
    return


def revised_objective(x, p):
    """What the revision adds to it."""
    return pulp.lpSum([

    ])


def add_revised_rows(problem, x, p):
    """What has to hold since the revision."""
    # The new safety rule looks at rent Basel and Basel serves Abel: of these, no more than `together_at_most` may be run at all.
    problem += pulp.lpSum([(1.0) * x['rent_Basel'], (1.0) * x['Basel_serves_Abel']]) <= p['together_at_most'], 'not_together'


def build_problem(p):
    """The whole model."""
    problem = pulp.LpProblem("facility_location", pulp.LpMinimize)
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
