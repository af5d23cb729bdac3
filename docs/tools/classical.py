"""The work that ReEvo's evaluators do in a search, on each of the nine classical problems, done by ours.

The baselines are ReEvo's evaluators (github.com/ai4co/reevo, 1f080bf; torch, numpy and numba on one core of the machine
where this was written): seconds of the whole process, less a second where they were measured with imports, and the
scores of its own seed and of the best heuristic that it ships.
"""

import runpy
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import reevo_rules as rules

from oragent.domains import bpp, cvrp, mkp, op, pdn, tsp
from oragent.evaluation.problem import load_problem
from oragent.solvers.aco_bpp import solve_bpp
from oragent.solvers.aco_cvrp import solve_cvrp
from oragent.solvers.aco_mkp import solve_mkp
from oragent.solvers.aco_op import solve_op
from oragent.solvers.aco_tsp import solve_tsp
from oragent.solvers.constructive import construct_tour, pack_online
from oragent.solvers.elimination import with_shunts
from oragent.solvers.genetic import evolve
from oragent.solvers.gls import solve_tsp_gls

__all__ = ["ROOT", "WORKS", "Heuristic", "Work", "seed_of"]

ROOT = Path(__file__).parents[2]
Heuristic = Callable[..., Any]


class Work(NamedTuple):
    """A search's evaluation as ReEvo does it.

    Attributes:
        effort: what it is.
        instances: reads them.
        solve: from a heuristic, an instance and a generator to the instance's value.
        seed: the heuristic that is timed.
        best: the best that ReEvo ships; None where there is none.
        seconds: the baseline's.
        seed_score: what ReEvo's evaluator gives ``seed``.
        best_score: and ``best``.
        wanted: how many times fewer CPU seconds ours should take; None where most are the candidate's own.
        drawn: makes an instance of any size, where time grows with it.
        brief: ``solve`` with less effort, to see how it grows.
    """

    effort: str
    instances: Callable[[], Sequence[Any]]
    solve: Callable[..., float]
    seed: Heuristic
    best: Heuristic | None
    seconds: float
    seed_score: str
    best_score: str
    wanted: int | None = None
    drawn: Callable[[np.random.Generator, int], Any] | None = None
    brief: Callable[..., float] | None = None


def seed_of(name: str) -> Heuristic:
    """The seed heuristic of a problem."""
    folder = ROOT / "problems" / name
    return runpy.run_path(str(folder / "heuristic.py"))[load_problem(folder).about.function]


def tsp_ants(heuristic: Heuristic, one: tsp.TspInstance, rng: np.random.Generator, iterations: int = 100) -> float:
    """Length of the best tour."""
    promise = heuristic(one.distances + np.eye(len(one)))
    return solve_tsp(one.distances, promise, rng, iterations=iterations).cost


def cvrp_ants(heuristic: Heuristic, one: cvrp.CvrpInstance, rng: np.random.Generator, iterations: int = 100) -> float:
    """True length of the best routes."""
    promise = heuristic(one.distances + np.eye(len(one)), one.coordinates, one.demands, one.capacity)
    return solve_cvrp(one.distances, one.demands, one.capacity, promise, rng, iterations=iterations).cost


def op_ants(heuristic: Heuristic, one: op.OpInstance, rng: np.random.Generator, iterations: int = 50) -> float:
    """Best total prize."""
    promise = heuristic(one.prizes, one.distances + 1e9 * np.eye(len(one)), one.maxlen)
    return -solve_op(one.prizes, one.distances, one.maxlen, promise, rng, ants=20, iterations=iterations).cost


def mkp_ants(heuristic: Heuristic, one: mkp.MkpInstance, rng: np.random.Generator, iterations: int = 50) -> float:
    """Best total prize."""
    promise = heuristic(one.prizes, one.weights)
    return -solve_mkp(one.prizes, one.weights, promise, rng, ants=10, iterations=iterations).cost


def bpp_ants(heuristic: Heuristic, one: bpp.BppInstance, rng: np.random.Generator, iterations: int = 15) -> float:
    """Fewest bins."""
    return solve_bpp(one.items, one.capacity, heuristic(one.items, one.capacity), rng, iterations=iterations).cost


def guided(heuristic: Heuristic, one: tsp.TspInstance, rng: np.random.Generator, iterations: int = 1200) -> float:
    """Length of the best tour; nothing is random."""
    badness = heuristic(one.distances + 1e-5 * np.eye(len(one)))
    return tsp.objective(one, solve_tsp_gls(one.distances, badness, iterations=iterations).tour)


def tour_of(heuristic: Heuristic, one: tsp.TspInstance, rng: np.random.Generator) -> float:
    """Length of the tour; nothing is random."""
    return tsp.objective(one, tsp.check(one, construct_tour(heuristic, one.distances)))


def excess(heuristic: Heuristic, one: bpp.BppInstance, rng: np.random.Generator) -> float:
    """Bins over the lower bound, in percent; nothing is random."""
    packing = bpp.check(one, pack_online(heuristic, one.items, one.capacity))
    return 100 * (bpp.objective(one, packing) / bpp.lower_bound(one) - 1)


def placed(heuristic: Heuristic, one: pdn.PlacementInstance, rng: np.random.Generator) -> float:
    """Best reward after five generations."""
    decaps = pdn.decap_magnitude(one.network.frequencies)

    def fitness(rows: np.ndarray) -> np.ndarray:
        return pdn.reward(one, with_shunts(one.network.impedance, one.probe, decaps, rows))

    return evolve(fitness, heuristic, one.free, one.decaps, rng, generations=5).fitness


def placements() -> list[pdn.PlacementInstance]:
    """ReEvo's part of sites of our own, on the computed network."""
    return pdn.part("train", pdn.draw_sites(np.random.default_rng(20)), pdn.generate())


WORKS = {
    "tsp_aco": Work(
        "n=50, 5 instances, 30 ants x 100", partial(tsp.stream, tsp.ACO_STREAM, "train", 50), tsp_ants,
        seed_of("tsp_aco"), rules.tsp_standardised, 6.7, "6.42 to 6.66", "5.854", 60,
        tsp.generate, partial(tsp_ants, iterations=5),
    ),
    "cvrp_aco": Work(
        "n=50, 10 instances, 30 ants x 100", partial(cvrp.stream, "train", 50), cvrp_ants,
        seed_of("cvrp_aco"), rules.cvrp_never_home, 28.2, "(padded) 18.48 to 18.55", "(padded) 9.025", 60,
        cvrp.generate, partial(cvrp_ants, iterations=5),
    ),
    "op_aco": Work(
        "n=50, 5 instances, 20 ants x 50", partial(op.stream, "train", 50), op_ants,
        seed_of("op_aco"), rules.op_cubed, 5.6, "12.59 to 12.74", "14.49", 40,
        op.generate, partial(op_ants, iterations=5),
    ),
    "mkp_aco": Work(
        "n=100, 5 instances, 10 ants x 50", partial(mkp.stream, "train", 100), mkp_ants,
        seed_of("mkp_aco"), rules.mkp_cubic, 8.1, "22.13 to 22.26", "22.47", 40,
        mkp.generate, partial(mkp_ants, iterations=5),
    ),
    "bpp_offline_aco": Work(
        "n=500, 5 instances, 20 ants x 15", partial(bpp.uniform_stream, "train", 500), bpp_ants,
        seed_of("bpp_offline_aco"), rules.bpp_complement, 13.1, "214.8 to 215.2", "205.0", 40,
        bpp.generate_uniform, partial(bpp_ants, iterations=5),
    ),
    "tsp_gls": Work(
        "n=200, 10 instances, 30 moves x 1200", partial(tsp.stream, tsp.GLS_STREAM, "train", 200), guided,
        seed_of("tsp_gls"), rules.gls_relative, 19.4, "10.617516", "10.587460", 8,
        tsp.generate, partial(guided, iterations=100),
    ),
    "dpp_ga": Work(
        "3 instances, population 20, 5 generations", placements, placed,
        seed_of("dpp_ga"), rules.dpp_one_point, 10.1, "(official network only)", "", 8,
    ),
    "tsp_constructive": Work(
        "n=50, 64 instances, its seed", partial(tsp.stream, tsp.CONSTRUCTIVE_STREAM, "train", 50), tour_of,
        rules.constructive_seed, rules.constructive_weighed, 3.1, "6.273092", "6.273065", None,
        tsp.generate, tour_of,
    ),
    "bpp_online": Work(
        "5 x 5,000 items, FunSearch's rule", partial(bpp.weibull_stream, "train", 5000), excess,
        rules.funsearch, None, 7.2, "0.7464 %", "", None,
        bpp.generate_weibull, excess,
    ),
}  # fmt: skip
