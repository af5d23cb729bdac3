"""The prompt of a model: at most 4,000 tokens for any size, and names that the tools take."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from oragent.converse.models.model_prompt import describe_family, describe_model, model_prompt
from oragent.converse.models.workbench import Workbench
from oragent.llm.dialogue import LETTERS_A_TOKEN
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Variable
from oragent.modelling.data.model_values import Sense
from oragent.modelling.data.names import group_by_names
from oragent.modelling.references.reference_text import name_text
from tests.modelling.indexed_models import transport

TOKENS = 4000


def grid(*sizes: int) -> IndexedModel:
    """A model with one family over sets of these sizes and a row for each label of the first."""
    builder = IndexedModelBuilder("grid")
    names = [f"set{place}" for place in range(len(sizes))]
    for name, size in zip(names, sizes, strict=True):
        builder.add_set(name, [f"{name} label {number}" for number in range(size)])
    columns = builder.add_variables("amount", names, high=1, unit="tons", meaning="how much of it")
    rows = np.repeat(np.arange(sizes[0]), len(columns) // sizes[0])
    builder.add_rows("limit", names[:1], "<=", rows=rows, columns=columns, rhs=3.0)
    builder.set_objective("gain", "maximize", columns, 1.0)
    return builder.build()


def flat(count: int) -> IndexedModel:
    """A model whose names have no structure."""
    words = [f"{'abcdefghij'[number % 10]}{'klmnopqrst'[number // 10 % 10]}x{number:x}y" for number in range(count)]
    variables = tuple(Variable(word, 0, 1) for word in words)
    return group_by_names(
        IndexedModel.from_records(variables, (), Objective(dict.fromkeys(words, 1.0)), Sense.MAXIMIZE, "flat")
    )


@pytest.mark.parametrize("build", [transport, partial(grid, 8, 7, 8), partial(flat, 448), partial(grid, 10)])
def test_prompts_are_short(build: Callable[[], IndexedModel]) -> None:
    assert len(model_prompt(build(), 12, 60)) / LETTERS_A_TOKEN <= TOKENS


@pytest.mark.slow
@pytest.mark.parametrize("build", [partial(grid, 100, 100, 10), partial(flat, 100_000)])
def test_prompts_of_large_models_are_as_short(build: Callable[[], IndexedModel]) -> None:
    model = build()
    begun = time.process_time()
    assert len(model_prompt(model, 12, 60)) / LETTERS_A_TOKEN <= TOKENS
    assert time.process_time() - begun < 30


def test_names_of_the_prompt_are_those_that_tools_take() -> None:
    model = transport()
    text = describe_model(model)
    bench = Workbench(model)
    for family in model.families():
        assert f"- {name_text(family.name)}" in text
        assert bench.ask(f"data {name_text(family.name)}").members
    for index_set in model.sets:
        assert all(label in text for label in index_set.labels)
    assert "minimize cost" in text
    assert "EUR" in text


def test_families_are_found_by_a_part_of_their_names() -> None:
    model = flat(448)
    hidden = model.variables[-1].name
    assert hidden not in describe_model(model)
    assert hidden in describe_family(model, hidden[2:])
    assert "no name" in describe_family(model, "zzzz")
    assert "ship[Lyon, Paris, wk1]" in describe_family(transport(), "SHIP")
