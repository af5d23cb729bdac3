"""Names are read as families and indices whatever wrote them, and every value is in a table or counted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from oragent.modelling.data.model_records import Variable
from oragent.report.pages.value_tables import PULP, DecisionFamily, group_families, layout_families, print_tables

WORKS, TOWNS = ("Werk Köln", "Nord, Ost", "Süd (alt)"), ("Bad Öhr", "Kiel-West", "Ulm")


def made(names: list[str], labels=(), values=None) -> tuple[DecisionFamily, ...]:
    return group_families([*map(Variable, names)], values or dict.fromkeys(names, 1.0), labels)


def indices(names: list[str], labels=()) -> dict[str, list[tuple[str, ...]]]:
    return {family.name: list(family.entries) for family in made(names, labels)}


PAIRS = [(work, town) for work in WORKS for town in TOWNS]


@pytest.mark.parametrize("form", ["ship_by rail_{0}_{1}", "ship_by rail_({0!r}, {1!r})"])
def test_what_pulp_makes_of_names_is_undone_with_the_labels_of_the_data(form: str) -> None:
    names = [form.format(*pair).translate(PULP) for pair in PAIRS]
    assert indices(sorted(names), [*WORKS, *TOWNS]) == {"ship_by_rail": PAIRS}  # in the order of the data


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["x[a,b]", "x[a,c]"], {"x": [("a", "b"), ("a", "c")]}),
        (["x(1)", "x(10)", "x(2)"], {"x": [("1",), ("2",), ("10",)]}),
        (["x_a,b_", "x_a,c_"], {"x": [("a", "b"), ("a", "c")]}),
        (["y10", "y9"], {"y": [("9",), ("10",)]}),
        (["make_red_wine", "make_white_wine"], {"make": [("red_wine",), ("white_wine",)]}),
        (["f_a_1", "f_a_2", "f_b_1", "f_b_2"], {"f": [("a", "1"), ("a", "2"), ("b", "1"), ("b", "2")]}),
        (["sleeping_pills", "painkillers"], {"sleeping_pills": [()], "painkillers": [()]}),
        (["crude_oil", "crude"], {"crude_oil": [()], "crude": [()]}),
    ],
)  # fmt: skip
def test_names_without_any_data(names: list[str], expected: dict[str, list[tuple[str, ...]]]) -> None:
    assert indices(names) == expected


TEXTS = st.text("ab_[](),'1 -ö", min_size=1, max_size=9).filter(str.strip)


@pytest.mark.slow
@given(st.lists(TEXTS, min_size=1, max_size=12, unique=True), st.lists(TEXTS, max_size=4), st.integers(3, 40))
def test_every_variable_is_in_one_family_and_the_text_fits(names: list[str], labels: list[str], lines: int) -> None:
    values = {name: float(place % 3) for place, name in enumerate(names)}
    found = made(names, labels, values)
    assert sorted(name for family in found for name in family.entries.values()) == sorted(names)
    text = print_tables(layout_families(found), 30, lines)
    assert len(text) <= lines
    assert all(cell_len(line) <= 30 for line in text)


def test_a_table_has_rows_by_columns_and_counts_what_it_leaves_out() -> None:
    names = [f"x[{row},{column}]" for row in "abc" for column in "pqr"]
    values = dict.fromkeys(names, 0.0) | {"x[a,p]": 1234.5, "x[b,r]": 2.0, "x[b,q]": 3.0}
    (table,) = layout_families(made(names, (), values))
    assert (table.heads, table.rows) == (("", "p", "q", "r"), (("a", "1,234.5", "0", "0"), ("b", "0", "3", "2")))
    assert table.omission_note() == "and 3 more that are zero"
    assert print_tables([table], 80, 20)[-1].strip() == "and 3 more that are zero"
    narrow = print_tables([table], 16, 20)  # as a list
    assert [line.split() for line in narrow[1:4]] == [["a", "p", "1,234.5"], ["b", "q", "3"], ["b", "r", "2"]]
    assert "6 more" in " ".join(narrow)


def test_three_indices_are_a_pivot_if_asked_for() -> None:
    names = [f"ship[{i},{j},{k}]" for i in ("A", "B") for j in ("X", "Y") for k in ("w1", "w2", "w3")]
    values = {name: float(number) for number, name in enumerate(names)} | {names[4]: 0.0}
    (plain,) = layout_families(made(names, (), values))
    assert len(plain.rows) == 10
    (table,) = layout_families(made(names, (), values), pivots=True)
    assert (table.labels, table.heads) == (2, ("", "", "w1", "w2", "w3"))
    assert table.rows == (
        ("A", "X", "0", "1", "2"), ("A", "Y", "3", "0", "5"), ("B", "X", "6", "7", "8"), ("B", "Y", "9", "10", "11")
    )  # fmt: skip
    assert table.zeros == 0
