"""The text syntax of operations: every line parses to one request, which is written as a line that parses equal."""

import re
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from oragent._base.errors import ModellingError
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.operations import parse_line, render, schemas
from oragent.modelling.operations import requests as ops
from oragent.modelling.operations.registry import CHANGES, QUERIES, STATES
from oragent.modelling.operations.syntax import MAX_LINE_CHARACTERS

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


@settings(max_examples=50)
@given(st.one_of(changes, queries))
def test_a_request_is_written_as_a_line_that_parses_to_it(request_: ops.AnyRequest) -> None:
    assert parse_line(render(request_)) == request_


@settings(max_examples=20)
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


INF = float("inf")


def labels_of(*texts: str) -> ops.Index:
    return ops.Index(kind="labels", labels=texts)


def refer(name: str, *indices: ops.Index, kind: str | None = None) -> ops.MemberReference:
    return ops.MemberReference(name=name, indices=indices or None, kind=kind)


def assign(operator: str, number: float, percent: bool = False, **target: object) -> ops.AssignChange:
    target = {"reference": refer("x"), **target}
    return ops.AssignChange(target=ops.ChangeTarget(**target), operator=operator, number=number, percent=percent)


def of_terms(*terms: dict[str, object]) -> ops.Expression:
    return ops.Expression(terms=tuple(ops.ExpressionTerm(**term) for term in terms))


ALL = ops.Index()
X, Y, D = refer("x"), refer("y"), refer("d")
ONE = of_terms({"coefficient": 1.0})
# Lines, the request that each means, and the line as it is written.
LINES: list[tuple[str, ops.AnyRequest, str]] = [
    ("x=3", assign("=", 3), "x = 3"),
    ("x += 3 %", assign("+=", 3, True), "x += 3 %"),
    ("x -= -3", assign("-=", -3), "x -= -3"),
    ("x *= - - 1.5e1", assign("*=", 15), "x *= 15"),
    ("x = inf", assign("=", INF), "x = inf"),
    ("x = -inf", assign("=", -INF), "x = -inf"),
    ("upper(x) = 3", assign("=", 3, part="upper"), "upper(x) = 3"),
    ("LOWER(x) = 3", assign("=", 3, part="lower"), "lower(x) = 3"),
    ("cost(x) = 3", assign("=", 3, part="coefficient", of="cost"), "cost(x) = 3"),
    ("rows.x = 3", assign("=", 3, reference=refer("x", kind="rows")), "rows.x = 3"),
    ("Parameters.x[a] = 3", assign("=", 3, reference=refer("x", labels_of("a"), kind="parameters")), "parameters.x[a] = 3"),
    ("forbid = 3", assign("=", 3, reference=refer("forbid")), "forbid = 3"),
    ("solve[a] = 3", assign("=", 3, reference=refer("solve", labels_of("a"))), "solve[a] = 3"),
    ('"two words" = 3', assign("=", 3, reference=refer("two words")), '"two words" = 3'),
    ("x <= 3", ops.LimitChange(reference=X, relation="<=", number=3), "x <= 3"),
    ("x >= -inf", ops.LimitChange(reference=X, relation=">=", number=-INF), "x >= -inf"),
    ("forbid x[*, a]", ops.ForbidChange(reference=refer("x", ALL, labels_of("a"))), "forbid x[*, a]"),
    ("free x[{a, b}]", ops.FreeChange(reference=refer("x", labels_of("a", "b"))), "free x[{a, b}]"),
    ("drop x[{a}]", ops.DropChange(reference=refer("x", labels_of("a"))), "drop x[a]"),
    ("relax x by 3", ops.RelaxChange(reference=X, number=3), "relax x by 3"),
    ("relax x[1..3] by 3 %", ops.RelaxChange(reference=refer("x", ops.Index(kind="range", labels=("1", "3"))), number=3, percent=True), "relax x[1..3] by 3 %"),
    ("value x[* except a]", ops.ValueRequest(reference=refer("x", ops.Index(kind="except", labels=("a",)))), "value x[* except {a}]"),
    ("value x[* except a, b, c..d]", ops.ValueRequest(reference=refer(
        "x", ops.Index(kind="except", labels=("a", "b")), ops.Index(kind="range", labels=("c", "d")))),
     "value x[* except {a, b}, c..d]"),
    ("value x[* except {a, b}, *]", ops.ValueRequest(reference=refer("x", ops.Index(kind="except", labels=("a", "b")), ALL)), "value x[* except {a, b}, *]"),
    ('value x["a, b", 2.5]', ops.ValueRequest(reference=refer("x", labels_of("a, b"), labels_of("2.5"))), 'value x["a, b", 2.5]'),
    ("value rows", ops.ValueRequest(reference=refer("*", kind="rows")), 'value rows."*"'),
    ("row r: x <= y", ops.NewRow(name="r", left=of_terms({"reference": X}), relation=Relation.AT_MOST, right=of_terms({"reference": Y})), "row r: x <= y"),
    ("row r: -x + 2 * y - 3 >= - - 1", ops.NewRow(
        name="r", left=of_terms({"coefficient": -1, "reference": X}, {"coefficient": 2, "reference": Y}, {"coefficient": -3}),
        relation=Relation.AT_LEAST, right=ONE), "row r: -x + 2 * y - 3 >= 1"),
    ("row r: 2 x + sum d * x by s by t = 1", ops.NewRow(
        name="r", left=of_terms({"coefficient": 2, "reference": X}, {"reference": X, "data": D, "is_sum": True, "by": ("s", "t")}),
        relation=Relation.EQUAL, right=ONE), "row r: 2 * x + sum d * x by s by t = 1"),
    ("objective minimize x", ops.NewObjective(sense=Sense.MINIMIZE, expression=of_terms({"reference": X})), "objective objective: minimize x"),
    ("objective o: Maximize x + 1", ops.NewObjective(name="o", sense=Sense.MAXIMIZE, expression=of_terms({"reference": X}, {"coefficient": 1})), "objective o: maximize x + 1"),
    ("objective o", ops.UseObjectives(stages=(ops.ObjectiveStage(parts=(ops.WeightedObjective(name="o"),)),)), "objective o"),
    ("objective 2 * o + 0.5 p within 3 then q within 4 %", ops.UseObjectives(stages=(
        ops.ObjectiveStage(parts=(ops.WeightedObjective(name="o", weight=2), ops.WeightedObjective(name="p", weight=0.5)), within=3),
        ops.ObjectiveStage(parts=(ops.WeightedObjective(name="q"),), within=4, percent=True))),
     "objective 2 * o + 0.5 * p within 3 then q within 4 %"),
    ("describe", ops.DescribeRequest(), "describe"),
    ("describe x", ops.DescribeRequest(reference=X), "describe x"),
    ("total x", ops.TotalRequest(reference=X), "total x"),
    ("total x by s", ops.TotalRequest(reference=X, by="s"), "total x by s"),
    ("top 3 x", ops.TopRequest(count=3, reference=X), "top 3 x"),
    ("top -3 x by value", ops.TopRequest(count=-3, reference=X), "top -3 x"),
    ("top 3 x by price", ops.TopRequest(count=3, reference=X, by="price"), "top 3 x by price"),
    ("price x by 2", ops.PriceRequest(reference=X, step=2), "price x by 2"),
    ("most x", ops.ExtremeRequest(direction="most", expression=of_terms({"reference": X})), "most x"),
    ("least 2 - x within 3 %", ops.ExtremeRequest(
        direction="least", expression=of_terms({"coefficient": 2}, {"coefficient": -1, "reference": X}), within=3, percent=True),
     "least 2 - x within 3 %"),
    ("most 2 within 0", ops.ExtremeRequest(direction="most", expression=of_terms({"coefficient": 2}), within=0), "most 2 within 0"),
    ("whatif x = 3; free y", ops.WhatIfRequest(changes=(assign("=", 3), ops.FreeChange(reference=Y))), "whatif x = 3; free y"),
    ("whynot x >= 1", ops.WhyNotRequest(change=ops.LimitChange(reference=X, relation=">=", number=1)), "whynot x >= 1"),
    ("sweep upper(x) = 1, 2", ops.SweepRequest(target=ops.ChangeTarget(part="upper", reference=X), numbers=(1, 2)), "sweep upper(x) = 1, 2"),
    ("repair", ops.RepairRequest(), "repair"),
    ("repair x, y", ops.RepairRequest(references=(X, Y)), "repair x y"),
    ("alternatives 3", ops.AlternativesRequest(count=3), "alternatives 3"),
    ("frontier a b", ops.FrontierRequest(first="a", second="b"), "frontier a b"),
    ("frontier a b 3", ops.FrontierRequest(first="a", second="b", count=3), "frontier a b 3"),
    ('verify "m.lp" 0', ops.VerifyRequest(file="m.lp", trials=0), 'verify "m.lp" 0'),
    ('diff "a\\\\\\"b"', ops.DiffRequest(file='a\\"b'), 'diff "a\\\\\\"b"'),
    ("keep", ops.KeepRequest(), "keep"),
    ("keep n", ops.KeepRequest(name="n"), "keep n"),
    ("undo", ops.UndoRequest(), "undo"),
    ("undo 2", ops.UndoRequest(count=2), "undo 2"),
    ("SOLVE", ops.SolveRequest(), "solve"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "request_", "written"), LINES, ids=[line for line, *_ in LINES])
def test_each_line_means_one_request_and_is_written_in_one_form(
    line: str, request_: ops.AnyRequest, written: str
) -> None:
    assert parse_line(line) == request_
    assert render(request_) == written
    assert parse_line(written) == request_


# A line that means something, and lines that do not.
WRONG = [
    ("x = 3", ["x =", "x = = 3", "x 3", "= 3", "x = 3 3", "x = 3 % %", "x = %", "x[ = 3", "x] = 3", "x[] = 3", "x = a"]),
    ("x[a, b] = 3", ["x[a b] = 3", "x[a,] = 3", "x[,a] = 3", "x[a..] = 3", "x[..a] = 3", "x[{a] = 3", "x[{}] = 3"]),
    ("x[* except a] = 3", ["x[* a] = 3", "x[* except] = 3", "x[except] = 3", "x[* except {}] = 3"]),
    ("upper(x) = 3", ["upper(x = 3", "upper() = 3", "upper(x) >= 3", "upper x = 3", "cost(x) <= 3"]),
    ("relax x by 3", ["relax x", "relax x 3", "relax by 3", "relax x by"]),
    ("row r: x <= 3", ["row r: x", "row r x <= 3", "row : x <= 3", "row r: <= 3", "row r: x < 3", "row r: x + <= 3", "row by: x <= 3"]),
    ("objective o: minimize x", ["objective o: x", "objective minimize", "objective o minimize x", "objective"]),
    ("objective 2 o within 3", ["objective 2", "objective o within", "objective o within -1", "objective o within inf", "objective 0 o", "objective o then", "objective o + "]),
    ("most x within 3", ["most", "most within 3", "most x within", "most x by 3"]),
    ("top 3 x", ["top x", "top 3", "top 3.5 x", "top 1e3 x", "top 3 x by", "top 1234567890 x"]),
    ('verify "m.lp"', ["verify m.lp", "verify", 'verify "m.lp']),
    ("whatif x = 3; y = 3", ["whatif x = 3;", "whatif ; x = 3", "whatif solve", "whatif x = 3, y = 3"]),
    ("frontier a b", ["frontier a", "frontier", "frontier a b c", "frontier a then"]),
    ("sweep x = 1, 2", ["sweep x", "sweep x =", "sweep x 1, 2", "sweep x = 1,"]),
]  # fmt: skip


@pytest.mark.parametrize("line", [line for _, lines in WRONG for line in lines])
def test_lines_beside_those_that_mean_something_are_refused(line: str) -> None:
    with pytest.raises(ModellingError) as refused:
        parse_line(line)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("line", [right for right, _ in WRONG])
def test_lines_beside_those_that_mean_nothing_are_read(line: str) -> None:
    parse_line(line)


@pytest.mark.parametrize(
    ("line", "character"), [("x[a b] = 3", 5), ("x = 3 please", 7), ("top x y", 5), ("x = 3 \u00a7", 7)]
)
def test_the_character_that_cannot_be_read_is_named(line: str, character: int) -> None:
    with pytest.raises(ModellingError, match=rf"character {character}\b"):
        parse_line(line)


@pytest.mark.parametrize("line", ["whatif", "price", "frontier a"])
def test_a_line_that_ends_too_early_is_shown(line: str) -> None:
    """In a shell, `model m.lp whatif x = 3` without quotes gives lines of a word each."""
    with pytest.raises(ModellingError) as refused:
        parse_line(line)
    assert f"'{line}'" in str(refused.value)


def test_a_line_has_a_largest_length() -> None:
    line = "value " + "x" * (MAX_LINE_CHARACTERS - 6)
    assert parse_line(line).reference.name == line[6:]
    with pytest.raises(ModellingError):
        parse_line(f"{line}x")
