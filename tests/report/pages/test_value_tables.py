"""Names are read as families and indices whatever wrote them, and every value is in a table or counted."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from oragent.modelling.data.model_records import Variable
from oragent.report.pages.time_scales import read_time_scale
from oragent.report.pages.value_tables import (
    PULP,
    Block,
    DecisionFamily,
    DecisionKind,
    fold_family,
    group_families,
    layout_families,
    print_tables,
)

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
        (["x_a__b_", "x_a__c_"], {"x": [("a", "b"), ("a", "c")]}),
        (["x('a',)", "x('b',)"], {"x": [("a",), ("b",)]}),
        (["x[a,]", "x[b,]"], {"x": [("a",), ("b",)]}),
        (["x[]", "x[a]"], {"x": [("",), ("a",)]}),
        (["[a]", "[b]"], {"[a]": [()], "[b]": [()]}),
        (["y10", "y9"], {"y": [("9",), ("10",)]}),
        (["make_red_wine", "make_white_wine"], {"make": [("red_wine",), ("white_wine",)]}),
        (["make.red.wine", "make.white.wine"], {"make": [("red_wine",), ("white_wine",)]}),
        (["cut_log_in_a", "cut_log_in_b"], {"cut_log_in": [("a",), ("b",)]}),
        (["cut.log.in.a", "cut.log.in.b"], {"cut.log.in": [("a",), ("b",)]}),
        (["cut_log_a", "cut.log.b"], {"cut_log": [("a",), ("b",)]}),
        (["f_a_1", "f_a_2", "f_b_1", "f_b_2"], {"f": [("a", "1"), ("a", "2"), ("b", "1"), ("b", "2")]}),
        # Three of four cells are few for a table, and so is one row; half of the cells of a larger table are enough.
        (["f_a_c", "f_a_d", "f_b_c"], {"f": [("a_c",), ("a_d",), ("b_c",)]}),
        (["f_a_c", "f_a_d", "f_a_e", "f_a_g"], {"f_a": [("c",), ("d",), ("e",), ("g",)]}),
        (["f_a_x", "f_b_y", "f_c_x", "f_c_y"], {"f": [("a", "x"), ("b", "y"), ("c", "x"), ("c", "y")]}),
        (["f_a_x", "f_b_x", "f_c_x", "f_d_x"], {"f": [("a_x",), ("b_x",), ("c_x",), ("d_x",)]}),
        (["f_a_x", "f_b_y", "f_c_z", "f_d_x"], {"f": [("a_x",), ("b_y",), ("c_z",), ("d_x",)]}),
        (["f_a_x", "f_b_y", "f_c_x", "f_d_y"], {"f": [("a", "x"), ("b", "y"), ("c", "x"), ("d", "y")]}),
        # Words of three indices are one list.
        ([f"f_{a}_{b}_{c}" for a, b, c in product("kl", "mn", "op")],
         {"f": [(f"{a}_{b}_{c}",) for a, b, c in product("kl", "mn", "op")]}),
        # Different numbers of words: only numbers at the end are indices.
        (["f_a_1", "f_a_2", "f_b_2_3", "f_b_2_4", "f_c"],
         {"f_a": [("1",), ("2",)], "f_b": [("2", "3"), ("2", "4")], "f_c": [()]}),
        (["f_1_x", "f_2", "f_3"], {"f_1_x": [()], "f": [("2",), ("3",)]}),
        (["sleeping_pills", "painkillers"], {"sleeping_pills": [()], "painkillers": [()]}),
        (["crude_oil", "crude"], {"crude_oil": [()], "crude": [()]}),
        (["a", "b"], {"a": [()], "b": [()]}),
        (["x_12"], {"x_12": [()]}),
    ],
)  # fmt: skip
def test_names_without_any_data(names: list[str], expected: dict[str, list[tuple[str, ...]]]) -> None:
    assert indices(names) == expected


@pytest.mark.parametrize(
    ("names", "labels", "expected"),
    [
        # The order of the labels comes first, then numbers by their size, then the order of the names.
        (["x[c]", "x[10]", "x[0]", "x[b]", "x[9]", "x[a]"], ["a", "b"],
         {"x": [("a",), ("b",), ("0",), ("9",), ("10",), ("c",)]}),
        (["x[z]", "x[7]", "x[y]"], ["7"], {"x": [("7",), ("z",), ("y",)]}),
        # Labels with one form for PuLP are no labels, and neither is a space.
        (["x_a_b_1", "x_a_b_2"], ["a b", "a-b"], {"x_a_b": [("1",), ("2",)]}),
        (["x_a_b_1", "x_a_b_2"], ["a b"], {"x": [("a b", "1"), ("a b", "2")]}),
        (["x_a_b_1", "x_a_b_2"], ["a b", "a b"], {"x": [("a b", "1"), ("a b", "2")]}),
        (["x__1", "x__2"], [" "], {"x_": [("1",), ("2",)]}),
        # The longest label, and the shortest name.
        (["x_a_b_1", "x_a_b_2"], ["a", "b", "a_b"], {"x": [("a_b", "1"), ("a_b", "2")]}),
        (["x_a_b", "x_a_c"], ["a", "b", "c"], {"x": [("a", "b"), ("a", "c")]}),
        (["x_a,b", "x_a,c"], ["a", "b", "c"], {"x": [("a", "b"), ("a", "c")]}),
        (["x_a,d", "x_a,e"], ["a"], {"x": [("a,d",), ("a,e",)]}),
        # A bracket is read by its commas unless labels explain the whole name.
        (["x_y[1,2]", "x_y[1,3]"], ["z"], {"x_y": [("1", "2"), ("1", "3")]}),
        (["x[a,_b]", "x[a,_c]"], ["b", "c"], {"x": [("a", "b"), ("a", "c")]}),
    ],
)  # fmt: skip
def test_labels_say_where_indices_begin(
    names: list[str], labels: list[str], expected: dict[str, list[tuple[str, ...]]]
) -> None:
    families = group_families([*map(Variable, names)], dict.fromkeys(names, 1.0), labels)
    found: dict[str, list[tuple[str, ...]]] = {}
    for family in families:
        found.setdefault(family.name, []).extend(family.entries)
    assert found == expected


# Ways in which programs and libraries write indices.
FORMS = [
    lambda name, index: f"{name}[{','.join(index)}]",
    lambda name, index: f"{name}({', '.join(index)})",
    lambda name, index: f"{name}_[{','.join(index)}]",
    lambda name, index: f"{name}{index}",
    lambda name, index: f"{name}{index}".replace("'", '"'),
    lambda name, index: f"{name}_{index}".translate(PULP),
    lambda name, index: f"{name}[{','.join(index)}]".translate(PULP),
    lambda name, index: f"{name}[{']['.join(index)}]".translate(PULP),
]
LABEL = st.text("abcäß", min_size=1, max_size=3)


@given(
    st.integers(1, 3).flatmap(lambda count: st.lists(st.tuples(*[LABEL] * count), min_size=2, unique=True)),
    st.sampled_from(FORMS),
)
def test_indices_are_read_from_each_form(wanted: list[tuple[str, ...]], form) -> None:
    names = [form("x", index) for index in wanted]
    (family,) = made(names)
    assert family.name == "x"
    assert {family.entries[index]: index for index in family.entries} == dict(zip(names, wanted, strict=True))


@pytest.mark.parametrize(("length", "is_split"), [(400, True), (401, False)])
def test_long_names_are_not_split(length: int, is_split: bool) -> None:
    names = [f"x[{end}".ljust(length - 1, "a") + "]" for end in "bc"]
    assert [len(family.entries) for family in made(names)] == ([2] if is_split else [1, 1])


@pytest.mark.parametrize(("parts", "index_count"), [(60, 59), (61, 1)])
def test_names_of_many_parts_are_not_searched_for_labels(parts: int, index_count: int) -> None:
    names = ["_".join(["x", *"1" * (parts - 2), end]) for end in "23"]
    (family,) = made(names)
    assert family.index_count == index_count


def test_two_names_of_one_index_stay_apart() -> None:
    names = ["x[1]", "x[2]", "x_1"]
    assert indices(names) == {"x": [("1",), ("2",)], "x_1": [()]}
    names = ["x[a]", "x[c]", "x_a", "x_b"]
    assert indices(names) == {"x": [("a",), ("c",), ("x_a",), ("b",)]}
    names = ["x[a,c]", "x[a,d]", "x_a_c", "x_a_d", "x_b_c", "x_b_d"]
    assert indices(names) == {
        "x": [("a", "c"), ("a", "d"), ("x_a_c",) * 2, ("x_a_d",) * 2, ("b", "c"), ("b", "d")],
    }  # fmt: skip


def test_other_names_are_parsed_instead_of_those_of_the_variables() -> None:
    variables = [*map(Variable, ("v1", "v2", "x[q]", "w"))]
    names = {"v1": "x[a]", "v2": "x[b]", "x[q]": "nothing to split"}
    families = group_families(variables, {}, names=names)
    assert [(family.name, dict(family.entries)) for family in families] == [
        ("x", {("a",): "v1", ("b",): "v2", ("q",): "x[q]"}), ("w", {(): "w"}),
    ]  # fmt: skip
    twins = group_families([*map(Variable, "pq")], {}, names={"p": "a", "q": "a"})
    assert [dict(family.entries) for family in twins] == [{(): "p"}, {(): "q"}]
    (twins,) = group_families([*map(Variable, "pq")], {}, names={"p": "a_b", "q": "a_b"})
    assert dict(twins.entries) == {("b",): "p", ("q",): "q"}


def test_families_have_the_order_of_their_first_variables_and_a_unit_that_all_members_share() -> None:
    variables = [
        Variable("z"), Variable("y[2]", unit="h"), Variable("x[1]", unit="t"), Variable("x[2]", unit="kg"),
        Variable("y[1]", unit="h"), Variable("w", unit="m"),
    ]  # fmt: skip
    families = group_families(variables, {})
    assert [(family.name, family.unit) for family in families] == [("z", ""), ("y", "h"), ("x", ""), ("w", "m")]


TEXTS = st.text("ab_[](),'1 -ö", min_size=1, max_size=9).filter(str.strip)


@given(st.lists(TEXTS, min_size=1, max_size=12, unique=True), st.lists(TEXTS, max_size=4), st.integers(3, 40))
def test_every_variable_is_in_one_family_and_the_text_fits(names: list[str], labels: list[str], lines: int) -> None:
    values = {name: float(place % 3) for place, name in enumerate(names)}
    found = made(names, labels, values)
    assert sorted(name for family in found for name in family.entries.values()) == sorted(names)
    text = print_tables(layout_families(found), 30, lines)
    assert len(text) <= lines
    assert all(cell_len(line) <= 30 for line in text)


def family_of(values: dict[tuple[str, ...], float], kind: DecisionKind = DecisionKind.AMOUNT) -> DecisionFamily:
    entries = {index: f"x[{','.join(index)}]" for index in values}
    return DecisionFamily("x", entries, {entries[index]: value for index, value in values.items()}, kind=kind)


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (DecisionKind.AMOUNT, {"b": 1.0, "c": 1e-9, "d": -2.0}),
        (DecisionKind.TIME, {"a": 0.0, "b": 1.0, "c": 1e-9, "d": -2.0, "e": 0.0}),
        (DecisionKind.CHOICE, {"a": 0.0, "b": 1.0, "c": 1e-9, "d": -2.0, "e": 0.0}),
    ],
)
def test_only_amounts_of_zero_are_hidden(kind: DecisionKind, shown: dict[str, float]) -> None:
    family = family_of({("a",): 0.0, ("b",): 1.0, ("c",): 1e-9, ("d",): -2.0, ("e",): 9e-10}, kind)
    assert family.shown_values == {(label,): value for label, value in shown.items()}
    assert family.used_labels(0) == tuple(shown)
    assert set(family.nonzero_values) == {("b",), ("c",), ("d",)}


@pytest.mark.parametrize(("refused", "shown"), [(60, 61), (61, 1)])
def test_few_decisions_with_the_answer_no_are_shown(refused: int, shown: int) -> None:
    values = {("yes",): 1.0} | {(str(number),): 0.0 for number in range(refused)}
    assert len(family_of(values, DecisionKind.YES_NO).shown_values) == shown
    assert family_of({("no",): 0.0}, DecisionKind.YES_NO).shown_values == {("no",): 0.0}


def test_a_label_without_any_yes_is_shown_with_its_noes() -> None:
    values = {(person, day): 0.0 for person in "ABC" for day in "12"} | {("A", "2"): 1.0, ("B", "1"): 1.0}
    shown = family_of(values, DecisionKind.YES_NO).shown_values
    assert shown == {("A", "2"): 1.0, ("B", "1"): 1.0, ("C", "1"): 0.0, ("C", "2"): 0.0}
    assert family_of(dict.fromkeys(values, 0.0), DecisionKind.YES_NO).shown_values == {}


def test_three_indices_fold_into_two() -> None:
    family = family_of({("Ann", "Mon", "early"): 1.0, ("Bob", "Tue", "late"): 2.0})
    assert list(fold_family(family).entries) == [("Ann", "Mon early"), ("Bob", "Tue late")]
    for count in (1, 2, 4):
        other = family_of({tuple("abcd"[:count]): 1.0})
        assert fold_family(other) is other


def layout(values: dict[tuple[str, ...], float], pivots: bool = False) -> Block:
    (block,) = layout_families([family_of(values)], pivots)
    return block


def labels_of(indices: Sequence[tuple[str, ...]], position: int) -> list[str]:
    return list(dict.fromkeys(index[position] for index in indices))


VALUE = st.sampled_from([0.0, 0.0, 1.0, 2.5])
LETTERS = "abcdefghijklmnop"


def check_grid(values: dict[tuple[str, str], float]) -> None:
    """Compare a table of two indices with its values, one by one."""
    block, used = layout(values), [index for index, value in values.items() if value]
    # In the order of all labels, also of those whose first value is zero.
    down, across = (
        [label for label in labels_of(list(values), position) if label in labels_of(used, position)]
        for position in (0, 1)
    )
    is_turned = len(across) > 6 and len(down) < len(across)
    if is_turned:
        down, across = across, down
    if not used or not 2 <= len(across) <= 12 or len(across) * len(down) > 4 * len(used) + 12:
        assert block.rows == tuple((*index, f"{values[index]:g}") for index in used)
        assert (block.heads, block.labels, block.zeros) == (("", "", "value"), 2, len(values) - len(used))
        return
    assert (block.heads, block.labels) == (("", *across), 1)
    assert [row[0] for row in block.rows] == down
    hidden = set(values)
    for label, *cells in block.rows:
        for column, cell in zip(across, cells, strict=True):
            index = (column, label) if is_turned else (label, column)
            assert cell == (f"{values[index]:g}" if index in values else "")
            hidden.discard(index)
    assert block.zeros == len(hidden)


@given(st.dictionaries(st.tuples(st.sampled_from(LETTERS[:5]), st.sampled_from(LETTERS[5:])), VALUE, min_size=1))
def test_a_table_of_two_indices_shows_each_value_in_its_place(values: dict[tuple[str, str], float]) -> None:
    check_grid(values)


@pytest.mark.parametrize(
    ("rows", "columns"),
    [(13, 12), (13, 13), (12, 14), (6, 6), (6, 7), (7, 6), (7, 7), (1, 2), (2, 1), (2, 2), (1, 7), (5, 6)],
)
@pytest.mark.parametrize("is_dense", [True, False])
def test_tables_are_neither_wide_nor_empty(rows: int, columns: int, is_dense: bool) -> None:
    pairs = list(product(LETTERS[:rows], LETTERS[:columns].upper()))
    diagonal = {(LETTERS[at % rows], LETTERS[at % columns].upper()) for at in range(max(rows, columns))}
    check_grid({pair: float(is_dense or pair in diagonal) for pair in pairs})
    check_grid({pair: 1.0 for pair in pairs if is_dense or pair in diagonal})


def check_pivot(values: dict[tuple[str, ...], float]) -> None:
    """Compare a table of three indices, whose last index with two to twelve labels is across, with its values."""
    block, used = layout(values, pivots=True), [index for index, value in values.items() if value]
    at = next((position for position in (2, 1, 0) if 2 <= len(labels_of(used, position)) <= 12), None)
    keys = [] if at is None else list(dict.fromkeys((*index[:at], *index[at + 1 :]) for index in used))
    across = [] if at is None else [label for label in labels_of(list(values), at) if label in labels_of(used, at)]
    if at is None or len(keys) * len(across) > 4 * len(used) + 12:
        assert block == layout(values)
        assert block.rows == tuple((*index, f"{values[index]:g}") for index in used)
        assert (block.heads, block.labels, block.zeros) == (("", "", "", "value"), 3, len(values) - len(used))
        return
    assert (block.heads, block.labels) == (("", "", *across), 2)
    assert [row[:2] for row in block.rows] == keys
    hidden = set(values)
    for first, second, *cells in block.rows:
        for column, cell in zip(across, cells, strict=True):
            key = [first, second]
            key.insert(at, column)
            assert cell == (f"{values[tuple(key)]:g}" if tuple(key) in values else "")
            hidden.discard(tuple(key))
    assert block.zeros == len(hidden)


@given(st.dictionaries(st.tuples(*[st.sampled_from(LETTERS[:4])] * 3), VALUE, min_size=1))
def test_a_pivot_shows_each_value_in_its_place(values: dict[tuple[str, ...], float]) -> None:
    check_pivot(values)


@pytest.mark.parametrize("counts", [(2, 2, 12), (2, 2, 13), (2, 12, 13), (2, 13, 13), (13, 2, 1), (2, 1, 1), (1, 1, 1)])
def test_a_pivot_is_not_wide(counts: tuple[int, int, int]) -> None:
    check_pivot({tuple(index): 1.0 for index in product(*(LETTERS[:count] for count in counts))})


@pytest.mark.parametrize(("keys", "columns"), [(6, 6), (7, 7), (7, 6)])
def test_a_pivot_is_not_empty(keys: int, columns: int) -> None:
    check_pivot({(LETTERS[at], "z", LETTERS[at % columns]): 1.0 for at in range(max(keys, columns))})
    check_pivot({(LETTERS[at], "z", other): float(LETTERS[at % columns] == other)
                 for at in range(keys) for other in LETTERS[:columns]})  # fmt: skip


def test_two_indices_and_fewer_are_no_pivot() -> None:
    values = {(row, column): 1.0 for row in "ab" for column in "cd"}
    assert layout(values, pivots=True) == layout(values)
    assert layout({("a",): 1.0, ("b",): 1.0}, pivots=True).rows == (("a", "1"), ("b", "1"))
    assert layout({("a", "x"): 1.0, ("b", "x"): 1.0}, pivots=True).rows == (("a", "x", "1"), ("b", "x", "1"))
    assert layout({tuple("abc"): 0.0}, pivots=True).rows == ()


def test_decisions_without_an_index_share_a_table() -> None:
    variables = [Variable("a", unit="t"), Variable("b"), Variable("c"), Variable("x[1]", unit="h"), Variable("x[2]")]
    families = group_families(variables, {"a": 2.0, "b": 0.0, "c": 1.5, "x[1]": 1.0, "x[2]": 0.0})
    singles, table = layout_families(families)
    assert (singles.heads[2], singles.rows, singles.zeros) == ("unit", (("a", "2", "t"), ("c", "1.5", "")), 1)
    assert (table.rows, table.zeros) == ((("1", "1"),), 1)
    (singles,) = layout_families(families[1:3])
    assert (singles.heads[2], singles.rows, singles.labels) == ("", (("c", "1.5", ""),), 1)
    assert layout_families([replace(families[3], unit="h")])[0].title.endswith("(h)")
    # Units are cut at twenty characters.
    assert layout_families([replace(families[3], unit="h" * 30)])[0].title.endswith(f" ({'h' * 19}…)")
    assert layout_families([replace(families[2], unit="h" * 30)])[0].rows[0][2] == "h" * 19 + "…"


def test_a_time_is_shown_by_the_clock() -> None:
    family = replace(family_of({("a",): 0.0, ("b",): 90.0}, DecisionKind.TIME), scale=read_time_scale("min from 08:00"))
    assert layout_families([family])[0].rows == (("a", "08:00"), ("b", "09:30"))
    far = replace(family, values=dict.fromkeys(family.values, 1e12))
    assert far.text(1e12) == "1,000,000,000,000"


@pytest.mark.parametrize("heads", [("", "p", "q"), ("", "value"), ("place", "value"), ("", "", "value")])
@pytest.mark.parametrize("zeros", [0, 1234])
@pytest.mark.parametrize("count", [0, 1, 2, 5, 1200])
def test_a_table_shows_as_many_rows_as_fit(heads: tuple[str, ...], zeros: int, count: int) -> None:
    labels = len(heads) - 2 if heads[1] == "p" else len(heads) - 1
    rows = tuple((*[f"row{number}"] * labels, *["7"] * (len(heads) - labels)) for number in range(count))
    table = Block("title", heads, rows, labels, zeros)
    # A line of heads for columns of several values, or for labels.
    headed = bool(rows) and (heads[0] == "place" or heads[1] == "p")
    for lines in (*range(2, 12), 1203, 1204):
        if lines < min(5, 2 + count):
            assert len(print_tables([table], 80, lines)) == 1
            continue
        text = print_tables([table], 80, lines)
        possible = [shown for shown in range(count + 1) if 1 + headed + shown + bool(zeros or shown < count) <= lines]
        assert text[0] == "title"
        assert len([line for line in text if "row" in line]) == max(possible)
        assert len(text) <= lines
        note = text[-1].replace(",", "") if zeros or max(possible) < count else ""
        assert (f"{count - max(possible)} more" in note) == (max(possible) < count)
        assert ("1234" in note) == bool(zeros)
        assert ("all" in note) == (bool(zeros) and not count)


def test_tables_share_the_lines_and_the_last_says_how_many_are_left_out() -> None:
    table = Block("title", ("", "p", "q"), (("row", "1", "2"),) * 4)
    for lines in range(1, 30):
        text = print_tables([table] * 3, 80, lines)
        titles, noted = text.count("title"), text[-1].startswith("and")
        assert len(text) <= lines
        assert noted == (titles < 3)
        if noted:
            assert text[-1] == f"and {3 - titles} more table{'s' if titles < 2 else ''}"
        # The smallest useful table has five lines; the note on those left out has one.
        assert titles == min(3, (lines - 1) // 5 if lines < 15 else 3)
    # With a line in reserve, each has its share.
    rows = [sum("row" in line for line in print_tables([table] * 2, 80, lines)) for lines in (10, 11, 12, 13)]
    assert rows == [4, 6, 6, 8]


CELL = st.text("ab", min_size=1, max_size=30)


@given(st.lists(st.tuples(CELL, CELL, st.integers(0, 10**6).map(str)), min_size=1, max_size=5), st.integers(18, 60))
def test_columns_are_aligned_and_cut_the_longest_first(rows: list[tuple[str, ...]], width: int) -> None:
    table = Block("title", ("place", "", "v"), tuple(rows), 2)
    _, *lines = print_tables([table], width, 99)
    assert all(cell_len(line) <= width for line in lines)
    shown = [line.split() for line in lines[1:]]
    assert all(len(cells) == 3 for cells in shown)
    longest = [max(map(cell_len, column)) for column in zip(*rows, ("place", "", "v"), strict=True)]
    sizes = [max(cell_len(cells[at]) for cells in shown) for at in range(3)]
    for cells, row in zip(shown, rows, strict=True):
        for cell, text in zip(cells, row, strict=True):
            assert cell == text or (cell.endswith("…") and text.startswith(cell[:-1]))
    fits = sum(min(24, size) for size in longest) + 6 <= width
    for at in range(3):
        is_cut = any(cells[at] != row[at] for cells, row in zip(shown, rows, strict=True))
        assert is_cut <= (longest[at] > 24 if fits else sizes[at] >= max(sizes) - 2)
    # Labels begin and figures end in one column each.
    for at in (0, 1):
        assert len({cell_len(line[: line.index(cells[at])]) for line, cells in zip(lines[1:], shown, strict=True)
                    if line.count(cells[at]) == 1}) <= 1  # fmt: skip
    assert len({cell_len(line) for line in lines[1:]}) == 1


def test_a_table_that_is_too_wide_is_a_list_of_what_is_not_zero() -> None:
    rows = (("north", "1", "0", "", "12"), ("south", "0", "0", "0", "0"))
    table = Block("title", ("", "p", "q", "r", "s"), rows, 1, 3)
    full = print_tables([table], 80, 20)
    width = max(map(cell_len, full[:4]))
    assert print_tables([table], width, 20)[:4] == full[:4]
    narrow = print_tables([table], width - 1, 20)
    assert [line.split() for line in narrow[1:3]] == [["north", "p", "1"], ["north", "s", "12"]]
    # Three and the five zeros of the table.
    assert narrow[-1].split()[1] == "8"
    three = Block("title", ("", "p", "q", "r"), (("north", "100", "0", "300"),))
    assert [line.split() for line in print_tables([three], 19, 20)[1:3]] == [
        ["north", "p", "100"],
        ["north", "r", "300"],
    ]
    # Two columns of values, or of labels, stay columns.
    for heads, labels in ((("", "first", "last"), 1), (("", "", "first", "last"), 2)):
        block = Block("title", heads, (("n" * 9,) * len(heads),) * 2, labels)
        text = print_tables([block], 9 * len(heads) - 2, 20)
        assert [len(line.split()) for line in text[2:]] == [len(heads)] * 2
    # No column becomes narrower than four characters.
    least = print_tables([Block("title", ("", "first", "last"), (("n" * 9,) * 3,))], 14, 20)
    assert least[2].split() == ["nnn…", "nnn…"]


def test_wide_characters_take_two_columns() -> None:
    rows = (("漢字", "1"), ("ab", "22"), ("漢字漢字漢字漢字漢字漢字漢", "3"))
    lines = print_tables([Block("title", ("place", "value"), rows)], 80, 20)[1:]
    assert {cell_len(line) for line in lines} == {2 + 24 + 2 + 5}
    assert "…" in lines[-1]
