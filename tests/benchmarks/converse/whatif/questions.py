"""Sixty questions of planners on six models; each truth comes from SciPy, without oragent.

The lines answer each question in the text syntax; the path says where the last result holds the answer.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product

from tests.benchmarks.converse.whatif import planners as data
from tests.benchmarks.converse.whatif.planners import (
    BATTERY,
    CAPITAL,
    CLOCK,
    DAYS,
    FARM,
    FEED,
    FIELDS,
    GRAINS,
    HOSPITAL,
    INF,
    PROJECTS,
    ROSTER,
    SHIFTS,
    WARDS,
    YEARS,
)
from tests.modelling.truths import Truth, scaled, shifted

Terms = Mapping[tuple[str, ...] | str, float]


@dataclass(frozen=True)
class PlannerQuestion:
    """A question, its line, and its answer by SciPy."""

    model: str
    text: str
    line: str
    path: str
    # Returns the figure, or None if no plan exists.
    truth: Callable[[], float | None]


def _best(truth: Truth) -> float:
    value = truth.solve()
    assert value is not None
    return value


def _bounded(truth: Truth, names: list, low: float | None = None, high: float | None = None) -> Truth:
    for name in names:
        truth.low[name] = truth.low[name] if low is None else low
        truth.high[name] = truth.high[name] if high is None else high
    return truth


def _with_row(truth: Truth, terms: Terms, low: float, high: float) -> Truth:
    truth.row(terms, low, high)
    return truth


def _with_row_removed(truth: Truth, terms: Terms) -> Truth:
    truth.rows = [row for row in truth.rows if row[0] != terms]
    return truth


def _extreme(truth: Truth, terms: Terms, sign: float, room: float = INF) -> float:
    """The least (sign 1) or largest (sign -1) sum of terms for at most ``room`` worse than the optimum."""
    if room < INF:
        limit = truth.sign * _best(truth) + room
        truth.row({name: truth.sign * cost for name, cost in truth.cost.items() if cost}, -INF, limit)
    truth.cost = {name: terms.get(name, 0.0) for name in truth.cost}
    truth.sign = sign
    return _best(truth)


def _at_optimum(build: Callable[[], Truth], terms: Terms) -> float:
    """The sum of terms at the optimum, which must be unique."""
    least, most = _extreme(build(), terms, 1.0, 1e-7), _extreme(build(), terms, -1.0, 1e-7)
    assert abs(least - most) < 1e-5, (least, most)
    return (least + most) / 2


def _apart() -> Truth:
    truth = data.roster_truth()
    for day in DAYS:
        truth.row({("works", nurse, day, shift): 1.0 for nurse in ("Ana", "Bo") for shift in SHIFTS}, -INF, 1)
    return truth


def _second_best() -> float:
    """The second best choice of projects less the best one, by enumeration."""
    worths = []
    for choice in product((0, 1), repeat=len(PROJECTS)):
        taken = dict(zip(PROJECTS, choice, strict=True))
        spent = [sum(CAPITAL["cost"][name, year] * taken[name] for name in PROJECTS) for year in YEARS]
        is_allowed = taken["hub"] + taken["depot"] <= 1 and taken["track"] <= taken["bridge"]
        if is_allowed and all(sum_ <= CAPITAL["budget"][year,] for sum_, year in zip(spent, YEARS, strict=True)):
            worths.append(sum(CAPITAL["worth"][name,] * taken[name] for name in PROJECTS))
    worths.sort(reverse=True)
    return worths[1] - worths[0]


def _shares(factor: float) -> Mapping:
    changed: Mapping = FEED
    for name in ("order", "protein_needed", "fibre_allowed"):
        changed = scaled(changed, name, factor)
    return changed


def _larger_poultry() -> Mapping:
    changed: Mapping = FEED
    for name, step in (("order", 10), ("protein_needed", 1.8), ("fibre_allowed", 0.5)):
        changed = shifted(changed, name, step, ("poultry",))
    return changed


def _battery(size: float) -> float:
    return _best(data.battery_truth({**BATTERY, "size": {(): size}}))


def _slots(nurse: str, days: list[str] = DAYS, shifts: list[str] = SHIFTS) -> list:
    return [("works", nurse, day, shift) for day in days for shift in shifts]


PEAS = {("sow", crop, field): float(crop == "peas") - 0.2 for crop, field in product(data.CROPS, FIELDS)}
BEET = {("sow", "beet", field): 1.0 for field in FIELDS}
SOWN = {("sow", crop, field): 1.0 for crop, field in product(data.CROPS, FIELDS)}
SOY = {("use", "soy meal", feed): 1.0 for feed in data.FEEDS}
BASE: Mapping[str, Callable[[], float]] = {
    "roster": lambda: _best(data.roster_truth()),
    "feed": lambda: _best(data.feed_truth()),
    "battery": lambda: _best(data.battery_truth()),
    "capital": lambda: _best(data.capital_truth()),
    "farm": lambda: _best(data.farm_truth()),
}


def _questions(model: str, *rows: tuple[str, str, str, Callable[[], float | None]]) -> tuple[PlannerQuestion, ...]:
    return tuple(PlannerQuestion(model, *row) for row in rows)


ROSTER_QUESTIONS = _questions(
    "roster",
    ("What does the cheapest week cost?", "solve", "objective", BASE["roster"]),
    (
        "What would it cost if Dov could take one shift more?",
        "whatif most_shifts[Dov] += 1",
        "objective.after",
        lambda: data.roster_truth(shifted(ROSTER, "most_shifts", 1, ("Dov",))).solve(),
    ),
    (
        "Bo is ill on Monday and Tuesday. How much more do we pay?",
        "whatif forbid works[Bo, {Mon, Tue}, *]",
        "objective.difference",
        lambda: _best(_bounded(data.roster_truth(), _slots("Bo", ["Mon", "Tue"]), high=0)) - BASE["roster"](),
    ),
    (
        "Can we manage without Eve?",
        "whatif forbid works[Eve, *, *]",
        "status_after",
        lambda: _bounded(data.roster_truth(), _slots("Eve"), high=0).solve(),
    ),
    (
        "Every nurse gets a rise of 4 %. What is the new weekly cost?",
        "whatif wage *= 1.04",
        "objective.after",
        lambda: data.roster_truth(scaled(ROSTER, "wage", 1.04)).solve(),
    ),
    (
        "What if Ana only works early shifts?",
        "whatif forbid works[Ana, *, late]",
        "objective.after",
        lambda: _bounded(data.roster_truth(), _slots("Ana", shifts=["late"]), high=0).solve(),
    ),
    ("How many shifts are needed in all?", "total need", "total", lambda: sum(ROSTER["need"].values())),
    (
        "We need one nurse more on Friday late. How much does that cost?",
        "whatif need[Fri, late] += 1",
        "objective.difference",
        lambda: _best(data.roster_truth(shifted(ROSTER, "need", 1, ("Fri", "late")))) - BASE["roster"](),
    ),
    (
        "Ana and Bo must never work on the same day. What does that cost us?",
        "whatif row apart: sum works[{Ana, Bo}, *, *] by day <= 1",
        "objective.difference",
        lambda: _best(_apart()) - BASE["roster"](),
    ),
    (
        "How few shifts could Eve get if we accept to pay 100 EUR more?",
        "least sum works[Eve, *, *] within 100",
        "figure",
        lambda: _extreme(data.roster_truth(), dict.fromkeys(_slots("Eve"), 1.0), 1.0, 100),
    ),
)
FEED_QUESTIONS = _questions(
    "feed",
    ("What does the cheapest mix cost?", "solve", "objective", BASE["feed"]),
    (
        "Maize becomes 15 % dearer. What do we pay then?",
        "whatif price[maize] *= 1.15",
        "objective.after",
        lambda: data.feed_truth(scaled(FEED, "price", 1.15, lambda grain: grain == "maize")).solve(),
    ),
    (
        "How many tons of soy meal does the cheapest mix take?",
        'total use["soy meal", *]',
        "total",
        lambda: _at_optimum(data.feed_truth, SOY),
    ),
    (
        "What is one more ton of barley in stock worth?",
        "price stock[barley]",
        "members[0].price_up",
        lambda: _best(data.feed_truth(shifted(FEED, "stock", 1, ("barley",)))) - BASE["feed"](),
    ),
    (
        "What if there were no bran at all?",
        "whatif stock[bran] = 0",
        "objective.after",
        lambda: data.feed_truth({**FEED, "stock": {**FEED["stock"], ("bran",): 0.0}}).solve(),
    ),
    (
        "At most a fifth of the cattle feed may be bran. How much more does the mix cost?",
        "whatif row share: use[bran, cattle] - 0.2 sum use[*, cattle] <= 0",
        "objective.difference",
        lambda: _best(_with_row(data.feed_truth(), {("use", "bran", "cattle"): 1.0}, -INF, 14)) - BASE["feed"](),
    ),
    (
        "Poultry orders grow by 10 t, its protein by 1.8 t and its fibre allowance by 0.5 t. What is the new cost?",
        "whatif order[poultry] += 10; protein_needed[poultry] += 1.8; fibre_allowed[poultry] += 0.5",
        "objective.after",
        lambda: data.feed_truth(_larger_poultry()).solve(),
    ),
    (
        "One more ton of a grain in stock: for which grain does that save most, and how much?",
        "top 1 stock by price",
        "members[0].price_up",
        lambda: min(_best(data.feed_truth(shifted(FEED, "stock", 1, (grain,)))) for grain in GRAINS) - BASE["feed"](),
    ),
    (
        "How much barley could go into the cattle feed at most, whatever it costs?",
        "most use[barley, cattle]",
        "figure",
        lambda: _extreme(data.feed_truth(), {("use", "barley", "cattle"): 1.0}, -1.0),
    ),
    (
        "Could we mix 50 % more of both feeds, if protein and fibre limits grow alike?",
        "whatif order *= 1.5; protein_needed *= 1.5; fibre_allowed *= 1.5",
        "status_after",
        lambda: data.feed_truth(_shares(1.5)).solve(),
    ),
)
BATTERY_QUESTIONS = _questions(
    "battery",
    ("What is the day's bill?", "solve", "objective", BASE["battery"]),
    ("What would we pay without the battery?", "whatif size = 0", "objective.after", lambda: _battery(0)),
    (
        "How much does the battery save us?",
        "whatif size = 0",
        "objective.difference",
        lambda: _battery(0) - _battery(60),
    ),
    (
        "How much dearer would the day be with a battery of 40 kWh?",
        "whatif size = 40",
        "objective.difference",
        lambda: _battery(40) - _battery(60),
    ),
    (
        "Show the bill for battery sizes of 0, 30, 60 and 90 kWh.",
        "sweep size = 0, 30, 60, 90",
        "points[1].objective",
        lambda: _battery(30),
    ),
    (
        "The grid gives us only 65 kWh an hour. What now?",
        "whatif grid = 65",
        "status_after",
        lambda: data.battery_truth({**BATTERY, "grid": {(): 65.0}}).solve(),
    ),
    (
        "The tariff at 15:00 doubles. What is the new bill?",
        'whatif tariff["15:00"] *= 2',
        "objective.after",
        lambda: data.battery_truth(scaled(BATTERY, "tariff", 2, lambda hour: hour == "15:00")).solve(),
    ),
    (
        "What is the least energy that we could buy over the day?",
        "least sum buy",
        "figure",
        lambda: data.battery_truth(goal="bought").solve(),
    ),
    (
        "How much do we buy from 10:00 to 12:00 in the cheapest plan?",
        'total buy["10:00".."12:00"]',
        "total",
        lambda: _at_optimum(data.battery_truth, {("buy", hour): 1.0 for hour in CLOCK[4:7]}),
    ),
    (
        "The battery must hold 60 kWh at the end of 14:00. What does that cost?",
        'whatif level["14:00"] = 60',
        "objective.difference",
        lambda: _best(_bounded(data.battery_truth(), [("level", "14:00")], low=60)) - BASE["battery"](),
    ),
)
CAPITAL_QUESTIONS = _questions(
    "capital",
    ("What are the best projects worth together?", "solve", "objective", BASE["capital"]),
    (
        "Why don't we build the hub? What would we lose with it?",
        "whynot build[hub] = 1",
        "objective.difference",
        lambda: _best(_bounded(data.capital_truth(), ["hub"], low=1)) - BASE["capital"](),
    ),
    (
        "What would 5 MEUR more in 2027 bring?",
        "whatif budget[2027] += 5",
        "objective.difference",
        lambda: _best(data.capital_truth(shifted(CAPITAL, "budget", 5, ("2027",)))) - BASE["capital"](),
    ),
    (
        "Each budget is cut by a tenth. What worth is left?",
        "whatif budget *= 0.9",
        "objective.after",
        lambda: data.capital_truth(scaled(CAPITAL, "budget", 0.9)).solve(),
    ),
    (
        "What if hub and depot could both be built?",
        "whatif drop one_yard",
        "objective.after",
        lambda: _best(_with_row_removed(data.capital_truth(), {"hub": 1, "depot": 1})),
    ),
    (
        "Is it possible to build at least five projects?",
        "whatif row five: sum build >= 5",
        "status_after",
        lambda: _with_row(data.capital_truth(), dict.fromkeys(PROJECTS, 1.0), 5, INF).solve(),
    ),
    (
        "How much of the budget of 2028 does the best choice spend?",
        "slack spend[2028]",
        "members[0].value",
        lambda: _at_optimum(data.capital_truth, {name: CAPITAL["cost"][name, "2028"] for name in PROJECTS}),
    ),
    (
        "Which project costs most over the three years, and how much?",
        "total cost by project",
        "groups[0].total",
        lambda: max(sum(CAPITAL["cost"][name, year] for year in YEARS) for name in PROJECTS),
    ),
    (
        "Sidings cost 1 MEUR less in each year. What is the best worth then?",
        "whatif cost[sidings, *] -= 1",
        "objective.after",
        lambda: data.capital_truth(shifted(CAPITAL, "cost", -1, *(("sidings", year) for year in YEARS))).solve(),
    ),
    (
        "How much worse is the second best choice of projects?",
        "alternatives 2",
        "solutions[0].difference",
        _second_best,
    ),
)
FARM_QUESTIONS = _questions(
    "farm",
    ("What does the farm earn at best?", "solve", "objective", BASE["farm"]),
    (
        "A dry year: 30 ML less water. What profit is left?",
        "whatif water_limit -= 30",
        "objective.after",
        lambda: data.farm_truth(shifted(FARM, "water_limit", -30, ())).solve(),
    ),
    (
        "What is one more hour of labour worth?",
        "price labour_limit",
        "members[0].price_up",
        lambda: _best(data.farm_truth(shifted(FARM, "labour_limit", 1, ()))) - BASE["farm"](),
    ),
    ("How many hectares of beet do we sow?", "total sow[beet, *]", "total", lambda: _at_optimum(data.farm_truth, BEET)),
    (
        "No rape on the river field: what does that cost?",
        "whatif forbid sow[rape, river]",
        "objective.difference",
        lambda: _best(_bounded(data.farm_truth(), [("sow", "rape", "river")], high=0)) - BASE["farm"](),
    ),
    (
        "What do we earn if at least a fifth of all that is sown must be peas?",
        "whatif row peas_share: sum sow[peas, *] >= 0.2 sum sow",
        "objective.after",
        lambda: _best(_with_row(data.farm_truth(), PEAS, 0, INF)),
    ),
    (
        "How much beet could we sow if we give up at most 1000 EUR?",
        "most sum sow[beet, *] within 1000",
        "figure",
        lambda: _extreme(data.farm_truth(), BEET, -1.0, 1000),
    ),
    (
        "How many hectares do we sow in all if we have 200 hours of labour less?",
        "whatif labour_limit -= 200",
        "moved[0].total_after",
        lambda: _at_optimum(lambda: data.farm_truth(shifted(FARM, "labour_limit", -200, ())), SOWN),
    ),
    (
        "Wheat brings 700 EUR a hectare. What do we earn then?",
        "whatif margin[wheat] = 700",
        "objective.after",
        lambda: data.farm_truth({**FARM, "margin": {**FARM["margin"], ("wheat",): 700.0}}).solve(),
    ),
    (
        "10 % more water and 10 % more labour: how much more do we earn?",
        "whatif water_limit *= 1.1; labour_limit *= 1.1",
        "objective.difference",
        lambda: _best(data.farm_truth(scaled(scaled(FARM, "water_limit", 1.1), "labour_limit", 1.1))) - BASE["farm"](),
    ),
)
HOSPITAL_QUESTIONS = _questions(
    "hospital",
    ("Is there any plan at all?", "solve", "status", lambda: data.hospital_truth().solve()),
    (
        "How many beds are missing?",
        "conflict",
        "aggregate.shortage",
        lambda: sum(HOSPITAL["patients"].values()) - sum(HOSPITAL["beds"].values()),
    ),
    (
        "What is the least total change of beds that makes a plan possible?",
        "repair room",
        "total",
        lambda: sum(HOSPITAL["patients"].values()) - sum(HOSPITAL["beds"].values()),
    ),
    (
        "10 more beds in B1: how long do the patients walk in all?",
        "whatif beds[B1] += 10",
        "objective.after",
        lambda: data.hospital_truth(shifted(HOSPITAL, "beds", 10, ("B1",))).solve(),
    ),
    (
        "Seven adults go to another hospital. How much walking is there in all?",
        "whatif patients[adults] -= 7",
        "objective.after",
        lambda: data.hospital_truth(shifted(HOSPITAL, "patients", -7, ("adults",))).solve(),
    ),
    (
        "Would 5 beds more in A1 be enough?",
        "whatif beds[A1] += 5",
        "status_after",
        lambda: data.hospital_truth(shifted(HOSPITAL, "beds", 5, ("A1",))).solve(),
    ),
    ("How many beds do we have?", "total beds", "total", lambda: sum(HOSPITAL["beds"].values())),
    (
        "With 45 beds in A2 and 35 in B1, how much walking is there?",
        "whatif beds[A2] = 45; beds[B1] = 35",
        "objective.after",
        lambda: data.hospital_truth(
            {**HOSPITAL, "beds": dict(zip(HOSPITAL["beds"], (30.0, 45.0, 35.0), strict=True))}
        ).solve(),
    ),
    (
        "Children may lie in A1 only, and A2 gets 10 beds more. How much walking is there?",
        "whatif beds[A2] += 10; forbid put[children, {A2, B1}]",
        "objective.after",
        lambda: _bounded(
            data.hospital_truth(shifted(HOSPITAL, "beds", 10, ("A2",))),
            [("put", "children", ward) for ward in WARDS[1:]],
            high=0,
        ).solve(),
    ),
    (
        "Each ward gets a tenth more beds. How much walking is there?",
        "whatif beds *= 1.1",
        "objective.after",
        lambda: data.hospital_truth(scaled(HOSPITAL, "beds", 1.1)).solve(),
    ),
)
QUESTIONS = (
    *ROSTER_QUESTIONS,
    *FEED_QUESTIONS,
    *BATTERY_QUESTIONS,
    *CAPITAL_QUESTIONS,
    *FARM_QUESTIONS,
    *HOSPITAL_QUESTIONS,
)
