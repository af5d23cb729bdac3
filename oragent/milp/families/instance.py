"""A problem of a family: words, data, exact model, proven optimum."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oragent._base.errors import MilpError
from oragent.milp.model import Milp
from oragent.milp.solution import SolveStatus
from oragent.milp.solving import solve


@dataclass(frozen=True)
class FamilyInstance:
    """A problem with everything that is known of it."""

    # ``family-seed-size``
    name: str
    # in words: every figure of ``data`` stands in it, or it names the table in backquotes
    text: str
    # Figures as plain lists, dicts, texts and numbers.
    data: Mapping[str, Any]
    # an exact model of it
    milp: Milp
    # of the model, proven
    optimum: float


Generate = Callable[[int, int], FamilyInstance]


def instance_rng(seed: int, size: int, least: int = 1) -> np.random.Generator:
    """The random numbers of an instance."""
    if seed < 0 or size < least:
        raise MilpError(f"seed {seed}, size {size}: expected a seed from 0 on and a size of at least {least}")
    return np.random.default_rng((seed, size))


def solve_instance(family: str, seed: int, size: int, text: str, data: Mapping[str, Any], milp: Milp) -> FamilyInstance:
    """Solve a model to optimality and wrap it up; ``MilpError`` where it cannot be."""
    solution = solve(milp, duals=False)
    if solution.status is not SolveStatus.OPTIMAL or solution.objective is None:
        raise MilpError(f"{family} with seed {seed} and size {size} ended {solution.status}: take another seed")
    return FamilyInstance(f"{family}-{seed}-{size}", " ".join(text.split()), data, milp, solution.objective)


def take_names(pool: str, count: int) -> list[str]:
    """So many different names: the words of a pool, then the last of them with numbers."""
    words = pool.split()
    return [*words[:count], *(f"{words[-1]} {number}" for number in range(2, count - len(words) + 2))]


def join_words(items: Sequence[str]) -> str:
    """Join for a sentence: ``a, b and c``."""
    if len(items) == 1:
        return items[0]
    return f"{', '.join(items[:-1])} and {items[-1]}"
