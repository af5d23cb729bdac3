"""Solvers that make references: what they find or prove is what scores are measured against.

They are tools for making references, never dependencies: ``pip install elkai pyvrp highspy``. LKH, which elkai brings,
is free for research only.
"""

from functools import cache
from typing import Any, NamedTuple

import elkai
import highspy
import numpy as np
import pyvrp
from baselines import ROOT, place_greedily
from reevo_rules import gls_relative

from oragent.discovered import load
from oragent.domains import bpp, cvrp, mkp, op, pdn, tsp
from oragent.solvers.elimination import with_shunts
from oragent.solvers.gls import solve_tsp_gls

__all__ = [
    "KNAPSACK_SECONDS",
    "LKH_RUNS",
    "MORE_PRIZE_ITERATIONS",
    "PRIZE_ITERATIONS",
    "TRIP_DRAWS",
    "TRIP_ROUNDS",
    "VRP_ITERATIONS",
    "Known",
    "fewest_bins",
    "larger_prize",
    "least_impedance",
    "longest_prize",
    "richest_knapsack",
    "shortest_routes",
    "shortest_tour",
    "volume_bound",
]

LKH_RUNS = 5
MANY_CITIES = 400  # from which on LKH runs once
VRP_ITERATIONS = {
    20: 500,
    50: 2000,
    100: 4000,
    200: 6000,
    250: 4000,
    500: 3000,
    1000: 1500,
    2000: 750,
}  # by number of customers
LOAD_UNITS = 100  # of a load of 1, where PyVRP finds nothing feasible
PRIZE_ITERATIONS, MORE_PRIZE_ITERATIONS = 3000, 5000
TRIP_DRAWS, TRIP_ROUNDS = 8, 2000  # of the shipped program of op_aco, which has 150 rounds
KNAPSACK_SECONDS = 10.0
UNITS = 1e6  # of length 1: LKH and PyVRP reckon in whole numbers
PRIZE_UNITS = 10_000_000  # of a hundredth of a prize, more than any tour is long


class Known(NamedTuple):
    """What is known of an instance.

    Attributes:
        value: in the unit of the score; of a solution found, recomputed by its domain, or a bound.
        proven: whether it is proven to be the optimum.
    """

    value: float
    proven: bool


def shortest_tour(instance: tsp.TspInstance) -> Known:
    """The shorter of what LKH finds (Helsgaun 2017) and of what guided local search does: now and then it is not LKH's."""
    lengths = np.rint(instance.distances * UNITS).astype(int).tolist()
    by_lkh = elkai.DistanceMatrix(lengths).solve_tsp(runs=LKH_RUNS if len(instance) < MANY_CITIES else 1)[:-1]
    guided = solve_tsp_gls(instance.distances, gls_relative(instance.distances)).tour
    return Known(min(tsp.objective(instance, tsp.check(instance, tour)) for tour in (by_lkh, guided)), False)


def shortest_routes(instance: cvrp.CvrpInstance) -> Known:
    """By PyVRP: Wouda, Lan and Kool 2024, DOI 10.1287/ijoc.2023.0055."""
    try:
        path = _routes_path(instance, 1)
    except RuntimeError:
        # PyVRP bounds the penalty of a unit of load, which can be less than what a further vehicle costs.
        path = _routes_path(instance, LOAD_UNITS)
    return Known(cvrp.objective(instance, cvrp.check(instance, path)), False)


def _routes_path(instance: cvrp.CvrpInstance, units: int) -> list[int]:
    model, places = _network(instance, np.rint(instance.distances * UNITS))
    depot = model.add_depot(places[0])
    model.add_vehicle_type(len(instance), capacity=units * instance.capacity, start_depot=depot, end_depot=depot)
    for place, demand in zip(places[1:], instance.demands[1:].tolist(), strict=True):
        model.add_client(place, delivery=units * demand)
    return _path(model, VRP_ITERATIONS[len(instance) - 1])


def longest_prize(instance: op.OpInstance, iterations: int = PRIZE_ITERATIONS) -> Known:
    """By PyVRP: one vehicle of limited way, and clients that may be left out for their prize."""
    model, places = _network(instance, np.ceil(instance.distances * UNITS))
    depot = model.add_depot(places[0])
    model.add_vehicle_type(1, max_distance=int(instance.maxlen * UNITS), start_depot=depot, end_depot=depot)
    parts = np.rint(instance.prizes / instance.prizes[0]).astype(int)  # whole multiples of the depot's
    for place, prize in zip(places[1:], parts[1:].tolist(), strict=True):
        model.add_client(place, prize=prize * PRIZE_UNITS, required=False)
    path = _path(model, iterations)[:-1]
    return Known(op.objective(instance, op.check(instance, path)), False)


def larger_prize(instance: op.OpInstance) -> Known:
    """The larger prize of PyVRP's trip and of a long search of the shipped program, which finds more at 200 nodes."""
    program = _trip_program()
    near = np.argsort(instance.distances, axis=1, kind="stable")[:, :20].copy()
    limit = instance.maxlen - op.TOLERANCE
    trips = [
        program["search"](
            instance.prizes, instance.distances, limit, near, TRIP_ROUNDS, program["HOT"], program["COLD"], seed
        )
        for seed in range(TRIP_DRAWS)
    ]
    values = [op.objective(instance, op.check(instance, trip)) for trip in trips]
    return Known(max(*values, longest_prize(instance, MORE_PRIZE_ITERATIONS).value), False)


@cache
def _trip_program() -> dict[str, Any]:
    return load("op_aco", "planned_trip", root=ROOT).__globals__


def _network(instance: tsp.Nodes, lengths: np.ndarray) -> tuple[pyvrp.Model, list[pyvrp.Location]]:
    model = pyvrp.Model()
    places = [model.add_location(*point) for point in np.rint(instance.coordinates * UNITS).astype(int).tolist()]
    for here, row in zip(places, lengths.astype(int).tolist(), strict=True):
        for there, length in zip(places, row, strict=True):
            if here is not there:
                model.add_edge(here, there, length)
    return model, places


def _path(model: pyvrp.Model, iterations: int) -> list[int]:
    """The best routes as one sequence of nodes, the depot before, between and after them."""
    found = model.solve(pyvrp.stop.MaxIterations(iterations), seed=0, display=False, collect_stats=False)
    if not found.is_feasible():
        raise RuntimeError(f"PyVRP found nothing feasible in {iterations} iterations")
    path = [0]
    for route in found.best.routes():
        path += [visit.idx + 1 for visit in route if visit.is_client()] + [0]
    return path


def richest_knapsack(instance: mkp.MkpInstance) -> Known:
    """By HiGHS, branch and cut: Huangfu and Hall 2018, DOI 10.1007/s12532-017-0130-5; the bound where time runs out."""
    model = _silent()
    model.setOptionValue("mip_rel_gap", 1e-9)
    model.setOptionValue("time_limit", KNAPSACK_SECONDS)
    items = [model.addBinary(obj=-prize) for prize in instance.prizes.tolist()]
    for weights in instance.weights.T.tolist():
        model.addConstr(sum(weight * item for weight, item in zip(weights, items, strict=True)) <= 1)
    model.run()
    chosen = np.flatnonzero(np.array(model.getSolution().col_value) > 0.5)
    if model.getModelStatus() == highspy.HighsModelStatus.kOptimal:
        return Known(mkp.objective(instance, mkp.check(instance, chosen)), True)
    return Known(-model.getInfo().mip_dual_bound, False)


def volume_bound(instance: bpp.BppInstance) -> Known:
    """The L1 bound, total size over capacity; it stands for itself with thousands of small items."""
    return Known(bpp.lower_bound(instance), False)


def fewest_bins(instance: bpp.BppInstance) -> Known:
    """The bound of Gilmore and Gomory 1961, DOI 10.1287/opre.9.6.849, by HiGHS, rounded up; seldom more than one short.

    Patterns of sizes that fit a bin are priced in by a knapsack until no new one can lift the bound (Farley 1990, DOI
    10.1287/opre.38.5.922).
    """
    sizes, counts = np.unique(instance.items, return_counts=True)
    model = _silent()
    for count in counts.tolist():
        model.addRow(count, highspy.kHighsInf, 0, np.empty(0, np.int32), np.empty(0))

    def add(pattern: np.ndarray) -> None:
        used = np.flatnonzero(pattern).astype(np.int32)
        model.addCol(1.0, 0.0, highspy.kHighsInf, len(used), used, pattern[used].astype(float))

    for pattern in np.diag(np.minimum(instance.capacity // sizes, counts)):
        add(pattern)
    bound = 0
    while True:
        model.run()
        relaxed = model.getInfo().objective_function_value
        worth, pattern = _dearest_pattern(np.array(model.getSolution().row_dual), sizes, counts, instance.capacity)
        bound = max(bound, _up(relaxed / max(worth, 1.0)))
        if worth <= 1 + 1e-9 or bound == _up(relaxed):
            break
        add(pattern)
    return Known(bound, False)


def _dearest_pattern(
    worth: np.ndarray, sizes: np.ndarray, counts: np.ndarray, capacity: int
) -> tuple[float, np.ndarray]:
    """The bounded knapsack by dynamic programming over sizes and room."""
    best, taken = np.zeros(capacity + 1), np.zeros((len(sizes), capacity + 1), int)
    for kind, (size, count) in enumerate(zip(sizes.tolist(), counts.tolist(), strict=True)):
        before = best.copy()
        for number in range(1, min(count, capacity // size) + 1):
            value = before[: capacity + 1 - number * size] + number * worth[kind]
            better = number * size + np.flatnonzero(value > best[number * size :] + 1e-12)
            best[better], taken[kind, better] = value[better - number * size], number
    pattern, room = np.zeros(len(sizes), int), int(best.argmax())
    value = float(best[room])
    for kind in reversed(range(len(sizes))):
        pattern[kind] = taken[kind, room]
        room -= pattern[kind] * sizes[kind]
    return value, pattern


def _up(value: float) -> int:
    return int(np.ceil(value - 1e-6))


def _silent() -> highspy.Highs:
    model = highspy.Highs()
    model.silent()
    model.setOptionValue("threads", 1)
    return model


def least_impedance(instance: pdn.PlacementInstance) -> Known:
    """One capacitor after the other where it helps most, then moves of one until none helps: a local optimum."""
    impedance, decaps = instance.network.impedance, pdn.decap_magnitude(instance.network.frequencies)

    def worth(rows: list[list[int]]) -> np.ndarray:
        return pdn.reward(instance, with_shunts(impedance, instance.probe, decaps, np.array(rows)))

    placed = place_greedily(instance)
    best = -np.inf
    while (found := worth([placed])[0]) > best:
        best = found
        left = np.setdiff1d(instance.free, placed).tolist()
        moved = [placed, *([*placed[:k], port, *placed[k + 1 :]] for k in range(len(placed)) for port in left)]
        placed = moved[int(worth(moved).argmax())]
    return Known(pdn.objective(instance, pdn.check(instance, placed)), False)
