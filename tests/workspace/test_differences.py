"""Differences of tables by cell, with labels that occur several times. The edits that are made are the truth."""

import csv
import io
import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oragent._base.errors import WorkspaceError
from oragent.workspace import data_edits
from oragent.workspace.cells import read_change
from oragent.workspace.data_changes import FIGURES, DataFiles, EditPlan, PlannedEdit, audit_edits, list_data
from oragent.workspace.data_edits import cell_text, is_same_text, list_edits, list_json_cells, read_text_tables
from oragent.workspace.model_results import CellEdit
from oragent.workspace.model_tasks import compare_models
from oragent.workspace.row_matching import match_rows
from oragent.workspace.settings import NO_OPTIONS, read_settings
from oragent.workspace.sources import FolderState, open_state
from oragent.workspace.submission import describe_entry
from tests.workspace.release import put

HEADER = ("site", "good", "shift", "demand", "price")
ROWS = [
    ("north", "rye", "early", "5", "4"), ("north", "rye", "late", "6", "4"), ("north", "oat", "early", "5", "3"),
    ("south", "rye", "early", "5", "4"), ("south", "rye", "early", "7", "9"), ("south", "oat", "late", "6", "3"),
]  # fmt: skip


def to_csv(rows: list[tuple[str, ...]], header: tuple[str, ...] = HEADER) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header, *rows])
    return out.getvalue().encode()


def compare(old: list[tuple[str, ...]], new: list[tuple[str, ...]], header: tuple[str, ...] = HEADER) -> list[CellEdit]:
    return list_edits({"data/d.csv": to_csv(old, header)}, {"data/d.csv": to_csv(new, header)})


def found(edits: list[CellEdit]) -> set[tuple[int | None, str, str | None, str | None]]:
    return {(edit.places[0], edit.column, edit.before, edit.after) for edit in edits}


@st.composite
def edited_tables(draw: st.DrawFn):
    """Return a table whose labels repeat, and up to four changed figures of it."""
    label = st.sampled_from(["a", "b", "c"])
    count = draw(st.integers(2, 12))
    columns = draw(st.integers(1, 3))
    figure = st.integers(0, 5).map(str)
    rows = draw(st.lists(st.tuples(label, label, *[figure] * columns), min_size=count, max_size=count))
    places = st.tuples(st.integers(0, count - 1), st.integers(2, columns + 1))
    edits = draw(st.dictionaries(places, st.integers(0, 9).map(str), min_size=1, max_size=4))
    return rows, {place: value for place, value in edits.items() if rows[place[0]][place[1]] != value}


@settings(max_examples=200, deadline=None, derandomize=True)
@given(edited_tables())
def test_differences_equal_the_edits_of_figures(drawn) -> None:
    rows, edits = drawn
    header = ("site", "good", "x", "y", "z")[: len(rows[0])]
    new = [list(row) for row in rows]
    for (row, column), value in edits.items():
        new[row][column] = value
    truth = {(row, header[column], rows[row][column], value) for (row, column), value in edits.items()}
    assert found(compare(rows, [tuple(row) for row in new], header)) == truth


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.permutations(range(len(ROWS))), st.integers(0, 5), st.sampled_from(["11", "12"]))
def test_moved_rows_are_no_differences(order: list[int], row: int, value: str) -> None:
    """A table is sorted, or rows move, and one figure changes."""
    new = [ROWS[at] for at in order]
    assert {edit.column for edit in compare(ROWS, new)} <= {"demand", "price"}
    rows = [(str(number), *cells) for number, cells in enumerate(ROWS)]
    moved = [rows[at] if at != row else (*rows[at][:4], value, rows[at][5]) for at in order]
    assert found(compare(rows, moved, ("id", *HEADER))) == {(row, "demand", ROWS[row][3], value)}


def test_added_and_removed_rows_among_equal_labels() -> None:
    added = ("south", "rye", "early", "8", "1")
    edits = compare(ROWS, [*ROWS[:4], added, *ROWS[4:]])
    assert [(edit.before, edit.after, edit.places) for edit in edits] == [(None, cell, (None, 4)) for cell in added[1:]]
    edits = compare(ROWS, [*ROWS[:3], *ROWS[4:]])
    assert [(edit.before, edit.after, edit.places) for edit in edits] == [
        (cell, None, (3, None)) for cell in ROWS[3][1:]
    ]
    changed = [*ROWS[:2], ("north", "oat", "early", "50", "3"), *ROWS[3:], added]
    assert found(compare(ROWS, changed)) == {
        (2, "demand", "5", "50"), *((None, column, None, cell) for column, cell in zip(HEADER[1:], added[1:], strict=True))
    }  # fmt: skip


def test_a_renamed_label_is_one_difference() -> None:
    edits = compare(ROWS, [("east", *ROWS[0][1:]), *ROWS[1:]])
    assert found(edits) == {(0, "site", "north", "east")}


def test_a_new_column_is_listed_in_every_row() -> None:
    new = [(*row, str(at)) for at, row in enumerate(ROWS)]
    edits = list_edits({"d.csv": to_csv(ROWS)}, {"d.csv": to_csv(new, (*HEADER, "limit"))})
    assert [(edit.column, edit.before, edit.after) for edit in edits] == [("limit", None, str(at)) for at in range(6)]


def test_columns_that_are_all_renamed_have_their_cells_in_both_versions() -> None:
    edits = list_edits({"d.csv": b"a,b\nx,1\n"}, {"d.csv": b"c,d\nx,1\n"})
    assert {(edit.column, edit.before, edit.after) for edit in edits} == {
        ("a", "x", None), ("b", "1", None), ("c", None, "x"), ("d", None, "1"),
    }  # fmt: skip


def test_rows_are_named_by_cells_that_did_not_change() -> None:
    new = [*ROWS[:2], ("north", "oat", "early", "50", "3"), *ROWS[3:4], ("south", "rye", "early", "70", "9"), *ROWS[5:]]
    names = [edit.row for edit in compare(ROWS, new)]
    assert names[0] == "north, oat"
    assert names[1] == "south, rye, early, 9"
    twins = [("a", "1"), ("a", "2"), ("b", "1")]
    edits = compare(twins, [("a", "1"), ("a", "3"), ("b", "1")], ("name", "value"))
    assert [(edit.row, edit.places) for edit in edits] == [("a, row 2", (1, 1))]


def plan_of(old: list[tuple[str, ...]], new: list[tuple[str, ...]], *lines: str) -> tuple[int, int, int]:
    """Return the number of planned, unplanned and missing edits."""
    data = DataFiles({"data/d.csv": to_csv(old)}, {"data/d.csv": to_csv(new)})
    edits = data.list_edits()
    plan = EditPlan.of_tree({"edits": list(lines)})
    planned, others = plan.split(edits, data)
    return len(planned), len(others), len(list(plan.missing(edits, data)))


def test_a_planned_edit_is_that_of_its_cell() -> None:
    new = [*ROWS[:1], ("north", "rye", "late", "9", "4"), *ROWS[2:]]
    assert plan_of(ROWS, new, "data/d.csv[north, rye, late, demand] = 9") == (1, 0, 0)
    # The same value in another row, the same cell with another value, and a label that names several rows.
    assert plan_of(ROWS, new, "data/d.csv[north, rye, early, demand] = 9") == (0, 1, 1)
    assert plan_of(ROWS, new, "data/d.csv[north, rye, late, demand] = 8") == (0, 1, 1)
    assert plan_of(ROWS, new, "data/d.csv[north, rye, late, price] = 9") == (0, 1, 1)
    # The same cell of another file, and of the same file by the end of its path.
    assert plan_of(ROWS, new, "data/e.csv[north, rye, late, demand] = 9") == (0, 1, 1)
    assert plan_of(ROWS, new, "d.csv[north, rye, late, demand] = 9") == (1, 0, 0)


def test_a_planned_cell_of_a_new_row_or_column_is_found_in_the_new_file() -> None:
    """The names of the rows are numbers, which the plan does not give."""
    old = b"no,good,shift,price\n1,rye,late,4\n2,oat,late,6\n"
    for new, line in (
        (old + b"3,rye,noon,8\n", "d.csv[rye, noon, price] = 8"),
        (b"no,good,shift,price,limit\n1,rye,late,4,\n2,oat,late,6,9\n", "d.csv[oat, late, limit] = 9"),
        (old.replace(b"4", b"5"), "d.csv[rye, late, price] = 5"),
        (old.replace(b"2,oat,late,6\n", b""), "d.csv[oat, late, price] = "),
    ):
        data = DataFiles({"d.csv": old}, {"d.csv": new})
        edits = data.list_edits()
        planned, _ = EditPlan.of_tree({"edits": [line]}).split(edits, data)
        column = line.partition("]")[0].rpartition(", ")[2]
        assert [(edit.column, edit.after or "") for edit in planned] == [(column, line.rpartition("= ")[2])]
        assert list(EditPlan.of_tree({"edits": [line]}).missing(edits, data)) == []


def test_a_planned_cell_is_that_of_its_table() -> None:
    edits = [
        CellEdit(path="d.db", table=table, row="a", column="v", before="1", after="2", places=(0, 0))
        for table in ("T", "U")
    ]
    plan = EditPlan.of_tree({"edits": ["d.db#U[a, v] = 2", "d.db#V[a, v] = 2"]})
    planned, others = plan.split(edits, DataFiles({}, {}))
    assert ([edit.table for edit in planned], [edit.table for edit in others]) == (["U"], ["T"])


def test_a_planned_figure_covers_its_unit_and_must_have_its_value() -> None:
    head = "Parameter_Name,Value,Unit,Context_Description\n"
    data = DataFiles(
        {"data/general_parameters.csv": f"{head}milk,5,l,\n".encode()},
        {"data/general_parameters.csv": f"{head}milk,5,l,\nwater,7,l,for all\n".encode()},
    )
    edits = data.list_edits()
    for value, missing in (("7", 0), ("8", 1)):
        plan = EditPlan.of_tree({"data": [{"name": "water", "value": value, "unit": "l", "meaning": "for all"}]})
        planned, _ = plan.split(edits, data)
        assert ({edit.column for edit in planned} >= {"Unit"}, len(list(plan.missing(edits, data)))) == (True, missing)


def test_former_values_are_restored_by_place() -> None:
    """A new row among equal labels, and a changed figure: the former values go back to the same row."""
    old = to_csv(ROWS)
    new = to_csv([("south", "rye", "early", "1", "1"), *ROWS[:4], ("south", "rye", "early", "70", "9"), ROWS[5]])
    contents = DataFiles({"data/d.csv": old}, {"data/d.csv": new}).former_contents([])
    assert contents["data/d.csv"] == to_csv([("south", "rye", "early", "1", "1"), *ROWS])


def test_rows_of_a_database_are_matched_by_their_primary_key(tmp_path: Path) -> None:
    contents = []
    for number, rows in enumerate(([(7, "a", 1), (8, "a", 2), (9, "a", 3)], [(9, "a", 1), (7, "a", 1), (8, "b", 5)])):
        database = sqlite3.connect(tmp_path / f"{number}.db")
        database.execute("CREATE TABLE t (code INTEGER, name TEXT, amount REAL, PRIMARY KEY (code))")
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        database.commit()
        database.close()
        contents.append((tmp_path / f"{number}.db").read_bytes())
    edits = list_edits({"d.db": contents[0]}, {"d.db": contents[1]})
    assert {(edit.row, edit.column, edit.before, edit.after) for edit in edits} == {
        ("8", "name", "a", "b"), ("8", "amount", "2", "5"), ("9", "amount", "3", "1"),
    }  # fmt: skip


def test_two_notations_of_a_number_do_not_hide_the_row() -> None:
    new = [(*row[:3], f"{row[3]}.0", row[4]) for row in ROWS]
    assert compare(ROWS, new) == []
    new[4] = ("south", "rye", "early", "7.5", "9.0")
    assert found(compare(ROWS, new)) == {(4, "demand", "7", "7.5")}


@pytest.mark.parametrize("rows", [[], ROWS[:1]])
def test_short_tables(rows: list[tuple[str, ...]]) -> None:
    edits = compare(ROWS, rows)
    assert len({edit.places for edit in edits}) == len(ROWS) - len(rows)
    assert all(edit.after is None for edit in edits)


def test_changed_coefficients_have_their_values_before_and_after(tmp_path: Path) -> None:
    text = "Maximize\n obj: 3 Rye + 2 Oat\nSubject To\n Hours: Rye - 2 Oat {} 8\n Store: {}Rye + Oat <= 6\nEnd\n"
    (tmp_path / "old.lp").write_text(text.format("<=", "3 "))
    (tmp_path / "new.lp").write_text(text.format(">=", "-1.5 ").replace("- 2 Oat", ""))
    with open_state(tmp_path, str(tmp_path / "old.lp")) as old, open_state(tmp_path, str(tmp_path / "new.lp")) as new:
        entries = compare_models(old, new).entries
    terms = [term for entry in entries if entry.of == "coefficients" for term in entry.largest]
    assert sorted(terms) == [("Hours, Oat", -2.0, 0.0), ("Store, Rye", 3.0, -1.5)]
    assert [entry.largest for entry in entries if entry.of == "relations"] == [(("Hours", None, None),)]
    assert not any("none" in describe_entry(entry) for entry in entries)


def test_rows_without_much_in_common_are_removed_and_added() -> None:
    header = ("name", "amount", "unit")
    edits = compare([("A", "5", "kg")], [("Z", "9", "kg")], header)
    assert {(edit.row, edit.column, edit.before, edit.after) for edit in edits} == {
        ("A", "amount", "5", None), ("A", "unit", "kg", None), ("Z", "amount", None, "9"), ("Z", "unit", None, "kg"),
    }  # fmt: skip
    edits = compare([("A", "5", "kg", "x")], [("Z", "9", "kg", "x")], (*header, "note"))
    assert {(edit.row, edit.column, edit.before, edit.after) for edit in edits} == {
        ("kg", "name", "A", "Z"), ("kg", "amount", "5", "9"),
    }  # fmt: skip


def test_a_row_without_labels_is_named_by_its_number() -> None:
    edits = compare([("", "1"), ("b", "2")], [("", "3"), ("b", "2")], ("name", "value"))
    assert [(edit.row, edit.before, edit.after) for edit in edits] == [("row 1", "1", "3")]


def test_new_and_removed_files_and_files_that_are_no_tables() -> None:
    table, text = to_csv(ROWS[:1]), b"some text"
    same = {"0.csv": table, "m.txt": text}
    edits = list_edits(same | {"a.csv": table, "n.txt": text}, same | {"b.csv": table, "n.txt": b"other text"})
    assert {edit.path for edit in edits} == {"a.csv", "b.csv", "n.txt"}
    by_path = {path: [edit for edit in edits if edit.path == path] for path in ("a.csv", "b.csv", "n.txt")}
    assert [(edit.before, edit.after) for edit in by_path["a.csv"]] == [(cell, None) for cell in ROWS[0][1:]]
    assert [(edit.before, edit.after) for edit in by_path["b.csv"]] == [(None, cell) for cell in ROWS[0][1:]]
    assert [(edit.row, edit.column, edit.before) for edit in by_path["n.txt"]] == [("", "", None)]


def test_former_contents_are_those_of_the_former_files() -> None:
    old, new = to_csv(ROWS), to_csv([*ROWS[:5], ("south", "oat", "late", "60", "3")])
    gone = DataFiles({"a.csv": old, "b.csv": old}, {"a.csv": new}).former_contents([])
    assert gone == {"a.csv": old, "b.csv": old}
    gone = DataFiles({"a.csv": old, "b.csv": old}, {"b.csv": new}).former_contents([])
    assert gone == {"a.csv": old, "b.csv": old}
    # A file that gains a row keeps it, and a new file has no former contents.
    more = to_csv([*ROWS[:5], ("south", "oat", "late", "60", "3"), ("x", "y", "z", "1", "2")])
    both = DataFiles({"a.csv": old, "b.csv": old}, {"a.csv": more, "b.csv": new, "c.csv": old}).former_contents([])
    assert both == {"a.csv": to_csv([*ROWS, ("x", "y", "z", "1", "2")]), "b.csv": old, "c.csv": old}
    texts = DataFiles({"n.txt": b"one"}, {"n.txt": b"two", "new.txt": b"1", "new.parquet": b"2"}).former_contents([])
    assert texts == {"n.txt": b"one", "new.txt": b"1", "new.parquet": b"2"}
    changes = [read_change("a.csv[south, oat, late, price] = 9")]
    contents = DataFiles({"a.csv": old}, {"a.csv": new}).former_contents(changes)
    assert contents["a.csv"] == to_csv([*ROWS[:5], ("south", "oat", "late", "6", "9")])
    with pytest.raises(WorkspaceError):
        DataFiles({"a.csv": old}, {"a.csv": new}).former_contents([read_change("c.csv[a, b] = 9")])
    # A row that was removed has no place in the new file, beside a new one.
    with pytest.raises(WorkspaceError):
        DataFiles({"a.csv": old}, {"a.csv": to_csv([*ROWS[1:], ("x", "y", "z", "1", "2")])}).former_contents([])


def test_thousands_and_decimals_are_the_same_numbers() -> None:
    rows = [("a", "1000", "2"), ("b", "1,000", "3"), ("c", "1000.0", "4")]
    again = [("c", "1,000", "4.0"), ("b", "1000", "3"), ("a", "1,000.00", "2")]
    assert compare(rows, again, ("name", "value", "other")) == []


def test_a_text_plan_is_read_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "plan.txt").write_text("# edits\n\ndata/d.csv[north, rye, late, demand] = 9\n")
    plan = EditPlan.read(tmp_path / "plan.txt")
    assert [(edit.path, edit.row, edit.column, edit.value) for edit in plan.planned] == [
        ("data/d.csv", "north, rye, late", "demand", "9")
    ]


@pytest.mark.parametrize(
    ("text", "planned"),
    [
        ('{"edits": ["data/d.csv[rye, demand] = 9"]}', [("data/d.csv", "rye", "demand", "9", False)]),
        ('{"data": [{"name": " water ", "value": 7}]}', [(FIGURES, "water", "", "7", True)]),
        ('{"data": [{"path": "a.csv", "row": "x", "name": "y", "value": null, "column": "c"}], "edits": [3]}', [("a.csv", "x", "c", "", False)]),
        ("{}", []), ('{"data": [], "edits": {}}', None), ('{"data": 5}', None), ("[]", None), ('"data"', None),
    ],
)  # fmt: skip
def test_a_plan_in_json_is_an_object_with_lists(tmp_path: Path, text: str, planned: list[tuple] | None) -> None:
    (tmp_path / "plan.json").write_text(text)
    if planned is None:
        with pytest.raises(WorkspaceError):
            EditPlan.read(tmp_path / "plan.json")
        return
    plan = EditPlan.read(tmp_path / "plan.json")
    assert [(edit.path, edit.row, edit.column, edit.value, edit.is_figure) for edit in plan.planned] == planned


def test_cells_that_follow_by_name_only_are_matched_by_name() -> None:
    """The plan names a new row, which no version had when it was written, without a column."""
    added = ("south", "rye", "noon", "8", "1")
    plan = EditPlan.of_tree({"edits": [{"path": "data/d.csv", "row": "south, rye, noon"}]})
    data = DataFiles({"data/d.csv": to_csv(ROWS)}, {"data/d.csv": to_csv([*ROWS, added])})
    planned, others = plan.split(data.list_edits(), data)
    assert (len(planned), len(others), list(plan.missing(data.list_edits(), data))) == (4, 0, [])


def test_rows_with_one_label_are_paired_once_each() -> None:
    header = ("name", "amount", "unit")
    old = [("a", "1", "x"), ("a", "2", "x"), ("b", "7", "y")]
    edits = compare(old, [("a", "9", "x"), ("a", "8", "x")], header)
    assert found(edits) == {
        (0, "amount", "1", "9"), (1, "amount", "2", "8"), (2, "amount", "7", None), (2, "unit", "y", None),
    }  # fmt: skip


@pytest.mark.parametrize("count", [2, 8, 9, 12])
def test_up_to_eight_exchanged_figures_are_edits_and_more_are_moved_rows(count: int) -> None:
    rows = [("a", str(number)) for number in range(count)]
    edits = compare(rows, [*rows[1:], rows[0]], ("name", "value"))
    assert len(edits) == (count if count <= 8 else 0)


@pytest.mark.parametrize(
    ("old", "new", "pairs"),
    [
        # By the one column that has the same cells, in tables of different lengths.
        ([("a", "1"), ("b", "2")], [("b", "9"), ("a", "8"), ("c", "7")], {(0, 1), (1, 0), (None, 2)}), ([("a", "1"), ("b", "2"), ("c", "3")], [("b", "9"), ("a", "8")], {(0, 1), (1, 0), (2, None)}),
        # By the first of two such columns, whose cells are in other rows together.
        ([("a", "1", "x"), ("b", "2", "y")], [("a", "9", "y"), ("b", "8", "x"), ("c", "7", "z")], {(0, 0), (1, 1), (None, 2)}),
        # By the first cell, whatever else changes.
        ([("a", "1", "x", "y")], [("a", "2", "z", "w")], {(0, 0)}), ([("1", "a", "x", "y")], [("2", "a", "z", "w")], {(0, None), (None, 0)}),
        # Rows with texts and numbers in a column of labels move; those with numbers only have other values.
        ([("k", "A", "1"), ("k", "5", "2")], [("k", "5", "2"), ("k", "A", "1")], {(0, 1), (1, 0)}), ([("k", "7", "1"), ("k", "5", "2")], [("k", "5", "2"), ("k", "7", "1")], {(0, 0), (1, 1)}),
        ([("k", "-", "1"), ("k", "5", "2")], [("k", "5", "2"), ("k", "-", "1")], {(0, 0), (1, 1)}), ([("7", "1"), ("5", "2")], [("5", "2"), ("7", "1")], {(0, 1), (1, 0)}),
        ([("7", "1"), ("7", "2")], [("7", "2"), ("7", "1")], {(0, 0), (1, 1)}), ([], [("a", "1")], {(None, 0)}), ([("a", "1")], [], {(0, None)}), ([], [], set()),
    ],
)  # fmt: skip
def test_rows_are_matched_by_labels_and_cells(old: list, new: list, pairs: set) -> None:
    matched = match_rows(old, new)
    assert set(matched) == pairs
    assert len(matched) == len(pairs)
    # The order of the former version, then the added rows.
    assert [pair[0] for pair in matched] == [*range(len(old)), *[None] * (len(matched) - len(old))]


@pytest.mark.parametrize("count", [5, 6, 7, 8])
def test_rows_without_a_partner_cost_all_their_cells(count: int) -> None:
    """In place: two cells of each row. Moved: six cells of the last row, which is removed and added, and eight more."""
    old = [*((str(at % 3), "k", str(at + 50)) for at in range(count)), ("100", "k", "7")]
    new = [*old[1:count], old[0], ("200", "k", "8")]
    differing = sum(a != b for row, other in zip(old, new, strict=True) for a, b in zip(row, other, strict=True))
    assert ((0, 0) in match_rows(old, new)) is (differing <= 6 + 8)


def test_rows_whose_labels_stay_are_the_same_whatever_else_changes() -> None:
    old = [(str(at % 5), "k", str(at + 20), str(at + 40)) for at in range(6)]
    new = [(str(at + 60), "k", str(at + 80), str(at + 100)) for at in range(6)]
    assert match_rows(old, new) == [(at, at) for at in range(6)]


def test_a_key_matches_rows_whatever_else_changes() -> None:
    assert match_rows([("a", "1"), ("b", "2")], [("b", "1"), ("c", "2")], [0]) == [(0, None), (1, 0), (None, 1)]
    assert match_rows([("a", "1"), ("b", "2")], [("b", "1"), ("c", "2")], [1]) == [(0, 0), (1, 1)]


@pytest.mark.parametrize("count", [19, 20, 21, 30])
def test_up_to_twenty_rows_with_one_label_are_matched_by_likeness(count: int) -> None:
    """A row before the others is removed: the rest are compared with each other, or in their order if they are many."""
    old = [("a", str(number), str(number * 7)) for number in range(count)]
    new = [("a", "99", old[1][2]), *(("a", row[1], f"{row[2]}1") for row in old[2:])]
    edits = compare(old, new, ("name", "x", "y"))
    by_likeness = {(1, "x", "1", "99"), *((at, "y", old[at][2], f"{old[at][2]}1") for at in range(2, count))}
    assert (by_likeness <= found(edits)) is (count <= 20)


def test_rows_in_their_places_that_share_half_of_their_cells_are_the_same() -> None:
    header = ("name", "n", "word", "end")
    edits = compare([("A", "1", "p", "q"), ("B", "2", "r", "s")], [("Z", "1", "p", "9"), ("C", "2", "t", "s")], header)
    assert found(edits) == {(0, "name", "A", "Z"), (0, "end", "q", "9"), (1, "name", "B", "C"), (1, "word", "r", "t")}


def test_rows_that_are_shorter_than_the_header_have_empty_cells() -> None:
    old, new = b"name,n,word\na,1\nb,2,x\n", b"name,n,word\na,1,y\nb,2,x\n"
    assert found(list_edits({"d.csv": old}, {"d.csv": new})) == {(0, "word", "", "y")}


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ("1", "1.0", True), ("1,5", "1.5", False), ("", None, True), (None, None, True), ("", "0", False), ("a", "A", False),
        ("1e3", "1000", True), ("x", "x", True), ("1", None, False),
    ],
)  # fmt: skip
def test_two_texts_are_the_same_if_they_are_one_number(old: str | None, new: str | None, is_same: bool) -> None:
    assert is_same_text(old, new) is is_same
    assert is_same_text(new, old) is is_same


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (3.0, "3"),
        (3.5, "3.5"),
        (-2.0, "-2"),
        (1e15, "1000000000000000.0"),
        (-1e15, "-1000000000000000.0"),
        (999999999999999.0, "999999999999999"),
        (7, "7"),
        ("x", "x"),
        (float("inf"), "inf"),
    ],
)
def test_a_typed_cell_as_text(value: object, text: str) -> None:
    assert cell_text(value) == text


def test_values_of_json_are_cells_down_to_eight_keys() -> None:
    tree = {"a": {"b": [1, {"c": "x"}], "d": None}, "e": True, "f": {}}
    assert [(keys, holder[key]) for keys, holder, key in list_json_cells(tree)] == [
        ("a, b, 0", 1), ("a, b, 1, c", "x"), ("a, d", None), ("e", True),
    ]  # fmt: skip
    deep: object = 5
    for at in range(10):
        deep = {f"k{at}": deep}
    ((keys, _, _),) = list_json_cells(deep)
    assert len(keys.split(", ")) == 8
    tables = read_text_tables("d.JSON", json.dumps(tree).encode())
    assert tables is not None
    assert tables[""].rows == (("a, b, 0", "1"), ("a, b, 1, c", "x"), ("a, d", "null"), ("e", "true"))
    assert read_text_tables("d.json", b"5") is None
    assert read_text_tables("d.txt", b"a,b\n1,2\n") is None


def test_repeated_columns_are_numbered_and_compared_by_their_place() -> None:
    header = ("site", "x", " x", "x ")
    old = [("a", "1", "2", "3"), ("b", "4", "5", "6")]
    new = [("a", "1", "2", "9"), ("b", "4", "7", "6")]
    assert found(compare(old, new, header)) == {(0, "x (3)", "3", "9"), (1, "x (2)", "5", "7")}
    # A column that has such a name already keeps it.
    header = ("site", "x (2)", "x", "x")
    assert found(compare(old, new, header)) == {(0, "x (3)", "3", "9"), (1, "x", "5", "7")}


def test_tables_of_the_last_files_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse = data_edits._parse_tables
    monkeypatch.setattr(data_edits, "_parse_tables", lambda path, content: parsed.append(path) or parse(path, content))
    data_edits._LAST_TABLES.clear()
    contents = {f"{at}.csv": f"a,b\nx,{at}\n".encode() for at in range(9)}
    for path in [*list(contents)[:8], "0.csv", "7.csv", "8.csv", "0.csv", "1.csv"]:
        read_text_tables(path, contents[path])
    # The ninth file takes the place of the one that was read longest ago.
    assert parsed == [*contents, "1.csv"]
    assert len(data_edits._LAST_TABLES) == 8


def test_formulas_that_follow_their_place_are_no_difference() -> None:
    """A row moves down by one: relative formulas stay the same, and one with another factor differs."""
    openpyxl = pytest.importorskip("openpyxl")

    def book(*rows: tuple[object, ...]) -> bytes:
        workbook = openpyxl.Workbook()
        for row in (("item", "kg", "price", "cost"), *rows):
            workbook.active.append(row)
        out = io.BytesIO()
        workbook.save(out)
        return out.getvalue()

    # The saved value is missing in both versions, and only one has a formula.
    plain, computed = book(("rye", 5, 2, None)), book(("rye", 5, 2, "=B2*C2"))
    for first, second, texts in ((plain, computed, ("", "=B2*C2")), (computed, plain, ("=B2*C2", ""))):
        edits = list_edits({"d.xlsx": first}, {"d.xlsx": second})
        assert [(edit.row, edit.column, edit.before, edit.after) for edit in edits] == [("rye", "cost", *texts)]
    old = book(("rye", 5, 2, "=B2*C2"), ("oat", 7, 3, "=B3*C3"))
    new = book(("emmer", 1, 1, "=B2*C2"), ("rye", 5, 2, "=B3*C3"), ("oat", 7, 3, "=B4*C4*2"))
    edits = list_edits({"d.xlsx": old}, {"d.xlsx": new})
    assert {(edit.row, edit.column, edit.before, edit.after) for edit in edits if "oat" in (edit.row or "")} == {
        ("oat", "cost", "=B3*C3", "=B4*C4*2")
    }
    assert not [edit for edit in edits if edit.row == "rye"]
    assert {edit.column for edit in edits if edit.row == "emmer"} >= {"kg", "price"}


def state_with(folder: Path, files: dict[str, bytes]) -> FolderState:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return FolderState(folder.name, "1234", folder, read_settings(folder, NO_OPTIONS))


def test_an_audit_lists_cells_other_files_and_what_was_not_made(tmp_path: Path) -> None:
    table = to_csv([("a", "1"), ("b", "2")], ("name", "price"))
    changed = to_csv([("a", "7"), ("b", "3")], ("name", "price"))
    same = {"src/main.py": b"old", "data/same.csv": table}
    old = state_with(tmp_path / "old", same | {"data/t.csv": table, "data/photo.bin": b"\0\1"})
    new = state_with(tmp_path / "new", same | {"src/main.py": b"new", "data/t.csv": changed, "data/photo.bin": b"\0\2"})
    first, second = "data/t.csv[a, price] = 7", "data/t.csv[b, price] = 3"
    photo = {"path": "data/photo.bin", "row": ""}
    for lines, planned, missing, is_right in (
        (None, [None, None], (), True),
        ([first, second, photo], [True, True], (), True),
        ([first, second], [True, True], (), False),
        ([first, photo], [True, False], (), False),
        ([first, second, photo, "data/t.csv[a, price] = 8"], [True, True], ("data/t.csv[a, price] = 8",), False),
        ([], [False, False], (), False),
    ):
        plan = None if lines is None else EditPlan.of_tree({"edits": lines})
        result = audit_edits(old, new, plan)
        assert [(edit.row, edit.before, edit.after) for edit in result.edits] == [("a", "1", "7"), ("b", "2", "3")]
        assert [edit.planned for edit in result.edits] == planned
        assert (result.files, result.missing, result.ok) == (("data/photo.bin",), missing, is_right)
        assert [(side.name, side.commit) for side in (result.old, result.new)] == [("old", "1234"), ("new", "1234")]


def test_data_are_the_files_of_their_folder_or_named_or_all_tables(tmp_path: Path) -> None:
    files = {
        ".git/t.csv": b"a",
        "~$t.csv": b"a",
        "src/main.py": b"1",
        "main.json": b"{}",
        "deep/t.csv": b"a,b\n",
        "u.XLSX": b"",
        "notes.md": b"#",
    }
    state = state_with(tmp_path / "a", files)
    assert set(list_data(state)) == {"main.json", "deep/t.csv", "u.XLSX"}
    assert set(list_data(state, ["*.md", "deep/*"])) == {"notes.md", "deep/t.csv"}
    chosen = FolderState(".", "", state.folder, state.settings, "main.json")
    assert set(list_data(chosen)) == {"deep/t.csv", "u.XLSX"}
    assert set(list_data(chosen, ["*"])) == {"src/main.py", "deep/t.csv", "u.XLSX", "notes.md"}
    within = state_with(tmp_path / "b", files | {"data/x.txt": b"x", "data/deep/y.csv": b"y"})
    assert set(list_data(within)) == {"data/x.txt", "data/deep/y.csv"}


def test_files_that_are_data_in_one_state_are_compared_in_both(tmp_path: Path) -> None:
    old = state_with(tmp_path / "old", {"t.csv": b"a,b\nx,1\n", "same.csv": b"a,b\nx,1\n", "only.csv": b"a,b\nx,1\n"})
    new = state_with(tmp_path / "new", {"t.csv": b"a,b\nx,2\n", "same.csv": b"a,b\nx,1\n", "data/u.csv": b"a,b\nx,1\n"})
    data = DataFiles.between(old, new)
    assert (set(data.old), set(data.new)) == ({"t.csv", "only.csv"}, {"t.csv", "data/u.csv"})
    assert data.new["t.csv"] == b"a,b\nx,2\n"
    # Patterns count if both states have some; otherwise the usual data files are compared.
    put(old.folder, {"notes/n.txt": "1", "data/d.csv": "1"})
    put(new.folder, {"notes/n.txt": "2", "data/d.csv": "22"})
    patterns = ("notes/*", "data/d*")
    named = [
        replace(each, settings=replace(each.settings, data=(data,)))
        for each, data in zip((old, new), patterns, strict=True)
    ]
    assert set(DataFiles.between(*named).new) == {"notes/n.txt", "data/d.csv"}
    assert set(DataFiles.between(old, named[1]).new) == {"data/d.csv", "data/u.csv"}


@pytest.mark.parametrize(
    ("planned", "edit", "is_matching"),
    [
        ({}, {}, True),
        ({"path": "d.csv"}, {}, True),
        ({"path": "other.csv"}, {}, False),
        ({"path": ".csv"}, {}, False),
        ({"row": "b"}, {}, False),
        ({"row": "A"}, {"row": "a, x"}, True),
        ({"row": "a, x"}, {"row": "a"}, True),
        ({"row": "a"}, {"row": "ax"}, False),
        ({"row": "ax"}, {"row": "a"}, False),
        ({"table": "T"}, {"table": "t"}, True),
        ({"table": "T"}, {"table": "u"}, False),
        ({"table": "T"}, {}, True),
        ({}, {"table": "u"}, True),
        ({"column": "Price"}, {}, True),
        ({"column": "cost"}, {}, False),
        ({"value": "2.0"}, {}, True),
        ({"value": "3"}, {}, False),
        ({"value": "2,5"}, {"after": "2.5"}, True),
        ({"value": "2,500"}, {"after": "2500"}, True),
        ({"value": "2,500"}, {"after": "2.5"}, False),
        ({"value": ""}, {"after": "9"}, True),
        ({"column": ""}, {}, False),
        ({"column": "", "is_figure": True}, {}, True),
        ({"column": ""}, {"before": None}, True),
        ({"column": ""}, {"after": None}, True),
        ({"row": "b"}, {"row": ""}, True),
        ({"path": "d.json", "column": "c"}, {"path": "d.json", "row": "a, C", "column": "value"}, True),
        ({"path": "d.json", "column": "c", "value": "3"}, {"path": "d.json", "row": "a, c", "column": "value"}, False),
        ({"column": "c"}, {"row": "a, c", "column": "value"}, False),
    ],
)
def test_an_edit_is_planned_if_its_names_and_its_value_are(planned: dict, edit: dict, is_matching: bool) -> None:
    plan = {"path": "data/d.csv", "row": "a", "column": "price", "value": "2"} | planned
    made = {"path": "data/d.csv", "row": "a", "column": "price", "before": "1", "after": "2"} | edit
    if planned.get("path", "").endswith("d.json"):
        made["path"] = f"data/{made['path']}"
    assert PlannedEdit(**plan).matches(CellEdit(**made)) is is_matching


def test_neutral_values_are_numbers_of_cells_that_exist(tmp_path: Path) -> None:
    files = {
        "data/d.csv": to_csv([("a", "1"), ("b", "2")], ("name", "price")),
        "data/n.csv": b"no,a,b,price\n1,x,y,5\n",
    }
    state = state_with(tmp_path, files)
    cell = {"path": "data/d.csv", "row": "a", "column": "price"}
    edits = [
        cell | {"neutral": "0,5"},
        cell | {"row": "b", "neutral": "-1e3"},
        cell | {"neutral": "none"},
        cell | {"neutral": ""},
        cell | {"row": "c", "neutral": "1"},
        cell | {"path": "data/e.csv", "neutral": "1"},
        {"path": "data/n.csv", "row": "x, y", "column": "price", "neutral": "0"},
    ]
    changes = EditPlan.of_tree({"edits": edits}).neutral_cells(state.folder)
    assert [(change.cell.row, change.cell.column, change.value) for change in changes] == [
        (("a",), "price", "0.5"), (("b",), "price", "-1e3"), (("x", "y"), "price", "0"),
    ]  # fmt: skip
