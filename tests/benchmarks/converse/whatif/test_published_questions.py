"""The published what-if questions (OptiGuide, MIT licence) by lines of operations; their executed answers are the truth.

The questions change data or add constraints in Python; ``lines_of`` translates the few forms that occur.
"""

import asyncio
import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from oragent.llm.model_settings import RuntimeWords
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.files.model_files import write
from oragent_benchmarks.converse.whatif.question_sets import QUESTIONS as FILE
from oragent_benchmarks.converse.whatif.run_questions import run_questions
from tests.benchmarks.converse.conftest import SHARED

SETS = SHARED / "whatif"
NUMBER = r"([\d.]+)"
LABELS = r"\[([^\]]+)\]"


def coffee() -> IndexedModel:
    """Coffee from suppliers by roasteries to cafes (OptiGuide's example; data as published)."""
    suppliers, roasteries, cafes = (
        ("supplier1", "supplier2", "supplier3"),
        ("roastery1", "roastery2"),
        ("cafe1", "cafe2", "cafe3"),
    )
    builder = IndexedModelBuilder("coffee")
    for name, labels in (("supplier", suppliers), ("roastery", roasteries), ("cafe", cafes)):
        builder.add_set(name, labels)
    builder.add_parameter("capacity_in_supplier", ["supplier"], [150, 50, 100])
    builder.add_parameter("shipping_cost_from_supplier_to_roastery", ["supplier", "roastery"], [5, 4, 6, 3, 2, 7])
    builder.add_parameter("roasting_cost_light", ["roastery"], [3, 5])
    builder.add_parameter("roasting_cost_dark", ["roastery"], [5, 6])
    builder.add_parameter("shipping_cost_from_roastery_to_cafe", ["roastery", "cafe"], [5, 3, 6, 4, 5, 2])
    builder.add_parameter("light_coffee_needed_for_cafe", ["cafe"], [20, 30, 40])
    builder.add_parameter("dark_coffee_needed_for_cafe", ["cafe"], [20, 20, 100])
    x = builder.add_variables("x", ["supplier", "roastery"], kind="integer")
    light = builder.add_variables("y_light", ["roastery", "cafe"], kind="integer")
    dark = builder.add_variables("y_dark", ["roastery", "cafe"], kind="integer")
    builder.set_objective("cost", "minimize", x, builder.cells("shipping_cost_from_supplier_to_roastery"))
    pairs = builder.keys("y_light")
    for columns, roasting in ((light, "roasting_cost_light"), (dark, "roasting_cost_dark")):
        builder.set_objective("cost", "minimize", columns, builder.cells(roasting, [(pair[0],) for pair in pairs]))
        builder.set_objective("cost", "minimize", columns, builder.cells("shipping_cost_from_roastery_to_cafe"))
    grid_x, grids = x.reshape(3, 2), [light.reshape(2, 3), dark.reshape(2, 3)]
    flows = [(row, column, 1.0) for row in range(2) for column in grid_x[:, row]]
    flows += [(row, column, -1.0) for row in range(2) for grid in grids for column in grid[row]]
    rows, columns, values = zip(*flows, strict=True)
    builder.add_rows("flow", ["roastery"], "=", rows=rows, columns=columns, values=values, rhs=0.0)
    supply_rows = [place for place in range(3) for _ in range(2)]
    builder.add_rows(
        "supply", ["supplier"], "<=", rows=supply_rows, columns=x, rhs=builder.cells("capacity_in_supplier")
    )
    for name, grid in zip(("light", "dark"), grids, strict=True):
        needed = builder.cells(f"{name}_coffee_needed_for_cafe")
        cafe_rows = [cafe for cafe in range(3) for _ in range(2)]
        builder.add_rows(f"{name}_demand", ["cafe"], ">=", rows=cafe_rows, columns=grid.T.ravel(), rhs=needed)
    return builder.build()


def netflow() -> IndexedModel:
    """Two goods over a network (Gurobi's example netflow; data as published)."""
    goods, nodes = ("Pencils", "Pens"), ("Detroit", "Denver", "Boston", "New York", "Seattle")
    rooms = {("Detroit", "Boston"): 100, ("Detroit", "New York"): 80, ("Detroit", "Seattle"): 120}
    rooms |= {("Denver", city): 120 for city in ("Boston", "New York", "Seattle")}
    costs = dict(
        zip(
            [(good, *arc) for good in goods for arc in rooms],
            (10, 20, 60, 40, 40, 30, 20, 20, 80, 60, 70, 30),
            strict=True,
        )
    )
    inflow = dict(zip(itertools.product(goods, nodes), (50, 60, -50, -50, -10, 60, 40, -40, -30, -30), strict=True))
    builder = IndexedModelBuilder("netflow")
    builder.add_set("commodity", goods)
    builder.add_set("node", nodes)
    # costs of pairs without an arc count for nothing; some questions change them
    every = [costs.get(key, 0.0) for key in itertools.product(goods, nodes, nodes)]
    builder.add_parameter("cost", ["commodity", "node", "node"], every)
    flow = builder.add_variables("flow", ["commodity", "node", "node"], keys=list(costs))
    builder.set_objective("total", "minimize", flow, builder.cells("cost", list(costs)))
    arcs = list(rooms)
    rows = [arcs.index(key[1:]) for key in costs]
    builder.add_rows("room", ["node", "node"], "<=", rows=rows, columns=flow, rhs=list(rooms.values()), keys=arcs)
    places = list(inflow)
    out = [(places.index((good, start)), column, 1.0) for (good, start, _), column in zip(costs, flow, strict=True)]
    out += [(places.index((good, end)), column, -1.0) for (good, _, end), column in zip(costs, flow, strict=True)]
    rows, columns, values = zip(*out, strict=True)
    builder.add_rows(
        "net", ["commodity", "node"], "=", rows=rows, columns=columns, values=values, rhs=list(inflow.values())
    )
    return builder.build()


def diet() -> IndexedModel:
    """A diet of nine foods (Gurobi's example, with the added limit on dairy that makes it infeasible)."""
    foods = ("hamburger", "chicken", "hot dog", "fries", "macaroni", "pizza", "salad", "milk", "ice cream")
    contents = {
        "calories": (410, 420, 560, 380, 320, 320, 320, 100, 330),
        "protein": (24, 32, 20, 4, 12, 15, 31, 8, 8),
        "fat": (26, 10, 32, 19, 10, 12, 12, 2.5, 10),
        "sodium": (730, 1190, 1800, 270, 930, 820, 1230, 125, 180),
    }
    builder = IndexedModelBuilder("diet")
    builder.add_set("food", foods)
    buy = builder.add_variables("buy", ["food"])
    builder.set_objective("cost", "minimize", buy, [2.49, 2.89, 1.5, 1.89, 2.09, 1.99, 2.49, 0.89, 1.59])
    for name, relation, limit in (
        ("calories", ">=", 1800), ("calories", "<=", 2200), ("protein", ">=", 91), ("fat", "<=", 65), ("sodium", "<=", 1779),
    ):  # fmt: skip
        row = f"{name} {'least' if relation == '>=' else 'most'}"
        builder.add_rows(row, [], relation, columns=buy, values=contents[name], rhs=limit)
    builder.add_rows("limit_dairy", [], "<=", columns=buy[-2:], rhs=6)
    return builder.build()


def bracket(labels: str) -> str:
    return f"[{labels.strip()}]"


def lines_of(question: dict[str, object]) -> str | None:
    """The line of a published question; None for a form that is not known."""
    data, rows = str(question.get("DATA CODE", "")), str(question.get("CONSTRAINT CODE", ""))
    if ".X" in rows:
        # the plan that it refers to does not exist: the model is infeasible
        return "solve"
    changes = []
    if data.startswith("for a in commodities"):
        start, end = re.search(r"cost\[a, (\S.*?), (\S.*?)\] [*+]", data).groups()
        change = re.search(r"\] ([*+]=) ([\d.]+)$", data)
        places = ", ".join("*" if place == "b" else place for place in (start, end))
        return f"whatif cost[*, {places}] {change[1]} {change[2]}"
    for text in data.splitlines():
        if found := re.fullmatch(rf"(\w+){LABELS} = \1\[[^\]]+\] \* \(1 \+ {NUMBER}/100\)", text):
            changes.append(f"{found[1]}{bracket(found[2])} += {found[3]} %")
        elif found := re.fullmatch(rf"(\w+){LABELS} = \1\[[^\]]+\]/2", text):
            changes.append(f"{found[1]}{bracket(found[2])} *= 0.5")
        elif found := re.fullmatch(rf"(\w+){LABELS} = {NUMBER}", text):
            changes.append(f"{found[1]}{bracket(found[2])} = {found[3]}")
        else:
            return None
    if rows.startswith("for c in cafes"):
        cafe, roastery = re.search(r'c != "(\w+)"', rows)[1], re.search(r'y_light\["(\w+)"', rows)[1]
        changes += [f"forbid {name}[{roastery}, * except {cafe}]" for name in ("y_light", "y_dark")]
        if "for r in roasteries" in rows:
            changes += [f"forbid {name}[* except {roastery}, {cafe}]" for name in ("y_light", "y_dark")]
    elif found := re.search(rf"addConstr\((\w+){LABELS} == {NUMBER},", rows):
        changes.append(f"{found[1]}{bracket(found[2])} = {found[3]}")
    elif rows:
        return None
    return f"whatif {'; '.join(changes)}" if changes else None


MODELS: dict[str, Callable[[], IndexedModel]] = {"coffee": coffee, "diet": diet, "netflow": netflow}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_published_questions_have_their_published_answers(tmp_path: Path, name: str) -> None:
    source = SETS / f"{name}.benchmark.json"
    if not source.is_file():
        pytest.skip("the shared questions are not here")
    write(MODELS[name](), tmp_path / f"{name}.json")
    published = json.loads(source.read_text())["questions"]
    rows, unknown = [], []
    for question in published:
        line, answer = lines_of(question), question["GT EXEC RESULT"]
        if line is None:
            unknown.append(question)
            continue
        if isinstance(answer, int | float):
            expected = {"objective.after": answer}
        else:
            assert str(answer).startswith("infeasible")
            expected = {"status" if line == "solve" else "status_after": "infeasible"}
        rows.append({"model": f"{name}.json", "question": question["QUESTION"], "lines": [line], "expected": expected})
    assert unknown == []
    (tmp_path / FILE).write_text("\n".join(map(json.dumps, rows)))
    runtime = RuntimeWords((), {}, None).read_runtime(("agent",))
    scores = asyncio.run(run_questions(tmp_path, "gold", runtime, tmp_path / "out"))
    wrong = {(score.question.lines[0], score.breach) for score in scores if score.breach}
    assert (len(scores), wrong) == (len(published), set())
