"""Check that a candidate is a function of its arguments.

While the scorer evaluates a candidate, it keeps a sample of the calls. Then a fresh process repeats these calls in
another order. Memory of other calls and randomness lead to different answers. The check gives no guarantee: a program
that detects the check can pass it.

The check takes at most 5 % of the CPU time of the evaluation, or 0.05 s if that is more. It repeats at least one call,
and no further call that would exceed the limit, given the mean time of a call.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import SystemRandom
from typing import Any

from oragent._base.errors import CandidateError
from oragent._base.protocol import Status
from oragent.harness.guest import Guest
from oragent.harness.process import GuestProcess

# Maximum number of calls that are repeated.
SAMPLE = 20
# CPU time of the check: maximum share of the evaluation, and seconds that are always allowed.
SHARE, MIN_S = 0.05, 0.05
MISMATCH = (
    "answers a call differently in a fresh process that repeats calls in another order: a heuristic must be a function "
    "of its arguments, without a memory of other calls and without random numbers of its own"
)
# Failures of a repeated call that memory of other calls can cause.
FAILURES = (Status.ERROR, Status.INVALID)


@dataclass(frozen=True)
class SampledCall:
    """A call of the candidate that can be repeated."""

    # Name of the instance.
    where: str
    # Message that makes the call.
    request: bytes
    # Function that returns True if an answer agrees with the first one.
    agrees: Callable[[Any], bool]


@dataclass
class CallSample:
    """Random sample of the calls of an evaluation. Each call has the same probability."""

    # Maximum number of calls in the sample.
    size: int = SAMPLE
    calls: list[SampledCall] = field(default_factory=list)
    # Number of calls that were offered.
    count: int = 0

    def add(self, where: str, request: bytes, agrees: Callable[[Any], bool]) -> None:
        """Offer a call, which may replace another one."""
        self.count += 1
        call = SampledCall(where, request, agrees)
        if len(self.calls) < self.size:
            self.calls.append(call)
        elif (index := SystemRandom().randrange(self.count)) < self.size:
            self.calls[index] = call


def check_purity(guest: Guest, sample: CallSample) -> int:
    """Repeat calls of a sample in a fresh process, in random order, within the CPU time of a check.

    Returns:
        The number of repeated calls.

    Raises:
        CandidateError: ``rejected`` if an answer differs, or if a call fails that did not fail before.
    """
    guest.end()
    calls = SystemRandom().sample(sample.calls, len(sample.calls))
    if not calls:
        return 0
    limit_s = max(MIN_S, SHARE * (time.process_time() + guest.cpu_s))
    mean_s = guest.heuristic_seconds / max(guest.call_count, 1)
    process = guest.make_fresh_process()
    count = 0
    try:
        for call in calls:
            if count and process.cpu_s + mean_s > limit_s:
                break
            _repeat_call(guest, process, call)
            count += 1
    finally:
        guest.end_fresh_process(process)
    return count


def _repeat_call(guest: Guest, process: GuestProcess, call: SampledCall) -> None:
    guest.where = call.where
    try:
        agrees = call.agrees(guest.ask_fresh_process(process, call.request))
    except CandidateError as problem:
        if problem.status not in FAILURES:
            raise
        raise CandidateError(f"{MISMATCH}: {problem}", Status.REJECTED, problem.traceback) from None
    if not agrees:
        raise CandidateError(f"{MISMATCH} ({guest.where})", Status.REJECTED)
