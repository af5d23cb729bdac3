"""Tables of a plan: the names of their columns, the order of their rows, and the files that have them."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from oragent.formulate.plan_tables import MAX_SHEET_NAME, PlanTable, order_families, tabulate_plan, write_plan
from oragent.report.pages.time_scales import read_time_scale
from oragent.report.pages.value_tables import DecisionFamily, DecisionKind


def family(*indices: tuple[str, ...], name: str = "ship", value: float = 2.0, **fields: Any) -> DecisionFamily:
    """A family with the values 2, 3, and so on."""
    entries = {index: f"{name}{at}" for at, index in enumerate(indices)}
    return DecisionFamily(name, entries, {f"{name}{at}": value + at for at in range(len(indices))}, **fields)


@pytest.mark.parametrize(
    ("data", "heads"),
    [
        ({"towns": ["Lyon", "Nice", "Paris"], "shops": ["A", "B"]}, ("towns", "shops")),
        # The column with the fewest labels fits best; one with other labels does not fit.
        ({"all": ["Lyon", "Nice", "A", "B"], "towns": ["Lyon", "Nice"], "few": ["A"]}, ("towns", "all")),
        ({"cost": {"Lyon": 1, "Nice": 2}, "need": {"A": 1, "B": 2}}, ("cost", "need")),
        ({"rows": [{"town": "Lyon", "shop": "A"}, {"town": "Nice", "shop": "B"}]}, ("town", "shop")),
        # A column that the first row lacks is none; a row without a cell has no label of it.
        ({"rows": [{"town": "Lyon"}, {"town": "Nice", "shop": "A"}, {"shop": "B"}]}, ("town", "index 2")),
        ({"mixed": ["Lyon", "Nice", 2.5], "none": [], "text": "Lyon", "rows": [{"town": "Lyon"}, "Nice"]}, ("index 1", "index 2")),
        ({"both": ["A", "B", "Lyon", "Nice"]}, ("both", "both 2")),
        ({}, ("index 1", "index 2")),
    ],
)  # fmt: skip
def test_an_index_has_the_name_of_the_data_that_have_its_labels(
    data: Mapping[str, Any], heads: tuple[str, ...]
) -> None:
    (table,) = tabulate_plan([family(("Lyon", "A"), ("Nice", "B"))], data)
    assert table.heads == (*heads, "value")
    assert table.rows == (("Lyon", "A", 2.0), ("Nice", "B", 3.0))


def test_labels_that_are_numbers_are_names_of_data_too() -> None:
    (table,) = tabulate_plan([family(("1",), ("2",))], {"weeks": [1, 2, 3]})
    assert table.heads == ("weeks", "value")


def test_a_table_has_its_unit_and_its_clock_times() -> None:
    scale = read_time_scale("minutes since 08:00")
    start = family(("a",), ("b",), name="start", value=0.0, unit="min", kind=DecisionKind.TIME, scale=scale)
    amounts = family(("a",), ("b",), value=0.0, unit="kg (dry)")
    times, made = tabulate_plan([start, amounts], {"tasks": ["a", "b"]})
    assert times == PlanTable("start", ("tasks", "value (min)"), (("a", 0.0), ("b", 1.0)), "min", ("08:00", "08:01"))
    # An amount of 0 is left out.
    assert made == PlanTable("ship", ("tasks", "value (kg (dry))"), (("b", 1.0),), "kg (dry)")


@pytest.mark.parametrize(
    ("indices", "data", "order"),
    [
        ([("c",), ("a",), ("b",)], {"x": ["b", "a", "c"]}, [("b",), ("a",), ("c",)]),
        # What the data lack comes last, in the order of the program.
        ([("z",), ("a",), ("y",), ("b",)], {"x": ["b", "a"]}, [("b",), ("a",), ("z",), ("y",)]),
        ([("a", "q"), ("b", "p"), ("a", "p")], {"x": ["p", "q"], "y": ["a", "b"]}, [("a", "p"), ("a", "q"), ("b", "p")]),
        # Periods come first, whatever the order of the data.
        (
            [("a", "week 4"), ("b", "week 3"), ("b", "week 1"), ("a", "week 1"), ("a", "week 2")], {"x": ["a", "b", "week 4", "week 1"]},
            [("a", "week 1"), ("b", "week 1"), ("a", "week 2"), ("b", "week 3"), ("a", "week 4")],
        ),
    ],
)  # fmt: skip
def test_rows_have_the_order_of_periods_and_of_the_data(
    indices: list[tuple[str, ...]], data: dict[str, Any], order: list[tuple[str, ...]]
) -> None:
    (ordered,) = order_families([family(*indices)], data)
    assert list(ordered.entries) == order
    assert {ordered.entries[index]: index for index in order} == {
        f"ship{at}": index for at, index in enumerate(indices)
    }


TABLES = (
    PlanTable("start", ("task", "value (min)"), (("a", 0.0), ("b", 1.5)), "min", ("08:00", "08:01")),
    PlanTable("ship", ("town", "task", "value"), (("Lyon", "b", 4.0),)),
)


def test_all_tables_are_in_one_text_with_a_column_for_each_index(tmp_path: Path) -> None:
    written = write_plan(tmp_path, TABLES)
    assert written[0] == tmp_path / "plan.csv"
    rows = list(csv.DictReader(io.StringIO(written[0].read_text(encoding="utf-8"))))
    names = ["decision", "task", "town", "value", "unit", "time"]
    assert list(rows[0]) == names
    assert [[row[name] for name in names] for row in rows] == [
        ["start", "a", "", "0.0", "min", "08:00"], ["start", "b", "", "1.5", "min", "08:01"], ["ship", "b", "Lyon", "4.0", "", ""],
    ]  # fmt: skip
    write_plan(tmp_path, TABLES[1:])
    assert (tmp_path / "plan.csv").read_text(encoding="utf-8").splitlines()[0] == "decision,town,task,value,unit"


def test_each_table_is_a_sheet_with_a_name_of_its_own(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    long = "x" * (MAX_SHEET_NAME + 4)
    empty = PlanTable("", ("value",), ())
    tables = (*TABLES, PlanTable("Ship", ("value",), ((7.0,),)), *[PlanTable(long, ("value",), ())] * 12, empty)
    written = write_plan(tmp_path, tables)
    assert written == [tmp_path / "plan.csv", tmp_path / "plan.xlsx"]
    book = openpyxl.load_workbook(written[1])
    names = ["start", "ship", "Ship_2", "x" * MAX_SHEET_NAME, *(f"{'x' * 29}_{at}" for at in range(2, 10))]
    assert book.sheetnames == [*names, *(f"{'x' * 28}_{at}" for at in range(10, 13)), "plan"]
    assert list(book["start"].values) == [("task", "value (min)", "time"), ("a", 0, "08:00"), ("b", 1.5, "08:01")]
    assert list(book["ship"].values) == [("town", "task", "value"), ("Lyon", "b", 4)]
    write_plan(tmp_path, ())
    book = openpyxl.load_workbook(written[1])
    assert [(sheet.title, list(sheet.values)) for sheet in book] == [("plan", [("value",)])]


def test_without_the_library_of_workbooks_there_is_a_text_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(sheets: object) -> bytes:
        raise ImportError("openpyxl")

    monkeypatch.setattr("oragent.formulate.plan_tables.write_workbook", refuse)
    assert write_plan(tmp_path, TABLES) == [tmp_path / "plan.csv"]
    assert [path.name for path in tmp_path.iterdir()] == ["plan.csv"]
