"""It contains a solver: routes of savings are improved by removing strings of neighbouring routes and inserting them again where they cost least; the bias overrules the network, which serves the customers in the order of the plan, distant routes first, each from the end near the depot; the network alone decides when it returns to the depot."""

import math

import numba
import numpy as np
import torch

ROUNDS = 110000
HOT, COLD = 0.01, 0.0005
MEAN_REMOVED = 10.0
LONGEST_STRING, BLINK = 10, 0.01
NEIGHBOURS = 100
ROOM = 1.0 + 1e-6
STRONG = 1000.0


@numba.njit
def savings(d, demand, capacity, first, second):
    # Clarke and Wright: join the ends of two routes, in the order of what that saves.
    n = demand.size
    routes = np.zeros((n, n + 1), np.int64)
    length, load, where = np.zeros(n, np.int64), demand.copy(), np.arange(n)
    for i in range(1, n):
        routes[i, 0] = i
        length[i] = 1
    for k in range(first.size):
        a, b = where[first[k]], where[second[k]]
        i, j = first[k], second[k]
        if a == b or load[a] + load[b] > capacity:
            continue
        if (routes[a, 0] != i and routes[a, length[a] - 1] != i) or (
            routes[b, 0] != j and routes[b, length[b] - 1] != j
        ):
            continue
        if routes[a, length[a] - 1] != i:
            routes[a, : length[a]] = routes[a, : length[a]][::-1].copy()
        if routes[b, 0] != j:
            routes[b, : length[b]] = routes[b, : length[b]][::-1].copy()
        for p in range(length[b]):
            routes[a, length[a] + p] = routes[b, p]
            where[routes[b, p]] = a
        length[a] += length[b]
        load[a] += load[b]
        routes[b, : length[b]] = 0
        length[b] = 0
    return routes


@numba.njit
def plan(d, demand, near, capacity, rounds, begun, hot, seed):
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
    for r in range(n):
        if begun[r, 0] == 0:
            continue
        for p in range(n):
            if begun[r, p] == 0:
                break
            routes[used, p] = begun[r, p]
            length[used] = p + 1
            load[used] += demand[begun[r, p]]
            where[begun[r, p]] = used
        used += 1
    cost = 0.0
    for r in range(used):
        previous = 0
        for p in range(length[r]):
            cost += d[previous, routes[r, p]]
            previous = routes[r, p]
        cost += d[previous, 0]
    best_cost = cost
    best_routes = routes.copy()
    best_length = length.copy()
    old_routes = routes.copy()
    old_length = length.copy()
    old_load = load.copy()
    old_where = where.copy()
    old_used = used
    touched = np.zeros(most, np.int64)
    factor = (COLD / hot) ** (1.0 / max(rounds, 1))
    heat = hot
    for step in range(rounds):
        old_cost = cost
        mean_length = n / max(used, 1)
        top = min(float(LONGEST_STRING), mean_length)
        strings_most = 4.0 * MEAN_REMOVED / (1.0 + top) - 1.0
        strings = int(np.random.random() * strings_most + 1.0)
        centre = np.random.randint(1, n + 1)
        removed = 0
        ruined = 0
        for a in range(near.shape[1] + 1):
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
    return best_routes, best_length


def arrange(d, routes, length):
    # The bias cannot say when to return, and the network returns most reliably before a customer near the depot.
    trips = [row[:count] for row, count in zip(routes, length, strict=True) if count]
    trips.sort(key=lambda trip: -d[0, trip].mean())
    return np.concatenate([[0], *(trip if d[0, trip[0]] <= d[0, trip[-1]] else trip[::-1] for trip in trips)])


def heuristics(distance_matrix: torch.Tensor, demands: torch.Tensor) -> torch.Tensor:
    n = len(demands)
    bias = -STRONG * distance_matrix / distance_matrix.mean().clamp_min(1e-12)
    d, demand = distance_matrix.double().numpy().copy(), demands.double().numpy().copy()
    if n < 4 or demand.max() > 1.0:
        return bias
    order = np.argsort(d, axis=1, kind="stable")
    near = np.array([row[row != 0][:NEIGHBOURS] for row in order])
    pairs = np.triu_indices(n, 1)
    gain = d[0, pairs[0]] + d[0, pairs[1]] - d[pairs]
    gain[pairs[0] == 0] = 0.0
    best = np.argsort(-gain, kind="stable")[: np.count_nonzero(gain > 0)]
    begun = savings(d, demand, ROOM, pairs[0][best], pairs[1][best])
    order = arrange(d, *plan(d, demand, near, ROOM, int(ROUNDS * (200 / n) ** 0.8), begun, HOT, 1))
    bias[order[:-1], order[1:]] = STRONG
    return bias
