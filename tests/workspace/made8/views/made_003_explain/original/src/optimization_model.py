"""Week of a hospital kitchen."""

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
    m.contracts = {row["contract"]: row for row in read_table("contracts.csv")}
    rows = read_table("need.csv")
    m.days = [name for name in rows[0] if name != "period"]
    m.periods = [row["period"] for row in rows]
    m.need = {(day, row["period"]): float(row[day]) for row in rows for day in m.days}
    return m


def add_decisions(m):
    """Shifts that begin, by contract, day and period."""
    m.begin = {}
    for contract, row in m.contracts.items():
        for day in m.days:
            for period in m.periods[: len(m.periods) - int(row["periods"]) + 1]:
                name = f"begin__{contract}__{day}__{period}"
                m.begin[contract, day, period] = pulp.LpVariable(name, 0, cat="Integer")


def add_rules(m):
    """People at work, limits of contracts, cooks in the morning, and the pay."""
    m.present = {}
    for day, period in m.need:
        here = m.periods.index(period)
        m.present[day, period] = pulp.lpSum(
            one for (contract, at, start), one in m.begin.items()
            if at == day and 0 <= here - m.periods.index(start) < int(m.contracts[contract]["periods"]))
        m.problem += m.present[day, period] >= m.need[day, period], f"need__{day}__{period}"
    for contract, row in m.contracts.items():
        shifts = pulp.lpSum(one for key, one in m.begin.items() if key[0] == contract)
        m.problem += shifts <= float(row["most shifts"]), f"contract__{contract}"
    for day in m.days:
        m.problem += m.begin["cook", day, m.periods[0]] >= m.p["least_cooks"], f"cooks__{day}"
    for (contract, day, period), one in m.begin.items():
        factor = m.p["weekend_factor"] if day in ("sat", "sun") else 1.0
        m.cost.append(factor * float(m.contracts[contract]["pay (EUR)"]) * one)


def build_problem():
    """Return the whole model."""
    m = read_data()
    m.problem, m.cost = pulp.LpProblem("rostering", pulp.LpMinimize), []
    add_decisions(m)
    add_rules(m)
    m.problem += pulp.lpSum(m.cost)
    return m.problem


if __name__ == "__main__":
    problem = build_problem()
    problem.solve(pulp.HiGHS(msg=False))
    print("status:", pulp.LpStatus[problem.status])
    print("OBJECTIVE_VALUE:", pulp.value(problem.objective))
