"""Decisions put again, to guests that know the arguments of one call alone.

A loop that runs beside the candidate shows it the whole instance, and a process that answers many calls remembers.
Neither helps a guest that was made for one decision: it has the arguments, as the problem says, and nothing else. When
the scorer is through, and every guest that it asked is dead, some decisions are put to such strangers.
"""

from bisect import bisect_right
from itertools import accumulate
from random import SystemRandom
from typing import Any

import numpy as np

from oragent.harness import frames
from oragent._base.errors import CandidateError
from oragent._base.protocol import Status
from oragent.harness.guest import Guest
from oragent.harness.modules import Callee

MARGIN = 0.75  # two answers are the same up to this power of their type's precision
MISMATCH = (
    "answers a call otherwise when it is asked that call alone: a heuristic must be a function of its arguments, "
    "without a memory of other calls and without random numbers of its own"
)


def sample(count: int, size: int | None) -> list[int]:
    """Draw which of ``count`` decisions to check, in ascending order, from the operating system's entropy.

    A seeded generator would tell a candidate which decisions are safe to forge. An honest one passes whatever is drawn,
    so its score stays the same to the last bit.

    Args:
        count: Number of decisions.
        size: Number to draw; None for all.
    """
    return list(range(count)) if size is None or size >= count else sorted(SystemRandom().sample(range(count), size))


def spot_check(guest: Guest) -> None:
    """Put some decisions of every loop to one guest in which no loop ever ran; all that ran are dead.

    Raises:
        CandidateError: ``rejected``, if it decides otherwise.
    """
    guest.end()
    if not guest.claims:
        return
    stranger = guest.stranger()
    try:
        for claim in guest.claims:
            guest.where = claim.where
            witness = Callee(lambda *call: guest.put(stranger, _call(*call)))
            claim.replay(witness, sample(claim.count, claim.checked))
    finally:
        stranger.close()


def audit(guest: Guest, size: int | None) -> int:
    """Put random decisions, of loops and of single calls, each to a guest of its own.

    Args:
        guest: Guest of the evaluation, which ends here.
        size: Number of decisions; None for all.

    Returns:
        The number of decisions that were put.

    Raises:
        CandidateError: ``rejected``, if one is not what the function says on its own.
    """
    guest.end()
    kept = guest.calls.kept if guest.calls else []
    counts = [claim.count for claim in guest.claims] + [1] * len(kept)
    ends = list(accumulate(counts))
    drawn: dict[int, list[int]] = {}
    for decision in sample(ends[-1] if ends else 0, size):
        owner = bisect_right(ends, decision)
        drawn.setdefault(owner, []).append(decision - ends[owner] + counts[owner])
    for owner, steps in drawn.items():
        if owner < len(guest.claims):
            claim = guest.claims[owner]
            guest.where = claim.where
            claim.replay(Callee(lambda *call: _alone(guest, _call(*call))), steps)
        else:
            guest.where, request, answer = kept[owner - len(guest.claims)]
            if not same(_alone(guest, request), answer):
                raise CandidateError(f"{MISMATCH} ({guest.where})", Status.REJECTED)
    return sum(map(len, drawn.values()))


def same(one: Any, other: Any) -> bool:
    """Whether two answers are alike: numbers up to rounding, everything else exactly."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray) or _is_tensor(one) or _is_tensor(other):
        return _same_arrays(np.asarray(one), np.asarray(other))
    if isinstance(one, float) and isinstance(other, float):
        return _same_arrays(np.asarray(one), np.asarray(other))
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _same_arrays(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype.kind not in "fc":
        return bool(np.array_equal(one, other))
    margin = float(np.finfo(one.dtype).eps) ** MARGIN
    finite = np.abs(one[np.isfinite(one)])
    scale = float(finite.max()) if finite.size else 0.0
    return bool(np.allclose(one, other, rtol=margin, atol=margin * scale, equal_nan=True))


def _is_tensor(value: Any) -> bool:
    return type(value).__module__ == "torch"


def _call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    return frames.encode({"loop": None, "name": name, "args": args, "kwargs": kwargs})


def _alone(guest: Guest, request: bytes) -> Any:
    """Ask a guest that lives for this one call."""
    stranger = guest.stranger()
    try:
        return guest.put(stranger, request)
    finally:
        stranger.close()
