"""It contains a solver: the largest item left opens a bin, and dynamic programming fills it with the fullest set of the others; many tries leave a little room at random, and the items of a bin of the best packing attract one another alone."""

import numba
import numpy as np

TRIES = 800
SLACK = 4


@numba.njit
def fill(counts, room, items):
    # Write the sizes of the fullest set that fits into the room, large sizes first, and a 0; return how full it is.
    capacity = counts.size - 1
    last = np.zeros(room + 1, np.int64)
    used = np.zeros((room + 1, capacity + 1), np.int16)
    best = 0
    for size in range(min(room, capacity), 0, -1):
        if best == room or counts[size] == 0:
            continue
        for total in range(size, room + 1):
            rest = total - size
            if last[total] == 0 and (rest == 0 or last[rest] > 0) and used[rest, size] < counts[size]:
                last[total] = size
                used[total] = used[rest]
                used[total, size] += 1
                best = max(best, total)
    at, k = best, 0
    while at > 0:
        items[k] = last[at]
        at -= last[at]
        k += 1
    items[k] = 0
    return best


@numba.njit
def pack(sizes, capacity, tries, slack):
    # The largest item left opens a bin, and the fullest set fills it; later tries sometimes leave a little room.
    np.random.seed(1)
    n = sizes.size
    total = sizes.sum()
    least = (total + capacity - 1) // capacity
    best, best_count = np.empty((n, n + 1), np.int64), n + 1
    bins, items = np.zeros((n, n + 1), np.int64), np.empty(n + 1, np.int64)
    for attempt in range(tries):
        counts = np.zeros(capacity + 1, np.int64)
        for size in sizes:
            counts[size] += 1
        left, b = n, 0
        while left > 0:
            first = capacity
            while counts[first] == 0:
                first -= 1
            counts[first] -= 1
            room = capacity - first
            if attempt > 0 and np.random.random() < 0.3:
                room = max(0, room - np.random.randint(1, slack + 1))
            fill(counts, room, items)
            bins[b, 0] = first
            k = 0
            while items[k] > 0:
                bins[b, k + 1] = items[k]
                counts[items[k]] -= 1
                k += 1
            bins[b, k + 1] = 0
            left -= k + 1
            b += 1
        if b < best_count:
            best_count = b
            best[:] = bins
        if best_count <= least:
            break
    return best[:best_count]


def heuristics(demand: np.ndarray, capacity: int) -> np.ndarray:
    n = len(demand)
    place = np.arange(n)
    sizes = np.asarray(demand, np.int64)
    if n > 0 and 1 <= sizes.min() and sizes.max() <= capacity:
        waiting = {int(size): list(np.flatnonzero(sizes == size)) for size in np.unique(sizes)}
        for number, content in enumerate(pack(sizes, int(capacity), TRIES, SLACK)):
            for size in content[: np.argmin(content)]:
                place[waiting[int(size)].pop()] = number
    return np.equal.outer(place, place).astype(float)
