"""Workbooks are read as their cells, with formulas, merged ranges and decimal commas, within limits."""

import csv
import io
import zipfile
from collections.abc import Sequence
from datetime import datetime, time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base import spreadsheets
from oragent._base.errors import TableError
from oragent._base.spreadsheets import has_merged_cells, read_workbook, safe_cell, workbook_text
from oragent._base.table_files import parse

openpyxl = pytest.importorskip("openpyxl")


def save(rows: Sequence[Sequence[Any]], *merged: str, **others: Sequence[Sequence[Any]]) -> bytes:
    """A workbook with a sheet "first" and others."""
    book = openpyxl.Workbook()
    book.active.title = "first"
    for title, content in {"first": rows, **others}.items():
        sheet = book[title] if title == "first" else book.create_sheet(title)
        for at, row in enumerate(content, 1):
            for column, value in enumerate(row, 1):
                sheet.cell(at, column, value)
    for cells in merged:
        book["first"].merge_cells(cells)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def read(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(workbook_text(content))))


@given(top=st.integers(2, 4), left=st.integers(0, 2), height=st.integers(1, 3), width=st.integers(1, 3))
def test_a_merged_range_has_its_value_in_each_cell(top: int, left: int, height: int, width: int) -> None:
    rows = [["a", "b", "c", "d", "e"], *([f"{at}{column}" for column in range(5)] for at in range(1, 7))]
    bottom, right = top + height - 1, left + width - 1
    name = f"{'ABCDE'[left]}{top + 1}:{'ABCDE'[right]}{bottom + 1}"
    content = save(rows, *([name] if (height, width) != (1, 1) else []))
    assert has_merged_cells(content) is ((height, width) != (1, 1))
    expected = [
        [
            rows[top][left] if top <= at <= bottom and left <= column <= right else cell
            for column, cell in enumerate(row)
        ]
        for at, row in enumerate(rows)
    ]
    assert read(content) == expected


@pytest.mark.parametrize(
    ("merged", "expected"),
    [
        # A title stays single. A heading is not repeated to the right, as it is joined with the line below it.
        ("A1:C1", [["Plan", "", ""], ["s", "Mon", ""], ["", "am", "pm"], ["x", "1", "2"]]),
        ("B2:C2", [["Plan", "", ""], ["s", "Mon", ""], ["", "am", "pm"], ["x", "1", "2"]]),
        # A heading above both lines has its value in both.
        ("A2:A3", [["Plan", "", ""], ["s", "Mon", ""], ["s", "am", "pm"], ["x", "1", "2"]]),
        ("A5:B6", [["Plan", "", ""], ["s", "Mon", ""], ["", "am", "pm"], ["x", "1", "2"]]),
        ("D4:E4", [["Plan", "", ""], ["s", "Mon", ""], ["", "am", "pm"], ["x", "1", "2"]]),
        # Ranges beyond the cells end at them.
        ("B4:F9", [["Plan", "", ""], ["s", "Mon", ""], ["", "am", "pm"], ["x", "1", "1"]]),
    ],
)
def test_merged_headings(merged: str, expected: list[list[str]]) -> None:
    rows = [["Plan", None, None], ["s", "Mon", None], [None, "am", "pm"], ["x", 1, None if merged == "B4:F9" else 2]]
    content = save(rows)
    # The ranges of a file need not be those that a program would write.
    found = read(add_range(content, merged))
    assert [row[:3] for row in found] == expected


def test_a_range_in_the_titles_leaves_the_others_filled() -> None:
    content = save([["Plan", None, None], ["s", "a", "b"], ["x", 1, 2], [None, 3, 4]])
    found = read(add_range(content, 'A1:C1"/><mergeCell ref="Z1:Z2"/><mergeCell ref="A3:A4'))
    assert found[0] == ["Plan", "", ""]
    assert found[3] == ["x", "3", "4"]


def add_range(content: bytes, name: str) -> bytes:
    ranges = f'</sheetData><mergeCells><mergeCell ref="{name}"/></mergeCells>'
    return change_sheet(content, b"</sheetData>", ranges.encode())


def change_sheet(content: bytes, old_text: bytes, new_text: bytes) -> bytes:
    """The workbook with another text in the file of its first sheet."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for member in old.namelist():
            data = old.read(member)
            new.writestr(member, data.replace(old_text, new_text) if member == "xl/worksheets/sheet1.xml" else data)
    return out.getvalue()


def test_a_formula_has_the_value_that_was_saved_with_it() -> None:
    content = save([["a", "b"], [1, "=A2*2"]])
    saved = change_sheet(content, b"<f>A2*2</f><v></v>", b"<f>A2*2</f><v>2</v>")
    saved = change_sheet(saved, b"<f>A2*2</f><v />", b"<f>A2*2</f><v>2</v>")
    assert saved != content
    assert read(saved) == [["a", "b"], ["1", "2"]]
    grid = read_workbook(saved).sheets["first"]
    assert (grid.values[1][1], grid.formulas[1][1]) == (2, "=A2*2")


@pytest.mark.parametrize(("limit", "is_filled"), [(5, False), (6, True)])
def test_merged_ranges_are_filled_up_to_a_number_of_cells(
    limit: int, is_filled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [["k", "a", "b"], [None, "x", None], [None, None, None], [None, None, "y"]]
    content, grid = save(rows, "B2:C4"), [list(row) for row in rows]
    monkeypatch.setattr(spreadsheets, "MAX_CELLS", limit)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        spreadsheets._fill_merged(grid, archive.read("xl/worksheets/sheet1.xml"))
    assert (grid[3][1] == "x") is is_filled
    assert grid[2] == [None, "x", "x"]


def test_merged_ranges_have_a_largest_number(monkeypatch: pytest.MonkeyPatch) -> None:
    content = save([["a", "b"], ["x", None], ["y", None], [None, "z"]], "A2:B2", "A3:B3")
    assert read(content) == [["a", "b"], ["x", "x"], ["y", "y"], ["", "z"]]
    monkeypatch.setattr(spreadsheets, "MAX_MERGED", 1)
    assert sum(row[0] == row[1] for row in read(content)) == 1


def test_a_formula_without_a_value_stays_a_formula() -> None:
    content = save([["a", "b", "c"], [1, "=A2*2", "=text"], [3, None, "x"]], second=[["k", "v"], ["x", 1]])
    found = read_workbook(content)
    assert list(found.sheets) == ["first", "second"]
    assert found.sheets["second"].formulas is None
    assert found.sheets["first"].formulas[1] == [1, "=A2*2", "=text"]
    text = workbook_text(content)
    assert "1,=A2*2,=text\n3,,x\n" in text
    assert [line for line in text.splitlines() if "===" in line] == [
        f"{spreadsheets.SHEET}first",
        f"{spreadsheets.SHEET}second",
    ]
    tables = parse(content, ".xlsx")
    assert [(table.name, table.header) for table in tables] == [("first", ("a", "b", "c")), ("second", ("k", "v"))]
    assert tables[1].rows == (("x", 1),)


def test_names_of_a_workbook_and_of_its_sheets() -> None:
    book = openpyxl.Workbook()
    book.active.title = "First"
    book.active.append(["a"])
    book.defined_names["Rate"] = openpyxl.workbook.defined_name.DefinedName("Rate", attr_text="First!$A$1")
    book.active.defined_names["Own"] = openpyxl.workbook.defined_name.DefinedName("Own", attr_text="First!$A$2")
    out = io.BytesIO()
    book.save(out)
    assert read_workbook(out.getvalue()).names == {("", "rate"): "First!$A$1", ("First", "own"): "First!$A$2"}


def test_rows_of_a_sheet_have_the_same_length() -> None:
    content = save([["a", "b", "c"], [1], [1, 2]])
    assert [len(row) for row in read_workbook(content).sheets["first"].values] == [3, 3, 3]


def test_typed_decimal_commas_are_numbers_beside_cells_with_numbers() -> None:
    found = read(save([["a", "b", "c"], ["1.250,50", "1,5", 2.5], ["3,5", "2,5", "x"], [7.25, "y", None]]))
    assert found == [["a", "b", "c"], ["1250.50", "1,5", "2.5"], ["3.5", "2,5", "x"], ["7.25", "y", ""]]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e15, "1000000000000000.0"), (1e15 - 1, "999999999999999"), (-3.0, "-3"), (-1e16, "-1e+16"), (2.5, "2.5"), (True, "TRUE"), (time(3, 4), "03:04:00"),
        (datetime(2026, 1, 2), "2026-01-02"), (datetime(2026, 1, 2, 3), "2026-01-02 03:00:00"), (" a\nb ", "a b"), (None, ""),
    ],
)  # fmt: skip
def test_cells_are_texts(value: Any, text: str) -> None:
    assert spreadsheets._cell_text(value) == text


@pytest.mark.parametrize(("limit", "is_read"), [(6, True), (5, False)])
def test_a_workbook_has_a_largest_number_of_cells(limit: int, is_read: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    content = save([["a", "b", "c"], [1, 2, 3]])
    monkeypatch.setattr(spreadsheets, "MAX_CELLS", limit)
    if is_read:
        assert read_workbook(content)
    else:
        with pytest.raises(TableError):
            read_workbook(content)
    monkeypatch.setattr(spreadsheets, "MAX_CELLS", 100)
    monkeypatch.setattr(spreadsheets, "MAX_ROWS", limit - 4)
    if is_read:
        assert read_workbook(content)
    else:
        with pytest.raises(TableError):
            read_workbook(content)


def test_gaps_of_short_rows_count_as_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    content = save([["a"], [None, None, "c"]])
    monkeypatch.setattr(spreadsheets, "MAX_CELLS", 5)
    with pytest.raises(TableError):
        read_workbook(content)
    monkeypatch.setattr(spreadsheets, "MAX_CELLS", 6)
    assert read_workbook(content)


def zipped(**members: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "/"), text)
    return out.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"", b"PK\x03\x04", zipped(other="x"), zipped(**{"xl__workbook.xml": "<workbook/>"}),
        zipped(**{"xl__workbook.xml": "<!DOCTYPE x><workbook/>"}), save([[None]]),
    ],
)  # fmt: skip
def test_what_is_no_workbook_is_refused(content: bytes) -> None:
    with pytest.raises(TableError) as caught:
        workbook_text(content)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("place", [0, 4080, 4096])
def test_entities_at_the_beginning_of_a_part_are_refused(place: int) -> None:
    content = zipped(**{"xl__workbook.xml": " " * place + "<!ENTITY x>", "xl__sheet.xml": "<x/>"})
    with pytest.raises(TableError) as caught:
        spreadsheets._require_bounded(content)
        raise TableError("entities beyond the beginning")
    assert ("entities beyond" in str(caught.value)) is (place == 4096)


def test_an_unpacked_workbook_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    content = zipped(**{"xl__workbook.xml": "x" * 60, "other": "y" * 40})
    monkeypatch.setattr(spreadsheets, "MAX_XML_BYTES", 100)
    spreadsheets._require_bounded(content)
    monkeypatch.setattr(spreadsheets, "MAX_XML_BYTES", 99)
    with pytest.raises(TableError):
        spreadsheets._require_bounded(content)


@pytest.mark.parametrize(
    ("text", "safe"),
    [("=1", "'=1"), ("-1", "'-1"), ("+a", "'+a"), ("@a", "'@a"), ("1-", "1-"), ("\t=1", "'=1"), ("", "")],
)
def test_cells_are_no_formulas(text: str, safe: str) -> None:
    assert safe_cell(text) == safe
