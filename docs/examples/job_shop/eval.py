"""Score a dispatching rule for job shops, on instances in CSV files beside this script.

    python eval.py --mode=val

The scorer builds the schedule. It calls the rule for each choice, with the arguments of that choice, so the candidate's
process never holds the whole instance.
"""

from collections import defaultdict
from pathlib import Path

import numpy as np
from shop import Shop, offered, opened, read, seen, start

from oragent.harness import Arguments, Guest, Result, figures, matrix, run

SIZES = {"train": (6,), "val": (10,), "test": (15,)}
DATA = Path(__file__).parent / "data"  # the folder of the problem goes with its evaluator


def schedule(shop: Shop, priority: Guest) -> tuple[float, list[tuple[float, float]]]:
    """Build a schedule by a rule, which is called if there is a choice.

    Returns:
        Its makespan, and for each choice what the features are made of.
    """
    ready, done, free = opened(shop)
    tastes = []
    for _ in range(shop.durations.size):
        now, jobs = offered(shop, ready, done, free)
        place = 0
        if len(jobs) > 1:
            shown = seen(shop, now, jobs, ready, done)
            place = int(matrix(priority(*shown), jobs.shape).argmax())
            tastes.append((1.0 - float(shown[0][place]) / float(shown[0].mean()), float(len(jobs))))
        start(shop, int(jobs[place]), now, ready, done, free)
    return float(ready.max()), tastes


def evaluate(arguments: Arguments, guest: Guest) -> Result:
    """Score the rule on every instance of the requested sizes."""
    values, tastes = defaultdict(list), []
    for size in arguments.sizes:
        for path in sorted(DATA.glob(f"{arguments.mode}_{size}_*.csv")):
            guest.where = f"size {size}, instance {path.stem}"
            shop = read(path)
            makespan, own = schedule(shop, guest)
            values[size].append(makespan / shop.bound)
            tastes += own
    metrics, score = figures("stretch", values)
    short, waiting = np.mean(tastes, axis=0)
    return Result(metrics, (float(short), float(waiting)), score)


if __name__ == "__main__":
    run(evaluate, function="priority", sizes=SIZES)
