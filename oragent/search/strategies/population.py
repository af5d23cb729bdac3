"""Populations made of a run's history: what a strategy keeps follows from what was committed, and from nothing else."""

from collections.abc import Sequence

import numpy as np

from oragent.programs import syntax
from oragent.search.archive import Elite
from oragent.search.run import Run
from oragent.search.store import Record

__all__ = ["best", "by_rank", "elite", "fitness", "round_of", "scored"]


def scored(run: Run) -> list[Record]:
    """The programs with a score that were committed before the round began, each once, in their order."""
    found: dict[str, Record] = {}
    for record in run.history:
        if record.placed:
            found.setdefault(record.trial.fingerprint, record)
    return list(found.values())


def best(run: Run, records: Sequence[Record], size: int) -> list[Record]:
    """The best ``size`` programs, best first, one of every score: of equal ones the oldest."""
    distinct: dict[float, Record] = {}
    for record in records:
        distinct.setdefault(fitness(run, record), record)
    return [distinct[value] for value in sorted(distinct, reverse=True)[:size]]


def by_rank(ranked: Sequence[Record], count: int, rng: np.random.Generator) -> list[Record]:
    """Draw different members of a population, the one at rank r (from 1) of n with weight 1 / (r + n), as EoH does.

    Args:
        ranked: the population, best first.
        count: how many; fewer where there are fewer.
        rng: the round's generator.

    Returns:
        The drawn ones, worst first: a model builds on what it reads last.
    """
    weights = 1.0 / (np.arange(1, len(ranked) + 1) + len(ranked))
    drawn = rng.choice(len(ranked), size=min(count, len(ranked)), replace=False, p=weights / weights.sum())
    return [ranked[position] for position in sorted(drawn, reverse=True)]


def fitness(run: Run, record: Record) -> float:
    """A program's score, turned so that more is better.

    Raises:
        ValueError: if it has no score.
    """
    score = record.trial.evaluation.score
    if score is None:
        raise ValueError(f"candidate {record.id} must have a score.")
    return run.archive.fitness(score)


def round_of(record: Record) -> int:
    """The number of the round in which a candidate was tried."""
    return int(record.id.partition(".")[0])


def elite(record: Record) -> Elite:
    """A scored candidate as the archive would hold it.

    Raises:
        ValueError: if it has no score.
    """
    found = record.trial.evaluation
    if found.score is None:
        raise ValueError(f"candidate {record.id} must have a score.")
    source = record.trial.source
    return Elite(record.id, source, found.score, found.features, found.metrics, syntax.length(source))
