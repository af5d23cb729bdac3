"""Which way is up: whether more or less score is better. The only place where the sign of a score turns."""

from collections.abc import Iterable
from enum import StrEnum


class Direction(StrEnum):
    """Whether more or less score is better."""

    MAXIMIZE = "maximize"
    MINIMIZE = "minimize"

    @property
    def sign(self) -> float:
        """What turns a score into a fitness, of which more is better: 1 or -1."""
        return 1.0 if self is Direction.MAXIMIZE else -1.0

    @property
    def words(self) -> str:
        """Say which way is good: ``lower is better`` or ``higher is better``."""
        return f"{self.comparative} is better"

    @property
    def comparative(self) -> str:
        """What a better score is: ``lower`` or ``higher``."""
        return "higher" if self is Direction.MAXIMIZE else "lower"

    def fitness(self, score: float) -> float:
        """Turn a score so that more is better."""
        return self.sign * score

    def better(self, first: float, second: float) -> bool:
        """Whether the first of two scores is strictly better."""
        return self.fitness(first) > self.fitness(second)

    def best(self, scores: Iterable[float]) -> float:
        """The best of at least one score, the first of equal ones."""
        return max(scores, key=self.fitness)
