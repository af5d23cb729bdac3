"""Make ``problems/<name>/references.yaml``: what scores are measured against, with where it comes from.

    pip install elkai pyvrp highspy
    python docs/tools/make_references.py                 # all: some 50 minutes on one core
    python docs/tools/make_references.py mkp_aco op_aco  # some

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

from oragent.domains import bpp, cvrp, mkp, network_instances, op, pdn, tsp
from oragent.evaluation.problem import load_problem

ROOT = Path(__file__).parents[2]
HEAD = """\
# What scores are measured against. Made by docs/tools/make_references.py, which says how; not to be edited.
# mean: over the instances of a mode and size, in the unit of the score; proven: how many of them are proven optimal.
"""


class Recipe(NamedTuple):
    """How references of a problem are made.

    Attributes:
        kind: what they are.
        solver: who finds or proves them.
        effort: what an instance gets.
        stream: instances of a mode and size.
        solve: what is known of one.
        without: sizes for which it has no decent figure.
        count: the most instances that a mode has of a size, where the stream has more.
    """

    kind: str
    solver: str
    effort: str
    stream: Callable[[str, int], Sequence[Any]]
    solve: Callable[[Any], solvers.Known]
    without: tuple[int, ...] = ()
    count: Mapping[str, int] = {}


def placements(mode: str, size: int) -> list[pdn.PlacementInstance]:
    """Instances on the computed network: the official one is not ours to publish figures of."""
    return pdn.part(mode, pdn.draw_sites(np.random.default_rng(20)), pdn.generate())


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
LEHD_COUNT = {"train": 3}
PYVRP, HIGHS = f"PyVRP {version('pyvrp')}", f"HiGHS {version('highspy')}"
PRIZE_EFFORT = f"{solvers.PRIZE_ITERATIONS} iterations"
KNAPSACK_EFFORT = f"at most {solvers.KNAPSACK_SECONDS:g} s of branch and cut"
PATTERN_EFFORT = "column generation to its end"
LOCAL = "greedy placement and moves of single capacitors to a local optimum"

RECIPES = {
    "tsp_constructive": tours(partial(tsp.stream, tsp.CONSTRUCTIVE_STREAM)),
    "tsp_aco": tours(partial(tsp.stream, tsp.ACO_STREAM)),
    "tsp_gls": tours(partial(tsp.stream, tsp.GLS_STREAM)),
    "cvrp_aco": routes(cvrp.stream, (20, 50, 100)),
    "op_aco": Recipe("best known", PYVRP, PRIZE_EFFORT, op.stream, solvers.longest_prize, (200,)),
    "mkp_aco": Recipe("upper bound", HIGHS, KNAPSACK_EFFORT, mkp.stream, solvers.richest_knapsack),
    "bpp_offline_aco": Recipe("lower bound", HIGHS, PATTERN_EFFORT, bpp.uniform_stream, solvers.fewest_bins),
    "bpp_online": Recipe("lower bound", "total size over capacity", "", bpp.weibull_stream, solvers.volume_bound),
    "dpp_ga": Recipe("best known", LOCAL, "", placements, solvers.least_impedance),
    "tsp_pomo": tours(TORCH_TOURS),
    "tsp_lehd": tours(TORCH_TOURS, LEHD_COUNT),
    "cvrp_pomo": routes(TORCH_ROUTES, network_instances.SIZES),
    "cvrp_lehd": routes(TORCH_ROUTES, network_instances.SIZES, LEHD_COUNT),
}


def references(name: str, recipe: Recipe) -> dict[str, Any]:
    """Solve all that the problem evaluates."""
    about = load_problem(ROOT / "problems" / name).about
    sets: dict[str, dict[int, Any]] = {}
    begun = time.process_time()
    for mode, sizes in about.sizes.items():
        for size in sizes:
            if size in recipe.without:
                continue
            known = [recipe.solve(instance) for instance in recipe.stream(mode, size)[: recipe.count.get(mode)]]
            mean, proven = float(np.mean([one.value for one in known])), sum(one.proven for one in known)
            sets.setdefault(mode, {})[size] = {"mean": round(mean, 6), "instances": len(known), "proven": proven}
            print(f"{name} {mode} {size}: {sets[mode][size]}, {time.process_time() - begun:.0f} CPU s", flush=True)
    told = {"kind": recipe.kind, "direction": about.direction, "solver": recipe.solver, "effort": recipe.effort}
    return {**{key: value for key, value in told.items() if value}, "date": datetime.date.today(), "sets": sets}


def main(names: list[str]) -> None:
    """Make the references of the problems that are named, or of all."""
    for name in names or RECIPES:
        made = yaml.safe_dump(references(name, RECIPES[name]), sort_keys=False, width=110)
        (ROOT / "problems" / name / "references.yaml").write_text(HEAD + made)


if __name__ == "__main__":
    main(sys.argv[1:])
