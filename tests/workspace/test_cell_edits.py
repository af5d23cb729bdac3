"""Cells get new values in files as people and programs leave them; the reader of tables is the oracle."""

import io
import json
import re
import sqlite3
import zipfile
from collections.abc import Callable

import pytest

from oragent._base.errors import WorkspaceError
from oragent.workspace.cells import change_cells, is_cell_change, locate_cell, read_cell, read_change, undo_edits
from oragent.workspace.data_changes import DataFiles, EditPlan, PlannedEdit
from oragent.workspace.data_edits import list_edits, replace_cells
from oragent.workspace.formulas import CellFormula, Position, have_same_formula
from oragent.workspace.model_results import CellEdit
from oragent.workspace.reading import decode_text
from oragent.workspace.row_matching import RowNames
from oragent.workspace.tables import read_table
from oragent.workspace.workbook_edits import replace_workbook_cells

PLAIN = "good,price (EUR),stock\nrye,4,10\nwheat,3,20\n"
GERMAN = "Preisliste 2026;;\n\nSorte;;Preis (€);Lager\nRoggen;;4,50;1.200\nWeizen;;3,25;800\n"


@pytest.mark.parametrize(
    ("content", "name", "cell"),
    [
        (PLAIN.encode(), "t.csv", (1, 1)),
        (("\ufeff" + PLAIN).encode(), "t.csv", (0, 2)),
        (GERMAN.encode("cp1252"), "t.csv", (0, 1)),
        (GERMAN.encode("utf-16"), "t.csv", (1, 2)),
        (PLAIN.replace(",", "\t").encode(), "t.tsv", (1, 2)),
        (b'a,"b, c",d\n"x, y",1,2\n', "t.csv", (0, 1)),
        (b"a,,b\n1,,2\n3\n", "t.csv", (0, 2)),
    ],
)
def test_one_cell_changes_and_nothing_else(content, name, cell):
    before = read_table(decode_text(content, name)).table
    after = read_table(decode_text(replace_cells(content, name, {cell: "7.5"}), name)).table
    assert before is not None
    rows = [list(row) for row in before.rows]
    rows[cell[0]][cell[1]] = "7.5"
    assert after is not None
    assert after.header == before.header
    assert [list(row) for row in after.rows] == rows


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'a,b\nx,1\n"l\r\nm",2\n', b'a,b\nx,7\n"l\r\nm",2\n'),
        (b'a,b\r\nx,1\r\n"l\nm",2\r\n', b'a,b\r\nx,7\r\n"l\nm",2\r\n'),
        (b"a,b\nx,1\r\n", b"a,b\nx,7\n"),
    ],
)
def test_most_ends_of_lines_are_those_of_the_file(old: bytes, new: bytes) -> None:
    assert change_cells(old, "t.csv", [read_change("t.csv[x, b] = 7")]) == new


def test_the_only_sheet_of_a_workbook_has_its_name() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Price list"
    for row in (("good", "price"), ("rye", 4)):
        book.active.append(row)
    out = io.BytesIO()
    book.save(out)
    files = {"t.xlsx": out.getvalue(), "t.csv": b"good,price\nrye,4\n"}

    def text_of(reference: str) -> str:
        cell = read_change(f"{reference} = 1").cell
        return locate_cell(files[cell.path], cell).text

    assert [text_of(start + "[rye, price]") for start in ("t.xlsx", "t.xlsx#price list", "t.csv")] == ["4"] * 3
    for wrong in ("t.xlsx#Prices", "t.csv#Prices", "t.csv#t"):
        with pytest.raises(WorkspaceError):
            text_of(f"{wrong}[rye, price]")


def test_a_workbook_gets_the_value_in_its_first_sheet():
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (
        ("Price list", None, None),
        (None, None, None),
        ("good", "price", "stock"),
        ("rye", 4, 10),
        ("wheat", 3, 20),
    ):
        book.active.append(row)
    out = io.BytesIO()
    book.save(out)
    changed = replace_cells(out.getvalue(), "data/t.xlsx", {(1, 1): "7.5"})
    table = read_table(decode_text(changed, "data/t.xlsx")).table
    assert table is not None
    assert table.rows == (("rye", "4", "10"), ("wheat", "7.5", "20"))


def planning_book() -> bytes:
    """Three sheets with formats, a formula, merged cells, an empty column and row; two sheets share rows and columns."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for title, demand in (("April 2026", 7), ("May", 9)):
        sheet = book.create_sheet(title)
        sheet["B2"] = "Plan of " + title
        sheet.merge_cells("B2:D2")
        for row in (("store", "demand", "price"), ("Zürich", demand, 1.5), ("Łódź", None, 2), ("Graz", 3, None)):
            sheet.append((None, *row))
        sheet["D4"].number_format = "0.00 €"
        sheet["C4"].number_format, sheet["C4"].font = "0 kg", openpyxl.styles.Font(bold=True)
        sheet["D6"] = "=C9*2"
        sheet.column_dimensions["B"].width = 33
    book["May"].conditional_formatting.add(
        "C4:C9", openpyxl.formatting.rule.CellIsRule(operator="greaterThan", formula=["5"])
    )
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


@pytest.mark.parametrize("cell", [(0, 1), (1, 1), (2, 1)])
def test_a_cell_of_a_named_sheet_changes_and_no_other_byte_of_the_workbook(cell: tuple[int, int]) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    content = planning_book()
    changed = replace_cells(content, "data/t.xlsx", {cell: "7.5"}, "May")
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(io.BytesIO(changed)) as new:
        assert old.namelist() == new.namelist()
        differing = [name for name in old.namelist() if old.read(name) != new.read(name)]
    assert differing == ["xl/worksheets/sheet3.xml"]
    before, after = (openpyxl.load_workbook(io.BytesIO(data)) for data in (content, changed))
    edited = before["May"].cell(4 + cell[0], 3)
    edited.value = 7.5
    for sheet in before:
        for row in sheet.iter_rows():
            for source in row:
                twin = after[sheet.title][source.coordinate]
                assert (source.value, source.style_id) == (twin.value, twin.style_id)


def test_a_cell_within_a_merged_range_is_refused() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(io.BytesIO(planning_book()))
    book["May"]["C5"] = 1
    book["May"].merge_cells("C5:C6")
    out = io.BytesIO()
    book.save(out)
    with pytest.raises(WorkspaceError, match="merged range"):
        replace_cells(out.getvalue(), "data/t.xlsx", {(2, 1): "4"}, "May")


@pytest.mark.parametrize(
    ("planned", "made", "matches"),
    [
        (("daten/b.json", "Klinik", "MWh", "110"), ("daten/b.json", "Klinik, MWh", "value", "110"), True),
        (("daten/b.json", "Klinik", "MWh", "110"), ("daten/b.json", "Klinik, MWh", "value", "111"), False),
        (("daten/b.json", "Klinik", "bio", "110"), ("daten/b.json", "Klinik, MWh", "value", "110"), False),
        (("daten/b.json", "Klinik, MWh", "value", "110"), ("daten/b.json", "Klinik, MWh", "value", "110"), True),
        (("q.csv", "Gas", "Preis", "51,50"), ("q.csv", "Gas", "Preis", "51.5"), True),
        (("q.csv", "Gas", "Preis", "1,500"), ("q.csv", "Gas", "Preis", "1.5"), False),
        (("q.csv", "Gas", "Preis", "a,b"), ("q.csv", "Gas", "Preis", "a.b"), False),
    ],
)
def test_a_planned_edit_matches_other_notations_of_the_same_cell_and_number(planned, made, matches) -> None:
    path, row, column, after = made
    edit = CellEdit(path=path, row=row, column=column, before="90", after=after)
    assert PlannedEdit(*planned).matches(edit) is matches


@pytest.mark.parametrize(
    ("planned", "made", "matches"),
    [
        # Tables are compared if both are named.
        ({"table": "First"}, {"table": "first"}, True), ({"table": "First"}, {"table": "Second"}, False), ({"table": "First"}, {}, True), ({}, {"table": "Second"}, True),
        # A file by the end of its path, in whole names.
        ({"path": "t.csv"}, {"path": "data/t.csv"}, True), ({"path": "t.csv"}, {"path": "data/at.csv"}, False), ({"path": "data/t.csv"}, {"path": "t.csv"}, False),
        # A row by some of its labels, in whole labels, on either side.
        ({"row": "rye"}, {"row": "Rye, late"}, True), ({"row": "rye"}, {"row": "ryes, late"}, False), ({"row": "rye, late"}, {"row": "rye"}, True),
        ({"row": "rye, late"}, {"row": "rye, l"}, False), ({"row": "late"}, {"row": "rye, late"}, False), ({"row": "oat"}, {"row": ""}, True),
        # Any column of an added or removed row, and of a figure.
        ({"column": ""}, {"before": None}, True), ({"column": ""}, {"after": None}, True), ({"column": ""}, {}, False), ({"column": "", "is_figure": True}, {}, True),
        ({"column": "Price "}, {}, True), ({"column": "cost"}, {}, False), ({"value": ""}, {"after": "6"}, True), ({}, {"after": "6"}, False), ({"value": "5.0"}, {}, True),
    ],
)  # fmt: skip
def test_a_planned_edit_matches_by_file_table_row_and_column(planned: dict, made: dict, matches: bool) -> None:
    plan = PlannedEdit(**{"path": "data/t.csv", "row": "rye", "column": "price", "value": "5"} | planned)
    default = {"path": "data/t.csv", "row": "rye", "column": "price", "before": "4", "after": "5"}
    assert plan.matches(CellEdit(**default | made)) is matches


@pytest.mark.parametrize(
    "text",
    [
        '{"a": {"b": 1, "c": "é"}}\n', '{\n "a": {\n  "b": 1,\n  "c": "é"\n }\n}', '{\n"a": {\n"b": 1\n}\n}',
        '{\n\t"a": {\n\t\t"b": 1\n\t}\n}\n', '{\r\n  "a": {\r\n    "b": 1\r\n  }\r\n}\r\n',
    ],
)  # fmt: skip
def test_a_json_file_keeps_its_lines(text: str) -> None:
    change = read_change("d.json[a, b] = 2")
    assert change_cells(text.encode(), "d.json", [change]).decode() == text.replace("1", "2")


@pytest.mark.parametrize(
    ("text", "cell", "expected"),
    [
        ("name,price\r\nrye,4\r\noat,3\r\n", (0, 1), "name,price\r\nrye,7.5\r\noat,3\r\n"), ("name,price\nrye,4\n\noat,3\n", (1, 1), "name,price\nrye,4\n\noat,7.5\n"),
        ('List 5;\n"a;b";"c,5"\nx;1,5\n', (0, 1), 'List 5;\n"a;b";c,5\nx;7,5\n'), ("a|b\n1|2\n", (0, 0), "a|b\n7.5|2\n"), ("a,b\r1,2\r3,4\r", (1, 0), "a,b\n1,2\n7.5,4\n"), ('a,b\n"1\n2",3\n4,5\n', (1, 0), 'a,b\n"1\n2",3\n7.5,5\n'),
    ],
)  # fmt: skip
def test_lines_and_separators_of_a_text_stay(text: str, cell: tuple[int, int], expected: str) -> None:
    assert replace_cells(text.encode(), "t.csv", {cell: "7.5"}).decode() == expected


@pytest.mark.parametrize(
    ("text", "is_change"),
    [
        ("data/d.csv[a, b] = 3", True), ("d.JSON[a] = 3", True), (" d.db [a, b]=3", True), ("t.xlsx#Two[a, b] = x", True), ("cap[Nord] = 3", False),
        ("flour = 3", False), ("model.py[a, b] = 3", False), ("d.csv[a, b]", False), ("d.csv = 3", False),
    ],
)  # fmt: skip
def test_a_change_of_a_cell_names_a_data_file(text: str, is_change: bool) -> None:
    assert is_cell_change(text) is is_change


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("rye, price", (("rye",), "price")), ('"rye, late", price', (("rye, late",), "price")), ('"", price', (("",), "price")), ("rye,, price", None),
        ('"rye, price', None), ("rye", None), (' rye late ,"4"', (("rye late",), "4")),
    ],
)  # fmt: skip
def test_labels_are_separated_by_commas_outside_quotes(labels: str, expected: tuple | None) -> None:
    if expected is None:
        with pytest.raises(WorkspaceError):
            read_cell(f"d.csv[{labels}]")
        return
    cell = read_cell(f"d.csv[{labels}]")
    assert (cell.row, cell.column) == expected
    assert read_cell(str(cell)) == cell


def message(call: Callable[[], object]) -> str:
    with pytest.raises(WorkspaceError) as problem:
        call()
    return str(problem.value)


def test_messages_name_what_is_there() -> None:
    """Rows that resemble the label, or the first eight; names of columns with at most 40 characters each."""
    rows = "".join(f"r{number},1\n" for number in range(10))
    content = f"name,{'x' * 41}\n{rows}".encode()
    unlike = message(lambda: locate_cell(content, read_cell("t.csv[zz, name]")))
    assert [f"r{number}" in unlike for number in (0, 7, 8)] == [True, True, False]
    near = b"name,value\nrye (late),1\nzzzz,2\n"
    like = message(lambda: locate_cell(near, read_cell("t.csv[ryf ab, value]")))
    assert ("rye (late)" in like, "zzzz" in like) == (True, False)
    column = message(lambda: locate_cell(content, read_cell("t.csv[r1, cost]")))
    assert ("x" * 38 in column, "x" * 41 in column) == (True, False)
    wide = ",".join(f"c{number}" for number in range(9)).encode()
    assert "c8" not in message(
        lambda: locate_cell(wide + b"\n" + wide.replace(b"c", b"v") + b"\n", read_cell("t.csv[v0, cost]"))
    )
    formula = saved_book((1, '=A1&""'), saved={"B1": "y" * 60})
    assert "y" * 39 not in message(lambda: replace_workbook_cells(formula, "t.xlsx", {(1, 0): "2"}))


@pytest.mark.parametrize(
    ("former", "value", "is_refused"),
    [("4", "x", True), ("4", "5", False), ("x", "y", False), ("x", "5", False), ("1,000", "", True), ("", "5", False), ("4", "5,5", True), ("4", "-1.5e3", False)],
)  # fmt: skip
def test_a_number_stays_a_number(former: str, value: str, is_refused: bool) -> None:
    content = f'name,a,b\nr,"{former}",z\ns,1,y\n'.encode()
    change = read_change(f"t.csv[r, a] = {value}")
    if is_refused:
        with pytest.raises(WorkspaceError):
            change_cells(content, "t.csv", [change])
    else:
        assert locate_cell(change_cells(content, "t.csv", [change]), change.cell).text == value


@pytest.mark.parametrize("suffix", ["xlsx", "sqlite"])
def test_the_former_text_goes_back_to_its_table(suffix: str) -> None:
    content = two_tables(suffix)
    for table, before in (("First", "4"), ("Second", "5")):
        change = read_change(f"t.{suffix}#{table}[rye, price] = 9")
        changed = change_cells(content, f"t.{suffix}", [change])
        (edit,) = list_edits({f"t.{suffix}": content}, {f"t.{suffix}": changed})
        assert (edit.table, edit.row, edit.before, edit.after) == (table, "rye", before, "9")
        assert list_edits({f"t.{suffix}": content}, {f"t.{suffix}": undo_edits(changed, f"t.{suffix}", [edit])}) == []
    for old, new, texts in (
        ({}, {f"t.{suffix}": content}, [(None, "4"), (None, "5")]),
        ({f"t.{suffix}": content}, {}, [("4", None), ("5", None)]),
    ):
        edits = list_edits(old, new)
        assert [(edit.table, edit.row, edit.column) for edit in edits] == [
            (table, "rye", "price") for table in ("First", "Second")
        ]
        assert [(edit.before, edit.after) for edit in edits] == texts
    edit = CellEdit(path="t.xlsx", row="rye", column="price", before="3", after="4", places=(0, 0))
    if suffix == "xlsx":
        restored = undo_edits(content, "t.xlsx", [edit])
        assert locate_cell(restored, read_cell("t.xlsx#First[rye, price]")).text == "3"


def make_tables(suffix: str, tables: dict[str, list[tuple[object, ...]]]) -> bytes:
    """A workbook or database of some tables, each with a header."""
    if suffix == "xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        book, out = openpyxl.Workbook(), io.BytesIO()
        book.remove(book.active)
        for name, rows in tables.items():
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append(row)
        book.save(out)
        return out.getvalue()
    with sqlite3.connect(":memory:") as connection:
        for name, (header, *rows) in tables.items():
            connection.execute(f"CREATE TABLE {name} ({', '.join(map(str, header))})")
            connection.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows)
        connection.commit()
        return connection.serialize()


@pytest.mark.parametrize("suffix", ["xlsx", "sqlite"])
def test_the_only_table_of_a_file_is_the_one_with_its_columns_among_others(suffix: str) -> None:
    path = f"d.{suffix}"
    costs, notes = [("good", "price"), ("rye", 4), ("oat", 3)], [("good", "note"), ("rye", "x")]
    single = make_tables(suffix, {"Costs": costs})
    more = make_tables(suffix, {"Notes": notes, "Costs": [*costs[:2], ("oat", 5)]})
    for old, new, table, values in ((single, more, "Costs", ("3", "5")), (more, single, "", ("5", "3"))):
        edits = list_edits({path: old}, {path: new})
        figures = [edit for edit in edits if edit.column == "price"]
        assert [(edit.table, edit.row, edit.before, edit.after) for edit in figures] == [(table, "oat", *values)]
        assert {(edit.table, edit.row) for edit in edits if edit.column == "note"} == {("Notes", "rye")}
        data = DataFiles({path: old}, {path: new})
        for named in ("", "#Costs") if table else ("",):
            plan = EditPlan.of_tree({"edits": [f"{path}{named}[oat, price] = {values[1]}"]})
            assert plan.split(edits, data)[0] == figures
    # Two tables with its columns, or none.
    twins = make_tables(suffix, {"Notes": costs, "Costs": costs})
    assert {edit.table for edit in list_edits({path: single}, {path: twins})} == {"", "Notes", "Costs"}
    assert {edit.table for edit in list_edits({path: make_tables(suffix, {"T": notes})}, {path: twins})} == {
        "",
        "Notes",
        "Costs",
    }


def saved_book(*rows: tuple[object, ...], saved: dict[str, object] | None = None) -> bytes:
    """A workbook of one sheet, in which formulas have saved values by cell."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    out, target = io.BytesIO(), io.BytesIO()
    book.save(out)
    with zipfile.ZipFile(io.BytesIO(out.getvalue())) as archive, zipfile.ZipFile(target, "w") as edited:
        for member in archive.infolist():
            text = archive.read(member)
            for cell, value in (saved or {}).items():
                kind = {bool: "b", str: "str"}.get(type(value), "n")
                shown = f"{int(value)}" if isinstance(value, bool) else str(value)
                text = re.sub(
                    rf'<c r="{cell}"[^>]*>(<f>.*?</f>)<v ?/?>(?:</v>)?</c>'.encode(),
                    rf'<c r="{cell}" t="{kind}">\1<v>{shown}</v></c>'.encode(),
                    text,
                )
            edited.writestr(member, text)
    return target.getvalue()


def read_book(content: bytes, values: bool = True) -> dict[str, object]:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(io.BytesIO(content), data_only=values)
    return {cell.coordinate: cell.value for row in book.active.iter_rows() for cell in row if cell.value is not None}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # Between cells, before the first, behind the last; texts with marks of XML; numbers with separators.
        ({(1, 1): "7"}, {"B1": 7}), ({(1, 0): "7"}, {"A1": 7}), ({(1, 3): "7"}, {"D1": 7}), ({(2, 1): "-1.5e3"}, {"B2": -1500}),
        ({(1, 2): "a <b> & 'c' "}, {"C1": "a <b> & 'c' "}), ({(1, 2): '5"'}, {"C1": '5"'}), ({(1, 2): "1,200"}, {"C1": 1200}), ({(1, 2): ""}, {}),
        ({(1, 0): "x", (1, 2): "y", (2, 0): "3"}, {"A1": "x", "C1": "y", "A2": 3}),
    ],
)  # fmt: skip
def test_cells_of_a_row_are_replaced_or_inserted_in_their_order(
    values: dict[tuple[int, int], str], expected: dict[str, object]
) -> None:
    content = saved_book((1, None, 3), (4, 5, 6))
    changed = replace_workbook_cells(content, "t.xlsx", values)
    before = read_book(content)
    for row, column in values:
        before.pop(f"{'ABCD'[column]}{row}", None)
    result = {cell: value for cell, value in read_book(changed).items() if value != ""}
    assert result == before | expected
    with zipfile.ZipFile(io.BytesIO(changed)) as archive:
        xml = archive.read("xl/worksheets/sheet1.xml").decode()
    for row in re.findall(r"<row.*?</row>", xml):
        places = re.findall(r'<c r="([A-Z]+)\d+"', row)
        assert places == sorted(set(places))


@pytest.mark.parametrize(
    ("formula", "saved", "after"),
    [
        ("=A1*2", 2, 14), ("=A1>5", False, True), ('=IF(A1>5,"<&>\'","low")', "low", "<&>'"), ("=A1/8", 0.125, 0.875),
        ('=IF(A1>5,"","low")', "low", None),
    ],
)  # fmt: skip
def test_saved_values_of_each_kind_follow_the_changed_cell(formula: str, saved: object, after: object) -> None:
    content = saved_book((1, formula), saved={"B1": saved})
    assert read_book(content)["B1"] == saved
    changed = replace_workbook_cells(content, "t.xlsx", {(1, 0): "7"})
    result = read_book(changed).get("B1")
    assert (result or None if after is None else result) == after
    assert isinstance(result, bool) is isinstance(after, bool)
    assert read_book(changed, values=False)["B1"] == formula
    # A second change starts from the new saved values.
    assert read_book(replace_workbook_cells(changed, "t.xlsx", {(1, 0): "1"}))["B1"] == saved


def test_a_formula_is_replaced_by_a_value_unless_it_is_to_stay() -> None:
    content = saved_book((1, "=A1*2"), (3, "=B1+1"), saved={"B1": 2, "B2": 3})
    changed = replace_workbook_cells(content, "t.xlsx", {(1, 1): "9"})
    assert read_book(changed, values=False) == {"A1": 1, "B1": 9, "A2": 3, "B2": "=B1+1"}
    assert read_book(changed)["B2"] == 10
    text = replace_workbook_cells(saved_book((1, "=A1*2"), saved={"B1": 2}), "t.xlsx", {(1, 1): "none"})
    assert read_book(text, values=False) == {"A1": 1, "B1": "none"}
    with pytest.raises(WorkspaceError):
        replace_workbook_cells(content, "t.xlsx", {(1, 1): "9"}, keep_formulas=True)
    assert replace_workbook_cells(content, "t.xlsx", {(1, 0): "1"}, keep_formulas=True)


@pytest.mark.parametrize(
    ("formula", "saved", "is_refused"),
    [
        ("=A1*2", None, True), ("=A1*2", 2.0000000001, False), ("=A1*2", 2.00001, True), ("=A1>0", 1, True), ('=A1&""', 1, True),
        ('=A1&""', "2", True), ('=A1&""', "1", False), ("=A1=1", False, True), ("=1/(A1-7)", -1 / 6, True), ('=IF(A1>0,"","x")', None, False), ("=A1*0", 0.0000000001, False),
    ],
)  # fmt: skip
def test_a_saved_value_of_another_size_or_kind_refuses_the_change(
    formula: str, saved: object, is_refused: bool
) -> None:
    content = saved_book((1, formula), saved={} if saved is None else {"B1": saved})
    if is_refused:
        with pytest.raises(WorkspaceError):
            replace_workbook_cells(content, "t.xlsx", {(1, 0): "7"})
    else:
        replace_workbook_cells(content, "t.xlsx", {(1, 0): "7"})


@pytest.mark.parametrize(
    ("cell", "is_refused"),
    [
        ((2, 1), False),
        ((2, 2), True),
        ((3, 1), True),
        ((3, 2), True),
        ((2, 3), False),
        ((4, 1), False),
        ((1, 2), False),
        ((2, 0), False),
    ],
)
def test_only_the_first_cell_of_a_merged_range_takes_a_value(cell: tuple[int, int], is_refused: bool) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(io.BytesIO(saved_book(*[(1, 2, 3, 4)] * 4)))
    book.active.merge_cells("B2:C3")
    out = io.BytesIO()
    book.save(out)
    if is_refused:
        with pytest.raises(WorkspaceError):
            replace_workbook_cells(out.getvalue(), "t.xlsx", {cell: "7"})
    else:
        assert (
            read_book(replace_workbook_cells(out.getvalue(), "t.xlsx", {cell: "7"}))[f"{'ABCD'[cell[1]]}{cell[0]}"] == 7
        )


def test_the_first_sheet_with_cells_is_meant_by_no_name() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book, out = openpyxl.Workbook(), io.BytesIO()
    sheet = book.create_sheet("Full")
    sheet["B2"], sheet["D2"] = 1, 2
    book.create_sheet("Last")["A1"] = 5
    book.save(out)
    changed = openpyxl.load_workbook(io.BytesIO(replace_workbook_cells(out.getvalue(), "t.xlsx", {(2, 1): "7"})))
    assert [changed[name].cell(2, 2).value for name in ("Sheet", "Full", "Last")] == [None, 7, None]


def test_a_pivot_table_refuses_a_change_also_without_formulas() -> None:
    content = saved_book(("a", "b"), (1, 2))
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(out, "w") as edited:
        for name in archive.namelist():
            edited.writestr(name, archive.read(name))
        edited.writestr(
            "xl/pivotCache/pivotCacheDefinition1.xml", '<x><worksheetSource ref="A1:A2" sheet="Sheet"/></x>'
        )
    assert read_book(replace_workbook_cells(out.getvalue(), "t.xlsx", {(2, 1): "7"}))["B2"] == 7
    with pytest.raises(WorkspaceError):
        replace_workbook_cells(out.getvalue(), "t.xlsx", {(2, 0): "7"})


def test_a_row_or_sheet_that_does_not_exist_is_refused() -> None:
    content = saved_book((1, 2), (3, 4))
    for values, sheet in (({(9, 0): "1"}, ""), ({(1, 0): "1"}, "None")):
        with pytest.raises(WorkspaceError):
            replace_workbook_cells(content, "t.xlsx", values, sheet)


@pytest.mark.parametrize(
    ("places", "column", "is_refused"),
    [
        ((0, 0), "price (EUR)", False),
        ((0, None), "price (EUR)", True),
        ((0, 1), "none", True),
        ((None, None), "none", True),
    ],
)
def test_only_a_cell_that_is_there_gets_its_former_text(
    places: tuple[int | None, int | None], column: str, is_refused: bool
) -> None:
    edit = CellEdit(path="t.csv", row="rye", column=column, before="9", after="4", places=places)
    if is_refused:
        with pytest.raises(WorkspaceError):
            undo_edits(PLAIN.encode(), "t.csv", [edit])
    else:
        assert undo_edits(PLAIN.encode(), "t.csv", [edit]).decode() == PLAIN.replace("rye,4", "rye,9")


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        (("B2", "=A2*2"), ("B2", "=A2*2"), True), (("B2", "=A2*2"), ("B3", "=A3*2"), True), (("B2", "=A2*2"), ("B3", "=A2*2"), False),
        (("B2", "=$A$2"), ("C9", "=$A$2"), True), (("B2", "{=A2"), ("B2", "=A2"), False), (("B2", "=A2*2"), None, False),
        (("B2", "=A1#"), ("B2", "=A1#"), True), (("B2", "=A2"), ("C2", "=B2"), True), (("B2", "=A1#"), ("C2", "=A1#"), False),
    ],
)  # fmt: skip
def test_formulas_are_the_same_relative_to_their_places(
    first: tuple[str, str], second: tuple[str, str] | None, is_same: bool
) -> None:
    pytest.importorskip("openpyxl")

    def formula(cell: tuple[str, str] | None) -> CellFormula | None:
        return None if cell is None else CellFormula(Position("S", int(cell[0][1:]), ord(cell[0][0]) - 64), cell[1])

    assert have_same_formula(formula(first), formula(second)) is is_same
    assert have_same_formula(formula(second), formula(first)) is is_same


@pytest.mark.parametrize(
    ("cell", "value"),
    [("[b]", "2"), ("[a, c]", "2.5"), ("[a, c]", "12345678901234567891"), ("[b]", "-1e3"), ("[b]", "1e300")],
)
def test_a_key_of_each_level_of_a_json_file_gets_the_number(cell: str, value: str) -> None:
    changed = json.loads(change_cells(b'{"a": {"c": 1}, "b": 4}', "d.json", [read_change(f"d.json{cell} = {value}")]))
    expected = {"a": {"c": 1}, "b": 4}
    (expected if cell == "[b]" else expected["a"])[cell.strip("[]").split(", ")[-1]] = json.loads(value)
    assert changed == expected


def test_a_column_alone_names_no_cell_of_a_table() -> None:
    with pytest.raises(WorkspaceError):
        read_change("d.csv[b] = 2")


def database() -> bytes:
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE t (name TEXT, value REAL)")
        connection.execute("INSERT INTO t VALUES ('a', 1)")
        connection.commit()
        return connection.serialize()


@pytest.mark.parametrize(
    ("path", "content"),
    [("d.json", b'{"a": {"value": 1}}'), ("d.csv", b"name,value\na,1\nb,2\n"), ("d.sqlite", database())],
)
def test_a_number_beyond_the_largest_float_is_refused(path: str, content: bytes) -> None:
    for value in ("1e22", "-1.5e308"):
        assert change_cells(content, path, [read_change(f"{path}[a, value] = {value}")]) != content
    with pytest.raises(WorkspaceError):
        change_cells(content, path, [read_change(f"{path}[a, value] = -1.8e308")])


@pytest.mark.parametrize(
    ("former", "text", "value"),
    [
        (True, "false", False), (False, "True", True), (None, "3", 3), (2.5, "4", 4), ("040", "050", "050"),
        ("", "true", "true"), ("a", "", ""), (1, "1e300", 1e300), (1, "-1e300", -1e300), (1, "9007199254740992.0", 2**53), (1, "-9007199254740994.0", -9007199254740994.0),
        (1, "-3", -3), (1.5, "2.50", 2.5), (True, "null", None), (False, "", None),
    ],
)  # fmt: skip
def test_a_value_of_a_json_file_keeps_its_kind(former: object, text: str, value: object) -> None:
    content = json.dumps({"a": {"b": former}}).encode()
    changed = json.loads(change_cells(content, "d.json", [read_change(f"d.json[a, b] = {text}")]))["a"]["b"]
    assert (changed, type(changed)) == (value, type(value))
    (edit,) = list_edits({"d.json": content}, {"d.json": json.dumps({"a": {"b": changed}}).encode()})
    restored = json.loads(undo_edits(json.dumps({"a": {"b": changed}}).encode(), "d.json", [edit]))["a"]["b"]
    assert (restored, type(restored)) == (former, type(former))


def two_tables(suffix: str) -> bytes:
    """A file of two tables with the same good and other prices."""
    return make_tables(
        suffix, {name: [("good", "price"), ("rye", price)] for price, name in enumerate(("First", "Second"), 4)}
    )


LONG = b"no,good,shift,price (EUR),Note\n1,rye,early,4,\n2,rye,late,5,x\n3,oat,early,6\n"


@pytest.mark.parametrize(
    ("content", "reference", "expected"),
    [
        (two_tables, "t.xlsx[rye, price]", ("First", 0, 1, "4")),
        (two_tables, "t.xlsx#second[RYE, Price]", ("Second", 0, 1, "5")),
        (two_tables, "t.sqlite[rye, price]", None),
        (two_tables, "t.sqlite#Second[rye, price]", ("Second", 0, 1, "5")),
        (two_tables, "t.sqlite#Third[rye, price]", None),
        (lambda _: database(), "t.sqlite[a, value]", ("", 0, 1, "1")),
        (LONG, "t.csv[1, price]", ("", 0, 3, "4")),
        (LONG, "t.csv[2, rye, late, PRICE (eur)]", ("", 1, 3, "5")),
        (LONG, "t.csv[rye, late, price]", ("", 1, 3, "5")),
        (LONG, "t.csv[Rye, early, price]", ("", 0, 3, "4")),
        (LONG, "t.csv[oat, price]", ("", 2, 3, "6")),
        (LONG, "t.csv[oat, note]", ("", 2, 4, "")),
        (LONG, "t.csv[2, rye, note]", ("", 1, 4, "x")),
        (LONG, "t.csv[early, rye, price]", None),
        (LONG, "t.csv[rye, price]", None),
        (LONG, "t.csv[wheat, price]", None),
        (LONG, "t.csv[oat, cost]", None),
        (b"good,a,A\nrye,1,2\n", "t.csv[rye, A]", ("", 0, 2, "2")),
        (b"good,a,A\nrye,1,2\n", "t.csv[rye,  a ]", ("", 0, 1, "1")),
        (b"good,Aa,aA\nrye,1,2\n", "t.csv[rye, AA]", None),
        (b"good,aa (kg),aa (t)\nrye,1,2\n", "t.csv[rye, aa]", None),
        (b"text", "t.md[rye, price]", None),
    ],
)
def test_a_reference_names_one_cell_or_is_refused(content, reference: str, expected: tuple | None) -> None:
    cell = read_cell(reference)
    data = content(cell.path.rpartition(".")[2]) if callable(content) else content
    if expected is None:
        with pytest.raises(WorkspaceError) as problem:
            locate_cell(data, cell)
        assert "\n" not in str(problem.value)
        return
    located = locate_cell(data, cell)
    assert (located.table, located.row, located.column, located.text) == expected


@pytest.mark.parametrize(
    ("versions", "named"),
    [
        # All rows have as many cells in their names as distinguish every one of them.
        ([[("a", "x", "1"), ("a", "y", "2"), ("b", "z", "3")]], ["a, x", "a, y", "b, z"]),
        ([[("a", "x", "1"), ("b", "x", "1")]], ["a", "b"]),
        ([[("a", "x", "1"), ("a", "x", "2"), ("b", "z", "3")]], ["a, x, 1", "a, x, 2", "b, z, 3"]),
        ([[("a", "x", "1", "p"), ("a", "x", "1", "q"), ("b", "z", "3", "r")]], ["a, x, 1, p", "a, x, 1, q", "b"]),
        ([[("a", "x"), ("a", "x"), ("b", "z")]], ["a, row 1", "a, row 2", "b"]),
        ([[("a", "x"), ("b", "y")], [("a", "z")]], ["a", "b"]),
        ([[("a", "x"), ("b", "y")], [("a", "z"), ("a", "x")]], ["a, x", "b, y"]),
        ([[("", "x"), ("b", "y")]], ["row 1", "b"]),
        ([[("a", "x"), ("a", "y"), ("b", "z")], []], ["a, x", "a, y", "b, z"]),
        ([[("a",), ("a",), ("b",)]], ["a, row 1", "a, row 2", "b"]),
        ([[]], []),
    ],
)
def test_rows_are_named_by_as_few_cells_as_distinguish_them(versions: list, named: list[str]) -> None:
    names = RowNames(*versions)
    assert [names.find_name(row, number) for number, row in enumerate(versions[0], 1)] == named


def test_a_row_is_named_without_its_changed_cells() -> None:
    names = RowNames([("a", "x", "1"), ("a", "y", "2")], [("a", "x", "1"), ("a", "z", "2")])
    assert names.find_name(("a", "y", "2"), 2) == "a, y"
    assert names.find_name(("a", "y", "2"), 2, [1]) == "a, 2"
    assert names.find_name(("a", "y", "2"), 2, [0]) == "y, 2"
    assert names.find_name(("a", "y", "2"), 2, [1, 2]) == "a, row 2"
    # A cell that only the other version has twice does not distinguish the row.
    names = RowNames([("a", "x", "1"), ("b", "y", "2")], [("c", "x", "1"), ("b", "x", "3")])
    assert names.find_name(("a", "x", "1"), 1, [0]) == "x, 1"
    assert names.find_name(("b", "y", "2"), 2, [0]) == "y"
