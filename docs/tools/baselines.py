"""Classical heuristics, which scores are compared with; none of them has a parameter.

They compute as the domains do, and the domains check their solutions.
"""

import runpy
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import numba
import numpy as np
import yaml

from oragent.domains import bpp, cvrp, mkp, network_instances, op, pdn, tsp
from oragent.domains.driving import metrics, network
from oragent.domains.driving.scenario import LONG, WEAVING, Course, Scenario
from oragent.domains.driving.trials import drive
from oragent.evaluation.problem import Problem
from oragent.solvers.elimination import with_shunts

__all__ = [
    "BASELINES",
    "HEAD",
    "LEHD_SET_COUNT",
    "drawn_sets",
    "place_greedily",
    "placements",
    "read_references",
    "score_classical",
    "set_sizes",
    "write_references",
]

ROOT = Path(__file__).parents[2]
HEAD = """\
# What scores are measured against. Made by docs/tools/make_references.py, which says how; not to be edited.
# mean: over the instances of a mode and size, in the unit of the score; proven: how many of them are proven optimal.
# baselines: scores of classical heuristics and of a published rule, by docs/tools/out_of_distribution.py.
"""


def insert_farthest(instance: tsp.TspInstance) -> list[int]:
    """Farthest insertion: the city farthest from the tour enters where it lengthens the tour least.

    Source: Rosenkrantz, Stearns and Lewis 1977, DOI 10.1137/0206041.
    """
    distances, tour = (
        instance.distances,
        [int(city) for city in np.unravel_index(instance.distances.argmax(), 2 * (len(instance),))],
    )
    nearest = distances[tour].min(axis=0)
    while len(tour) < len(instance):
        nearest[tour] = -1
        city, after = int(nearest.argmax()), np.roll(tour, -1)
        longer = distances[tour, city] + distances[city, after] - distances[tour, after]
        tour.insert(int(longer.argmin()) + 1, city)
        nearest = np.minimum(nearest, distances[city])
    return tour


@numba.njit
def _two_opt(distances: np.ndarray, tour: np.ndarray) -> None:
    better = True
    while better:
        better = False
        for i in range(len(tour) - 1):
            for j in range(i + 1, len(tour) - (i == 0)):
                a, b, c, d = tour[i - 1], tour[i], tour[j], tour[(j + 1) % len(tour)]
                if distances[a, c] + distances[b, d] < distances[a, b] + distances[c, d] - 1e-12:
                    tour[i : j + 1] = tour[i : j + 1][::-1].copy()
                    better = True


def improve_insertion(instance: tsp.TspInstance) -> np.ndarray:
    """2-opt from the tour of farthest insertion to a local optimum (Croes 1958, DOI 10.1287/opre.6.6.791)."""
    tour = np.array(insert_farthest(instance))
    _two_opt(instance.distances, tour)
    return tour


def join_by_savings(instance: cvrp.CvrpInstance) -> list[int]:
    """Join the ends of two routes where it saves most, while a vehicle carries both.

    Source: Clarke and Wright 1964, DOI 10.1287/opre.12.4.568.
    """
    home, routes = instance.distances[0], {customer: [customer] for customer in range(1, len(instance))}
    at, loads = {customer: customer for customer in routes}, dict(enumerate(instance.demands.tolist()))
    savings = home[:, None] + home - instance.distances
    first, second = np.triu_indices(len(instance), 1)
    for pair in np.argsort(-savings[first, second], kind="stable"):
        i, j = int(first[pair]), int(second[pair])
        if i == 0 or at[i] == at[j] or loads[at[i]] + loads[at[j]] > instance.capacity:
            continue
        left, right = routes[at[i]], routes[at[j]]
        if i not in (left[0], left[-1]) or j not in (right[0], right[-1]):
            continue
        merged = (left if left[-1] == i else left[::-1]) + (right if right[0] == j else right[::-1])
        keep, drop = at[i], at[j]
        loads[keep] += loads[drop]
        del routes[drop]
        routes[keep] = merged
        at.update(dict.fromkeys(merged, keep))
    return [0, *(node for route in routes.values() for node in (*route, 0))]


def insert_prizes(instance: op.OpInstance) -> list[int]:
    """Insert the node of the largest prize for each unit of additional length, while the tour stays short enough."""
    distances, path, length = instance.distances, [0], 0.0
    left = np.ones(len(instance), bool)
    left[0] = False
    while True:
        after = np.roll(path, -1)
        longer = distances[path].T + distances[:, after] - distances[path, after]
        extra = longer.min(axis=1)
        worth = np.where(left & (length + extra <= instance.maxlen), instance.prizes / np.maximum(extra, 1e-9), -1.0)
        node = int(worth.argmax())
        if worth[node] < 0:
            return path
        path.insert(int(longer[node].argmin()) + 1, node)
        left[node], length = False, length + float(extra[node])


def take_densest(instance: mkp.MkpInstance) -> list[int]:
    """Take items by prize over the sum of weights, which are shares of capacities, if they still fit."""
    taken, choice = np.zeros(instance.weights.shape[1]), []
    for item in np.argsort(-instance.prizes / instance.weights.sum(axis=1), kind="stable"):
        if (taken + instance.weights[item] <= 1).all():
            taken += instance.weights[item]
            choice.append(int(item))
    return choice


@numba.njit
def _pack(items: np.ndarray, order: np.ndarray, capacity: int, best: bool) -> np.ndarray:
    rooms, bins = np.full(len(items), capacity), np.zeros(len(items), np.int64)
    opened = 0
    for item in order:
        chosen = -1
        for number in range(opened):
            if rooms[number] >= items[item] and (chosen < 0 or (best and rooms[number] < rooms[chosen])):
                chosen = number
                if not best:
                    break
        if chosen < 0:
            chosen = opened
            opened += 1
        rooms[chosen] -= items[item]
        bins[item] = chosen
    return bins


def packer(best: bool, decreasing: bool) -> Callable[[bpp.BppInstance], np.ndarray]:
    """Return first fit or best fit, which take items as they come or large ones first (Johnson 1974, DOI 10.1137/0203025)."""

    def pack(instance: bpp.BppInstance) -> np.ndarray:
        order = np.argsort(-instance.items, kind="stable") if decreasing else np.arange(len(instance))
        return _pack(instance.items, order, instance.capacity, best)

    return pack


def place_greedily(instance: pdn.PlacementInstance) -> list[int]:
    """Place one capacitor after the other where it helps most."""
    impedance, decaps = instance.network.impedance, pdn.decap_magnitude(instance.network.frequencies)
    placed: list[int] = []
    for _ in range(instance.decaps):
        grown = np.array([[*placed, port] for port in np.setdiff1d(instance.free, placed).tolist()])
        placed = grown[
            int(pdn.reward(instance, with_shunts(impedance, instance.probe, decaps, grown)).argmax())
        ].tolist()
    return placed


def demands(course: Course, mode: str, size: int) -> list[Scenario]:
    """Return the demands of a mode."""
    return course.demands(mode, (size,))[size]


def none(mode: str, size: int) -> list[Any]:
    """Return no instances."""
    return []


def let_drive(scenario: Scenario) -> float:
    """Return the score of SUMO's own drivers, whose throughput all scores are compared with."""
    with TemporaryDirectory() as folder:
        road = network.build(Path(folder), scenario.rules.plan)
        figures = drive(scenario, road, None, Path(folder)).figures
    return metrics.selected(figures, figures.throughput)


def _scored(domain: Any, heuristic: Callable[[Any], Any]) -> Callable[[Any], float]:
    return lambda instance: float(domain.objective(instance, domain.check(instance, heuristic(instance))))


def _all(domain: Any, heuristics: Iterable[tuple[str, Callable[[Any], Any]]]) -> dict[str, Callable[[Any], float]]:
    return {name: _scored(domain, heuristic) for name, heuristic in heuristics}


def placements(mode: str, size: int) -> list[pdn.PlacementInstance]:
    """Instances on the computed network: the official one is not ours to publish figures of."""
    return pdn.part(mode, pdn.draw_sites(np.random.default_rng(20)), NETWORK())


NETWORK = cache(pdn.generate)
# Instances in a set of LEHD, which are the first ones of POMO's.
LEHD_SET_COUNT = 2
TOURS = _all(tsp, [("farthest insertion", insert_farthest), ("insertion and 2-opt", improve_insertion)])
ROUTES = _all(cvrp, [("savings", join_by_savings)])
ARRIVALS = _all(bpp, [("first fit", packer(False, False)), ("best fit", packer(True, False))])
# Instances of a mode and size, and the value of an instance by each heuristic.
BASELINES: dict[str, tuple[Callable[[str, int], Sequence[Any]], dict[str, Callable[[Any], float]]]] = {
    "tsp_constructive": (partial(tsp.stream, tsp.CONSTRUCTIVE_STREAM), TOURS),
    "tsp_aco": (partial(tsp.stream, tsp.ACO_STREAM), TOURS),
    "tsp_gls": (partial(tsp.stream, tsp.GLS_STREAM), TOURS),
    "cvrp_aco": (cvrp.stream, ROUTES),
    "op_aco": (op.stream, _all(op, [("insertion by prize", insert_prizes)])),
    "mkp_aco": (mkp.stream, _all(mkp, [("greedy by density", take_densest)])),
    "bpp_offline_aco": (
        bpp.uniform_stream,
        _all(bpp, [("first fit decreasing", packer(False, True)), ("best fit decreasing", packer(True, True))]),
    ),
    "bpp_online": (bpp.weibull_stream, ARRIVALS),
    "bpp_online_informed": (bpp.weibull_stream, ARRIVALS),
    "tsp_pomo": (network_instances.tsp_stream, TOURS),
    "tsp_lehd": (partial(network_instances.tsp_stream, count=LEHD_SET_COUNT), TOURS),
    "cvrp_pomo": (network_instances.cvrp_stream, ROUTES),
    "cvrp_lehd": (partial(network_instances.cvrp_stream, count=LEHD_SET_COUNT), ROUTES),
    "dpp_ga": (placements, _all(pdn, [("greedy placement", place_greedily)])),
    "driving": (partial(demands, WEAVING), {"SUMO's own drivers": let_drive}),
    "driving_long": (partial(demands, LONG), {"SUMO's own drivers": let_drive}),
    # Instances inside a solver, which no classical heuristic is for.
    "milp_branching": (none, {}),
    "cvrp_solver": (none, {}),
}


def score_classical(name: str, modes: Mapping[str, Sequence[int]]) -> dict[str, dict[str, float]]:
    """Return the score of each classical heuristic on some modes: the mean over sizes of the mean over instances."""
    stream, heuristics = BASELINES[name]
    scores: dict[str, dict[str, float]] = {}
    for mode, sizes in modes.items():
        instances = [stream(mode, size) for size in sizes]
        scores[mode] = {
            title: round(fmean(fmean(map(solve, of_size)) for of_size in instances), 6)
            for title, solve in heuristics.items()
        }
        print(f"{name} {mode}: {scores[mode]}", flush=True)
    return scores


def find_references(folder: Path) -> Path:
    """Return the file of references of a problem, or that of baselines alone if the problem has no references."""
    path = folder / "references.yaml"
    return path if path.is_file() else folder / "baselines.yaml"


def read_references(folder: Path) -> dict[str, Any]:
    """Return what is recorded of a problem: ``sets``, ``baselines``."""
    path = find_references(folder)
    tree = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return {"sets": {}, "baselines": {}, **tree}


def write_references(name: str, change: Mapping[str, Mapping[str, Any]]) -> None:
    """Change entries of the file of a problem: of ``sets``, or of ``baselines``."""
    path = find_references(ROOT / "problems" / name)
    tree = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for part, modes in change.items():
        for mode, entry in modes.items():
            of_part = tree.setdefault(part, {})
            of_part[mode] = {**of_part.get(mode, {}), **entry}
    path.write_text(HEAD + yaml.safe_dump(tree, sort_keys=False, width=110), encoding="utf-8")


def set_sizes(problem: Problem) -> dict[str, tuple[int, ...]]:
    """Return the sizes of each named set that the evaluator draws."""
    if not drawn_sets(problem):
        return {}
    # An evaluator may import modules of its folder.
    # Other problems have modules of the same names.
    sys.modules.pop("instances", None)
    sys.path.insert(0, str(problem.folder))
    try:
        sizes = runpy.run_path(str(problem.evaluator))["SIZES"]
    finally:
        sys.path.remove(str(problem.folder))
        sys.modules.pop("instances", None)
    return {mode: sizes[mode] for mode in drawn_sets(problem)}


def drawn_sets(problem: Problem) -> list[str]:
    """Return the names of the sets whose instances the evaluator draws."""
    return [mode for mode, chosen in problem.about.named_sets.items() if not chosen.data]
