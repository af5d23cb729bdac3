"""The optima of the hard set, computed from its tables by algorithms that share no code with its models."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_flow

from oragent_benchmarks.formulate.hard_set import hard_set

Tables = dict[str, Any]


def lots(data: Tables) -> float:
    """Dynamic program of Wagner and Whitin for each flavour; the initial stock meets the first demands."""
    total = 0.0
    for flavour, cleaning, start, end in (("vanilla", 310, 240, 300), ("lemon", 260, 150, 0), ("cocoa", 465, 0, 0)):
        demand = [row[flavour] for row in data["demand"]]
        kept, left = start, []
        for amount in demand:
            used = min(kept, amount)
            kept -= used
            left.append(amount - used)
            total += 0.024 * kept
        assert kept == 0
        left[-1] += end
        total += 0.024 * end
        weeks = len(left)
        best = [0.0] + [np.inf] * weeks
        for first, last in itertools.combinations(range(weeks + 1), 2):
            # One lot in week `first` meets the weeks up to `last`, that one not included.
            amount = sum(left[first:last])
            price = 0.40 if first < 8 else 0.46
            storing = sum(0.024 * (week - first) * left[week] for week in range(first, last))
            cost = best[first] + (cleaning + price * amount + storing if amount else 0.0)
            best[last] = min(best[last], cost)
        total += best[-1]
    return total


def projects(data: Tables) -> float:
    """Assignment of students to single seats."""
    places = [row["project"] for row in data["projects"] for _ in range(row["seats"] - 1)]
    promised = {row["student"]: row["project"] for row in data["promised"]}
    points = {"first": 0, "second": 1, "third": 4, "fourth": 9}
    costs = np.full((len(data["wishes"]), len(places)), 1e6)
    for at, wish in enumerate(data["wishes"]):
        for place, project in enumerate(places):
            if promised.get(wish["student"], project) == project:
                costs[at, place] = next((p for c, p in points.items() if wish[c] == project), 1e6)
    chosen = costs[linear_sum_assignment(costs)]
    assert chosen.max() < 1e6
    return float(chosen.sum())


def depots(data: Tables) -> float:
    """Cheapest flow by shortest augmenting paths, in pallets; the contract's first 90 pallets get a reward."""
    reward, closed = 1e5, {(row["depot"], row["shop"]) for row in data["closed"]}
    stock = {
        row["depot"]: round((row["stock_t"] - (6 if row["depot"] == "Riesa" else 0)) / 0.4) for row in data["depots"]
    }
    # Rows of an arc: head, room, cost, place of the arc back.
    arcs: dict[Any, list[list[Any]]] = {}

    def add(tail: Any, head: Any, room: int, cost: float) -> None:
        forth, back = arcs.setdefault(tail, []), arcs.setdefault(head, [])
        forth.append([head, room, cost, len(back)])
        back.append([tail, 0, -cost, len(forth) - 1])

    for depot, pallets in stock.items():
        first = 90 if depot == "Halle" else 0
        add("source", depot, first, -reward)
        add("source", depot, pallets - first, 0.0)
    for road in data["roads"]:
        if (road["depot"], road["shop"]) not in closed:
            add(road["depot"], road["shop"], 10**6, 0.4 * (0.12 * road["km"] + 4))
    for shop in data["shops"]:
        add(shop["shop"], "sink", shop["pallets"], 0.0)
    total, needed = 0.0, sum(shop["pallets"] for shop in data["shops"])
    while needed:
        length, via = dict.fromkeys(arcs, np.inf), {}
        length["source"] = 0.0
        for _ in arcs:
            for tail, (at, (head, room, cost, _)) in ((t, pair) for t in arcs for pair in enumerate(arcs[t])):
                if room and length[tail] + cost < length[head] - 1e-9:
                    length[head], via[head] = length[tail] + cost, (tail, at)
        path, node = [], "sink"
        while node != "source":
            tail, at = via[node]
            path.append(arcs[tail][at])
            node = tail
        amount = min(needed, *(arc[1] for arc in path))
        for arc in path:
            arc[1] -= amount
            arcs[arc[0]][arc[3]][1] += amount
        total, needed = total + amount * length["sink"], needed - amount
    return total + 90 * reward


def grants(data: Tables) -> float:
    """Knapsack with one choice a group, over thousands of EUR."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for proposal in data["proposals"]:
        groups.setdefault(proposal["group"], []).append(proposal)
    best = np.full(2601, -np.inf)
    best[0] = 0.0
    for members in groups.values():
        running = [member for member in members if member["running"] == "yes"]
        assert len(running) <= 1
        after = np.full_like(best, -np.inf) if running else best.copy()
        for member in running or [member for member in members if member["score"] >= 40]:
            cost = member["cost"] // 2 if member["partner"] == "yes" else member["cost"]
            after[cost:] = np.maximum(after[cost:], best[: len(best) - cost] + member["score"])
        best = after
    return float(best.max())


def courts(data: Tables) -> float:
    """Best income by the times at which the two courts are free again."""

    def minutes(clock: str) -> int:
        return 60 * int(clock[:2]) + int(clock[3:])

    requests = [
        (minutes(r["start"]), minutes(r["end"]), r["fee"] * (0.8 if r["member"] == "yes" else 1))
        for r in data["requests"]
    ]
    states = {(0, 0): 0.0}
    for start, end, fee in sorted(requests):
        if start < 450 or end > 1320:
            continue
        after: dict[tuple[int, int], float] = {}
        for (one, other), income in states.items():
            options = [((one, other), income)]
            options += [
                (tuple(sorted((end + 15, rest))), income + fee)
                for free, rest in ((one, other), (other, one))
                if free <= start
            ]
            for state, value in options:
                after[state] = max(after.get(state, -1.0), value)
        states = after
    return max(states.values())


def battery(data: Tables) -> float:
    """Dynamic program over whole MWh, which suffice because all amounts are whole."""
    best = {5: 0.0}
    for row in data["prices"]:
        hour, price = row["hour"], 10 * row["price"]
        charge = 0 if hour in (18, 19, 20, 30, 42, 43, 44) else 3
        after: dict[int, float] = {}
        for level, value in best.items():
            for step in range(-4 if hour != 30 else 0, charge + 1):
                if 1 <= level + step <= 12:
                    gain = -price * step + 2.5 * min(step, 0)
                    after[level + step] = max(after.get(level + step, -np.inf), value + gain)
        best = after
    return max(value for level, value in best.items() if level >= 5)


def boilers(data: Tables) -> float:
    """Dynamic program over the hours that Alpha has run, and whether Beta runs."""

    def dispatch(alpha: bool, beta: bool, heat: float) -> float:
        least, total = 2 * alpha + 1 * beta, 0.0
        if least > heat + 1e-9:
            return np.inf
        rest = heat - least
        total += 24 * 2 * alpha + 31 * 1 * beta
        for room, price in ((6 * alpha, 24), (4 * beta, 31), (4, 55)):
            used = min(room, rest)
            total, rest = total + price * used, rest - used
        return total if rest < 1e-9 else np.inf

    best: dict[tuple[int, bool], float] = {(4, False): 0.0}
    for row in data["demand"]:
        after: dict[tuple[int, bool], float] = {}
        for (hours, was), cost in best.items():
            for alpha, beta in itertools.product((False, True), repeat=2):
                if 0 < hours < 4 and not alpha:
                    continue
                value = cost + 90 * (alpha and not hours) + 40 * (beta and not was) + dispatch(alpha, beta, row["heat"])
                state = (min(4, hours + 1) if alpha else 0, beta)
                after[state] = min(after.get(state, np.inf), value)
        best = after
    return min(best.values())


def sites(data: Tables) -> float:
    """All sets of at most four stations."""
    rent = {row["site"]: row["rent"] for row in data["sites"]}
    visits = {row["village"]: row["visits"] for row in data["villages"]}
    km = {(row["site"], row["village"]): row["km"] for row in data["distances"]}
    best = np.inf
    for count in range(1, 5):
        for chosen in itertools.combinations(rent, count):
            nearest = {village: min(km[site, village] for site in chosen) for village in visits}
            if max(nearest.values()) <= 25:
                driving = sum(2 * 0.6 * nearest[village] * number for village, number in visits.items())
                best = min(best, driving + sum(rent[s] for s in chosen) + 9000 * ("Dorn" not in chosen))
    return float(best)


def ward(data: Tables) -> None:
    """The largest flow from nurses to days is less than the need."""
    nurses, needed = data["nurses"], data["needed"]
    source, sink = 0, 1 + len(nurses) + len(needed)
    room = np.zeros((sink + 1, sink + 1), dtype=int)
    for at, nurse in enumerate(nurses, 1):
        room[source, at] = nurse["most"]
        for day in nurse["available"]:
            room[at, len(nurses) + day] = 1
    for row in needed:
        room[len(nurses) + row["day"], sink] = row["nurses"]
    assert maximum_flow(csr_matrix(room), source, sink).flow_value < sum(row["nurses"] for row in needed)


def stock(data: Tables) -> float:
    """Expected profit by article and number of packs, and a knapsack over the money."""
    chance = {row["season"]: row["percent"] / 100 for row in data["seasons"]}
    chance["usual"] += 1 - sum(chance.values())
    best = np.zeros(901)
    for article in data["articles"]:
        name, after = article["article"], np.full(901, -np.inf)
        for packs in range(2 if name == "umbrellas" else 0, 10):
            pieces, cost = packs * article["pieces"], packs * article["pack_price"]
            income = sum(
                chance[row["season"]]
                * (article["sold"] * min(pieces, row[name]) + article["dealer"] * max(0, pieces - row[name]))
                for row in data["demand"]
            )
            if cost <= 900:
                after[cost:] = np.maximum(after[cost:], best[: 901 - cost] + income - cost)
        best = after
    return float(best.max())


TRUTHS: dict[str, Callable[[Tables], float | None]] = {
    "lots": lots, "projects": projects, "depots": depots, "grants": grants, "courts": courts, "battery": battery,
    "boilers": boilers, "sites": sites, "ward": ward, "stock": stock,
}  # fmt: skip


@pytest.mark.parametrize("name", TRUTHS)
def test_the_label_is_the_optimum_that_another_algorithm_finds(name: str) -> None:
    (case,) = (case for case in hard_set().cases if case.problem.name == name)
    truth = TRUTHS[name](dict(case.problem.data))
    assert case.label.status == ("infeasible" if truth is None else "optimal")
    assert case.label.objective == (None if truth is None else pytest.approx(truth, rel=1e-6))
    assert case.gold is not None
    assert len(case.gold.variables) > 50
    assert len(case.problem.text) > 600
