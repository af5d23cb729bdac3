"""Changes of cells on which formulas of a workbook depend.

Oracles: LibreOffice where it is installed, and values by hand.
"""

import io
import re
import shutil
import subprocess
import zipfile
from datetime import date
from pathlib import Path

import pytest

from oragent._base.errors import WorkspaceError
from oragent.workspace.cells import change_cells, read_change
from oragent.workspace.formula_values import MAX_DEPTH, FormulaValues, Scalar, UnsupportedFormula
from oragent.workspace.formulas import Area, Position, WorkbookFormulas
from oragent.workspace.workbook_edits import describe_cell, refuse_linked, replace_workbook_cells

openpyxl = pytest.importorskip("openpyxl")
from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH  # noqa: E402
from openpyxl.workbook.defined_name import DefinedName  # noqa: E402
from openpyxl.worksheet.formula import ArrayFormula, DataTableFormula  # noqa: E402
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
    "=SUBTOTAL(109,Stock!B2:B3)+SUBTOTAL(4,Stock[gross])": (280, 220),
    "=IF(Stock!B2>70,Stock!E2,3)": (0, 3),
    '=IF(Stock!B2>70,"",Stock!B2)': ("", 60),
    '=COUNTIFS(Stock!A2:A3,"rye",Stock!B2:B3,">70")': (1, 0),
    "=SUM(Stock!B2,Stock!A2,Stock!E2,5)": (105, 65),
    "=AVERAGE(Stock!B2,Stock!E2)": (100, 60),
    "=SUM(Stock!$A$1:$C3)": (195, 155),
    "=SUMPRODUCT(Stock!B2:B3-Stock!C2:C3)": (165, 125),
    "=INDEX(Stock!B2:C2,2)+INDEX(Stock!B2:B3,1)": (110, 70),
    "=INDEX(Stock!A1:D3,2,2)": (100, 60),
    "=(Stock!B2/1000+0.2-0.3)*1+1": ("refused", "refused"),
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
    book.defined_names["total"] = DefinedName("total", attr_text="SUM(Stock!$B$2:$B$3)")
    book.defined_names["size"] = DefinedName("size", attr_text="ABS(Stock!$B$2-100)")
    stock.defined_names["Mass"] = DefinedName("Mass", attr_text="ABS($C$2)")
    use = book.create_sheet("Use")
    use["A1"] = "use"
    book.create_sheet("Empty")
    for row, formula in enumerate(formulas, 2):
        use.cell(row, 1, formula)
    return book


def save_with_values(book: "openpyxl.Workbook", values: dict[str, object]) -> bytes:
    """Return a workbook whose formulas have saved values, as Excel leaves them. Keys are such as ``Use!A2``."""
    out = io.BytesIO()
    book.save(out)
    source, target = io.BytesIO(out.getvalue()), io.BytesIO()
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


def test_formulas_that_depend_on_a_changed_cell_have_their_new_values() -> None:
    cases = [(formula, *values) for formula, values in CASES.items() if "refused" not in values]
    saved = {f"Use!A{row}": before for row, (_, before, _) in enumerate(cases, 2)}
    content = save_with_values(stock_book([formula for formula, *_ in cases]), saved | {"Stock!D2": 90, "Stock!D3": 75})
    changed = change_cells(content, "data/plan.xlsx", [read_change(CHANGE)])
    values = saved_values(changed)
    assert (values["Stock!B2"], values["Stock!D2"], values["Stock!D3"]) == (60, 50, 75)
    texts = openpyxl.load_workbook(io.BytesIO(changed))
    assert texts["Stock"]["D2"].value == "=B2-C2"
    for row, (formula, _, after) in enumerate(cases, 2):
        value = values[f"Use!A{row}"]
        assert value == (pytest.approx(after) if isinstance(after, float) else after), formula
        assert isinstance(value, bool) is isinstance(after, bool), formula
        assert texts["Use"][f"A{row}"].value == formula


@pytest.mark.parametrize("formula", [formula for formula, values in CASES.items() if "refused" in values])
def test_a_change_is_refused_if_a_formula_that_depends_on_it_cannot_be_computed(formula: str) -> None:
    before, _ = CASES[formula]
    content = stock_with(formula, 1 if before == "refused" else before)
    with pytest.raises(WorkspaceError):
        change_cells(content, "data/plan.xlsx", [read_change(CHANGE)])


@pytest.mark.parametrize("formula", WIDE)
def test_a_formula_that_may_depend_on_any_cell_refuses_every_change(formula: str) -> None:
    with pytest.raises(WorkspaceError):
        change_cells(stock_with(formula, 80), "data/plan.xlsx", [read_change("data/plan.xlsx#Stock[rye, loss] = 3")])


# Formulas of the same sheet, each with its value by hand for 100 kg of rye, and for 60 kg; E2 and E3 are empty.
VALUES: dict[str, dict[str, tuple[object, object]]] = {
    "order": {
        # Order: numbers, texts without case, truth values. An empty cell equals 0, an empty text and FALSE.
        "=Stock!A2>Stock!B2": (True, True), "=Stock!B2<TRUE": (True, True), '=TRUE>"zz"': (True, True),
        '=IF(Stock!B2>70,"Rye","x")=Stock!A2': (True, False), '="OAT">=Stock!A3': (True, True), '="s">Stock!A2': (True, True),
        "=Stock!E2=Stock!B2-100": (True, False), '=IF(Stock!B2>70,"","x")=Stock!E2': (True, False),
        "=(Stock!B2>70)=Stock!E2": (False, True), "=Stock!E2<>Stock!E3": (False, False), '=Stock!E2<"a"': (True, True),
        "=FALSE<TRUE": (True, True), "=Stock!B2=100.0000000000001": (True, False), "=Stock!B2=100.000000001": (False, False),
        "=Stock!B2<=100": (True, True), "=Stock!B2>=100": (True, False), "=Stock!B2<>100": (False, True),
    },
    "texts": {
        # Texts.
        '=(Stock!B2>70)&"!"': ("TRUE!", "FALSE!"), "=Stock!E2&Stock!B2": ("100", "60"), '="5"+Stock!B2': (105, 65),
        '=Stock!B2/8&""': ("refused", "refused"), '="a"+Stock!B2': ("#VALUE!", "#VALUE!"), '=""+Stock!B2': ("#VALUE!", "#VALUE!"),
        '=" 1.5e1 "*Stock!B2': (1500, 900), '=Stock!B2*1000000&"kg"': ("100000000kg", "60000000kg"),
        '="say ""a"""': ('say "a"', 'say "a"'),
        '=-5&""': ("-5", "-5"), '=-1000000000000000&""': ("refused", "refused"),
    },
    "signs and powers": {
        # Signs, powers, percent.
        "=-(-Stock!B2)": (100, 60), "=--Stock!B2": (100, 60), "=---Stock!B2": (-100, -60), "=+Stock!B2%": (1, 0.6),
        "=Stock!B2%%": (0.01, 0.006), "=(Stock!B2/20)^2": (25, 9), "=2^3^2": (64, 64), "=-2^2": (4, 4), "=0^0": ("#NUM!", "#NUM!"),
        "=0^-1": ("#DIV/0!", "#DIV/0!"), "=(-8)^0.5": ("#NUM!", "#NUM!"), "=Stock!B2^999": ("#NUM!", "#NUM!"), "=1/Stock!E2": ("#DIV/0!", "#DIV/0!"),
        "= ( Stock!B2 + 1 ) * 2": (202, 122), "=SUM( Stock!B2 , 1 ) + 2 ": (103, 63), "=SUM(1) + SUM(Stock!B2)": (101, 61),
        "=8/2/2": (2, 2), "=2*3+4*5": (26, 26), "=(2+3)*4": (20, 20), "=1-2-3": (-4, -4), '=1+2&"x"': ("3x", "3x"), "=1+1=2": (True, True),
        "=0.3-0.1-0.2": ("refused", "refused"), "=-0.1-0.2+0.3": ("refused", "refused"), f"={'+'.join(['(Stock!B2)'] * 70)}": (7000, 4200),
    },
    "conditions and errors": {
        # Conditions and errors.
        "=IF(Stock!B2>70,TRUE)": (True, False), "=IF(Stock!E2,1,Stock!B2)": (100, 60), '=IF("a",1,2)': ("#VALUE!", "#VALUE!"),
        "=IF(1/0,1,2)": ("#DIV/0!", "#DIV/0!"), "=IF(0,1/0,Stock!B2)": (100, 60), "=IFERROR(Stock!B2/(Stock!B2-100),9)": (9, -1.5),
        "=IFERROR(#N/A,1)": (1, 1), "=#REF!+1": ("#REF!", "#REF!"), "=AND(Stock!B2,1)": (True, True), "=AND(Stock!B2-100,1)": (False, True),
        "=OR(Stock!B2-100,0)": (False, True), "=OR(Stock!A2:A3,Stock!B2>70)": (True, False), "=AND(Stock!A2:A3)": ("#VALUE!", "#VALUE!"),
        '=AND("x",TRUE)': ("#VALUE!", "#VALUE!"), "=OR(1/0,TRUE)": ("#DIV/0!", "#DIV/0!"), "=NOT(Stock!B2-100)": (True, False),
        "=TRUE()": (True, True), "=FALSE()": (False, False), "=AND(Stock!E2,Stock!B2)": (True, True),
        "=1/0+#N/A": ("#DIV/0!", "#DIV/0!"), "=1+#N/A": ("#N/A", "#N/A"), "=IF(Stock!E2:E3,1)": ("refused", "refused"),
    },
    "sums": {
        # Sums: texts and truth values of ranges do not count, those in arguments do.
        '=SUM(Stock!B2:B3,TRUE,"5")': (186, 146), '=SUM(Stock!B2,"x")': ("#VALUE!", "#VALUE!"), "=SUM(Stock!A1:B3)": (180, 140),
        "=SUM(1/0,Stock!B2)": ("#DIV/0!", "#DIV/0!"), "=PRODUCT(Stock!E2:E3,Stock!B2)": (100, 60), "=PRODUCT(Stock!E2:E3)": (0, 0),
        "=MAX(Stock!E2:E3,Stock!B2-200)": (-100, -140), "=MAX(Stock!E2:E3)": (0, 0), "=MIN(Stock!A2:A3)": (0, 0),
        "=MIN(Stock!B2,-1)": (-1, -1), "=AVERAGE(Stock!A2:A3,Stock!B2)": (100, 60), "=AVERAGE(Stock!A2:A3)": ("#DIV/0!", "#DIV/0!"),
        "=COUNT(Stock!A2:B3,7)": (3, 3), "=COUNTA(Stock!A2:B3,Stock!E2)": (4, 4),
    },
    "rounding": {
        # Rounding away from zero, whole numbers, remainders with the sign of the divisor.
        "=ROUND(-Stock!B2/8,0)": (-13, -8), "=ROUND(Stock!B2*7,-2)": (700, 400), "=ROUND(Stock!B2*7.5,-2)": (800, 500),
        "=ROUNDUP(Stock!B2/7,1)": (14.3, 8.6), "=ROUNDUP(-Stock!B2/7,0)": (-15, -9), "=ROUNDDOWN(Stock!B2/7,1)": (14.2, 8.5),
        "=ROUND(2.675,2)": (2.68, 2.68), "=ROUND(Stock!B2/7,1.9)": (14.3, 8.6), "=ROUND(1,15)": (1, 1), "=ROUND(1,16)": ("refused", "refused"),
        "=MOD(Stock!B2,-7)": (-5, -3), "=MOD(-Stock!B2,-7)": (-2, -4), "=MOD(Stock!B2,0)": ("#DIV/0!", "#DIV/0!"), "=INT(Stock!B2/7)": (14, 8),
        "=SQRT(-1)": ("#NUM!", "#NUM!"), "=ABS(-Stock!B2)": (100, 60), '=ABS("x")': ("#VALUE!", "#VALUE!"), "=ABS(1/0)": ("#DIV/0!", "#DIV/0!"),
        "=ROUND(Stock!B2,-15)": (0, 0), "=ROUND(Stock!B2,-16)": ("refused", "refused"),
        "=POWER(Stock!B2/20,2)": (25, 9), "=POWER(0,0)": ("#NUM!", "#NUM!"),
    },
    "conditions on ranges": {
        # Conditions on ranges.
        '=SUMIF(Stock!A2:A3,"<>rye",Stock!B2:B3)': (80, 80), "=SUMIF(Stock!B2:B3,100)": (100, 0), '=COUNTIF(Stock!B2:B3,"=80")': (1, 1),
        '=COUNTIF(Stock!B2:B3,"<>80")': (1, 1), '=COUNTIF(Stock!B2:B3,"<100")': (1, 2), '=COUNTIF(Stock!B2:B3,">=100")': (1, 0),
        '=COUNTIF(Stock!A2:B3,"RYE")': (1, 1), '=COUNTIF(Stock!A1:B3,"<>80")': (5, 5), '=COUNTIF(Stock!E2:E3,"<>rye")': (2, 2),
        '=COUNTIF(Stock!E2:E3,0)': (0, 0), '=COUNTIF(Stock!A2:A3,"r*")': ("refused", "refused"), '=COUNTIF(Stock!A2:A3,">r")': ("refused", "refused"),
        '=COUNTIF(Stock!A2:A3,"")': ("refused", "refused"), "=COUNTIF(Stock!A2:A3,TRUE)": ("refused", "refused"), "=COUNTIF(Stock!B2,60)": (0, 1),
        "=COUNTIFS(Stock!B2:B3,100,5,5)": ("refused", "refused"), "=COUNTIF(5,5)": ("refused", "refused"), '=SUMIF(Stock!B2:D2,">50")': (190, 150),
        '=SUMIFS(Stock!B2:B3,Stock!A2:A3,"rye",Stock!C2:C3,">5")': (100, 60), '=SUMIFS(Stock!B2:B3,Stock!A2:A3,"rye",Stock!C2:C3,">10")': (0, 0),
        '=SUMIFS(Stock!B2:C3,Stock!A2:A3,"rye")': ("refused", "refused"), '=COUNTIFS(Stock!A2:A3,"rye",Stock!A1:A3,"oat")': ("refused", "refused"),
        '=SUMIFS(Stock!B2:B3,Stock!A2:A3)': ("refused", "refused"), '=SUMIF(Stock!B2:C3,">9")': (190, 150),
    },
    "searches": {
        # Searches.
        "=INDEX(Stock!B2:B3,2)+Stock!B2": (180, 140), "=INDEX(Stock!B2:D2,1,2)": (10, 10), "=INDEX(Stock!B2:D2,2)": (10, 10),
        "=INDEX(Stock!B2:C3,2,1)": (80, 80), "=INDEX(Stock!B2:B3,3)": ("#REF!", "#REF!"), "=INDEX(Stock!B2:C3,1,3)": ("#REF!", "#REF!"),
        "=INDEX(Stock!B2:C3,0,1)": ("refused", "refused"), "=INDEX(Stock!B2:C3,1)": ("refused", "refused"), "=INDEX(7,1,1)": (7, 7),
        '=INDEX(Stock!B2:B3,"x")': ("#VALUE!", "#VALUE!"), "=INDEX(Stock!B2:B3,1,1)": (100, 60),
        '=HLOOKUP("loss",Stock!A1:D3,2,FALSE)': (10, 10), '=HLOOKUP("gross",Stock!A1:D3,3,0)': (80, 80),
        '=VLOOKUP("oat",Stock!A2:D3,2,0)': (80, 80), '=VLOOKUP("barley",Stock!A2:D3,2,0)': ("#N/A", "#N/A"),
        '=VLOOKUP("rye",Stock!A2:D3,9,0)': ("#REF!", "#REF!"), "=IFERROR(MATCH(60,Stock!B2:B3,0),-1)": (-1, 1), "=MATCH(80,Stock!B2:B3,0)": (2, 2),
        '=MATCH("oat",Stock!A2:C2,0)': ("#N/A", "#N/A"), '=MATCH("loss",Stock!A1:D1,0)': (3, 3), "=MATCH(1,Stock!B2:C3,0)": ("refused", "refused"),
        '=MATCH("r?e",Stock!A2:A3,0)': ("refused", "refused"), "=MATCH(1/0,Stock!A2:A3,0)": ("#DIV/0!", "#DIV/0!"), "=MATCH(Stock!E2,Stock!A2:A3,0)": ("refused", "refused"),
        '=MATCH("100",Stock!B2:B3,0)': ("#N/A", "#N/A"),
    },
    "sums of products": {
        # Sums of products, and subtotals.
        "=SUMPRODUCT(Stock!B2:B3)": (180, 140), "=SUMPRODUCT(2,Stock!B2)": (200, 120), "=SUMPRODUCT(Stock!B2:B3,Stock!A2:A3)": (0, 0),
        "=SUMPRODUCT(Stock!B2:B3,Stock!C2:C2)": ("#VALUE!", "#VALUE!"), "=SUMPRODUCT((Stock!B2:B3>70)*1)": (2, 1), "=SUMPRODUCT(Stock!B2:B3>70)": (0, 0),
        "=SUMPRODUCT(1/Stock!E2:E3)": ("#DIV/0!", "#DIV/0!"), "=SUMPRODUCT(Stock!B2:B3*Stock!B2:C3)": ("refused", "refused"),
        "=SUMPRODUCT(ABS(Stock!B2:B3))": ("refused", "refused"), "=SUMPRODUCT(ABS(-2)*Stock!B2:B3)": (360, 280), "=Stock!B2:B3*2": ("refused", "refused"),
        "=SUMPRODUCT(1*Stock!B2:B3)+SUM(Stock!B2:B3)": (360, 280),
        "=SUMPRODUCT(Stock!B2:C2*2)": (220, 140), "=SUMPRODUCT(ABS(Stock!B2)*Stock!B2:B3)": (18000, 8400), "=SUMPRODUCT(Stock!B2:C2,Stock!C2:D2)": (1900, 1500),
        "=SUMPRODUCT(SUM(Stock!B2:B3,1)*1)": ("refused", "refused"), "=SUMPRODUCT(IF(Stock!B2>70,Stock!B2:B3,0))": ("refused", "refused"),
        "=SUBTOTAL(1,Stock!B2:B3)": (90, 70), "=SUBTOTAL(102,Stock!A2:B3)": (2, 2), "=SUBTOTAL(3,Stock!A2:B3)": (4, 4), "=SUBTOTAL(5,Stock!B2:B3)": (80, 60),
        "=SUBTOTAL(6,Stock!B2:B3)": (8000, 4800), "=SUBTOTAL(7,Stock!B2:B3)": ("refused", "refused"), "=IF()": ("refused", "refused"),
    },
    "bounds": {
        # Bounds, errors and texts as arguments, ranges in place of values, and values in place of ranges.
        '=999999999999999&""': ("999999999999999", "999999999999999"), '=1000000000000000&""': ("refused", "refused"), "=ROUND(Stock!B2+5,-1)": (110, 70),
        "=COUNTIF(Stock!B2:B3,Stock!E2)": ("refused", "refused"), "=COUNTIF(Stock!B2:B3,1/0)": ("refused", "refused"), "=IF(1,2,3,4)": ("refused", "refused"),
        "=NOT(1/0)": ("#DIV/0!", "#DIV/0!"), '=NOT("x")': ("#VALUE!", "#VALUE!"), "=ABS(-TRUE)": (1, 1), "=MOD(5.5,2)": (1.5, 1.5), "=AVERAGE(1/0)": ("#DIV/0!", "#DIV/0!"),
        "=INDEX(Stock!B2:B3,1.9)": (100, 60), "=INDEX(Stock!B2:B3,-1)": ("refused", "refused"), "=IFERROR(Stock!B2:B3,1)": ("refused", "refused"),
        "=AND(Stock!A2:B3)": (True, True), "=OR(Stock!E2:E3)": ("#VALUE!", "#VALUE!"), "=PRODUCT(Stock!A2:A3)": (0, 0), "=MIN(TRUE,Stock!B2)": (1, 1),
        '=COUNTIFS(Stock!A2:A3,"rye",Stock!B2:B3)': ("refused", "refused"), '=SUMIFS(Stock!B2:B3,Stock!A2:C2,"rye")': ("refused", "refused"),
        '=SUMIFS(5,Stock!A2:A3,"rye")': ("refused", "refused"), '=SUMIF(Stock!A2:A3,"rye",Stock!B2:B2)': ("refused", "refused"), '=SUMIF(Stock!B2:B3,"100")': (100, 0),
        '=VLOOKUP("rye",Stock!A2:D3,2)': ("refused", "refused"), '=VLOOKUP("rye",7,1,0)': ("refused", "refused"), '=HLOOKUP("gross",7,1,0)': ("refused", "refused"),
        "=VLOOKUP(1/0,Stock!A2:D3,2,0)": ("#DIV/0!", "#DIV/0!"), "=MATCH(TRUE,Stock!B2:B3,0)": ("#N/A", "#N/A"), '=SUBTOTAL("x",Stock!B2:B3)': ("refused", "refused"),
        "=SUMPRODUCT(Stock!B2:B3,Stock!C2:C3,Stock!C2:C3)": (12000, 8000), "=1=1=1": (False, False), '=IF("",1,2)': ("#VALUE!", "#VALUE!"),
        "=Stock!E2": (0, 0), "=Stock!Z99": (0, 0), "=Stock!B2:B2": (100, 60), "=1+0.2-1.2": (0, 0), "=0.1+0.2-0.3": ("refused", "refused"), "=0.1*3-0.3+1": ("refused", "refused"),
        # Arrays, other workbooks, several sheets, implicit intersections and brackets that never end.
        "=SUM({1})": ("refused", "refused"), "=[1]Other!A1+1": ("refused", "refused"), "=SUM(Stock:Use!B2)": ("refused", "refused"),
        "=SUM(@Stock!B2:B3)": ("refused", "refused"), "=SUM(Stock!@B2:B3)": ("refused", "refused"), "=SUM(": ("refused", "refused"),
        # Names of formulas, also with the sheet that has the name.
        "=total+1": (181, 141), "=MAX(total,1)": (180, 140), "=size": (0, 40), "=Stock!mass+1": (11, 11), "='stock'!MASS*2": (20, 20), "=Use!total": (180, 140),
        "=mass": ("refused", "refused"), "=Use!mass": ("refused", "refused"), "=None!total": ("refused", "refused"), "=[1]Stock!total": ("refused", "refused"),
        "=SUM(Empty!A1:B9)": (0, 0), "=COUNT(Empty!A1:B9,Stock!B9:C99)": (0, 0), "=COUNTIF(Stock!A4:A99,1)": (0, 0),
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def stock_formulas() -> WorkbookFormulas:
    return WorkbookFormulas.read(stock_with("=1", 1))


def compute(formulas: WorkbookFormulas, changed: dict[Position, Scalar], formula: str) -> object:
    """Return the value of a formula of the sheet "Use", with its type for a truth value; "refused" if it has none."""
    try:
        value = FormulaValues(formulas, changed).compute(formula, Position("Use", 2, 1))
    except UnsupportedFormula:
        return "refused"
    return f"{value}" if isinstance(value, bool) else value


@pytest.mark.parametrize("topic", VALUES)
def test_the_values_of_formulas_are_those_of_excel(stock_formulas: WorkbookFormulas, topic: str) -> None:
    for place, changed in enumerate(({}, {Position("Stock", 2, 2): 60.0})):
        expected = {formula: values[place] for formula, values in VALUES[topic].items()}
        values = {formula: compute(stock_formulas, changed, formula) for formula in expected}
        assert values == {
            formula: pytest.approx(value)
            if isinstance(value, float)
            else str(value)
            if isinstance(value, bool)
            else value
            for formula, value in expected.items()
        }


def test_dates_are_numbers_of_days_and_cells_that_are_read_are_counted() -> None:
    book = stock_book([])
    book["Use"]["A2"] = date(2026, 3, 1)
    content = save_with_values(book, {"Stock!D2": 90, "Stock!D3": 75})
    values = FormulaValues(WorkbookFormulas.read(content), {})
    # 45,000 is the 15th of March 2023.
    assert values.compute("=Use!A2", Position("Use", 9, 9)) == 45000 + (date(2026, 3, 1) - date(2023, 3, 15)).days
    values = FormulaValues(WorkbookFormulas.read(content), {}, [8])
    assert values.compute("=SUM(Stock!B2:C3)", Position("Use", 9, 9)) == 195
    assert values.compute("=SUM(Stock!B2:C3)", Position("Use", 9, 9)) == 195
    with pytest.raises(UnsupportedFormula):
        values.compute("=Stock!B2", Position("Use", 9, 9))


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


@pytest.mark.parametrize(
    ("reference", "cells"),
    [
        ("A2:A2", {"A2"}), ("A2:A3", {"A2", "A3"}), ("A2:B3", {"A2", "B2", "A3", "B3"}),
        # Cells behind the last one of the sheet are empty.
        ("A2:A9", {"A2", "A3", "A4"}), ("A2:F2", {"A2", "B2", "C2"}), ("A2:XFD1048576", {f"{column}{row}" for column in "ABC" for row in (2, 3, 4)}),
    ],
)  # fmt: skip
def test_an_array_formula_is_at_each_cell_that_it_fills(reference: str, cells: set[str]) -> None:
    book = openpyxl.Workbook()
    for _ in range(4):
        book.active.append((1, 2, 3))
    book.active["A2"] = ArrayFormula(reference, "=D1*2")
    out = io.BytesIO()
    book.save(out)
    texts = WorkbookFormulas.read(out.getvalue()).texts
    assert {str(cell).rpartition("!")[2] for cell in texts} == cells
    assert set(texts.values()) == {"{=D1*2"}


def test_a_table_of_what_if_values_may_depend_on_any_cell() -> None:
    book = stock_book([])
    book["Use"]["A2"] = DataTableFormula("A2:A3", dt2D=False, r1="B2")
    book["Use"]["A3"] = 1
    formulas = WorkbookFormulas.read(save_with_values(book, {}))
    assert {cell for cell, areas in formulas.areas.items() if areas is None} == {
        Position("Use", 2, 1),
        Position("Use", 3, 1),
    }
    with pytest.raises(WorkspaceError):
        formulas.find_dependents([Position("Stock", 2, 3)])
    # A cell whose formula is replaced depends on nothing more.
    assert formulas.find_dependents([Position("Use", 2, 1), Position("Use", 3, 1)]) == []


@pytest.mark.parametrize(
    ("formula", "cells"),
    [
        ("=_xlfn.XLOOKUP(1,Stock!B2:B2,C3)", [("Stock", 2, 2), ("Use", 3, 3)]), ("=_xlfn.LET(_xlpm.x,Stock!B2,_xlpm.x*2)", [("Stock", 2, 2)]),
        ("=1", []), ("=rye+half", [("Stock", 2, 2)]), ("=new.function(B2)", None), ("=SUM(_xlfn.ANCHORARRAY(B2))", [("Use", 2, 2)]),
        ("=Stock!mass+mass", None), ("=Stock!mass", [("Stock", 2, 3)]), ("=A1*Stock[@gross]", [("Use", 1, 1), ("Stock", 9, 2)]),
    ],
)  # fmt: skip
def test_the_cells_that_a_formula_reads_are_in_its_text(
    stock_formulas: WorkbookFormulas, formula: str, cells: list[tuple[str, int, int]] | None
) -> None:
    areas = stock_formulas.find_inputs(formula, Position("Use", 9, 9))
    assert areas == (None if cells is None else tuple(Area(*cell, *cell[1:]) for cell in cells))


def test_a_relative_name_may_mean_any_cell() -> None:
    book = stock_book([])
    for name, text in (("left", "Stock!B2"), ("half_left", "Stock!$B2"), ("column", "Stock!$B:$B")):
        book.defined_names[name] = DefinedName(name, attr_text=text)
    formulas = WorkbookFormulas.read(save_with_values(book, {}))
    assert [formulas.find_inputs(f"={name}*1", Position("Use", 2, 1)) for name in ("left", "half_left", "column")] == [
        None, None, (Area("Stock", 1, 2, 1 << 20, 2),),
    ]  # fmt: skip


def test_comparisons_of_cells_and_names_are_limited() -> None:
    """By hand: B2 and D2 with the one range of their sheet, and both dependent cells with that range; a name costs 100."""
    formulas = WorkbookFormulas.read(stock_with("=SUM(Stock!B2:B3)", 180))
    for budget in (3, 4):
        limited = WorkbookFormulas(formulas.grid, formulas.tables, _comparisons=[budget])
        if budget == 3:
            with pytest.raises(WorkspaceError):
                limited.find_dependents([Position("Stock", 2, 2)])
        else:
            assert len(limited.find_dependents([Position("Stock", 2, 2)])) == 2
    for budget, is_read in ((199, False), (200, True)):
        limited = WorkbookFormulas(formulas.grid, formulas.tables, _comparisons=[budget])
        if is_read:
            assert limited.find_inputs("=rye+rye", Position("Use", 9, 9)) is not None
        else:
            with pytest.raises(WorkspaceError):
                limited.find_inputs("=rye+rye", Position("Use", 9, 9))


@pytest.mark.parametrize(
    ("attributes", "areas"),
    [
        # Excel leaves out the numbers of lines of headers and totals that are usual.
        ('displayName="Tab" ref="A1:B4"', {"Tab[kg]": (2, 4), "Tab[#Headers]": (1, 1)}), ('name="TAB" ref="A1:B4"', {"Tab[kg]": (2, 4)}),
        ('displayName="Tab" ref="A1:B4" headerRowCount="0"', {"Tab[kg]": (1, 4)}),
        ('displayName="Tab" name="Other" ref="A2:B4" totalsRowCount="2"', {"Tab[kg]": (3, 2), "Tab[#Totals]": (3, 4), "Other[kg]": None}),
        ('displayName="Tab" ref=""', {"Tab[kg]": None}), ('displayName="Tab" ref="A:B"', {"Tab[kg]": None}), ('displayName="Tab" ref="A1:B4" headerRowCount="x"', {"Tab[kg]": None}), ('ref="A1:B4"', {"Tab[kg]": None}),
    ],
)  # fmt: skip
def test_tables_have_the_lines_that_their_attributes_say(
    attributes: str, areas: dict[str, tuple[int, int] | None]
) -> None:
    book = openpyxl.Workbook()
    for row in (("a", "kg"), ("p", 1), ("q", 2), ("r", 3)):
        book.active.append(row)
    book.active.add_table(Table(displayName="Tab", ref="A1:B4"))
    content = save_with_values(book, {})
    columns = '<tableColumn id="1" name="a"/><tableColumn id="2" name="k&#103;"/>'
    content = with_part(content, "xl/tables/table1.xml", f"<table {attributes}>{columns}</table>")
    # A sheet names a part that is missing before its table, and a table that can be read after it.
    for number, name in ((7, "Last"), (8, "Sum")):
        content = with_part(
            content, f"xl/tables/table{number}.xml", f'<table displayName="{name}" ref="A4:B4">{columns}</table>'
        )
    targets = "".join(f'<Relationship Target="../tables/table{number}.xml"/>' for number in (9, 1, 7))
    content = with_part(content, "xl/worksheets/_rels/sheet1.xml.rels", f"<Relationships>{targets}</Relationships>")
    formulas = WorkbookFormulas.read(content)
    cell = Position("Sheet", 3, 5)
    for reference, rows in areas.items():
        found = formulas.find_areas(reference, cell)
        assert (found and (found[0].top, found[0].bottom)) == rows, reference
    assert formulas.find_areas("Last[#Headers]", cell) == (Area("Sheet", 4, 1, 4, 2),)
    assert formulas.find_areas("Sum[kg]", cell) is None


def test_formulas_stay_and_a_text_that_begins_with_an_equals_sign_is_none() -> None:
    book = stock_book(["=Stock!B2*2"])
    book["Use"]["B2"] = "=not a formula"
    book["Use"]["B2"].data_type = "s"
    content = save_with_values(book, {"Stock!D2": 90, "Stock!D3": 75, "Use!A2": 200})
    changed = change_cells(content, "data/plan.xlsx", [read_change(CHANGE)])
    texts = openpyxl.load_workbook(io.BytesIO(changed))
    assert (texts["Stock"]["D2"].value, texts["Use"]["A2"].value) == ("=B2-C2", "=Stock!B2*2")
    assert saved_values(changed)["Use!B2"] == "=not a formula"
    # The shortest formula has one character; it may have no saved value at the end of a row.
    book["Stock"]["F3"] = "=1"
    formulas = WorkbookFormulas.read(save_with_values(book, {"Stock!D2": 90, "Stock!D3": 75, "Use!A2": 200}))
    assert set(formulas.texts.values()) == {"=1", "=B2-C2", "=B3-C3", "=Stock!B2*2"}
    assert formulas.texts[Position("Stock", 3, 6)] == "=1"


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
            value = "" if values[f"Use!A{row}"] is None else values[f"Use!A{row}"]
            assert value == pytest.approx(CASES[formula][place]), formula


def with_part(content: bytes, name: str, text: str) -> bytes:
    """Return a workbook with another part, or with another text of a part."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(out, "w") as edited:
        for member in archive.namelist():
            if member != name:
                edited.writestr(member, archive.read(member))
        edited.writestr(name, text)
    return out.getvalue()


@pytest.mark.parametrize(
    ("source", "is_refused"),
    [
        ('sheet="Stock" ref="A1:B3"', True),
        ('sheet="Stock" ref="C1:C3"', False),
        ('name="rye"', True),
        ('name="x"', True),
    ],
)
def test_a_cell_from_which_a_pivot_table_is_made_is_refused(source: str, is_refused: bool) -> None:
    part = f"<pivotCacheDefinition><cacheSource><worksheetSource {source}/></cacheSource></pivotCacheDefinition>"
    content = with_part(stock_with("=Stock!B3", 80), "xl/pivotCache/pivotCacheDefinition1.xml", part)
    change = read_change("data/plan.xlsx#Stock[rye, gross] = 60")
    if is_refused:
        with pytest.raises(WorkspaceError):
            change_cells(content, "data/plan.xlsx", [change])
    else:
        assert saved_values(change_cells(content, "data/plan.xlsx", [change]))["Stock!D2"] == 50


def test_a_pivot_table_of_an_unknown_place_may_be_made_from_each_cell() -> None:
    part = '<pivotCacheDefinition><worksheetSource name="x"/><worksheetSource ref="B2"/></pivotCacheDefinition>'
    content = with_part(stock_with("=1", 1), "xl/pivotCache/pivotCacheDefinition1.xml", part)
    *unknown, first = WorkbookFormulas.read(content).pivot_sources
    assert unknown == [Area(title, 1, 1, 1 << 20, 1 << 14) for title in ("Stock", "Use", "Empty")]
    assert first == Area("Stock", 2, 2, 2, 2)


def test_dates_that_count_from_1904_are_refused() -> None:
    book = stock_book(["=Stock!E2+Stock!B2"])
    book["Stock"]["E2"] = date(2026, 3, 1)
    number = 46082 + 100
    for epoch, value in ((WINDOWS_EPOCH, number), (MAC_EPOCH, number - 1462)):
        book.epoch = epoch
        content = save_with_values(book, {"Stock!D2": 90, "Stock!D3": 75, "Use!A2": value})
        if epoch is MAC_EPOCH:
            with pytest.raises(WorkspaceError):
                change_cells(content, "data/plan.xlsx", [read_change(CHANGE)])
        else:
            assert saved_values(change_cells(content, "data/plan.xlsx", [read_change(CHANGE)]))["Use!A2"] == number - 40


@pytest.mark.parametrize(
    ("target", "is_refused"),
    [("plan.xlsx", True), ("file:///C:\\x\\plan.xlsx", True), ("b.xlsx", False), ("other.xlsx", False)],
)
def test_a_workbook_to_which_another_one_refers_is_refused(target: str, is_refused: bool, tmp_path: Path) -> None:
    part = f'<Relationships><Relationship Id="rId1" Target="{target}"/></Relationships>'
    other = with_part(stock_with("=1", 1), "xl/externalLinks/_rels/externalLink1.xml.rels", part)
    (tmp_path / "other.xlsx").write_bytes(other)
    (tmp_path / "plan.xlsx").write_bytes(stock_with("=1", 1))
    files = {"data/other.xlsx": tmp_path / "other.xlsx", "data/plan.xlsx": tmp_path / "plan.xlsx"}
    # A file that is no workbook is not read, and a workbook may refer to itself.
    files["data/missing.csv"] = tmp_path / "missing.csv"
    refuse_linked("data/other.xlsx", files)
    refuse_linked("data/missing.csv", files)
    if is_refused:
        with pytest.raises(WorkspaceError):
            refuse_linked("data/plan.xlsx", files)
    else:
        refuse_linked("data/plan.xlsx", files)


def test_names_of_a_sheet_come_before_names_of_the_workbook() -> None:
    book = stock_book(["=amount*2", "=Stock!amount*2"])
    book.defined_names["amount"] = DefinedName("amount", attr_text="Stock!$B$3")
    book["Stock"].defined_names["amount"] = DefinedName("amount", attr_text="Stock!$B$2")
    content = save_with_values(book, {"Stock!D2": 90, "Stock!D3": 75, "Use!A2": 160, "Use!A3": 200})
    values = saved_values(change_cells(content, "data/plan.xlsx", [read_change(CHANGE)]))
    assert (values["Use!A2"], values["Use!A3"]) == (160, 120)


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("Tab[kg]", {(2, 2), (3, 2)}), ("Tab", {(2, 1), (2, 2), (3, 1), (3, 2)}), ("Tab[#Totals]", {(4, 1), (4, 2)}),
        ("Tab[[#Headers],[kg]]", {(1, 2)}), ("Tab[[#This Row],[kg]]", {(3, 2)}), ("Tab[@kg]", {(3, 2)}),
        ("Tab[[#All],[kg]]", {(1, 2), (2, 2), (3, 2), (4, 2)}), ("Tab[[#Data],[#Totals],[kg]]", {(2, 2), (3, 2), (4, 2)}),
        ("Tab[none]", None), ("None[kg]", None), ("Tab[#Odd]", None), ("A:A", {(1, 1), (9, 1)}), ("2:2", {(2, 1), (2, 3)}),
        ("Sheet!A1:B1", {(1, 1), (1, 2)}), ("'Sheet'!$B2", {(2, 2)}), ("XFE1", None), ("B1048577", None),
        ("[1]Sheet!A1", set()), ("Missing!A1", None), ("Sheet:Last!B1", {(1, 2)}), ("Last:Sheet!B1", {(1, 2)}), ("Sheet:None!B1", None), ("None:Last!B1", None),
        ("Tab[[kg]:[a]]", {(2, 1), (2, 2), (3, 1), (3, 2)}), ("Tab[[#Totals],[#Headers],[kg]]", {(1, 2), (2, 2), (3, 2), (4, 2)}),
        ("B3:A2", {(2, 1), (2, 2), (3, 1), (3, 2)}),
        ("Tab[[kg]:[none]]", None), ("Tab[[#All],[#Odd]]", None), ("_xlpm.x", set()), ("A1:XFD1", {(1, 1), (1, 2), (1, 3)}), ("A1:XFE1", None), ("A1:B1048577", None),
    ],
)  # fmt: skip
def test_references_name_their_cells(reference: str, expected: set[tuple[int, int]] | None) -> None:
    book = openpyxl.Workbook()
    for row in (("a", "kg"), ("p", 1), ("q", 2), ("sum", 3)):
        book.active.append(row)
    table = Table(displayName="Tab", ref="A1:B4", totalsRowCount=1)
    book.active.add_table(table)
    book.create_sheet("Last")
    out = io.BytesIO()
    book.save(out)
    formulas = WorkbookFormulas.read(out.getvalue())
    areas = formulas.find_areas(reference, Position("Sheet", 3, 5))
    if expected is None:
        assert areas is None
        return
    assert areas is not None
    cells = {(row, column) for row in range(1, 10) for column in range(1, 4)}
    held = {cell for cell in cells for area in areas if area.contains(Position("Sheet", *cell))}
    assert held == expected or (expected < held and ":" in reference and "Sheet" not in reference)
    sheets = {area.sheet for area in areas}
    assert sheets == ({"Sheet", "Last"} if "Last" in reference else {"Sheet"} if expected else set())


@pytest.mark.parametrize(
    "formula",
    [
        "=SUM(Stock!B2",
        "=",
        "=Stock!B2 Stock!B3",
        "=SUM(Stock!B2:C2 Stock!C2:C3)",
        "=1+",
        "=(1",
        "=SUM(Stock!B2))",
        "=@Stock!B2:B3",
    ],
)
def test_a_formula_that_cannot_be_read_is_not_computed(stock_formulas: WorkbookFormulas, formula: str) -> None:
    with pytest.raises(UnsupportedFormula):
        FormulaValues(stock_formulas, {}).compute(formula, Position("Use", 2, 1))


def test_a_long_or_deep_formula_is_not_computed(stock_formulas: WorkbookFormulas) -> None:
    formulas = stock_formulas
    cell = Position("Use", 2, 1)
    deep = f"={'(' * MAX_DEPTH}1{')' * MAX_DEPTH}"
    assert FormulaValues(formulas, {}).compute(deep, cell) == 1
    # A name counts as a bracket.
    for brackets, value in ((MAX_DEPTH - 1, 0.5), (MAX_DEPTH, "refused")):
        assert compute(formulas, {}, f"={'(' * brackets}half{')' * brackets}") == value
    with pytest.raises(UnsupportedFormula):
        FormulaValues(formulas, {}).compute(f"=({deep[1:]})", cell)
    assert FormulaValues(formulas, {}).compute(f"={'-' * 3001}1", cell) == -1
    with pytest.raises(UnsupportedFormula):
        FormulaValues(formulas, {}).compute(f"={'(' * 200}1{')' * 200}", cell)
    assert formulas.find_inputs(f"=Stock!B2{'+1' * 4091}", cell) == (Area("Stock", 2, 2, 2, 2),)
    assert formulas.find_inputs(f"=Stock!B2{'+1' * 4091}0", cell) == (Area("Stock", 2, 2, 2, 2),)
    assert formulas.find_inputs(f"=Stock!B2{'+1' * 4091}00", cell) is None


def test_names_that_need_each_other_end() -> None:
    book = stock_book(["=first*1"])
    book.defined_names["first"] = DefinedName("first", attr_text="second")
    book.defined_names["second"] = DefinedName("second", attr_text="first")
    with pytest.raises(WorkspaceError):
        content = save_with_values(book, {"Stock!D2": 90, "Stock!D3": 75, "Use!A2": 1})
        change_cells(content, "data/plan.xlsx", [read_change(CHANGE)])


@pytest.mark.parametrize(("names", "is_known"), [(1, True), (8, True), (9, False)])
def test_a_name_stands_for_other_names_up_to_a_depth(names: int, is_known: bool) -> None:
    book = stock_book([])
    for number in range(1, names):
        book.defined_names[f"link{number}_"] = DefinedName(f"link{number}_", attr_text=f"link{number + 1}_")
    book.defined_names[f"link{names}_"] = DefinedName(f"link{names}_", attr_text="Stock!$B$2")
    formulas = WorkbookFormulas.read(save_with_values(book, {}))
    found = formulas.find_inputs("=link1_*2", Position("Use", 2, 1))
    assert found == ((Area("Stock", 2, 2, 2, 2),) if is_known else None)


def test_a_cell_is_named_by_the_nearest_heading_above() -> None:
    book = stock_book([])
    book["Use"]["A3"] = "limits"
    book["Use"]["A4"], book["Use"]["D1"], book["Use"]["D2"], book["Use"]["D3"] = "=1", "head", " ", 5
    formulas = WorkbookFormulas.read(save_with_values(book, {}))
    assert describe_cell(formulas, Position("Use", 4, 1)).split() == ["column", "limits", "(Use!A4)"]
    assert describe_cell(formulas, Position("Use", 4, 3)) == "Use!C4"
    assert describe_cell(formulas, Position("Use", 2, 1)).split()[:2] == ["column", "use"]
    assert describe_cell(formulas, Position("Use", 3, 1)).split()[:2] == ["column", "use"]
    assert describe_cell(formulas, Position("Use", 4, 4)).split()[:2] == ["column", "head"]
    for column, heading in ((2, "gross"), (3, "loss"), (4, "available")):
        assert describe_cell(formulas, Position("Stock", 3, column)).split()[:2] == ["column", heading]
    assert describe_cell(formulas, Position("Stock", 3, 5)) == "Stock!E3"


@pytest.mark.parametrize("row", ['<row r="3"/>', '<row r="3"></row>'])
def test_a_row_without_cells_takes_a_value_or_is_refused(row: str) -> None:
    content = stock_with("=1", 1)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        xml = archive.read("xl/worksheets/sheet1.xml").decode()
    empty = re.sub(r'<row r="3".*?</row>', row, xml)
    changed = with_part(content, "xl/worksheets/sheet1.xml", empty)
    if row.endswith("/>"):
        with pytest.raises(WorkspaceError):
            replace_workbook_cells(changed, "plan.xlsx", {(3, 1): "7"}, "Stock")
    else:
        assert saved_values(replace_workbook_cells(changed, "plan.xlsx", {(3, 1): "7"}, "Stock"))["Stock!B3"] == 7


def test_the_master_of_a_shared_formula_is_not_replaced() -> None:
    content = stock_with("=1", 1)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        xml = archive.read("xl/worksheets/sheet1.xml").decode()
    shared = xml.replace("<f>B2-C2</f>", '<f t="shared" ref="D2:D3" si="0">B2-C2</f>')
    shared = shared.replace("<f>B3-C3</f>", '<f t="shared" si="0"/>')
    content = with_part(content, "xl/worksheets/sheet1.xml", shared)
    values = saved_values(change_cells(content, "data/plan.xlsx", [read_change("data/plan.xlsx#Stock[oat, loss] = 7")]))
    assert (values["Stock!D2"], values["Stock!D3"]) == (90, 73)
    with pytest.raises(WorkspaceError):
        change_cells(content, "data/plan.xlsx", [read_change("data/plan.xlsx#Stock[rye, available] = 7")])
    change_cells(content, "data/plan.xlsx", [read_change("data/plan.xlsx#Stock[oat, available] = 7")])
