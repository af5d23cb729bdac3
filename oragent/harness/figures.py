"""Metrics of an evaluation: checked matrices, means, confidence intervals, gaps to reference values."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import yaml
from numpy.typing import ArrayLike, NDArray

from oragent._base.bounded_yaml import load_yaml
from oragent._base.direction import Direction
from oragent._base.errors import CandidateError, ProblemError
from oragent._base.racing import BY_INSTANCE
from oragent.harness.arguments import Arguments

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


FILE = "references.yaml"
DRAWN_ANEW = "instances of the same law, drawn anew; nobody knows references for them"


def gaps(arguments: Arguments, problem: str, values: Mapping[int, Sequence[float]]) -> dict[str, Any]:
    """Tell how far from the reference every size is.

    Args:
        arguments: Arguments of the evaluation: the mode, and the project root that the problem's folder is found from.
        problem: Name of the problem.
        values: Values of each problem size, one an instance, of all of its instances.

    Returns:
        ``gap_percent_20`` and so on: by how many percent the mean is worse than the reference's (negative: better).
        Sizes without a reference are left out; so are all where ``problems/<problem>/references.yaml`` is missing, or
        where just a few instances are looked at. For a fresh set, which has none, what ``fresh`` tells.

    Raises:
        ProblemError: in one line, if the file is not what it should be.
    """
    if anew := fresh(arguments):
        return anew
    if arguments.protocol != "reevo" or arguments.instances:  # references are of its instances, and of all of them
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
    """Tell the seed by which a fresh set can be drawn again, and what it is; nothing in other modes.

    Args:
        arguments: Arguments of the evaluation.
        what: Description of the set.
    """
    return {} if arguments.fresh_seed is None else {"fresh_seed": arguments.fresh_seed, "fresh": what}
