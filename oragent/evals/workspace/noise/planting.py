"""Planting noise of several kinds, and the resolver that takes it out again."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oragent._base.errors import WorkspaceError
from oragent.evals.workspace.noise import columns, shape, statements
from oragent.evals.workspace.noise.artifacts import Artifacts, NoiseStep
from oragent.workspace.reading import shown

OPERATORS = {**shape.OPERATORS, **columns.OPERATORS, **statements.OPERATORS}


@dataclass(frozen=True)
class Noisy:
    """Artifacts with noise and the record of it.

    Attributes:
        artifacts: Artifacts as an agent sees them.
        steps: Steps, one an operator, in the order in which they were planted; evaluators keep them.
    """

    artifacts: Artifacts
    steps: tuple[NoiseStep, ...]


def plant(artifacts: Artifacts, rng: np.random.Generator, count: int, keep: frozenset[str] = frozenset()) -> Noisy:
    """Plant noise of up to ``count`` kinds, drawn at random; each at most once.

    Args:
        artifacts: Artifacts without noise.
        rng: Generator of all that is drawn.
        count: Number of kinds; fewer where there is no place for them.
        keep: Parameters and columns that no operator may hide or rename, such as those that a revision brings.

    Raises:
        WorkspaceError: if the rows of a table differ in length from its header.
    """
    for name, table in artifacts.tables.items():
        if any(len(row) != len(table.header) for row in table.rows) or not table.header:
            raise WorkspaceError(f"{shown(name)} has uneven rows; expected as many cells as the header has names")
    steps: list[NoiseStep] = []
    names = list(OPERATORS)
    for place in rng.permutation(len(names)):
        planted = OPERATORS[names[place]].plant(artifacts, rng, keep) if len(steps) < count else None
        if planted is not None:
            artifacts = planted.artifacts
            steps.append(planted.step)
    return Noisy(artifacts, tuple(steps))


def resolve(artifacts: Artifacts, steps: Sequence[NoiseStep]) -> Artifacts:
    """Take noise out again, the last planted first; what the artifacts then say is the truth that they held.

    Raises:
        WorkspaceError: if an operator is unknown, or the truth is not where the record says.
    """
    for step in reversed(steps):
        if step.operator not in OPERATORS:
            raise WorkspaceError(f"{shown(step.operator)!r} is no noise; expected one of {', '.join(OPERATORS)}")
        artifacts = OPERATORS[step.operator].undo(artifacts, step)
    return artifacts
