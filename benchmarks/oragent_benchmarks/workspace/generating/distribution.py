"""Weekly distribution from rented depots to customers."""

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

NAMES, PARAMETERS = read_lists("distribution")
SHOPS = [f"{town} {kind}" for kind in ("Market", "Station", "Mall") for town in NAMES]


def draw(rng: np.random.Generator, size: tuple[int, ...]) -> CleanData:
    """Draw depots, customers and distances in a square of 100 by 100."""
    depots, customers = NAMES[: size[0]], choose(rng, SHOPS[10 : 10 + 2 * size[1]], size[1])
    demand = draw_figures(rng, [customers], 8, 60)
    mean = sum(demand.values()) / len(depots)
    at = {name: rng.uniform(0, 100, 2) for name in (*depots, *customers)}
    rate: dict[Key, float] = {
        (depot, customer): round(3 + 0.25 * float(np.hypot(*(at[depot] - at[customer]))) + rng.uniform(0, 2), 1)
        for depot, customer in product(depots, customers)
    }
    values: Figures = {
        "capacity": draw_figures(rng, [depots], 1.3 * mean, 2.6 * mean),
        "rent": draw_figures(rng, [depots], 8 * mean, 16 * mean, 10),
        "demand": demand,
        "rate": rate,
        "least_load": {(): float(round(mean / 2))},
    }
    return CleanData({"depot": depots, "customer": customers}, values)


def add_rules(problem: Any, sets: Sets, data: Figures) -> Any:
    """Add the rules of a week."""
    import pulp

    depots, customers = sets["depot"], sets["customer"]
    rented = pulp.LpVariable.dicts("rented", list(product(depots)), cat="Binary")
    ship = pulp.LpVariable.dicts("ship", list(product(depots, customers)), 0)
    for customer in customers:
        arrives = pulp.lpSum(ship[depot, customer] for depot in depots)
        problem += arrives == data["demand"][customer,], f"meet_{customer}"
    for depot, customer in ship:
        problem += ship[depot, customer] <= data["demand"][customer,] * rented[depot,], f"lane_{depot}_{customer}"
    for depot in depots:
        leaves = pulp.lpSum(ship[depot, customer] for customer in customers)
        problem += leaves <= data["capacity"][depot,] * rented[depot,], f"room_{depot}"
        problem += leaves >= data["least_load"][()] * rented[depot,], f"least_{depot}"
    cost = [data["rent"][key] * rented[key] for key in rented] + [data["rate"][key] * ship[key] for key in ship]
    return {"rented": rented, "ship": ship}, cost


def draw_words(rng: np.random.Generator, data: CleanData) -> dict[str, object]:
    """Draw names and figures of changes and questions."""
    depots, demand = data.sets["depot"], data.values["demand"]
    first, second, third = choose(rng, depots, 3)
    one, two, three, four = choose(rng, data.sets["customer"], 4)
    return {
        "first": first, "second": second, "third": third, "one": one, "two": two, "three": three, "four": four,
        "count": int(rng.integers(2, len(depots))),
        "toll": float(rng.integers(4, 12)),
        "cap": round(sum(demand.values()) * 0.6 / len(depots)),
        "more": round(demand[one,] * 2.5),
        "less": round(data.values["capacity"][first,] * 0.4),
    }  # fmt: skip
