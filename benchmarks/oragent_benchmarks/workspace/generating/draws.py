"""Random data of the model classes, and the names and figures of their changes and questions."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np

Key = tuple[str, ...]
Sets = dict[str, tuple[str, ...]]
Values = dict[str, dict[Key, float]]
Words = dict[str, object]
# Returns the given number of labels of a set.
Labels = Callable[[str, int], tuple[str, ...]]


def choose(rng: np.random.Generator, labels: Sequence[str], count: int = 1) -> list[str]:
    """Return different labels in random order."""
    return [labels[place] for place in rng.permutation(len(labels))[:count].tolist()]


def _draw(
    rng: np.random.Generator, labels: Sequence[Sequence[str]], low: float, high: float, step: float = 1.0
) -> dict[Key, float]:
    """Return a multiple of ``step`` between two limits for each key of the product of sets."""
    keys = list(product(*labels))
    draws = rng.integers(round(low / step), round(high / step) + 1, len(keys)).tolist()
    return {key: round(draw * step, 4) for key, draw in zip(keys, draws, strict=True)}


def _total(values: Mapping[Key, float], label: str) -> float:
    return sum(figure for key, figure in values.items() if label in key)


def location(rng: np.random.Generator, labels: Labels, size: Sequence[int]) -> tuple[Sets, Values, Words]:
    """Draw depots and customers in a square of 100 by 100."""
    depots, customers = labels("depot", size[0]), labels("customer", size[1])
    demand = _draw(rng, [customers], 8, 60)
    mean = round(sum(demand.values()) / len(depots))
    at = {name: rng.uniform(0, 100, 2) for name in (*depots, *customers)}
    values: Values = {
        "capacity": _draw(rng, [depots], 1.3 * mean, 2.6 * mean),
        "rent": _draw(rng, [depots], 8 * mean, 16 * mean, 10),
        "demand": demand,
        "rate": {
            (depot, customer): round(3 + 0.25 * float(np.hypot(*(at[depot] - at[customer]))) + rng.uniform(0, 2), 1)
            for depot, customer in product(depots, customers)
        },
        "least_load": {(): float(round(mean / 2))},
        "most_open": {(): float(round(0.75 * len(depots)))},
    }
    first, second, third = choose(rng, depots, 3)
    one, two, gone = choose(rng, customers, 3)
    words: Words = {
        "first": first, "next": second, "third": third, "one": one, "two": two, "gone": gone,
        "saving": int(rng.integers(3, 6)), "cap": mean, "bound": mean, "fee": 8 * mean,
        "toll": int(rng.integers(4, 12)), "more": round(demand[one,] * 2.5),
        "less": round(values["capacity"][first,] * 0.4),
    }  # fmt: skip
    return {"depot": depots, "customer": customers}, values, words


def lots(rng: np.random.Generator, labels: Labels, size: Sequence[int]) -> tuple[Sets, Values, Words]:
    """Draw items, orders and a line that is used to about two thirds."""
    items, weeks = labels("item", size[0]), labels("week", size[1])
    demand = _draw(rng, [items, weeks], 0, 60, 5)
    hours, setup_hours = _draw(rng, [items], 0.2, 0.8, 0.05), _draw(rng, [items], 2, 6, 0.5)
    load = sum(hours[item,] * pieces for (item, _), pieces in demand.items()) / len(weeks) + sum(setup_hours.values())
    values: Values = {
        "demand": demand,
        "hours": hours,
        "setup_hours": setup_hours,
        "setup_cost": _draw(rng, [items], 80, 260, 10),
        "holding": _draw(rng, [items], 0.5, 3, 0.1),
        "first_stock": _draw(rng, [items], 40, 80, 5),
        "line": _draw(rng, [weeks], 1.1 * load, 1.5 * load),
        "shelf": {(): 70.0 * len(items)},
        "most_setups": {(): float(round(0.75 * len(items)))},
        "last_stock": {(): 15.0 * len(items)},
    }
    first, second, gone = choose(rng, items, 3)
    week = choose(rng, weeks[1:])[0]
    words: Words = {
        "first": first, "second": second, "gone": gone, "week": week,
        "price": int(rng.integers(2, 5)), "cap": 10 * len(items), "bound": 20 * len(items),
        "fee": 40 * len(items), "close": int(rng.integers(3, 7) * 10),
        "order": demand[first, week] + 90, "dear": round(values["holding"][second,] * 3, 1),
    }  # fmt: skip
    return {"item": items, "week": weeks}, values, words


def roster(rng: np.random.Generator, labels: Labels, size: Sequence[int]) -> tuple[Sets, Values, Words]:
    """Draw sites with needs that are lower at weekends."""
    sites, days, shifts = labels("site", size[0]), labels("day", 7), labels("shift", 2)
    need: dict[Key, float] = {}
    for site in sites:
        scale = rng.uniform(0.8, 2.2)
        for day, shift in product(days, shifts):
            share = (0.7 if day in days[5:] else 1.0) * (1 if shift == shifts[0] else 0.8)
            need[site, day, shift] = float(max(1, round(scale * rng.uniform(3, 6) * share)))
    total = sum(need.values())
    values: Values = {
        "need": need,
        "crew": {(site,): float(round(_total(need, site) / 5 * rng.uniform(0.95, 1.1))) for site in sites},
        "wage": _draw(rng, [sites, shifts], 540, 680, 5),
        "fee": _draw(rng, [shifts], 180, 240, 5),
        "pool": {(): float(round(0.25 * total))},
        "day_pool": {(): float(round(0.06 * total))},
    }
    one, after, gone = choose(rng, sites, 3)
    day, shift = choose(rng, days[:5])[0], choose(rng, shifts)[0]
    words: Words = {
        "one": one, "next": after, "gone": gone, "day": day, "shift": shift,
        "saving": int(rng.integers(8, 14) * 10), "cap": round(0.1 * total), "flat": int(rng.integers(4, 9) * 100),
        "most": int(rng.integers(2, 5)), "extra": int(rng.integers(5, 12) * 10), "up": round(_total(need, after) / 8),
        "more": need[one, day, shift] + 5 + size[0], "fewer": round(values["crew"][after,] * 0.75),
    }  # fmt: skip
    return {"site": sites, "day": days, "shift": shifts}, values, words


def dispatch(rng: np.random.Generator, labels: Labels, size: Sequence[int]) -> tuple[Sets, Values, Words]:
    """Draw plants and a load with two peaks a day."""
    plants, hours = labels("plant", size[0]), labels("hour", size[1])
    shape = [10 + 5 * np.sin(place / 24 * 4 * np.pi) + rng.uniform(-1.5, 1.5) for place in range(len(hours))]
    load: dict[Key, float] = {(hour,): round(float(figure), 1) for hour, figure in zip(hours, shape, strict=True)}
    peak = max(load.values())
    top = _draw(rng, [plants], 1.8 * peak / len(plants), 2.8 * peak / len(plants), 0.5)
    values: Values = {
        "load": load,
        "top": top,
        "bottom": {key: round(0.4 * figure, 1) for key, figure in top.items()},
        "fuel": _draw(rng, [plants], 18, 60, 0.5),
        "firing": _draw(rng, [plants], 40, 200, 10),
        "tank": {(): float(round(peak))},
        "pump": {(): float(round(peak / 4))},
        "first": {(): float(round(peak / 3))},
        "reserve": {(): float(round(peak / 5))},
    }
    first, second, gone = choose(rng, plants, 3)
    hour = choose(rng, hours[1:])[0]
    words: Words = {
        "first": first, "next": second, "gone": gone, "hour": hour,
        "saving": int(rng.integers(5, 12)), "cap": round(sum(load.values()) / 3),
        "bound": round(0.55 * (top[first,] + top[second,]), 1), "count": int(rng.integers(1, 3)),
        "tax": int(rng.integers(6, 15)), "more": round(load[hour,] + 6, 1),
        "dear": round(values["fuel"][second,] * 1.5, 1),
    }  # fmt: skip
    return {"plant": plants, "hour": hours}, values, words


def assign(rng: np.random.Generator, labels: Labels, size: Sequence[int]) -> tuple[Sets, Values, Words]:
    """Draw jobs and crews that are used to about three quarters."""
    jobs, crews = labels("job", size[0]), labels("crew", size[1])
    hours = _draw(rng, [jobs, crews], 4, 20)
    mean = sum(hours.values()) / len(crews) ** 2
    values: Values = {
        "hours": hours,
        "price": _draw(rng, [jobs, crews], 60, 240, 5),
        "free": _draw(rng, [crews], 0.8 * mean, 1.3 * mean),
        "van": _draw(rng, [crews], 100, 300, 10),
        "most_jobs": {(): float(round(1.3 * len(jobs) / len(crews)))},
    }
    first, second, third = choose(rng, crews, 3)
    one, gone = choose(rng, jobs, 2)
    share = len(jobs) // len(crews)
    words: Words = {
        "first": first, "next": second, "third": third, "one": one, "gone": gone,
        "cap": round(0.4 * mean), "fee": 10, "bound": share, "lead": int(rng.integers(10, 20) * 10),
        "most": max(1, share - 1), "toll": int(rng.integers(4, 9) * 10),
        "less": round(values["free"][first,] * 0.3), "plenty": round(values["free"][third,] * 2),
    }  # fmt: skip
    return {"job": jobs, "crew": crews}, values, words


def blend(rng: np.random.Generator, labels: Labels, size: Sequence[int], base: float) -> tuple[Sets, Values, Words]:
    """Draw raw materials whose price rises with their quality, which is near a base in per cent."""
    raws, products = labels("raw", size[0]), labels("product", size[1])
    share = _draw(rng, [raws], 0.5 * base, 1.6 * base, 0.5)
    supply = _draw(rng, [raws], 40, 160, 5)
    most = _draw(rng, [products], 0.8 * sum(supply.values()) / size[1], 1.6 * sum(supply.values()) / size[1], 5)
    values: Values = {
        "cost": {key: round(120 + 160 * figure / base + float(rng.integers(-20, 21))) for key, figure in share.items()},
        "supply": supply,
        "share": share,
        "price": _draw(rng, [products], 340, 460, 5),
        "most": most,
        "least_share": _draw(rng, [products], 0.8 * base, 1.2 * base, 0.5),
        "contract": {key: round(0.15 * figure) for key, figure in most.items()},
        "mixer": {(): float(round(0.8 * sum(supply.values())))},
    }
    first, second = choose(rng, raws, 2)
    third, gone = choose(rng, products, 2)
    words: Words = {
        "first": first, "next": second, "third": third, "gone": gone,
        "cap": 20, "fee": int(rng.integers(2, 6) * 5), "flat": int(rng.integers(15, 30) * 100),
        "part": int(rng.integers(5, 12)), "duty": int(rng.integers(6, 14) * 10), "quota": round(most[third,] * 0.4),
        "less": round(supply[first,] * 0.2), "higher": values["price"][third,] + 70,
    }  # fmt: skip
    return {"raw": raws, "product": products}, values, words


def invest(rng: np.random.Generator, labels: Labels, size: Sequence[int]) -> tuple[Sets, Values, Words]:
    """Draw projects of which budgets pay about half."""
    projects, years = labels("project", size[0]), labels("year", size[1])
    spend = _draw(rng, [projects, years], 0, 60, 5)
    worth: dict[Key, float] = {}
    for project in projects:
        worth[project,] = round(_total(spend, project) * float(rng.uniform(1.0, 1.8)) + 20, 0)
    values: Values = {
        "value": worth,
        "spend": spend,
        "budget": {(year,): float(round(_total(spend, year) * rng.uniform(0.4, 0.6))) for year in years},
        "keep": {(): float(rng.choice([50, 70, 80]))},
        "most": {(): float(round(0.55 * len(projects)))},
    }
    best = sorted(projects, key=lambda project: _total(spend, project) / worth[project,])
    first, second, gone = choose(rng, best[:4], 3)
    third, one = choose(rng, best[4:], 2)
    year = choose(rng, years)[0]
    words: Words = {
        "first": first, "next": second, "third": third, "one": one, "gone": gone, "year": year,
        "loss": int(rng.integers(2, 5) * 5), "bound": round(0.35 * len(projects)),
        "fee": round(0.05 * sum(worth.values())), "cut": int(rng.integers(4, 9) * 2),
        "less": round(values["budget"][year,] * 0.5), "higher": worth[third,] * 2,
    }  # fmt: skip
    return {"project": projects, "year": years}, values, words


def sequence(rng: np.random.Generator, labels: Labels, size: Sequence[int]) -> tuple[Sets, Values, Words]:
    """Draw orders for two or three machines."""
    orders, machines = labels("order", size[0]), 2 if size[0] < 14 else 3
    length = _draw(rng, [orders], 2, 5)
    slots = labels("slot", round(sum(length.values()) / machines * 1.25) + 5)
    values: Values = {
        "length": length,
        "weight": _draw(rng, [orders], 4, 30),
        "machines": {(): float(machines)},
        "release": _draw(rng, [orders], 0, len(slots) // 4),
        "tariff": _draw(rng, [slots], 5, 40),
    }
    one, first, second, gone = choose(rng, orders, 4)
    bound = round(len(slots) * 0.4)
    words: Words = {
        "one": one, "first": first, "next": second, "gone": gone,
        "slot": slots[int(rng.integers(1, len(slots) // 3))], "early": slots[int(rng.integers(len(slots) // 4))],
        "bound": bound, "fine": int(rng.integers(6, 12) * 10), "fee": 20,
        "longer": length[one,] + 3, "dear": values["weight"][first,] * 3,
    }  # fmt: skip
    return {"order": orders, "slot": slots}, values, words
