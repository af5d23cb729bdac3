"""Indexed models of the tests: data as plain mappings, and models built from them."""

import itertools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.indexed import IndexedModel

Data = dict[str, dict[tuple[str, ...], float]]
DEPOTS = ["Lyon", "Nantes", "Sued"]
CITIES = ["Paris", "Nice", "Milano", "Nîmes"]
WEEKS = [f"wk{number}" for number in range(1, 6)]
PRODUCTS = ["Cider", "Juice", "Perry"]
SITES = ["Nantes", "Lyon", "Nice", "Torino", "Épinal"]
CLIENTS = [f"c{number}" for number in range(1, 9)]
ITEMS = ["bagel", "croissant", "baguette", "tart"]
HOURS = [str(number) for number in range(1, 7)]
PLANTS = ["coal", "gas", "hydro"]
NODES = ["s", "a", "b", "c", "d", "t"]


def table(random: np.random.Generator, low: int, high: int, *sets: Sequence[str]) -> dict[tuple[str, ...], float]:
    """Whole numbers for the product of some sets."""
    return {key: float(random.integers(low, high)) for key in itertools.product(*sets)}


def transport_data() -> Data:
    """Demand, supply, distance, emission of a transport over weeks."""
    random = np.random.default_rng(7)
    return {
        "demand": table(random, 10, 40, CITIES, WEEKS),
        "supply": table(random, 30, 60, DEPOTS, WEEKS),
        "distance": table(random, 2, 20, DEPOTS, CITIES),
        "emission": table(random, 1, 12, DEPOTS, CITIES),
        "holding": {(): 1.0},
    }


def lots_data() -> Data:
    """Demand, costs and times of a lot-sizing problem."""
    random = np.random.default_rng(3)
    return {
        "demand": table(random, 0, 40, PRODUCTS, WEEKS),
        "setup_cost": table(random, 40, 120, PRODUCTS),
        "unit_cost": table(random, 2, 6, PRODUCTS),
        "hold_cost": table(random, 1, 3, PRODUCTS),
        "hours": {(week,): 125.0 for week in WEEKS},
    }


def sites_data() -> Data:
    """Fixed costs, capacities, demands and costs of a facility location problem."""
    random = np.random.default_rng(11)
    return {
        "rent": table(random, 60, 160, SITES),
        "room": table(random, 30, 60, SITES),
        "demand": table(random, 5, 15, CLIENTS),
        "cost_per_client": table(random, 20, 90, SITES, CLIENTS),
    }


def bakery_data() -> Data:
    """Profits and hours of a bakery."""
    return {
        "margin": {("bagel",): 1.1, ("croissant",): 1.3, ("baguette",): 0.9, ("tart",): 4.2},
        "oven_time": {("bagel",): 0.05, ("croissant",): 0.06, ("baguette",): 0.04, ("tart",): 0.3},
        "oven_hours": {(): 60.0},
        "sales": {("bagel",): 500.0, ("croissant",): 400.0, ("baguette",): 700.0, ("tart",): 80.0},
    }


def power_data() -> Data:
    """Load, costs and sizes of power plants."""
    random = np.random.default_rng(5)
    return {
        "load": table(random, 60, 120, HOURS),
        "fuel": {("coal",): 30.0, ("gas",): 55.0, ("hydro",): 5.0},
        "size": {("coal",): 60.0, ("gas",): 60.0, ("hydro",): 20.0},
        "wind_forecast": table(random, 0, 40, HOURS),
    }


def network_data() -> Data:
    """Arc costs and capacities of a flow network from s to t."""
    random = np.random.default_rng(13)
    arcs = [(a, b) for a, b in itertools.permutations(NODES, 2) if a != "t" and b != "s" and (a, b) != ("s", "t")]
    return {
        "arc_cost": {arc: float(random.integers(1, 10)) for arc in arcs},
        "arc_room": {arc: float(random.integers(3, 12)) for arc in arcs},
    }


class Sketch:
    """A builder with members addressed by key."""

    def __init__(self, name: str) -> None:
        self.builder = IndexedModelBuilder(name)
        self.column: dict[tuple[str, tuple[str, ...]], int] = {}

    def variables(self, name: str, sets: Sequence[str], **options) -> None:
        positions = self.builder.add_variables(name, sets, **options)
        for key, position in zip(self.builder.keys(name), positions, strict=True):
            self.column[name, key] = int(position)

    def rows(self, name: str, sets: Sequence[str], relation: str, terms: Iterable[Mapping], rhs) -> None:
        """Rows, each a mapping from (family, key) to a coefficient."""
        rows, columns, values = [], [], []
        for number, row in enumerate(terms):
            for member, value in row.items():
                rows.append(number)
                columns.append(self.column[member])
                values.append(value)
        self.builder.add_rows(name, sets, relation, rows=rows, columns=columns, values=values, rhs=rhs)


def transport() -> IndexedModel:
    """A transport model over weeks with stock at depots."""
    data, sketch = transport_data(), Sketch("transport")
    builder = sketch.builder
    builder.add_set("depot", DEPOTS)
    builder.add_set("city", CITIES)
    builder.add_set("week", WEEKS, is_time=True)
    builder.add_parameter("demand", ["city", "week"], data["demand"], unit="tons")
    builder.add_parameter("supply", ["depot", "week"], data["supply"], unit="tons")
    builder.add_parameter("distance", ["depot", "city"], data["distance"], unit="EUR/ton")
    builder.add_parameter("holding", [], data["holding"], unit="EUR/ton")
    sketch.variables("ship", ["depot", "city", "week"], unit="tons")
    sketch.variables("stock", ["depot", "week"], high=40, unit="tons")
    meet = [{("ship", (depot, city, week)): 1.0 for depot in DEPOTS} for city in CITIES for week in WEEKS]
    sketch.rows("meet", ["city", "week"], ">=", meet, builder.cells("demand"))
    capacity = []
    for depot in DEPOTS:
        for place, week in enumerate(WEEKS):
            row = {("ship", (depot, city, week)): 1.0 for city in CITIES} | {("stock", (depot, week)): 1.0}
            if place:
                row["stock", (depot, WEEKS[place - 1])] = -1.0
            capacity.append(row)
    sketch.rows("capacity", ["depot", "week"], "<=", capacity, builder.cells("supply"))
    ship = builder.keys("ship")
    columns = [sketch.column["ship", key] for key in ship]
    pairs = [key[:2] for key in ship]
    builder.set_objective("cost", "minimize", columns, builder.cells("distance", pairs), unit="EUR")
    stock = [sketch.column["stock", key] for key in builder.keys("stock")]
    builder.set_objective("cost", "minimize", stock, builder.cells("holding", np.zeros(len(stock), dtype=np.int64)))
    builder.set_objective("co2", "minimize", columns, [data["emission"][pair] for pair in pairs], unit="kg")
    return builder.build()


def lots() -> IndexedModel:
    """Lot sizing with set-ups, stock, and hours a week."""
    data, sketch = lots_data(), Sketch("lots")
    builder = sketch.builder
    builder.add_set("product", PRODUCTS)
    builder.add_set("week", WEEKS, is_time=True)
    for name, sets in (("demand", ["product", "week"]), ("setup_cost", ["product"]), ("unit_cost", ["product"])):
        builder.add_parameter(name, sets, data[name])
    builder.add_parameter("hold_cost", ["product"], data["hold_cost"])
    builder.add_parameter("hours", ["week"], data["hours"], unit="h")
    for name in ("make", "store"):
        sketch.variables(name, ["product", "week"], unit="hl")
    sketch.variables("setup", ["product", "week"], high=1, kind="integer")
    keys = list(itertools.product(PRODUCTS, WEEKS))
    balance = []
    for product, week in keys:
        row = {("make", (product, week)): 1.0, ("store", (product, week)): -1.0}
        place = WEEKS.index(week)
        if place:
            row["store", (product, WEEKS[place - 1])] = 1.0
        balance.append(row)
    sketch.rows("balance", ["product", "week"], "=", balance, builder.cells("demand"))
    ready = [{("make", key): 1.0, ("setup", key): -100.0} for key in keys]
    sketch.rows("ready", ["product", "week"], "<=", ready, 0.0)
    line = [
        {("make", (product, week)): 1.0 for product in PRODUCTS}
        | {("setup", (product, week)): 10.0 for product in PRODUCTS}
        for week in WEEKS
    ]
    sketch.rows("line", ["week"], "<=", line, builder.cells("hours"))
    for family, parameter in (("make", "unit_cost"), ("store", "hold_cost"), ("setup", "setup_cost")):
        columns = [sketch.column[family, key] for key in keys]
        cells = builder.cells(parameter, [(product,) for product, _ in keys])
        builder.set_objective("cost", "minimize", columns, cells, unit="EUR")
    return builder.build()


def sites() -> IndexedModel:
    """Facility location: which sites to open, and who serves which client."""
    data, sketch = sites_data(), Sketch("sites")
    builder = sketch.builder
    builder.add_set("site", SITES)
    builder.add_set("client", CLIENTS)
    for name, sets in (("rent", ["site"]), ("room", ["site"]), ("cost_per_client", ["site", "client"])):
        builder.add_parameter(name, sets, data[name])
    sketch.variables("open", ["site"], high=1, kind="integer")
    sketch.variables("serve", ["site", "client"], high=1)
    once = [{("serve", (site, client)): 1.0 for site in SITES} for client in CLIENTS]
    sketch.rows("once", ["client"], "=", once, 1.0)
    within = []
    for site in SITES:
        row = {("serve", (site, client)): data["demand"][client,] for client in CLIENTS}
        within.append(row | {("open", (site,)): -data["room"][site,]})
    sketch.rows("within", ["site"], "<=", within, 0.0)
    opens = [sketch.column["open", (site,)] for site in SITES]
    builder.set_objective("cost", "minimize", opens, builder.cells("rent"), unit="EUR")
    serves = [sketch.column["serve", key] for key in builder.keys("serve")]
    builder.set_objective("cost", "minimize", serves, builder.cells("cost_per_client"))
    return builder.build()


def bakery() -> IndexedModel:
    """A product mix in whole pieces, to be maximised."""
    data, sketch = bakery_data(), Sketch("bakery")
    builder = sketch.builder
    builder.add_set("item", ITEMS)
    builder.add_parameter("margin", ["item"], data["margin"], unit="EUR")
    builder.add_parameter("oven_time", ["item"], data["oven_time"], unit="h")
    builder.add_parameter("oven_hours", [], data["oven_hours"], unit="h")
    builder.add_parameter("sales", ["item"], data["sales"])
    columns = builder.add_variables("make", ["item"], high=builder.cells("sales"), kind="integer", unit="pieces")
    builder.add_rows(
        "oven", [], "<=", columns=columns, values=builder.cells("oven_time"), rhs=builder.cells("oven_hours")
    )
    builder.set_objective("profit", "maximize", columns, builder.cells("margin"), unit="EUR")
    return builder.build()


def power() -> IndexedModel:
    """Dispatch of plants and wind against a load."""
    data, sketch = power_data(), Sketch("power")
    builder = sketch.builder
    builder.add_set("hour", HOURS, is_time=True)
    builder.add_set("plant", PLANTS)
    for name, sets in (("load", ["hour"]), ("fuel", ["plant"]), ("size", ["plant"]), ("wind_forecast", ["hour"])):
        builder.add_parameter(name, sets, data[name], unit="EUR/MWh" if name == "fuel" else "MW")
    sketch.variables("run", ["plant", "hour"], unit="MW")
    sketch.variables("wind", ["hour"], high=builder.cells("wind_forecast"), unit="MW")
    keys = list(itertools.product(PLANTS, HOURS))
    served = [{("run", (plant, hour)): 1.0 for plant in PLANTS} | {("wind", (hour,)): 1.0} for hour in HOURS]
    sketch.rows("served", ["hour"], "=", served, builder.cells("load"))
    sizes = builder.cells("size", [(plant,) for plant, _ in keys])
    sketch.rows("rated", ["plant", "hour"], "<=", [{("run", key): 1.0} for key in keys], sizes)
    columns = [sketch.column["run", key] for key in keys]
    fuel = builder.cells("fuel", [(plant,) for plant, _ in keys])
    builder.set_objective("cost", "minimize", columns, fuel, unit="EUR")
    return builder.build()


def network() -> IndexedModel:
    """The cheapest flow of 10 units; one index set occurs twice."""
    data, sketch = network_data(), Sketch("network")
    builder = sketch.builder
    arcs = list(data["arc_cost"])
    builder.add_set("node", NODES)
    builder.add_parameter("arc_cost", ["node", "node"], data["arc_cost"])
    builder.add_parameter("arc_room", ["node", "node"], data["arc_room"])
    sketch.variables("flow", ["node", "node"], keys=arcs, high=builder.cells("arc_room", arcs))
    net = []
    for node in NODES:
        row = {("flow", arc): 1.0 for arc in arcs if arc[0] == node}
        net.append(row | {("flow", arc): -1.0 for arc in arcs if arc[1] == node})
    sketch.rows("net", ["node"], "=", net, [10.0, 0.0, 0.0, 0.0, 0.0, -10.0])
    builder.set_objective("cost", "minimize", [sketch.column["flow", arc] for arc in arcs], builder.cells("arc_cost"))
    return builder.build()
