"""Families and sets that are read from names: each form beside forms that are none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.modelling.data import names
from oragent.modelling.data.builder import IndexedModelBuilder, looks_ordered
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.data.names import FamilyCorrections, SetCorrection, group_by_names, split_brackets


def group(names: list[str], rows: list[str] = [], **corrections: object) -> IndexedModel:  # noqa: B006
    variables = [Variable(name) for name in names]
    records = [Row(name, {names[0]: 1.0}, Relation.AT_LEAST, float(at)) for at, name in enumerate(rows)]
    model = IndexedModel.from_records(variables, records, Objective(), Sense.MINIMIZE)
    return group_by_names(model, FamilyCorrections(**corrections))


def members(model: IndexedModel, kind: str = "variables") -> dict[str, list[tuple[str, ...]]]:
    """The labels of each family's members, in the order of their positions."""
    families = getattr(model, kind)
    return {family.name: [model.labels_of(family, at) for at in range(len(family))] for family in families}


def sets(model: IndexedModel) -> dict[str, tuple[tuple[str, ...], bool, bool]]:
    return {each.name: (each.labels, each.is_ordered, each.is_guessed) for each in model.sets}


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("x[a,b]", ("x", ("a", "b"))),
        ("x(a,b)", ("x", ("a", "b"))),
        ("x{a}", ("x", ("a",))),
        ("x[a][b]", ("x", ("a", "b"))),
        ("x_[a]", ("x", ("a",))),
        ("x['a', \"b\"]", ("x", ("a", "b"))),
        ("x[ a , b ]", ("x", ("a", "b"))),
        ("x[_a_]", ("x", ("a",))),
        ("two words [a]", ("two words", ("a",))),
        ("x", None),
        ("[a]", None),
        (" [a]", None),
        ("x[]", None),
        ("x[a,]", None),
        ("x[,a]", None),
        ("x[a]b", None),
    ],
)
def test_labels_in_brackets(name: str, parts: tuple | None) -> None:
    assert split_brackets(name) == parts


@given(st.text("aß1_. ", max_size=4), st.text("b2²_,. '", max_size=7))
def test_the_kind_of_brackets_changes_no_label(stem: str, inside: str) -> None:
    assert split_brackets(f"{stem}[{inside}]") == split_brackets(f"{stem}({inside})")


# Names of variables, and the labels of the members of each family.
NAMES = [
    (["x_a", "x_b", "y"], {"x": [("a",), ("b",)], "y": [()]}),
    (["x_a_1", "x_b_2"], {"x": [("a", "1"), ("b", "2")]}),
    (["x_a_1", "x_a_2"], {"x_a": [("1",), ("2",)]}),
    (["x_a_b_1", "x_a_b_2"], {"x_a_b": [("1",), ("2",)]}),
    (["x_a_1", "x_a_2", "x_b_1"], {"x": [("a", "1"), ("a", "2"), ("b", "1")]}),
    (["x_a", "x_b_c"], {"x_a": [()], "x_b_c": [()]}),
    (["x_a", "y_b"], {"x_a": [()], "y_b": [()]}),
    (["x_a", "x_"], {"x_a": [()], "x_": [()]}),
    (["x__a", "x__b"], {"x__a": [()], "x__b": [()]}),
    (["_a", "_b"], {"_a": [()], "_b": [()]}),
    (["x.a", "x.b", "y_c"], {"x": [("a",), ("b",)], "y_c": [()]}),
    (["x#1", "x#2"], {"x": [("1",), ("2",)]}),
    (["x-a-b", "x-c-d"], {"x": [("a", "b"), ("c", "d")]}),
    (["x[a]", "x[b]", "x"], {"x": [("a",), ("b",)], "x2": [()]}),
    (["x[a]", "x[a,b]"], {"x": [("a",)], "x2": [("a", "b")]}),
    (["x[a]", "x(a)"], {"x": [("a", "1"), ("a", "2")]}),
    (["b[1]", "a[1]", "b[2]"], {"b": [("1",), ("2",)], "a": [("1",)]}),
]


@pytest.mark.parametrize(("names", "expected"), NAMES, ids=[" ".join(names) for names, _ in NAMES])
def test_families_of_names(names: list[str], expected: dict) -> None:
    model = group(names)
    assert members(model) == expected
    assert list(members(model)) == list(expected)
    assert model.flat_variable_names == names
    assert {family.name: family.is_guessed for family in model.variables} == {
        name: bool(labels[0]) for name, labels in expected.items()
    }


# Names, and the labels, order and guess of each set.
SETS = [
    (["x[a]", "x[b]", "y[b]"], {"set1": (("a", "b"), False, True)}),
    (["y[b]", "x[b]", "x[a]"], {"set1": (("b", "a"), False, True)}),
    (["x[a]", "y[b]"], {"set1": (("a",), False, True), "set2": (("b",), False, True)}),
    (["x[a,b]", "x[b,a]", "x[a,a]"], {"set1": (("a", "b"), False, True)}),
    (["x[1]", "x[2]", "y[1]"], {"set1": (("1", "2"), True, True), "set2": (("1",), False, True)}),
    (["x[1]", "x[2]", "y[2]", "y[1]"], {"set1": (("1", "2"), True, True)}),
    (["x[2]", "x[10]", "x[1]"], {"set1": (("1", "2", "10"), True, True)}),
    (["x[wk2]", "x[wk10]", "x[wk1]"], {"wk": (("wk1", "wk2", "wk10"), True, True)}),
    (["x[wk_2]", "x[wk_1]"], {"wk": (("wk_1", "wk_2"), True, True)}),
    (["x[wk2]", "x[day1]"], {"set1": (("wk2", "day1"), False, True)}),
    (["x[wk2]", "x[a]"], {"set1": (("wk2", "a"), False, True)}),
    (["x[wk1]", "x[wk2]", "y[wk3]"], {"wk": (("wk1", "wk2"), True, True), "wk2": (("wk3",), False, True)}),
    (["x[a,1]", "x[b,2]"], {"set1": (("a", "b"), False, True), "set2": (("1", "2"), True, True)}),
    (["x[a]", "x[1]", "y[1]", "y[a]", "y[c]"], {"set1": (("1", "a", "c"), False, True)}),
    (["x[a]", "y[a]", "y[2]", "z[2]"], {"set1": (("a", "2"), False, True), "set2": (("2",), False, True)}),
]


@pytest.mark.parametrize(("names", "expected"), SETS, ids=[" ".join(names) for names, _ in SETS])
def test_sets_of_labels(names: list[str], expected: dict) -> None:
    assert sets(group(names)) == expected


@pytest.mark.parametrize(
    ("labels", "is_ordered"),
    [
        (["1", "2", "10"], True), (["wk1", "wk2"], True), (["1", "3", "2"], False), (["3", "1", "2"], False), (["wk1", "wk3"], True), (["1"], False), ([], False),
        (["2", "1"], False), (["1", "1"], False), (["wk1", "day2"], False), (["a", "b"], False), (["wk1", "b"], False),
    ],
)  # fmt: skip
def test_labels_are_ordered_if_their_numbers_rise(labels: list[str], is_ordered: bool) -> None:
    assert looks_ordered(labels) is is_ordered


def test_the_separator_may_be_chosen() -> None:
    names = ["x_a.b", "x_c.d"]
    assert members(group(names, separator=".")) == {"x_a.b": [()], "x_c.d": [()]}
    assert members(group(names, separator="_")) == {"x": [("a.b",), ("c.d",)]}
    assert members(group(["x_a", "x_b"], separator="")) == {"x_a": [()], "x_b": [()]}
    assert members(group(["x_a.b", "x_c"])) == {"x": [("a.b",), ("c",)]}


def test_corrections_of_sets() -> None:
    names, text = ["x[a]", "x[b]"], "letter"
    assert sets(group(names, sets={"set1": text})) == {"letter": (("a", "b"), False, False)}
    for ordered, time, expected in (
        (None, False, False),
        (None, True, True),
        (True, False, True),
        (False, True, False),
    ):
        correction = SetCorrection(name=text, ordered=ordered, time=time)
        (found,) = group(names, sets={"set1": correction}).sets
        assert (found.name, found.is_ordered, found.is_time, found.is_guessed) == (text, expected, time, False)
    (found,) = group(["x[1]", "x[2]"], sets={"set1": SetCorrection(name="n")}).sets
    assert found.is_ordered
    with pytest.raises(ModellingError):
        group(["x[a]", "y[b]"], sets={"set1": "set2"})


def test_patterns_name_the_sets_of_their_labels() -> None:
    names = ["ship Lyon to wk2", "ship Nice to wk1", "open Lyon", "idle"]
    model = group(names, variables=["ship {town} to {week}", "open {town}"])
    assert members(model) == {
        "ship": [("Lyon", "wk2"), ("Nice", "wk1")],
        "open": [("Lyon",)],
        "idle": [()],
    }
    assert sets(model) == {"town": (("Lyon", "Nice"), False, False), "week": (("wk1", "wk2"), True, False)}
    model = group(["a: x", "a: y", "b: x"], variables=["{name}: {of}"])
    assert members(model) == {"a": [("x",), ("y",)], "b": [("x",)]}


PYOMO = ["c_e_balance(Lyon_wk1)_", "c_e_balance(Nice_wk2)_"]


def test_rows_of_pyomo_have_joined_labels() -> None:
    model = group(["ship(Lyon_wk1)", "ship(Nice_wk2)"], [*PYOMO, "c_u_cap_"])
    assert members(model, "rows") == {"balance": [("Lyon", "wk1"), ("Nice", "wk2")], "cap": [()]}
    assert members(model) == {"ship": [("Lyon", "wk1"), ("Nice", "wk2")]}
    assert model.flat_row_names == [*PYOMO, "c_u_cap_"]
    # With a row of another form, no row is one of Pyomo.
    other = group(["ship(Lyon_wk1)", "ship(Nice_wk2)"], [*PYOMO, "cap"])
    assert members(other) == {"ship": [("Lyon_wk1",), ("Nice_wk2",)]}
    # Nor without rows.
    assert members(group(["ship(Lyon_wk1)", "ship(Nice_wk2)"])) == {"ship": [("Lyon_wk1",), ("Nice_wk2",)]}


def test_single_labels_of_pyomo_need_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"c_u_cap({number})_" for number in range(5)]
    variables = [f"x({number})" for number in range(5)]
    # A search of each name takes several times as long as all else.
    monkeypatch.setattr(names, "_NameSplitter", None)
    model = group(variables, rows)
    labels = [(str(number),) for number in range(5)]
    assert (members(model), members(model, "rows")) == ({"x": labels}, {"cap": labels})


def test_units_and_meanings_of_a_family_are_those_that_its_members_share() -> None:
    variables = [
        Variable("x[a]", unit="t", meaning="first"),
        Variable("x[b]", unit="t", meaning="second"),
        Variable("y[a]", unit="t", meaning="same"),
        Variable("y[b]", unit="kg", meaning="same"),
    ]
    model = group_by_names(IndexedModel.from_records(variables, [], Objective(), Sense.MINIMIZE))
    assert [(family.name, family.unit, family.meaning) for family in model.variables] == [
        ("x", "t", ""),
        ("y", "", "same"),
    ]


def test_names_of_a_program_stay_the_flat_names() -> None:
    builder = IndexedModelBuilder()
    columns = [int(builder.add_variables(name)[0]) for name in ("ship_a", "ship_b")]
    for name in ("cap_a", "cap_b"):
        builder.add_rows(name, columns=columns)
    model = builder.build()
    assert (model.flat_columns, model.flat_rows) == ((), ())
    names = model.flat_variable_names, model.flat_row_names
    grouped = group_by_names(model)
    assert (members(grouped), members(grouped, "rows")) == ({"ship": [("a",), ("b",)]}, {"cap": [("a",), ("b",)]})
    assert (grouped.flat_variable_names, grouped.flat_row_names) == names


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 2), st.integers(0, 9)), unique=True, min_size=1))
def test_members_are_grouped_whatever_stands_between_them(members: list[tuple[str, int, int]]) -> None:
    flat = [f"{stem}[{','.join([str(label)] * count)}]" for stem, count, label in members]
    groups = names._group_names(flat, None, ())
    assert len(groups) == len({(stem, count) for stem, count, _ in members})
    assert sorted(position for group in groups for position in group.positions) == list(range(len(flat)))
    for group in groups:
        assert group.positions == sorted(group.positions)
        for labels, position in zip(group.labels, group.positions, strict=True):
            stem, count, label = members[position]
            assert (group.name.startswith(stem), labels) == (True, (str(label),) * count)
