"""Metrics of an evaluation: checked matrices, means, confidence intervals, gaps to reference values."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import yaml
from numpy.typing import ArrayLike, NDArray

from oragent._base.direction import Direction
from oragent._base.errors import CandidateError, ProblemError
from oragent._base.racing import BY_INSTANCE, PARTS, REFERENCES
from oragent._base.safe_load import load_yaml
from oragent.harness.arguments import Arguments

RESAMPLES = 1000


FILE = "references.yaml"
DRAWN_ANEW = "instances of the same law, drawn anew; nobody knows references for them"


def matrix(value: ArrayLike, shape: tuple[int, ...], *, allow_inf: bool = False) -> NDArray[np.float64]:
    """Check and convert the return value of a heuristic.

    Args:
        value: Returned value.
        shape: Expected shape.
        allow_inf: Whether infinite entries are allowed.

    Returns:
        A float64 array of that shape without NaN.

    Raises:
        CandidateError: ``invalid``, with the value and the expectation.
    """
    try:
        array = np.asarray(value)
    except ValueError:
        raise CandidateError(f"returned a ragged list; expected an array of shape {shape}") from None
    if array.dtype.kind not in "biuf":
        what = f"an array of dtype {array.dtype}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
        raise CandidateError(f"returned {what}; expected real numbers of shape {shape}")
    if array.shape != shape:
        raise CandidateError(f"returned shape {array.shape}; expected {shape}")
    array = array.astype(np.float64)
    bad = np.isnan(array) if allow_inf else ~np.isfinite(array)
    if bad.any():
        place = ", ".join(str(int(axis)) for axis in np.argwhere(bad)[0])
        count = f"{int(bad.sum())} such entries"
        raise CandidateError(f"returned {array[bad][0]} at [{place}] ({count}); expected finite numbers")
    return array


def number(value: Any, low: float = -math.inf, high: float = math.inf) -> float:
    """Check and convert the return value of a heuristic that is one number.

    Args:
        value: Returned value.
        low: Smallest valid number.
        high: Largest valid number.

    Returns:
        The number, finite and within the bounds.

    Raises:
        CandidateError: ``invalid``, with the value and the expectation.
    """
    checked = float(matrix(value, ())[()])
    if not low <= checked <= high:
        raise CandidateError(f"returned {checked:g}; expected a number from {low:g} to {high:g}")
    return checked


def figures(
    name: str,
    values: Mapping[int, Sequence[float]],
    parts: Mapping[str, Mapping[int, Sequence[float]]] | None = None,
    references: Mapping[str, Mapping[int, Sequence[float]]] | None = None,
) -> tuple[dict[str, Any], float]:
    """Return metrics and score for the values of all instances.

    Args:
        name: Name of the figure, such as ``length``; its metrics are ``length_20`` and so on.
        values: Values by problem size, one per instance.
        parts: Parts of these values by name, such as delays and setups. Models that write programs see them.
        references: Reference values of the same instances by name, such as a bound or the best known value.

    Returns:
        The metrics (mean of each size; ``ci95``, a bootstrap interval of the score; ``by_instance``, the values) and
        the score, the mean over sizes of the mean over instances.
    """
    rng = np.random.default_rng(0)
    metrics: dict[str, Any] = {}
    resampled = np.zeros(RESAMPLES)
    for size, measured in values.items():
        sample = np.asarray(measured, dtype=float)
        metrics[f"{name}_{size}"] = round(float(sample.mean()), 6)
        drawn = rng.integers(len(sample), size=(RESAMPLES, len(sample)))
        resampled += sample[drawn].mean(axis=1) / len(values)
    low, high = np.quantile(resampled, (0.025, 0.975))
    metrics["ci95"] = (round(float(low), 6), round(float(high), 6))
    metrics[BY_INSTANCE] = _round_all(values)
    if parts:
        metrics[PARTS] = {part: _round_all(of_part) for part, of_part in parts.items()}
    if references:
        metrics[REFERENCES] = {reference: round(_mean_score(of_size), 6) for reference, of_size in references.items()}
    return metrics, _mean_score(values)


def _round_all(values: Mapping[int, Sequence[float]]) -> dict[int, list[float]]:
    return {size: [round(float(value), 6) for value in measured] for size, measured in values.items()}


def _mean_score(values: Mapping[int, Sequence[float]]) -> float:
    return float(np.mean([np.mean(measured) for measured in values.values()]))


def averages(name: str, values: Mapping[int, Sequence[float]]) -> dict[str, float]:
    """Return the mean of another figure for each size, as ``name_20`` and so on."""
    return {f"{name}_{size}": round(float(np.mean(measured)), 3) for size, measured in values.items()}


def seconds(begun: float, candidate: float) -> dict[str, float]:
    """Return ``candidate_seconds``, and ``solver_seconds`` for all other time.

    Args:
        begun: ``time.perf_counter()`` at the start.
        candidate: Wall seconds in calls, ``Guest.seconds``.
    """
    rest = perf_counter() - begun - candidate
    return {"candidate_seconds": round(candidate, 3), "solver_seconds": round(rest, 3)}


def gaps(arguments: Arguments, problem: str, values: Mapping[int, Sequence[float]]) -> dict[str, Any]:
    """Return the gap of each size to its reference value.

    Args:
        arguments: Arguments of the evaluation.
        problem: Name of the problem.
        values: Values by problem size, one per instance, of all instances.

    Returns:
        ``gap_percent_20`` and so on: percent by which the mean is worse than the reference; negative if it is better.
        Sizes without a reference are left out. All are left out without ``problems/<problem>/references.yaml`` or with
        ``--instances``. For a fresh set, the result is that of ``fresh``.

    Raises:
        ProblemError: The file of references is damaged.
    """
    if anew := fresh(arguments):
        return anew
    # References belong to the default instances, and to all of them.
    if arguments.protocol != "reevo" or arguments.instances:
        return {}
    path = arguments.place(Path("problems") / problem / FILE)
    if not path.is_file():
        return {}
    try:
        references: dict[str, Any] = load_yaml(path)
        sign = -Direction(references["direction"]).sign
        means = {
            size: float(reference["mean"]) for size, reference in references["sets"].get(arguments.mode, {}).items()
        }
    except (OSError, yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError) as fault:
        reason = f"{type(fault).__name__}: {' '.join(str(fault).split())}"
        remedy = "restore it, or make it anew with docs/tools/make_references.py"
        raise ProblemError(f"{path} cannot be read as references ({reason}); {remedy}") from None
    return {
        f"gap_percent_{size}": round(sign * 100 * (float(np.mean(measured)) / means[size] - 1), 4)
        for size, measured in values.items()
        if size in means
    }


def fresh(arguments: Arguments, what: str = DRAWN_ANEW) -> dict[str, Any]:
    """Return the seed and a description of a fresh set; empty in other modes.

    Args:
        arguments: Arguments of the evaluation.
        what: Description of the set.
    """
    if arguments.fresh_seed is None:
        return {}
    return {"fresh_seed": arguments.fresh_seed, "fresh": what}
