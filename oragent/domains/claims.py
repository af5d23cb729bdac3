"""Claims that are lists of indices, such as tours and assignments."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import CandidateError


def whole_numbers(claim: Any, what: str, item: str, limit: int) -> NDArray[np.int64]:
    """Turn what claims to be a list of indices into an array.

    Args:
        claim: Anything that claims to be such a list.
        what: Name of what it claims to be, such as ``a tour``.
        item: Name of what one index stands for, such as ``city``.
        limit: Number of indices: they go from 0 to ``limit - 1``.

    Returns:
        ``(k,)`` int64 array with values in that range.

    Raises:
        CandidateError: ``invalid``, if it is anything else.
    """
    try:
        values = np.asarray(claim)
    except ValueError:
        values = np.empty((0, 0))
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iu"):
        raise CandidateError(f"{what} must be a flat list of whole numbers, not {_shorten_repr(claim)}")
    if (strange := values[(values < 0) | (values >= limit)]).size:
        raise CandidateError(f"{what} names {item} {strange[0]}; expected 0 to {limit - 1}")
    return values.astype(np.int64)


def _shorten_repr(claim: Any) -> str:
    if isinstance(claim, np.ndarray):
        return f"an array of dtype {claim.dtype} and shape {claim.shape}"
    return f"a {type(claim).__name__}"
