"""Metrics of an evaluation: check matrices, compute means and confidence intervals."""

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oragent._base.errors import CandidateError
from oragent._base.racing import BY_INSTANCE

RESAMPLES = 1000


def matrix(value: ArrayLike, shape: tuple[int, ...], *, allow_inf: bool = False) -> NDArray[np.float64]:
    """Check what a heuristic returned.

    Args:
        value: Value that came back across the wire.
        shape: Shape that the problem expects.
        allow_inf: Whether infinite entries have a meaning for the problem.

    Returns:
        A float64 array of that shape, free of NaN.

    Raises:
        CandidateError: ``invalid``, saying what came and what was expected.
    """
    try:
        array = np.asarray(value)
    except ValueError:
        raise CandidateError(f"returned a ragged list; expected an array of shape {shape}") from None
    if array.dtype.kind not in "biuf":
        raise CandidateError(f"returned {_describe_kind(value, array)}; expected real numbers of shape {shape}")
    if array.shape != shape:
        raise CandidateError(f"returned shape {array.shape}; expected {shape}")
    array = array.astype(np.float64)
    bad = np.isnan(array) if allow_inf else ~np.isfinite(array)
    if bad.any():
        place = ", ".join(str(int(axis)) for axis in np.argwhere(bad)[0])
        count = f"{int(bad.sum())} such entries"
        raise CandidateError(f"returned {array[bad][0]} at [{place}] ({count}); expected finite numbers")
    return array


def _describe_kind(value: object, array: NDArray[Any]) -> str:
    return f"an array of dtype {array.dtype}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"


def figures(name: str, values: Mapping[int, Sequence[float]]) -> tuple[dict[str, Any], float]:
    """Sum up what was measured on every instance.

    Args:
        name: Name of the figure, such as ``length``; metrics are called ``length_20``.
        values: Values of each problem size, one an instance.

    Returns:
        The metrics (the mean of every size, ``ci95``: a bootstrap interval of the score over instances, drawn with a
        fixed seed, and ``by_instance``: what each came to, by size) and the score: the mean over sizes of the mean over
        instances.
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
    metrics[BY_INSTANCE] = {size: [round(float(value), 6) for value in measured] for size, measured in values.items()}
    return metrics, float(np.mean([np.mean(measured) for measured in values.values()]))


def averages(name: str, values: Mapping[int, Sequence[float]]) -> dict[str, float]:
    """The mean of every size of something else that was measured on instances, called ``name_20`` and so on."""
    return {f"{name}_{size}": round(float(np.mean(measured)), 3) for size, measured in values.items()}


def seconds(begun: float, candidate: float) -> dict[str, float]:
    """Tell where the time went: ``candidate_seconds``, and ``solver_seconds`` for all the rest.

    Args:
        begun: Reading of ``time.perf_counter`` at the start, seconds.
        candidate: Wall seconds spent in calls of the candidate, `Guest.seconds`.
    """
    rest = perf_counter() - begun - candidate
    return {"candidate_seconds": round(candidate, 3), "solver_seconds": round(rest, 3)}
