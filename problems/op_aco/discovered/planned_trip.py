"""It contains a solver: fourteen short searches from different draws insert the node with the most prize for its detour, remove strings and neighbourhoods of the trip and shorten it by 2-opt, under a falling threshold; the ants follow the best trip and seldom leave it."""

import math

import numba
import numpy as np

TRIES, ROUNDS = 14, 150
FAINT = 1e-4
HOT, COLD = 0.3, 0.05


@numba.njit
def shorten(d, tour, count):
    # 2-opt on the closed tour, until no exchange of two edges shortens it; node 0 stays first.
    improved = True
    while improved:
        improved = False
        for i in range(count - 1):
            a, b = tour[i], tour[i + 1]
            for j in range(i + 2, count):
                c, e = tour[j], tour[(j + 1) % count]
                if e != a and d[a, c] + d[b, e] < d[a, b] + d[c, e] - 1e-10:
                    low, high = i + 1, j
                    while low < high:
                        tour[low], tour[high] = tour[high], tour[low]
                        low += 1
                        high -= 1
                    b = tour[i + 1]
                    improved = True


@numba.njit
def measure(d, tour, count):
    total = d[tour[count - 1], tour[0]] if count > 1 else 0.0
    for i in range(count - 1):
        total += d[tour[i], tour[i + 1]]
    return total


@numba.njit
def extend(prize, d, limit, tour, count, inside, extra, at, power):
    # Insert the node with the most prize for its detour, with some noise, while one fits.
    n = prize.size
    used = measure(d, tour, count)
    for node in range(n):
        extra[node] = np.inf
    for node in range(n):
        if not inside[node]:
            for i in range(count):
                a, b = tour[i], tour[(i + 1) % count]
                more = d[a, node] + d[node, b] - (d[a, b] if count > 1 else 0.0)
                if more < extra[node]:
                    extra[node], at[node] = more, i
    while True:
        best, chosen = -1.0, -1
        for node in range(n):
            if not inside[node] and used + extra[node] <= limit:
                worth = prize[node] ** power / (extra[node] + 1e-3) * (0.7 + 0.3 * np.random.random())
                if worth > best:
                    best, chosen = worth, node
        if chosen < 0:
            return count
        place = at[chosen]
        used += extra[chosen]
        for i in range(count, place + 1, -1):
            tour[i] = tour[i - 1]
        tour[place + 1] = chosen
        inside[chosen] = True
        count += 1
        for node in range(n):
            if inside[node]:
                continue
            if at[node] == place:
                extra[node] = np.inf
                for i in range(count):
                    a, b = tour[i], tour[(i + 1) % count]
                    more = d[a, node] + d[node, b] - d[a, b]
                    if more < extra[node]:
                        extra[node], at[node] = more, i
            else:
                if at[node] > place:
                    at[node] += 1
                for i in range(place, place + 2):
                    a, b = tour[i], tour[(i + 1) % count]
                    more = d[a, node] + d[node, b] - d[a, b]
                    if more < extra[node]:
                        extra[node], at[node] = more, i


@numba.njit
def search(prize, d, limit, near, rounds, hot, cold, seed):
    np.random.seed(seed)
    n = prize.size
    tour, inside = np.zeros(n + 1, np.int64), np.zeros(n, np.bool_)
    extra, at = np.zeros(n), np.zeros(n, np.int64)
    inside[0] = True
    count = extend(prize, d, limit, tour, 1, inside, extra, at, 1.0)
    old_tour, old_count, old_worth = tour.copy(), 1, -1.0
    best_tour, best_count, best_worth = tour.copy(), 1, -1.0
    for step in range(rounds):
        shorten(d, tour, count)
        count = extend(prize, d, limit, tour, count, inside, extra, at, 1.0)
        worth = 0.0
        for i in range(1, count):
            worth += prize[tour[i]]
        heat = hot * (cold / hot) ** (step / rounds)
        if worth > old_worth + heat * math.log(max(np.random.random(), 1e-12)):
            old_tour[:], old_count, old_worth = tour, count, worth
            if worth > best_worth + 1e-12:
                best_tour[:], best_count, best_worth = tour, count, worth
        else:
            tour[:], count = old_tour, old_count
            for node in range(n):
                inside[node] = False
            for i in range(count):
                inside[tour[i]] = True
        # Remove a string of the tour, or the nodes around a random one.
        take = 1 + np.random.randint(max(1, min(count - 1, max(10, count // 3))))
        if count > 2:
            if np.random.random() < 0.8:
                first = 1 + np.random.randint(count - 1)
                for i in range(first, min(first + take, count)):
                    inside[tour[i]] = False
            else:
                centre = np.random.randint(1, n)
                for k in range(take + 5):
                    if near[centre, k % near.shape[1]] != 0:
                        inside[near[centre, k % near.shape[1]]] = False
            put = 1
            for i in range(1, count):
                if inside[tour[i]]:
                    tour[put] = tour[i]
                    put += 1
            count = put
        count = extend(prize, d, limit, tour, count, inside, extra, at, 0.5 + np.random.random() * 1.5)
    return best_tour[:best_count]


def heuristics(prize: np.ndarray, distance: np.ndarray, maxlen: float) -> np.ndarray:
    n = len(prize)
    d = np.ascontiguousarray(distance, dtype=float).copy()
    np.fill_diagonal(d, 0.0)
    promise = FAINT * prize[np.newaxis, :] / np.maximum(distance, 1e-3)
    if n > 2:
        near = np.argsort(d, axis=1, kind="stable")[:, : min(n, 20)].copy()
        worth = np.asarray(prize, dtype=float)
        tours = [search(worth, d, float(maxlen) - 1e-9, near, ROUNDS, HOT, COLD, seed) for seed in range(TRIES)]
        tour = max(tours, key=lambda nodes: worth[nodes].sum())
        promise[tour, np.roll(tour, -1)] = 1.0
    return promise
