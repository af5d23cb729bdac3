"""The text syntax of operations: every line parses to one request, which is written as a line that parses equal."""

import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from oragent._base.errors import ModellingError
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.operations import parse_line, render, schemas
from oragent.modelling.operations import requests as ops
from oragent.modelling.operations.registry import CHANGES, QUERIES, STATES

DOCUMENTED = '''demand[*, wk3..wk5] *= 1.05
whatif open[Nantes] = 0
total ship[Lyon, *, *] by week
top 3 open by coefficient
price capacity[Sued]
whynot ship["Torino", "Milano", *] >= 1
row few: sum setup[Cider, *] <= 2
repair demand
profit(make[croissant]) += 0.1
sweep oven_hours = 55, 60, 65, 70
most make[bagel] within 100
ship[* except "Nîmes", "Épinal"] = 0
upper(wind[1..4]) *= 0.5
top 1 demand by price
frontier cost co2 7
compare base "no Nantes"'''.splitlines()

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6).filter(lambda text: text.strip())
labels = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
numbers = st.floats(-1e12, 1e12).map(lambda value: value + 0.0)
indices = st.one_of(
    st.just(ops.Index()),
    st.builds(ops.Index, kind=st.just("labels"), labels=st.lists(labels, min_size=1, max_size=3).map(tuple)),
    st.builds(ops.Index, kind=st.just("range"), labels=st.tuples(labels, labels)),
    st.builds(ops.Index, kind=st.just("except"), labels=st.lists(labels, min_size=1, max_size=3).map(tuple)),
)
references = st.builds(
    ops.MemberReference,
    name=names,
    indices=st.none() | st.lists(indices, min_size=1, max_size=3).map(tuple),
    kind=st.sampled_from([None, "parameters", "variables", "rows"]),
)
targets = st.one_of(
    st.builds(ops.ChangeTarget, part=st.sampled_from(["value", "upper", "lower"]), reference=references),
    st.builds(ops.ChangeTarget, part=st.just("coefficient"), reference=references, of=names),
)
constants = st.builds(ops.ExpressionTerm, coefficient=numbers)
members = st.builds(ops.ExpressionTerm, coefficient=numbers, reference=references, data=st.none() | references)
sums = st.builds(
    ops.ExpressionTerm,
    coefficient=numbers,
    reference=references,
    data=st.none() | references,
    is_sum=st.just(True),
    by=st.lists(names, max_size=2).map(tuple),
)
expressions = st.builds(
    ops.Expression, terms=st.lists(st.one_of(constants, members, sums), min_size=1, max_size=3).map(tuple)
)
positive = st.floats(1e-6, 1e9)
weighted = st.builds(ops.WeightedObjective, name=names, weight=positive)
stages = st.builds(
    ops.ObjectiveStage,
    parts=st.lists(weighted, min_size=1, max_size=3).map(tuple),
    within=st.just(0.0) | positive,
)
changes = st.one_of(
    st.builds(
        ops.AssignChange,
        target=targets,
        operator=st.sampled_from(["=", "+=", "-=", "*="]),
        number=numbers | st.sampled_from([float("inf"), float("-inf")]),
        percent=st.booleans(),
    ),
    st.builds(ops.LimitChange, reference=references, relation=st.sampled_from(["<=", ">="]), number=numbers),
    st.builds(ops.ForbidChange, reference=references),
    st.builds(ops.FreeChange, reference=references),
    st.builds(ops.DropChange, reference=references),
    st.builds(ops.RelaxChange, reference=references, number=numbers, percent=st.booleans()),
    st.builds(ops.NewRow, name=names, left=expressions, relation=st.sampled_from(Relation), right=expressions),
    st.builds(ops.NewObjective, name=names, sense=st.sampled_from(Sense), expression=expressions),
    st.builds(ops.UseObjectives, stages=st.lists(stages, min_size=1, max_size=3).map(tuple)),
)
queries = st.one_of(
    st.builds(ops.DescribeRequest, reference=st.none() | references),
    st.builds(ops.DataRequest, reference=references),
    st.builds(ops.ValueRequest, reference=references),
    st.builds(ops.TotalRequest, reference=references, by=st.none() | names),
    st.builds(ops.TopRequest, count=st.integers(-99, 99), reference=references, by=names),
    st.builds(
        ops.ExtremeRequest,
        direction=st.sampled_from(["most", "least"]),
        expression=expressions,
        within=numbers,
        percent=st.booleans(),
    ),
    st.builds(ops.BindingRequest, reference=st.none() | references),
    st.builds(ops.SlackRequest, reference=references),
    st.builds(ops.PriceRequest, reference=references, step=numbers),
    st.builds(ops.RangeRequest, reference=references),
    st.builds(ops.WhyRequest, reference=references),
    st.builds(ops.WhyNotRequest, change=changes),
    st.just(ops.SolveRequest()),
    st.builds(ops.WhatIfRequest, changes=st.lists(changes, min_size=1, max_size=3).map(tuple)),
    st.builds(ops.SweepRequest, target=targets, numbers=st.lists(numbers, min_size=1, max_size=3).map(tuple)),
    st.just(ops.ConflictRequest()),
    st.builds(ops.RepairRequest, references=st.lists(references, max_size=2).map(tuple)),
    st.builds(ops.AlternativesRequest, count=st.integers(1, 100)),
    st.builds(ops.FrontierRequest, first=names, second=names, count=st.integers(2, 100)),
    st.builds(ops.CompareScenariosRequest, first=names, second=names),
    st.builds(ops.VerifyRequest, file=labels),
    st.builds(ops.InverseRequest, file=labels),
    st.builds(ops.DiffRequest, file=labels),
    st.builds(ops.KeepRequest, name=st.just("") | names),
    st.builds(ops.UndoRequest, count=st.integers(1, 99)),
    st.builds(ops.ScenarioRequest, name=names),
)


@pytest.mark.slow
@given(st.one_of(changes, queries))
def test_a_request_is_written_as_a_line_that_parses_to_it(request_: ops.AnyRequest) -> None:
    assert parse_line(render(request_)) == request_


@pytest.mark.slow
@given(st.one_of(changes, queries))
def test_a_request_survives_json(request_: ops.AnyRequest) -> None:
    line = TypeAdapter(ops.Operation)
    assert line.validate_json(request_.model_dump_json()) == request_


@pytest.mark.parametrize("line", DOCUMENTED)
def test_documented_lines_parse(line: str) -> None:
    assert parse_line(render(parse_line(line))) == parse_line(line)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "solve now",
        "demand[Paris",
        "demand[Paris] * 1.1",
        "demand *= many",
        "demand *= 1.1 please",
        "whatif",
        "whatif demand += 1;",
        "total",
        "top three ship",
        "row: x <= 3",
        "row r x <= 3",
        "price x by",
        "compare base",
        "upper(x) <= 3",
        "verify file.sol",
        "what does one more hour cost?",
        'ship["Paris] = 0',
        "x = 1e400 + y",
        "x" * 30_000,
    ],
)
def test_a_line_that_is_not_consumed_is_refused(line: str) -> None:
    with pytest.raises(ModellingError) as problem:
        parse_line(line)
    assert "\n" not in str(problem.value)


@given(st.text(max_size=40))
def test_any_text_parses_or_is_refused(text: str) -> None:
    try:
        request = parse_line(text)
    except ModellingError:
        return
    assert parse_line(render(request)) == request


@pytest.mark.slow
def test_every_operation_has_schemas() -> None:
    every = schemas()
    assert set(every) == {*QUERIES, *CHANGES, *STATES}
    assert all(entry["request"]["properties"] and entry["result"]["properties"] for entry in every.values())


@pytest.mark.parametrize("line", ["show capacity", "maximise profit", "demand", "explain why", "Price2 need"])
def test_an_unknown_first_word_is_answered_by_the_operations(line: str) -> None:
    operations = {
        *(model.model_fields["operation"].default for model in get_args(ops.AnyQuery)),
        *("forbid", "free", "drop", "relax", "row", "objective"),
    } - {"extreme"}
    with pytest.raises(ModellingError) as raised:
        parse_line(line)
    assert {*operations, "most", "least"} <= set(re.findall(r"\w+", str(raised.value)))


@pytest.mark.parametrize("line", ["alternatives 101", "alternatives 0", "frontier a b 101", "frontier a b 1", "undo 0"])
def test_a_figure_beyond_the_limits_of_an_operation_is_refused_in_one_line(line: str) -> None:
    with pytest.raises(ModellingError) as raised:
        parse_line(line)
    assert "\n" not in str(raised.value)
    assert line.split()[0] in str(raised.value)
