"""Six models of planners, and their optima by SciPy: formulated twice from the same data, once without oragent."""

from collections.abc import Callable, Mapping
from itertools import product

import numpy as np

from oragent.modelling.data.indexed import IndexedModel
from tests.modelling.indexed_models import Data, Sketch
from tests.modelling.truths import Truth

INF = np.inf
NURSES = ["Ana", "Bo", "Chi", "Dov", "Eve"]
DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
SHIFTS = ["early", "late"]
GRAINS = ["barley", "maize", "soy meal", "bran"]
FEEDS = ["cattle", "poultry"]
CLOCK = [f"{hour:02d}:00" for hour in range(6, 16)]
PROJECTS = ["bridge", "track", "hub", "depot", "sidings", "signals", "ferry"]
YEARS = ["2027", "2028", "2029"]
CROPS = ["wheat", "beet", "rape", "peas"]
FIELDS = ["north", "hill", "river"]
GROUPS = ["children", "adults", "elderly"]
WARDS = ["A1", "A2", "B1"]


def _by(sets: tuple[list[str], ...], *figures: float) -> dict[tuple[str, ...], float]:
    return dict(zip(product(*sets), map(float, figures), strict=True))


ROSTER: Data = {
    "wage": _by((NURSES,), 160, 150, 172, 145, 181),
    "need": _by((DAYS, SHIFTS), 2, 1, 2, 2, 1, 1, 2, 1, 2, 2, 1, 1),
    "most_shifts": _by((NURSES,), 4, 5, 4, 3, 5),
}
FEED: Data = {
    "price": _by((GRAINS,), 180, 210, 420, 120),
    "stock": _by((GRAINS,), 60, 50, 30, 25),
    "protein": _by((GRAINS,), 0.11, 0.09, 0.44, 0.15),
    "fibre": _by((GRAINS,), 0.05, 0.025, 0.06, 0.11),
    "order": _by((FEEDS,), 70, 45),
    "protein_needed": _by((FEEDS,), 10.5, 8.1),
    "fibre_allowed": _by((FEEDS,), 4.6, 2.4),
}
BATTERY: Data = {
    "tariff": _by((CLOCK,), 0.21, 0.34, 0.38, 0.29, 0.18, 0.12, 0.11, 0.16, 0.3, 0.41),
    "load": _by((CLOCK,), 40, 70, 85, 60, 50, 45, 40, 55, 80, 90),
    "size": {(): 60.0},
    "grid": {(): 110.0},
}
CAPITAL: Data = {
    "worth": _by((PROJECTS,), 41, 23, 35, 30, 14, 19, 12),
    "cost": _by((PROJECTS, YEARS), 9, 8, 4, 5, 4, 6, 8, 6, 5, 5, 7, 3, 2, 4, 2, 4, 2, 5, 3, 1, 2),
    "budget": _by((YEARS,), 22, 20, 18),
}
FARM: Data = {
    "margin": _by((CROPS,), 540, 910, 620, 480),
    "water": _by((CROPS,), 1.1, 2.9, 1.4, 0.8),
    "labour": _by((CROPS,), 5, 12, 6, 7),
    "acres": _by((FIELDS,), 40, 25, 35),
    "contract": _by((CROPS,), 15, 5, 0, 10),
    "water_limit": {(): 165.0},
    "labour_limit": {(): 680.0},
}
HOSPITAL: Data = {
    "patients": _by((GROUPS,), 22, 47, 38),
    "beds": _by((WARDS,), 30, 40, 30),
    "walk": _by((GROUPS, WARDS), 3, 9, 6, 5, 2, 7, 8, 4, 3),
}


def roster() -> IndexedModel:
    """Nurses by day and shift, at least wages."""
    sketch = Sketch("roster")
    builder = sketch.builder
    builder.add_set("nurse", NURSES)
    builder.add_set("day", DAYS, is_time=True)
    builder.add_set("shift", SHIFTS)
    builder.add_parameter("wage", ["nurse"], ROSTER["wage"], unit="EUR", meaning="pay for one shift")
    builder.add_parameter("need", ["day", "shift"], ROSTER["need"], meaning="nurses needed")
    builder.add_parameter("most_shifts", ["nurse"], ROSTER["most_shifts"])
    sketch.variables("works", ["nurse", "day", "shift"], high=1, kind="integer")
    keys = list(product(NURSES, DAYS, SHIFTS))
    cover = [{("works", (nurse, *slot)): 1.0 for nurse in NURSES} for slot in product(DAYS, SHIFTS)]
    sketch.rows("cover", ["day", "shift"], ">=", cover, builder.cells("need"))
    one = [{("works", (*pair, shift)): 1.0 for shift in SHIFTS} for pair in product(NURSES, DAYS)]
    sketch.rows("one_a_day", ["nurse", "day"], "<=", one, 1.0)
    week = [{("works", (nurse, *slot)): 1.0 for slot in product(DAYS, SHIFTS)} for nurse in NURSES]
    sketch.rows("week", ["nurse"], "<=", week, builder.cells("most_shifts"))
    columns = [sketch.column["works", key] for key in keys]
    builder.set_objective("pay", "minimize", columns, builder.cells("wage", [key[:1] for key in keys]), unit="EUR")
    return builder.build()


def roster_truth(data: Mapping[str, Mapping] = ROSTER) -> Truth:
    truth = Truth()
    for nurse, day, shift in product(NURSES, DAYS, SHIFTS):
        truth.add(("works", nurse, day, shift), high=1, whole=1, cost=data["wage"][nurse,])
    for day, shift in product(DAYS, SHIFTS):
        truth.row({("works", nurse, day, shift): 1 for nurse in NURSES}, data["need"][day, shift], INF)
    for nurse in NURSES:
        for day in DAYS:
            truth.row({("works", nurse, day, shift): 1 for shift in SHIFTS}, -INF, 1)
        truth.row(
            {("works", nurse, day, shift): 1 for day in DAYS for shift in SHIFTS}, -INF, data["most_shifts"][nurse,]
        )
    return truth


def feed() -> IndexedModel:
    """Two feeds mixed from four grains, at least cost."""
    sketch = Sketch("feed")
    builder = sketch.builder
    builder.add_set("grain", GRAINS)
    builder.add_set("feed", FEEDS)
    builder.add_parameter("price", ["grain"], FEED["price"], unit="EUR/t")
    builder.add_parameter("stock", ["grain"], FEED["stock"], unit="t")
    builder.add_parameter("protein", ["grain"], FEED["protein"], meaning="share of protein")
    builder.add_parameter("fibre", ["grain"], FEED["fibre"], meaning="share of fibre")
    for name in ("order", "protein_needed", "fibre_allowed"):
        builder.add_parameter(name, ["feed"], FEED[name], unit="t")
    sketch.variables("use", ["grain", "feed"], unit="t")
    of_feed = [{("use", (grain, kind)): 1.0 for grain in GRAINS} for kind in FEEDS]
    sketch.rows("mixed", ["feed"], "=", of_feed, builder.cells("order"))
    of_grain = [{("use", (grain, kind)): 1.0 for kind in FEEDS} for grain in GRAINS]
    sketch.rows("on_hand", ["grain"], "<=", of_grain, builder.cells("stock"))
    columns = [sketch.column["use", (grain, kind)] for kind in FEEDS for grain in GRAINS]
    rows = [place for place in range(len(FEEDS)) for _ in GRAINS]
    for name, share, relation, limit in (
        ("enough_protein", "protein", ">=", "protein_needed"),
        ("little_fibre", "fibre", "<=", "fibre_allowed"),
    ):
        values = builder.cells(share, [(grain,) for _ in FEEDS for grain in GRAINS])
        builder.add_rows(name, ["feed"], relation, rows=rows, columns=columns, values=values, rhs=builder.cells(limit))
    every = [sketch.column["use", key] for key in builder.keys("use")]
    prices = builder.cells("price", [key[:1] for key in builder.keys("use")])
    builder.set_objective("cost", "minimize", every, prices, unit="EUR")
    return builder.build()


def feed_truth(data: Mapping[str, Mapping] = FEED) -> Truth:
    truth = Truth()
    for grain, kind in product(GRAINS, FEEDS):
        truth.add(("use", grain, kind), cost=data["price"][grain,])
    for kind in FEEDS:
        truth.row({("use", grain, kind): 1 for grain in GRAINS}, data["order"][kind,], data["order"][kind,])
        for share, low, high in (
            ("protein", data["protein_needed"][kind,], INF),
            ("fibre", -INF, data["fibre_allowed"][kind,]),
        ):
            truth.row({("use", grain, kind): data[share][grain,] for grain in GRAINS}, low, high)
    for grain in GRAINS:
        truth.row({("use", grain, kind): 1 for kind in FEEDS}, -INF, data["stock"][grain,])
    return truth


def battery() -> IndexedModel:
    """A factory with a battery buys power by a tariff."""
    sketch = Sketch("battery")
    builder = sketch.builder
    builder.add_set("hour", CLOCK, is_time=True)
    builder.add_parameter("tariff", ["hour"], BATTERY["tariff"], unit="EUR/kWh")
    builder.add_parameter("load", ["hour"], BATTERY["load"], unit="kWh")
    builder.add_parameter("size", [], BATTERY["size"], unit="kWh", meaning="what the battery can hold")
    builder.add_parameter("grid", [], BATTERY["grid"], unit="kWh", meaning="most that the grid delivers in an hour")
    hours = len(CLOCK)
    sketch.variables("buy", ["hour"], high=builder.cells("grid", [()] * hours), unit="kWh")
    sketch.variables("charge", ["hour"], high=30, unit="kWh")
    sketch.variables("discharge", ["hour"], high=30, unit="kWh")
    sketch.variables("level", ["hour"], high=builder.cells("size", [()] * hours), unit="kWh")
    served = [{("buy", (hour,)): 1.0, ("discharge", (hour,)): 1.0, ("charge", (hour,)): -1.0} for hour in CLOCK]
    sketch.rows("served", ["hour"], "=", served, builder.cells("load"))
    kept = []
    for place, hour in enumerate(CLOCK):
        row = {("level", (hour,)): 1.0, ("charge", (hour,)): -0.9, ("discharge", (hour,)): 1.0}
        if place:
            row["level", (CLOCK[place - 1],)] = -1.0
        kept.append(row)
    sketch.rows("kept", ["hour"], "=", kept, 0.0)
    columns = [sketch.column["buy", (hour,)] for hour in CLOCK]
    builder.set_objective("bill", "minimize", columns, builder.cells("tariff"), unit="EUR")
    builder.set_objective("bought", "minimize", columns, 1.0, unit="kWh")
    return builder.build()


def battery_truth(data: Mapping[str, Mapping] = BATTERY, goal: str = "bill") -> Truth:
    truth = Truth()
    for place, hour in enumerate(CLOCK):
        truth.add(("buy", hour), high=data["grid"][()], cost=data["tariff"][hour,] if goal == "bill" else 1.0)
        truth.add(("charge", hour), high=30)
        truth.add(("discharge", hour), high=30)
        truth.add(("level", hour), high=data["size"][()])
        load = data["load"][hour,]
        truth.row({("buy", hour): 1, ("discharge", hour): 1, ("charge", hour): -1}, load, load)
        row = {("level", hour): 1.0, ("charge", hour): -0.9, ("discharge", hour): 1.0}
        if place:
            row["level", CLOCK[place - 1]] = -1.0
        truth.row(row, 0, 0)
    return truth


def capital() -> IndexedModel:
    """Railway projects under three budgets."""
    sketch = Sketch("capital")
    builder = sketch.builder
    builder.add_set("project", PROJECTS)
    builder.add_set("year", YEARS, is_time=True)
    builder.add_parameter("worth", ["project"], CAPITAL["worth"], unit="MEUR")
    builder.add_parameter("cost", ["project", "year"], CAPITAL["cost"], unit="MEUR")
    builder.add_parameter("budget", ["year"], CAPITAL["budget"], unit="MEUR")
    columns = builder.add_variables("build", ["project"], high=1, kind="integer")
    every = [column for _ in YEARS for column in columns]
    rows = [place for place in range(len(YEARS)) for _ in PROJECTS]
    values = builder.cells("cost", [(project, year) for year in YEARS for project in PROJECTS])
    builder.add_rows("spend", ["year"], "<=", rows=rows, columns=every, values=values, rhs=builder.cells("budget"))
    place = dict(zip(PROJECTS, columns, strict=True))
    builder.add_rows("one_yard", [], "<=", columns=[place["hub"], place["depot"]], values=[1.0, 1.0], rhs=1.0)
    builder.add_rows("track_after_bridge", [], "<=", columns=[place["track"], place["bridge"]], values=[1, -1], rhs=0.0)
    builder.set_objective("total_worth", "maximize", columns, builder.cells("worth"), unit="MEUR")
    return builder.build()


def capital_truth(data: Mapping[str, Mapping] = CAPITAL) -> Truth:
    truth = Truth(-1.0)
    for project in PROJECTS:
        truth.add(project, high=1, whole=1, cost=data["worth"][project,])
    for year in YEARS:
        truth.row({project: data["cost"][project, year] for project in PROJECTS}, -INF, data["budget"][year,])
    truth.row({"hub": 1, "depot": 1}, -INF, 1)
    truth.row({"track": 1, "bridge": -1}, -INF, 0)
    return truth


def farm() -> IndexedModel:
    """Crops on three fields with scarce water and labour."""
    sketch = Sketch("farm")
    builder = sketch.builder
    builder.add_set("crop", CROPS)
    builder.add_set("field", FIELDS)
    builder.add_parameter("margin", ["crop"], FARM["margin"], unit="EUR/ha")
    builder.add_parameter("water", ["crop"], FARM["water"], unit="ML/ha")
    builder.add_parameter("labour", ["crop"], FARM["labour"], unit="h/ha")
    builder.add_parameter("acres", ["field"], FARM["acres"], unit="ha", meaning="size of the field")
    builder.add_parameter("contract", ["crop"], FARM["contract"], unit="ha", meaning="least area by contract")
    builder.add_parameter("water_limit", [], FARM["water_limit"], unit="ML")
    builder.add_parameter("labour_limit", [], FARM["labour_limit"], unit="h")
    sketch.variables("sow", ["crop", "field"], unit="ha")
    keys = list(product(CROPS, FIELDS))
    land = [{("sow", (crop, field)): 1.0 for crop in CROPS} for field in FIELDS]
    sketch.rows("land", ["field"], "<=", land, builder.cells("acres"))
    deals = [{("sow", (crop, field)): 1.0 for field in FIELDS} for crop in CROPS]
    sketch.rows("deal", ["crop"], ">=", deals, builder.cells("contract"))
    columns = [sketch.column["sow", key] for key in keys]
    for name, use in (("wet", "water"), ("work", "labour")):
        values, limit = builder.cells(use, [key[:1] for key in keys]), builder.cells(f"{use}_limit")
        builder.add_rows(name, [], "<=", columns=columns, values=values, rhs=limit)
    margins = builder.cells("margin", [key[:1] for key in keys])
    builder.set_objective("profit", "maximize", columns, margins, unit="EUR")
    return builder.build()


def farm_truth(data: Mapping[str, Mapping] = FARM) -> Truth:
    truth = Truth(-1.0)
    for crop, field in product(CROPS, FIELDS):
        truth.add(("sow", crop, field), cost=data["margin"][crop,])
    for field in FIELDS:
        truth.row({("sow", crop, field): 1 for crop in CROPS}, -INF, data["acres"][field,])
    for crop in CROPS:
        truth.row({("sow", crop, field): 1 for field in FIELDS}, data["contract"][crop,], INF)
    for use in ("water", "labour"):
        row = {("sow", crop, field): data[use][crop,] for crop, field in product(CROPS, FIELDS)}
        truth.row(row, -INF, data[f"{use}_limit"][()])
    return truth


def hospital() -> IndexedModel:
    """More patients than beds: the model has no plan."""
    sketch = Sketch("hospital")
    builder = sketch.builder
    builder.add_set("group", GROUPS)
    builder.add_set("ward", WARDS)
    builder.add_parameter("patients", ["group"], HOSPITAL["patients"], unit="persons")
    builder.add_parameter("beds", ["ward"], HOSPITAL["beds"], unit="beds")
    builder.add_parameter("walk", ["group", "ward"], HOSPITAL["walk"], unit="min", meaning="walk of a patient")
    sketch.variables("put", ["group", "ward"], unit="persons")
    admit = [{("put", (group, ward)): 1.0 for ward in WARDS} for group in GROUPS]
    sketch.rows("admit", ["group"], "=", admit, builder.cells("patients"))
    room = [{("put", (group, ward)): 1.0 for group in GROUPS} for ward in WARDS]
    sketch.rows("room", ["ward"], "<=", room, builder.cells("beds"))
    columns = [sketch.column["put", key] for key in builder.keys("put")]
    builder.set_objective("walking", "minimize", columns, builder.cells("walk"), unit="min")
    return builder.build()


def hospital_truth(data: Mapping[str, Mapping] = HOSPITAL) -> Truth:
    truth = Truth()
    for group, ward in product(GROUPS, WARDS):
        truth.add(("put", group, ward), cost=data["walk"][group, ward])
    for group in GROUPS:
        truth.row({("put", group, ward): 1 for ward in WARDS}, data["patients"][group,], data["patients"][group,])
    for ward in WARDS:
        truth.row({("put", group, ward): 1 for group in GROUPS}, -INF, data["beds"][ward,])
    return truth


MODELS: dict[str, Callable[[], IndexedModel]] = {
    "roster": roster,
    "feed": feed,
    "battery": battery,
    "capital": capital,
    "farm": farm,
    "hospital": hospital,
}
