"""Score a priority of bins: items come one by one, each goes into the bin of the highest priority, bins are counted."""

from oragent.harness import Arguments, Guest, Result, blocks, figures, gaps, run, seconds, watching

# isort: split
# The harness pins numerical libraries to one thread, so it comes before them.

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from oragent.domains import bpp
from oragent.domains.instance_files import read_packings
from oragent.domains.streams import cell
from oragent.harness.drawing import draw_packing
from oragent.solvers.constructive import OnlinePacking, retrace

PROBLEM = "bpp_online"
SIZES = {
    "train": (5000,),
    "val": (5000,),
    "test": (5000, 10000),
    "fresh": (5000, 10000),
    # Sets of other sizes and distributions.
    "twice": (10000,),
    "five_times": (25000,),
    "large_bins": (5000,),
    "uniform_items": (5000,),
    "adversarial": (5000,),
}
# Share of bins that are full.
FULL_EDGES = (0.1, 0.2, 0.3, 0.45, 0.6, 0.75, 0.9)
# Share of bins filled to less than 80 %.
HOLLOW_EDGES = (0.005, 0.03, 0.1)
# Arrivals between an item and the next in its bin.
WAIT_EDGES = (20.0, 50.0, 80.0, 120.0, 165.0, 200.0)


def evaluate(arguments: Arguments, priority: Guest) -> Result:
    """Pack, check and measure every instance of the requested sizes."""
    begun = perf_counter()
    instances = list_instances(arguments)
    bins: dict[int, list[float]] = {size: [] for size in instances}
    traits: list[tuple[float, float, float]] = []
    for size, indices, block in blocks(priority, instances, bins):
        starts = [(len(instance), instance.capacity) for instance in block]
        packings = priority.reveal(starts, [instance.items for instance in block])
        for index, instance, decisions in zip(indices, block, packings, strict=True):
            priority.where = f"size {size}, instance {index}"
            packing = bpp.check(instance, decisions)
            # One instance of each size has thousands of items, which are enough.
            if not bins[size] and (watch := watching("item", size=size)):
                retrace(instance.items, instance.capacity, packing, watch)
            bins[size].append(bpp.objective(instance, packing))
            priority.show(instance, packing, bins[size][-1])
            fills = bpp.fills(instance, packing) / instance.capacity
            used = fills[fills > 0]
            traits.append((np.mean(used >= 1), np.mean(used < 0.8), bpp.wait(packing)))
    metrics, score = figures("bins", bins)
    metrics |= gaps(arguments, PROBLEM, bins)
    full, hollow, wait = np.mean(traits, axis=0).tolist()
    metrics |= {"full_share": round(full, 3), "hollow_share": round(hollow, 3), "mean_wait": round(wait, 1)}
    metrics |= seconds(begun, priority.seconds)
    return Result(metrics, cell((full, FULL_EDGES), (hollow, HOLLOW_EDGES), (wait, WAIT_EDGES)), score)


def list_instances(arguments: Arguments) -> dict[int, list[bpp.BppInstance]]:
    """Read the files of a named set, or draw the instances of the mode."""
    if arguments.data is not None:
        return read_packings(arguments.data, bpp.WEIBULL_CAPACITY)
    return {size: bpp.weibull_stream(arguments.mode, size, arguments.fresh_seed) for size in arguments.sizes}


def draw(instance: bpp.BppInstance, packing: NDArray[np.int64]) -> str:
    """Draw a packing as SVG."""
    return draw_packing(instance.items, packing, instance.capacity)


if __name__ == "__main__":
    run(
        evaluate,
        function="priority",
        sizes=SIZES,
        state=OnlinePacking,
        race=True,
        data=True,
        hooks=("item",),
        draw=draw,
    )
