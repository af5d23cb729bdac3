"""What a scorer keeps while it scores: answers to verify later, and solutions to draw once all checks have passed."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import SystemRandom
from typing import Any

Witness = Callable[..., Any]
Replay = Callable[[Witness, list[int]], None]
KEPT_BYTES = 256 << 20  # of calls that are kept for an audit


@dataclass(frozen=True)
class LoopClaim:
    """The answer of a loop, and how its decisions are put to others."""

    where: str  # name of the instance
    count: int  # number of decisions
    replay: Replay  # what puts some of them to a witness, as `Guest.claim` has it
    checked: int  # number of them that every evaluation puts


@dataclass
class CallSample:
    """Calls and their answers, as many as there is room for, each call as likely to be kept as any other."""

    room: int = KEPT_BYTES  # bytes for them
    calls: list[tuple[str, bytes, Any]] = field(default_factory=list)  # place, request and answer of calls
    count: int = 0  # number of calls that there were

    def add(self, where: str, request: bytes, answer: Any) -> None:
        """Keep a call, perhaps in place of another."""
        self.count += 1
        if len(request) <= self.room:
            self.room -= len(request)
            self.calls.append((where, request, answer))
        elif (index := SystemRandom().randrange(self.count)) < len(self.calls):
            self.calls[index] = where, request, answer


Draw = Callable[[Any, Any], str]  # (instance, solution) -> SVG
MOST, MOST_OF_SIZE = 6, 3  # instances that are drawn


class SolutionAlbum:
    """The checked solutions of the first instances of each of so many sizes, which ``draw`` makes SVG documents of."""

    def __init__(self, draw: Draw, sizes: int) -> None:
        self._draw = draw
        self._of_size = max(1, min(MOST_OF_SIZE, MOST // max(1, sizes)))
        self._counts: Counter[str] = Counter()
        self._solutions: dict[str, tuple[Any, Any, float]] = {}

    def add(self, where: str, instance: Any, solution: Any, value: float) -> None:
        """Keep a solution unless enough of that size, or in all, are there."""
        size = where.partition(",")[0]
        if self._counts[size] < self._of_size and len(self._solutions) < MOST:
            self._counts[size] += 1
            name = re.sub(r"\W+", "_", where, flags=re.ASCII).strip("_") or f"instance_{len(self._solutions)}"
            self._solutions[name] = instance, solution, float(value)

    def write(self, prefix: str) -> dict[str, float]:
        """Write ``<prefix><name>.svg`` for each solution; returns their values by the names of the instances."""
        for name, (instance, solution, _) in self._solutions.items():
            Path(f"{prefix}{name}.svg").write_text(self._draw(instance, solution), encoding="utf-8")
        return {name: value for name, (_, _, value) in self._solutions.items()}
