"""Decisions put again, to guests that know the arguments of one call alone.

A loop that runs beside the candidate shows it the whole instance, and a process that answers many calls remembers.
Neither helps a guest that was made for one decision: it has the arguments, as the problem says, and nothing else. When
the scorer is through, and every guest that it asked is dead, some decisions are put to such strangers.
"""

from bisect import bisect_right
from collections.abc import Collection
from itertools import accumulate
from random import SystemRandom
from typing import Any

import numpy as np

from oragent.harness import frames
from oragent._base.errors import CandidateError
from oragent._base.protocol import Status
from oragent.harness.compiled import MOST_BYTES
from oragent.harness.guest import Guest
from oragent.harness.modules import Callee

EXAMPLES = 3  # decisions of another instance by which a guest compiles
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
    drawn_from = {guest.claims[at].where if at < len(guest.claims) else kept[at - len(guest.claims)][0] for at in drawn}
    code = _Code(guest, drawn_from)
    for owner, steps in drawn.items():
        if owner < len(guest.claims):
            claim = guest.claims[owner]
            begin = code.of_another(claim.where)
            guest.where = claim.where
            claim.replay(Callee(lambda *call, begin=begin: _alone(guest, _call(*call), begin)), steps)
        else:
            where, request, answer = kept[owner - len(guest.claims)]
            begin = code.of_another(where)
            guest.where = where
            if not same(_alone(guest, request, begin), answer):
                raise CandidateError(f"{MISMATCH} ({guest.where})", Status.REJECTED)
    return sum(map(len, drawn.values()))


class _Code:
    """Compiled code that the guests of an audit begin with, made before any of them.

    It comes from a guest that saw a few decisions of another instance alone. All guests get the same bytes, but for
    those of that instance itself, which get the bytes of a second guest that saw a third instance.

    Args:
        guest: Guest of the evaluation, which has ended.
        drawn_from: Instances whose decisions are audited; others serve as examples first.
    """

    def __init__(self, guest: Guest, drawn_from: Collection[str]) -> None:
        self._guest = guest
        kept = guest.calls.kept if guest.calls and guest.compiles else []
        claims = guest.claims if guest.compiles else []
        places = list(dict.fromkeys([*(claim.where for claim in claims), *(where for where, _, _ in kept)]))
        shuffled = SystemRandom().sample(places, len(places)) if len(places) > 1 else []
        examples = sorted(shuffled, key=lambda place: place in drawn_from)[:2]
        needed = examples if examples and examples[0] in drawn_from else examples[:1]
        self._requests = {example: self._compiled(example) for example in needed}

    def of_another(self, where: str) -> bytes:
        """The request by which a guest takes code that was compiled for another instance; empty for none."""
        return next((request for example, request in self._requests.items() if example != where), b"")

    def _compiled(self, where: str) -> bytes:
        """Put some decisions of an instance to one guest, which checks them too, and take the code that it has then."""
        guest = self._guest
        guest.where = where
        stranger = guest.stranger()
        try:
            for claim in [claim for claim in guest.claims if claim.where == where][:1]:
                claim.replay(Callee(lambda *call: guest.put(stranger, _call(*call))), sample(claim.count, EXAMPLES))
            calls = [call for call in (guest.calls.kept if guest.calls else []) if call[0] == where]
            for _, request, answer in [calls[at] for at in sample(len(calls), EXAMPLES)]:
                if not same(guest.put(stranger, request), answer):
                    raise CandidateError(f"{MISMATCH} ({where})", Status.REJECTED)
            code = guest.put(stranger, _exchange(None))
        finally:
            stranger.close()
        usable = isinstance(code, np.ndarray) and code.dtype == np.uint8 and code.ndim == 1
        return _exchange(code) if usable and 0 < code.size <= MOST_BYTES else b""


def _exchange(code: Any) -> bytes:
    return frames.encode({"compiled": code})


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


def _alone(guest: Guest, request: bytes, begin: bytes) -> Any:
    """Ask a guest that lives for this one call, after a request that it begins with, if there is one."""
    stranger = guest.stranger()
    try:
        if begin:
            guest.put(stranger, begin)
        return guest.put(stranger, request)
    finally:
        stranger.close()
