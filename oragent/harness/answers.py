"""Comparison of two answers of a candidate."""

from typing import Any

import numpy as np

# Numbers are the same if they differ by at most the precision of their type to this power.
MARGIN = 0.75


def is_same_answer(first: Any, second: Any) -> bool:
    """Return True if two answers are equal: numbers up to rounding, all other values exactly."""
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray) or _is_tensor(first) or _is_tensor(second):
        return _are_arrays_close(np.asarray(first), np.asarray(second))
    if isinstance(first, float) and isinstance(second, float):
        return _are_arrays_close(np.asarray(first), np.asarray(second))
    if type(first) is not type(second):
        return False
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(is_same_answer(value, second[key]) for key, value in first.items())
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(is_same_answer, first, second))
    return bool(first == second)


def _are_arrays_close(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> bool:
    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    if first.dtype.kind not in "fc":
        return bool(np.array_equal(first, second))
    margin = float(np.finfo(first.dtype).eps) ** MARGIN
    finite = np.abs(first[np.isfinite(first)])
    scale = float(finite.max()) if finite.size else 0.0
    return bool(np.allclose(first, second, rtol=margin, atol=margin * scale, equal_nan=True))


def _is_tensor(value: Any) -> bool:
    return type(value).__module__ == "torch"
