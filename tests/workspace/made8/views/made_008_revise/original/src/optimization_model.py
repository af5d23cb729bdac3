"""Purchase and blending of a feed mill."""

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
    m.feeds = {row["feed"]: row for row in read_table("feeds.csv")}
    m.materials = {row["material"]: row for row in read_table("materials.csv")}
    rows = read_table("prices.csv")
    m.months = [name for name in rows[0] if name != "material"]
    m.price = {(row["material"], month): float(row[month]) for row in rows for month in m.months}
    return m


def add_decisions(m):
    """Tonnes blended, bought and stored."""
    m.blend = {(a, f, t): pulp.LpVariable(f"blend__{a}__{f}__{t}", 0)
               for a in m.materials for f in m.feeds for t in m.months}
    m.buy = {(a, t): pulp.LpVariable(f"buy__{a}__{t}", 0) for a in m.materials for t in m.months}
    m.store = {(a, t): pulp.LpVariable(f"store__{a}__{t}", 0) for a in m.materials for t in m.months}
    m.made = {(f, t): pulp.lpSum(m.blend[a, f, t] for a in m.materials) for f in m.feeds for t in m.months}


def add_rules(m):
    """Quality, markets, silos, the mill, and the profit."""
    for (f, t), made in m.made.items():
        row = m.feeds[f]
        for what, least in (("protein", True), ("fibre", False)):
            content = pulp.lpSum(float(one[f"{what} (%)"]) * m.blend[a, f, t] for a, one in m.materials.items())
            if least:
                m.problem += content >= float(row["least protein (%)"]) * made, f"protein__{f}__{t}"
            else:
                m.problem += content <= float(row["most fibre (%)"]) * made, f"fibre__{f}__{t}"
        m.problem += made <= float(row["most sales (t)"]), f"sales__{f}__{t}"
        m.cost.append(float(row["price (EUR)"]) * made)
    for a, row in m.materials.items():
        for place, t in enumerate(m.months):
            before = m.store[a, m.months[place - 1]] if place else 0
            used = pulp.lpSum(m.blend[a, f, t] for f in m.feeds)
            m.problem += before + m.buy[a, t] == used + m.store[a, t], f"material__{a}__{t}"
            m.problem += m.buy[a, t] <= float(row["market (t)"]), f"market__{a}__{t}"
            m.cost += [-m.price[a, t] * m.buy[a, t], -m.p["storing_cost"] * m.store[a, t]]
        m.problem += m.store[a, m.months[-1]] == 0, f"empty__{a}"
    for t in m.months:
        m.problem += pulp.lpSum(m.store[a, t] for a in m.materials) <= m.p["silo_capacity"], f"silo__{t}"
        m.problem += pulp.lpSum(m.made[f, t] for f in m.feeds) <= m.p["mill_capacity"], f"mill__{t}"


def build_problem():
    """Return the whole model."""
    m = read_data()
    m.problem, m.cost = pulp.LpProblem("blending", pulp.LpMaximize), []
    add_decisions(m)
    add_rules(m)
    m.problem += pulp.lpSum(m.cost)
    return m.problem


if __name__ == "__main__":
    problem = build_problem()
    problem.solve(pulp.HiGHS(msg=False))
    print("status:", pulp.LpStatus[problem.status])
    print("OBJECTIVE_VALUE:", pulp.value(problem.objective))
