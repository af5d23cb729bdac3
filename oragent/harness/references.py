"""Reference values of a problem: optima, bounds and best known values."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from oragent._base.direction import Direction
from oragent._base.errors import ProblemError
from oragent.harness.arguments import Arguments

FILE = "references.yaml"
DRAWN_ANEW = "instances of the same law, drawn anew; nobody knows references for them"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # saves an evaluation two milliseconds, where it is there


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
        references: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), LOADER)
        sign = -Direction(references["direction"]).sign
        means = {
            size: float(reference["mean"]) for size, reference in references["sets"].get(arguments.mode, {}).items()
        }
    except (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError) as fault:
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
