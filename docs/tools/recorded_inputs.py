"""Inputs of ``recorded_products.py``: models, texts, sentences and the fixed replies of a model server."""

import json
from typing import Any

PHARMACY = """A pharmacy has 3000 mg of morphine to make painkillers and sleeping pills. Each painkiller pill requires 10 mg
of morphine and 3 units of digestive medicine while each sleeping pill requires 6 mg of morphine and 5 units of digestive
medicine. The pharmacy needs to make at least 50 painkiller pills. Since sleeping pills are more popular, at least 70% of
the pills should be sleeping pills. How many of each should the pharmacy make to minimize the total amount of digestive
medicine needed?
"""
PROGRAM = """
import pulp

def solve(data):
    problem = pulp.LpProblem("pharmacy", pulp.LpMinimize)
    p = pulp.LpVariable("painkillers", lowBound=0, cat="Integer")
    s = pulp.LpVariable("sleeping_pills", lowBound=0, cat="Integer")
    problem += 3 * p + 5 * s
    problem += 10 * p + 6 * s <= 3000, "morphine"
    problem += p >= 50, "painkillers_least"
    problem += {row}, "share"
    problem.solve()
    return {{"status": pulp.LpStatus[problem.status], "objective_value": pulp.value(problem.objective),
            "optimized_vars": {{"painkillers": p, "sleeping_pills": s}}}}
"""
WRONG = PROGRAM.format(row="3 * p + 5 * s >= 0.7 * (p + s)")
RIGHT = PROGRAM.format(row="s >= 0.7 * (p + s)")
CHECKER = """
def checks(values, data):
    p, s = values["painkillers"], values["sleeping_pills"]
    yield ("morphine", 10 * p + 6 * s, "<=", 3000, "3000 mg of morphine")
    yield ("painkillers", p, ">=", 50, "at least 50 painkiller pills")
    yield ("share", s, ">=", 0.7 * (p + s), "at least 70% of the pills should be sleeping pills")
    yield ("no less than none", s, ">=", 0, "")
    yield ("whole painkillers", p, "integer", None, "pills")
    yield ("whole sleeping pills", s, "integer", None, "pills")
    yield ("medicine", 3 * p + 5 * s, "minimize", None, "minimize the total amount of digestive medicine")
"""
ENCODED = '{"Morphine": {"Type": "integer", "Definition": "mg at hand", "Unit": "mg", "Kind": "scalar", "Value": 3000}}'
MODEL = (
    '{"VARIABLES": ["painkillers: pills, integer"], "CONSTRAINTS": ["share: s >= 0.7 (p + s) -- at least 70% of the '
    'pills should be sleeping pills"], "OBJECTIVE": "minimize: 3 p + 5 s"}'
)
POOL = """\\ a workshop
Maximize
 profit: 60 chairs + 45 tables + 20 stools
Subject To
 carpentry: 4 chairs + 3 tables + 2 stools <= 40
 paint: 2 chairs + 2 tables + stools <= 22
 wood: 3 chairs + 5 tables + 2 stools <= 50
Bounds
 chairs <= 8
 tables <= 6
General
 chairs tables stools
End
"""
WORKSHOP = "chairs >= 5\nwhy\npaint <= 15\nundo\nfix tables 3\nreset all\nleast profit\nquit\n"
SENTENCES = """optimise student_load_balancing
fix Ortega (Jose) PK 7:50 AM
student_load_balancing <= 1000
schedule_deviation <= 10
why
undo
trade
quit
"""

BAKERY_PROGRAM = """import csv, pathlib
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
EDIT = """<<<<<<< SEARCH
    return problem, rye, wheat
=======
    problem += rye <= p["most_rye"], "rye_sold"
    return problem, rye, wheat
>>>>>>> REPLACE
"""
PLAN = {
    "summary": "rye is limited by what can be sold", "objective": "nothing",
    "rows": [{"name": "rye_sold", "change": "add", "why": "limit"}],
    "data": [{"name": "most_rye", "value": "40", "unit": "loaves", "meaning": "that can be sold", "neutral": "1000"}],
}  # fmt: skip
BAKERY = {
    "bakery/docs/a.md": "# Bakery\n\nLoaves of rye earn `price_rye`, loaves of wheat 3 EUR. A loaf takes a kilogram of "
    "`flour`.\n",
    "bakery/data/general_parameters.csv": "Parameter_Name,Value,Unit,Context_Description\nflour,100,kg,what there is\n"
    "price_rye,4,EUR,of a loaf\n",
    "request.md": "No more than 40 loaves of rye can be sold.\n",
}


def reply(messages: list[dict[str, Any]], tools: list[str]) -> dict[str, Any]:
    """Return the message with which the server replies to a request; it depends on the request alone."""
    text = "\n".join(str(message.get("content") or "") for message in messages)
    replies = sum(message["role"] == "assistant" for message in messages)
    if "call_solver" in tools:
        result = messages[-1]
        return call("call_solver") if result["role"] == "user" else {"role": "assistant", "content": result["content"]}
    if "submit" in tools:
        first = [call("read_file", path="docs/a.md"), call("write_file", path="src/bakery.py", text=BAKERY_PROGRAM)]
        if "No more than 40 loaves" in text:
            first = [call("read_file", path="src/bakery.py"), call("edit", path="src/bakery.py", edits=EDIT)]
        steps = [*first, call("run", path="src/bakery.py"), call("submit", path="src/bakery.py")]
        step: dict[str, Any] = steps[min(replies, 3)]
        return step
    if "No more than 40 loaves" in text:
        return {"role": "assistant", "content": json.dumps(PLAN)}
    if "<feedback>" in text:
        content = f"```python\n{RIGHT}\n```"
    elif "checks(values, data)" in text:
        content = f"```python\n{CHECKER}\n```"
    elif "JSON object" in text:
        content = ENCODED if '"Type"' in text else MODEL
    else:
        content = f"```python\n{WRONG}\n```"
    return {"role": "assistant", "content": content}


def call(name: str, **arguments: str) -> dict[str, Any]:
    """Return a message that calls one tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]}
