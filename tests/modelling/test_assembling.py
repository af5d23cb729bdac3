"""Models assembled from what recorders write: families, sets, rows with two limits, and data by links and by value."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.capture import matching as matching_module
from oragent.modelling.capture.assembling import AssembledModel, assemble
from oragent.modelling.capture.families import SetPool, group_members
from oragent.modelling.capture.reading import read_model
from oragent.modelling.capture.snapshot import DataTable, Snapshot
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_values import MAX_FIGURE, NO_BOUND
from oragent.modelling.operations import ModelSession

INF = float("inf")
CITIES, WEEKS = ("Paris", "Nice", "Lyon"), ("w1", "w2")
PAIRS = [(city, week) for city in CITIES for week in WEEKS]
DEMAND = dict(zip(PAIRS, [5.0, 7, 2, 9, 4, 1], strict=True))
COST = dict(zip(CITIES, [3.0, 8, 6], strict=True))
Key = tuple[str, tuple[str, ...]]


def key(family: str, *labels: str, source: str = "container") -> tuple[str, list[str], str]:
    return family, list(labels), source


def table(name: str, cells: dict, **options: Any) -> DataTable:
    keys = [list(label) if isinstance(label, tuple) else [label] for label in cells]
    return DataTable(name, keys, list(map(float, cells.values())), **options)


def snapshot(*tables: DataTable, scale: float = 1.0, **parts: Any) -> Snapshot:
    """Deliveries by city and week, of which each row takes one: at least the demand."""
    made = Snapshot("test 1", name="plan", **parts)
    for city, week in PAIRS:
        made.add_column(f"ship_{city}_{week}", 0.0, 10.0, False, COST[city])
        made.column_keys.append(key("ship", city, week))
    for column, pair in enumerate(PAIRS):
        made.add_row(f"need_{column}", {column: scale}, scale * DEMAND[pair], INF)
        made.row_keys.append(key("need", *pair))
    made.sets = {"CITIES": list(CITIES), "WEEKS": list(WEEKS)}
    made.tables = list(tables)
    return made


def assembled(made: Snapshot) -> AssembledModel:
    return assemble(read_model(made.to_text().encode()))


def families(model: IndexedModel) -> dict[str, dict[str, tuple[str, ...]]]:
    parts = {"variables": model.variables, "rows": model.rows, "data": model.parameters}
    return {kind: {family.name: family.sets for family in every} for kind, every in parts.items()}


def optimum(made: Snapshot, *lines: str) -> float:
    session = ModelSession(assembled(made).model)
    session.run(list(lines))
    return session.ask("solve").objective.value


LEAST = sum(COST[city] * DEMAND[city, week] for city, week in PAIRS)


def test_only_rows_lose_counters_beside_their_labels() -> None:
    made = snapshot()
    for keys in (made.column_keys, made.row_keys):
        for at, (city, week) in enumerate(PAIRS):
            keys[at] = key(keys[at][0], str(at), f"{city} {week}")
    model = assembled(made).model
    assert [len(family.sets) for family in (*model.variables, *model.rows)] == [2, 1]


@pytest.mark.parametrize("scale", [1.0, -1.0])
def test_data_with_the_values_of_a_family_are_its_figures(scale: float) -> None:
    demand = table("demand", DEMAND)
    made = snapshot(demand, table("cost", COST), scale=1.0)
    result = assembled(made)
    assert families(result.model) == {
        "variables": {"ship": ("CITIES", "WEEKS")},
        "rows": {"need": ("CITIES", "WEEKS")},
        "data": {"demand": ("CITIES", "WEEKS"), "cost": ("CITIES",)},
    }
    assert result.matched == ("demand", "cost")
    assert all(family.is_guessed for family in result.model.parameters)
    assert optimum(made) == pytest.approx(LEAST)
    assert optimum(made, "demand[Nice, w2] += 1") == pytest.approx(LEAST + COST["Nice"])
    assert optimum(made, "demand *= 0.5") == pytest.approx(LEAST / 2)
    assert optimum(made, "cost[Lyon] = 1") == pytest.approx(LEAST - 5 * (DEMAND["Lyon", "w1"] + DEMAND["Lyon", "w2"]))
    # Data in the opposite sign.
    mirrored = snapshot(table("loss", {pair: -value for pair, value in DEMAND.items()}))
    assert optimum(mirrored, "loss[Nice, w2] -= 1") == pytest.approx(LEAST + COST["Nice"])


TABLES: list[tuple[str, list[DataTable], set[str]]] = [
    ("other values", [table("d", {**DEMAND, ("Nice", "w1"): 3.0})], set()),
    ("a cell less", [table("d", dict(list(DEMAND.items())[1:]))], set()),
    ("a cell less, and all cells", [table("d", dict(list(DEMAND.items())[1:])), table("e", DEMAND)], {"e"}),
    ("rounded", [table("d", {pair: value * (1 + 1e-14) for pair, value in DEMAND.items()})], {"d"}),
    ("nearly equal", [table("d", {pair: value * (1 + 1e-9) for pair, value in DEMAND.items()})], set()),
    ("a cell more", [table("d", {**DEMAND, ("Nice", "w3"): 3.0})], set()),
    ("more keys of the sets", [table("c", {**COST, "Nantes": 5.0})], set()),
    ("other keys", [table("d", {(week, city): value for (city, week), value in DEMAND.items()})], {"d"}),
    ("two equal tables", [table("d", DEMAND), table("e", DEMAND)], {"d"}),
    ("two tables that differ elsewhere", [table("d", COST), table("e", {**COST, "Paris": 3.0})], {"d"}),
    (
        "two tables that differ in a cell without a figure",
        [table("c", {**COST, "Nantes": 5.0}), table("e", {**COST, "Nantes": 6.0})],
        set(),
    ),
    ("one key twice", [DataTable("c", [["Paris"], ["Paris"], ["Nice"], ["Lyon"]], [3.0, 3, 8, 6])], set()),
    ("keys of two lengths", [DataTable("c", [["Paris"], ["Nice"], ["Lyon"], []], [3.0, 8, 6, 1])], set()),
    ("infinite", [table("c", {**COST, "Lyon": INF})], set()),
    ("no keys", [DataTable("c", [], [])], set()),
    ("same name", [table("c", COST), table("c", DEMAND)], {"c"}),
    ("infinite, and others", [table("c", {**COST, "Lyon": INF}, sets=["CITIES"]), table("d", DEMAND)], {"d"}),
    ("same name, and others", [table("c", COST), table("c", DEMAND), table("e", COST, sets=["CITIES"])], {"c", "e"}),
]


@pytest.mark.parametrize(("tables", "names"), [row[1:] for row in TABLES], ids=[row[0] for row in TABLES])
def test_only_a_table_with_all_values_under_the_same_keys_is_data(tables: list[DataTable], names: set[str]) -> None:
    model = assembled(snapshot(*tables)).model
    assert {family.name for family in model.parameters} == names
    np.testing.assert_allclose(model.rhs_values, list(DEMAND.values()))
    np.testing.assert_allclose(model.to_arrays().cost, [COST[city] for city, _ in PAIRS])


def test_figures_that_are_all_alike_match_no_table() -> None:
    made = snapshot(table("cap", dict.fromkeys(PAIRS, 10.0)), table("one", dict.fromkeys(CITIES, 1.0)))
    assert not assembled(made).model.parameters
    # Two different values are enough.
    made.high[0] = 12.0
    made.tables[0].values[0] = 12.0
    model = assembled(made).model
    assert [family.name for family in model.parameters] == ["cap"]
    assert optimum(made, "cap[Paris, w1] = 4", "need(ship) *= 1", "drop need[Paris, w1]") == pytest.approx(
        LEAST - COST["Paris"] * DEMAND["Paris", "w1"]
    )


def test_figures_match_no_table_where_two_tables_or_zeros_would_do() -> None:
    # Only two of the cities have a column, so that the third cell of a table has no figure.
    fixed = {"Paris": 3.0, "Nice": 9.0}
    first = table("first", {**fixed, "Lyon": 1.0})
    for other, names in (
        (table("other", {**fixed, "Lyon": 1.0}), ["first"]),
        (table("other", {**fixed, "Lyon": 2.0}), []),
        (table("other", {"Nice": 9.0, "Paris": 3.0, "Lyon": 1.0}), []),
    ):
        made = snapshot(first, other)
        for city, value in fixed.items():
            made.add_column(f"open_{city}", 0.0, 1.0, False, value)
            made.column_keys.append(key("open", city))
        assert [family.name for family in assembled(made).model.parameters] == names
    made = snapshot(table("d", {**DEMAND, PAIRS[0]: 0.0}))
    made.row_low[0] = 1e-9
    assert not assembled(made).model.parameters


def test_coefficients_of_rows_are_data_by_the_labels_of_both() -> None:
    use = {"a": 2.0, "b": 5.0}
    rate = {("a", "m"): 1.5, ("a", "n"): 2.5, ("b", "m"): 3.5, ("b", "n"): 4.5}
    made = Snapshot("test 1", maximize=True)
    for label in use:
        made.add_column(f"x_{label}", 0.0, INF, False, 1.0)
        made.column_keys.append(key("x", label))
    for machine in ("m", "n"):
        made.add_row(f"time_{machine}", {at: rate[label, machine] for at, label in enumerate(use)}, -INF, 9.0)
        made.row_keys.append(key("time", machine))
    made.add_row("store", dict(enumerate(use.values())), -INF, 10.0)
    made.row_keys.append(None)
    made.sets = {"ITEMS": list(use), "MACHINES": ["m", "n"]}
    made.tables = [table("use", use), table("rate", rate)]
    model = assembled(made).model
    assert families(model) == {
        "variables": {"x": ("ITEMS",)},
        "rows": {"time": ("MACHINES",), "store": ()},
        "data": {"use": ("ITEMS",), "rate": ("ITEMS", "MACHINES")},
    }
    cells = model.cells.copy()
    cells[model.parameters[1].positions[2]] = 30.0
    assert replace(model, cells=cells).matrix.to_dense().tolist() == [[1.5, 30.0], [2.5, 4.5], [2.0, 5.0]]
    cells[model.parameters[0].positions[0]] = 7.0
    assert replace(model, cells=cells).matrix.to_dense().tolist()[2] == [7.0, 5.0]


def test_coefficients_of_many_families_are_compared_one_family_at_a_time() -> None:
    made = Snapshot("test 1")
    weight = {"a": 2.0, "b": 5.0}
    for family in ("x", "y"):
        for label in weight:
            made.add_column(f"{family}_{label}", 0.0, 1.0, False, 1.0)
            made.column_keys.append(key(family, label))
    # Each of four families of rows has both families of columns; only one pair has the weights.
    for number in range(4):
        for at, label in enumerate(weight):
            own = weight[label] if number == 3 else 7.0 + at
            made.add_row(f"r{number}_{label}", {at: own, 2 + at: 3.0 + at + number}, 0.0, INF)
            made.row_keys.append(key(f"r{number}", label))
    made.sets = {"ITEMS": list(weight)}
    made.tables = [table("weight", weight)]
    model = assembled(made).model
    assert [family.name for family in model.parameters] == ["weight"]
    cells = np.array([20.0, 50.0])
    before, after = model.matrix.to_dense(), replace(model, cells=cells).matrix.to_dense()
    changed = np.argwhere(before != after)
    assert changed.tolist() == [[6, 0], [7, 1]]
    assert after[[6, 7], [0, 1]].tolist() == [20.0, 50.0]


def test_figures_that_the_library_links_follow_its_data_and_no_others() -> None:
    data = table("price", {"p": 4.0, "q": 10.0}, is_linked=True)
    made = snapshot(data, table("cost", COST))
    # Costs of the columns of Paris are 3 = 0.5 * 4 + 1; the right-hand side of the first row is half of 10.
    for place in (0, 1):
        made.links.add("cost", place, 0, 0, 0.5)
    made.links.add("rhs", 0, 0, 1, 0.5)
    made.links.add("entry", 2, 0, 0, 0.25)
    made.links.add("low", 3, 0, 0, 0.0)
    # Places, tables and cells that do not exist.
    for target, place, number, cell in (("cost", 9, 0, 0), ("cost", -1, 0, 0), ("cost", 1, 3, 0), ("cost", 1, 0, 2)):
        made.links.add(target, place, number, cell, 1.0)
    made.links.add("rhs", 1, 0, -1, 1.0)
    made.sets["KINDS"] = ["p", "q"]
    made.tables[0].sets = ["KINDS"]
    made.family_sets["variables"] = {}
    # The table's set must be used, so that a column has it.
    made.add_column("extra", 0.0, 1.0, False)
    made.column_keys.append(key("kind", "p"))
    made.add_column("extra2", 0.0, 1.0, False)
    made.column_keys.append(key("kind", "q"))
    model = assembled(made).model
    assert [(family.name, family.is_guessed) for family in model.parameters] == [("price", False)]
    cells = model.cells.copy()
    cells[:] = [6.0, 20.0]
    changed = replace(model, cells=cells)
    arrays = changed.to_arrays()
    assert arrays.cost.tolist() == [4.0, 4.0, 8.0, 8.0, 6.0, 6.0, 0.0, 0.0]
    assert changed.rhs_values.tolist() == [10.0, 7.0, 2.0, 9.0, 4.0, 1.0]
    assert np.diag(changed.matrix.to_dense()).tolist() == [1.0, 1.0, 1.5, 1.0, 1.0, 1.0]
    assert model.to_arrays().cost.tolist() == [3.0, 3.0, 8.0, 8.0, 6.0, 6.0, 0.0, 0.0]


def test_bounds_alone_may_follow_data_and_rounding_adds_no_figure() -> None:
    made = snapshot(table("room", {"p": 3e5, "q": 7.0}, sets=["KINDS"], is_linked=True))
    made.sets["KINDS"] = ["p", "q"]
    for label in "pq":
        made.add_column(f"kind_{label}", 0.0, 1.0, False)
        made.column_keys.append(key("kind", label))
    made.high[0] = 3e5 + 6e-11
    assert made.high[0] != 3e5
    made.high[1] = 3e5 + 1e-3
    for place in (0, 1):
        made.links.add("high", place, 0, 0, 1.0)
    model = assembled(made).model
    assert model.high.base[:2].tolist() == [0.0, made.high[1] - 3e5]
    assert replace(model, cells=np.array([10.0, 7.0])).to_arrays().high[0] == 10.0


def test_a_row_with_two_limits_is_two_rows_and_one_without_is_none() -> None:
    made = snapshot(table("demand", DEMAND))
    made.row_high[1], made.row_high[4] = 20.0, 30.0
    made.row_low[2] = -INF
    made.row_low[3] = made.row_high[3] = 9.0
    made.row_low[5], made.row_high[5] = -INF, 6.0
    made.tables.append(table("price", {"p": 2.0, "q": 3.0}, sets=["KINDS"], is_linked=True))
    made.sets |= {"KINDS": ["p", "q"], "TOWNS": list(CITIES)}
    made.family_sets["rows"] = {"need": ["TOWNS", "WEEKS"]}
    for label in "pq":
        made.add_column(f"kind_{label}", 0.0, 1.0, False)
        made.column_keys.append(key("kind", label))
    # Links of rows: two limits, none, one limit, and rows that do not exist.
    for place, factor in ((1, 8.0), (2, 9.0), (0, 1.0), (5, 1.0), (-1, 7.0), (6, 7.0)):
        made.links.add("rhs", place, 1, 0, factor)
        made.links.add("entry", place, 1, 1, factor)
    # One limit of a row: of two, of one, of none, and of rows that do not exist.
    for place, factor in ((4, 2.0), (0, 1e3), (2, 1e4), (-1, 1e5), (6, 1e5)):
        made.links.add("row_low", place, 1, 0, factor)
        made.links.add("row_high", place, 1, 0, -factor)
    # Links of columns stay where they are.
    for place in range(6):
        made.links.add("cost", place, 1, 0, 1.0)
    read = read_model(made.to_text().encode())
    model = assemble(read).model
    relations = ["<=", "=", ">="]
    rows = {
        name: (relations[1 + int(model.relations[at])], float(model.rhs_values[at]))
        for at, name in enumerate(model.flat_rows)
    }
    assert rows == {
        "need_0": (">=", 5.0),
        "need_1": (">=", 7.0),
        "need_3": ("=", 9.0),
        "need_4": (">=", 4.0),
        "need_5": ("<=", 6.0),
        "need_1_upper": ("<=", 20.0),
        "need_4_upper": ("<=", 30.0),
    }
    names = {family.name: [model.labels_of(family, at) for at in range(len(family))] for family in model.rows}
    # Other sets with the same labels are not those of the library.
    assert {family.name: family.sets for family in model.rows} == dict.fromkeys(names, ("TOWNS", "WEEKS"))
    assert names == {
        "need": [PAIRS[at] for at in (0, 1, 3, 4, 5)],
        "need_upper": [PAIRS[1], PAIRS[4]],
    }
    dense = model.matrix.to_dense()
    assert [np.flatnonzero(line).tolist() for line in dense] == [[0], [1], [1], [3], [4], [4], [5]]
    cells = model.cells.copy()
    cells[-2:] = [12.0, 13.0]
    changed = replace(model, cells=cells)
    # Both rows of a row with two limits follow a figure of the row, and one of them that of its limit.
    assert changed.rhs_values.tolist() == [15.0, 87.0, 100.0, 9.0, 24.0, 10.0, 16.0]
    assert changed.matrix.to_dense()[[0, 1, 6, 2], [0, 1, 5, 1]].tolist() == [11.0, 81.0, 11.0, 81.0]
    assert (changed.to_arrays().cost - model.to_arrays().cost).tolist() == [10.0] * 6 + [0.0] * 2


def test_huge_bounds_are_none_and_huge_figures_are_refused() -> None:
    made = snapshot()
    made.high[0], made.low[1], made.high[2] = 1e31, -1e31, 1e29
    made.row_high[0] = 1e31
    model = assembled(made).model
    arrays = model.to_arrays()
    assert (arrays.high[0], arrays.low[1]) == (INF, -INF)
    assert arrays.high[2] in (1e29, INF)
    assert len(model.relations) == 6
    for value in (MAX_FIGURE, -MAX_FIGURE):
        largest = snapshot(constant=value)
        largest.cost[0] = largest.values[1] = value
        assert assembled(largest).model.to_arrays().cost[0] == value
    for value, end in ((NO_BOUND, INF), (NO_BOUND / 2, NO_BOUND / 2)):
        bounded = snapshot()
        bounded.high[0], bounded.low[0] = value, -value
        arrays = assembled(bounded).model.to_arrays()
        assert (arrays.low[0], arrays.high[0]) == (-end, end)
    for name, place, value in (
        ("cost", 0, 2 * MAX_FIGURE), ("values", 0, -1e31), ("row_low", 0, INF), ("row_low", 0, NO_BOUND), ("row_high", 0, -NO_BOUND),
    ):  # fmt: skip
        wrong = snapshot()
        getattr(wrong, name)[place] = value
        with pytest.raises(ModellingError):
            assembled(wrong)
    wrong = snapshot()
    wrong.row_low[0], wrong.row_high[0] = -INF, -1e31
    with pytest.raises(ModellingError):
        assembled(wrong)
    wrong = snapshot()
    wrong.constant = 1e31
    with pytest.raises(ModellingError):
        assembled(wrong)
    for empty in (Snapshot("test 1"), snapshot(missing=["a part"])):
        with pytest.raises(ModellingError):
            assembled(empty)


@pytest.mark.parametrize(("name", "shown"), [("", "objective"), ("obj", "objective"), ("cost", "cost")])
def test_the_objective_has_its_name_sense_constant_and_unit(name: str, shown: str) -> None:
    made = snapshot(maximize=True, constant=2.5, objective=name)
    made.units = {"ship": "t", "objective": "EUR"}
    model = assembled(made).model
    goal = model.objective
    assert (goal.name, str(goal.sense), goal.constant, goal.unit) == (shown, "maximize", 2.5, "EUR")
    assert [family.unit for family in model.variables] == ["t"]
    assert optimum(made) == pytest.approx(2.5 + 10 * 2 * sum(COST.values()))
    made.add_feature("goals", name=shown, terms={0: 1.0}, sense="minimize", weight=0.0)
    assert assembled(made).model.objectives[0].name == "objective"


def test_names_of_the_program_stay_only_if_each_is_there_and_different() -> None:
    made = snapshot()
    assert assembled(made).model.flat_columns == tuple(made.columns)
    for name in ("", made.columns[1]):
        other = snapshot()
        other.columns[0] = name
        assert assembled(other).model.flat_columns == ()
        assert assembled(other).model.flat_rows == tuple(other.rows)


def groups(names: list[str], keys: list, sets: dict | None = None, counters: bool = False) -> list[tuple]:
    made = group_members(names, keys, sets or {}, "row", drops_counters=counters)
    return [(group.name, group.labels, group.positions, group.sets, group.is_guessed) for group in made]


def test_members_with_equal_keys_or_names_are_told_apart() -> None:
    assert groups(["a", "", "b"], [None, None, key("f", "x")]) == [
        ("a", [()], [0], (), False),
        ("row2", [()], [1], (), False),
        ("f", [("x",)], [2], (), False),
    ]
    # Two members of one key are numbered, and the family's sets no longer fit.
    assert groups(["", "", ""], [key("f", "x"), key("f", "y"), key("f", "x")], {"f": ("S",)}) == [
        ("f", [("x", "1"), ("y", "2"), ("x", "3")], [0, 1, 2], (), True)
    ]
    # Families with other numbers of labels are others, with names that are free.
    twice = groups(
        [""] * 4, [key("f", "x"), key("f", "x", "y"), key("f", "x", "y", "z"), key("f_2", "x")], {"f": ("S",)}
    )
    assert [(entry[0], entry[1], entry[3]) for entry in twice] == [
        ("f", [("x",)], ("S",)),
        ("f_3", [("x", "y")], ()),
        ("f_4", [("x", "y", "z")], ()),
        ("f_2", [("x",)], ()),
    ]
    for source, guessed in (("names", True), ("loops", True), ("container", False), ("framework", False)):
        assert groups([""], [key("f", "x", source=source)])[0][4] == guessed
    assert groups(["", ""], [key("f", "x", source="loops"), key("f", "y")])[0][4]
    made = snapshot()
    made.column_keys[0] = key("ship", *PAIRS[0], source="loops")
    model = assembled(made).model
    assert [family.is_guessed for family in (*model.variables, *model.rows)] == [True, False]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([("0", "a"), ("1", "b")], [("a",), ("b",)]),
        ([("0", "a"), ("1", "2")], [("a",), ("2",)]),
        ([("a", "0"), ("b", "1")], [("a",), ("b",)]),
        ([("0", "a"), ("0", "b")], [("0", "a"), ("0", "b")]),
        ([("0", "a"), ("1", "a")], [("0", "a"), ("1", "a")]),
        ([("0", "a"), ("0", "a"), ("1", "b")], [("a", "1"), ("a", "2"), ("b", "3")]),
        ([("0", "1"), ("1", "2")], [("0", "1"), ("1", "2")]),
        ([("0", "a", "k"), ("1", "b", "k"), ("1", "b", "l")], [("a", "k"), ("b", "k"), ("b", "l")]),
        ([("0", "a")], [("0", "a")]),
        ([("0", "a"), ("1", "b"), ("2", "b")], [("0", "a"), ("1", "b"), ("2", "b")]),
    ],
)
def test_a_counter_beside_a_label_that_says_the_same_is_dropped(labels: list, expected: list) -> None:
    keys = [key("f", *label) for label in labels]
    names = [""] * len(keys)
    assert groups(names, keys, counters=True)[0][1] == expected
    if len(set(labels)) == len(labels):
        assert groups(names, keys)[0][1] == labels
        sets = {"f": tuple("ST"[: len(labels[0])])} if len(labels[0]) == 2 else {}
        if sets:
            assert groups(names, keys, sets, counters=True)[0][1] == labels


def pool_of(
    sets: dict[str, list[str]], *families: tuple[str, list[tuple[str, ...]]], given: dict | None = None
) -> tuple:
    """Sets of each family, and all used sets with their labels."""
    made = Snapshot("test 1")
    made.sets = sets
    read = read_model(made.to_text().encode())
    keys = [key(name, *label) for name, labels in families for label in labels]
    group_list = group_members([""] * len(keys), keys, given or {}, "x")
    pool = SetPool(read)
    pool.resolve(group_list)
    return {group.name: group.sets for group in group_list}, pool


def test_the_sets_of_a_family_are_those_of_the_library_then_equal_ones_then_larger_ones() -> None:
    sets = {"S": ["a", "b", "c"], "T": ["a", "b"], "U": ["c", "b", "a"], "V": ["k", "k"], "N": ["1", "2", "3", "4"]}
    names, pool = pool_of(
        sets,
        ("equal", [("a",), ("b",), ("c",)]),
        ("part", [("b",), ("c",)]),
        ("single", [("c",)]),
        ("new", [("k",), ("l",)]),
        ("pairs", [("a", "k"), ("b", "m")]),
        ("library", [("b",), ("a",)]),
        ("all", [("a",), ("b",), ("c",)]),
        ("again", [("l",), ("k",)]),
        ("wrong", [("a",), ("k",)]),
        given={"library": ("U",), "wrong": ("S",), "all": ("U",)},
    )
    assert names == {
        "equal": ("S",),
        "part": ("S",),
        "single": ("S",),
        "new": ("new_index",),
        "pairs": ("T", "pairs_index2"),
        "library": ("U",),
        "all": ("U",),
        "again": ("new_index",),
        "wrong": ("wrong_index",),
    }
    assert {name: known.labels for name, known in pool.used.items() if name.endswith("index2")} == {
        "pairs_index2": ("k", "m")
    }
    assert {name: known.is_guessed for name, known in pool.used.items()} == {
        name: "index" in name for name in ("S", "T", "U", "new_index", "pairs_index2", "wrong_index")
    }
    # Sets that no family uses are not in the model.
    assert "N" not in pool.used
    assert pool.find([("a",), ("b",)]) == ("T",)
    assert pool.find([("a",), ("c",)]) is None
    assert pool.find([("k", "a")]) is None
    assert pool.find([("l", "m"), ("k", "k")]) == ("new_index", "pairs_index2")
    assert pool.keys_of(("T", "new_index"), [("b", "l"), ("a", "k")]).tolist() == [[1, 1], [0, 0]]


def test_numbers_take_only_a_set_that_is_clear() -> None:
    sets = {"N": ["1", "2", "3", "4"], "M": ["1", "2", "3", "4", "5"], "Z": ["0", "1", "2", "3"]}
    # Positions in a list are part of any longer range, so that they are a set of their own.
    assert pool_of(sets, ("f", [("0",), ("1",)]))[0] == {"f": ("f_index",)}
    assert pool_of(sets, ("f", [("2",), ("3",)]))[0] == {"f": ("f_index",)}
    assert pool_of({"M": sets["M"]}, ("f", [("2",), ("3",)]))[0] == {"f": ("M",)}
    assert pool_of({"M": sets["M"]}, ("f", [("2",)]))[0] == {"f": ("f_index",)}
    used = ("g", [(label,) for label in sets["N"]])
    assert pool_of(sets, used, ("f", [("2",)]))[0] == {"g": ("N",), "f": ("N",)}
    taken, pool = pool_of({"M": sets["M"]}, ("f", [("2",), ("3",)]))
    assert (taken, pool.used["M"].labels) == ({"f": ("M",)}, tuple(sets["M"]))
    # With other labels among them, the smallest set.
    mixed = {"A": ["2", "x", "y", "z"], "B": ["x", "y", "2"], "C": ["x", "y", "2", "3"]}
    assert pool_of(mixed, ("f", [("2",), ("x",)]))[0] == {"f": ("B",)}
    taken = pool_of({"f_index": ["q", "r"], "f_index_2": ["s"]}, ("f", [("2",), ("3",)]))[0]
    assert taken == {"f": ("f_index_3",)}


def test_dates_and_numbers_in_sequence_are_ordered_sets() -> None:
    labels = {
        "days": ["2026-01-01", "2026-01-02"],
        "months": ["2026-01", "2026-02"],
        "day": ["2026-01-01"],
        "mixed": ["2026-02-01", "later"],
        "cities": ["b", "a"],
        "weeks": ["wk1", "wk2", "wk3"],
    }
    _, pool = pool_of(labels, *[(f"f_{name}", [(label,) for label in every]) for name, every in labels.items()])
    assert {name: known.is_time for name, known in pool.used.items()} == {
        "days": True, "months": True, "day": False, "mixed": False, "cities": False, "weeks": False
    }  # fmt: skip
    assert {name for name, known in pool.used.items() if known.is_ordered} >= {"days", "months", "weeks"}
    assert not pool.used["cities"].is_ordered


def test_a_table_of_the_library_keeps_its_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    made = snapshot(table("spare", {"Paris": 1.0, "Nice": 2.0}, sets=["CITIES"]))
    result = assembled(made)
    assert families(result.model)["data"] == {"spare": ("CITIES",)}
    assert (result.model.parameters[0].is_guessed, result.matched) == (False, ())
    # Where two sets have the same labels, the library tells which one it is, unless no family uses it.
    for sets, expected in ((["TOWNS"], {"spare": ("TOWNS",)}), (["DAYS"], {}), ([], {}), (["TOWNS", "DAYS"], {})):
        made = snapshot(table("spare", {"Paris": 1.0, "Nice": 2.0, "Lyon": 4.0}, sets=sets))
        made.sets |= {"TOWNS": list(CITIES), "DAYS": list(CITIES)}
        for city in CITIES:
            made.add_column(f"open_{city}", 0.0, 1.0, False)
            made.column_keys.append(key("open", city))
        made.family_sets["variables"] = {"open": ["TOWNS"]}
        assert families(assembled(made).model)["data"] == expected
    pairs = table("both", {(city, day): 1.0 for city in CITIES for day in CITIES}, sets=["TOWNS", "DAYS"])
    made.tables = [pairs]
    assert families(assembled(made).model)["data"] == {}
    made = snapshot(table("spare", {"Paris": 1.0, "Nantes": 2.0}, sets=["CITIES"]))
    assert families(assembled(made).model)["data"] == {}
    monkeypatch.setattr(matching_module, "MAX_FAMILIES", 0)
    assert not assembled(snapshot(table("cost", COST))).model.parameters


def test_the_family_with_most_labels_makes_the_set_that_smaller_ones_take() -> None:
    small = ("small", [("k",), ("l",)])
    large = ("large", [("k",), ("l",), ("m",)])
    assert pool_of({}, small, large)[0] == {"small": ("large_index",), "large": ("large_index",)}
    assert pool_of({}, large, small)[0] == {"small": ("large_index",), "large": ("large_index",)}
