"""Score a dispatching rule for job shops, on instances in CSV files beside this script.

    python eval.py --mode=val

The rule is called hundreds of times an instance, so the loop that builds a schedule (``shop.dispatch``) runs beside it,
and sends back the order in which it started operations. That is a claim: here it is followed step by step, and its
choices are put again to a process that knows one call's arguments alone.
"""

from collections import defaultdict
from pathlib import Path

import numpy as np
from shop import Shop, dispatch, offered, opened, read, seen, start

from oragent.harness import Arguments, CandidateError, Guest, Result, figures, run

SIZES = {"train": (6,), "val": (10,), "test": (15,)}
DATA = Path(__file__).parent / "data"  # the folder of the problem goes with its evaluator


def followed(shop: Shop, order: list[int]) -> tuple[float, list[tuple], list[tuple[float, float]]]:
    """Follow a schedule from scratch.

    Returns:
        Its makespan; for each choice what the rule was told, and which place it took; and what features are made of.

    Raises:
        CandidateError: ``invalid``, if the order cannot be one of this shop's.
    """
    ready, done, free = opened(shop)
    choices, tastes = [], []
    for job in order:
        now, jobs = offered(shop, ready, done, free)
        if job not in jobs:
            raise CandidateError(f"job {job!r} was started when it could not be", "rejected")
        if len(jobs) > 1:
            told, place = seen(shop, now, jobs, ready, done), int(np.flatnonzero(jobs == job)[0])
            choices.append((told, place))
            tastes.append((1.0 - float(told[0][place]) / float(told[0].mean()), float(len(jobs))))
        start(shop, job, now, ready, done, free)
    return float(ready.max()), choices, tastes


def replay_of(choices: list[tuple]):
    """Put choices again: the function that ``guest.claim`` wants."""

    def replay(witness, steps: list[int]) -> None:
        for step in steps:
            told, place = choices[step]
            answer = np.asarray(witness(*told), dtype=float)
            if answer.shape != told[0].shape or int(np.argmax(answer)) != place:
                raise CandidateError(f"decides otherwise in step {step} when it is asked that alone", "rejected")

    return replay


def evaluate(arguments: Arguments, guest: Guest) -> Result:
    """Score the rule on every instance of the sizes that were asked for."""
    values, tastes = defaultdict(list), []
    for size in arguments.sizes:
        for path in sorted(DATA.glob(f"{arguments.mode}_{size}_*.csv")):
            guest.where = f"size {size}, instance {path.stem}"
            shop = read(path)
            order = guest.run(dispatch, shop.machines, shop.durations)
            if not isinstance(order, list) or len(order) != shop.durations.size:
                raise CandidateError("the loop returned no schedule", "rejected")
            makespan, choices, own = followed(shop, order)
            guest.claim(len(choices), replay_of(choices))
            values[size].append(makespan / shop.bound)
            tastes += own
    metrics, score = figures("stretch", values)
    short, waiting = np.mean(tastes, axis=0)
    return Result(metrics, (float(short), float(waiting)), score)


if __name__ == "__main__":
    run(evaluate, function="priority", sizes=SIZES, spare=True)
