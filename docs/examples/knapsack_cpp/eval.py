"""Score a heuristic in C++ for the 0/1 knapsack problem.

    python eval.py --mode=val

Nothing here shows that the candidate is no Python: the harness has it compiled where there is nothing but headers,
loads the library in a guarded process, and a call sends numbers and arrays over and brings back an array.
"""

import numpy as np

from oragent.harness import Arguments, Guest, Result, figures, matrix, run

SIZES = {"train": (50,), "val": (50, 200), "test": (500,)}
INSTANCES = 8
STREAMS = {"train": 1, "val": 2, "test": 3}


def instance(mode: str, size: int, index: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Draw values and weights, whole numbers from 1 to 100, and a capacity of 20 to 80 % of the weight."""
    rng = np.random.default_rng((STREAMS[mode], size, index))
    value, weight = rng.integers(1, 101, (2, size)).astype(float)
    return value, weight, float(np.floor(weight.sum() * rng.uniform(0.2, 0.8)))


def packed_value(order: np.ndarray, value: np.ndarray, weight: np.ndarray, capacity: float) -> float:
    """Try the items in an order, and sum what fits."""
    total = 0.0
    for item in order:
        if weight[item] <= capacity:
            capacity -= weight[item]
            total += value[item]
    return total


def upper_bound(value: np.ndarray, weight: np.ndarray, capacity: float) -> float:
    """Pack by value for weight and cut the last item (Dantzig 1957, doi:10.1287/opre.5.2.266)."""
    order = np.argsort(-value / weight)
    room = capacity - np.concatenate(([0.0], np.cumsum(weight[order])[:-1]))
    return float((value[order] * np.clip(room / weight[order], 0.0, 1.0)).sum())


def evaluate(arguments: Arguments, guest: Guest) -> Result:
    """Score the candidate on every instance of the sizes that were asked for."""
    shares: dict[int, list[float]] = {size: [] for size in arguments.sizes}
    for size in arguments.sizes:
        for index in range(INSTANCES):
            guest.where = f"size {size}, instance {index}"
            value, weight, capacity = instance(arguments.mode, size, index)
            order = np.argsort(-matrix(guest(value, weight, capacity), (size,)), kind="stable")
            shares[size].append(packed_value(order, value, weight, capacity) / upper_bound(value, weight, capacity))
    metrics, score = figures("share", shares)
    return Result(metrics, None, score)


if __name__ == "__main__":
    run(evaluate, function="priority", sizes=SIZES)
