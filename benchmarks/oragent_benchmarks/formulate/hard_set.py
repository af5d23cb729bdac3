"""Ten problems with long texts, tables, more than 50 variables, and details that are easily missed.

The text is in ``hard/NAME.txt``; the tables are generated from a fixed seed. The label is the optimum of the model
written here. ``tests/formulate/test_hard_set.py`` computes it again from the tables alone, with other algorithms.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from oragent._base.prompt_templates import PromptFolder
from oragent.formulate.problem import ProblemText
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import INFINITY, Relation, Sense, VariableKind
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.solving.model_solving import solve
from oragent_benchmarks.formulate.labelled import Label, Labelled, ProblemSet

TEXTS = PromptFolder("oragent_benchmarks.formulate", "hard")
SEED = 20261127
Tables = dict[str, Any]
Records = list[dict[str, Any]]


@dataclass
class ModelDraft:
    """A model under construction."""

    sense: Sense
    variables: list[Variable] = field(default_factory=list)
    costs: dict[str, float] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)

    def add(
        self, name: str, high: float = INFINITY, *, low: float = 0.0, cost: float = 0.0, whole: bool = False
    ) -> str:
        """Add a variable and return its name."""
        kind = VariableKind.INTEGER if whole else VariableKind.CONTINUOUS
        self.variables.append(Variable(name, low, high, kind))
        self.costs[name] = cost
        return name

    def row(self, name: str, terms: Mapping[str, float], relation: str, rhs: float) -> None:
        """Add a row; terms with coefficient 0 are left out."""
        nonzero = {variable: value for variable, value in terms.items() if value}
        self.rows.append(Row(name, nonzero, Relation(relation), rhs))

    def milp(self, name: str) -> IndexedModel:
        """Return the model."""
        costs = {variable: value for variable, value in self.costs.items() if value}
        return IndexedModel.from_records(tuple(self.variables), tuple(self.rows), Objective(costs), self.sense, name)


def minutes_of(clock: str) -> int:
    """Return the minutes since midnight of a time such as ``07:30``."""
    hours, _, minutes = clock.partition(":")
    return 60 * int(hours) + int(minutes)


def make_lots(rng: np.random.Generator) -> tuple[Tables, IndexedModel]:
    """Make a lot-sizing problem: three flavours in sixteen weeks."""
    flavours = {"vanilla": (310.0, 240.0, 300.0), "lemon": (260.0, 150.0, 0.0), "cocoa": (465.0, 0.0, 0.0)}
    rows: Records = [{"week": week, **{f: 12 * int(rng.integers(5, 40)) for f in flavours}} for week in range(1, 17)]
    draft = ModelDraft(Sense.MINIMIZE)
    for flavour, (cleaning, start, end) in flavours.items():
        total = sum(row[flavour] for row in rows) + end
        for row in rows:
            week = row["week"]
            produced = draft.add(f"make[{flavour},{week}]", cost=0.40 if week <= 8 else 0.46)
            cleaned = draft.add(f"clean[{flavour},{week}]", 1, cost=cleaning, whole=True)
            least = end if week == 16 else 0.0
            stock = draft.add(f"stock[{flavour},{week}]", low=least, cost=0.024)
            draft.row(f"cleaned[{flavour},{week}]", {produced: 1, cleaned: -total}, "<=", 0)
            previous = {f"stock[{flavour},{week - 1}]": 1} if week > 1 else {}
            demand = row[flavour] - (start if week == 1 else 0)
            draft.row(f"balance[{flavour},{week}]", {**previous, produced: 1, stock: -1}, "=", demand)
    return {"demand": rows}, draft.milp("lots")


def make_projects(rng: np.random.Generator) -> tuple[Tables, IndexedModel]:
    """Make an assignment problem: forty students and twelve projects."""
    projects = [f"P{number}" for number in range(1, 13)]
    popular = np.array([6, 5, 4, 4, 3, 3, 2, 2, 1, 1, 1, 1]) / 33
    students = [f"S{number:02}" for number in range(1, 41)]
    choices = ("first", "second", "third", "fourth")
    wishes: Records = []
    for student in students:
        named = rng.choice(len(projects), 4, replace=False, p=popular)
        wishes.append({"student": student, **{c: projects[p] for c, p in zip(choices, named, strict=True)}})
    seats: Records = [
        {"project": name, "room": f"R{3 * at + 1}", "seats": 5 if at % 3 else 4} for at, name in enumerate(projects)
    ]
    promised: Records = [{"student": wishes[at]["student"], "project": wishes[at]["third"]} for at in (4, 17, 31)]
    draft = ModelDraft(Sense.MINIMIZE)
    members: dict[str, dict[str, float]] = {name: {} for name in projects}
    for wish in wishes:
        names = {}
        for choice, points in zip(choices, (0, 1, 4, 9), strict=True):
            name = draft.add(f"x[{wish['student']},{wish[choice]}]", 1, cost=points, whole=True)
            names[name] = members[wish[choice]][name] = 1.0
        draft.row(f"one[{wish['student']}]", names, "=", 1)
    for seat in seats:
        draft.row(f"seats[{seat['project']}]", members[seat["project"]], "<=", seat["seats"] - 1)
    for promise in promised:
        draft.row(f"promised[{promise['student']}]", {f"x[{promise['student']},{promise['project']}]": 1}, "=", 1)
    return {"wishes": wishes, "projects": seats, "promised": promised}, draft.milp("projects")


def make_depots(rng: np.random.Generator) -> tuple[Tables, IndexedModel]:
    """Make a transport problem: six depots and eighteen shops."""
    depots = {"Gera": 62, "Halle": 70, "Jena": 48, "Riesa": 66, "Suhl": 54, "Zeitz": 58}
    shops: Records = [{"shop": f"shop {number}", "pallets": int(rng.integers(15, 55))} for number in range(1, 19)]
    roads: Records = [
        {"depot": depot, "shop": shop["shop"], "km": int(rng.integers(20, 240)) + (90 if depot == "Halle" else 0)}
        for depot in depots
        for shop in shops
    ]
    closed: Records = [
        {"depot": depot, "shop": f"shop {n}"} for depot, n in (("Gera", 3), ("Jena", 11), ("Suhl", 4), ("Riesa", 9))
    ]
    shut = {(road["depot"], road["shop"]) for road in closed}
    draft = ModelDraft(Sense.MINIMIZE)
    out: dict[str, dict[str, float]] = {depot: {} for depot in depots}
    into: dict[str, dict[str, float]] = {shop["shop"]: {} for shop in shops}
    for road in roads:
        if (road["depot"], road["shop"]) not in shut:
            cost = 0.4 * (0.12 * road["km"] + 4)
            name = draft.add(f"pallets[{road['depot']},{road['shop']}]", cost=cost)
            out[road["depot"]][name] = 0.4
            into[road["shop"]][name] = 1.0
    for depot, stock in depots.items():
        draft.row(f"stock[{depot}]", out[depot], "<=", stock - (6 if depot == "Riesa" else 0))
    draft.row("contract", out["Halle"], ">=", 36)
    for shop in shops:
        draft.row(f"need[{shop['shop']}]", into[shop["shop"]], "=", shop["pallets"])
    stocks: Records = [{"depot": depot, "stock_t": stock} for depot, stock in depots.items()]
    return {"depots": stocks, "shops": shops, "roads": roads, "closed": closed}, draft.milp("depots")


def make_grants(rng: np.random.Generator) -> tuple[Tables, IndexedModel]:
    """Make a selection problem: seventy proposals and a limited sum of money."""
    proposals: Records = [
        {
            "number": number,
            "group": f"G{int(rng.integers(1, 41)):02}",
            "cost": 2 * int(rng.integers(20, 130)),
            "score": int(rng.integers(25, 100)),
            "partner": "yes" if rng.random() < 0.3 else "no",
            "running": "yes" if number in (9, 34, 58) else "no",
        }
        for number in range(1, 71)
    ]
    draft = ModelDraft(Sense.MAXIMIZE)
    money: dict[str, float] = {}
    groups: dict[str, dict[str, float]] = {}
    for proposal in proposals:
        running = proposal["running"] == "yes"
        high = 1.0 if running or proposal["score"] >= 40 else 0.0
        name = draft.add(f"grant[{proposal['number']}]", high, low=float(running), cost=proposal["score"], whole=True)
        money[name] = proposal["cost"] * (0.5 if proposal["partner"] == "yes" else 1.0)
        groups.setdefault(proposal["group"], {})[name] = 1.0
    draft.row("money", money, "<=", 2600)
    for group, names in groups.items():
        draft.row(f"one[{group}]", names, "<=", 1)
    return {"proposals": proposals}, draft.milp("grants")


def make_courts(rng: np.random.Generator) -> tuple[Tables, IndexedModel]:
    """Make a booking problem: requests for two courts."""
    requests: Records = []
    for number in range(1, 56):
        start = 15 * int(rng.integers(28, 86))
        end = start + 15 * int(rng.integers(3, 10))
        clock = {"start": f"{start // 60:02}:{start % 60:02}", "end": f"{end // 60:02}:{end % 60:02}"}
        fee = round((end - start) / 60 * float(rng.integers(18, 40)))
        requests.append({"number": number, **clock, "fee": fee, "member": "yes" if rng.random() < 0.4 else "no"})
    draft = ModelDraft(Sense.MAXIMIZE)
    spans = {}
    for request in requests:
        start, end = minutes_of(request["start"]), minutes_of(request["end"])
        fits = start >= minutes_of("07:30") and end <= minutes_of("22:00")
        fee = request["fee"] * (0.8 if request["member"] == "yes" else 1.0)
        spans[draft.add(f"take[{request['number']}]", float(fits), cost=fee, whole=True)] = (start, end + 15)
    for start in sorted({span[0] for span in spans.values()}):
        busy = {name: 1.0 for name, span in spans.items() if span[0] <= start < span[1]}
        draft.row(f"courts[{start}]", busy, "<=", 2)
    return {"requests": requests}, draft.milp("courts")


def make_battery(rng: np.random.Generator) -> tuple[Tables, IndexedModel]:
    """Make a trading problem: a battery that buys and sells energy for 48 hours."""
    hours = range(1, 49)
    wave = [6 + 5 * np.sin((hour - 9) / 24 * 2 * np.pi) for hour in hours]
    prices: Records = [
        {"hour": hour, "price": round(float(level + rng.normal(0, 2.5)), 2)}
        for hour, level in zip(hours, wave, strict=True)
    ]
    banned = {18, 19, 20, 42, 43, 44, 30}
    draft = ModelDraft(Sense.MAXIMIZE)
    for row in prices:
        hour, price = row["hour"], 10 * row["price"]
        charge = draft.add(f"charge[{hour}]", 0 if hour in banned else 3, cost=-price)
        sell = draft.add(f"discharge[{hour}]", 0 if hour == 30 else 4, cost=price - 2.5)
        level = draft.add(f"level[{hour}]", 12, low=5 if hour == 48 else 1)
        previous = {f"level[{hour - 1}]": -1.0} if hour > 1 else {}
        draft.row(f"balance[{hour}]", {level: 1, **previous, charge: -1, sell: 1}, "=", 5 if hour == 1 else 0)
    return {"prices": prices}, draft.milp("battery")


def make_boilers(rng: np.random.Generator) -> tuple[Tables, IndexedModel]:
    """Make a scheduling problem: two boilers in 36 hours."""
    demand: Records = [
        {"hour": hour, "heat": round(float(6 + 4.2 * np.sin((hour - 2) / 12 * np.pi) + rng.normal(0, 1.3)), 1)}
        for hour in range(1, 37)
    ]
    demand = [{"hour": row["hour"], "heat": min(15.5, max(1.2, row["heat"]))} for row in demand]
    draft = ModelDraft(Sense.MINIMIZE)
    boilers = {"Alpha": (2, 8, 24, 90, 1), "Beta": (1, 5, 31, 40, 0)}
    for row in demand:
        hour = row["hour"]
        heat = {draft.add(f"bought[{hour}]", 4, cost=55): 1.0}
        for boiler, (least, maximum, price, start_cost, was_on) in boilers.items():
            on = draft.add(f"on[{boiler},{hour}]", 1, whole=True)
            start = draft.add(f"start[{boiler},{hour}]", 1, cost=start_cost, whole=True)
            produced = draft.add(f"heat[{boiler},{hour}]", maximum, cost=price)
            heat[produced] = 1.0
            draft.row(f"most[{boiler},{hour}]", {produced: 1, on: -maximum}, "<=", 0)
            draft.row(f"least[{boiler},{hour}]", {produced: 1, on: -least}, ">=", 0)
            previous = {f"on[{boiler},{hour - 1}]": 1.0} if hour > 1 else {}
            draft.row(
                f"starts[{boiler},{hour}]",
                {on: 1, start: -1, **{n: -v for n, v in previous.items()}},
                "<=",
                was_on if hour == 1 else 0,
            )
            if boiler == "Alpha":
                for later in range(hour + 1, min(hour + 4, 37)):
                    draft.row(f"runs[{hour},{later}]", {f"on[Alpha,{later}]": 1, start: -1}, ">=", 0)
        draft.row(f"demand[{hour}]", heat, "=", row["heat"])
    return {"demand": demand}, draft.milp("boilers")


def make_sites(rng: np.random.Generator) -> tuple[Tables, IndexedModel]:
    """Make a location problem: health stations for thirty villages."""
    names = ("Amt", "Birk", "Clus", "Dorn", "Esch", "Furt", "Grab")
    places = rng.uniform(0, 44, (len(names), 2))
    homes = rng.uniform(0, 44, (30, 2))
    km = np.round(np.hypot(*(places[:, None] - homes[None]).transpose(2, 0, 1))).astype(int)
    # One site is near every village.
    km[2, :] = np.minimum(km[2, :], 24)
    sites: Records = [{"site": name, "rent": 100 * int(rng.integers(110, 190))} for name in names]
    villages: Records = [{"village": f"V{at + 1:02}", "visits": int(rng.integers(30, 160))} for at in range(30)]
    distances: Records = [
        {"site": name, "village": village["village"], "km": int(km[at, to])}
        for at, name in enumerate(names)
        for to, village in enumerate(villages)
    ]
    draft = ModelDraft(Sense.MINIMIZE)
    opened = {row["site"]: draft.add(f"open[{row['site']}]", 1, cost=row["rent"], whole=True) for row in sites}
    closed = draft.add("give_up", 1, cost=9000, whole=True)
    draft.row("Dorn", {opened["Dorn"]: 1, closed: 1}, "=", 1)
    draft.row("at_most", dict.fromkeys(opened.values(), 1.0), "<=", 4)
    visits = {row["village"]: row["visits"] for row in villages}
    served: dict[str, dict[str, float]] = {village: {} for village in visits}
    for row in distances:
        if row["km"] <= 25:
            cost = 1.2 * row["km"] * visits[row["village"]]
            name = draft.add(f"serve[{row['site']},{row['village']}]", 1, cost=cost, whole=True)
            served[row["village"]][name] = 1.0
            draft.row(f"needs[{row['site']},{row['village']}]", {name: 1, opened[row["site"]]: -1}, "<=", 0)
    for village, choices in served.items():
        draft.row(f"served[{village}]", choices, "=", 1)
    return {"sites": sites, "villages": villages, "distances": distances}, draft.milp("sites")


def make_ward(rng: np.random.Generator) -> tuple[Tables, IndexedModel]:
    """Make a rostering problem: nine nurses. It is infeasible, because two days cannot be staffed."""
    nurses: Records = []
    for name in ("Ann", "Bea", "Cem", "Dao", "Eli", "Fay", "Gus", "Hoa", "Ian"):
        days = sorted(int(day) for day in rng.choice(np.arange(1, 15), 10, replace=False))
        nurses.append(
            {"nurse": name, "available": days, "most": int(rng.integers(7, 9)), "wage": int(rng.integers(150, 220))}
        )
    free = {day: sum(day in nurse["available"] for nurse in nurses) for day in range(1, 15)}
    needed: Records = [{"day": day, "nurses": min(4, free[day])} for day in range(1, 15)]
    # Days 5 and 6 need all nurses who are available, but one nurse who is available on both may work only one shift.
    for nurse in nurses:
        if 5 in nurse["available"] and 6 in nurse["available"] and nurse["nurse"] in ("Ann", "Cem", "Fay"):
            nurse["most"] = 1
    needed[4]["nurses"], needed[5]["nurses"] = free[5], free[6]
    draft = ModelDraft(Sense.MINIMIZE)
    by_day: dict[int, dict[str, float]] = {day: {} for day in free}
    for nurse in nurses:
        shifts = {}
        for day in range(1, 15):
            high = float(day in nurse["available"])
            name = draft.add(f"works[{nurse['nurse']},{day}]", high, cost=nurse["wage"], whole=True)
            shifts[name] = by_day[day][name] = 1.0
        draft.row(f"most[{nurse['nurse']}]", shifts, "<=", nurse["most"])
    for row in needed:
        draft.row(f"needed[{row['day']}]", by_day[row["day"]], ">=", row["nurses"])
    return {"nurses": nurses, "needed": needed}, draft.milp("ward")


def make_stock(rng: np.random.Generator) -> tuple[Tables, IndexedModel]:
    """Make an ordering problem under uncertainty: eight articles and six kinds of season."""
    names = ("umbrellas", "hats", "kites", "towels", "balls", "lamps", "grills", "chairs")
    seasons = {"wet": 15, "cool": 20, "usual": 30, "warm": 15, "hot": 10, "odd": 5}
    articles: Records = []
    for name in names:
        pieces, price = int(rng.integers(4, 13)), int(rng.integers(20, 60))
        sold = round(price / pieces * float(rng.uniform(1.5, 2.4)), 2)
        salvage = round(price / pieces * float(rng.uniform(0.2, 0.6)), 2)
        articles.append({"article": name, "pieces": pieces, "pack_price": price, "sold": sold, "dealer": salvage})
    demand: Records = [
        {
            "season": season,
            **{a["article"]: int(rng.integers(0, 8) * a["pieces"] + rng.integers(0, 5)) for a in articles},
        }
        for season in seasons
    ]
    chance = {season: (percent + (5 if season == "usual" else 0)) / 100 for season, percent in seasons.items()}
    draft = ModelDraft(Sense.MAXIMIZE)
    money = {}
    for article in articles:
        name = article["article"]
        packs = draft.add(
            f"packs[{name}]", 9, low=2 if name == "umbrellas" else 0, cost=-article["pack_price"], whole=True
        )
        money[packs] = float(article["pack_price"])
        for row in demand:
            season = row["season"]
            taken = draft.add(f"sold[{name},{season}]", row[name], cost=chance[season] * article["sold"])
            dealer = draft.add(f"left[{name},{season}]", cost=chance[season] * article["dealer"])
            draft.row(f"pieces[{name},{season}]", {taken: 1, dealer: 1, packs: -article["pieces"]}, "=", 0)
    draft.row("money", money, "<=", 900)
    chances: Records = [{"season": season, "percent": percent} for season, percent in seasons.items()]
    return {"articles": articles, "demand": demand, "seasons": chances}, draft.milp("stock")


MAKERS: Mapping[str, Callable[[np.random.Generator], tuple[Tables, IndexedModel]]] = {
    "lots": make_lots,
    "projects": make_projects,
    "depots": make_depots,
    "grants": make_grants,
    "courts": make_courts,
    "battery": make_battery,
    "boilers": make_boilers,
    "sites": make_sites,
    "ward": make_ward,
    "stock": make_stock,
}


@lru_cache
def hard_set() -> ProblemSet:
    """Return the ten problems with their optima."""
    return ProblemSet("hard", f"{len(MAKERS)} problems of our own with long texts and tables", tuple(_cases()))


def _cases() -> Iterator[Labelled]:
    for at, (name, make) in enumerate(MAKERS.items()):
        data, milp = make(np.random.default_rng([SEED, at]))
        solution = solve(milp, duals=False)
        infeasible = solution.status is SolveStatus.INFEASIBLE
        label = Label(status="infeasible") if infeasible else Label(solution.objective)
        yield Labelled(ProblemText(name, TEXTS.fill(name), data), label, milp)
