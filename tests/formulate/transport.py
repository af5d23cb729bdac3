"""A transport problem with data in tables, names with spaces and umlauts, and hundreds of variables."""

import json
from collections.abc import Callable

import numpy as np

from oragent.llm.model import Request

TEXT = """We ship sugar from works to customers. A work costs a fixed sum if it runs at all and ships at most its
capacity. Every customer's demand must be met. Freight and fixed costs together should be least."""
PROGRAM = """
import pulp

def solve(data):
    works, customers = ({row[name]: row for row in data[name + "s"]} for name in ("work", "customer"))
    problem = pulp.LpProblem("sugar", pulp.LpMinimize)
    ship = pulp.LpVariable.dicts("ship", (works, customers), lowBound=0)
    run = pulp.LpVariable.dicts("run", works, cat="Binary")
    freight = [row["EUR per t"] * ship[row["work"]][row["customer"]] for row in data["freight"]]
    problem += pulp.lpSum(freight) + pulp.lpSum(row["fixed EUR"] * run[name] for name, row in works.items())
    for name, row in customers.items():
        problem += pulp.lpSum(ship[work][name] for work in works) >= row["demand t"], "demand " + name
    for name, row in works.items():
        problem += pulp.lpSum(ship[name].values()) <= row["capacity t"] * run[name], "capacity " + name
    problem.solve()
    return {"status": pulp.LpStatus[problem.status], "objective_value": pulp.value(problem.objective),
            "optimized_vars": {"ship": ship, "run": run}}
"""
FLAT = PROGRAM.replace('{"ship": ship, "run": run}', "{one.name: one for one in problem.variables()}")
CHECKER = """
def checks(values, data):
    ship, run = values["ship"], values["run"]
    for row in data["customers"]:
        arrives = sum(ship[work][row["customer"]] for work in ship)
        yield ("demand " + row["customer"], arrives, ">=", row["demand t"], "Every customer's demand must be met.")
    for row in data["works"]:
        name = row["work"]
        leaves = sum(ship[name].values())
        yield ("capacity " + name, leaves, "<=", row["capacity t"] * run[name], "ships at most its capacity")
        yield ("whole " + name, run[name], "integer", None, "runs at all")
        yield ("most " + name, run[name], "<=", 1, "runs at all")
    freight = sum(row["EUR per t"] * ship[row["work"]][row["customer"]] for row in data["freight"])
    fixed = sum(row["fixed EUR"] * run[row["work"]] for row in data["works"])
    yield ("cost", freight + fixed, "minimize", None, "Freight and fixed costs together should be least.")
"""
MODEL = {
    "VARIABLES": ["ship_{w,c}: sugar shipped, t, continuous, >= 0", "run_w: whether a work runs, -, binary"],
    "CONSTRAINTS": [], "OBJECTIVE": "minimize: cost", "UNIT": "EUR",
}  # fmt: skip


def data(works: int = 4, customers: int = 9, seed: int = 0) -> dict[str, list[dict[str, object]]]:
    """Tables as three CSV files give them."""
    rng = np.random.default_rng(seed)
    names = [f"{kind} {town}" for town in ("Köln", "Süd (alt)", "Lübeck", "Nord, Ost") for kind in ("Werk", "Hütte")]
    towns = [f"{kind} {town}" for kind in ("Lager", "Markt", "Handel", "Hof", "Amt")
             for town in ("Zürich", "Bad Öhr", "Graz", "Wörth-Süd", "Kiel", "Ulm", "Aue", "Jena", "Düren")]  # fmt: skip
    assert works <= len(names)
    assert customers <= len(towns)
    return {
        "works": [{"work": name, "capacity t": int(rng.integers(30, 70)) * customers // 9,
                   "fixed EUR": int(rng.integers(900, 2500))} for name in names[:works]],
        "customers": [{"customer": name, "demand t": int(rng.integers(9, 20))} for name in towns[:customers]],
        "freight": [{"work": work, "customer": customer, "EUR per t": float(rng.integers(80, 600)) / 10}
                    for work in names[:works] for customer in towns[:customers]],
    }  # fmt: skip


def replies(program: str = PROGRAM, checker: str = CHECKER) -> Callable[[Request, int], str]:
    """What a model says that writes these."""

    def reply(request: Request, number: int) -> str:
        said = {
            "semantic_encoder": "```json\n{}\n```",
            "formalization": f"```json\n{json.dumps(MODEL)}\n```",
            "counterfactual": f"```python\n{checker}\n```",
        }
        return said.get(request.role, f"```python\n{program}\n```")

    return reply
