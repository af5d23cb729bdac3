"""Services: assignment 5"""

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
        pulp.LpVariable('Ada_does_painting', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Ada_does_wiring', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Ada_does_plumbing', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Ada_does_tiling', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Ben_does_painting', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Ben_does_wiring', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Ben_does_plumbing', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Ben_does_tiling', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Cleo_does_painting', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Cleo_does_wiring', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Cleo_does_plumbing', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Cleo_does_tiling', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Dan_does_painting', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Dan_does_wiring', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Dan_does_plumbing', 0.0, 1.0, cat="Integer"),
        pulp.LpVariable('Dan_does_tiling', 0.0, 1.0, cat="Integer"),
    ]
    return {one.name: one for one in every}


def objective(x):
    """What is made small or large."""
    terms = [
        55.0 * x['Ada_does_painting'],
        49.0 * x['Ada_does_wiring'],
        27.0 * x['Ada_does_plumbing'],
        57.0 * x['Ada_does_tiling'],
        43.0 * x['Ben_does_painting'],
        55.0 * x['Ben_does_wiring'],
        34.0 * x['Ben_does_plumbing'],
        32.0 * x['Ben_does_tiling'],
        18.0 * x['Cleo_does_painting'],
        59.0 * x['Cleo_does_wiring'],
        29.0 * x['Cleo_does_plumbing'],
        18.0 * x['Cleo_does_tiling'],
        41.0 * x['Dan_does_painting'],
        37.0 * x['Dan_does_wiring'],
        21.0 * x['Dan_does_plumbing'],
        33.0 * x['Dan_does_tiling'],
    ]
    return pulp.lpSum(terms) + 0.0


def add_rows(problem, x):
    """What has to hold."""
    problem += pulp.lpSum([1.0 * x['Ada_does_painting'], 1.0 * x['Ada_does_wiring'], 1.0 * x['Ada_does_plumbing'], 1.0 * x['Ada_does_tiling']]) == 1.0, 'one_task_for_Ada'
    problem += pulp.lpSum([1.0 * x['Ben_does_painting'], 1.0 * x['Ben_does_wiring'], 1.0 * x['Ben_does_plumbing'], 1.0 * x['Ben_does_tiling']]) == 1.0, 'one_task_for_Ben'
    problem += pulp.lpSum([1.0 * x['Cleo_does_painting'], 1.0 * x['Cleo_does_wiring'], 1.0 * x['Cleo_does_plumbing'], 1.0 * x['Cleo_does_tiling']]) == 1.0, 'one_task_for_Cleo'
    problem += pulp.lpSum([1.0 * x['Dan_does_painting'], 1.0 * x['Dan_does_wiring'], 1.0 * x['Dan_does_plumbing'], 1.0 * x['Dan_does_tiling']]) == 1.0, 'one_task_for_Dan'
    problem += pulp.lpSum([1.0 * x['Ada_does_painting'], 1.0 * x['Ben_does_painting'], 1.0 * x['Cleo_does_painting'], 1.0 * x['Dan_does_painting']]) == 1.0, 'one_worker_for_painting'
    problem += pulp.lpSum([1.0 * x['Ada_does_wiring'], 1.0 * x['Ben_does_wiring'], 1.0 * x['Cleo_does_wiring'], 1.0 * x['Dan_does_wiring']]) == 1.0, 'one_worker_for_wiring'
    problem += pulp.lpSum([1.0 * x['Ada_does_plumbing'], 1.0 * x['Ben_does_plumbing'], 1.0 * x['Cleo_does_plumbing'], 1.0 * x['Dan_does_plumbing']]) == 1.0, 'one_worker_for_plumbing'
    problem += pulp.lpSum([1.0 * x['Ada_does_tiling'], 1.0 * x['Ben_does_tiling'], 1.0 * x['Cleo_does_tiling'], 1.0 * x['Dan_does_tiling']]) == 1.0, 'one_worker_for_tiling'


def build_problem(p):
    """The whole model."""
    problem = pulp.LpProblem("assignment", pulp.LpMinimize)
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
