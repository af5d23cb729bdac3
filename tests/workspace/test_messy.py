"""A folder as people have it: exports of Excel, old encodings, decimal commas, and files of other programs beside."""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from oragent._base import table_dialects as dialects
from oragent._base.errors import WorkspaceError
from oragent._base.terminal import Terminal
from oragent.llm.callable import Scripted
from oragent.llm.model import Message, Request, ToolCall
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace import command, file_commands, layout, read_table, tables
from oragent.workspace.folder import WorkspaceFolder, add_parameters
from oragent.workspace.reading import decode_text
from oragent.workspace.runner import ProgramRunner
from oragent.workspace.tools import ToolSession
from oragent.workspace.versions import Versions
from tests.extras import need

CHEESES = (
    "Käserei Allgäu – Stammdaten;;;;\r\n;;;;\r\n"
    "Sorte;Milch je kg (l);Preis (€);Mindestmenge (kg);Höchstmenge (kg)\r\n"
    "Bergkäse;12,5;18,90;100;1.250,00\r\nEmmentaler;11,8;14,20;0;3.000,00\r\nRaclette;10,0;13,75;50;1.800,50\r\n"
    ";;;;\r\nStand: 12.03.2026;;;;\r\n"
)
FIGURES = (
    "Parameter_Name;Value;Unit;Context_Description\r\n"
    "Milch;45.000,0;l;verfügbare Milch\r\nLagerkosten;0,35;EUR/kg;je Woche\r\n"
)
PROGRAM = """from pathlib import Path
import pulp
from oragent.workspace import read_table
DATA = Path(__file__).resolve().parent.parent / "data"
p = {r["Parameter_Name"]: float(r["Value"]) for r in read_table(DATA / "general_parameters.csv")}
sorten = read_table(DATA / "sorten.csv")
m = pulp.LpProblem("kaese", pulp.LpMaximize)
x = {r["Sorte"]: pulp.LpVariable("x_%d" % at, float(r["Mindestmenge (kg)"]), float(r["Höchstmenge (kg)"]))
     for at, r in enumerate(sorten)}
m += pulp.lpSum((float(r["Preis (€)"]) - p["Lagerkosten"]) * x[r["Sorte"]] for r in sorten)
m += pulp.lpSum(float(r["Milch je kg (l)"]) * x[r["Sorte"]] for r in sorten) <= p["Milch"], "milch"
m.solve()
print("OBJECTIVE_VALUE:", pulp.value(m.objective))
"""
PLAN = {"summary": "Zuschlag", "rows": [], "objective": "", "data": [
    {"name": "Zuschlag", "value": "1.5", "unit": "EUR", "meaning": "für Überzeit", "neutral": "0"},
]}  # fmt: skip


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with Sandbox(1) as shared:
        yield shared


@pytest.fixture
def dairy(tmp_path: Path) -> Path:
    folder = tmp_path / "dairy"
    contents = {
        "docs/anforderung.md": "# Käserei\r\n\r\nWie viel Käse wird produziert?\r\n".encode("cp1252"),
        "data/sorten.csv": CHEESES.encode("cp1252"), "data/general_parameters.csv": FIGURES.encode("cp1252"),
        "data/mengen.tsv": "Sorte\tMenge\nBergkäse\t1.5\n".encode("utf-16"),
        "src/modell.py": PROGRAM.encode(),
        ".hidden/pack": bytes(range(256)), ".vscode/settings.json": b"{",
        "data/~$sorten.xlsx": b"\0" * 165, "data/.DS_Store": b"\0\1", "src/__pycache__/modell.pyc": b"\0",
    }  # fmt: skip
    for path, content in contents.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def terminal() -> tuple[Terminal, io.StringIO]:
    out = io.StringIO()
    return Terminal(file=out, width=200, color_system=None, force_terminal=False), out


@pytest.mark.slow
def test_the_folder_is_checked_run_and_restored_byte_by_byte(dairy, box):
    screen, out = terminal()
    assert file_commands.check_workspace(dairy, screen) == 0, out.getvalue()
    assert "sorten.csv is read so: Windows-1252; cells separated by semicolons; 1 title line" in out.getvalue()
    assert "mengen.tsv is read so: UTF-16; cells separated by tabs" in out.getvalue()
    assert ".git" not in out.getvalue()
    assert "~$" not in out.getvalue()
    with Versions(dairy) as versions:
        first = versions.save_snapshot("begin")
    before = {path: file.read_bytes() for path, file in WorkspaceFolder(dairy).list_files().items()}
    assert command.run_program(dairy, "", screen, box) == 0, out.getvalue()
    assert "model solved: optimal, objective 60659.4966" in out.getvalue()  # by hand: 1250, 963.559 and 1800.5 kg
    (dairy / "data/sorten.csv").write_bytes(b"broken")
    command.restore_version(dairy, first, "data/sorten.csv", screen)
    assert {path: (dairy / path).read_bytes() for path in before} == before
    with Versions(dairy) as versions:
        assert not [
            path
            for path in versions.repository.list_blobs(versions.tip)
            if path.startswith((".", "data/.", "data/~", "src/__"))
        ]


@pytest.mark.slow
def test_a_revision_changes_no_other_byte_and_is_undone_byte_by_byte(dairy, box):
    edits = '<<<<<<< SEARCH\nsorten = read_table\n=======\np["Milch"] += p["Zuschlag"]\nsorten = read_table\n>>>>>>> REPLACE\n'
    edits = edits.replace("sorten = read_table\n", 'sorten = read_table(DATA / "sorten.csv")\n')

    def reply(request: Request, number: int) -> Message:
        if request.role == "planner":
            assert "Bergkäse;12,5" in request.messages[0].content
            return Message("assistant", json.dumps(PLAN))
        done = sum(message.role == "assistant" for message in request.messages)
        calls = [("edit", {"path": "src/modell.py", "edits": edits}), ("submit", {"path": "src/modell.py"})]
        name, arguments = calls[min(done, 1)]
        return Message("assistant", "", (ToolCall("1", name, arguments),))

    screen, out = terminal()
    before = {path: file.read_bytes() for path, file in WorkspaceFolder(dairy).list_files().items()}
    (dairy.parent / "request.md").write_text("Zuschlag.\n")
    request = command.VerbRequest(dairy, model=Scripted(reply), sandbox=box)
    assert command.revise_program(request, dairy.parent / "request.md", False, False, screen) == 0, out.getvalue()
    now = {path: (dairy / path).read_bytes() for path in before}
    assert {path for path in before if now[path] != before[path]} == {"src/modell.py", "data/general_parameters.csv"}
    assert now["data/general_parameters.csv"] == (FIGURES + "Zuschlag;1,5;EUR;für Überzeit\r\n").encode("cp1252")
    command.undo_verb(dairy, screen)
    assert {path: (dairy / path).read_bytes() for path in before} == before


def test_tools_show_what_programs_read_and_write_in_the_file_s_encoding(dairy, box):
    session = ToolSession(dairy, ProgramRunner(box), ("data/*", "src/*"))
    shown = session.call_tool(ToolCall("1", "show_table", {"path": "data/sorten.csv"}))
    assert "3 rows, 5 columns" in shown
    assert "Bergkäse,12.5,18.90,100,1250.00" in shown
    assert "from oragent.workspace import read_table; read_table('data/sorten.csv')" in shown
    edits = "<<<<<<< SEARCH\nRaclette;10,0;13,75\n=======\nRäucherkäse;10,0;13,75\n>>>>>>> REPLACE\n".replace(
        ";13,75\n", ";13,75;50;1.800,50\n"
    )
    assert "is changed" in session.call_tool(ToolCall("1", "edit", {"path": "data/sorten.csv", "edits": edits}))
    assert (dairy / "data/sorten.csv").read_bytes() == CHEESES.replace("Raclette", "Räucherkäse").encode("cp1252")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("item;cost\na;1,5\nb;2.000,25\n", ["1.5", "2000.25"]),
        ("item;cost\na;1.5\nb;2,000.25\n", ["1.5", "2000.25"]),
        ("item;cost, EUR\na;1,5\n", ["1.5"]),
        ("item\tcost\na\t1\u00a0234,5\nb\t-7,0\n", ["1234.5", "-7.0"]),
        ("item|cost\na|\u22121,5\nb|2,50-\n", ["-1.5", "-2.50"]),
        ("item;cost;other\na;1.234;0,5\nb;2.500;1,5\n", ["1234", "2500"]),
        ("item;cost\na;0,125\nb;k.A.\nc;1.000,5\n", ["0.125", "k.A.", "1000.5"]),
        ("item;code\na;12.345.678-X\nb;1,5\n", ["12.345.678-X", "1.5"]),
        ("item;cost\na;2.300\nb;k.A.\nc;1.250,50\n", ["2300", "k.A.", "1250.50"]),
        ('item,cost\na,2.300\nb,"1.250,50"\n', ["2300", "1250.50"]),
        ("item,cost\na,2.300\nb,0.950\n", ["2.300", "0.950"]),
        ("item,cost\na,2.3\nb,1.234\nc,950\n", ["2.3", "1.234", "950"]),
        ("item,note\na,x;y\nb,z;w\n", ["x;y", "z;w"]),
        ('item,cost\na,"1,234"\nb,"2,3"\n', ["1,234", "2,3"]),
    ],
)
def test_numbers_are_read_by_the_convention_of_their_file(text, rows):
    reading = tables.read_table(text)
    assert reading.flaws == ()
    assert [row[1] for row in reading.table.rows] == rows


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("item;cost\na;1.234\nb;2\n", "line 2: '1.234' can be read in two ways"),
        ("item;cost\na;2.300\nb;k.A.\n", "line 2: '2.300' can be read in two ways"),
        ("Parameter_Name;Value\nMilch;45.000\nModus;streng\n", "line 2: '45.000' can be read in two ways"),
        ("item;cost;price\na;950;1.5\nb;2.300;2.5\n", "line 3: '2.300' can be read in two ways"),
        ("item,cost\na,950\nb,2.300\n", "line 3: '2.300' can be read in two ways"),
        ("item;cost\na;1,5\nb;2.5\n", "line 3 mixes decimal commas and points in column 'cost'"),
        ("item,cost\na,=B1*2\n", "line 2 holds a formula without its value, =B1*2"),
        ("item,cost\na,#DIV/0!\n", "line 2 holds an error of a formula"),
    ],
)
def test_what_can_be_read_in_two_ways_is_said(text, flaw):
    assert any(flaw in one for one in tables.read_table(text).flaws)


def test_numbers_that_are_texts_in_a_workbook_are_read_by_their_column(tmp_path):
    need("openpyxl")
    import openpyxl

    book = openpyxl.Workbook()
    for row in [("Haus", "Bedarf", "Weg"), ("Nord", "1.250,50", 1.234), ("Ost", "2.300", 950), ("West", 1.5, "3.400")]:
        book.active.append(row)
    book.save(tmp_path / "haus.xlsx")
    reading = tables.read_table(decode_text((tmp_path / "haus.xlsx").read_bytes(), "haus.xlsx"))
    assert [row[1] for row in reading.table.rows] == ["1250.50", "2300", "1.5"]
    assert any("line 2: '1.234' can be read in two ways" in flaw for flaw in reading.flaws)


def test_a_column_of_three_decimals_gets_a_note():
    reading = tables.read_table("item,cost\na,2.300\nb,1.250\n")
    assert reading.flaws == ()
    assert reading.notes == (
        "decimal points: 2.300 in column 'cost' has decimals; write it without a point where that separates thousands",
    )
    assert tables.read_table("item,cost\na,2.300\nb,0.125\n").notes == ()


def test_a_header_of_two_lines_is_joined_where_merged_cells_left_gaps():
    text = "Anlage;Stunden;;Kosten\r\n;normal (h);Überzeit (h);je Stunde\r\nKessel;80;12,5;22\r\nPresse;64;8;18\r\n"
    reading = tables.read_table(text)
    assert reading.table.header == ("Anlage", "Stunden normal (h)", "Stunden Überzeit (h)", "Kosten je Stunde")
    assert reading.table.rows[0] == ("Kessel", "80", "12.5", "22")


def test_parameters_are_added_and_changed_in_the_dialect_of_the_table():
    new = [{"name": "fee", "value": "1.5", "unit": "EUR", "meaning": "a;b"}, {"name": "Milch", "value": "3"}]
    assert add_parameters(FIGURES, new) == FIGURES + 'fee;1,5;EUR;"a;b"\r\n'
    assert add_parameters(FIGURES, new[1:]) == FIGURES
    assert (
        add_parameters("Parameter_Name,Value\nx,1", [{"name": "y", "value": "2"}]) == "Parameter_Name,Value\nx,1\ny,2\n"
    )


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("Parameter_Name,Unit,Value\nx,t,1\n", "y,EUR,2\n"),
        ("value,parameter_name\n1,x\n", "2,y\n"),
        ("Parameter_Name,Value,Unit,Note,Owner\nx,1,t,,me\n", "y,2,EUR,fee,\n"),
        ("Name,Value\nx,1\n", "y,2\n"),
        ("Value,Unit\n1,t\n", "2,EUR\n"),
    ],
)
def test_cells_of_a_new_parameter_are_in_the_columns_of_their_titles(table: str, row: str) -> None:
    new = {"name": "y", "value": "2", "unit": "EUR", "meaning": "fee"}
    assert add_parameters(table, [new]) == table + row
    if "name" in table.casefold():
        assert add_parameters(table, [{**new, "name": "x"}]) == table


@pytest.mark.slow
def test_a_file_above_16_mib_is_read_and_its_head_described(tmp_path):
    rows = 17_000
    (tmp_path / "big.csv").write_text("item,cost\n" + "".join(f"{number:01000},{number}\n" for number in range(rows)))
    assert (tmp_path / "big.csv").stat().st_size > 16 << 20
    assert len(read_table(tmp_path / "big.csv")) == rows
    reading = tables.read_table(decode_text((tmp_path / "big.csv").read_bytes(), "big.csv"), 1 << 20)
    assert reading.notes == ("only the first 1 MiB are looked at",)
    assert reading.flaws == ()


def test_a_program_s_table_is_refused_in_one_line(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2,3\n")
    with pytest.raises(WorkspaceError, match=r"t\.csv line 2 has 3 cells") as raised:
        read_table(tmp_path / "t.csv")
    assert "\n" not in str(raised.value)
    (tmp_path / "empty.csv").write_text("a,b\n")
    assert read_table(tmp_path / "empty.csv") == []


def workbook(path: Path) -> None:
    """A report as people type it: a merged title, a merged header, merged keys, a formula, several sheets."""
    need("openpyxl")
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Kapazität"
    for cell, value in {"A1": "Werk Nord 2026", "A3": "Anlage", "B3": "Stunden", "B4": "normal (h)", "C4": "Überzeit (h)",
                        "D3": "Kosten", "D4": "je Stunde (EUR)", "A5": "Kessel", "B5": 80, "C5": 12, "D5": 22.5,
                        "A6": "Presse", "B6": 64.5, "C6": 8, "D6": 18.0, "A8": "Stand: Mai"}.items():  # fmt: skip
        sheet[cell] = value
    for merged in ("A1:D1", "A3:A4", "B3:C3"):
        sheet.merge_cells(merged)
    second = book.create_sheet("Bedarf")
    for row in [
        ("Sorte", "Anlage", "h"),
        ("Bergkäse", "Kessel", 1.9),
        (None, "Presse", 1.1),
        ("Emmentaler", "Kessel", 1.7),
    ]:
        second.append(row)
    second.merge_cells("A2:A3")
    book.create_sheet("leer")
    book.save(path)


def test_a_workbook_is_read_with_titles_merged_cells_and_sheets(tmp_path):
    workbook(tmp_path / "k.xlsx")
    assert read_table(tmp_path / "k.xlsx") == [
        {
            "Anlage": "Kessel",
            "Stunden normal (h)": "80",
            "Stunden Überzeit (h)": "12",
            "Kosten je Stunde (EUR)": "22.5",
        },
        {"Anlage": "Presse", "Stunden normal (h)": "64.5", "Stunden Überzeit (h)": "8", "Kosten je Stunde (EUR)": "18"},
    ]
    assert [row["Sorte"] for row in read_table(tmp_path / "k.xlsx", sheet="Bedarf")] == [
        "Bergkäse",
        "Bergkäse",
        "Emmentaler",
    ]
    with pytest.raises(WorkspaceError, match="has no sheet 'leer'; it has Kapazität, Bedarf"):
        read_table(tmp_path / "k.xlsx", sheet="leer")


@pytest.mark.slow
def test_a_workbook_in_a_workspace_is_shown_and_read_in_the_sandbox(dairy, box):
    workbook(dairy / "data/k.xlsx")
    (dairy / "src/modell.py").write_text(
        "from oragent.workspace import read_table\nrows = read_table('data/k.xlsx', sheet='Bedarf')\n"
        "print('OBJECTIVE_VALUE:', sum(float(row['h']) for row in rows))\n"
    )
    screen, out = terminal()
    assert file_commands.check_workspace(dairy, screen) == 0, out.getvalue()
    session = ToolSession(dairy, ProgramRunner(box), ("src/*",))
    shown = session.call_tool(ToolCall("1", "show_table", {"path": "data/k.xlsx"}))
    assert "sheet Bedarf\n3 rows, 3 columns" in shown
    assert "read_table('data/k.xlsx', sheet='Bedarf')" in shown
    assert "OBJECTIVE_VALUE: 4.7" in session.call_tool(ToolCall("1", "run", {"path": "src/modell.py"}))
    assert "Emmentaler" in session.call_tool(ToolCall("1", "search", {"text": "emmentaler"}))


def test_a_formula_without_a_saved_value_is_a_flaw_and_no_empty_cell(dairy):
    need("openpyxl")
    import openpyxl

    book = openpyxl.Workbook()
    for row in [("Sorte", "kg"), ("a", 2), ("b", "=B2*2")]:
        book.active.append(row)
    book.save(dairy / "data/f.xlsx")
    flaws = [str(flaw) for flaw in WorkspaceFolder(dairy).find_flaws()]
    assert flaws == [
        "data/f.xlsx line 3 holds a formula without its value, =B2*2: open the file in Excel, mend and save it"
    ]


def test_without_openpyxl_a_workbook_says_in_one_line_what_is_missing(dairy, monkeypatch):
    (dairy / "data/k.xlsx").write_bytes(b"PK\x03\x04")
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    (flaw,) = WorkspaceFolder(dairy).find_flaws()
    assert "k.xlsx" in str(flaw)
    assert "needs openpyxl: " in str(flaw)
    assert "\n" not in str(flaw)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["broken", "bomb", "entities", "wide", "far", "other"])
def test_a_hostile_workbook_is_refused_in_one_line(tmp_path, kind):
    workbook(tmp_path / "k.xlsx")
    with zipfile.ZipFile(tmp_path / "k.xlsx") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    rows = "".join(f'<row r="{row}"><c r="XFD{row}"><v>1</v></c></row>' for row in range(1, 400))
    head = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    if kind == "bomb":
        parts["xl/media/x.bin"] = b"\0" * (130 << 20)
    elif kind == "entities":
        parts[sheet] = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]>' + parts[sheet]
    elif kind == "wide":
        parts[sheet] = head + rows.encode() + b"</sheetData></worksheet>"
    elif kind == "far":
        parts[sheet] = head + b'<row r="999999999999"><c><v>1</v></c></row></sheetData></worksheet>'
    elif kind == "other":
        parts.pop("xl/workbook.xml")
    with zipfile.ZipFile(tmp_path / "k.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    if kind == "broken":
        (tmp_path / "k.xlsx").write_bytes(b"PK\x03\x04" + b"x" * 500)
    with pytest.raises(WorkspaceError) as raised:
        read_table(tmp_path / "k.xlsx")
    assert "\n" not in str(raised.value)
    assert "k.xlsx" in str(raised.value)


def test_old_spreadsheets_and_other_files_are_named(dairy):
    for name in ("alt.xls", "alt.ods"):
        (dairy / "data" / name).write_bytes(b"\xd0\xcf\x11\xe0")
    assert [str(flaw) for flaw in layout.find_flaws(WorkspaceFolder(dairy).open_workspace())] == [
        "data/alt.ods is a spreadsheet that is not read: save it as .xlsx or CSV",
        "data/alt.xls is a spreadsheet that is not read: save it as .xlsx or CSV",
    ]
    assert dialects.find_separator("") == ","
