"""Production plan of a furniture works."""

import csv
from pathlib import Path
from types import SimpleNamespace

import pulp

DATA = Path(__file__).resolve().parent.parent / "data"


def read_table(name):
    """Rows of a table, each a dictionary by column."""
    with open(DATA / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_parameters():
    """General parameters by name."""
    return {row["Parameter_Name"]: float(row["Value"]) for row in read_table("general_parameters.csv")}


def read_data():
    """Return all tables."""
    m = SimpleNamespace(p=read_parameters())
    m.products = {row["product"]: row for row in read_table("products.csv")}
    m.machines = {row["machine"]: row for row in read_table("machines.csv")}
    m.hours = {(row["product"], row["machine"]): float(row["hours per piece (h)"]) for row in read_table("hours.csv")}
    rows = read_table("demand.csv")
    m.weeks = [name for name in rows[0] if name != "product"]
    m.demand = {(row["product"], week): float(row[week]) for row in rows for week in m.weeks}
    return m


def add_decisions(m):
    """Pieces made and stored, hours of overtime."""
    every = [(product, week) for product in m.products for week in m.weeks]
    m.make = {key: pulp.LpVariable("make__%s__%s" % key, 0) for key in every}
    m.stock = {key: pulp.LpVariable("stock__%s__%s" % key, 0) for key in every}
    m.overtime = {
        (machine, week): pulp.LpVariable(f"overtime__{machine}__{week}", 0, float(row["most overtime (h)"]))
        for machine, row in m.machines.items() for week in m.weeks
    }


def add_rules(m):
    """Balances, machine hours, the store, and the cost."""
    for product, row in m.products.items():
        for place, week in enumerate(m.weeks):
            before = m.stock[product, m.weeks[place - 1]] if place else float(row["first stock (pieces)"])
            m.problem += before + m.make[product, week] == m.demand[product, week] + m.stock[product, week], (
                f"balance__{product}__{week}")
            m.cost += [float(row["making cost (EUR)"]) * m.make[product, week],
                       float(row["storing cost (EUR)"]) * m.stock[product, week]]
    for machine, row in m.machines.items():
        for week in m.weeks:
            used = pulp.lpSum(m.hours[product, machine] * m.make[product, week] for product in m.products)
            m.problem += used <= float(row["regular hours (h)"]) + m.overtime[machine, week], f"hours__{machine}__{week}"
            m.cost.append(m.p["overtime_cost"] * m.overtime[machine, week])
    for week in m.weeks:
        m.problem += pulp.lpSum(m.stock[product, week] for product in m.products) <= m.p["store_capacity"], (
            f"store__{week}")


def revise(m):
    """Safety stock."""
    for product, week in m.demand:
        m.problem += m.stock[product, week] >= m.p["safety_share"] * m.demand[product, week], (
            f"safety__{product}__{week}")


def build_problem():
    """Return the whole model."""
    m = read_data()
    m.problem, m.cost = pulp.LpProblem("production", pulp.LpMinimize), []
    add_decisions(m)
    add_rules(m)
    revise(m)
    m.problem += pulp.lpSum(m.cost)
    return m.problem


if __name__ == "__main__":
    problem = build_problem()
    problem.solve(pulp.HiGHS(msg=False))
    print("status:", pulp.LpStatus[problem.status])
    print("OBJECTIVE_VALUE:", pulp.value(problem.objective))
