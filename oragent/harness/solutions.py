"""Checked solutions, which are drawn after all checks."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Function from an instance and a solution to an SVG document.
Draw = Callable[[Any, Any], str]
# Maximum number of drawn instances, in total and per size.
MAX_SOLUTIONS, MAX_OF_SIZE = 6, 3


class SolutionAlbum:
    """Checked solutions of the first instances of each size, which ``draw`` converts to SVG documents."""

    def __init__(self, draw: Draw, sizes: int) -> None:
        self._draw = draw
        self._of_size = max(1, min(MAX_OF_SIZE, MAX_SOLUTIONS // max(1, sizes)))
        self._counts: Counter[str] = Counter()
        self._solutions: dict[str, tuple[Any, Any, float]] = {}

    def add(self, where: str, instance: Any, solution: Any, value: float) -> None:
        """Keep a solution, unless the album has enough of its size or in total."""
        size = where.partition(",")[0]
        if self._counts[size] < self._of_size and len(self._solutions) < MAX_SOLUTIONS:
            self._counts[size] += 1
            name = re.sub(r"\W+", "_", where, flags=re.ASCII).strip("_") or f"instance_{len(self._solutions)}"
            self._solutions[name] = instance, solution, float(value)

    def write(self, prefix: str) -> dict[str, float]:
        """Write ``<prefix><name>.svg`` for each solution.

        Returns:
            Value of each solution, by the name of its instance.
        """
        for name, (instance, solution, _) in self._solutions.items():
            Path(f"{prefix}{name}.svg").write_text(self._draw(instance, solution), encoding="utf-8")
        return {name: value for name, (_, _, value) in self._solutions.items()}
