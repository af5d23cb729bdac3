"""Texts of tables that a writer makes are read as the writer's data, whatever separator, quotes, gaps and totals it has."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.table_dialects import RawRow, clean_rows, find_header, find_separator, plain_number, split_rows
from oragent._base.table_files import parse_text

SEPARATORS = [",", ";", "\t", "|"]
# Texts that hold every separator, quotes and line ends; none is a number or a missing value.
WORDS = st.text(alphabet="abcdé ,;|\t\"'\n", min_size=1, max_size=8).filter(lambda text: text.strip(" \t\n,;|\"'"))


def write(rows: list[list[str]], separator: str, quoting: int = csv.QUOTE_MINIMAL) -> str:
    """The text that Python's writer makes."""
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\n", quoting=quoting).writerows(rows)
    return text.getvalue()


@given(
    separator=st.sampled_from(SEPARATORS),
    columns=st.integers(2, 4),
    count=st.integers(3, 6),
    data=st.data(),
)
def test_the_separator_of_a_written_table_is_found(
    separator: str, columns: int, count: int, data: st.DataObject
) -> None:
    plain = st.text(alphabet="abcd", min_size=1, max_size=5)
    rows = [[data.draw(plain) for _ in range(columns)] for _ in range(count)]
    # One cell holds separators within quotes.
    rows[-1][0] = "a, b; c|d"
    assert find_separator(write(rows, separator)) == separator


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        # Both split each line in two: the header tells.
        ("item;cost, EUR\nrye;1,5\noats;2,25\n", ";"),
        ("item,cost; EUR\nrye,1.5\noats,2.25\n", ","),
        # The character with the same count in most lines, not the one with most cells in one.
        ("a;b\n1,5;2\n3;4\n5,1,2;6\n7;8\n", ";"),
        # Empty lines and a title say nothing.
        ("Stock, in tons\n\na;b;c\n1;2;3\n4;5;6\n7;8;9\n", ";"),
        ("a|b|c\n1|2|3\n", "|"),
        # One column has none: the usual one.
        ("a\n1\n2\n", ","),
        ("", ","),
        # Of two that split all lines evenly, the one with more cells.
        ("a;b,c;d\n1;2,3;4\n5;6,7;8\n", ";"),
        (";;\na;b;c\n1;;2\n", ";"),
    ],
)
def test_separators_of_texts_with_several(text: str, separator: str) -> None:
    assert find_separator(text) == separator


@given(
    separator=st.sampled_from(SEPARATORS),
    rows=st.lists(st.lists(WORDS, min_size=2, max_size=2), min_size=1, max_size=4),
)
def test_cells_are_those_that_were_written(separator: str, rows: list[list[str]]) -> None:
    text = write(rows, separator, csv.QUOTE_ALL)
    assert [list(row.cells) for row in split_rows(text, separator)] == rows


def test_lines_and_gaps_are_counted() -> None:
    rows = split_rows('a,b\n\n1,"x\ny"\n2,z\n\n\n3,w\n', ",")
    assert [row.after_gap for row in rows] == [False, True, False, True]
    assert [row.cells[0] for row in rows] == ["a", "1", "2", "3"]
    lines = [row.line for row in rows]
    assert lines[0] == 1
    assert lines == sorted(lines)
    assert lines[-1] >= 8 - 1


@pytest.mark.parametrize(
    ("rows", "header"),
    [
        ([("Title", ""), ("a", "b"), ("1", "2")], 1),
        ([("a", "b"), ("1", "2")], 0),
        ([("Title", ""), ("of", ""), ("a", "b")], 2),
        # More titles than a table has: the first line is its header.
        ([("x", "")] * 30 + [("a", "b")], 0),
        ([("a",), ("b",)], 0),
    ],
)
def test_the_header_is_the_first_full_row_below_titles(rows: list[tuple[str, ...]], header: int) -> None:
    assert find_header([RawRow(cells, line) for line, cells in enumerate(rows, 1)]) == header


@pytest.mark.parametrize(
    ("text", "header", "count"),
    [
        # Only what an empty line parts from the table is a footnote.
        ("a,b\n1,2\n3,4\n\nsource: us,\n", ["a", "b"], 2),
        ("a,b\n1,2\n3,4\nlast,\n", ["a", "b"], 3),
        ("a,b\n1,2\n3,4\n\nsource: us,\nand them,\n", ["a", "b"], 2),
        # An empty column is left out, one with a single cell is not.
        ("a,,b\n1,,2\n3,,4\n", ["a", "b"], 2),
        ("a,c,b\n1,,2\n3,x,4\n", ["a", "c", "b"], 2),
        # Two lines of a header: gaps as merged cells leave them, filled below.
        ("site,Mon,,Tue\n,am,pm,\nx,1,2,3\ny,4,5,6\n", ["site", "Mon am", "Mon pm", "Tue"], 2),
        # Numbers below are rows.
        ("site,Mon,,Tue\nw,7,8,9\nx,1,2,3\ny,4,5,6\n", None, 3),
    ],
)
def test_what_is_no_row_is_left_out(text: str, header: list[str] | None, count: int) -> None:
    rows = clean_rows(split_rows(text, ","), [])
    assert len(rows) - 1 == count
    if header is not None:
        assert list(rows[0].cells) == header


@pytest.mark.parametrize(
    ("cell", "mark", "expected"),
    [
        ("1.234,5", ",", 1234.5), ("1,234.5", ".", 1234.5), ("-0,5", ",", -0.5), ("1 234,5", ",", 1234.5),
        ("1'234.5", ".", 1234.5), ("12", ",", 12), ("1,234,567", ".", 1234567),
    ],
)  # fmt: skip
def test_numbers_with_either_mark(cell: str, mark: str, expected: float) -> None:
    assert float(plain_number(cell, mark)) == expected


@pytest.mark.parametrize(("cell", "mark"), [("1.2.3", "."), ("x1", "."), ("1,2,3", ","), ("", ".")])
def test_what_is_no_number_stays(cell: str, mark: str) -> None:
    assert plain_number(cell, mark) == cell


def values(text: str, column: int = -1) -> list[object]:
    return [row[column] for row in parse_text(text).rows]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The last row holds the sums, and is named a total or has fewer names than the others.
        ("a,k,b\nx,u,4\ny,v,5\nz,w,6\nTotal,,15\n", [4, 5, 6]),
        ("a,k,b\nx,u,4\ny,v,5\nz,w,6\nTotal:,all,15\n", [4, 5, 6]),
        ("a,k,b\nx,u,4\ny,v,5\nz,w,6\n,,15\n", [4, 5, 6]),
        # It is a row like the others, or no sum.
        ("a,k,b\nx,u,4\ny,v,5\nz,w,6\nq,r,15\n", [4, 5, 6, 15]),
        ("a,k,b\nx,u,4\ny,v,5\nz,w,6\nTotal,,15.5\n", [4, 5, 6, 15.5]),
        ("a,k,b\nx,u,0\ny,v,0\nz,w,0\nTotal,,0\n", [0, 0, 0, 0]),
        # Every number must be the sum of its column.
        ("a,c,b\nx,1,4\ny,1,5\nz,1,6\nTotal,3,15\n", [4, 5, 6]),
        ("a,c,b\nx,1,4\ny,1,5\nz,1,6\nTotal,4,15\n", [4, 5, 6, 15]),
        ("a,b\nx,0.1\ny,0.2\nz,0.3\nTotal,0.6\n", [0.1, 0.2, 0.3]),
    ],
)
def test_a_row_of_sums_is_left_out(text: str, expected: list[float]) -> None:
    assert values(text) == expected


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "x", "2.5"], [1, "x", 2.5]),
        (["1", "", "2"], [1, None, 2]),
        (["1", "n/a", "-2"], [1, None, -2]),
        (["x", "y", ""], ["x", "y", ""]),
        (["01", "2", "3"], ["01", "2", "3"]),
        (["0", "2", "0.5"], [0, 2, 0.5]),
        (["+3", "-4", "1e3"], [3, -4, 1000.0]),
        (["50 %", "7 %", ""], [0.5, 0.07, None]),
        (["", "", "5"], [None, None, 5]),
    ],
)
def test_types_of_a_column(cells: list[str], expected: list[object]) -> None:
    text = "a,b\n" + "".join(f"r{number},{cell}\n" for number, cell in enumerate(cells))
    assert values(text) == expected
    assert [type(value) for value in values(text)] == [type(value) for value in expected]
