"""Every family keeps the contract; what a new family must hold is held here without a new test."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, milp

from oragent._base.errors import ModellingError
from oragent.modelling.data.model_values import Sense
from oragent.modelling.data.names import group_by_names
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.files.model_json import from_json, to_json
from oragent.modelling.operations.explanation import explain
from oragent.modelling.operations.outcomes import solution_outcome
from oragent.modelling.solving.model_solving import solve
from oragent_benchmarks.families import FAMILIES
from tests.modelling.models import facts

pytestmark = pytest.mark.parametrize("family", FAMILIES)


def numbers(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        for item in value.values():
            yield from numbers(item)
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item)
    elif isinstance(value, int | float):
        yield value


def test_the_same_seed_gives_the_same_problem_and_another_one_another(family: str) -> None:
    first, again, other = (FAMILIES[family](seed, 3) for seed in (1, 1, 2))
    assert replace(first, milp=again.milp) == again
    assert facts(first.milp) == facts(again.milp)
    assert (first.text, first.data) != (other.text, other.data)
    assert first.name == f"{family}-1-3"


def test_a_larger_size_is_a_larger_problem(family: str) -> None:
    assert len(FAMILIES[family](0, 5).milp.variable_records) > len(FAMILIES[family](0, 2).milp.variable_records)


def test_the_words_hold_every_figure_or_name_its_table(family: str) -> None:
    instance = FAMILIES[family](3, 4)
    assert json.loads(json.dumps(instance.data, allow_nan=False)) == instance.data
    for key, value in instance.data.items():
        said = set(re.findall(r"\d+", instance.text))
        assert f"`{key}`" in instance.text or all(str(figure) in said for figure in numbers(value)), key
    assert instance.text.endswith("?")
    assert "  " not in instance.text


def test_the_answer_is_not_among_what_is_given(family: str) -> None:
    instance = FAMILIES[family](4, 4)
    assert not {"optimum", "answer", "solution"} & {word.strip("`.,").lower() for word in instance.text.split()}
    assert not {"optimum", "answer", "solution"} & set(instance.data)


def test_the_optimum_is_proven_and_survives_json(family: str) -> None:
    instance = FAMILIES[family](5, 3)
    again = solve(from_json(to_json(instance.milp)))
    assert again.status is SolveStatus.OPTIMAL
    assert again.objective == pytest.approx(instance.optimum, rel=1e-9)
    explained = explain(group_by_names(instance.milp), outcome=solution_outcome(again))
    assert {row.name for row in explained.binding} <= set(group_by_names(instance.milp).row_names)


@pytest.mark.slow
def test_another_build_of_the_solver_agrees(family: str) -> None:
    for seed in range(3):
        instance = FAMILIES[family](seed, 4)
        arrays = instance.milp.to_staged_arrays()
        sign = 1 if instance.milp.sense is Sense.MINIMIZE else -1
        found = milp(
            sign * arrays.cost,
            constraints=LinearConstraint(arrays.matrix.to_dense(), arrays.row_low, arrays.row_high),
            bounds=(arrays.low, arrays.high),
            integrality=arrays.integer.astype(np.int64),
        )
        assert sign * found.fun + arrays.constant == pytest.approx(instance.optimum, rel=1e-6)


@pytest.mark.parametrize(("seed", "size"), [(-1, 3), (0, 0), (0, -5)])
def test_a_size_or_seed_that_makes_no_problem_is_refused(family: str, seed: int, size: int) -> None:
    with pytest.raises(ModellingError, match="expected a seed from 0 on and a size of at least"):
        FAMILIES[family](seed, size)
