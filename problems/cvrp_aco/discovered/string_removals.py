"""Ruin and recreate plans the routes before the colony starts: strings of neighbouring routes are removed and inserted again where they cost least, with rare omissions, under a falling threshold; the ants follow the plan and may leave it at faint edges."""

import math

import numba
import numpy as np

ROUNDS = 38000
FAINT = 1e-5
HOT = 0.1  # param: HOT = 0.1, 0.005..0.5,log
COLD = 0.0005
MEAN_REMOVED = 10.0  # param: MEAN_REMOVED = 10.0, 3..15
LONGEST_STRING, BLINK = 10, 0.01


@numba.njit
def plan(d, demand, near, capacity, rounds, seed):
    np.random.seed(seed)
    n = d.shape[0] - 1
    most = n + 1
    routes = np.zeros((most, n + 2), np.int64)
    length = np.zeros(most, np.int64)
    load = np.zeros(most)
    where = np.zeros(n + 1, np.int64)
    absent = np.zeros(n, np.int64)
    keys = np.zeros(n)
    used = 0
    for i in range(1, n + 1):
        routes[used, 0] = i
        length[used] = 1
        load[used] = demand[i]
        where[i] = used
        used += 1
    cost = 0.0
    for i in range(1, n + 1):
        cost += 2 * d[0, i]
    best_cost = cost
    best_routes = routes.copy()
    best_length = length.copy()
    old_routes = routes.copy()
    old_length = length.copy()
    old_load = load.copy()
    old_where = where.copy()
    old_used = used
    touched = np.zeros(most, np.int64)
    factor = (COLD / HOT) ** (1.0 / max(rounds, 1))
    heat = HOT
    for step in range(rounds):
        old_cost = cost
        mean_length = n / max(used, 1)
        top = min(float(LONGEST_STRING), mean_length)
        strings_most = 4.0 * MEAN_REMOVED / (1.0 + top) - 1.0
        strings = int(np.random.random() * strings_most + 1.0)
        centre = np.random.randint(1, n + 1)
        removed = 0
        ruined = 0
        for a in range(n):
            if ruined >= strings:
                break
            c = centre if a == 0 else near[centre, a - 1]
            r = where[c]
            if r < 0 or touched[r] == step + 1:
                continue
            touched[r] = step + 1
            ruined += 1
            limit = min(float(length[r]), top)
            take = int(np.random.random() * limit + 1.0)
            if take > length[r]:
                take = length[r]
            at = 0
            for p in range(length[r]):
                if routes[r, p] == c:
                    at = p
                    break
            keep = 0
            if take < length[r] and take > 1 and np.random.random() < 0.5:
                keep = 1
                while take + keep < length[r] and np.random.random() > 0.5:
                    keep += 1
            span = take + keep
            low = max(0, at - span + 1)
            high = min(at, length[r] - span)
            first = low + int(np.random.random() * (high - low + 1))
            skip_at = first + (int(np.random.random() * (take + 1)) if keep > 0 else 0)
            put = first
            for p in range(first, length[r]):
                node = routes[r, p]
                inside = p < first + span and not (keep > 0 and skip_at <= p < skip_at + keep)
                if inside:
                    where[node] = -1
                    load[r] -= demand[node]
                    absent[removed] = node
                    removed += 1
                else:
                    routes[r, put] = node
                    put += 1
            length[r] = put
        r = 0
        while r < used:
            if length[r] == 0:
                used -= 1
                if r < used:
                    length[r] = length[used]
                    load[r] = load[used]
                    touched[r] = touched[used]
                    for p in range(length[used]):
                        routes[r, p] = routes[used, p]
                        where[routes[r, p]] = r
                length[used] = 0
                load[used] = 0.0
            else:
                r += 1
        kind = np.random.random() * 11.0
        for a in range(removed):
            node = absent[a]
            if kind < 4.0:
                keys[a] = np.random.random()
            elif kind < 8.0:
                keys[a] = -demand[node]
            elif kind < 10.0:
                keys[a] = -d[0, node]
            else:
                keys[a] = d[0, node]
        for a in range(1, removed):
            node = absent[a]
            key = keys[a]
            b = a - 1
            while b >= 0 and keys[b] > key:
                keys[b + 1] = keys[b]
                absent[b + 1] = absent[b]
                b -= 1
            keys[b + 1] = key
            absent[b + 1] = node
        for a in range(removed):
            node = absent[a]
            least = 2 * d[0, node]
            place_r = used
            place_p = 0
            found = False
            for r in range(used):
                if load[r] + demand[node] > capacity:
                    continue
                previous = 0
                for p in range(length[r] + 1):
                    following = routes[r, p] if p < length[r] else 0
                    more = d[previous, node] + d[node, following] - d[previous, following]
                    if (not found or more < least) and np.random.random() > BLINK:
                        least = more
                        place_r = r
                        place_p = p
                        found = True
                    previous = following
            if not found:
                place_r = used
                place_p = 0
                used += 1
                length[place_r] = 0
                load[place_r] = 0.0
            for p in range(length[place_r], place_p, -1):
                routes[place_r, p] = routes[place_r, p - 1]
            routes[place_r, place_p] = node
            length[place_r] += 1
            load[place_r] += demand[node]
            where[node] = place_r
        cost = 0.0
        for r in range(used):
            previous = 0
            for p in range(length[r]):
                cost += d[previous, routes[r, p]]
                previous = routes[r, p]
            cost += d[previous, 0]
        if cost < old_cost - heat * math.log(max(np.random.random(), 1e-12)):
            if cost < best_cost - 1e-12:
                best_cost = cost
                for r in range(most):
                    best_length[r] = length[r] if r < used else 0
                    for p in range(best_length[r]):
                        best_routes[r, p] = routes[r, p]
            for r in range(used):
                old_length[r] = length[r]
                old_load[r] = load[r]
                for p in range(length[r]):
                    old_routes[r, p] = routes[r, p]
            for i in range(n + 1):
                old_where[i] = where[i]
            old_used = used
        else:
            cost = old_cost
            used = old_used
            for r in range(used):
                length[r] = old_length[r]
                load[r] = old_load[r]
                for p in range(length[r]):
                    routes[r, p] = old_routes[r, p]
            for i in range(n + 1):
                where[i] = old_where[i]
        heat *= factor
    following = np.zeros((n + 1, n + 1))
    for r in range(most):
        previous = 0
        for p in range(best_length[r]):
            following[previous, best_routes[r, p]] = 1.0
            previous = best_routes[r, p]
        if best_length[r] > 0:
            following[previous, 0] = 1.0
    return following


def heuristics(distance_matrix: np.ndarray, coordinates: np.ndarray, demands: np.ndarray, capacity: int) -> np.ndarray:
    n = len(demands)
    d = np.ascontiguousarray(distance_matrix, dtype=float).copy()
    np.fill_diagonal(d, 0.0)
    if n < 3:
        return np.ones((n, n))
    rounds = int(ROUNDS * min(max((n / 51.0) ** 2, 0.05), 2.0))
    order = np.argsort(d, axis=1, kind="stable")
    near = np.array([row[row != 0] for row in order])
    edges = plan(d, np.asarray(demands, dtype=float), near, float(capacity), rounds, 1)
    return edges + FAINT * np.mean(d) / np.maximum(distance_matrix, 1e-3)
