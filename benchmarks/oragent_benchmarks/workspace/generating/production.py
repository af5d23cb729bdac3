"""Production of items on one line with set-ups, by weeks."""

from itertools import product
from typing import Any

import numpy as np

from oragent_benchmarks.workspace.generating.domain import (
    CleanData,
    Figures,
    Sets,
    choose,
    draw_figures,
    read_lists,
)

NAMES, PARAMETERS = read_lists("production")


def draw(rng: np.random.Generator, size: tuple[int, ...]) -> CleanData:
    """Draw items, orders and a line that is used to about two thirds."""
    items, weeks = tuple(NAMES[: size[0]]), tuple(f"wk{number}" for number in range(1, size[1] + 1))
    demand = draw_figures(rng, [items, weeks], 0, 60, 5)
    hours = draw_figures(rng, [items], 0.2, 0.8, 0.05)
    setup_hours = draw_figures(rng, [items], 2, 6, 0.5)
    load = sum(hours[item,] * pieces for (item, _), pieces in demand.items()) / len(weeks) + sum(setup_hours.values())
    stock = draw_figures(rng, [items], 40, 80, 5)
    values: Figures = {
        "demand": demand,
        "hours": hours,
        "setup_hours": setup_hours,
        "setup_cost": draw_figures(rng, [items], 80, 260, 10),
        "holding": draw_figures(rng, [items], 0.5, 3, 0.1),
        "first_stock": stock,
        "line": draw_figures(rng, [weeks], 1.1 * load, 1.5 * load),
        "shelf": {(): 70.0 * len(items)},
    }
    return CleanData({"item": items, "week": weeks}, values)


def add_rules(problem: Any, sets: Sets, data: Figures) -> Any:
    """Add the rules of all weeks. A lot is at most all that is still ordered, and some stock."""
    import pulp

    items, weeks, keys = sets["item"], sets["week"], list(product(sets["item"], sets["week"]))
    make = pulp.LpVariable.dicts("make", keys, 0)
    stock = pulp.LpVariable.dicts("stock", keys, 0)
    setup = pulp.LpVariable.dicts("setup", keys, cat="Binary")
    for item in items:
        before = data["first_stock"][item,]
        for place, week in enumerate(weeks):
            largest = sum(data["demand"][item, later] for later in weeks[place:]) + 100
            remains = before + make[item, week] - stock[item, week]
            problem += remains == data["demand"][item, week], f"flow_{item}_{week}"
            problem += make[item, week] <= largest * setup[item, week], f"lot_{item}_{week}"
            before = stock[item, week]
    for week in weeks:
        runs = pulp.lpSum(data["hours"][item,] * make[item, week] for item in items)
        setups = pulp.lpSum(data["setup_hours"][item,] * setup[item, week] for item in items)
        problem += runs + setups <= data["line"][week,], f"time_{week}"
        problem += pulp.lpSum(stock[item, week] for item in items) <= data["shelf"][()], f"store_{week}"
    cost = [data["setup_cost"][item,] * setup[item, week] for item, week in keys]
    cost += [data["holding"][item,] * stock[item, week] for item, week in keys]
    return {"make": make, "stock": stock, "setup": setup}, cost


def draw_words(rng: np.random.Generator, data: CleanData) -> dict[str, object]:
    """Draw names and figures of changes and questions."""
    first, second, third = choose(rng, data.sets["item"], 3)
    week, late = choose(rng, data.sets["week"][1:], 2)
    return {
        "first": first, "second": second, "third": third, "week": week, "late": late,
        "lots": len(data.sets["item"]) // 2,
        "least": int(rng.integers(4, 9) * 10),
        "close": int(rng.integers(3, 7) * 10),
        "order": data.values["demand"][first, week] + 90,
        "energy": int(rng.integers(3, 7)),
        "dear": round(data.values["holding"][second,] * 3, 1),
        "space": round(data.values["shelf"][()] * 0.35),
        "time": round(data.values["line"][week,] * 0.3),
    }  # fmt: skip
