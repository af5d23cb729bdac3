"""Score a maker of instances by how much longer the tours of the rule in ``attacked.py`` are than good ones.

    python eval.py --mode=val

The maker never sees the rule or its tours. Good tours are made and measured here, so the score is never more than the
rule's length over that of the shortest tour.
"""

from oragent.harness import Arguments, CandidateError, Guest, Result, each, figures, fresh, matrix, run

# isort: split
# The harness pins numerical libraries to one thread, so it comes before them.

import math

import numpy as np
from attacked import select_next_node
from numpy.typing import ArrayLike

from oragent.domains import tsp
from oragent.domains.streams import generator
from oragent.solvers.constructive import construct_tour
from oragent.solvers.gls import solve_tsp_gls

SIZES = {"train": (30,), "val": (50,), "test": (50, 100), "fresh": (50,)}
INSTANCES = 16
SEEDS = {"train": 1, "val": 2, "test": 3}
DIGITS = 4
# Of guided local search: its tours of 100 uniform cities are some 0.5 % longer than those with four times as many.
PERTURBATIONS = 300


def lay_out(answer: ArrayLike, size: int) -> tsp.TspInstance:
    """Return the cities of an untrusted answer, in the unit square.

    Raises:
        CandidateError: ``invalid`` unless the answer is ``(n, 2)`` finite numbers, which differ after rounding.
    """
    places = matrix(answer, (size, 2))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        places = places - places.min(axis=0)
        places = np.round(places / places.max(), DIGITS)
    # An overflow leaves NaN, and many cities at one place.
    if not np.isfinite(places).all() or len(np.unique(places, axis=0)) < size:
        raise CandidateError(f"returned equal places; expected {size} different ones, after scaling to the unit square")
    return tsp.TspInstance(places)


def measure_spacing(instance: tsp.TspInstance) -> tuple[float, float]:
    """Return spacing and flatness of the cities.

    Spacing is the index of Clark and Evans 1954, DOI 10.2307/1931034.
    """
    sides = np.ptp(instance.coordinates, axis=0)
    apart = instance.distances + 9 * np.eye(len(instance))
    # A line has no area: a rectangle of this width holds it.
    area = max(float(sides.prod()), 1 / len(instance))
    return float(apart.min(axis=1).mean() * 2 * math.sqrt(len(instance) / area)), float(sides.min() / sides.max())


def compare_tours(instance: tsp.TspInstance) -> float:
    """Return the length of the rule's tour over that of guided local search, or 1 if the rule's is shorter."""
    built = construct_tour(select_next_node, instance.distances)
    guided = solve_tsp_gls(instance.distances, instance.distances, iterations=PERTURBATIONS).tour
    length, best = (tsp.objective(instance, tsp.check(instance, tour)) for tour in (built, guided))
    return max(1.0, length / best)


def evaluate(arguments: Arguments, place: Guest) -> Result:
    """Score a maker on every instance of the requested sizes."""
    values: dict[int, list[float]] = {size: [] for size in arguments.sizes}
    traits = []
    seed = SEEDS[arguments.mode] if arguments.fresh_seed is None else arguments.fresh_seed
    drawn = {
        size: list(generator(seed, f"hard_tours {arguments.mode}", size).random((INSTANCES, size, 2)))
        for size in arguments.sizes
    }
    for size, _, points in each(place, drawn, values):
        instance = lay_out(place(points), size)
        values[size].append(compare_tours(instance))
        traits.append(measure_spacing(instance))
    metrics, score = figures("ratio", values)
    metrics |= {f"worst_{size}": round(max(ratios), 6) for size, ratios in values.items()}
    metrics |= fresh(arguments)
    spacing, flatness = np.mean(traits, axis=0).tolist()
    return Result(metrics, (spacing, flatness), score)


if __name__ == "__main__":
    run(evaluate, function="place", sizes=SIZES, race=True)
