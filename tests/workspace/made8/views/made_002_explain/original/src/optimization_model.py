"""Distribution of drinks through depots."""

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
    m = SimpleNamespace(p=read_parameters(), products=["water", "juice"])
    m.works = {row["works"]: row for row in read_table("works.csv")}
    m.depots = {row["depot"]: row for row in read_table("depots.csv")}
    m.shops = {row["shop"]: row for row in read_table("shops.csv")}
    m.km = {(row["from"], row["to"]): float(row["distance (km)"]) for row in read_table("distances.csv")}
    return m


def add_decisions(m):
    """Pallets on every lane."""
    m.inbound = {(g, w, d): pulp.LpVariable(f"inbound__{g}__{w}__{d}", 0)
                 for g in m.products for w in m.works for d in m.depots}
    m.outbound = {(g, d, s): pulp.LpVariable(f"outbound__{g}__{d}__{s}", 0)
                  for g in m.products for d in m.depots for s in m.shops}
    m.handled = {d: pulp.lpSum(m.inbound[g, w, d] for g in m.products for w in m.works) for d in m.depots}


def add_rules(m):
    """Supply, flow through depots, demand, and the cost."""
    for g in m.products:
        for w, row in m.works.items():
            m.problem += pulp.lpSum(m.inbound[g, w, d] for d in m.depots) <= float(row[f"{g} (pallets)"]), (
                f"supply__{g}__{w}")
        for d in m.depots:
            m.problem += pulp.lpSum(m.inbound[g, w, d] for w in m.works) == pulp.lpSum(
                m.outbound[g, d, s] for s in m.shops), f"through__{g}__{d}"
        for s, row in m.shops.items():
            m.problem += pulp.lpSum(m.outbound[g, d, s] for d in m.depots) == float(row[f"{g} (pallets)"]), (
                f"demand__{g}__{s}")
    for d, row in m.depots.items():
        m.problem += m.handled[d] <= float(row["capacity (pallets)"]), f"depot__{d}"
        m.cost.append(float(row["handling cost (EUR)"]) * m.handled[d])
    m.cost += [m.p["freight_rate"] * m.km[w, d] * one for (g, w, d), one in m.inbound.items()]
    m.cost += [m.p["delivery_rate"] * m.km[d, s] * one for (g, d, s), one in m.outbound.items()]


def build_problem():
    """Return the whole model."""
    m = read_data()
    m.problem, m.cost = pulp.LpProblem("distribution", pulp.LpMinimize), []
    add_decisions(m)
    add_rules(m)
    m.problem += pulp.lpSum(m.cost)
    return m.problem


if __name__ == "__main__":
    problem = build_problem()
    problem.solve(pulp.HiGHS(msg=False))
    print("status:", pulp.LpStatus[problem.status])
    print("OBJECTIVE_VALUE:", pulp.value(problem.objective))
