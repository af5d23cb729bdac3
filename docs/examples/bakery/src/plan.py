"""Loaves of a day: the largest profit that flour and oven allow."""

import csv

import highspy


def read(path):
    """Return the rows of a table."""
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


breads = {row["bread"]: row for row in read("data/breads.csv")}
limits = {row["limit"]: float(row["value"]) for row in read("data/limits.csv")}


def total(column):
    """Return what all loaves take or earn."""
    return sum(float(row[column]) * bake[name] for name, row in breads.items())


model = highspy.Highs()
model.silent()
bake = {name: model.addIntegral(lb=0, ub=80, name=f"bake[{name}]") for name in breads}
model.addConstr(total("flour [kg]") <= limits["flour"], name="flour")
model.addConstr(total("oven [min]") <= limits["oven"], name="oven")
model.maximize(total("profit [EUR]"))
print("profit", model.getObjectiveValue())
