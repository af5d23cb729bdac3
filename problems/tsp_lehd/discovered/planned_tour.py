"""It contains a solver: local search plans the tour (2-opt and moves of up to three cities, with swaps of two adjacent pieces under a falling threshold), and the bias overrules the network, which follows the plan."""

import math

import numba
import numpy as np
import torch

KICKS = 100
NEIGHBOURS = 10
WIDEST = 30
HEAT = 0.15
STRONG = 1000.0


@numba.njit
def flip(tour, pos, i, j):
    n = tour.size
    count = (j - i) % n + 1
    if 2 * count > n:
        i, j, count = (j + 1) % n, (i - 1) % n, n - count
    for _ in range(count // 2):
        a, b = tour[i], tour[j]
        tour[i], tour[j] = b, a
        pos[b], pos[a] = i, j
        i = i + 1 if i + 1 < n else 0
        j = j - 1 if j > 0 else n - 1


@numba.njit
def turn(tour, pos, log, logged, outer, a, b):
    # Reverse the path from a to b; outer is the neighbour of a outside of it.
    i, j = pos[a], pos[b]
    if tour[(i + 1) % tour.size] == outer:
        i, j = j, i
    flip(tour, pos, i, j)
    log[logged, 0], log[logged, 1] = i, j
    return logged + 1


@numba.njit
def two_opt(d, near, tour, pos, c):
    n = tour.size
    for step in (1, n - 1):
        after = tour[(pos[c] + step) % n]
        old = d[c, after]
        for e in near[c]:
            if d[c, e] >= old:
                break
            beyond = tour[(pos[e] + step) % n]
            change = d[c, e] + d[after, beyond] - old - d[e, beyond]
            if change < -1e-10:
                return change, after, e, beyond
    return 0.0, 0, 0, 0


@numba.njit
def or_opt(d, near, tour, pos, c):
    n = tour.size
    for step in (1, n - 1):
        p = pos[c]
        before = tour[(p - step) % n]
        for length in range(1, min(4, n - 2)):
            end, after = tour[(p + step * (length - 1)) % n], tour[(p + step * length) % n]
            gain = d[before, c] + d[end, after] - d[before, after]
            for e in near[c]:
                if d[c, e] >= gain:
                    break
                if (pos[e] - p) * step % n < length:
                    continue
                for side in (step, n - step):
                    g = tour[(pos[e] + side) % n]
                    if (side == step and e == before) or (side != step and e == after):
                        continue
                    change = d[e, c] + d[end, g] - d[e, g] - gain
                    if change < -1e-10:
                        return change, before, end, after, e, g, side == step
    return 0.0, 0, 0, 0, 0, 0, False


@numba.njit
def push(stack, waits, height, city):
    if waits[city] == 0:
        waits[city] = 1
        stack[height] = city
        height += 1
    return height


@numba.njit
def search(d, near, tour, pos, best, stack, waits, log, cost, kicks, widest, heat):
    np.random.seed(1)
    n = tour.size
    height, old_cost, best_cost = n, np.inf, np.inf
    for kick in range(kicks + 1):
        logged = 0
        if kick > 0:
            p = np.random.randint(n)
            q = p + 1 + np.random.randint(widest)
            r = q + 1 + np.random.randint(widest)
            a, b, c, e, f, g = (
                tour[p],
                tour[(p + 1) % n],
                tour[q % n],
                tour[(q + 1) % n],
                tour[r % n],
                tour[(r + 1) % n],
            )
            cost += d[a, e] + d[f, b] + d[c, g] - d[a, b] - d[c, e] - d[f, g]
            logged = turn(tour, pos, log, logged, a, b, f)
            logged = turn(tour, pos, log, logged, a, f, e)
            logged = turn(tour, pos, log, logged, g, b, c)
            for k in range(n + p - 1, n + r + 3):
                if k < n + p + 3 or k > n + r - 1 or abs(k - n - q) < 3:
                    height = push(stack, waits, height, tour[k % n])
        while height > 0:
            c = stack[height - 1]
            change, after, e, beyond = two_opt(d, near, tour, pos, c)
            if change < 0 and logged < log.shape[0] - 4:
                logged = turn(tour, pos, log, logged, c, after, e)
                cost += change
                height = push(stack, waits, height, after)
                height = push(stack, waits, height, beyond)
                height = push(stack, waits, height, e)
                continue
            change, before, end, after, e, g, straight = or_opt(d, near, tour, pos, c)
            if change < 0 and logged < log.shape[0] - 4:
                # before [c .. end] [after .. last] becomes before [after .. last] [end .. c], or with [c .. end].
                last = g if not straight else e
                logged = turn(tour, pos, log, logged, before, c, last)
                logged = turn(tour, pos, log, logged, before, last, after)
                if straight:
                    logged = turn(tour, pos, log, logged, last, end, c)
                cost += change
                height = push(stack, waits, height, before)
                height = push(stack, waits, height, end)
                height = push(stack, waits, height, after)
                height = push(stack, waits, height, e)
                height = push(stack, waits, height, g)
                continue
            height -= 1
            waits[c] = 0
        if cost < old_cost - heat * (1.0 - kick / (kicks + 1.0)) * math.log(max(np.random.random(), 1e-12)):
            old_cost = cost
            if cost < best_cost - 1e-10:
                best_cost = cost
                for k in range(n):
                    best[k] = tour[k]
        else:
            for k in range(logged - 1, -1, -1):
                flip(tour, pos, log[k, 0], log[k, 1])
            cost = old_cost
    return best


def plan(distance):
    n = len(distance)
    if n < 5:
        return np.arange(n)
    d = np.ascontiguousarray(distance, dtype=float).copy()
    np.fill_diagonal(d, np.inf)
    near = np.argsort(d, axis=1, kind="stable")[:, : min(NEIGHBOURS, n - 1)].copy()
    free, tour = np.ones(n, bool), np.zeros(n, np.int64)
    free[0] = False
    for i in range(1, n):
        tour[i] = np.argmin(np.where(free, d[tour[i - 1]], np.inf))
        free[tour[i]] = False
    np.fill_diagonal(d, 0.0)
    cost = d[tour, np.roll(tour, -1)].sum()
    best, log, wide = tour.copy(), np.empty((100 * n + 1000, 2), np.int64), max(1, min(WIDEST, (n - 2) // 3))
    search(
        d,
        near,
        tour,
        np.argsort(tour),
        best,
        tour.copy(),
        np.ones(n, np.int64),
        log,
        cost,
        KICKS * n,
        wide,
        HEAT * cost / n,
    )
    return best


def heuristics(distance_matrix: torch.Tensor) -> torch.Tensor:
    tour = plan(distance_matrix.double().numpy())
    bias = -STRONG * distance_matrix / distance_matrix.mean().clamp_min(1e-12)
    bias[tour, np.roll(tour, -1)] = STRONG
    return bias
