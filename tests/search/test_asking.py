"""Asking a model for programs: temperatures, and the size of a first population."""

from types import SimpleNamespace
from typing import Any

import pytest

from oragent._base.budget import Budget
from oragent.search.strategies.asking import (
    HOTTEST,
    MIN_PROGRAMS,
    first_population,
    part_of_budget,
    raised_temperature,
)


@pytest.mark.parametrize(
    ("own", "more", "temperature"),
    [(0.7, 0.3, 1.0), (0.7, 0.0, None), (None, 0.3, None), (None, 0.0, None), (1.9, 0.3, HOTTEST), (0.0, 0.3, 0.3)],
)
def test_first_programs_are_asked_for_at_a_higher_temperature(
    own: float | None, more: float, temperature: float | None
) -> None:
    model = None if own is None else SimpleNamespace(temperature=own)
    run: Any = SimpleNamespace(settings=SimpleNamespace(model=model))
    assert raised_temperature(run, more) == (None if temperature is None else pytest.approx(temperature))


@pytest.mark.parametrize(
    ("evaluations", "calls", "part"),
    [(100, None, 20), (None, 49, 9), (100, 30, 6), (30, 100, 6), (1000, None, 30), (None, None, 30)],
)
def test_a_first_population_takes_at_most_a_fifth_of_the_budget(
    evaluations: int | None, calls: int | None, part: int
) -> None:
    budget = Budget(evaluations=evaluations, model_calls=calls)
    run: Any = SimpleNamespace(settings=SimpleNamespace(budget=budget), turns=None)
    assert part_of_budget(run, 30) == part
    assert first_population(run, None, 30) == part
    assert first_population(run, 7, 30) == 7
    assert first_population(run, 0, 30) == 0
    small: Any = SimpleNamespace(settings=SimpleNamespace(budget=Budget(evaluations=5)), turns=None)
    assert first_population(small, None, 30) == MIN_PROGRAMS
    shared: Any = SimpleNamespace(settings=run.settings, turns=lambda number: number)
    assert first_population(shared, None, 30) == 0
