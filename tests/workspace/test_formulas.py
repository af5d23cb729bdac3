"""Changes of cells on which formulas of a workbook depend.

Oracles: LibreOffice where it is installed, and values by hand.
"""

import io
import shutil
import subprocess
from pathlib import Path

import pytest

from oragent._base.errors import WorkspaceError
from oragent.workspace.cells import change_cells, read_change
from oragent.workspace.formulas import Position, WorkbookFormulas

openpyxl = pytest.importorskip("openpyxl")
from openpyxl.workbook.defined_name import DefinedName  # noqa: E402
from openpyxl.worksheet.formula import ArrayFormula  # noqa: E402
from openpyxl.worksheet.table import Table  # noqa: E402

# Formulas of the sheet "Use", each with its value by hand for 100 kg of rye, and for 60 kg. None: refused.
CASES: dict[str, tuple[object, object]] = {
    "=Stock!B2-Stock!C2": (90, 50),
    "=Stock!D2": (90, 50),
    "=SUM(Stock!B2:B3)": (180, 140),
    "=SUM(Stock!B:B)": (180, 140),
    "=SUM(Stock!2:2)": (200, 120),
    "=SUM(Stock[gross])": (180, 140),
    "=SUM(Stock[#All])": (360, 280),
    "=SUM(Stock[[gross]:[loss]])": (195, 155),
    "=COUNTA(Stock[#Headers])": (4, 4),
    "=rye*2": (200, 120),
    "=both*1": ("refused", "refused"),
    "=SUM(both)": (180, 140),
    "=half*Stock!B2": (50, 30),
    "=AVERAGE(Stock!B2:B3)": (90, 70),
    "=MAX(Stock!B2:B3,85)": (100, 85),
    "=MIN(Stock!B2:B3)": (80, 60),
    "=COUNT(Stock!A2:D3)": (6, 6),
    "=PRODUCT(Stock!B2,Stock!C2)": (1000, 600),
    "=SUMPRODUCT(Stock!B2:B3,Stock!C2:C3)": (1400, 1000),
    '=SUMPRODUCT((Stock!A2:A3="rye")*Stock!B2:B3)': (100, 60),
    '=SUMIF(Stock!A2:A3,"rye",Stock!B2:B3)': (100, 60),
    '=SUMIF(Stock!B2:B3,">70")': (180, 80),
    '=SUMIFS(Stock!B2:B3,Stock!B2:B3,">70",Stock!A2:A3,"<>oat")': (100, 0),
    '=COUNTIF(Stock!B2:B3,"<=80")': (1, 2),
    '=VLOOKUP("RYE",Stock!A2:D3,4,FALSE)': (90, 50),
    "=HLOOKUP(\"gross\",Stock!A1:D3,2,0)": (100, 60),
    '=INDEX(Stock!B2:B3,MATCH("rye",Stock!A2:A3,0))': (100, 60),
    "=IF(Stock!B2>=100,1,0)": (1, 0),
    '=IF(Stock!B2>Stock!B3,"rye","oat")': ("rye", "oat"),
    "=Stock!B2>70": (True, False),
    "=AND(Stock!B2>70,NOT(Stock!B3>90))": (True, False),
    "=OR(Stock!B2>70,Stock!B3>90)": (True, False),
    "=IFERROR(1/(Stock!B2-60),7)": (0.025, 7),
    "=-Stock!B2^2": (10000, 3600),
    "=2^-1*Stock!B2%": (0.5, 0.3),
    "=10-Stock!B2-1": (-91, -51),
    "=ROUND(Stock!B2/7,2)": (14.29, 8.57),
    "=ROUNDUP(Stock!B2/7,0)": (15, 9),
    "=ROUNDDOWN(-Stock!B2/7,0)": (-14, -8),
    "=INT(-Stock!B2/7)": (-15, -9),
    "=MOD(-Stock!B2,7)": (5, 3),
    "=ABS(Stock!B2-120)": (20, 60),
    "=SQRT(Stock!B2-51)": (7, 3),
    "=POWER(Stock!B2,2)": (10000, 3600),
    '=Stock!A2&" "&Stock!B2': ("rye 100", "rye 60"),
    "=Stock!B2+Stock!E2": (100, 60),
    "=Stock!B2/0.1=1000": (True, False),
    "=(Stock!B2-40)+(Stock!B3*2)": (220, 180),
    # Refused: errors, time, approximate searches, functions and references that are not computed.
    "=1/(Stock!B2-60)": (0.025, "refused"),
    "=SQRT(Stock!B2-61)": (39**0.5, "refused"),
    "=Stock!B2+TODAY()*0": (100, "refused"),
    "=VLOOKUP(Stock!B2,Stock!B2:D3,2)": (80, "refused"),
    "=MATCH(Stock!B2,Stock!B2:B3,1)": (1, "refused"),
    "=MEDIAN(Stock!B2:B3)": (90, "refused"),
    "=SUM((Stock!B2,Stock!B3))": (180, "refused"),
}  # fmt: skip
WIDE = (
    "=SUM(OFFSET(Stock!B2,0,0,2,1))", '=INDIRECT("Stock!B"&2)', "=SUM(Stock!B2:INDEX(Stock!B:B,3))", "=MyMacro(Stock!B3)",
    "=missing_name+1", "=SUM(Stock!B2#)", "=_xll.ADDIN(1)", '=CUBEVALUE("model","[x]")',
)  # fmt: skip
CHANGE = "data/plan.xlsx#Stock[rye, gross] = 60"


def stock_book(formulas: list[str], second: str = "=B3-C3") -> "openpyxl.Workbook":
    """Two sheets: stock with losses, a table of Excel and names; formulas on the sheet "Use" from A2 on."""
    book = openpyxl.Workbook()
    stock = book.active
    stock.title = "Stock"
    for row in (("item", "gross", "loss", "available"), ("rye", 100, 10, "=B2-C2"), ("oat", 80, 5, second)):
        stock.append(row)
    stock.add_table(Table(displayName="Stock", ref="A1:D3"))
    book.defined_names["rye"] = DefinedName("rye", attr_text="Stock!$B$2")
    book.defined_names["both"] = DefinedName("both", attr_text="Stock!$B$2:$B$3")
    book.defined_names["half"] = DefinedName("half", attr_text="0.5")
    use = book.create_sheet("Use")
    use["A1"] = "use"
    for row, formula in enumerate(formulas, 2):
        use.cell(row, 1, formula)
    return book


def save_with_values(book: "openpyxl.Workbook", values: dict[str, object]) -> bytes:
    """Return a workbook whose formulas have saved values, as Excel leaves them. Keys are such as ``Use!A2``."""
    out = io.BytesIO()
    book.save(out)
    source, target = io.BytesIO(out.getvalue()), io.BytesIO()
    import re
    import zipfile

    parts = {f"xl/worksheets/sheet{number}.xml": title for number, title in enumerate(book.sheetnames, 1)}
    with zipfile.ZipFile(source) as archive, zipfile.ZipFile(target, "w") as edited:
        for member in archive.infolist():
            text = archive.read(member).decode("utf-8") if member.filename in parts else ""

            def fill(match: re.Match[str], title: str = parts.get(member.filename, "")) -> str:
                value = values.get(f"{title}!{match[1]}")
                if value is None:
                    return match[0]
                kind = {bool: ' t="b"', str: ' t="str"'}.get(type(value), "")
                shown = int(value) if isinstance(value, bool) else value
                return f'<c r="{match[1]}"{kind}>{match[2]}<v>{shown}</v></c>'

            text = re.sub(r'<c r="([A-Z]+\d+)"[^>]*>(<f.*?</f>)<v ?/?>(?:</v>)?</c>', fill, text)
            edited.writestr(member, text.encode() if text else archive.read(member))
    return target.getvalue()


def saved_values(content: bytes) -> dict[str, object]:
    """Return what programs read: the saved values of all cells."""
    book = openpyxl.load_workbook(io.BytesIO(content), data_only=True)
    return {
        f"{sheet.title}!{cell.coordinate}": cell.value for sheet in book for row in sheet.iter_rows() for cell in row
    }


def stock_with(formula: str, value: object, **others: object) -> bytes:
    saved = {"Stock!D2": 90, "Stock!D3": 75, "Use!A2": value} | others
    return save_with_values(stock_book([formula]), saved)


@pytest.mark.parametrize("formula", CASES)
def test_a_formula_that_depends_on_a_changed_cell_has_its_new_value_or_the_change_is_refused(formula: str) -> None:
    before, after = CASES[formula]
    content = stock_with(formula, 1 if before == "refused" else before)
    if after == "refused":
        with pytest.raises(WorkspaceError):
            change_cells(content, "data/plan.xlsx", [read_change(CHANGE)])
        return
    values = saved_values(change_cells(content, "data/plan.xlsx", [read_change(CHANGE)]))
    assert values["Stock!B2"] == 60
    assert values["Stock!D2"] == 50
    assert values["Stock!D3"] == 75
    assert values["Use!A2"] == (pytest.approx(after) if isinstance(after, float) else after)
    assert type(values["Use!A2"]) is type(after) or isinstance(after, int | float)


@pytest.mark.parametrize("formula", WIDE)
def test_a_formula_that_may_depend_on_any_cell_refuses_every_change(formula: str) -> None:
    with pytest.raises(WorkspaceError):
        change_cells(stock_with(formula, 80), "data/plan.xlsx", [read_change("data/plan.xlsx#Stock[rye, loss] = 3")])


def test_a_saved_value_that_is_not_reproduced_refuses_the_change() -> None:
    """A workbook whose values are out of date, or whose formula means something else than is computed here."""
    with pytest.raises(WorkspaceError):
        change_cells(stock_with("=SUM(Stock!B2:B3)", 181), "data/plan.xlsx", [read_change(CHANGE)])
    change_cells(stock_with("=SUM(Stock!C2:C3)", 181), "data/plan.xlsx", [read_change(CHANGE)])


def test_chains_are_computed_in_order_and_circles_are_refused() -> None:
    formulas = [f"=A{row + 1}+1" for row in range(2, 400)] + ["=Stock!B2"]
    saved = {f"Use!A{row}": 100 + 400 - row for row in range(2, 401)}
    content = save_with_values(stock_book(formulas), saved | {"Stock!D2": 90, "Stock!D3": 75})
    values = saved_values(change_cells(content, "data/plan.xlsx", [read_change(CHANGE)]))
    assert [values[f"Use!A{row}"] for row in (2, 200, 400)] == [60 + 398, 60 + 200, 60]
    content = save_with_values(
        stock_book(["=Stock!B2+A3", "=A2"]), {"Use!A2": 100, "Use!A3": 0, "Stock!D2": 90, "Stock!D3": 75}
    )
    with pytest.raises(WorkspaceError):
        change_cells(content, "data/plan.xlsx", [read_change(CHANGE)])


def test_an_array_formula_is_refused_also_in_the_cells_that_it_fills() -> None:
    book = stock_book([])
    book["Use"]["A2"] = ArrayFormula("A2:A3", "=Stock!B2:B3*2")
    book["Use"]["A3"] = 160
    book["Use"]["B2"] = "=A3"
    content = save_with_values(book, {"Stock!D2": 90, "Stock!D3": 75, "Use!A2": 200, "Use!B2": 160})
    formulas = WorkbookFormulas.read(content)
    dependents = formulas.find_dependents([Position("Stock", 2, 2)])
    assert {Position("Use", 2, 1), Position("Use", 3, 1), Position("Use", 2, 2)} <= set(dependents)
    with pytest.raises(WorkspaceError):
        change_cells(content, "data/plan.xlsx", [read_change(CHANGE)])
    change_cells(content, "data/plan.xlsx", [read_change("data/plan.xlsx#Stock[rye, loss] = 4")])


def test_formulas_stay_and_a_text_that_begins_with_an_equals_sign_is_none() -> None:
    book = stock_book(["=Stock!B2*2"])
    book["Use"]["B2"] = "=not a formula"
    book["Use"]["B2"].data_type = "s"
    content = save_with_values(book, {"Stock!D2": 90, "Stock!D3": 75, "Use!A2": 200})
    changed = change_cells(content, "data/plan.xlsx", [read_change(CHANGE)])
    texts = openpyxl.load_workbook(io.BytesIO(changed))
    assert (texts["Stock"]["D2"].value, texts["Use"]["A2"].value) == ("=B2-C2", "=Stock!B2*2")
    assert saved_values(changed)["Use!B2"] == "=not a formula"


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
@pytest.mark.slow
def test_libreoffice_computes_the_same_values(tmp_path: Path) -> None:
    """LibreOffice computes workbooks of openpyxl when it opens them, because they have no saved values."""
    # LibreOffice 7.4 does not know one item such as [#All] of a table.
    formulas = [formula for formula in CASES if "refused" not in CASES[formula] and "[#" not in formula]
    for place, gross in enumerate((100, 60)):
        book = stock_book(formulas)
        book["Stock"]["B2"] = gross
        book.save(tmp_path / "plan.xlsx")
        command = ["soffice", f"-env:UserInstallation=file://{tmp_path}/profile", "--headless", "--convert-to", "xlsx"]
        subprocess.run([*command, "--outdir", tmp_path / "out", tmp_path / "plan.xlsx"], check=True, timeout=120)
        values = saved_values((tmp_path / "out/plan.xlsx").read_bytes())
        for row, formula in enumerate(formulas, 2):
            assert values[f"Use!A{row}"] == pytest.approx(CASES[formula][place]), formula
