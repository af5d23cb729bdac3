"""Recorder of ``scipy.optimize.linprog`` and ``milp``."""

import math
from typing import Any

import numpy as np

from oragent.modelling.capture.recorder import Recorder, package_version
from oragent.modelling.capture.snapshot import Snapshot

# Methods of ``linprog`` with a limit of time; ``milp`` has no method.
TIMED_METHODS = ("highs", "highs-ds", "highs-ipm")


def install(module: Any, recorder: Recorder) -> None:
    """Watch both functions."""
    version = package_version(module, "scipy")

    def snapshot_linear(*arguments: Any, **named: Any) -> Snapshot:
        return _of_linprog(version, recorder, *arguments, **named)

    def snapshot_mixed(*arguments: Any, **named: Any) -> Snapshot:
        return _of_milp(version, recorder, *arguments, **named)

    for name in ("linprog", "milp"):
        setattr(module, name, _limited(getattr(module, name), recorder))
    recorder.watch_solve(module, ("linprog",), version, snapshot_linear, _claim)
    recorder.watch_solve(module, ("milp",), version, snapshot_mixed, _claim)


def _limited(solve: Any, recorder: Recorder) -> Any:
    """Return a function that solves within the remaining time, if its method has a limit of time."""

    def solve_limited(*arguments: Any, **named: Any) -> Any:
        if named.get("method", "highs") in TIMED_METHODS:
            options = dict(named.get("options") or {})
            requested = options.get("time_limit")
            remaining = recorder.remaining_s()
            options["time_limit"] = remaining if requested is None else min(float(requested), remaining)
            named["options"] = options
        return solve(*arguments, **named)

    solve_limited.__doc__ = solve.__doc__
    return solve_limited


def _of_linprog(
    version: str,
    recorder: Recorder,
    c: Any,
    A_ub: Any = None,  # scipy's name
    b_ub: Any = None,
    A_eq: Any = None,  # scipy's name
    b_eq: Any = None,
    bounds: Any = (0, None),
    *arguments: Any,
    integrality: Any = None,
    **named: Any,
) -> Snapshot:
    snapshot = Snapshot(version)
    costs = np.asarray(c).ravel()
    kinds = np.broadcast_to(0 if integrality is None else integrality, len(costs))
    pairs = np.array(bounds if bounds is not None else (0, None))
    if pairs.ndim == 1 or pairs.shape == (1, 2):
        pairs = np.tile(pairs.reshape(1, 2), (len(costs), 1))
    for at, cost in enumerate(costs):
        low, high = pairs[at]
        _add_column(snapshot, at, low, high, int(kinds[at]), float(cost))
    for name, matrix, limits in (("A_ub", A_ub, b_ub), ("A_eq", A_eq, b_eq)):
        if matrix is not None:
            upper = np.asarray(limits).ravel()
            lower = np.full(len(upper), -np.inf) if name == "A_ub" else upper
            _add_rows(snapshot, name, matrix, lower, upper)
    return recorder.fill_keys(snapshot, snapshot, None, None)


def _of_milp(
    version: str,
    recorder: Recorder,
    c: Any,
    *,
    integrality: Any = None,
    bounds: Any = None,
    constraints: Any = None,
    **named: Any,
) -> Snapshot:
    snapshot = Snapshot(version)
    costs = np.asarray(c).ravel()
    kinds = np.broadcast_to(0 if integrality is None else integrality, len(costs))
    low, high = (0.0, np.inf) if bounds is None else (_side(bounds, "lb", 0), _side(bounds, "ub", 1))
    lows, highs = (np.broadcast_to(side, len(costs)) for side in (low, high))
    for at, cost in enumerate(costs):
        _add_column(snapshot, at, lows[at], highs[at], int(kinds[at]), float(cost))
    given = [] if constraints is None else constraints
    if hasattr(given, "A") or (isinstance(given, tuple) and len(given) == 3 and not hasattr(given[0], "A")):
        given = [given]
    for number, constraint in enumerate(given):
        matrix, lower, upper = (constraint.A, constraint.lb, constraint.ub) if hasattr(constraint, "A") else constraint
        count = matrix.shape[0] if hasattr(matrix, "shape") and len(matrix.shape) == 2 else len(np.atleast_2d(matrix))
        sides = (np.broadcast_to(side, count) for side in (lower, upper))
        _add_rows(snapshot, "constraint" if len(given) == 1 else f"constraint_{number + 1}", matrix, *sides)
    return recorder.fill_keys(snapshot, snapshot, None, None)


def _side(bounds: Any, name: str, at: int) -> Any:
    return getattr(bounds, name) if hasattr(bounds, name) else bounds[at]


def _add_column(snapshot: Snapshot, at: int, low: Any, high: Any, kind: int, cost: float) -> None:
    if kind not in (0, 1):
        snapshot.missing.append("semi-continuous variables")
    lower = -math.inf if low is None else float(low)
    snapshot.add_column(f"x[{at}]", lower, math.inf if high is None else float(high), kind == 1, cost)


def _add_rows(snapshot: Snapshot, name: str, matrix: Any, lower: Any, upper: Any) -> None:
    if hasattr(matrix, "tocsr"):
        rows = matrix.tocsr()
        for at in range(rows.shape[0]):
            part = slice(rows.indptr[at], rows.indptr[at + 1])
            terms = dict(zip(rows.indices[part].tolist(), rows.data[part].tolist(), strict=True))
            snapshot.add_row(f"{name}[{at}]", terms, lower[at], upper[at])
        return
    for at, row in enumerate(np.atleast_2d(np.asarray(matrix, dtype=float))):
        terms = {int(column): float(row[column]) for column in np.flatnonzero(row)}
        snapshot.add_row(f"{name}[{at}]", terms, lower[at], upper[at])


def _claim(result: Any, *arguments: Any, **named: Any) -> tuple[str, float | None, Any]:
    values = None if result.x is None else list(result.x)
    return str(result.message), None if result.fun is None else float(result.fun), values
