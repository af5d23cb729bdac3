"""Hourly dispatch of a district heating network with a tank."""

from itertools import product
from typing import Any

import numpy as np

from oragent_benchmarks.workspace.generating.domain import (
    CleanData,
    Figures,
    Key,
    Sets,
    choose,
    draw_figures,
    read_lists,
)

NAMES, PARAMETERS = read_lists("energy")


def draw(rng: np.random.Generator, size: tuple[int, ...]) -> CleanData:
    """Draw plants and a load with two peaks a day."""
    plants, hours = NAMES[: size[0]], tuple(f"h{number}" for number in range(1, size[1] + 1))
    shape = [10 + 5 * np.sin(place / 24 * 4 * np.pi) + rng.uniform(-1.5, 1.5) for place in range(len(hours))]
    load: dict[Key, float] = {(hour,): round(float(figure), 1) for hour, figure in zip(hours, shape, strict=True)}
    peak = max(load.values())
    top = draw_figures(rng, [plants], 0.9 * peak * 2 / len(plants), 1.4 * peak * 2 / len(plants), 0.5)
    values: Figures = {
        "load": load,
        "top": top,
        "bottom": {key: round(0.4 * figure, 1) for key, figure in top.items()},
        "fuel": draw_figures(rng, [plants], 18, 60, 0.5),
        "firing": draw_figures(rng, [plants], 40, 200, 10),
        "tank": {(): float(round(peak))},
        "pump": {(): float(round(peak / 4))},
        "first": {(): float(round(peak / 3))},
    }
    return CleanData({"plant": plants, "hour": hours}, values)


def add_rules(problem: Any, sets: Sets, data: Figures) -> Any:
    """Add the rules of all hours."""
    import pulp

    plants, hours, keys = sets["plant"], sets["hour"], list(product(sets["plant"], sets["hour"]))
    heat = pulp.LpVariable.dicts("heat", keys, 0)
    on = pulp.LpVariable.dicts("on", keys, cat="Binary")
    start = pulp.LpVariable.dicts("start", keys, cat="Binary")
    fill = pulp.LpVariable.dicts("fill", list(product(hours)), 0, data["pump"][()])
    draw = pulp.LpVariable.dicts("draw", list(product(hours)), 0, data["pump"][()])
    level = pulp.LpVariable.dicts("level", list(product(hours)), 0, data["tank"][()])
    before = data["first"][()]
    for hour in hours:
        made = pulp.lpSum(heat[plant, hour] for plant in plants)
        problem += made + draw[hour,] - fill[hour,] == data["load"][hour,], f"supply_{hour}"
        problem += level[hour,] - fill[hour,] + draw[hour,] == before, f"content_{hour}"
        before = level[hour,]
    problem += before >= data["first"][()], "refill"
    for plant in plants:
        was_on = 0
        for hour in hours:
            problem += heat[plant, hour] <= data["top"][plant,] * on[plant, hour], f"most_{plant}_{hour}"
            problem += heat[plant, hour] >= data["bottom"][plant,] * on[plant, hour], f"least_{plant}_{hour}"
            problem += on[plant, hour] - was_on <= start[plant, hour], f"switch_{plant}_{hour}"
            was_on = on[plant, hour]
    cost = [data["fuel"][plant,] * heat[plant, hour] for plant, hour in keys]
    cost += [data["firing"][plant,] * start[plant, hour] for plant, hour in keys]
    return {"heat": heat, "on": on, "start": start, "fill": fill, "draw": draw, "level": level}, cost


def draw_words(rng: np.random.Generator, data: CleanData) -> dict[str, object]:
    """Draw names and figures of changes and questions."""
    hours, values = data.sets["hour"], data.values
    first, second = choose(rng, data.sets["plant"], 2)
    begin = int(rng.integers(1, len(hours) - 4))
    h1, h2, h3, h4 = hours[begin : begin + 4]
    return {
        "first": first, "second": second, "h1": h1, "h2": h2, "h3": h3, "h4": h4,
        "permit": round(sum(values["load"].values()) * 0.25),
        "level": round(values["tank"][()] * 0.4),
        "tax": int(rng.integers(5, 15)),
        "dear": round(values["fuel"][second,] * 1.5, 1),
        "less": round(max(values["bottom"][first,], values["top"][first,] * 0.6), 1),
        "cold1": round(values["load"][h1,] + 4, 1),
        "cold2": round(values["load"][h2,] + 3, 1),
    }  # fmt: skip
