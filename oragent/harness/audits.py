"""Audits: repeat decisions in guests that know the arguments of one call alone.

A loop beside the candidate shows it the whole instance, and a process that answers many calls can remember them. A
guest that is made for one decision has only its arguments. After the evaluation, when all its guests are dead, some
decisions are repeated in such guests.
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
from oragent.harness.candidate_loading import MOST_BYTES, Callee
from oragent.harness.guest import Guest

# decisions of another instance by which a guest compiles
EXAMPLES = 3
# two answers are the same up to this power of their type's precision
MARGIN = 0.75
MISMATCH = (
    "answers a call otherwise when it is asked that call alone: a heuristic must be a function of its arguments, "
    "without a memory of other calls and without random numbers of its own"
)


def draw_sample(count: int, size: int | None) -> list[int]:
    """Draw ``size`` of ``count`` decisions, None: all, in ascending order, from the operating system's entropy.

    A seeded generator would tell a candidate which decisions are safe to forge. An honest one passes whatever is drawn,
    so its score stays the same to the last bit.
    """
    if size is None or size >= count:
        return list(range(count))
    return sorted(SystemRandom().sample(range(count), size))


def spot_check(guest: Guest) -> None:
    """Put some decisions of every loop to one guest in which no loop ever ran; all that ran are dead.

    Raises:
        CandidateError: ``rejected``, if it decides otherwise.
    """
    guest.end()
    if not guest.claims:
        return
    stranger = guest.make_stranger()
    try:
        for claim in guest.claims:
            guest.where = claim.where
            witness = Callee(lambda *call: guest.ask_other(stranger, _encode_call(*call)))
            claim.replay(witness, draw_sample(claim.count, claim.checked))
    finally:
        guest.end_other(stranger)


def audit_decisions(guest: Guest, size: int | None) -> int:
    """Put ``size`` random decisions, None: all, of loops and of single calls, each to a guest of its own.

    Returns:
        The number of decisions that were put.

    Raises:
        CandidateError: ``rejected``, if one is not what the function says on its own.
    """
    guest.end()
    if guest.calls:
        calls = guest.calls.calls
    else:
        calls = []
    counts = [claim.count for claim in guest.claims] + [1] * len(calls)
    ends = list(accumulate(counts))
    drawn: dict[int, list[int]] = {}
    for decision in draw_sample(ends[-1] if ends else 0, size):
        owner = bisect_right(ends, decision)
        drawn.setdefault(owner, []).append(decision - ends[owner] + counts[owner])
    drawn_from = {
        guest.claims[at].where if at < len(guest.claims) else calls[at - len(guest.claims)][0] for at in drawn
    }
    code = _SharedCode(guest, drawn_from)
    for owner, steps in drawn.items():
        if owner < len(guest.claims):
            claim = guest.claims[owner]
            begin = code.request_for(claim.where)
            guest.where = claim.where
            claim.replay(Callee(lambda *call, begin=begin: _ask_alone(guest, _encode_call(*call), begin)), steps)
        else:
            where, request, answer = calls[owner - len(guest.claims)]
            begin = code.request_for(where)
            guest.where = where
            if not is_same_answer(_ask_alone(guest, request, begin), answer):
                raise CandidateError(f"{MISMATCH} ({guest.where})", Status.REJECTED)
    return sum(map(len, drawn.values()))


class _SharedCode:
    """Compiled code that the guests of an audit begin with, made before any of them.

    It comes from a guest that saw a few decisions of another instance alone. All guests get the same bytes, but for
    those of that instance itself, which get the bytes of a second guest that saw a third instance.
    """

    def __init__(self, guest: Guest, drawn_from: Collection[str]) -> None:
        self._guest = guest
        if guest.calls and guest.compiles:
            calls = guest.calls.calls
        else:
            calls = []
        if guest.compiles:
            claims = guest.claims
        else:
            claims = []
        instances = list(dict.fromkeys([*(claim.where for claim in claims), *(where for where, _, _ in calls)]))
        if len(instances) > 1:
            shuffled = SystemRandom().sample(instances, len(instances))
        else:
            shuffled = []
        examples = sorted(shuffled, key=lambda instance: instance in drawn_from)[:2]
        if examples and examples[0] in drawn_from:
            needed = examples
        else:
            needed = examples[:1]
        self._requests = {example: self._compile_example(example) for example in needed}

    def request_for(self, where: str) -> bytes:
        """The request by which a guest takes code that was compiled for another instance; empty for none."""
        return next((request for example, request in self._requests.items() if example != where), b"")

    def _compile_example(self, where: str) -> bytes:
        """Put some decisions of an instance to one guest, which checks them too, and take the code that it has then."""
        guest = self._guest
        guest.where = where
        stranger = guest.make_stranger()
        try:
            for claim in [claim for claim in guest.claims if claim.where == where][:1]:
                claim.replay(
                    Callee(lambda *call: guest.ask_other(stranger, _encode_call(*call))),
                    draw_sample(claim.count, EXAMPLES),
                )
            calls = [call for call in (guest.calls.calls if guest.calls else []) if call[0] == where]
            for _, request, answer in [calls[at] for at in draw_sample(len(calls), EXAMPLES)]:
                if not is_same_answer(guest.ask_other(stranger, request), answer):
                    raise CandidateError(f"{MISMATCH} ({where})", Status.REJECTED)
            code = guest.ask_other(stranger, _encode_exchange(None))
        finally:
            guest.end_other(stranger)
        usable = isinstance(code, np.ndarray) and code.dtype == np.uint8 and code.ndim == 1
        if usable and 0 < code.size <= MOST_BYTES:
            return _encode_exchange(code)
        return b""


def _encode_exchange(code: Any) -> bytes:
    return frames.encode({"compiled": code})


def is_same_answer(first: Any, second: Any) -> bool:
    """Return True if two answers are alike: numbers up to rounding, everything else exactly."""
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
    if finite.size:
        scale = float(finite.max())
    else:
        scale = 0.0
    return bool(np.allclose(first, second, rtol=margin, atol=margin * scale, equal_nan=True))


def _is_tensor(value: Any) -> bool:
    return type(value).__module__ == "torch"


def _encode_call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    return frames.encode({"loop": None, "name": name, "args": args, "kwargs": kwargs})


def _ask_alone(guest: Guest, request: bytes, begin: bytes) -> Any:
    """Ask a guest that lives for this one call, after a request that it begins with, if there is one."""
    stranger = guest.make_stranger()
    try:
        if begin:
            guest.ask_other(stranger, begin)
        return guest.ask_other(stranger, request)
    finally:
        guest.end_other(stranger)
