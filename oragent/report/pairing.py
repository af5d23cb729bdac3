"""The paired test of a best program against its seed; apart from what reads it, as statistics take long to import."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from oragent._base.direction import Direction
from oragent._base.statistics import RESAMPLES, sign_flip
from oragent.report.paired import Paired, gains


def pair(direction: Direction, seed: Mapping[str, Any], best: Mapping[str, Any]) -> Paired | None:
    """Hold a best program against its seed, instance by instance.

    Each size weighs alike, as in the score, and instances are drawn again within their size.

    Args:
        direction: Direction of the scores.
        seed: Figures of the seed heuristic.
        best: Figures of the best program, on the same instances.

    Returns:
        What came out; None where the figures do not tell what each instance came to.
    """
    found = gains(direction, seed, best)
    if found is None:
        return None
    total = sum(map(len, found))
    weighed = [gain * total / (len(found) * len(size)) for size in found for gain in size]
    rng = np.random.default_rng(0)
    resampled = np.zeros(RESAMPLES)
    for size in found:
        sample = np.asarray(size)
        for start in range(0, RESAMPLES, 500):  # so that memory stays small
            drawn = rng.integers(len(sample), size=(500, len(sample)))
            resampled[start : start + 500] += sample[drawn].mean(axis=1) / len(found)
    low, high = np.quantile(resampled, (0.025, 0.975))
    return Paired(
        instances=total,
        better=sum(gain > 0 for gain in weighed),
        worse=sum(gain < 0 for gain in weighed),
        gain=float(np.mean([np.mean(size) for size in found])),
        low=float(low),
        high=float(high),
        p=sign_flip(weighed),
    )
