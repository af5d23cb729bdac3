"""Answers that a scorer can verify later: decisions behind a loop's answer, and single calls."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import SystemRandom
from typing import Any

Witness = Callable[..., Any]
Replay = Callable[[Witness, list[int]], None]
KEPT_BYTES = 256 << 20  # of calls that are kept for an audit


@dataclass(frozen=True)
class LoopClaim:
    """The answer of a loop, and how its decisions are put to others.

    Attributes:
        where: Name of the instance.
        count: Number of decisions.
        replay: What puts some of them to a witness, as `Guest.claim` has it.
        checked: Number of them that every evaluation puts.
    """

    where: str
    count: int
    replay: Replay
    checked: int


@dataclass
class CallSample:
    """Calls and their answers, as many as there is room for, each call as likely to be kept as any other.

    Attributes:
        room: Bytes for them.
        calls: Place, request and answer of calls.
        count: Number of calls that there were.
    """

    room: int = KEPT_BYTES
    calls: list[tuple[str, bytes, Any]] = field(default_factory=list)
    count: int = 0

    def add(self, where: str, request: bytes, answer: Any) -> None:
        """Keep a call, perhaps in place of another."""
        self.count += 1
        if len(request) <= self.room:
            self.room -= len(request)
            self.calls.append((where, request, answer))
        elif (index := SystemRandom().randrange(self.count)) < len(self.calls):
            self.calls[index] = where, request, answer
