"""The price of a room is the room times a falling exponential, so a bin is left either nearly full or with plenty of room; near the end of the stream the price turns linear and new bins get dear, so that open bins are filled. Nine numbers of this rule are trained at import on simulated streams."""

import math

import numba
import numpy as np

GENERATIONS = 40  # param: GENERATIONS work
BATCH = 4
CHILDREN = 12
DIM = 9
ROOMS = np.arange(101.0)
FULL = 0.403


@numba.njit
def simulate(items, w, open_cost, first, slope, shut, many, plenty, tilt):
    counts = np.zeros(101, np.int64)
    roots = np.zeros(101)
    n = items.shape[0]
    opened = 0
    for t in range(n):
        item = items[t]
        end = (opened / (FULL * n) - first) / (1.0 - first)
        end = min(1.0, max(0.0, end))
        best = 100
        left = 100 - item
        value = -open_cost - (w[left] * (1.0 - end) + end * slope * left) - end * shut + tilt * left
        for r in range(item, 100):
            if counts[r] == 0:
                continue
            x = r - item
            g = (w[r] - w[x]) * (1.0 - end) + end * slope * item + tilt * x
            if r < 50:
                g += many * roots[r]
            else:
                g += plenty * roots[r]
            if g > value:
                value = g
                best = r
        if best == 100:
            opened += 1
        else:
            counts[best] -= 1
            roots[best] = counts[best] ** 0.5
        x = best - item
        counts[x] += 1
        roots[x] = counts[x] ** 0.5
    return opened


def numbers(theta):
    scale, power = 14.0 * math.exp(theta[0]), 2.0 * math.exp(theta[1])
    w = ROOMS * np.exp(-((ROOMS / scale) ** power))
    first = min(1.0 - 0.2 * math.exp(theta[3]), 0.999)
    return (w, math.exp(theta[2]), first, 0.3 * math.exp(theta[4]), 3.0 * math.exp(theta[5]), 0.05 * theta[6], 0.05 * theta[7], 0.01 * theta[8])


def train(generations):
    mean, total, weight, sigma = np.zeros(DIM), np.zeros(DIM), 0, 0.25
    for generation in range(generations):
        rng = np.random.default_rng(100003 + generation)
        half = rng.normal(size=(CHILDREN // 2, DIM))
        steps = np.concatenate([half, -half])
        streams = np.clip(np.rint(45.0 * rng.weibull(3.0, (BATCH, 5000))), 1, 100).astype(np.int64)
        losses = np.zeros(CHILDREN)
        for c in range(CHILDREN):
            values = numbers(np.clip(mean + sigma * steps[c], -2.5, 2.5))
            for b in range(BATCH):
                losses[c] += simulate(streams[b], *values)
        order = np.argsort(losses, kind="stable")[: CHILDREN // 3]
        mean = mean + sigma * steps[order].mean(axis=0)
        sigma = 0.25 * (1.0 - 0.8 * generation / max(generations, 1))
        if 2 * generation >= generations:
            total, weight = total + mean, weight + 1
    return np.clip(total / max(weight, 1), -2.5, 2.5)


W, OPEN, FIRST, SLOPE, SHUT, MANY, PLENTY, TILT = numbers(train(GENERATIONS))
SIDE = np.where(ROOMS < 50, MANY, PLENTY)


def priority(item: float, bins_remain_cap: np.ndarray) -> np.ndarray:
    rooms = np.asarray(bins_remain_cap, dtype=np.int64)
    if len(rooms) == 0:
        return np.zeros(0)
    low = min(max(int(item), 0), 100)
    counts = np.bincount(np.clip(rooms, 0, 100), minlength=101)
    n = 5000.0
    while counts[100] > n:
        n *= 2.0
    end = min(1.0, max(0.0, ((n - counts[100]) / (FULL * n) - FIRST) / (1.0 - FIRST)))
    table = np.full(101, -1e9)
    left = ROOMS[: 101 - low]
    table[low:] = (W[low:] - W[: 101 - low]) * (1.0 - end) + end * SLOPE * low + TILT * left
    table[low:] += SIDE[low:] * np.sqrt(counts[low:])
    rest = 100 - low
    table[100] = -OPEN - (W[rest] * (1.0 - end) + end * SLOPE * rest) - end * SHUT + TILT * rest
    return table[np.clip(rooms, 0, 100)]
