"""Direction of scores: higher or lower is better. No other module changes the sign of a score."""

from collections.abc import Iterable
from enum import StrEnum


class Direction(StrEnum):
    """Direction of good scores."""

    MAXIMIZE = "maximize"
    MINIMIZE = "minimize"

    @property
    def sign(self) -> float:
        """Factor that turns a score into a fitness, of which higher is better: 1 or -1."""
        if self is Direction.MAXIMIZE:
            return 1.0
        return -1.0

    @property
    def words(self) -> str:
        """Text ``lower is better`` or ``higher is better``."""
        return f"{self.comparative} is better"

    @property
    def comparative(self) -> str:
        """Text ``lower`` or ``higher``."""
        if self is Direction.MAXIMIZE:
            return "higher"
        return "lower"

    def fitness(self, score: float) -> float:
        """Return the score with the sign that makes higher values better."""
        return self.sign * score

    def better(self, first: float, second: float) -> bool:
        """Return True if the first score is strictly better."""
        return self.fitness(first) > self.fitness(second)

    def best(self, scores: Iterable[float]) -> float:
        """Return the best of at least one score, the first of equal ones."""
        return max(scores, key=self.fitness)
