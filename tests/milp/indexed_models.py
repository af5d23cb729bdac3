"""Indexed models of the tests: built with data, small enough for an independent script."""

import numpy as np

from oragent.milp.indexed import IndexedModel
from oragent.milp.indexed_builder import IndexedModelBuilder

DEPOTS = ["Lyon", "Nantes", "Sued"]
CITIES = ["Paris", "Nice", "Milano", "Nîmes"]
WEEKS = [f"wk{number}" for number in range(1, 6)]


def transport() -> IndexedModel:
    """A transport model over weeks with stock at depots: production limits, demands, costs as data."""
    random = np.random.default_rng(7)
    builder = IndexedModelBuilder("transport")
    builder.add_set("depot", DEPOTS)
    builder.add_set("city", CITIES)
    builder.add_set("week", WEEKS, is_time=True)
    demand = random.integers(10, 40, (len(CITIES), len(WEEKS))).astype(float)
    builder.add_parameter("demand", ["city", "week"], demand.ravel(), unit="tons")
    builder.add_parameter("supply", ["depot", "week"], random.integers(30, 60, 15).astype(float), unit="tons")
    builder.add_parameter("distance", ["depot", "city"], random.integers(2, 20, 12).astype(float), unit="EUR/ton")
    builder.add_parameter("holding", [], [1.0], unit="EUR/ton")
    ship = builder.add_variables("ship", ["depot", "city", "week"], unit="tons")
    stock = builder.add_variables("stock", ["depot", "week"], high=40, unit="tons")
    ship_grid, stock_grid = ship.reshape(3, 4, 5), stock.reshape(3, 5)
    rows, columns = [], []
    for city in range(4):
        for week in range(5):
            rows += [city * 5 + week] * 3
            columns += ship_grid[:, city, week].tolist()
    builder.add_rows("meet", ["city", "week"], ">=", rows=rows, columns=columns, rhs=builder.cells("demand"))
    rows, columns, values = [], [], []
    for depot in range(3):
        for week in range(5):
            row = depot * 5 + week
            used = [*ship_grid[depot, :, week].tolist(), int(stock_grid[depot, week])]
            signs = [1.0] * 5
            if week:
                used.append(int(stock_grid[depot, week - 1]))
                signs.append(-1.0)
            rows += [row] * len(used)
            columns += used
            values += signs
    builder.add_rows(
        "capacity", ["depot", "week"], "<=", rows=rows, columns=columns, values=values, rhs=builder.cells("supply")
    )
    pairs = [(depot, city) for depot, city, _ in builder.keys("ship")]
    builder.set_objective("cost", "minimize", ship, builder.cells("distance", pairs), unit="EUR")
    builder.set_objective("cost", "minimize", stock, builder.cells("holding", np.zeros(15, dtype=np.int64)))
    builder.set_objective("co2", "minimize", ship, np.tile([3.0, 1.0, 2.0, 4.0, 5.0], 12), unit="kg")
    return builder.build()
