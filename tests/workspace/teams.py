"""Three folders of teams, as existing git repositories: Pyomo with CSV, OR-Tools with SQLite, gurobipy with Excel."""

import itertools
import sqlite3
import subprocess
from pathlib import Path

import numpy as np
from scipy.optimize import linprog

COST = np.array([[6, 10, 13], [4, 5, 9]], dtype=float)
PYOMO = """
import csv
from pathlib import Path
import pyomo.environ as pyo

HERE = Path(__file__).parent / "inputs"


def rows(name):
    with open(HERE / name, newline="") as file:
        return list(csv.DictReader(file))


def main():
    demand = {row["city"]: float(row["tons [t]"]) for row in rows("demand.csv")}
    capacity = {row["plant"]: float(row["capacity"]) for row in rows("plants.csv")}
    cost = {(row["plant"], row["city"]): float(row["eur"]) for row in rows("cost.csv")}
    m = pyo.ConcreteModel()
    m.P, m.C = pyo.Set(initialize=list(capacity)), pyo.Set(initialize=list(demand))
    m.ship = pyo.Var(m.P, m.C, domain=pyo.NonNegativeReals)
    m.total = pyo.Objective(expr=sum(cost[p, c] * m.ship[p, c] for p in m.P for c in m.C))
    m.meet = pyo.Constraint(m.C, rule=lambda m, c: sum(m.ship[p, c] for p in m.P) >= demand[c])
    m.room = pyo.Constraint(m.P, rule=lambda m, p: sum(m.ship[p, c] for c in m.C) <= capacity[p])
    # rules
    pyo.SolverFactory("appsi_highs").solve(m)


if __name__ == "__main__":
    main()
"""
SHARE = """share = float(rows("rules.csv")[0]["value"])
    m.share = pyo.Constraint(expr=sum(m.ship["Brest", c] for c in m.C) >= share * sum(demand.values()))
"""
CSV = {
    "inputs/demand.csv": "city,tons [t]\nParis,40\nLyon,30\nNice,20\n",
    "inputs/plants.csv": "plant,capacity\nBrest,70\nMetz,60\n",
    "inputs/cost.csv": "plant,city,eur\nBrest,Paris,6\nBrest,Lyon,10\nBrest,Nice,13\n"
    "Metz,Paris,4\nMetz,Lyon,5\nMetz,Nice,9\n",
    "README.md": "# Shipments\n\nEach city gets what it needs.\n",
    "plan.py": PYOMO,
}
ORTOOLS = """
import sqlite3
from pathlib import Path
from ortools.sat.python import cp_model

base = sqlite3.connect(f"file:{Path(__file__).parent / 'shop.db'}?mode=ro", uri=True)
items = {name: (int(value), weight) for _, name, value, weight in base.execute("SELECT * FROM items ORDER BY id")}
room = int(base.execute("SELECT value FROM limits WHERE name = 'room'").fetchone()[0])
model = cp_model.CpModel()
take = {name: model.new_bool_var(f"take[{name}]") for name in items}
model.add(sum(weight * take[name] for name, (_, weight) in items.items()) <= room)
model.maximize(sum(value * take[name] for name, (value, _) in items.items()))
solver = cp_model.CpSolver()
solver.solve(model)
print(solver.objective_value)
"""
ITEMS = [("tent", 60, 10), ("stove", 100, 20), ("rope", 120, 30), ("lamp", 40, 7)]
GUROBI = """
from pathlib import Path
import gurobipy as gp
from openpyxl import load_workbook

book = load_workbook(Path(__file__).parent / "mix.xlsx", data_only=True)
products = {row[0]: row[1:] for row in book["Products"].iter_rows(min_row=2, values_only=True)}
hours = book["Limits"]["B2"].value
model = gp.Model("mix")
make = model.addVars(products, name="make", vtype=gp.GRB.INTEGER)
model.addConstr(gp.quicksum(products[p][1] * make[p] for p in products) <= hours, name="hours")
model.addConstrs((make[p] <= products[p][2] for p in products), name="market")
model.setObjective(gp.quicksum(products[p][0] * make[p] for p in products), gp.GRB.MAXIMIZE)
model.optimize()
"""
PRODUCTS = [("chair", 30, 3, 8), ("table", 70, 8, 5), ("shelf", 45, 5, 9)]


def git(folder: Path, *words: str) -> str:
    """Run git as the team does."""
    names = ("-c", "user.name=Team", "-c", "user.email=team@example.org")
    return subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)


def begin(folder: Path) -> Path:
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder, "Begin")
    return folder


def make_shipments(folder: Path) -> Path:
    for path, text in CSV.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return begin(folder)


def make_shop(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    base = sqlite3.connect(folder / "shop.db")
    base.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, value REAL, weight INTEGER)")
    base.executemany("INSERT INTO items (name, value, weight) VALUES (?, ?, ?)", ITEMS)
    base.execute("CREATE TABLE limits (name TEXT, value REAL)")
    base.execute("INSERT INTO limits VALUES ('room', 50), ('people', 2)")
    base.commit()
    base.close()
    (folder / "pack.py").write_text(ORTOOLS)
    return begin(folder)


def make_mix(folder: Path) -> Path:
    from openpyxl import Workbook

    folder.mkdir(parents=True, exist_ok=True)
    book = Workbook()
    sheet = book.active
    sheet.title = "Products"
    sheet.append(["product", "profit", "hours", "market"])
    for row in PRODUCTS:
        sheet.append(row)
    limits = book.create_sheet("Limits")
    limits.append(["name", "value"])
    limits.append(["hours", 60])
    book.save(folder / "mix.xlsx")
    (folder / "model.py").write_text(GUROBI)
    return begin(folder)


def state_of(folder: Path) -> tuple[str, str, str, bytes]:
    """Branch, its commit, status and index of a repository."""
    branch = git(folder, "symbolic-ref", "HEAD")
    return (
        branch,
        git(folder, "rev-parse", "HEAD"),
        git(folder, "status", "--porcelain"),
        (folder / ".git" / "index").read_bytes(),
    )


def shipments_optimum(demand: list[float], capacity: list[float], share: float = 0.0) -> float:
    """Least cost of shipments by SciPy."""
    meet = -np.kron(np.ones((1, 2)), np.eye(3))
    room = np.kron(np.eye(2), np.ones((1, 3)))
    brest = -np.array([[1.0, 1, 1, 0, 0, 0]])
    rows = np.vstack([meet, room, brest])
    limits = [*(-value for value in demand), *capacity, -share * sum(demand)]
    return float(linprog(COST.ravel(), A_ub=rows, b_ub=limits).fun)


def shop_optimum(items: list[tuple[str, float, int]], room: float) -> float:
    """Largest value of items by trying all choices."""
    choices = itertools.product((0, 1), repeat=len(items))
    return max(
        sum(x * value for x, (_, value, _) in zip(choice, items, strict=True))
        for choice in choices
        if sum(x * weight for x, (_, _, weight) in zip(choice, items, strict=True)) <= room
    )


def mix_optimum(products: list[tuple[str, float, float, int]], hours: float) -> float:
    """Largest profit by trying all amounts."""
    ranges = (range(market + 1) for *_, market in products)
    return max(
        sum(x * profit for x, (_, profit, _, _) in zip(amounts, products, strict=True))
        for amounts in itertools.product(*ranges)
        if sum(x * used for x, (_, _, used, _) in zip(amounts, products, strict=True)) <= hours
    )
