"""Score a maker of instances by how many more bins the rule in ``attacked.py`` opens than best fit decreasing.

    python eval.py --mode=val

The maker chooses sizes, not their order: no rule that packs items as they come can do well in every order. It never
sees the rule. The packing of best fit decreasing is feasible, so the score is never more than the rule's number of bins
over the fewest.
"""

from oragent.harness import Arguments, CandidateError, Guest, Result, each, figures, fresh, matrix, run

# isort: split
# The harness pins numerical libraries to one thread, so it comes before them.

import numpy as np
from attacked import priority
from numpy.typing import ArrayLike

from oragent.domains import bpp
from oragent.domains.streams import generator
from oragent.solvers.constructive import pack_online

SIZES = {"train": (500,), "val": (1000,), "test": (1000, 5000), "fresh": (1000,)}
INSTANCES = 8
SEEDS = {"train": 1, "val": 2, "test": 3}
CAPACITY = 100
# Largest share of items of one size: with fewer sizes than ten, all instances would be much the same.
MAX_SHARE = 0.1


def make_items(answer: ArrayLike, rng: np.random.Generator, size: int) -> bpp.BppInstance:
    """Return the items of an untrusted answer; their order is drawn and does not depend on that of the answer.

    Raises:
        CandidateError: ``invalid`` unless the answer is ``(n,)`` finite numbers, of which few have the same size.
    """
    rounded = np.rint(np.clip(matrix(answer, (size,)), 1, CAPACITY)).astype(np.int64)
    counts = np.bincount(rounded)
    if counts.max() > MAX_SHARE * size:
        commonest = int(counts.argmax())
        raise CandidateError(
            f"returned {counts[commonest]} sizes that are {commonest} after rounding and clipping; expected at most"
            f" {MAX_SHARE:.0%} of {size} of one size"
        )
    return bpp.BppInstance(np.sort(rounded)[rng.permutation(size)], CAPACITY)


def pack_decreasing(instance: bpp.BppInstance) -> list[int]:
    """Pack large items first, each into the fullest bin that holds it (Johnson 1974, DOI 10.1137/0203025)."""
    rooms, packing = np.full(len(instance), CAPACITY), [0] * len(instance)
    for item in np.argsort(-instance.items, kind="stable").tolist():
        left = rooms - instance.items[item]
        packing[item] = int(np.where(left < 0, CAPACITY, left).argmin())
        rooms[packing[item]] = left[packing[item]]
    return packing


def compare_packings(instance: bpp.BppInstance) -> float:
    """Return the number of bins of the rule over that of best fit decreasing, or 1 if the rule needs fewer."""
    online = pack_online(priority, instance.items, instance.capacity)
    bins, best = (
        bpp.objective(instance, bpp.check(instance, packing)) for packing in (online, pack_decreasing(instance))
    )
    return max(1.0, bins / best)


def evaluate(arguments: Arguments, sizes: Guest) -> Result:
    """Score a maker on every instance of the requested sizes."""
    values: dict[int, list[float]] = {size: [] for size in arguments.sizes}
    traits = []
    seed = SEEDS[arguments.mode] if arguments.fresh_seed is None else arguments.fresh_seed
    generators = {
        size: generator(seed, f"hard_items {arguments.mode}", size).spawn(INSTANCES) for size in arguments.sizes
    }
    for size, _, rng in each(sizes, generators, values):
        instance = make_items(sizes(rng.random(size)), rng, size)
        values[size].append(compare_packings(instance))
        traits.append((instance.items.mean() / CAPACITY, np.bincount(instance.items).max() / size))
    metrics, score = figures("ratio", values)
    metrics |= {f"worst_{size}": round(max(ratios), 6) for size, ratios in values.items()}
    metrics |= fresh(arguments)
    mean, commonest = np.mean(traits, axis=0).tolist()
    return Result(metrics, (mean, commonest), score)


if __name__ == "__main__":
    run(evaluate, function="sizes", sizes=SIZES, race=True)
