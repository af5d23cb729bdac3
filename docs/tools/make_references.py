"""Make ``problems/<name>/references.yaml``: what scores are measured against, with where it comes from.

    pip install elkai pyvrp highspy
    python docs/tools/make_references.py                 # all: some 50 minutes on one core
    python docs/tools/make_references.py mkp_aco op_aco  # some
    python docs/tools/make_references.py --sets               # named sets alone
    python docs/tools/make_references.py op_aco --sets=grid,twice

The instances are fixed, so this is done once; the files are small and belong to the project.
"""

import datetime
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import reference_solvers as solvers
import yaml
from baselines import HEAD, LEHD_SET_COUNT, placements, set_sizes, write_references

from oragent.domains import bpp, cvrp, mkp, network_instances, op, tsp
from oragent.evaluation.problem import load_problem

ROOT = Path(__file__).parents[2]
MODES = ("train", "val", "test")


class Recipe(NamedTuple):
    """How references of a problem are made.

    Attributes:
        kind: what they are.
        solver: who finds or proves them.
        effort: what an instance gets.
        stream: instances of a mode and size.
        solve: what is known of one.
        without: sizes of ``test`` for which it has no decent figure.
        count: the most instances that a mode has of a size, where the stream has more.
        solve_set: what is known of an instance of a named set, where more effort is needed than for the others.
    """

    kind: str
    solver: str
    effort: str
    stream: Callable[[str, int], Sequence[Any]]
    solve: Callable[[Any], solvers.Known]
    without: tuple[int, ...] = ()
    count: Mapping[str, int] = {}
    solve_set: Callable[[Any], solvers.Known] | None = None


def tours(stream: Callable[[str, int], Sequence[tsp.TspInstance]], count: Mapping[str, int] = {}) -> Recipe:
    """All TSP problems have one recipe."""
    both = f"LKH 3 (elkai {version('elkai')}) and guided local search"
    effort = f"the shorter tour of {solvers.LKH_RUNS} runs and 1200 perturbations"
    return Recipe("best known", both, effort, stream, MIN_TOUR_LENGTH, (), count)


def routes(
    stream: Callable[[str, int], Sequence[cvrp.CvrpInstance]], sizes: Sequence[int], count: Mapping[str, int] = {}
) -> Recipe:
    """All CVRP problems have one recipe."""
    effort = ", ".join(f"{solvers.VRP_ITERATIONS[size]} iterations for {size} customers" for size in sizes)
    return Recipe("best known", PYVRP, effort, stream, MIN_ROUTES_LENGTH, (), count)


# POMO and LEHD have the same instances: each is drawn and solved once.
TORCH_TOURS, TORCH_ROUTES = cache(network_instances.tsp_stream), cache(network_instances.cvrp_stream)
MIN_TOUR_LENGTH, MIN_ROUTES_LENGTH = cache(solvers.shortest_tour), cache(solvers.shortest_routes)
LEHD_COUNT = {"train": 3} | dict.fromkeys(network_instances.ROUTE_SETS, LEHD_SET_COUNT)
PYVRP, HIGHS = f"PyVRP {version('pyvrp')}", f"HiGHS {version('highspy')}"
PRIZE_EFFORT = (
    f"{solvers.PRIZE_ITERATIONS} iterations; in sets the larger of {solvers.MORE_PRIZE_ITERATIONS} iterations and of the"
    f" search of planned_trip, {solvers.TRIP_DRAWS} draws and {solvers.TRIP_ROUNDS} rounds"
)
KNAPSACK_EFFORT = f"at most {solvers.KNAPSACK_SECONDS:g} s of branch and cut"
PATTERN_EFFORT = "column generation to its end"
LOCAL = "greedy placement and moves of single capacitors to a local optimum"

ARRIVALS = Recipe("lower bound", "total size over capacity", "", bpp.weibull_stream, solvers.volume_bound)
RECIPES = {
    "tsp_constructive": tours(partial(tsp.stream, tsp.CONSTRUCTIVE_STREAM)),
    "tsp_aco": tours(partial(tsp.stream, tsp.ACO_STREAM)),
    "tsp_gls": tours(partial(tsp.stream, tsp.GLS_STREAM)),
    "cvrp_aco": routes(cvrp.stream, (20, 50, 100, 250)),
    "op_aco": Recipe(
        "best known", PYVRP, PRIZE_EFFORT, op.stream, solvers.longest_prize, (200,), {}, solvers.larger_prize
    ),
    "mkp_aco": Recipe("upper bound", HIGHS, KNAPSACK_EFFORT, mkp.stream, solvers.richest_knapsack),
    "bpp_offline_aco": Recipe("lower bound", HIGHS, PATTERN_EFFORT, bpp.uniform_stream, solvers.fewest_bins),
    "bpp_online": ARRIVALS,
    "bpp_online_informed": ARRIVALS,
    "dpp_ga": Recipe("best known", LOCAL, "", placements, solvers.least_impedance),
    "tsp_pomo": tours(TORCH_TOURS),
    "tsp_lehd": tours(TORCH_TOURS, LEHD_COUNT),
    "cvrp_pomo": routes(TORCH_ROUTES, (*network_instances.SIZES, 2000)),
    "cvrp_lehd": routes(TORCH_ROUTES, network_instances.SIZES, LEHD_COUNT),
}


def references(name: str, recipe: Recipe, modes: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    """Solve the instances of some modes."""
    sets: dict[str, dict[int, Any]] = {}
    begun = time.process_time()
    for mode, sizes in modes.items():
        solve = recipe.solve if mode in MODES else recipe.solve_set or recipe.solve
        for size in sizes:
            if size in recipe.without and mode in MODES:
                continue
            known = [solve(instance) for instance in recipe.stream(mode, size)[: recipe.count.get(mode)]]
            mean, proven = float(np.mean([one.value for one in known])), sum(one.proven for one in known)
            sets.setdefault(mode, {})[size] = {"mean": round(mean, 6), "instances": len(known), "proven": proven}
            print(f"{name} {mode} {size}: {sets[mode][size]}, {time.process_time() - begun:.0f} CPU s", flush=True)
    return sets


def main(names: list[str], only_sets: bool, chosen: list[str]) -> None:
    """Make the references of the problems that are named, or of all; of the named sets all, or those that are chosen."""
    for name in names or RECIPES:
        recipe, problem = RECIPES[name], load_problem(ROOT / "problems" / name)
        about = problem.about
        path = problem.folder / "references.yaml"
        if not only_sets:
            told = {"kind": recipe.kind, "direction": about.direction, "solver": recipe.solver, "effort": recipe.effort}
            tree = {key: value for key, value in told.items() if value} | {"date": datetime.date.today()}
            kept = yaml.safe_load(path.read_text()).get("baselines", {}) if path.is_file() else {}
            tree |= {"sets": references(name, recipe, about.sizes)} | ({"baselines": kept} if kept else {})
            path.write_text(HEAD + yaml.safe_dump(tree, sort_keys=False, width=110))
        for mode, sizes in set_sizes(problem).items():
            if not chosen or mode in chosen:
                write_references(name, {"sets": references(name, recipe, {mode: sizes})})


if __name__ == "__main__":
    sets = [word for word in sys.argv[1:] if word.split("=")[0] == "--sets"]
    chosen = [name for word in sets for name in word.removeprefix("--sets").strip("=").split(",") if name]
    main([word for word in sys.argv[1:] if word not in sets], bool(sets), chosen)
