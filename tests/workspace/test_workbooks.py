"""Sheets of a workbook where versions are compared and on the page, and line ends of Windows there."""

from pathlib import Path

import pytest

from oragent.workspace.data_edits import list_edits
from oragent.workspace.pages import render_page
from oragent.workspace.versions import Versions
from tests.workspace.release import put


def save_workbook(path: Path, demand: int, overtime: int) -> None:
    """Write a workbook of two sheets with a figure each."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Demand"
    rules = book.create_sheet("Rules")
    for sheet, rows in ((book.active, (("house", "kg"), ("Nord", demand), ("West", 5))),
                        (rules, (("rule", "value"), ("overtime", overtime), ("carts", 9)))):  # fmt: skip
        for row in rows:
            sheet.append(row)
    path.parent.mkdir(parents=True, exist_ok=True)
    book.save(path)


def test_changed_cells_of_every_sheet_are_compared(tmp_path: Path) -> None:
    for name, overtime in (("old", 20), ("new", 35)):
        save_workbook(tmp_path / name / "data/plan.xlsx", 12, overtime)
    old, new = ((tmp_path / name / "data/plan.xlsx").read_bytes() for name in ("old", "new"))
    (edit,) = list_edits({"data/plan.xlsx": old}, {"data/plan.xlsx": new})
    assert edit == (("data/plan.xlsx", "Rules", "overtime", "value"), "20", "35")


def test_the_page_shows_each_sheet_and_no_carriage_returns(tmp_path: Path) -> None:
    save_workbook(tmp_path / "data/plan.xlsx", 12, 20)
    put(tmp_path, {"data/costs.csv": "item,cost\ncloth,3\n"})
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_bytes(b"Wash `cloth`\r\nfor every house.\r\n")
    Versions(tmp_path).save_snapshot("begin")
    page = render_page(tmp_path)
    assert "<h3>data/plan.xlsx, sheet Demand</h3>" in page
    rules = page[page.index("<h3>data/plan.xlsx, sheet Rules</h3>") :]
    assert "<td>overtime</td><td>20</td>" in rules
    assert "u000d" not in page
    anchor = page[page.index('<a href="#t') + 10 :].partition('"')[0]
    assert f'<tr id="{anchor}"><td>cloth</td>' in page
