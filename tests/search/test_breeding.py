"""The scripted model's programs are bred like those of ``gp``, from what a prompt shows."""

from pathlib import Path
from typing import Any

import pytest

from oragent.evaluation.problem import list_problems
from oragent.programs.syntax import check_program, fingerprint
from oragent.search.genetics.variation import breed_child

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("problem", list(list_problems(ROOT)), ids=lambda problem: problem.name)
def test_children_of_every_seed_can_be_called_and_differ(problem) -> None:
    children = [breed_child(problem.seed, seed, problem.about.primitives[:3]) for seed in range(8)]
    for child in children:
        check_program(child, problem.signature)
    prints = {fingerprint(child, problem.about.function) for child in children}
    assert len(prints) >= 5
    assert fingerprint(problem.seed, problem.about.function) not in prints


def test_only_expressions_over_the_parameters_are_inserted() -> None:
    source = "def f(a, b):\n    return a\n"
    quoted = ["def f(a, b):", "x * 2", "a", "3", "a * b", "c0 0.5"]
    children = [breed_child(source, seed, quoted) for seed in range(40)]
    assert any("a * b" in child for child in children)
    assert not any("x * 2" in child for child in children)


@pytest.mark.parametrize("source", ["x = 1\n", "def broken(:\n"])
def test_what_has_no_function_stays_as_it_is(source: str) -> None:
    assert breed_child(source, 0) == source


def test_of_several_results_one_is_changed() -> None:
    for seed in range(20):
        names: dict[str, Any] = {}
        exec(breed_child("def f(a):\n    return 1, 25\n", seed), names)
        low, high = names["f"](0)
        assert (low == 1) != (high == 25)
