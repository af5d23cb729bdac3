"""Indexed models: builder, data links, names, JSON."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.modelling import from_json, solve, to_json
from oragent.modelling.data.builder import IndexedModelBuilder, looks_ordered
from oragent.modelling.data.features import Indicator, ModelFeatures, QuadraticTerm
from oragent.modelling.data.flat_model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind
from oragent.modelling.data.names import FamilyCorrections, from_milp, split_brackets, to_milp
from oragent.modelling.files.indexed_files import read_indexed, write_indexed
from oragent.modelling.files.indexed_json import indexed_from_json, indexed_to_json
from oragent.modelling.files.model_files import read
from oragent.modelling.operations import ModelSession
from tests.modelling.indexed_models import transport
from tests.modelling.models import steel


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
    again = indexed_from_json(indexed_to_json(model))
    assert same_arrays(model, again)
    assert again.sets == model.sets
    assert indexed_to_json(again) == indexed_to_json(model)
    path = tmp_path / "model.json"
    write_indexed(model, path)
    assert solve(read(path)).objective == pytest.approx(solve(to_milp(model)).objective)
    assert read_indexed(path).row_names == model.row_names


def test_version_1_still_reads() -> None:
    model = indexed_from_json(to_json(steel()))
    assert to_milp(model) == steel()
    assert from_json(to_json(steel())) == steel()


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


def flat(names: list[str], rows: list[str] = ()) -> Milp:
    return Milp(
        tuple(Variable(name) for name in names),
        tuple(Row(name, {names[0]: 1.0}, Relation.AT_MOST, 4.0) for name in rows),
        Objective(dict.fromkeys(names, 1.0)),
        Sense.MINIMIZE,
    )


def test_one_consistent_separator_gives_families() -> None:
    names = [f"ship_{depot}_{city}_wk{week}" for depot in ("a", "b") for city in ("P", "Q", "R") for week in (1, 2, 10)]
    model = from_milp(flat([*names, "total"], ["cap_a", "cap_b", "one_more_row"]))
    by_name = {family.name: family for family in (*model.variables, *model.rows)}
    assert [len(by_name[name].sets) for name in ("ship", "total", "cap", "one_more_row")] == [3, 0, 1, 0]
    assert by_name["cap"].sets[0] == by_name["ship"].sets[0]
    week = model.index_set(by_name["ship"].sets[2])
    assert (week.name, week.labels, week.is_ordered, week.is_guessed) == ("wk", ("1", "2", "10"), True, True) or (
        week.labels == ("wk1", "wk2", "wk10") and week.is_ordered
    )
    assert [variable.name for variable in to_milp(model).variables] == [*names, "total"]


def test_corrections_rename_sets_and_choose_the_separator() -> None:
    names = ["x_a_1", "x_a_2", "x_b_1", "x_b_2"]
    assert [family.sets for family in from_milp(flat(names), FamilyCorrections(separator="")).variables] == [()] * 4
    guessed = from_milp(flat(names))
    first = guessed.variables[0].sets[0]
    corrected = from_milp(
        flat(names), FamilyCorrections.model_validate({"sets": {first: {"name": "day", "time": True}}})
    )
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


@pytest.mark.slow
@given(st.lists(st.text(min_size=1, max_size=8).filter(lambda text: text.strip()), min_size=1, max_size=8, unique=True))
def test_any_names_survive_families(names: list[str]) -> None:
    try:
        model = flat(names, names)
    except ModellingError:
        return
    assert to_milp(from_milp(model)) == model
    again = indexed_from_json(indexed_to_json(from_milp(model)))
    assert to_milp(again) == model
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
    milp = Milp(
        (binary, make),
        (),
        Objective({"on": -1.0, "make": 1.0}),
        Sense.MINIMIZE,
        features=ModelFeatures(indicators=(only,)),
    )
    assert ModelSession(from_milp(milp)).ask("whatif on = 1").objective.after.value == pytest.approx(3)
    square = ModelFeatures(quadratic=(QuadraticTerm("make", "make", 1.0),))
    asked = ModelSession(
        from_milp(replace(milp, variables=(replace(binary, kind="continuous"), make), features=square))
    )
    found = asked.ask("whatif make >= 2").objective
    assert (found.before.value, found.after.value) == (pytest.approx(-1), pytest.approx(5))
