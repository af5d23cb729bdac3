"""Sheets of a workbook where versions are compared and on the page, and line ends of Windows there."""

from pathlib import Path

import pytest

from oragent.workspace.data_edits import list_edits


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
    found = (edit.path, edit.table, edit.row, edit.column, edit.before, edit.after)
    assert found == ("data/plan.xlsx", "Rules", "overtime", "value", "20", "35")
