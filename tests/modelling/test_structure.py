"""Loops and tables of models: the fewest loop variables, sums and offsets that give exactly the entries."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.modelling.convert.structure import (
    MAX_TERMS,
    BoundPart,
    LoopDim,
    StructureReader,
    TableTerm,
    Term,
    WrittenFigure,
)
from oragent.modelling.data.builder import IndexedModelBuilder

ONE = WrittenFigure(1.0)


def part(variable: str, name: str, offset: int = 0, is_free: bool = False) -> BoundPart:
    return BoundPart(variable, name, offset, is_free)


def weeks(count: int = 4) -> IndexedModelBuilder:
    builder = IndexedModelBuilder("plan")
    builder.add_set("week", [str(at + 1) for at in range(count)])
    builder.add_set("city", ["A", "B", "C"])
    return builder


def test_terms_have_the_fewest_loops_and_offsets() -> None:
    builder = weeks()
    builder.add_parameter("need", ["week"], [3.0, 7.0, 2.0, 5.0])
    builder.add_parameter("idle", ["week"], [1.0, 2.0, 3.0, 4.0])
    stock, make = (
        builder.add_variables("stock", ["week"]),
        builder.add_variables("make", ["week"], kind="integer", high=6),
    )
    ship = builder.add_variables("ship", ["city", "week"])
    walk = builder.add_variables("walk", ["city", "city"])
    builder.add_rows(
        "balance", ["week"], "=", rows=[*range(4), *range(4), 1, 2, 3], columns=[*make, *stock, *stock[:-1]],
        values=[2.0] * 4 + [-1.0] * 4 + [3.0] * 3, rhs=-builder.cells("need"),
    )  # fmt: skip
    builder.add_rows(
        "all", ["week"], "<=", rows=[0, 1, 2, 3] * 3, columns=ship, values=np.repeat([1.0, 5.0, 6.0], 4), rhs=7.0
    )
    builder.add_rows("leave", ["city"], ">=", rows=np.repeat(range(3), 3), columns=walk, rhs=[1.0, 2.0, 2.0])
    builder.add_rows("arrive", ["city"], ">=", rows=[0, 1, 2] * 3, columns=walk, rhs=1.0)
    builder.set_objective("cost", "minimize", make, 2.0 * builder.cells("need") + 1.0)
    builder.set_objective("cost", "minimize", ship, [1.0, 2.0, 3.0, 4.0] * 3, constant=9.0)
    found = StructureReader(builder.build()).read()

    assert (found.name, found.objective, found.is_maximized, found.constant) == ("plan", "cost", False, 9.0)
    assert found.sets == {"week": ("1", "2", "3", "4"), "city": ("A", "B", "C")}
    assert found.parameters == {"need": {("1",): 3.0, ("2",): 7.0, ("3",): 2.0, ("4",): 5.0}}
    assert found.parameter_sets == {"need": ("week",)}
    balance, every, leave, arrive = found.rows
    assert [(rows.name, rows.relation, rows.dims, rows.keys) for rows in found.rows] == [
        ("balance", 0, (LoopDim("w", "week"),), None), ("all", -1, (LoopDim("w", "week"),), None),
        ("leave", 1, (LoopDim("c", "city"),), None), ("arrive", 1, (LoopDim("c", "city"),), None),
    ]  # fmt: skip
    assert balance.rhs == WrittenFigure(-1.0, "need", ("w",))
    assert balance.terms == [
        Term("stock", WrittenFigure(-1.0), (part("w", "week"),)), Term("stock", WrittenFigure(3.0), (part("w", "week", -1),)),
        Term("make", WrittenFigure(2.0), (part("w", "week"),)),
    ]  # fmt: skip
    assert every.terms == [
        Term("ship", WrittenFigure(1.0, "all_ship", ("c",)), (part("c", "city", is_free=True), part("w", "week")))
    ]
    assert found.tables["all_ship"] == {("A",): 1.0, ("B",): 5.0, ("C",): 6.0}
    assert leave.terms == [Term("walk", ONE, (part("c", "city"), part("c3", "city", is_free=True)))]
    assert arrive.terms == [Term("walk", ONE, (part("c2", "city", is_free=True), part("c", "city")))]
    assert (leave.rhs, arrive.rhs) == (WrittenFigure(1.0, "leave_rhs", ("c",)), ONE)
    assert found.entry_tables == {}

    of_stock, of_make, of_ship, of_walk = found.variables
    assert [family.cost for family in found.variables] == [
        None, WrittenFigure(2.0, "need", ("w",), ONE), WrittenFigure(1.0, "ship_cost", ("w",)), None,
    ]  # fmt: skip
    assert found.tables["ship_cost"] == {("1",): 1.0, ("2",): 2.0, ("3",): 3.0, ("4",): 4.0}
    assert (of_make.low, of_make.high, of_make.is_integer, of_make.integer_keys) == (
        WrittenFigure(0.0),
        WrittenFigure(6.0),
        True,
        None,
    )
    assert (of_stock.is_integer, of_stock.has_unused, of_walk.has_unused) == (False, False, False)
    assert of_ship.dims == (LoopDim("c", "city"), LoopDim("w", "week"))
    assert of_walk.dims == (LoopDim("c", "city"), LoopDim("c2", "city"))


def test_what_no_loop_covers_is_a_table() -> None:
    builder = weeks(8)
    x = builder.add_variables("x", ["week"], low=[0.0] * 7 + [1.0], keys=None)
    some = builder.add_variables("some", ["week", "city"], keys=[("1", "A"), ("2", "C")], kind="integer")
    one = builder.add_variables("one", [])
    odd = [0, 7, 2, 5, 4, 3, 6, 1]
    builder.add_rows(
        "odd", ["week"], "<=", rows=range(8), columns=[x[at] for at in odd], values=np.arange(1.0, 9.0), rhs=9.0
    )
    builder.add_rows("alone", [], "=", columns=[*some, *one], values=[1.0, 1.0, -2.0])
    found = StructureReader(builder.build()).read()
    odd_rows, alone = found.rows
    assert sum(isinstance(term, Term) for term in odd_rows.terms) <= MAX_TERMS
    assert isinstance(odd_rows.terms[-1], TableTerm)
    assert alone.terms[0] == Term("some", ONE, (part("w", "week", is_free=True), part("c", "city", is_free=True)))
    assert alone.terms[1] == Term("one", WrittenFigure(-2.0), ())
    assert [family.keys for family in found.variables] == [None, [("1", "A"), ("2", "C")], None]
    assert found.variables[0].low == WrittenFigure(1.0, "x_low", ("w",))


def test_keys_of_two_parts_and_terms_without_an_offset_come_first() -> None:
    builder = weeks(4)
    x = builder.add_variables("x", ["week", "city"])
    y = builder.add_variables("y", ["city", "week"])
    # Each row has the member of its own key, and that of the week before in the same city.
    places = [(week, city) for week in range(4) for city in range(3)]
    late = [(week, city) for week, city in places if week]
    builder.add_rows(
        "cap", ["week", "city"], "<=", rows=[*range(12), *range(12), *(3 * week + city for week, city in late)],
        columns=[*x, *(y[4 * city + week] for week, city in places), *(x[3 * (week - 1) + city] for week, city in late)],
        values=[2.0] * 12 + [5.0] * 12 + [3.0] * 9, rhs=1.0,
    )  # fmt: skip
    # As many members two weeks before as of the week itself.
    z = builder.add_variables("z", ["week"])
    builder.add_rows(
        "skip", ["week"], "<=", keys=[("3",), ("4",)], rows=[0, 1, 0, 1], columns=[*z[:2], *z[2:]],
        values=[7.0, 7.0, 8.0, 8.0], rhs=1.0,
    )  # fmt: skip
    cap, skip = StructureReader(builder.build()).read().rows
    week, city = part("w", "week"), part("c", "city")
    assert cap.terms == [
        Term("x", WrittenFigure(2.0), (week, city)), Term("x", WrittenFigure(3.0), (part("w", "week", -1), city)),
        Term("y", WrittenFigure(5.0), (city, week)),
    ]  # fmt: skip
    assert skip.terms == [
        Term("z", WrittenFigure(8.0), (week,)), Term("z", WrittenFigure(7.0), (part("w", "week", -2),)),
    ]  # fmt: skip


def test_only_families_with_common_entries_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[tuple[str, str, int]] = []
    search = StructureReader._best_cover

    def record(reader, rows, family, members, variables, entries):
        searched.append((family.name, variables.name, len(entries.places)))
        return search(reader, rows, family, members, variables, entries)

    monkeypatch.setattr(StructureReader, "_best_cover", record)
    builder = weeks()
    for number in range(3):
        columns = builder.add_variables(f"x{number}", ["week"])
        builder.add_rows(f"r{number}", ["week"], rows=range(4), columns=columns)
    terms = {rows.name: [term.family for term in rows.terms] for rows in StructureReader(builder.build()).read().rows}
    assert terms == {"r0": ["x0"], "r1": ["x1"], "r2": ["x2"]}
    assert searched == [("r0", "x0", 4), ("r1", "x1", 4), ("r2", "x2", 4)]


def test_loops_are_named_by_the_first_letters_of_their_sets() -> None:
    builder = IndexedModelBuilder("plan")
    names = {"2 élan": "l", "é2": "k", "Line": "l_2", "weeks": "w"}
    for name in names:
        builder.add_set(name, ["a", "b"])
    builder.add_variables("x", list(names))
    (family,) = StructureReader(builder.build()).read().variables
    assert {dim.index_set: dim.variable for dim in family.dims} == names


def test_the_most_frequent_offsets_are_terms() -> None:
    builder = weeks(9)
    x = builder.add_variables("x", ["week"])
    before = [(row, row - 1) for row in range(1, 9)]
    # Four other distances, once each.
    others = [(0, 3), (1, 6), (8, 4), (7, 1)]
    builder.add_rows(
        "r", ["week"], "<=", rows=[row for row, _ in (*before, *others)], columns=[x[at] for _, at in (*before, *others)],
        values=[2.0] * 8 + [3.0] * 4, rhs=1.0,
    )  # fmt: skip
    (rows,) = StructureReader(builder.build()).read().rows
    assert rows.terms[0] == Term("x", WrittenFigure(2.0), (part("w", "week", -1),))


def test_families_of_several_relations_and_kinds_are_divided() -> None:
    builder = weeks(3)
    x = builder.add_variables("x", ["week"])
    unused = builder.add_variables("unused", ["week"])
    paid = builder.add_variables("paid", ["week"])
    for name, at, relation in (("a", 0, "<="), ("b", 1, ">="), ("c", 2, "<=")):
        builder.add_rows(name, [], relation, columns=[x[at]], rhs=float(at))
    builder.add_rows("r", ["week"], "<=", rows=[0, 1, 2], columns=x, rhs=1.0)
    builder.set_objective("gain", "maximize", [unused[1], *paid], [2.0, 1.0, 1.0, 1.0])
    model = builder.build()
    whole = np.array([True, False, False] + [True] * 6)
    relations = model.relations.copy()
    relations[-2] = 1
    changed = type(model)(
        **{name: getattr(model, name) for name in model.__dataclass_fields__}
        | {"integer": whole, "relations": relations}
    )
    found = StructureReader(changed).read()
    assert [(rows.name, rows.relation, rows.keys) for rows in found.rows[3:]] == [
        ("r", -1, [("1",), ("3",)]), ("r_2", 1, [("2",)]),
    ]  # fmt: skip
    assert [(family.is_integer, family.integer_keys, family.has_unused) for family in found.variables] == [
        (False, [("1",)], False), (True, None, True), (True, None, False),
    ]  # fmt: skip
    assert found.is_maximized
    assert found.variables[1].cost == WrittenFigure(1.0, "unused_cost", ("w",))


def value_of(figure: WrittenFigure, found: object, key: dict[str, str]) -> float:
    """The value of a figure where loop variables have labels."""
    total = figure.value
    if figure.table:
        cells = found.parameters.get(figure.table) or found.tables[figure.table]
        total *= cells[tuple(key[variable] for variable in figure.key)]
    return total + (0.0 if figure.offset is None else value_of(figure.offset, found, key))


entries = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 11), st.integers(1, 3)), max_size=14)


@given(entries)
def test_terms_and_tables_give_exactly_the_entries(drawn: list[tuple[int, int, int]]) -> None:
    figures = {(row, column): float(value) for row, column, value in drawn}
    builder = weeks()
    builder.add_variables("x", ["week", "city"])
    places, columns = [row for row, _ in figures], [column for _, column in figures]
    builder.add_rows("r", ["week"], "<=", rows=places, columns=columns, values=list(figures.values()), rhs=1.0)
    found = StructureReader(builder.build()).read()
    (rows,) = found.rows
    labels, cities = found.sets["week"], found.sets["city"]
    got: dict[tuple[int, int], float] = {}
    for row, term in itertools.product(range(4), rows.terms):
        if isinstance(term, TableTerm):
            for (week, city), value in found.entry_tables[term.table].get((labels[row],), {}).items():
                got[row, labels.index(week) * 3 + cities.index(city)] = value
            continue
        for week, city in itertools.product(range(4), range(3)):
            key = {"w": labels[row]}
            if all(each.is_free or row + each.offset == at for each, at in zip(term.parts, (week, city), strict=True)):
                key |= {
                    each.variable: name
                    for each, name in zip(term.parts, (labels[week], cities[city]), strict=True)
                    if each.is_free
                }
                assert (row, week * 3 + city) not in got
                got[row, week * 3 + city] = value_of(term.figure, found, key)
    assert got == figures
