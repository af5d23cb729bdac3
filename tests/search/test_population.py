"""Populations made of a run's history."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from oragent.search.selection import best_records, by_rank
from tests.search.test_funsearch import opened, record


def test_equal_programs_count_once_and_failed_ones_never(begun) -> None:
    first, again, failed = record("1.0", 3.0), record("1.0", 3.0), record("3.0", 2.0)
    failed = replace(failed, placed="")
    run = opened(begun, [record("0.0", 9.0), first, again, failed])
    assert [one.id for one in run.scored] == ["0.0", "1.0"]


def test_the_best_survive_one_of_each_score_the_older_of_equal_ones(begun) -> None:
    run = opened(
        begun, [record("0.0", 9.0), record("1.0", 3.0), record("2.0", 3.0), record("3.0", 4.0), record("4.0", 1.0)]
    )
    assert [one.id for one in best_records(run.scored, run.fitness, 3)] == ["4.0", "1.0", "3.0"]
    assert run.fitness(record("5.0", 7.0)) == -7.0  # the toy problem minimises


@pytest.mark.slow
def test_parents_are_drawn_by_rank_as_in_the_paper() -> None:
    ranked = [record(f"{rank}.0", float(rank)) for rank in range(1, 5)]
    rng = np.random.default_rng(3)
    counted = Counter(by_rank(ranked, 1, rng)[0].id for _ in range(8000))
    weights = np.array([1 / (rank + 4) for rank in range(1, 5)])
    expected = weights / weights.sum()
    assert [counted[one.id] / 8000 for one in ranked] == pytest.approx(list(expected), abs=0.02)


def test_several_parents_are_different_and_come_worst_first() -> None:
    ranked = [record(f"{rank}.0", float(rank)) for rank in range(1, 8)]
    for seed in range(30):
        drawn = [one.candidate.evaluation.score for one in by_rank(ranked, 5, np.random.default_rng(seed))]
        assert drawn == sorted(set(drawn), reverse=True)
        assert len(drawn) == 5
    assert len(by_rank(ranked[:2], 5, np.random.default_rng(0))) == 2
