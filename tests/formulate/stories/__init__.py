"""Ten stories with data files, replies that a strong model wrote from the prompts, and answers computed without them."""

import io
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linprog

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Story:
    """A problem with its files and the answer; the text and the recorded replies are ``NAME.md``.

    Attributes:
        files: Content by name of file.
        truth: Returns the optimum, of each aim in order if there are several; None if no plan exists.
    """

    name: str
    truth: Callable[[], float | tuple[float, ...] | None]
    files: Mapping[str, bytes] = field(default_factory=dict)

    def data(self) -> dict[str, Any]:
        """Parameters of the story's JSON files."""
        return {key: item for content in self.files.values() for key, item in json.loads(content).items()}

    @property
    def parts(self) -> list[str]:
        """Text, reply with the program, reply with the checker, and where a sentence has two readings the other program."""
        return (FOLDER / f"{self.name}.md").read_text().split("\n<!-- reply -->\n")


def order_rows() -> list[dict[str, object]]:
    """500 orders of three regions."""
    rng = np.random.default_rng(7)
    regions = ("north", "west", "harbour")
    return [
        {
            "order": f"A{number:03}",
            "region": regions[rng.integers(3)],
            "kg": int(rng.integers(20, 400)),
            "margin": int(rng.integers(4, 90)),
            "urgent": "yes" if rng.random() < 0.06 else "no",
        }
        for number in range(1, 501)
    ]


VANS = {"north": 6200, "west": 5400, "harbour": 7100}


def orders_truth() -> float:
    """Knapsack by dynamic programming for each region."""
    total = 0.0
    for region, capacity in VANS.items():
        rows = [row for row in order_rows() if row["region"] == region]
        room = capacity - sum(row["kg"] for row in rows if row["urgent"] == "yes")
        best = np.zeros(room + 1)
        for row in rows:
            if row["urgent"] == "no":
                kg = row["kg"]
                best[kg:] = np.maximum(best[kg:], best[: room + 1 - kg] + row["margin"])
        total += best[-1] + sum(row["margin"] for row in rows if row["urgent"] == "yes")
    return total


FEED = """Futtermittel Preisliste KW 48;;;
;;;
Komponente;Preis EUR/dt;Rohprotein %;Rohfaser %
Weizen;21,40;12,1;2,6
Gerste;19,85;10,8;4,7
Sojaschrot;41,20;44,0;6,1
Rapskuchen;28,60;33,5;12,4
Kleie;16,30;14,9;11,2
Summe;127,35;;
"""


def feed_truth() -> float:
    """Cost of 30 dt of feed in EUR."""
    price = [21.40, 19.85, 41.20, 28.60, 16.30]
    protein, fibre = np.array([12.1, 10.8, 44, 33.5, 14.9]), np.array([2.6, 4.7, 6.1, 12.4, 11.2])
    rows = [-(protein - 17.5), fibre - 6.0, [-0.4, 0.6, -0.4, -0.4, -0.4]]
    return linprog(price, rows, [0, 0, 0], [np.ones(5)], [30], bounds=[(0, None)] * 3 + [(0, 3.5)] + [(0, None)]).fun


MACHINES = [
    ["Bakery Brandt, capacity planning", None, None, None, None],
    ["Product", "Profit per batch (EUR)", "Oven (h)", "Mixer (h)", "Ordered"],
    ["Rye", 62, 1.5, 0.75, 6],
    ["Spelt", 71, 1.75, 1.25, 0],
    ["Rolls", 48, 0.9, 0.6, 10],
    ["Cake", 83, 2.4, 1.5, 2],
]


def bakery_book() -> bytes:
    """The table as an Excel file with a title line."""
    import openpyxl

    book = openpyxl.Workbook()
    for row in MACHINES:
        book.active.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def bakery_truth() -> float:
    """Enumeration of whole batches."""
    rows = [row[1:] for row in MACHINES[2:]]
    ranges = [np.arange(row[3], int(40 / row[1]) + 1) for row in rows]
    batches = np.array(np.meshgrid(*ranges, indexing="ij")).reshape(len(rows), -1)
    profit, oven, mixer = (np.array([row[place] for row in rows]) @ batches for place in range(3))
    fits = (oven <= 40) & (mixer <= 26) & (batches[1] <= batches.sum(axis=0) / 4)
    return float(profit[fits].max())


def prices_truth() -> float:
    """Stationary point of the concave profit, with the row that binds if it does."""

    # profit at prices p, q: (p - 3)(240 - 30 p + 6 q) + (q - 4.5)(150 + 5 p - 12 q), cups at most 190
    def profit(p: float, q: float) -> float:
        return (p - 3) * (240 - 30 * p + 6 * q) + (q - 4.5) * (150 + 5 * p - 12 * q)

    free = np.linalg.solve([[-60, 11], [11, -24]], [-240 - 90 + 22.5, -150 - 54 + 18])
    if 390 - 25 * free[0] - 6 * free[1] <= 190:
        return profit(*free)
    grid = np.linspace(0, 40, 4_000_001)
    return float(profit((200 - 6 * grid) / 25, grid).max())


JOBS = {
    "gear": [["lathe", 4], ["mill", 3], ["grinder", 5]],
    "shaft": [["mill", 5], ["lathe", 6], ["grinder", 2]],
    "cover": [["grinder", 3], ["mill", 4], ["lathe", 2]],
    "flange": [["lathe", 3], ["grinder", 4], ["mill", 4]],
}


@cache
def jobs_truth() -> float:
    """Least makespan: every sequence of operations, each started as early as possible."""
    jobs, best = list(JOBS.values()), 10**6
    stack = [((0,) * len(jobs), (0,) * len(jobs), (("grinder", 0), ("lathe", 0), ("mill", 0)))]
    seen = set()
    while stack:
        state = stack.pop()
        if state in seen:
            continue
        seen.add(state)
        steps, ends, machines = state
        if all(step == 3 for step in steps):
            best = min(best, max(ends))
        for job, step in enumerate(steps):
            if step < 3:
                machine, hours = jobs[job][step]
                free = dict(machines)
                end = max(free[machine], ends[job]) + hours
                if end < best:
                    free[machine] = end
                    stack.append(
                        (
                            tuple(s + (j == job) for j, s in enumerate(steps)),
                            tuple(end if j == job else e for j, e in enumerate(ends)),
                            tuple(sorted(free.items())),
                        )
                    )
    return float(best)


ROSTER = {
    "nurses": {
        "Ivana": ["Mon", "Tue", "Wed"],
        "Jo": ["Tue", "Thu"],
        "Kim": ["Mon", "Thu", "Fri"],
        "Lea": ["Wed", "Fri"],
        "Mara": ["Mon", "Tue", "Fri"],
    },
    "needed": {"Mon": 2, "Tue": 2, "Wed": 2, "Thu": 3, "Fri": 1},
    "most_days": 2,
}


def fair_truth() -> float:
    """Cheapest numbers of coaches and vans for 137 visitors, at most 90 % of the seats filled."""
    return min(
        410.0 * coaches + 95.0 * vans
        for coaches in range(5)
        for vans in range(20)
        if 0.9 * (49 * coaches + 8 * vans) >= 137 and coaches + vans <= 9
    )


DEMAND = {
    "scenarios": {
        "quiet": {"chance": 0.3, "roses": 60, "tulips": 90},
        "usual": {"chance": 0.5, "roses": 110, "tulips": 140},
        "rush": {"chance": 0.2, "roses": 190, "tulips": 170},
    },
    "flowers": {
        "roses": {"cost": 1.1, "price": 2.9, "clearance": 0.4, "bunch": 20},
        "tulips": {"cost": 0.6, "price": 1.4, "clearance": 0.1, "bunch": 25},
    },
    "budget": 190,
}


def flowers_truth() -> float:
    """Best expected profit over all numbers of bunches."""
    best = -1e9
    for bunches in itertools.product(range(15), range(15)):
        stems = {name: n * f["bunch"] for (name, f), n in zip(DEMAND["flowers"].items(), bunches, strict=True)}
        cost = sum(DEMAND["flowers"][name]["cost"] * stems[name] for name in stems)
        if cost <= DEMAND["budget"]:
            value = sum(
                case["chance"]
                * (f["price"] * min(stems[name], case[name]) + f["clearance"] * max(0, stems[name] - case[name]))
                for case in DEMAND["scenarios"].values()
                for name, f in DEMAND["flowers"].items()
            )
            best = max(best, value - cost)
    return best


TUTORS = {
    "hours": {"Ada": 6, "Ben": 4, "Cai": 5},
    "wishes": {
        "algebra": {"Ada": 3, "Ben": 1, "Cai": 2},
        "physics": {"Ada": 2, "Ben": 3, "Cai": 0},
        "latin": {"Ada": 0, "Ben": 2, "Cai": 3},
        "chemistry": {"Ada": 1, "Ben": 2, "Cai": 2},
        "history": {"Ada": 3, "Ben": 3, "Cai": 1},
        "biology": {"Ada": 2, "Ben": 1, "Cai": 1},
    },
    "length": {"algebra": 3, "physics": 2, "latin": 4, "chemistry": 3, "history": 2, "biology": 3},
}


def tutors_truth() -> tuple[float, ...]:
    """Most courses, and the most wishes among the plans with so many."""
    best = (0, 0)
    people, courses = list(TUTORS["hours"]), list(TUTORS["length"])
    for plan in itertools.product([*people, None], repeat=len(courses)):
        chosen = {course: person for course, person in zip(courses, plan, strict=True) if person}
        load = {person: sum(TUTORS["length"][c] for c, p in chosen.items() if p == person) for person in people}
        fits = all(load[person] <= TUTORS["hours"][person] for person in people)
        if fits and all(TUTORS["wishes"][c][p] > 0 for c, p in chosen.items()):
            best = max(best, (len(chosen), sum(TUTORS["wishes"][c][p] for c, p in chosen.items())))
    return best


TARIFFS = {
    "offers": {
        "Nord": {"most": 900, "steps": [{"from": 0, "price": 7.2}, {"from": 300, "price": 6.5}, {"from": 600, "price": 6.1}]},
        "Sued": {"most": 700, "steps": [{"from": 0, "price": 6.9}, {"from": 400, "price": 6.4}]},
        "Ost": {"most": 500, "steps": [{"from": 0, "price": 6.6}]},
    },
    "needed": 1150,
    "fee": 120,
}  # fmt: skip


def tariffs_truth() -> float:
    """Cheapest whole tonnes of each supplier."""

    def costs(name: str) -> np.ndarray:
        offer = TARIFFS["offers"][name]
        tonnes = np.arange(offer["most"] + 1)
        prices = np.zeros(len(tonnes))
        for step in offer["steps"]:
            prices[tonnes >= step["from"]] = step["price"]
        return prices * tonnes + np.where(tonnes > 0, TARIFFS["fee"], 0)

    nord, sued, ost = map(costs, ("Nord", "Sued", "Ost"))
    rest = 1150 - np.arange(901)[:, None] - np.arange(701)
    fits = (rest >= 0) & (rest <= 500)
    total = nord[:, None] + sued + ost[np.clip(rest, 0, 500)]
    return float(total[fits].min())


def _orders_csv() -> bytes:
    rows = order_rows()
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


STORIES = (
    Story("orders", orders_truth, {"orders.csv": _orders_csv(), "vans.json": _json({"capacity": VANS})}),
    Story("feed", feed_truth, {"preise.csv": FEED.encode("cp1252")}),
    Story("bakery", bakery_truth, {"products.xlsx": bakery_book()}),
    Story("prices", prices_truth),
    Story("jobs", jobs_truth, {"jobs.json": _json({"jobs": JOBS})}),
    Story("roster", lambda: None, {"roster.json": _json(ROSTER)}),
    Story("fair", fair_truth),
    Story("flowers", flowers_truth, {"flowers.json": _json(DEMAND)}),
    Story("tutors", tutors_truth, {"tutors.json": _json(TUTORS)}),
    Story("tariffs", tariffs_truth, {"tariffs.json": _json(TARIFFS)}),
)
