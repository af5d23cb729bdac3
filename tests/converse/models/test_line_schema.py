"""Operations as JSON: what the schema allows is a line that can be parsed and names what the model has."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oragent.converse.models.line_schema import lines_schema, write_lines
from oragent.converse.models.line_writer import read_lines
from oragent.converse.models.workbench import Workbench
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.operations.syntax import parse_line
from tests.benchmarks.converse.whatif.planners import MODELS
from tests.converse.models.test_model_prompt import flat


def sample(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Draw values that a schema allows."""
    if "anyOf" in schema:
        return st.one_of([sample(one) for one in schema["anyOf"]])
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema["type"] == "number":
        return st.sampled_from([0, 1, 2.5, -3, 1.1, 1e6])
    if schema["type"] == "array":
        return st.lists(sample(schema["items"]), min_size=schema.get("minItems", 0), max_size=schema["maxItems"])
    if schema["type"] == "object":
        return st.fixed_dictionaries({name: sample(one) for name, one in schema["properties"].items()})
    return st.text(max_size=9)


@pytest.mark.parametrize("name", MODELS)
def test_every_allowed_reply_is_lines_that_can_be_parsed(name: str) -> None:
    model = MODELS[name]()

    @given(sample(lines_schema(model)))
    @settings(max_examples=5, deadline=None)
    def check(reply: dict[str, Any]) -> None:
        lines = read_lines(json.dumps(reply), model)
        assert len(lines) == len(reply["lines"])
        for line in lines:
            parse_line(line)

    check()


def references(value: object) -> Iterator[dict[str, Any]]:
    """Yield the schemas of references in a schema."""
    if isinstance(value, dict):
        if "name" in value and "const" in value["name"]:
            yield value
        for part in value.values():
            yield from references(part)
    elif isinstance(value, list):
        for part in value:
            yield from references(part)


def test_all_families_and_labels_of_the_model_can_be_named() -> None:
    model = MODELS["battery"]()
    named = {one["name"]["const"]: one for one in references(lines_schema(model))}
    assert set(named) == {family.name for family in model.families()}
    labels = named["tariff"]["at"]["items"]["enum"]
    assert set(model.index_set("hour").labels) < set(labels)
    bench = Workbench(model)
    for label in (labels[0], labels[1], labels[-1]):
        (line,) = write_lines([{"do": "data", "name": "tariff", "at": [label]}], model)
        assert bench.ask(line).members


def test_data_that_share_their_name_with_a_family_are_told_apart() -> None:
    builder = IndexedModelBuilder("shared")
    builder.add_set("k", ["a", "b"])
    for name in ("price", "only"):
        builder.add_parameter(name, ["k"], [3.0, 4.0])
    builder.set_objective("o", "maximize", builder.add_variables("price", ["k"], high=1), 1.0)
    model = builder.build()
    names = [each["name"]["const"] for each in references(lines_schema(model))]
    assert set(names) == {"parameters.price", "variables.price", "only"}
    bench = Workbench(model)
    for name, expected in (("parameters.price", [3, 4]), ("variables.price", [1, 1])):
        (line,) = write_lines([{"do": "data" if expected[0] == 3 else "value", "name": name, "at": ["*"]}], model)
        assert [member.value.value for member in bench.ask(line).members] == expected
    changes = [
        {"name": name, "at": ["a"], "sign": "=", "number": 1} for name in ("parameters.price", "variables.price")
    ]
    for operation in (
        {"do": "why", "name": "variables.price", "at": ["a"]},
        {"do": "most", "name": "variables.price", "at": ["*"], "within": 0},
        {"do": "whatif", "changes": changes},
        {"do": "whatif", "changes": [{"sum": {"name": "variables.price", "at": ["*"]}, "sign": "<=", "number": 1}]},
    ):
        (line,) = write_lines([operation], model)
        assert bench.ask(line).status == "optimal"


def test_operations_are_the_same_as_lines() -> None:
    model = MODELS["battery"]()
    change = {"name": "tariff", "at": ["15:00"], "sign": "*=", "number": 2}
    operations = [
        {"do": "whatif", "changes": [change]},
        {"do": "most", "name": "buy", "at": ["*"], "within": 3},
        "solve",
    ]
    assert list(write_lines(operations, model)) == [
        'whatif tariff["15:00"] *= 2',
        "most sum buy[*] within 3",
        "solve",
    ]


def test_words_around_the_object_of_a_reply_are_skipped() -> None:
    model = MODELS["battery"]()
    for reply in ('{"lines": ["solve"]}', 'Sure: {"lines": ["solve"]}!', '```json\n{"lines": ["solve"]}\n```.'):
        assert read_lines(reply, model) == ["solve"]


@pytest.mark.parametrize("reply", ["", "[]", '{"lines": 3}', '{"lines": [3, null]}', '{"lines": "solve"}', "{" * 99])
def test_other_replies_have_no_lines(reply: str) -> None:
    assert read_lines(reply, MODELS["battery"]()) == []


@pytest.mark.parametrize(
    "operation", [{}, {"do": []}, {"do": "whatif"}, {"do": "whatif", "changes": 3}, {"do": "total", "name": {}}]
)
def test_incomplete_operations_are_refused_as_lines(operation: dict[str, Any]) -> None:
    from oragent._base.errors import ModellingError

    model = MODELS["battery"]()
    for line in write_lines([operation], model):
        with pytest.raises(ModellingError):
            Workbench(model).ask(line)


def test_large_models_are_not_enumerated() -> None:
    assert len(json.dumps(lines_schema(flat(5000)))) < 20_000
