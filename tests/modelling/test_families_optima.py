"""The optimum of every family agrees with a method of its own, which knows the data alone."""

import itertools
import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra, maximum_flow

from oragent._base.errors import ModellingError
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.solving.model_solving import solve
from oragent_benchmarks.families import FAMILIES, allocation

Data = Mapping[str, Any]
ORACLES: dict[str, Callable[[Data], float]] = {}


def oracle(function: Callable[[Data], float]) -> Callable[[Data], float]:
    ORACLES[function.__name__] = function
    return function


def array(table: Mapping[str, Mapping[str, float]]) -> np.ndarray:
    return np.array([list(line.values()) for line in table.values()], dtype=float)


def values(table: Mapping[str, float]) -> np.ndarray:
    return np.array(list(table.values()), dtype=float)


@oracle
def product_mix(data: Data) -> float:
    bounds = [(0, most) for most in data["demand"].values()]
    return -linprog(-values(data["profit"]), array(data["hours"]), values(data["capacity"]), bounds=bounds).fun


@oracle
def blending(data: Data) -> float:
    """By shares: no row is scaled as in the model."""
    barrels = data["barrels"]
    limits = [values(data["sulphur"]), -values(data["octane"])]
    return linprog(
        values(data["cost"]) * barrels, limits, [data["most_sulphur"], -data["least_octane"]], [np.ones(len(data["cost"]))], [1],
        bounds=[(0, stock / barrels) for stock in data["stock"].values()],
    ).fun  # fmt: skip


@oracle
def diet(data: Data) -> float:
    """By the dual: prices of nutrients and of the limits on foods."""
    content, price, need, most = (array(data["content"]), *(values(data[key]) for key in ("price", "need", "most")))
    found = linprog(np.concatenate([-need, most]), np.hstack([content.T, -np.eye(len(price))]), price)
    return -found.fun


@oracle
def transport(data: Data) -> float:
    """As an assignment of single pallets; what is not sent costs nothing."""
    sent = np.repeat(np.repeat(array(data["cost"]), list(data["supply"].values()), 0), list(data["demand"].values()), 1)
    return float(sent[linear_sum_assignment(sent)].sum())


@oracle
def assignment(data: Data) -> float:
    hours = array(data["hours"])
    return float(hours[linear_sum_assignment(hours)].sum())


@oracle
def knapsack(data: Data) -> float:
    best = [0] * (data["capacity"] + 1)
    for good, weight in data["weight"].items():
        for room in range(data["capacity"], weight - 1, -1):
            best[room] = max(best[room], best[room - weight] + data["value"][good])
    return best[-1]


@oracle
def configuration_(data: Data) -> float:
    """By dynamic programming over the budget in cents of ten."""
    budget = round(data["budget"] * 10)
    best = {0: 0}
    categories: dict[str, list[tuple[int, int]]] = {}
    for one in data["products"]:
        if one["in_stock"] and one["direct_sale"]:
            spent = round(one["price"] * (100 - one["discount"]) / 10)
            categories.setdefault(one["category"], []).append((spent, one["performance"]))
    for offers in categories.values():
        grown: dict[int, int] = {}
        for spent, gained in best.items():
            for price, performance in offers:
                if spent + price <= budget:
                    grown[spent + price] = max(grown.get(spent + price, -1), gained + performance)
        best = grown
    return max(best.values())


@oracle
def covering(data: Data) -> float:
    subsets = itertools.product([False, True], repeat=len(data["cost"]))
    every = set(data["districts"])
    return min(
        sum(cost for cost, chosen in zip(data["cost"].values(), subset, strict=True) if chosen)
        for subset in subsets
        if every <= set().union(*itertools.compress(data["reaches"].values(), subset))
    )


@oracle
def facility_location(data: Data) -> float:
    rent, delivery = values(data["rent"]), array(data["delivery"])
    subsets = (np.array(subset, dtype=bool) for subset in itertools.product([False, True], repeat=len(rent)))
    return min(rent[opened].sum() + delivery[opened].min(axis=0).sum() for opened in subsets if opened.any())


@oracle
def lot_sizing(data: Data) -> float:
    """Wagner & Whitin's recursion over the months in which it is brewed."""
    demand, last = data["demand"], len(data["demand"])

    @cache
    def least(month: int) -> float:
        if month == last:
            return 0.0
        options = []
        for until in range(month + 1, last + 1):
            stored = sum(amount * place * data["storage"] for place, amount in enumerate(demand[month:until]))
            options.append(data["setup"] + data["unit"] * sum(demand[month:until]) + stored + least(until))
        return min(options)

    return least(0)


@oracle
def cutting_stock(data: Data) -> float:
    """Roll by roll, over what is still to be delivered; any pattern, not the maximal ones alone."""
    widths, roll = data["widths"], data["roll"]
    patterns = [
        counts
        for counts in itertools.product(*(range(roll // width + 1) for width in widths))
        if any(counts) and sum(c * w for c, w in zip(counts, widths, strict=True)) <= roll
    ]

    @cache
    def rolls(left: tuple[int, ...]) -> int:
        if not any(left):
            return 0
        place = next(place for place, count in enumerate(left) if count)  # some roll cuts the widest piece that is left
        fitting = (pattern for pattern in patterns if pattern[place])
        return 1 + min(rolls(tuple(max(0, a - b) for a, b in zip(left, pattern, strict=True))) for pattern in fitting)

    return rolls(tuple(data["demand"]))


@oracle
def crew_scheduling(data: Data) -> float:
    """Over subsets of the flights, always crewing the first one left."""
    flights = data["flights"]
    duties = [(frozenset(duty["flights"]), duty["cost"]) for duty in data["duties"].values()]

    @cache
    def least(left: frozenset[str]) -> float:
        if not left:
            return 0.0
        first = min(left, key=flights.index)
        return min((cost + least(left - duty) for duty, cost in duties if first in duty <= left), default=math.inf)

    return least(frozenset(flights))


def graph(data: Data, table: str) -> csr_array:
    place = {node: index for index, node in enumerate(data["nodes"])}
    arcs = [(place[a], place[b], figure) for a, line in data[table].items() for b, figure in line.items()]
    rows, columns, figures = zip(*arcs, strict=True)
    return csr_array((np.array(figures, dtype=np.int32), (rows, columns)), shape=(len(place), len(place)))


@oracle
def largest_flow(data: Data) -> float:
    return float(maximum_flow(graph(data, "pipes"), 0, len(data["nodes"]) - 1).flow_value)


@oracle
def shortest_path(data: Data) -> float:
    return float(dijkstra(graph(data, "roads"), indices=0)[-1])


@oracle
def setups(data: Data) -> float:
    def cost(order: tuple[str, ...]) -> float:
        hour, before, total = 0, "start", 0
        for job in order:
            hour += data["setup"][before][job] + data["duration"][job]
            total += data["weight"][job] * max(0, hour - data["due"][job])
            before = job
        return total

    return min(map(cost, itertools.permutations(data["duration"])))


@oracle
def investment(data: Data) -> float:
    """With cash left out: what every year compounds to must never fall below 0."""
    grows = 1 + data["interest"] / 100
    flows = np.array(list(data["flows"].values()), dtype=float)
    years = np.arange(data["years"] + 1)
    compounded = np.array([[f[: y + 1] @ grows ** (y - years[: y + 1]) for y in years] for f in flows])
    own = data["cash"] * grows**years
    found = linprog(-compounded[:, -1], -compounded.T, own, bounds=(0, 1))
    return own[-1] - found.fun


ORACLES["configuration"] = ORACLES.pop("configuration_")


def test_every_family_has_a_method_of_its_own() -> None:
    assert set(ORACLES) == set(FAMILIES)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_the_optimum_agrees_with_it(family: str) -> None:
    for seed, size in [(0, 2), (1, 3), (2, 4), (3, 4), (4, 5)]:
        instance = FAMILIES[family](seed, size)
        assert ORACLES[family](instance.data) == pytest.approx(instance.optimum, rel=1e-7), instance.name


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_the_optimum_of_larger_ones_agrees_too(family: str) -> None:
    for seed in range(20):
        instance = FAMILIES[family](seed, 5 if family == "setups" else 7)
        assert ORACLES[family](instance.data) == pytest.approx(instance.optimum, rel=1e-7), instance.name


def test_a_catalogue_of_a_computer_maker_is_configured() -> None:
    """As large as the one of Wang et al. 2025: about 2,000 active products in 292 categories."""
    data = allocation.generate_products(0, 292, 2000)
    milp = allocation.build_configuration(data)
    solution = solve(milp)
    chosen = [one for one in data["products"] if solution.values.get(one["name"])]
    assert sorted(one["category"] for one in chosen) == sorted({f"C{number}" for number in range(1, 293)})
    assert all(one["in_stock"] and one["direct_sale"] for one in chosen)
    assert sum(map(allocation.discounted_price, chosen)) <= data["budget"]


def test_a_budget_below_the_cheapest_choice_is_refused() -> None:
    data = allocation.generate_products(0, 3, 9) | {"budget": 1}
    assert solve(allocation.build_configuration(data)).status is SolveStatus.INFEASIBLE
    with pytest.raises(ModellingError, match="2 products for 3 categories"):
        allocation.generate_products(0, 3, 2)
