"""Indexed models: builder, data links, names, JSON."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.modelling import solve
from oragent.modelling.data.builder import IndexedModelBuilder, looks_ordered
from oragent.modelling.data.features import FurtherObjective, Indicator, ModelFeatures, QuadraticTerm
from oragent.modelling.data.indexed import IndexedModel, SourceCell, product_keys
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.names import FamilyCorrections, SetCorrection, group_by_names, split_brackets
from oragent.modelling.files.model_files import read, read_indexed, write
from oragent.modelling.files.model_json import from_json, to_json
from oragent.modelling.operations import ModelSession
from tests.modelling.indexed_models import transport
from tests.modelling.models import facts, steel


def same_arrays(first, second) -> bool:
    one, two = first.to_arrays(), second.to_arrays()
    names = ("cost", "low", "high", "integer", "row_low", "row_high")
    return (
        one.sense is two.sense
        and all(np.array_equal(getattr(one, name), getattr(two, name)) for name in names)
        and (np.array_equal(one.matrix.to_dense(), two.matrix.to_dense()))
    )


def test_data_give_the_figures_of_the_model() -> None:
    model = transport()
    arrays = model.to_arrays()
    demand = next(family for family in model.parameters if family.name == "demand")
    assert arrays.row_low[:20].tolist() == model.cells[demand.positions].tolist()
    assert model.column_names[0] == "ship[Lyon, Paris, wk1]"
    assert model.row_names[20] == "capacity[Lyon, wk1]"
    assert arrays.cost[60:].tolist() == [1.0] * 15


def test_json_of_version_2_keeps_everything(tmp_path) -> None:
    model = transport()
    again = from_json(to_json(model))
    assert same_arrays(model, again)
    assert again.sets == model.sets
    assert to_json(again) == to_json(model)
    # Keys of a product are not written.
    assert not any("keys" in family for family in json.loads(to_json(model))["variables"])
    assert "Größe" in to_json(replace(model, name="Größe"))
    path = tmp_path / "model.json"
    write(model, path)
    assert solve(read(path)).objective == pytest.approx(solve(model).objective)
    assert read_indexed(path).row_names == model.row_names


def test_a_flat_model_reads_back_from_both_forms() -> None:
    assert facts(from_json(to_json(steel()))) == facts(steel())
    hours = {
        "name": "hours",
        "terms": {"bands": 1 / 200, "coils": 1 / 140, "plate": 1 / 160},
        "relation": "<=",
        "rhs": 40,
    }
    data = {
        "name": "steel3",
        "sense": "maximize",
        "objective": {"terms": {"bands": 25, "coils": 30, "plate": 29}, "unit": "dollars"},
        "variables": [
            {"name": "bands", "low": 1000, "high": 6000, "unit": "tons"},
            {"name": "coils", "low": 500, "high": 4000, "unit": "tons"},
            {"name": "plate", "low": 750, "high": 3500, "unit": "tons"},
        ],
        "rows": [hours],
    }
    assert facts(from_json(json.dumps(data))) == facts(steel())


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("ship[Lyon,Paris]", ("ship", ("Lyon", "Paris"))),
        ("ship(Lyon, Paris)", ("ship", ("Lyon", "Paris"))),
        ("ship_('Lyon',_'Paris')", ("ship", ("Lyon", "Paris"))),
        ("ship[1][2]", ("ship", ("1", "2"))),
        ("ship", None),
        ("ship[]", None),
    ],
)
def test_brackets_give_labels(name, parts) -> None:
    assert split_brackets(name) == parts


def flat(names: list[str], rows: list[str] = ()) -> IndexedModel:
    return IndexedModel.from_records(
        tuple(Variable(name) for name in names),
        tuple(Row(name, {names[0]: 1.0}, Relation.AT_MOST, 4.0) for name in rows),
        Objective(dict.fromkeys(names, 1.0)),
        Sense.MINIMIZE,
    )


def test_one_consistent_separator_gives_families() -> None:
    names = [f"ship_{depot}_{city}_wk{week}" for depot in ("a", "b") for city in ("P", "Q", "R") for week in (1, 2, 10)]
    model = group_by_names(flat([*names, "total"], ["cap_a", "cap_b", "one_more_row"]))
    by_name = {family.name: family for family in (*model.variables, *model.rows)}
    assert [len(by_name[name].sets) for name in ("ship", "total", "cap", "one_more_row")] == [3, 0, 1, 0]
    assert by_name["cap"].sets[0] == by_name["ship"].sets[0]
    week = model.index_set(by_name["ship"].sets[2])
    assert (week.name, week.labels, week.is_ordered, week.is_guessed) == ("wk", ("1", "2", "10"), True, True) or (
        week.labels == ("wk1", "wk2", "wk10") and week.is_ordered
    )
    assert model.flat_variable_names == [*names, "total"]


def test_corrections_rename_sets_and_choose_the_separator() -> None:
    names = ["x_a_1", "x_a_2", "x_b_1", "x_b_2"]
    assert [family.sets for family in group_by_names(flat(names), FamilyCorrections(separator="")).variables] == [
        ()
    ] * 4
    guessed = group_by_names(flat(names))
    first = guessed.variables[0].sets[0]
    corrected = group_by_names(flat(names), FamilyCorrections(sets={first: SetCorrection("day", time=True)}))
    assert corrected.index_set("day").is_time
    assert not corrected.index_set("day").is_guessed


@pytest.mark.slow
def test_corrections_lie_next_to_the_model(tmp_path) -> None:
    path = tmp_path / "m.lp"
    path.write_text("min\n obj: x_a + x_b\nst\n c_a: x_a >= 1\n c_b: x_b >= 2\nend\n")
    assert read_indexed(path).sets[0].is_guessed
    (tmp_path / "m.lp.families.yaml").write_text("sets: {set1: place}\n")
    assert read_indexed(path).sets[0].name == "place"
    (tmp_path / "m.lp.families.yaml").write_text("sets: 3\n")
    with pytest.raises(ModellingError, match="families"):
        read_indexed(path)


@given(st.lists(st.text(min_size=1, max_size=8).filter(lambda text: text.strip()), min_size=1, max_size=8, unique=True))
def test_any_names_survive_families(names: list[str]) -> None:
    try:
        model = flat(names, names)
    except ModellingError:
        return
    assert facts(group_by_names(model)) == facts(model)
    again = from_json(to_json(group_by_names(model)))
    assert facts(again) == facts(model)
    assert len(set(again.column_names)) == len(names)


def test_labels_with_rising_numbers_are_ordered() -> None:
    assert looks_ordered(["1", "2", "10"])
    assert looks_ordered(["wk1", "wk2"])
    assert not looks_ordered(["Lyon", "Nice"])
    assert not looks_ordered(["b2", "a3"])


def test_a_builder_refuses_what_does_not_fit() -> None:
    builder = IndexedModelBuilder()
    builder.add_set("city", ["Paris", "Nice"])
    builder.add_parameter("demand", ["city"], {("Paris",): 3.0})
    wrong = [
        lambda: builder.add_set("city", []),
        lambda: builder.add_set("twice", ["a", "a"]),
        lambda: builder.add_variables("x", ["town"]),
        lambda: builder.add_variables("x", ["city"], low=[1.0, 2.0, 3.0]),
        lambda: builder.add_variables("x", ["city"], keys=[("Rome",)]),
        lambda: builder.cells("demand", [("Nice",)]),
        lambda: builder.add_rows("r", [], "<=", columns=[5]),
        lambda: builder.add_parameter("p", ["city"], [float("nan"), 1.0]),
    ]
    for call in wrong:
        with pytest.raises(ModellingError):
            call()


def test_logic_and_squares_stay_in_the_model() -> None:
    binary = Variable("on", 0, 1, VariableKind.INTEGER)
    make = Variable("make", 0, 10)
    only = Indicator("only", "on", True, {"make": 1.0}, Relation.AT_LEAST, 4.0)
    milp = IndexedModel.from_records(
        (binary, make),
        (),
        Objective({"on": -1.0, "make": 1.0}),
        Sense.MINIMIZE,
        features=ModelFeatures(indicators=(only,)),
    )
    assert ModelSession(group_by_names(milp)).ask("whatif on = 1").objective.after.value == pytest.approx(3)
    square = ModelFeatures(quadratic=(QuadraticTerm("make", "make", 1.0),))
    asked = ModelSession(
        group_by_names(milp.with_records(variables=(replace(binary, kind="continuous"), make), features=square))
    )
    found = asked.ask("whatif make >= 2").objective
    assert (found.before.value, found.after.value) == (pytest.approx(-1), pytest.approx(5))


SHIPS = 60


@pytest.mark.parametrize(
    ("path", "value"),
    [
        # A key of one member that is beyond the sets, below 0, or that of another member.
        (("variables", 0, "keys"), [[0] * 3] * (SHIPS - 1) + [[99] * 3]),
        (("variables", 0, "keys"), [[0] * 3] * (SHIPS - 1) + [[-1] * 3]),
        (("variables", 0, "keys"), [[0] * 3] * SHIPS),
        (("columns", "names"), ["same"] * 75),
        (("columns", "names"), [" ", *(f"x{at}" for at in range(74))]),
        (("columns", "low", "base"), [1e300] * 75),
        (("objectives", 0, "constant"), 1e300),
        (("sets", 0, "labels", 0), "half \ud83d"),
        (("variables", 0, "unit"), "half \ud83d"),
        (("variables", 0, "name"), ""),
        # A number in place of a list, and ranges that are larger than the model.
        (("variables", 0, "positions"), 5),
        (("matrix", "columns"), 0),
        (("matrix", "starts"), 10**12),
        (("columns", "integer"), 1),
        (("variables", 0, "positions"), {"first": 0, "count": 10**12}),
        (("variables", 0, "positions"), {"first": 0, "count": -1}),
        (("variables", 0, "sets"), ["depot", "city"] * 40),
    ],
)
def test_a_damaged_model_of_version_2_is_refused(path: tuple[str | int, ...], value: object) -> None:
    data = json.loads(to_json(transport()))
    part = data
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    data["columns"]["high"] = {"base": [4.0] * 75}
    with pytest.raises(ModellingError):
        from_json(json.dumps(data))


@pytest.mark.parametrize(("size", "is_refused"), [(1e15, False), (1e16, True), (-1e16, True)])
@pytest.mark.parametrize("place", ["entries", "rhs"])
def test_a_figure_that_solvers_do_not_accept_is_refused(place: str, size: float, is_refused: bool) -> None:
    data = json.loads(to_json(steel()))
    data["matrix"][place]["base"][0] = size
    if is_refused:
        with pytest.raises(ModellingError):
            from_json(json.dumps(data))
    else:
        assert from_json(json.dumps(data)).shape == steel().shape


@pytest.mark.parametrize(("low", "high", "is_refused"), [(5.0, 4.0, True), (4.0, 4.0, False), (None, None, False)])
def test_bounds_that_exclude_each_other_are_refused(low: float | None, high: float | None, is_refused: bool) -> None:
    data = json.loads(to_json(steel()))
    data["columns"] |= {"low": {"base": [low] * 3}, "high": {"base": [high] * 3}}
    if is_refused:
        with pytest.raises(ModellingError):
            from_json(json.dumps(data))
    else:
        assert from_json(json.dumps(data)).has_integers is False


@pytest.mark.parametrize("sizes", [(), (3,), (2, 3), (2, 0), (1, 4, 2)])
def test_keys_of_a_product_vary_fastest_at_the_end(sizes: tuple[int, ...]) -> None:
    keys = product_keys(sizes)
    assert (keys.dtype, keys.shape[1]) == (np.int32, len(sizes))
    assert list(map(tuple, keys.tolist())) == list(itertools.product(*map(range, sizes)))


@pytest.mark.parametrize("bound", [1e20, 1e30, 10**25])
def test_bounds_of_variables_are_infinite_from_a_size_on(bound: float) -> None:
    for kind in (float, int):
        wide = Variable("x", kind(-bound), kind(bound))
        assert (wide.low, wide.high) == (-np.inf, np.inf)
        near = Variable("x", kind(-bound) / 1e6, kind(bound) / 1e6)
        assert (near.low, near.high) == (-bound / 1e6, bound / 1e6) or bound > 1e25
    assert Variable("x", 0.0, np.inf).high == np.inf


def test_the_first_stage_alone_is_one_objective_with_the_same_optimum() -> None:
    goals = (
        FurtherObjective("g", {"x": 2.0, "y": 1.0}, Sense.MAXIMIZE, 3.0, 0.5, 2, 0.25, 1.0),
        FurtherObjective("h", {"y": 1.0}, Sense.MINIMIZE, weight=2.0, priority=1),
    )
    model = IndexedModel.from_records(
        (Variable("x", 0, 4), Variable("y", 0, 5)), (Row("r", {"x": 1, "y": 1}, Relation.AT_MOST, 6),),
        Objective({"x": 1.0}), Sense.MINIMIZE, features=ModelFeatures(goals=goals),
    )  # fmt: skip
    first = model.with_first_stage()
    (objective,) = first.objectives
    facts = (
        objective.name,
        objective.sense,
        objective.weight,
        objective.priority,
        objective.slack,
        objective.slack_amount,
    )
    assert facts == ("g", Sense.MAXIMIZE, 0, 0, 0, 0)
    assert solve(first).objective == pytest.approx(2 * 4 + 2 + 3)
    # The first aim gives up a quarter of 13, so that y may be 0 and x as small as that allows.
    assert solve(model).objective == pytest.approx((13 * 0.75 - 3) / 2)


def test_other_records_leave_the_rest_of_a_model() -> None:
    model = replace(flat(["x", "y"], ["r"]), name="plan", meaning="what it is for")
    changed = model.with_records(variables=[Variable("x"), Variable("y", 0, 4)])
    assert (changed.name, changed.meaning) == ("plan", "what it is for")
    assert (changed.row_records, changed.objective_record) == (model.row_records, model.objective_record)
    assert changed.variable("y").high == 4


def test_a_model_without_flat_names_has_those_of_its_members() -> None:
    model = group_by_names(flat(["x_1", "x_2"], ["cap_1", "cap_2"]))
    bare = model.without_flat_names()
    assert (model.flat_variable_names, model.flat_row_names) == (["x_1", "x_2"], ["cap_1", "cap_2"])
    assert (bare.flat_variable_names, bare.flat_row_names) == (model.column_names, model.row_names)
    assert bare.row_names[0] != "cap_1"


@pytest.mark.parametrize("figure", [np.inf, -np.inf, np.nan])
def test_a_figure_that_json_does_not_have_is_not_written(figure: float) -> None:
    model = transport()
    cells = model.cells.copy()
    cells[0] = figure
    with pytest.raises(ValueError, match="JSON"):
        to_json(replace(model, cells=cells))


def detailed() -> IndexedModel:
    """A model in which each part that JSON can hold differs from its default."""
    builder = IndexedModelBuilder("plan", "what it is for")
    builder.add_set("day", ["Mo", "Tu"], is_time=True, meaning="days")
    builder.add_set("place", ["b", "a"], is_ordered=True, is_guessed=True)
    builder.add_set("rest", ["p", "q"])
    source = SourceCell("data.xlsx", "Sheet 2", 3, 4)
    builder.add_parameter("need", ["day"], [1.5, 2], unit="t", meaning="demand", source=source)
    builder.add_parameter("cost", ["day", "place"], {("Tu", "a"): 2.0, ("Mo", "b"): 3.0})
    x = builder.add_variables(
        "x", ["day", "place"], keys=[("Tu", "b"), ("Mo", "a")], low=-2, high=builder.cells("need"), kind="integer",
        unit="t", meaning="amount", is_guessed=True,
    )  # fmt: skip
    y = builder.add_variables("y", ["rest"], low=[0, -np.inf], high=[1, np.inf])
    builder.add_rows(
        "r", ["day"], ">=", rows=[0, 1, 0], columns=[*x, y[0]], values=2, rhs=builder.cells("need"), unit="t"
    )
    builder.add_rows("e", relation="=", columns=[y[1]], rhs=3, meaning="why", is_guessed=True)
    builder.set_objective("o", "maximize", x, builder.cells("cost", [("Tu", "a"), ("Mo", "b")]), constant=1, unit="EUR")
    builder.set_objective("p", "minimize", y, weight=2, priority=3, meaning="second")
    model = builder.build()
    first, second = model.objectives
    return replace(
        model,
        objectives=(
            replace(first, quadratic=(QuadraticTerm(0, 2, 1.5),)),
            replace(second, slack=0.25, slack_amount=4.0),
        ),
        flat_columns=("x1", "x2", "y1", "y2"),
        flat_rows=("r1", "r2", "e1"),
        features=ModelFeatures(indicators=(Indicator("i", 0, False, {2: 1.0}, Relation.AT_MOST, 2.0),)),
        integer=np.array([True, True, False, False]),
        high=model.high.with_values(np.array([0]), 1.0),
        low=model.low.with_values(np.array([0]), 0.0),
    ).check()


def test_json_keeps_every_detail() -> None:
    model = detailed()
    again = from_json(to_json(model))
    assert to_json(again) == to_json(model)
    assert same_arrays(model, again)
    assert (again.name, again.meaning, again.sets) == (model.name, model.meaning, model.sets)
    for family, other in zip(model.families(), again.families(), strict=True):
        for name, value in vars(family).items():
            assert (
                np.array_equal(value, getattr(other, name))
                if isinstance(value, np.ndarray)
                else value == getattr(other, name)
            )
    for goal, other in zip(model.objectives, again.objectives, strict=True):
        facts_of = [{key: value for key, value in vars(part).items() if key != "cost"} for part in (goal, other)]
        assert facts_of[0] == facts_of[1]
        assert goal.cost.evaluate(model.cells).tolist() == other.cost.evaluate(again.cells).tolist()
    assert (again.features, again.flat_columns, again.flat_rows) == (
        model.features,
        model.flat_columns,
        model.flat_rows,
    )
    # Data stay data: another cell moves the same figures.
    cells = model.cells + np.arange(1.0, len(model.cells) + 1)
    moved = [replace(part, cells=cells) for part in (model, again)]
    assert same_arrays(*moved)
    assert not same_arrays(moved[0], model)


@pytest.mark.parametrize("key", ["name", "meaning", "features"])
def test_parts_of_json_that_may_be_left_out(key: str) -> None:
    data = json.loads(to_json(detailed()))
    del data[key]
    again = from_json(json.dumps(data))
    assert not getattr(again, key)
    data = json.loads(to_json(detailed()))
    for part in ("columns", "matrix"):
        del data[part]["names"]
    assert from_json(json.dumps(data)).flat_variable_names == detailed().column_names
    for part in (*data["sets"], *data["variables"], *data["rows"], *data["objectives"]):
        for optional in (
            "ordered",
            "time",
            "guessed",
            "meaning",
            "unit",
            "constant",
            "weight",
            "priority",
            "slack",
            "slack_amount",
        ):
            part.pop(optional, None)
    bare = from_json(json.dumps(data))
    assert not any(each.is_ordered or each.is_time or each.is_guessed or each.meaning for each in bare.sets)
    assert not any(family.is_guessed or family.unit or family.meaning for family in (*bare.variables, *bare.rows))
    facts_of = [(goal.constant, goal.weight, goal.priority, goal.slack, goal.slack_amount) for goal in bare.objectives]
    assert facts_of == [(0, 0, 0, 0, 0)] * 2


def test_rows_without_terms_are_kept_in_json() -> None:
    rows = [Row(name, terms, Relation.AT_MOST, 1.0) for name, terms in (("a", {}), ("b", {"x": 1.0}), ("c", {}))]
    model = IndexedModel.from_records([Variable("x")], rows, Objective(), Sense.MINIMIZE)
    assert facts(from_json(to_json(model))) == facts(model)
