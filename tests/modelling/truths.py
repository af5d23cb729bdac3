"""Optima of the tests' models by SciPy, formulated again from the data without any code of oragent."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.optimize

from tests.modelling.indexed_models import (
    CITIES,
    CLIENTS,
    DEPOTS,
    HOURS,
    ITEMS,
    NODES,
    PLANTS,
    PRODUCTS,
    SITES,
    WEEKS,
)

Terms = Mapping[Any, float]


class Truth:
    """A model as lists, solved by ``scipy.optimize.milp``."""

    def __init__(self, sign: float = 1.0) -> None:
        self.sign = sign
        self.low: dict[Any, float] = {}
        self.high: dict[Any, float] = {}
        self.whole: dict[Any, int] = {}
        self.cost: dict[Any, float] = {}
        self.rows: list[tuple[Terms, float, float]] = []

    def add(self, name: Any, low: float = 0.0, high: float = np.inf, whole: int = 0, cost: float = 0.0) -> None:
        self.low[name], self.high[name], self.whole[name], self.cost[name] = low, high, whole, cost

    def row(self, terms: Terms, low: float, high: float) -> None:
        self.rows.append((terms, low, high))

    def solve(self) -> float | None:
        """The optimum; None where there is no point."""
        names = list(self.low)
        place = {name: number for number, name in enumerate(names)}
        matrix = np.zeros((len(self.rows), len(names)))
        for number, (terms, _, _) in enumerate(self.rows):
            for name, value in terms.items():
                matrix[number, place[name]] += value
        if any(self.low[name] > self.high[name] for name in names):
            return None
        result = scipy.optimize.milp(
            self.sign * np.array([self.cost[name] for name in names]),
            integrality=np.array([self.whole[name] for name in names]),
            bounds=scipy.optimize.Bounds([self.low[name] for name in names], [self.high[name] for name in names]),
            constraints=scipy.optimize.LinearConstraint(
                matrix, [row[1] for row in self.rows], [row[2] for row in self.rows]
            ),
            options={"mip_rel_gap": 0.0},
        )
        return None if result.x is None else self.sign * float(result.fun)


def transport(data: Mapping[str, Mapping], objective: str = "distance") -> Truth:
    truth = Truth()
    for d in DEPOTS:
        for c in CITIES:
            for w in WEEKS:
                truth.add(("ship", d, c, w), cost=data[objective][d, c])
        for w in WEEKS:
            truth.add(("stock", d, w), high=40, cost=data["holding"][()] if objective == "distance" else 0.0)
    for c in CITIES:
        for w in WEEKS:
            truth.row({("ship", d, c, w): 1 for d in DEPOTS}, data["demand"][c, w], np.inf)
    for d in DEPOTS:
        for at, w in enumerate(WEEKS):
            row = {("ship", d, c, w): 1.0 for c in CITIES}
            row["stock", d, w] = 1.0
            if at:
                row["stock", d, WEEKS[at - 1]] = -1.0
            truth.row(row, -np.inf, data["supply"][d, w])
    return truth


def lots(data: Mapping[str, Mapping]) -> Truth:
    truth = Truth()
    for p in PRODUCTS:
        for w in WEEKS:
            truth.add(("make", p, w), cost=data["unit_cost"][p,])
            truth.add(("store", p, w), cost=data["hold_cost"][p,])
            truth.add(("setup", p, w), high=1, whole=1, cost=data["setup_cost"][p,])
            truth.row({("make", p, w): 1, ("setup", p, w): -100}, -np.inf, 0)
        for at, w in enumerate(WEEKS):
            row = {("make", p, w): 1.0, ("store", p, w): -1.0}
            if at:
                row["store", p, WEEKS[at - 1]] = 1.0
            truth.row(row, data["demand"][p, w], data["demand"][p, w])
    for w in WEEKS:
        row = {("make", p, w): 1.0 for p in PRODUCTS} | {("setup", p, w): 10.0 for p in PRODUCTS}
        truth.row(row, -np.inf, data["hours"][w,])
    return truth


def sites(data: Mapping[str, Mapping]) -> Truth:
    truth = Truth()
    for s in SITES:
        truth.add(("open", s), high=1, whole=1, cost=data["rent"][s,])
        for c in CLIENTS:
            truth.add(("serve", s, c), high=1, cost=data["cost_per_client"][s, c])
        row = {("serve", s, c): data["demand"][c,] for c in CLIENTS} | {("open", s): -data["room"][s,]}
        truth.row(row, -np.inf, 0)
    for c in CLIENTS:
        truth.row({("serve", s, c): 1 for s in SITES}, 1, 1)
    return truth


def bakery(data: Mapping[str, Mapping]) -> Truth:
    truth = Truth(-1.0)
    for i in ITEMS:
        truth.add(("make", i), high=data["sales"][i,], whole=1, cost=data["margin"][i,])
    truth.row({("make", i): data["oven_time"][i,] for i in ITEMS}, -np.inf, data["oven_hours"][()])
    return truth


def power(data: Mapping[str, Mapping]) -> Truth:
    truth = Truth()
    for h in HOURS:
        for p in PLANTS:
            truth.add(("run", p, h), high=data["size"][p,], cost=data["fuel"][p,])
        truth.add(("wind", h), high=data["wind_forecast"][h,])
        truth.row({("run", p, h): 1 for p in PLANTS} | {("wind", h): 1}, data["load"][h,], data["load"][h,])
    return truth


def network(data: Mapping[str, Mapping]) -> Truth:
    truth = Truth()
    for arc, cost in data["arc_cost"].items():
        truth.add(("flow", *arc), high=data["arc_room"][arc], cost=cost)
    for node in NODES:
        net = {"s": 10.0, "t": -10.0}.get(node, 0.0)
        row = {("flow", *arc): 1.0 for arc in data["arc_cost"] if arc[0] == node}
        truth.row(row | {("flow", *arc): -1.0 for arc in data["arc_cost"] if arc[1] == node}, net, net)
    return truth


def scaled(
    data: Mapping[str, Mapping], name: str, factor: float, where: Callable[..., bool] = lambda *key: True
) -> dict:
    """The data with some cells multiplied."""
    return {**data, name: {key: value * (factor if where(*key) else 1.0) for key, value in data[name].items()}}


def shifted(data: Mapping[str, Mapping], name: str, step: float, *keys: tuple) -> dict:
    """The data with some cells a step further."""
    return {**data, name: {key: value + (step if key in keys else 0.0) for key, value in data[name].items()}}
