"""Ten comparisons of a lot-sizing model on two machines under a gap of 10 %: each interval contains the truth.

The truths are optima by SciPy of a second formulation of the same data, solved without a gap.
"""

import copy
import itertools
import time
from collections.abc import Callable

import numpy as np
import pytest

from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.operations import ModelSession, SolveLimits
from tests.modelling.indexed_models import Data, Sketch, table
from tests.modelling.truths import Truth

PRODUCTS = ["ale", "bock", "stout", "wheat", "rye"]
MACHINES = ["old", "new"]
WEEKS = [f"wk{number}" for number in range(1, 8)]
GAP = 0.1
# Seconds of all truths together: an hour.
MAX_SECONDS = 3600.0


def brewery_data() -> Data:
    """Demand, hours and costs; a setup takes hours."""
    random = np.random.default_rng(29)
    return {
        "demand": table(random, 5, 40, PRODUCTS, WEEKS),
        "hours": {(machine, week): 125.0 for machine in MACHINES for week in WEEKS},
        "setup_cost": table(random, 60, 180, PRODUCTS, MACHINES),
        "unit_cost": table(random, 1, 6, PRODUCTS, MACHINES),
        "hold_cost": table(random, 1, 4, PRODUCTS),
        "setup_hours": table(random, 4, 12, PRODUCTS),
    }


def most(data: Data, product: str) -> float:
    """Upper bound of a batch that any change below leaves valid."""
    return 2.0 * sum(data["demand"][product, week] for week in WEEKS)


def brewery() -> IndexedModel:
    """The indexed model, with data cells for demand, hours and costs."""
    data, sketch = brewery_data(), Sketch("brewery")
    builder = sketch.builder
    builder.add_set("product", PRODUCTS)
    builder.add_set("machine", MACHINES)
    builder.add_set("week", WEEKS, is_time=True)
    for name, sets in (
        ("demand", ["product", "week"]),
        ("hours", ["machine", "week"]),
        ("setup_cost", ["product", "machine"]),
        ("unit_cost", ["product", "machine"]),
        ("hold_cost", ["product"]),
    ):
        builder.add_parameter(name, sets, data[name])
    batches = list(itertools.product(PRODUCTS, MACHINES, WEEKS))
    sketch.variables("make", ["product", "machine", "week"])
    sketch.variables("setup", ["product", "machine", "week"], high=1, kind="integer")
    sketch.variables("store", ["product", "week"])
    balance = []
    for product, week in itertools.product(PRODUCTS, WEEKS):
        row = {("make", (product, machine, week)): 1.0 for machine in MACHINES}
        row["store", (product, week)] = -1.0
        if week != WEEKS[0]:
            row["store", (product, WEEKS[WEEKS.index(week) - 1])] = 1.0
        balance.append(row)
    sketch.rows("balance", ["product", "week"], "=", balance, builder.cells("demand"))
    used = []
    for machine, week in itertools.product(MACHINES, WEEKS):
        row = {("make", (product, machine, week)): 1.0 for product in PRODUCTS}
        used.append(row | {("setup", (p, machine, week)): data["setup_hours"][p,] for p in PRODUCTS})
    sketch.rows("time", ["machine", "week"], "<=", used, builder.cells("hours"))
    link = [{("make", key): 1.0, ("setup", key): -most(data, key[0])} for key in batches]
    sketch.rows("link", ["product", "machine", "week"], "<=", link, 0.0)
    for family, parameter in (("make", "unit_cost"), ("setup", "setup_cost")):
        columns = [sketch.column[family, key] for key in batches]
        builder.set_objective("cost", "minimize", columns, builder.cells(parameter, [key[:2] for key in batches]))
    stores = [(product, week) for product in PRODUCTS for week in WEEKS]
    columns = [sketch.column["store", key] for key in stores]
    builder.set_objective("cost", "minimize", columns, builder.cells("hold_cost", [key[:1] for key in stores]))
    return builder.build()


def truth(data: Data, change: Callable[[Truth], None] = lambda model: None) -> float:
    """The optimum of the data, by SciPy, with a batch bounded by the demand that is left (a tighter link)."""
    model = Truth()
    for product, machine, week in itertools.product(PRODUCTS, MACHINES, WEEKS):
        model.add(("make", product, machine, week), cost=data["unit_cost"][product, machine])
        model.add(("setup", product, machine, week), high=1, whole=1, cost=data["setup_cost"][product, machine])
        rest = sum(data["demand"][product, later] for later in WEEKS[WEEKS.index(week) :])
        terms = {("make", product, machine, week): 1.0, ("setup", product, machine, week): -rest}
        model.row(terms, -np.inf, 0.0)
    for product, week in itertools.product(PRODUCTS, WEEKS):
        model.add(("store", product, week), cost=data["hold_cost"][product,])
        terms = {("make", product, machine, week): 1.0 for machine in MACHINES} | {("store", product, week): -1.0}
        if week != WEEKS[0]:
            terms["store", product, WEEKS[WEEKS.index(week) - 1]] = 1.0
        model.row(terms, data["demand"][product, week], data["demand"][product, week])
    for machine, week in itertools.product(MACHINES, WEEKS):
        terms = {("make", product, machine, week): 1.0 for product in PRODUCTS}
        terms |= {("setup", product, machine, week): data["setup_hours"][product,] for product in PRODUCTS}
        model.row(terms, -np.inf, data["hours"][machine, week])
    change(model)
    optimum = model.solve()
    assert optimum is not None
    return optimum


def with_data(name: str, step: Callable[[float], float], chosen: Callable[..., bool]) -> Callable[[Data], float]:
    """The truth with some data changed."""

    def solve(data: Data) -> float:
        changed = copy.deepcopy(data)
        changed[name] = {key: step(value) if chosen(*key) else value for key, value in data[name].items()}
        return truth(changed)

    return solve


def bounded(family: str, chosen: Callable[..., bool], high: float) -> Callable[[Data], float]:
    """The truth with other upper bounds."""

    def change(model: Truth) -> None:
        for name in model.high:
            if name[0] == family and chosen(*name[1:]):
                model.high[name] = high

    return lambda data: truth(data, change)


def few_setups(data: Data) -> float:
    """The truth with at most four setups of stout."""
    terms = {("setup", "stout", machine, week): 1.0 for machine in MACHINES for week in WEEKS}
    return truth(data, lambda model: model.row(terms, -np.inf, 4.0))


COMPARISONS: list[tuple[str, Callable[[Data], float]]] = [
    ("demand[*, wk3..wk5] *= 1.05", with_data("demand", lambda v: 1.05 * v, lambda p, w: w in WEEKS[2:5])),
    ("hours[old, *] *= 0.95", with_data("hours", lambda v: 0.95 * v, lambda m, w: m == "old")),
    ("setup_cost *= 1.2", with_data("setup_cost", lambda v: 1.2 * v, lambda p, m: True)),
    ("forbid setup[ale, new, *]", bounded("setup", lambda p, m, w: (p, m) == ("ale", "new"), 0.0)),
    ("hold_cost[bock] += 1", with_data("hold_cost", lambda v: v + 1, lambda p: p == "bock")),
    ("hours[new, wk4] = 0", with_data("hours", lambda v: 0.0, lambda m, w: (m, w) == ("new", "wk4"))),
    ("demand[rye, *] -= 3", with_data("demand", lambda v: v - 3, lambda p, w: p == "rye")),
    ("upper(store) = 20", bounded("store", lambda p, w: True, 20.0)),
    ("row few: sum setup[stout, *, *] <= 4", few_setups),
    ("hours[*, wk1..wk2] += 20", with_data("hours", lambda v: v + 20, lambda m, w: w in WEEKS[:2])),
]


@pytest.mark.slow
def test_each_interval_under_a_gap_of_ten_percent_contains_the_truth() -> None:
    began, data = time.monotonic(), brewery_data()
    session = ModelSession(brewery(), SolveLimits(gap=GAP, nodes=50))
    base = truth(data)
    opening = session.ask("solve").objective
    assert opening.low - 1e-6 <= base <= opening.high + 1e-6
    wide = 0
    for line, solve in COMPARISONS:
        figure, exact = session.ask(f"whatif {line}").objective.difference, solve(data) - base
        print(f"{line:40} truth {exact:8.2f}  between {figure.low:8.2f} and {figure.high:8.2f}")
        assert figure.low - 1e-6 <= exact <= figure.high + 1e-6
        wide += figure.high - figure.low > 1e-6
    assert wide >= 8
    assert time.monotonic() - began < MAX_SECONDS
