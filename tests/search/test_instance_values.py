"""Sizes and values of instances in prompts for strong models."""

import re
from types import SimpleNamespace
from typing import Any, cast

import pytest

from oragent._base.budget import Budget, Spent
from oragent._base.direction import Direction
from oragent.search.archive import Archive
from oragent.search.candidate import Elite
from oragent.search.prompting.instance_values import (
    SHOWN,
    describe_bound,
    describe_instances,
    describe_remaining,
    describe_sizes,
)
from oragent.search.round_context import RoundContext


def context(elites: list[Elite], size: int | None = None) -> RoundContext:
    """What the functions read of a round."""
    archive = SimpleNamespace(elites=lambda: elites, fitness=Direction.MINIMIZE.fitness)
    run = SimpleNamespace(
        archive=cast(Archive, archive),
        solutions=[],
        moment=SimpleNamespace(findings=[]),
        settings=SimpleNamespace(problem_size=size),
        problem=SimpleNamespace(about=SimpleNamespace(sizes={"val": [20, 50], "test": [20, 100], "fresh": [200]})),
    )
    return cast(RoundContext, run)


def elite(name: str, score: float, values: Any) -> Elite:
    return Elite(id=name, source=name, score=score, features=None, metrics={"by_instance": values})


def test_instances_of_best_and_parent_are_listed_side_by_side() -> None:
    many = [float(value) for value in range(SHOWN + 3)]
    best, parent = (
        elite("best", 1.0, {"20": [1.0, 2.5], "50": many}),
        elite("parent", 2.0, {"20": [2.0, 2.5], "50": many}),
    )
    text = describe_instances(context([parent, best]), parent)
    assert "- size 20, program to change: 2, 2.5\n- size 20, best: 1, 2.5\n" in text
    assert text.count("and 3 more") == 2
    assert "program to change" not in describe_instances(context([best]), best)
    assert describe_instances(context([elite("x", 1.0, None)]), None) == ""
    assert describe_instances(context([]), None) == ""


@pytest.mark.parametrize(
    ("bounds", "numbers"),
    [
        (Budget(evaluations=10, seconds=1800), ["3", "20"]),
        (Budget(evaluations=8), ["1"]),
        (Budget(seconds=300), ["0"]),
        (Budget(tokens=5), []),
    ],
)
def test_what_is_left_of_the_budget_is_told(bounds: Budget, numbers: list[str]) -> None:
    run = SimpleNamespace(
        settings=SimpleNamespace(budget=bounds),
        moment=SimpleNamespace(spent=Spent(evaluations=7)),
        history=[SimpleNamespace(elapsed_s=200.0), SimpleNamespace(elapsed_s=600.0)],
    )
    assert re.findall(r"\d+", describe_remaining(cast(RoundContext, run))) == numbers


def test_sizes_of_the_test_set_are_named_unless_one_size_is_searched() -> None:
    text = describe_sizes(context([]))
    assert "20, 50;" in text
    assert "100, 200" in text
    assert describe_sizes(context([], size=20)) == ""


def test_a_gap_is_explained_where_one_is_reported() -> None:
    assert describe_bound({"gap_percent_20": 1.0})
    assert not describe_bound({"length_20": 1.0})
