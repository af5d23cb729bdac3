"""Tables of databases and Parquet files are those that were written, within limits."""

import io
import json
import sqlite3
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal

import pytest

from oragent._base import table_dialects, table_files
from oragent._base.errors import TableError
from oragent._base.table_files import parse, tables_as_json


def make_database(*statements: str, rows: Sequence[tuple] = ()) -> bytes:
    database = sqlite3.connect(":memory:")
    for statement in statements:
        database.execute(statement)
    for row in rows:
        database.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(row))})", row)
    database.commit()
    content = database.serialize()
    database.close()
    return content


def test_a_table_of_a_database_has_its_rows_and_its_key() -> None:
    rows = [("b", 1, 2.5, None), ("a", 2, float("inf"), "x"), ("c", 3, -float("inf"), "")]
    content = make_database("CREATE TABLE t (name, at, 'the value', note, PRIMARY KEY (at, name))", rows=rows)
    (table,) = parse(content, ".db")
    assert (table.name, table.header, table.key) == ("", ("name", "at", "the value", "note"), ("at", "name"))
    # Infinite figures are missing ones.
    assert table.rows == (rows[0], ("a", 2, None, "x"), ("c", 3, None, ""))
    (plain,) = parse(make_database("CREATE TABLE t (a)", rows=[(1,)]), ".sqlite")
    assert plain.key == ()
    assert json.loads(tables_as_json(content, ".db"))[0]["header"] == list(table.header)


def test_several_tables_of_a_database_are_named_and_sorted() -> None:
    content = make_database('CREATE TABLE "b ""c""" (x)', "CREATE TABLE a (y)", "CREATE VIEW v AS SELECT 1")
    assert [(table.name, table.header, table.rows) for table in parse(content, ".db")] == [
        ("a", ("y",), ()), ('b "c"', ("x",), ()),
    ]  # fmt: skip


def test_databases_have_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    content = make_database("CREATE TABLE t (a, b)", "CREATE TABLE u (a)", rows=[(1, 2), (3, 4)])
    for name, enough in (("MAX_COLUMNS", 2), ("MAX_CELLS", 4)):
        with monkeypatch.context() as patch:
            patch.setattr(table_dialects, name, enough)
            assert len(parse(content, ".db")) == 2
            patch.setattr(table_dialects, name, enough - 1)
            with pytest.raises(TableError):
                parse(content, ".db")
    monkeypatch.setattr(table_files, "MAX_TABLES", 2)
    assert len(parse(content, ".db")) == 2
    monkeypatch.setattr(table_files, "MAX_TABLES", 1)
    with pytest.raises(TableError):
        parse(content, ".db")


@pytest.mark.parametrize("form", [".db", ".parquet"])
@pytest.mark.parametrize("content", [b"", b"text", b"PAR1 and more", b"SQLite format 3\0 and more"])
def test_other_content_is_refused_in_one_line(content: bytes, form: str) -> None:
    with pytest.raises(TableError) as caught:
        parse(content, form)
    assert "\n" not in str(caught.value)
    if form == ".parquet" and not content.startswith(b"PAR1"):
        assert "pyarrow" not in str(caught.value)


def test_an_empty_database_and_a_cell_of_bytes_are_refused() -> None:
    for content in (make_database("CREATE VIEW v AS SELECT 1"), make_database("CREATE TABLE t (a)", rows=[(b"x",)])):
        with pytest.raises(TableError) as caught:
            parse(content, ".db")
        assert "\n" not in str(caught.value)


def test_a_parquet_file_has_its_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {
        "text": ["a", None], "whole": [1, 2], "figure": [1.5, float("nan")], "yes": [True, False], "exact": [Decimal("1.25"), None],
        "day": [date(2026, 1, 2), None], "moment": [datetime(2026, 1, 2, 3, 4), None], "hour": [time(3, 4), None],
    }  # fmt: skip
    out = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), out)
    (table,) = parse(out.getvalue(), ".parquet")
    assert (table.name, table.header) == ("", tuple(columns))
    assert table.rows == (
        ("a", 1, 1.5, True, 1.25, "2026-01-02", "2026-01-02T03:04:00", "03:04:00"),
        (None, 2, None, False, None, None, None, None),
    )
    monkeypatch.setattr(table_dialects, "MAX_CELLS", 16)
    assert parse(out.getvalue(), ".parquet")
    monkeypatch.setattr(table_dialects, "MAX_CELLS", 15)
    with pytest.raises(TableError):
        parse(out.getvalue(), ".parquet")


@pytest.mark.parametrize("content", [b"a,b\n\x00\x01", b"a,b\n\x81\x8d\n"])
def test_text_in_no_known_encoding_is_refused(content: bytes) -> None:
    with pytest.raises(TableError):
        parse(content, ".csv")


def test_sheets_of_a_workbook_are_tables_with_their_notes() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for title, head in (("first", "a"), ("second", "b")):
        sheet = book.create_sheet(title)
        for row in ([head, "k"], ["x", 1], ["y", 2]):
            sheet.append(row)
    book.remove(book.worksheets[0])

    def read() -> list:
        out = io.BytesIO()
        book.save(out)
        return list(parse(out.getvalue(), ".xlsx"))

    assert [(table.name, table.header, table.notes) for table in read()] == [
        ("first", ("a", "k"), ()), ("second", ("b", "k"), ()),
    ]  # fmt: skip
    book["first"].merge_cells("A2:A3")
    first, second = read()
    assert first.notes == second.notes == (table_files.MERGED_NOTE,)
    assert [row[0] for row in first.rows] == ["x", "x"]
    book.remove(book["second"])
    (table,) = read()
    assert (table.name, table.notes) == ("", (table_files.MERGED_NOTE,))
