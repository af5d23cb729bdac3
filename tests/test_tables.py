"""Tables of all formats are read with their assumptions as notes, or refused in one line, in bounded time."""

import io
import resource
import sqlite3
import sys
import time
import zipfile
from pathlib import Path

import pytest

from oragent._base.errors import TableError
from oragent._base.table_files import parse_text
from oragent._base.table_values import Table
from oragent.sandbox import table_reader
from oragent.sandbox.table_reader import read_tables


def read(folder: Path, name: str, content: str | bytes) -> Table:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    (table,) = read_tables(path)
    return table


def records(table: Table) -> list[dict[str, object]]:
    return [dict(zip(table.header, row, strict=True)) for row in table.rows]


def test_title_lines_and_twin_headers_lose_no_column(tmp_path: Path) -> None:
    table = read(tmp_path, "t.csv", "Demand 2026,,\n\nsite,Mon,Mon\nLyon,3,4\nNice,5,6\n")
    assert table.header == ("site", "Mon", "Mon (2)")
    assert records(table)[1] == {"site": "Nice", "Mon": 5, "Mon (2)": 6}
    assert any("title line" in note for note in table.notes)
    assert any("'Mon (2)'" in note for note in table.notes)


@pytest.mark.parametrize(
    ("text", "column", "values", "told"),
    [
        ("a;b\nx;1.250,50 €\ny;980,00 €\n", "b", [1250.5, 980.0], "€"),
        ("a,b\nx,$12\ny,\"$1,200\"\n", "b", [12, 1200], "$"),
        ("a,b\nx,5 %\ny,12.5 %\n", "b", [0.05, 0.125], "fractions"),
        ("a,b\nx,12 kg\ny,3 kg\n", "b", [12, 3], "kg"),
        ("a,b\nx,4\ny,\nz,6\n", "b", [4, None, 6], "missing"),
        ("a,b\nx,00123\ny,04567\n", "b", ["00123", "04567"], "leading zeros"),
        ("a,b\nx,4\ny,5\nz,6\nTotal,15\n", "b", [4, 5, 6], "line 5"),
        ("a,b\nx,4\ny,5\nz,6\nTotal,16\n", "b", [4, 5, 6, 16], "is kept"),
        ("a,b\nu,4\nv,5\nw,6\nx,4\ny,900000\n", "b", [4, 5, 6, 4, 900000], "times the median"),
        ("a,b\nu,4\nv,5\nw,-6\nx,4\ny,9\n", "b", [4, 5, -6, 4, 9], "only line 4 is negative"),
    ],
)  # fmt: skip
def test_each_assumption_is_a_note(text: str, column: str, values: list, told: str) -> None:
    table = parse_text(text)
    assert [row[column] for row in records(table)] == values
    assert any(told in note for note in table.notes), table.notes


def test_the_last_row_stays_if_it_is_like_the_others() -> None:
    table = parse_text("a,b\nx,1\ny,2\nz,3\nw,6\n")
    assert [row["b"] for row in records(table)] == [1, 2, 3, 6]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("t.csv", "a,b\nx,5 %\ny,7\n", "mixes"),
        ("t.csv", "a,b\nx,5 €\ny,$7\n", "mixes"),
        ("t.csv", "a;b\nx;1.234\ny;7\n", "two ways"),
        ("t.csv", "a,b\nx,1,2\n", "line 2"),
        ("t.csv", "", "empty"),
        ("t.csv", b"a,b\n\x00\x01", "binary"),
        ("t.xlsx", b"no workbook", "workbook"),
        ("t.parquet", b"no parquet", "Parquet"),
        ("t.db", b"no database", "SQLite"),
        ("t.doc", b"a", "ends in"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(tmp_path: Path, name: str, content, told: str) -> None:
    with pytest.raises(TableError, match=told) as caught:
        read(tmp_path, name, content)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_encodings_and_separators_give_the_same_table(tmp_path: Path, encoding: str, separator: str) -> None:
    text = f"öl{separator}preis\nKöln{separator}12\nLübeck{separator}7\n"
    table = read(tmp_path, "t.csv", text.encode(encoding))
    assert records(table) == [{"öl": "Köln", "preis": 12}, {"öl": "Lübeck", "preis": 7}]


def test_excel_parquet_and_sqlite_give_the_table_of_the_csv(tmp_path: Path) -> None:
    openpyxl, pandas = pytest.importorskip("openpyxl"), pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rows = [{"site": "Lyon", "demand": 3, "cost": 1.5}, {"site": "Nice", "demand": 4, "cost": 2.25}]
    book = openpyxl.Workbook()
    book.active.append(["Plan of May", None, None])
    book.active.append(["site", "demand", "cost"])
    for row in rows:
        book.active.append(list(row.values()))
    book.active.merge_cells("A1:C1")
    out = io.BytesIO()
    book.save(out)
    excel = read(tmp_path, "t.xlsx", out.getvalue())
    assert records(excel) == rows
    assert any("merged" in note for note in excel.notes)
    pandas.DataFrame(rows).to_parquet(tmp_path / "t.parquet")
    assert records(read_tables(tmp_path / "t.parquet")[0]) == rows
    database = sqlite3.connect(tmp_path / "t.db")
    pandas.DataFrame(rows).to_sql("sites", database, index=False)
    database.close()
    assert records(read_tables(tmp_path / "t.db")[0]) == rows


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["columns", "rows", "one line"])
def test_huge_tables_are_refused_within_seconds_and_not_in_this_process(tmp_path: Path, kind: str) -> None:
    text = {
        "columns": ",".join(f"c{index}" for index in range(40_000)) + "\n" + ",".join(["1"] * 40_000) + "\n",
        "rows": "1,2\n" * (8 << 20),
        "one line": "1," * (16 << 20),
    }[kind]
    path = tmp_path / "t.csv"
    path.write_text(text)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_utime, time.process_time()
    with pytest.raises(TableError):
        read_tables(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - before < 1.0
    assert time.process_time() - start < 1.5


def test_a_missing_package_is_named_with_its_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from oragent._base import table_files

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TableError):
        table_files.parse(b"PAR1", ".parquet")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    workbook = io.BytesIO()
    with zipfile.ZipFile(workbook, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    with pytest.raises(TableError):
        table_files.parse(workbook.getvalue(), ".xlsx")


@pytest.mark.parametrize(
    "answer", [b"[" * 100_000, b"{}", b"[1]", b"\xff", b"", b'[{"name": 1, "header": ["a"], "rows": [[[]]]}]']
)
def test_a_reader_that_its_file_took_over_returns_tables_or_nothing(
    answer: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_reader, "read_in_child", lambda *words: answer)
    with pytest.raises(TableError):
        read(tmp_path, "a.csv", "a\n1\n")
