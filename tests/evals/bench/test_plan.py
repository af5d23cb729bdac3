"""Cells of a plan: all of them, once, and balanced at any time."""

from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ConfigError
from oragent.evals.bench.plan import BenchCell, BenchPlan, expect_distinct
from tests.evals.bench.dice import TERMS, tournament


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.data())
def test_every_combination_is_there_once_and_none_is_ahead_by_more_than_one(
    subjects: int, contestants: int, seeds: int, data: st.DataObject
) -> None:
    plan = BenchPlan(
        TERMS, {f"d{n}": n for n in range(subjects)}, {f"p{n}": {} for n in range(contestants)}, tuple(range(seeds))
    )
    cells = plan.cells
    assert set(cells) == {BenchCell(*one) for one in product(plan.subjects, plan.contestants, plan.seeds)}
    assert len(cells) == subjects * contestants * seeds
    done = cells[: data.draw(st.integers(0, len(cells)))]
    seen = Counter({(one.subject, one.contestant): 0 for one in cells})
    seen.update((one.subject, one.contestant) for one in done)
    assert max(seen.values()) - min(seen.values()) <= 1


def test_a_cell_says_what_it_is() -> None:
    assert str(tournament("ann").cells[0]) == "d6 by ann, seed 0"


@pytest.mark.parametrize(
    ("players", "seeds", "said"),
    [
        ({}, (0,), "a tournament needs at least one player"),
        ({"ann": {}}, (), "a tournament needs at least one seed"),
        ({"ann": {}}, (0, 1, 0), "seed 0 is named twice"),
    ],
)
def test_a_plan_without_cells_or_with_equal_ones_is_refused(
    players: dict[str, dict[str, object]], seeds: tuple[int, ...], said: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        BenchPlan(TERMS, {"d6": 6}, players, seeds)
    assert str(caught.value) == said


def test_what_is_named_twice_is_named() -> None:
    expect_distinct("player", ["ann", "bob"])
    with pytest.raises(ConfigError, match="ann"):
        expect_distinct("player", ["ann", "bob", "ann"])
