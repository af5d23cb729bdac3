import csv, pathlib
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
