"""Proof of an optimum in rational numbers, from the values and duals of a solver as guesses."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import reduce

import numpy as np

from oragent.modelling.data.arrays import Arrays, Vector
from oragent.modelling.data.tolerances import scale_of, scales_of

# Maximum number of coefficients of a model that is checked.
MAX_ENTRIES = 20_000
# Largest denominator of a guessed value or dual.
MAX_DENOMINATOR = 10**6
# A bound this close to a whole number, relative to its size, is that number: sums of decimals have such errors.
NOISE = 1e-9
# Amount by which a point must be better for a solver to look for it: HiGHS has 1e-6.
CUT_OFF = 1e-6
# Share of the distance between two possible objectives by which a bound of a solver may be wrong.
BOUND_ERROR = 0.5


def with_whole_limits(arrays: Arrays) -> Arrays:
    """Return the model with limits of whole expressions at whole numbers, as ``n <= 2`` for ``n <= 2.9999999``.

    A solver would take 3 as within its tolerance. Limits that would contradict each other stay as they are.
    """
    integer, matrix = arrays.integer, arrays.matrix
    if not integer.any():
        return arrays
    low, high = _whole_ends(arrays.low, arrays.high, integer)
    is_fractional = ~integer[matrix.columns] | (matrix.values != np.round(matrix.values))
    fractional = np.bincount(matrix.row_indices, is_fractional, len(arrays.row_low))
    is_whole = fractional == 0
    is_whole[[soft.row for soft in arrays.features.soft_rows]] = False
    row_low, row_high = _whole_ends(arrays.row_low, arrays.row_high, is_whole)
    return replace(arrays, low=low, high=high, row_low=row_low, row_high=row_high)


def _whole_ends(low: Vector, high: Vector, is_whole: np.ndarray) -> tuple[Vector, Vector]:
    least, most = np.ceil(low - NOISE * scales_of(low)), np.floor(high + NOISE * scales_of(high))
    chosen = is_whole & (least <= most)
    return np.where(chosen, least, low), np.where(chosen, most, high)


def is_proven_exactly(arrays: Arrays, point: Vector, row_duals: Vector | None, bound: float | None) -> bool:
    """Return True if the objective of a point is proven to be the optimum, without any tolerance.

    Figures of the model count as the decimal numbers that they are written as. A linear model needs duals whose bound
    is the objective. An integer model needs an objective whose possible values are further apart than the bound of the
    solver. Nonlinear and large models are not proven.
    """
    if arrays.features or len(arrays.matrix.values) > MAX_ENTRIES:
        return False
    values = [
        Fraction(round(value)) if whole else _guess(value)
        for value, whole in zip(point.tolist(), arrays.integer.tolist(), strict=True)
    ]
    if not _is_feasible(arrays, values):
        return False
    costs = list(map(_written, arrays.cost.tolist()))
    objective = sum((cost * value for cost, value in zip(costs, values, strict=True)), Fraction())
    if abs(float(objective) + arrays.constant - arrays.objective_at(point)) > NOISE * scale_of(float(objective)):
        return False
    if arrays.integer.any():
        return _is_apart(arrays, costs, objective, bound)
    if row_duals is None:
        return False
    return _dual_bound(arrays, costs, list(map(_guess, row_duals.tolist()))) == objective


def _written(value: float) -> Fraction:
    """Return a number as the shortest decimal that reads back equal."""
    return Fraction(repr(value))


def _guess(value: float) -> Fraction:
    """Return the simplest number near one that a solver computed."""
    return Fraction(value).limit_denominator(MAX_DENOMINATOR)


def _activities(arrays: Arrays, values: list[Fraction]) -> list[Fraction]:
    sums = [Fraction()] * len(arrays.row_low)
    matrix = arrays.matrix
    entries = zip(matrix.row_indices.tolist(), matrix.columns.tolist(), matrix.values.tolist(), strict=True)
    for row, column, value in entries:
        sums[row] += _written(value) * values[column]
    return sums


def _is_feasible(arrays: Arrays, values: list[Fraction]) -> bool:
    figures = [*values, *_activities(arrays, values)]
    lows = [*arrays.low.tolist(), *arrays.row_low.tolist()]
    highs = [*arrays.high.tolist(), *arrays.row_high.tolist()]
    return all(
        (low == -math.inf or _written(low) <= figure) and (high == math.inf or figure <= _written(high))
        for figure, low, high in zip(figures, lows, highs, strict=True)
    )


def _is_apart(arrays: Arrays, costs: list[Fraction], objective: Fraction, bound: float | None) -> bool:
    """Return True if no other possible objective lies between the point and the bound."""
    used = [(cost, whole) for cost, whole in zip(costs, arrays.integer.tolist(), strict=True) if cost]
    if not all(whole for _, whole in used):
        return False
    common = math.lcm(*(cost.denominator for cost, _ in used))
    distance = Fraction(reduce(math.gcd, (int(cost * common) for cost, _ in used), 0), common)
    if not used:
        return True
    gap = 0.0 if bound is None else abs(float(objective) + arrays.constant - bound)
    room = BOUND_ERROR * float(distance) - gap
    # Solvers cut off points that are better by less than their tolerance, and compute no bound to more digits than
    # those of the noise.
    return room > CUT_OFF + NOISE * scale_of(float(objective))


def _dual_bound(arrays: Arrays, costs: list[Fraction], duals: list[Fraction]) -> Fraction | None:
    """Return the bound of duals on the objective without its constant; None if it is infinite."""
    sign = int(arrays.sense.sign)
    reduced = list(costs)
    matrix = arrays.matrix
    entries = zip(matrix.row_indices.tolist(), matrix.columns.tolist(), matrix.values.tolist(), strict=True)
    for row, column, value in entries:
        reduced[column] -= _written(value) * duals[row]
    total = Fraction()
    prices = [*reduced, *duals]
    lows, highs = [*arrays.low.tolist(), *arrays.row_low.tolist()], [*arrays.high.tolist(), *arrays.row_high.tolist()]
    for price, low, high in zip(prices, lows, highs, strict=True):
        if price:
            end = low if sign * price > 0 else high
            if math.isinf(end):
                return None
            total += price * _written(end)
    return total
