"""Duals of the linear relaxation price the dimensions; items of clear reduced prize are fixed, and branch and bound decides the fifty that are in doubt, so that the colony starts from a choice that is optimal or nearly so."""

import numba
import numpy as np
from scipy.optimize import linprog

NODES = 20000
SHARP = 20.0
CORE = 50


@numba.njit
def choose(prize, weight, reduced, duals, room, suffix, nodes, taken, best):
    size, m = weight.shape
    state = np.zeros(size + 1, np.int64)
    depth = 0
    value = 0.0
    best_value = -1.0
    left = 0.0
    for j in range(m):
        left += duals[j] * room[j]
    count = 0
    while depth >= 0:
        if depth == size:
            if value > best_value + 1e-12:
                best_value = value
                for k in range(size):
                    best[k] = taken[k]
            depth -= 1
            continue
        step = state[depth]
        if step > 0 and taken[depth] == 1:
            taken[depth] = 0
            value -= prize[depth]
            for j in range(m):
                room[j] += weight[depth, j]
                left += duals[j] * weight[depth, j]
        if step == 2 or (step == 0 and count > nodes) or value + left + suffix[depth] <= best_value + 1e-12:
            state[depth] = 0
            depth -= 1
            continue
        state[depth] = step + 1
        count += 1
        take = reduced[depth] > 0
        if step == 1:
            take = not take
        if take:
            fits = True
            for j in range(m):
                if weight[depth, j] > room[j] + 1e-12:
                    fits = False
            if not fits:
                continue
            taken[depth] = 1
            value += prize[depth]
            for j in range(m):
                room[j] -= weight[depth, j]
                left -= duals[j] * weight[depth, j]
        depth += 1
    return best_value


def heuristics(prize: np.ndarray, weight: np.ndarray) -> np.ndarray:
    n = len(prize)
    if n == 0:
        return np.zeros(0)
    prize, weight = np.asarray(prize, dtype=float), np.ascontiguousarray(weight, dtype=float)
    relaxed = linprog(-prize, A_ub=weight.T, b_ub=np.ones(weight.shape[1]), bounds=(0, 1), method="highs")
    if relaxed.x is None:
        return np.maximum(prize, 1e-9)
    duals = np.maximum(-relaxed.ineqlin.marginals, 0.0)
    reduced = prize - weight @ duals
    promise = np.exp(np.clip(SHARP * reduced, -18.0, 18.0))
    order = np.argsort(-np.abs(reduced), kind="stable")
    clear, core = order[: max(0, n - CORE)], order[max(0, n - CORE) :]
    fixed = clear[reduced[clear] > 0]
    room = 1.0 - weight[fixed].sum(axis=0)
    if np.any(room < 0):
        return promise
    positive = np.maximum(reduced[core], 0.0)
    suffix = np.append(np.cumsum(positive[::-1])[::-1], 0.0)
    taken, best = np.zeros(len(core), np.int64), np.zeros(len(core), np.int64)
    choose(prize[core], weight[core], reduced[core], duals, room.copy(), suffix, NODES, taken, best)
    take = np.zeros(n, dtype=bool)
    take[fixed] = True
    take[core] = best > 0
    return np.where(take, 1.0, 1e-4 * promise / promise.max())
