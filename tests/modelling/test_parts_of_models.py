"""Small parts of models against enumeration: ordered sets, products, linked figures, penalties, priorities of files."""

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.features import Absolute, BinaryProduct, Extreme, ModelFeatures, OrderedSet, SoftRow
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.links import LinkedFigures
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.names import group_by_names
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.files.lp_reader import read_lp
from oragent.modelling.files.model_json import from_json, to_json
from oragent.modelling.files.text_forms import from_text
from oragent.modelling.solving.model_solving import solve

BINARY = VariableKind.INTEGER
figures = st.integers(-4, 4).map(float)


@given(kind=st.sampled_from([1, 2]), values=st.lists(figures, min_size=1, max_size=6), data=st.data())
def test_a_violated_ordered_set_misses_its_best_window(kind: int, values: list[float], data: st.DataObject) -> None:
    weights = data.draw(st.permutations(range(len(values))))
    part = OrderedSet("s", kind, {f"x{at}": float(weight) for at, weight in enumerate(weights)})
    by_weight = [abs(values[at]) for at in sorted(range(len(values)), key=lambda at: weights[at])]
    windows = [sum(by_weight[at : at + kind]) for at in range(len(by_weight))]
    violation = part.violation({f"x{at}": value for at, value in enumerate(values)}.__getitem__)
    # Outside of a window of the largest sum, the largest value must be 0.
    outside = {
        max([*by_weight[:at], *by_weight[at + kind :]], default=0.0)
        for at, total in enumerate(windows)
        if total == max(windows)
    }
    assert violation in outside
    holds = any(not any([*by_weight[:at], *by_weight[at + kind :]]) for at in range(len(by_weight)))
    assert (violation == 0.0) is holds


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("sense", Sense)
@pytest.mark.parametrize("least", [0, 1])
def test_a_product_of_binaries_is_one_only_if_all_are(count: int, sense: Sense, least: int) -> None:
    names = [f"b{at}" for at in range(count)]
    variables = (*(Variable(name, 0, 1, BINARY) for name in names), Variable("y", 0, 1, BINARY))
    # At least all but one, or all, are 1; each of them has a price of its own.
    rows = (Row("some", dict.fromkeys(names, 1.0), Relation.AT_LEAST, count - 1 + least),)
    costs = {**{name: 0.5 + at / 10 for at, name in enumerate(names)}, "y": -0.7 if sense is Sense.MAXIMIZE else 0.7}
    features = ModelFeatures(products=(BinaryProduct("all", "y", tuple(names)),))
    milp = IndexedModel.from_records(variables, rows, Objective(costs, 2.0), sense, "m", features=features)
    points = [x for x in itertools.product((0, 1), repeat=count) if sum(x) >= count - 1 + least]
    values = [2.0 + sum(costs[n] * v for n, v in zip(names, x, strict=True)) + costs["y"] * all(x) for x in points]
    best = max(values) if sense is Sense.MAXIMIZE else min(values)
    assert solve(milp).objective == pytest.approx(best)


@pytest.mark.parametrize("sense", Sense)
@pytest.mark.parametrize(("low", "high"), [(-3.0, 2.0), (-2.0, 3.0), (1.0, 4.0), (-4.0, -1.0)])
def test_an_absolute_value_in_both_directions(sense: Sense, low: float, high: float) -> None:
    variables = (Variable("x", low, high), Variable("y", 0, 10))
    features = ModelFeatures(absolutes=(Absolute("size", "x", "y"),))
    milp = IndexedModel.from_records(
        variables, (), Objective({"y": 1.0, "x": 0.25}, 1.0), sense, "m", features=features
    )
    ends = [1.0 + abs(x) + 0.25 * x for x in (low, high, min(max(0.0, low), high))]
    assert solve(milp).objective == pytest.approx(max(ends) if sense is Sense.MAXIMIZE else min(ends))


@pytest.mark.parametrize("sense", Sense)
@pytest.mark.parametrize("is_largest", [True, False])
@pytest.mark.parametrize("constant", [None, 1.5])
def test_an_extreme_in_both_directions(sense: Sense, is_largest: bool, constant: float | None) -> None:
    variables = (Variable("x", 0, 3, BINARY), Variable("z", -2, 2, BINARY), Variable("y", -9, 9))
    features = ModelFeatures(extremes=(Extreme("e", "y", ("x", "z"), is_largest, constant),))
    milp = IndexedModel.from_records(
        variables, (), Objective({"y": 2.0, "x": -0.5, "z": 0.3}), sense, "m", features=features
    )
    pick = max if is_largest else min
    values = [
        2 * pick(x, z, *([] if constant is None else [constant])) - 0.5 * x + 0.3 * z
        for x in range(4)
        for z in range(-2, 3)
    ]
    assert solve(milp).objective == pytest.approx(max(values) if sense is Sense.MAXIMIZE else min(values))


@pytest.mark.parametrize("sense", Sense)
@pytest.mark.parametrize(("below", "above"), [(2.0, None), (None, 1.5), (2.0, 1.5)])
@pytest.mark.parametrize("pull", [3.0, 1.0, -1.0, -3.0])
def test_a_soft_row_costs_its_price_in_both_directions(
    sense: Sense, below: float | None, above: float | None, pull: float
) -> None:
    variables = (Variable("x", 0, 8, BINARY),)
    rows = (Row("r", {"x": 1.0}, Relation.EQUAL, 4.0),)
    features = ModelFeatures(soft_rows=(SoftRow("r", below, above),))
    milp = IndexedModel.from_records(variables, rows, Objective({"x": pull}, 1.0), sense, "m", features=features)
    sign = -1.0 if sense is Sense.MAXIMIZE else 1.0

    def worth(x: int) -> float | None:
        short, over = max(0, 4 - x), max(0, x - 4)
        if (short and below is None) or (over and above is None):
            return None
        return 1.0 + pull * x + sign * ((below or 0.0) * short + (above or 0.0) * over)

    values = [value for x in range(9) if (value := worth(x)) is not None]
    solution = solve(milp)
    arrays = milp.to_staged_arrays()
    point = np.array([solution.values["x"]])
    assert arrays.worth_at(point) == pytest.approx(max(values) if sense is Sense.MAXIMIZE else min(values))
    assert arrays.worth_at(point) == pytest.approx(worth(round(point[0])))


def test_linked_figures_are_computed_as_numbers_are() -> None:
    cells = np.array([2.0, -3.0, 5.0])
    linked = LinkedFigures("p", np.array([2, 0]), np.array([1.0, 2.0]), np.array([0.5, 0.0]))

    def value(figures: LinkedFigures) -> list[float]:
        return list(figures.factors * cells[figures.cells] + figures.base)

    assert value(linked) == [5.5, 4.0]
    for factor in (3.0, -0.5, np.array([2.0, 4.0])):
        expected = pytest.approx(list(np.array([5.5, 4.0]) * factor))
        assert value(linked * factor) == expected
        assert value(factor * linked) == expected
    assert value(-linked) == [-5.5, -4.0]
    assert value(linked + 1.5) == [7.0, 5.5]
    with pytest.raises(ModellingError):
        LinkedFigures("p", np.array([2, 0]), np.array([1.0]), np.array([0.5, 0.0]))


def test_a_change_of_a_cell_changes_what_is_linked_by_its_factor() -> None:
    builder = IndexedModelBuilder("m")
    builder.add_set("k", ["a", "b"])
    builder.add_parameter("cost", ["k"], [2.0, 3.0])
    x = builder.add_variables("x", ["k"], high=4)
    builder.set_objective("o", "maximize", x, -2.0 * builder.cells("cost") + 10.0)
    assert list(builder.build().objective.cost.evaluate(builder.build().cells)) == [6.0, 4.0]


LP = """Maximize multi-objectives
 first: Priority=2 Weight=1 AbsTol=0 RelTol=0
  3 x + y
 second: Priority=5 Weight=2 AbsTol=1 RelTol=0.5
  x - 2 y + 4
 third: Priority=4 Weight=-1 AbsTol=0 RelTol=0
  y
Subject To
 r: x + y <= 4
End
"""


def test_objectives_of_a_file_have_their_order_and_signs() -> None:
    milp = read_lp(LP)
    assert dict(milp.objective_record.terms) == {"x": 3.0, "y": 1.0}
    goals = {goal.name: goal for goal in milp.named_features.goals}
    assert {name: goal.priority for name, goal in goals.items()} == {"second": 3, "third": 2}
    assert (goals["second"].sense, goals["third"].sense) == (Sense.MAXIMIZE, Sense.MINIMIZE)
    assert (goals["second"].constant, goals["second"].weight) == (4.0, 2.0)
    assert (goals["second"].slack, goals["second"].slack_amount) == (0.5, 1.0)


@pytest.mark.parametrize("gap_lines", [0, 1, 4])
@pytest.mark.parametrize("ranges", [0, 2])
def test_a_broken_line_of_a_file_is_named_by_its_number(gap_lines: int, ranges: int) -> None:
    rows = [f" r{at}: 1 <= x + y <= {at + 4}" for at in range(ranges)]
    lines = ["Minimize", " o: x + y", "Subject To", *[""] * gap_lines, *rows, " bad: x + + >= y >= 3 = 2", "End", ""]
    with pytest.raises(ModellingError) as caught:
        from_text("\n".join(lines), "lp")
    assert f"line {lines.index(' bad: x + + >= y >= 3 = 2') + 1}" in str(caught.value)


@pytest.mark.parametrize(
    ("rhs", "activity", "is_tight"), [(1e6, 1e6 - 0.1, True), (1e6, 1e6 - 100, False), (0.0, -1e-3, False)]
)
def test_a_row_binds_within_a_tolerance_that_grows_with_its_limit(rhs: float, activity: float, is_tight: bool) -> None:
    variables = (Variable("x", -math.inf, activity), Variable("y", 0, 1))
    row = Row("r", {"x": 1.0}, Relation.AT_MOST, rhs)
    solution = solve(IndexedModel.from_records(variables, (row,), Objective({"x": 1.0}), Sense.MAXIMIZE, "m"))
    assert solution.status is SolveStatus.OPTIMAL
    assert solution.is_tight(row) is is_tight


def test_sets_of_a_file_are_unordered_and_certain_where_it_says_nothing() -> None:
    builder = IndexedModelBuilder("m")
    builder.add_set("k", ["a", "b"])
    builder.add_variables("x", ["k"], high=4)
    tree = json.loads(to_json(builder.build()))
    tree["sets"] = [{"name": "k", "labels": ["a", "b"]}]
    (index_set,) = from_json(json.dumps(tree)).sets
    assert (index_set.is_ordered, index_set.is_time, index_set.is_guessed) == (False, False, False)


def test_a_flat_model_keeps_the_names_of_its_rows_and_columns() -> None:
    variables = (Variable("ship[a,b]", 0, 4), Variable("ship[b,a]", 0, 3), Variable("only", 0, 1))
    rows = (
        Row("meet[a]", {"ship[a,b]": 1.0}, Relation.AT_LEAST, 1.0),
        Row("rest", {"only": 2.0}, Relation.AT_MOST, 1.0),
    )
    milp = IndexedModel.from_records(
        variables, rows, Objective({"ship[a,b]": 1.0, "only": -1.0}, 3.0), Sense.MINIMIZE, "m"
    )
    again = group_by_names(milp)
    assert [variable.name for variable in again.variable_records] == [variable.name for variable in variables]
    assert [(row.name, dict(row.terms), row.relation, row.rhs) for row in again.row_records] == [
        (row.name, dict(row.terms), row.relation, row.rhs) for row in rows
    ]
    assert again.objective_record.constant == 3.0


PAIRS = [(first, second) for first in ("a", "b") for second in ("1", "2", "3")]


@given(st.permutations(PAIRS), st.integers(1, 6), st.booleans())
def test_members_in_any_order_have_their_keys_and_positions_in_a_file(
    order: list[tuple[str, str]], count: int, is_reversed: bool
) -> None:
    builder = IndexedModelBuilder("m")
    builder.add_set("letter", ["a", "b"])
    builder.add_set("digit", ["1", "2", "3"], is_ordered=True)
    keys = order[:count]
    x = builder.add_variables("x", ["letter", "digit"], keys=keys, high=range(count), unit="kg")
    y = builder.add_variables("y", [], kind="integer")
    builder.add_rows("all", ["digit"], "<=", keys=[("3",), ("1",)], rows=[0, 1], columns=[x[0], y[0]], rhs=[4.0, 5.0])
    builder.set_objective("gain", "maximize", x, range(1, count + 1))
    model = builder.build()
    if is_reversed:
        first, last = model.variables
        model = replace(model, variables=(replace(first, positions=first.positions[::-1]), last))
    text = to_json(model)
    again = from_json(text)
    for family, copy in zip((*model.variables, *model.rows), (*again.variables, *again.rows), strict=True):
        assert (copy.name, copy.sets, copy.unit) == (family.name, family.sets, family.unit)
        assert (copy.keys.tolist(), copy.positions.tolist()) == (family.keys.tolist(), family.positions.tolist())
    entries = json.loads(text)["variables"]
    assert ("keys" in entries[0]) is (keys != PAIRS)
    assert "keys" not in entries[1]
    assert isinstance(entries[0]["positions"], dict) is (not is_reversed or count == 1)
    assert again.high.base.tolist() == model.high.base.tolist()


@pytest.mark.parametrize(
    "positions", [{"first": 0, "count": 5}, {"first": 0, "count": -1}, [0, 1], {"first": 1, "count": 6}]
)
def test_positions_that_do_not_fit_the_members_are_refused(positions: object) -> None:
    builder = IndexedModelBuilder("m")
    builder.add_set("letter", ["a", "b"])
    builder.add_set("digit", ["1", "2", "3"])
    builder.set_objective("gain", "maximize", builder.add_variables("x", ["letter", "digit"], high=3), 1.0)
    data = json.loads(to_json(builder.build()))
    assert data["variables"][0]["positions"] == {"first": 0, "count": 6}
    data["variables"][0]["positions"] = positions
    with pytest.raises(ModellingError):
        from_json(json.dumps(data))
