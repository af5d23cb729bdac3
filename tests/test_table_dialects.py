"""Texts of tables that a writer makes are read as the writer's data, whatever separator, quotes, gaps and totals it has."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base import table_dialects
from oragent._base.errors import TableError
from oragent._base.table_dialects import (
    RawRow,
    clean_rows,
    find_header,
    find_separator,
    plain_number,
    read_numbers,
    split_rows,
)
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
        # A row with an empty cell is a row.
        ("a;;c\n1;2;\n;3;4\n", ";"),
        # A row with a further cell, and quotes in some of the cells.
        ("a;b\n1,5;2\n3,5;4\n5;6;7\n", ";"),
        ('c,"a;b;x"\nd,"e;f;y"\n', ","),
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
        ([("x", "")] * 20 + [("a", "b")], 20),
        ([("x", "")] * 21 + [("a", "b")], 0),
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
        # Two lines of different lengths are no header.
        ("a,,c\n,x\n1,2,3\n", ["a", "", "c"], 2),
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


def format_number(value: float, mark: str, group: str, minus: str) -> str:
    """Write a number with two decimals, as a spreadsheet of some country does."""
    text = f"{abs(value):,.2f}".replace(",", "G").replace(".", mark).replace("G", group)
    if value >= 0:
        return text
    return f"{text}-" if minus == "behind" else f"{minus}{text}"


@given(
    numbers=st.lists(st.integers(-(10**7), 10**7).map(lambda cents: cents / 100), min_size=2, max_size=7),
    style=st.sampled_from([(".", ","), (".", ""), (".", "'"), (",", "."), (",", "\u00a0"), (",", "")]),
    minus=st.sampled_from(["-", "\u2212", "behind"]),
    separator=st.sampled_from(SEPARATORS),
    titles=st.integers(0, 3),
    has_note=st.booleans(),
    gap=st.booleans(),
)
def test_numbers_are_read_as_their_writer_meant(
    numbers: list[float], style: tuple[str, str], minus: str, separator: str, titles: int, has_note: bool, gap: bool
) -> None:
    mark, group = style
    # One number shows the marks, so that each text has one reading.
    numbers = [1234.5, *numbers] if group else [0.25, *numbers]
    body = [[f"r{at}", format_number(value, mark, group, minus)] for at, value in enumerate(numbers)]
    if gap:
        body[-1][1] = "n/a"
    rows = [*([f"Title {at}", ""] for at in range(titles)), ["name", "amount"], *body]
    text = write(rows, separator) + (write([["", ""], ["source: us", ""]], separator) if has_note else "")
    table = parse_text(text)
    assert table.header == ("name", "amount")
    expected = [*numbers[:-1], None if gap else numbers[-1]]
    assert [row[1] for row in table.rows] == (
        pytest.approx(expected) if not gap else [*map(pytest.approx, numbers[:-1]), None]
    )
    assert any("decimal commas" in note for note in table.notes) is (mark == ",")
    named = [note for note in table.notes if "title line" in note]
    assert [(note.split()[0], note.endswith(": Title 0")) for note in named] == [(str(titles), True)] * (titles > 0)
    assert any("below the table" in note for note in table.notes) is has_note
    lines = [note for note in table.notes if "below the table" in note]
    assert all(f"line {len(rows) + 2} " in line for line in lines)
    assert any("separated by" in note for note in table.notes) is (separator != ",")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a,b\nx,1\ny,2,3\n", 3), ("a,b\nx,5 %\ny,6 %\nz,7\n", 4), ("a,b\nx,5 €\ny,6 $\n", 3), ("a,b\n\n\nx,1,2\n", 4),
        ("a;b\nx;1.250,50\ny;1,250.50\nz;3\n", 3), ("a;b\nx;12\ny;1.234\n", 3), ("a,b\nx,1\n<<<<<<< ours\ny,2\n=======\n", 3),
        ("a;b\nx;0,5\ny;0.5\nz;0,25\n", 3), ("a;b\nx;0,5\ny;0.5\nz;0,5\n", 3), ("a,b\nx,5 EUR\ny,6 USD\nz,7 GBP\n", 3),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named_by_its_line(text: str, line: int) -> None:
    with pytest.raises(TableError) as caught:
        parse_text(text)
    assert f"line {line}" in str(caught.value).replace(":", " ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A column shows how the others are meant.
        ("a;b;c\nx;0,5;1.234\ny;0,7;950\n", [1234, 950]), ("a;b;c\nx;0.5;1,234\ny;0.7;950\n", [1234, 950]),
        # Of commas between the cells, points are decimal unless whole numbers stand beside figures that end in 0.
        ("a,b\nx,1.234\ny,5.678\n", [1.234, 5.678]), ("a,b\nx,1.234\ny,2\n", [1.234, 2]),
        ("a,b\nx,1e3\ny,-2E-2\n", [1000.0, -0.02]),
        # Words with digits say nothing about the other numbers, but leave doubt.
        ("a;b\nx;1,5\ny;k.A.\nz;2,5\n", [1.5, None, 2.5]), ("a;b\nx;1,5\ny;2.5\nz;A7\n", ["1,5", 2.5, "A7"]),
        ("a,b\nx,1 EUR\ny,2 EUR\n", [1, 2]), ("a,b\nx,EUR 1\ny,EUR 2\n", [1, 2]), ("a,b\nx,12 kg\ny,\n", [12, None]),
        ("a,b\nx,5 EUR\ny,7 EUR\nz,abc\n", ["5 EUR", "7 EUR", "abc"]),
        ("a,b\nx,0\ny,00\n", ["0", "00"]), ("a,b\nx,-\ny,–\nz,5\n", [None, None, 5]),
    ],
)  # fmt: skip
def test_doubtful_numbers_have_one_reading(text: str, expected: list[object]) -> None:
    assert values(text) == expected


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("a,b\nx,1.250\ny,950\n", False),
        ("a,b\nx,1.250\ny,950\nz,2.255\n", False),
        ("a,b\nx,1.250-\ny,950\n", False),
        ("a,b\nx,1.255\ny,950\n", True),
    ],
)
def test_points_that_may_separate_thousands_are_doubted(text: str, is_read: bool) -> None:
    if is_read:
        assert values(text) == [1.255, 950]
    else:
        with pytest.raises(TableError):
            parse_text(text)


@pytest.mark.parametrize(
    ("text", "units", "count"),
    [
        ("site,cost,k,time\n,EUR,-,[h]\nx,5,u,1\ny,6,v,2\n", ("", "EUR", "", "h"), 2),
        ("site,cost\n,EUR\nx,5\n", ("", "EUR"), 1),
        # A heading that is merged with the cell below it.
        ("site,cost\nsite,t\nx,5\n", ("", "t"), 1), ("site,cost\nsite,\nx,5\n", ("", ""), 1),
        # A row of texts, of texts in brackets, of numbers like the header, or the only one.
        ("site,cost\nx,EUR\ny,EUR\n", ("", ""), 2), ("a,b\n[x],[y]\nu,v\n", ("", ""), 2), ("1,2\n1,2\n3,4\n", ("", ""), 2),
        ("a,b\nx,b\n", ("", ""), 1), ("a,b\n,t\nx,5\ny,abc\n", ("", ""), 3), ("a,b\nx,5 kg\n", ("", "kg"), 1), ("a,b\n,%\nx,5\n", ("", "%"), 1),
    ],
)  # fmt: skip
def test_units_are_those_of_a_line_below_the_header_or_of_all_cells(
    text: str, units: tuple[str, ...], count: int
) -> None:
    table = parse_text(text)
    assert (table.units, len(table.rows)) == (units, count)
    assert [line for line, row in enumerate(text.splitlines(), 1) if line > 1][-count:] == list(table.lines)


def test_rows_of_different_lengths_are_read_cell_by_cell() -> None:
    rows = [("0,5", "1"), ("2,25",), ("3", "4", "1.234,5")]
    for header in (["a"], ["a", "b", "c", "d"]):
        read, unclear = read_numbers(header, rows, [], [], [2, 3, 4])
        assert (read, unclear) == ([("0.5", "1"), ("2.25",), ("3", "4", "1234.5")], frozenset())


@pytest.mark.parametrize("count", [2, 3, 4])
def test_repeated_names_are_numbered(count: int) -> None:
    table = parse_text(",".join(["a"] * count + [""]) + "\n" + ",".join(["1"] * (count + 1)) + "\n")
    assert table.header == ("a", *(f"a ({number})" for number in range(2, count + 1)), f"column {count + 1}")
    assert len(table.notes) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        # A table of one column has no footnotes: the header is followed by its rows.
        ("a,\n\n1,\n2,\n3,\n", 3), ("a,b\n1,2\n\nx,\n", 1), ("a,b\n\nx,\n", 1), ("a,b\n1,2\n\n3,4\nx,\n", 3),
    ],
)  # fmt: skip
def test_rows_below_a_gap_are_footnotes_only_of_wider_tables(text: str, count: int) -> None:
    assert len(parse_text(text).rows) == count


@pytest.mark.parametrize(
    ("text", "header"),
    [
        # A header of two lines has gaps above, words below them, and numbers from the next row on.
        ("site,Mon,\n,am,pm\nx,1,2\n", ("site", "Mon am", "Mon pm")), ("site,Mon,\n,am,pm\n", None), ("site,Mon,\nx,am,7\ny,1,2\n", None), ("site,Mon,,\n,am,pm,7\nx,1,2,3\n", None), ("site,Mon,\n,am,pm\nx,u,v\n", None),
        ("site,Mon,\n,am,\nx,1,2\n", None), ("site,Mon,Mon\n,am,pm\nx,1,2\n", None), ("s,M,\nM,am,pm\nx,1,2\n", ("s M", "M am", "M pm")),
        ("s,M,,\n,,am,pm\nx,1,2,3\n", ("s", "M", "M am", "M pm")),
    ],
)  # fmt: skip
def test_two_lines_are_one_header_if_the_second_fills_the_first(text: str, header: tuple[str, ...] | None) -> None:
    found = parse_text(text).header
    assert found == header if header else found[0] == "site"
    assert header is None or len(parse_text(text).rows) == 1
    # One number in a column is enough.
    assert header is None or parse_text(f"{text}z{',u' * (len(header) - 1)}\n").header == header


@pytest.mark.parametrize(
    ("cells", "notes"),
    [
        # More than 1,000 times the median of the sizes; five values at least.
        ([2, 2, 2, 2, 2001], ["median"]), ([2, 2, 2, 2, 2000], []), ([2, 2, 2, 2001], []), ([-1, -1, 1, 1, -1001], ["median"]),
        ([1, 2, 3, 4, -5], ["negative"]), ([1, 2, 3, -4], []), ([0, 1, 2, 3, -4], []), ([1, 2, 3, -4, -5], []),
    ],
)  # fmt: skip
def test_values_that_stand_out_are_noted_with_their_line(cells: list[int], notes: list[str]) -> None:
    found = parse_text("a,b\n" + "".join(f"r,{cell}\n" for cell in cells)).notes
    assert [any(word in note for note in found) for word in ("median", "negative")] == [
        word in notes for word in ("median", "negative")
    ]
    for note in found:
        place = cells.index(max(cells, key=abs) if "median" in note else min(cells)) + 2
        assert f"line {place} " in note


@pytest.mark.parametrize(
    ("rows", "is_left_out"),
    [
        # Each number is the sum, to a millionth.
        ([1, 2, 3, 6], True), ([1, 2, 3], True), ([5, 5], True), ([5], False), ([0.25, 0.25, 0.5000015], False), ([1e6, 2e6, 3e6, 6000006], True), ([1e6, 2e6, 3e6, 6000007], False), ([-1e6, -2e6, -3e6, -6000006], True),
        ([0.5, 0.25, 0.25, 1.000001], True), ([0.5, 0.25, 0.25, 1.0000021], False), ([-1, -2, -3, -6], True), ([1, -1, 0, 0], False),
    ],
)  # fmt: skip
def test_sums_are_left_out_to_a_millionth(rows: list[float], is_left_out: bool) -> None:
    text = "a,b\n" + "".join(f"r,{value}\n" for value in rows[:-1]) + f"Total,{rows[-1]}\n"
    table = parse_text(text)
    assert (len(table.rows) == len(rows) - 1) is is_left_out
    if is_left_out:
        assert any(f"line {len(rows) + 1} " in note for note in table.notes)


def test_a_total_has_its_label_in_any_case_and_fewer_names_count_too() -> None:
    for label, is_left_out in (("TOTAL :", True), ("Summe", True), ("total x", False), ("w", False)):
        assert (len(values(f"a,b\nx,1\ny,2\nz,3\n{label},6\n")) == 3) is is_left_out
    # Without a label, three rows at least.
    assert values("k,a,b\nu,x,1\nu,y,2\nu,,3\n") == [1, 2, 3]
    # A missing cell is no name.
    assert values("k,a,b\nu,x,1\nu,y,2\nn/a,z,3\nu,,6\n") == [1, 2, 3]
    assert values("k,a,b\nu,,1\nu,,2\nu,z,3\nu,,6\n") == [1, 2, 3]
    assert values("k,a,b\nu,,1\nu,,2\nu,,3\nu,,6\n") == [1, 2, 3, 6]
    # Texts of a mixed column are no numbers.
    assert values("a,b,c\nx,q,1\ny,1,2\nz,2,3\nTotal,3,6\n") == [1, 2, 3]


def test_tables_have_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_dialects, "MAX_COLUMNS", 3)
    monkeypatch.setattr(table_dialects, "MAX_CELLS", 6)
    for text, is_read in (("a,b,c\n1,2,3\n", True), ("a,b,c\n1,2,3\n4\n", False), ("a,b,c,d\n", False)):
        if is_read:
            assert len(split_rows(text, ",")) == 2
        else:
            with pytest.raises(csv.Error):
                split_rows(text, ",")


def test_a_separator_is_found_in_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_dialects, "SAMPLE_ROWS", 2)
    assert find_separator("a|b\n1|2\n" + "3,4\n" * 9) == "|"
    # Quoted separators are text.
    assert find_separator('"a;b",c\n"d;e",f\n') == ","
    assert find_separator('a;"b,c"\nd;"e,f"\n') == ";"


@pytest.mark.parametrize(
    ("cells", "values", "is_doubted", "noted"),
    [
        (["950", "2.300"], ["950", "2.300"], True, ""), (["1.234", "2.345"], ["1.234", "2.345"], False, "1.234"),
        (["950", "2.345"], ["950", "2.345"], False, "2.345"), (["0.5", "2.300"], ["0.5", "2.300"], False, ""),
        (["1.250,50", "3"], ["1250.50", "3"], False, "decimal commas"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("header", [("name", "amount"), ("name",)])
def test_points_are_decimal_unless_a_column_shows_otherwise(
    cells: list[str], values: list[str], is_doubted: bool, noted: str, header: tuple[str, ...]
) -> None:
    notes: list[str] = []
    flaws: list[str] = []
    rows = [(f"r{at}", cell) for at, cell in enumerate(cells)]
    found, unclear = table_dialects.read_plain_numbers(header, rows, notes, flaws, (2, 3))
    assert ([row[1] for row in found], unclear, len(flaws)) == (
        values,
        frozenset({1} if is_doubted else ()),
        is_doubted,
    )
    assert len(notes) == bool(noted)
    for note in notes:
        assert noted in note
        # A column beyond the header is named by its number.
        assert noted == "decimal commas" or (header[1] if len(header) == 2 else "'2'") in note


def test_a_single_row_is_no_line_of_units() -> None:
    assert parse_text("a,b\na,(x)\n").rows == (("a", "(x)"),)


def test_signs_that_are_mixed_are_named() -> None:
    for cells, signs in ((("5 %", "7"), "'%'"), (("7", "5 %"), "'%'"), (("5 €", "6 USD"), "'€' and 'USD'")):
        with pytest.raises(TableError) as caught:
            parse_text("a,b\n" + "".join(f"x{at},{cell}\n" for at, cell in enumerate(cells)))
        assert signs in str(caught.value)


def test_notes_are_bounded() -> None:
    header = ",".join(["a"] * 50)
    assert len(parse_text(f"{header}\n{','.join('1' * 50)}\n").notes) == 30


def test_a_conflict_is_named_by_its_first_line() -> None:
    conflict = "a,b\nx,1\n<<<<<<< ours\ny,2\n=======\nz,3\n>>>>>>> theirs\n"
    assert table_dialects.describe_conflict(conflict).startswith("line 3 ")
    assert table_dialects.describe_conflict("a,b\nx,1\n") == ""
    with pytest.raises(TableError) as caught:
        parse_text(conflict)
    assert table_dialects.describe_conflict(conflict) in str(caught.value)


def test_long_texts_are_cut_in_notes_and_errors() -> None:
    (note,) = parse_text(f"{'T' * 50},\na,b\n1,2\n").notes
    assert note.endswith(f": {'T' * 40}")
    number = "1" + "'234" * 30 + ".567"
    with pytest.raises(TableError) as caught:
        parse_text(f"a;b\nx;{number}\n")
    assert repr(number[:80]) in str(caught.value)
    with pytest.raises(TableError) as caught:
        parse_text(f"a;{'h' * 90}\nx;0,5\ny;0.5\n")
    assert repr("h" * 80) in str(caught.value)


def test_a_header_of_two_lines_is_in_its_first_line_and_named_in_a_note() -> None:
    notes: list[str] = []
    header, *_ = clean_rows(split_rows("site,Mon,,Tue,\n,am,pm,am,pm\nx,1,2,3,4\n", ","), notes)
    assert header.line == 1
    assert notes[0].endswith(": Mon pm")
