"""A small workspace: a parameter table, a requirement, and a PuLP program with the optimum 400."""

__all__ = ["DATA", "PROGRAM", "STORY"]

DATA = "Parameter_Name,Value,Unit,Context_Description\nflour,100,kg,what there is\nprice_rye,4,EUR,of a loaf\n"
STORY = "# Bakery\n\nLoaves of rye earn `price_rye`, loaves of wheat 3 EUR. A loaf takes a kilogram of `flour`.\n"
PROGRAM = """import csv, pathlib
import pulp

HERE = pathlib.Path(__file__).resolve().parent.parent / "data" / "general_parameters.csv"


def figures():
    with open(HERE, newline="") as file:
        return {row["Parameter_Name"]: float(row["Value"]) for row in csv.DictReader(file)}


def model(p):
    problem = pulp.LpProblem("bakery", pulp.LpMaximize)
    rye, wheat = pulp.LpVariable("rye", 0), pulp.LpVariable("wheat", 0)
    problem += p["price_rye"] * rye + 3 * wheat
    problem += rye + wheat <= p["flour"], "flour_there"
    return problem, rye, wheat


def main():
    problem, rye, wheat = model(figures())
    problem.solve()
    print("OBJECTIVE_VALUE:", pulp.value(problem.objective))


main()
"""
