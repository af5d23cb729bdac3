"""Problem of a family: text, data, exact model, proven optimum."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.solving.model_solving import solve


@dataclass(frozen=True)
class FamilyInstance:
    """A problem with its model and optimum."""

    # Name in the form ``family-seed-size``.
    name: str
    # Problem in words. It states every figure of ``data``, or names the table in backquotes.
    text: str
    # Figures as plain lists, dicts, texts and numbers.
    data: Mapping[str, Any]
    # Exact model of the problem.
    milp: IndexedModel
    # Proven optimum of the model.
    optimum: float


Generate = Callable[[int, int], FamilyInstance]


def instance_rng(seed: int, size: int, least: int = 1) -> np.random.Generator:
    """Return the random number generator of an instance."""
    if seed < 0 or size < least:
        raise ModellingError(f"seed {seed}, size {size}: expected a seed from 0 on and a size of at least {least}")
    return np.random.default_rng((seed, size))


def solve_instance(
    family: str, seed: int, size: int, text: str, data: Mapping[str, Any], milp: IndexedModel
) -> FamilyInstance:
    """Solve a model to optimality and build the instance. If the solve fails, raise ``ModellingError``."""
    solution = solve(milp, duals=False)
    if solution.status is not SolveStatus.OPTIMAL or solution.objective is None:
        raise ModellingError(f"{family} with seed {seed} and size {size} ended {solution.status}; use another seed")
    return FamilyInstance(f"{family}-{seed}-{size}", " ".join(text.split()), data, milp, solution.objective)


def take_names(pool: str, count: int) -> list[str]:
    """Return unique names: the words of a pool, then its last words with numbers."""
    words = pool.split()
    return [*words[:count], *(f"{words[-1]} {number}" for number in range(2, count - len(words) + 2))]


def join_words(items: Sequence[str]) -> str:
    """Join items for a sentence: ``a, b and c``."""
    if len(items) == 1:
        return items[0]
    return f"{', '.join(items[:-1])} and {items[-1]}"
