"""Changed tables of a finished formulation: the right plan by linear programming, or a refusal that names the cell."""

import io
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from scipy.optimize import linprog

from oragent._base.errors import ProblemError
from oragent.formulate import command as command_module
from oragent.formulate import rerun as rerun_module
from oragent.formulate.checks import CheckStatus
from oragent.formulate.command import formulate_file, rerun_files
from oragent.formulate.data import read_data
from oragent.formulate.folder import read_request
from oragent.formulate.options import FormulateCommand, choose_options
from oragent.formulate.problem import ProblemText
from oragent.formulate.prompting import PoolEntry
from oragent.formulate.rerun import rerun_formulation
from oragent.formulate.table_fitting import FormerTable, fit_table, fit_value
from oragent.formulate.verdicts import Verdict
from oragent.llm.callable import Scripted
from tests.formulate import test_modules as scripted
from tests.formulate.results import BAKERY, STORY, result_of
from tests.formulate.results import ROWS as ROWS_OF_BAKERY

TEXT = """A dairy makes cheese in each month of the table. A month makes at most 120 kg. Cheese may be stored for later
months at 0.50 EUR per kg and month. The demand of each month is met. Costs of making and storing are as low as possible.
"""
PROGRAM = """
import pulp

def solve(data):
    rows = sorted(data["months"], key=lambda row: row["ready"])
    problem = pulp.LpProblem("dairy", pulp.LpMinimize)
    names = [row["month"] for row in rows]
    make = pulp.LpVariable.dicts("make", names, lowBound=0, upBound=120)
    store = pulp.LpVariable.dicts("store", names, lowBound=0)
    problem += pulp.lpSum(row["cost"] * make[row["month"]] + 0.5 * store[row["month"]] for row in rows)
    before = 0
    for row in rows:
        name = row["month"]
        problem += before + make[name] - store[name] == row["demand"], f"balance_{name}"
        before = store[name]
    problem.solve()
    return {"objective_value": pulp.value(problem.objective), "optimized_vars": {"make": make, "store": store}}
"""
CHECKER = """
def checks(values, data):
    make, store, before, cost = values["make"], values["store"], 0, 0
    for row in sorted(data["months"], key=lambda row: row["ready"]):
        name = row["month"]
        yield f"most {name}", make[name], "<=", 120, "A month makes at most 120 kg"
        yield f"demand {name}", before + make[name] - store[name], "==", row["demand"], "The demand of each month is met"
        before = store[name]
        cost = cost + row["cost"] * make[name] + 0.5 * store[name]
    yield "cost", cost, "minimize", 0, "as low as possible"
"""
HEADER = ["month", "ready", "demand", "cost"]
ROWS = [
    ["Jan", "2026-01-31", 60, 4.5],
    ["Feb", "2026-02-28", 90, 5.25],
    ["Mar", "2026-03-31", 170, 6.0],
    ["Apr", "2026-04-30", 100, 4.75],
]
MORE = [*ROWS, ["May", "2026-05-31", 110, 5.5]]
Table = list[list[object]]


def csv_text(rows: Table, separator: str = ",", mark: str = ".") -> bytes:
    lines = (
        separator.join(str(cell).replace(".", mark) if isinstance(cell, float) else str(cell) for cell in row)
        for row in rows
    )
    return ("\n".join(lines) + "\n").encode()


def workbook(rows: Table, *merged: str) -> bytes:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append([None if cell == "" else cell for cell in row])
    for cells in merged:
        book.active.merge_cells(cells)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def best_cost(rows: Table) -> float:
    """Least cost by linear programming in amounts made and stored."""
    count = len(rows)
    balance = [[float(at == row) for at in range(count)] + [(at == row - 1) - float(at == row) for at in range(count)]
               for row in range(count)]  # fmt: skip
    prices = [float(row[3]) for row in rows] + [0.5] * count
    bounds = [(0, 120)] * count + [(0, None)] * count
    return linprog(prices, A_eq=balance, b_eq=[row[2] for row in rows], bounds=bounds).fun


def total(rows: Table) -> list[object]:
    return ["TOTAL", "", sum(row[2] for row in rows), sum(row[3] for row in rows)]


def reordered(rows: Table) -> Table:
    return [[row[at] for at in (3, 0, 2, 1)] for row in rows]


def changed(at: int, column: int, cell: object, rows: Table = MORE) -> Table:
    """The table with another cell, at a line of the file."""
    table = [HEADER, *(list(row) for row in rows)]
    table[at - 1][column] = cell
    return table


@pytest.fixture(scope="module")
def dairy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the finished formulation."""
    folder = tmp_path_factory.mktemp("dairy")
    (folder / "dairy.md").write_text(TEXT)
    (folder / "months.csv").write_bytes(csv_text([HEADER, *ROWS]))

    def reply(request, number: int) -> str:
        return f"```python\n{CHECKER if request.role == 'counterfactual' else PROGRAM}\n```"

    command = FormulateCommand(
        folder / "dairy.md", folder / "out", (folder / "months.csv",), options={"metamorphic": False}
    )
    assert formulate_file(command, Console(file=io.StringIO()), Scripted(reply)) == 0
    (finished,) = (folder / "out" / "dairy").iterdir()
    return finished


RIGHT: dict[str, tuple[str, Callable[[], bytes], Table]] = {
    "new rows": ("csv", lambda: csv_text([HEADER, *MORE]), MORE),
    "row of totals": ("csv", lambda: csv_text([HEADER, *MORE, total(MORE)]), MORE),
    "total of two rows": ("csv", lambda: csv_text([HEADER, *ROWS[:2], total(ROWS[:2])]), ROWS[:2]),
    "reordered": ("csv", lambda: csv_text(reordered([HEADER, *MORE])), MORE),
    "remarks": ("csv", lambda: csv_text([[*HEADER, "remark"], *([*row, f"by hand {row[0]}"] for row in MORE)]), MORE),
    "decimal commas": ("csv", lambda: csv_text([HEADER, *MORE], ";", ","), MORE),
    "merged title": ("xlsx", lambda: workbook([["Plan 2026", "", "", ""], HEADER, *MORE], "A1:D1"), MORE),
    "merged header": ("xlsx", lambda: workbook([HEADER, HEADER, *MORE], "A1:A2", "B1:B2", "C1:C2", "D1:D2"), MORE),
}


FAST = ("row of totals", "merged header")


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in RIGHT])
def test_the_plan_of_a_changed_table_is_the_best_one(dairy: Path, tmp_path: Path, name: str) -> None:
    form, content, rows = RIGHT[name]
    path = tmp_path / f"months.{form}"
    path.write_bytes(content())
    rerun = rerun_formulation(dairy, [path], tmp_path / "out")
    assert rerun.outcome.result is not None
    assert rerun.outcome.result.judgement.verdict is Verdict.CHECKED
    assert rerun.outcome.result.objective == pytest.approx(best_cost(rows))
    # What was left out of the new table is said, and kept in the new folder.
    assert bool(rerun.request.problem.notes) is (name not in ("new rows", "reordered"))
    assert read_request(rerun.folder).problem.notes == rerun.request.problem.notes


REFUSED: dict[str, tuple[str, Callable[[], bytes], int | None, str]] = {
    "total that is no sum": ("csv", lambda: csv_text([HEADER, *MORE, ["TOTAL", "", 530, 5.2]]), 7, "month"),
    "renamed column": ("csv", lambda: csv_text([[*HEADER[:2], "need", "cost"], *MORE]), None, "demand"),
    "figures of another year": ("csv", lambda: csv_text([[*HEADER, "demand 2027"], *([*row, 7] for row in MORE)]), 2, "demand 2027"),
    "other dates": ("csv", lambda: csv_text(changed(4, 1, "31.03.2026")), 4, "ready"),
    "empty cell": ("csv", lambda: csv_text(changed(5, 2, "")), 5, "demand"),
    "empty label": ("csv", lambda: csv_text(changed(5, 0, "")), 5, "month"),
    "duplicated key": ("csv", lambda: csv_text(changed(6, 0, "Jan")), 6, "month"),
    "text in a number column": ("csv", lambda: csv_text(changed(3, 2, "about 90")), 3, "demand"),
    "percent": ("csv", lambda: csv_text([HEADER, *([*row[:3], f"{row[3]} %"] for row in MORE)]), None, "cost"),
    "other group of columns": ("xlsx", lambda: workbook(
        [["month", "ready", "north", ""], ["", "", "demand", "cost"], *MORE], "A1:A2", "B1:B2", "C1:D1"), None, "demand"),
    "unit that was not there": ("csv", lambda: csv_text([HEADER, ["", "", "t", "EUR/t"], *MORE]), None, "demand"),
    "unit below a merged header": (
        "xlsx", lambda: workbook([HEADER, ["", "", "t", "EUR/t"], *MORE], "A1:A2", "B1:B2"), None, "demand"),
    "mean below": ("csv", lambda: csv_text([HEADER, *MORE, ["Average", "", 106, 5.2]]), 7, "month"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_table_that_does_not_fit_is_refused_with_the_cell(dairy: Path, tmp_path: Path, name: str) -> None:
    form, content, line, column = REFUSED[name]
    path = tmp_path / f"months.{form}"
    path.write_bytes(content())
    with pytest.raises(ProblemError) as caught:
        rerun_formulation(dairy, [path], tmp_path / "out")
    text = str(caught.value)
    match = re.search(r"months\.\w+(?:, line (\d+))?, column '([^']*)'", text)
    assert match is not None, text
    assert (match[1] and int(match[1]), match[2]) == (line, column)
    assert "\n" not in text
    assert not (tmp_path / "out").exists()


def fit(folder: Path, old: str, new: str) -> list[dict[str, object]]:
    """Rows of a new file, fitted to the reading of an old one."""
    files = []
    for name, text in (("old", old), ("new", new)):
        (folder / name).mkdir()
        (folder / name / "t.csv").write_text(text)
        files.append(read_data(folder / name / "t.csv"))
    reading = FormerTable(files[0].values["t"], files[0].units["t"])
    return fit_table("t.csv", "t", reading, files[1].values["t"], files[1].tables["t"])[0]


@pytest.mark.parametrize(
    ("old", "new", "rows"),
    [
        ("a,b\nx,1\ny,2\n", "b,a\n3,z\n", [{"a": "z", "b": 3}]),
        # identifiers stay texts, and a gap stays a gap
        ("a,b\nS,1\nM,2\n", "a,b\n36,1\n38,2\n", [{"a": "36", "b": 1}, {"a": "38", "b": 2}]),
        ("a,b\nx,1\ny,\n", "a,b\nz,\n,3\n", None),
        ("a,b\nx,1\ny,\n", "a,b\nz,\nw,3\n", [{"a": "z", "b": None}, {"a": "w", "b": 3}]),
        ("a,b\nx,5 %\ny,7 %\n", "a,b\nx,6 %\n", [{"a": "x", "b": 0.06}]),
        ("a,b\nx,5 %\ny,7 %\n", "a,b\nx,6\n", None),
        ("a,b\nx,5 kg\ny,7 kg\n", "a,b\nx,6\n", [{"a": "x", "b": 6}]),
        ("a,b\nx,5 kg\ny,7 kg\n", "a,b\nx,6 g\n", None),
        ("a,b\nx,5 €\ny,7 €\n", "a,b\nx,6 EUR\n", [{"a": "x", "b": 6}]),
        ("a,b\n,kg\nx,5\ny,7\n", "a,b\n[-],[kg]\nx,6\ny,7\n", [{"a": "x", "b": 6}, {"a": "y", "b": 7}]),
        ("a,b\n,%\nx,5\ny,7\n", "a,b\nx,6 %\n", [{"a": "x", "b": 0.06}]),
        ("a,b\n,kg\nx,5\ny,7\n", "a,b\n[-],[t]\nx,5\ny,7\n", None),
        # a row named like a total that was there before
        ("a,b\nx,1\nTotal,7\n", "a,b\nx,1\nTotal,9\n", [{"a": "x", "b": 1}, {"a": "Total", "b": 9}]),
        ("a,b\nx,950\ny,2300\n", "a,b\nx,1.950\ny,2.300\n", None),
        # Fractions among the earlier figures are no thousands.
        ("a,b\nx,950\ny,2300.5\n", "a,b\nx,1.95\ny,2.3\n", [{"a": "x", "b": 1.95}, {"a": "y", "b": 2.3}]),
        # The key has three columns at most, and a column with fractions is none.
        ("a,b,c\nx,y,1\nx,z,1\n", "a,b,c\nx,y,1\nx,y,2\n", None),
        ("a,b\nx,1\nx,2.5\n", "a,b\nx,1\nx,1\n", [{"a": "x", "b": 1}, {"a": "x", "b": 1}]),
        # All figures must be far below: one that is not shows that points are those of fractions.
        ("a,b\nx,950\ny,2300\n", "a,b\nx,1.95\ny,900\n", [{"a": "x", "b": 1.95}, {"a": "y", "b": 900}]),
        ("a,b\nx,100\ny,2300\n", "a,b\nx,1.5\ny,2.0\n", None),
        ("a,b\nx,100\ny,2300\n", "a,b\nx,1.5\ny,2.1\n", [{"a": "x", "b": 1.5}, {"a": "y", "b": 2.1}]),
        ("a,b\nx,-950\ny,-2300\n", "a,b\nx,-1.950\ny,-2.300\n", None),
        # The key has three columns at most; a fourth one that tells rows apart makes none.
        ("a,b,c,d\nx,y,z,1\nx,y,z,2\n", "a,b,c,d\nx,y,z,1\nx,y,z,1\n", [{"a": "x", "b": "y", "c": "z", "d": 1}] * 2),
        ("a,b,c,d\nx,y,z,1\nx,y,w,2\n", "a,b,c,d\nx,y,z,1\nx,y,z,2\n", None),
        # One earlier row shows no key.
        ("a,b\nx,1\n", "a,b\nx,1\nx,1\n", [{"a": "x", "b": 1}] * 2),
        ("a,b\nx,2026-01-31\n", "a,b\nx,31-01-2026\n", None),
        ("a,b\nx,2026-01-31\n", "a,b\nx,2027-02-01\n", [{"a": "x", "b": "2027-02-01"}]),
        ("a,b\nx,950\ny,2300\n", "a,b\nx,950.5\ny,2300\n", [{"a": "x", "b": 950.5}, {"a": "y", "b": 2300}]),
        # the key is the pair
        ("f,t,c\nx,y,1\nx,z,1\ny,z,1\n", "f,t,c\nx,y,1\ny,y,2\n", [{"f": "x", "t": "y", "c": 1}, {"f": "y", "t": "y", "c": 2}]),
        ("f,t,c\nx,y,1\nx,z,1\ny,z,1\n", "f,t,c\nx,y,1\nx,y,2\n", None),
        ("a,b\nx,08:00\ny,09:30\n", "a,b\nx,10:15\n", [{"a": "x", "b": "10:15"}]),
        ("a,b\nx,08:00\ny,09:30\n", "a,b\nx,10\n", None),
        ("a,Mon,Tue\nx,yes,no\ny,no,no\n", "a,Mon,Tue,Wed\nx,yes,no,yes\n", None),
    ],
)  # fmt: skip
def test_types_units_and_keys_of_the_earlier_reading(tmp_path: Path, old: str, new: str, rows: list | None) -> None:
    if rows is None:
        with pytest.raises(ProblemError):
            fit(tmp_path, old, new)
    else:
        assert fit(tmp_path, old, new) == rows


@pytest.mark.parametrize(
    ("old", "new", "fits"),
    [
        (3, 4.5, True),
        (3, "4", False),
        (3, None, False),
        ({"x": 1, "y": 2}, {"x": 1, "z": 3}, True),
        ({"x": 1, "y": 2}, {"x": 1, "z": "3"}, False),
        ([1, 2], [1, 2, 3.5], True),
        ([1, 2], [1, None], False),
        ([1, 2], {"a": 1}, False),
        ({"x": {"a": 1, "b": "t"}}, {"x": {"a": 2, "b": "u"}}, True),
        ({"x": {"a": 1, "b": "t"}}, {"x": {"a": "2", "b": "u"}}, False),
    ],
)
def test_values_of_json_keep_their_kind(old: object, new: object, fits: bool) -> None:
    if fits:
        assert fit_value("f.json", "v", old, new) == new
    else:
        with pytest.raises(ProblemError):
            fit_value("f.json", "v", old, new)


def test_rows_of_json_are_named_by_their_number() -> None:
    reading = FormerTable([{"a": "x", "b": 1}, {"a": "y", "b": 2}], {})
    assert fit_table("f.json", "t", reading, [{"b": 3, "a": "z"}], None) == ([{"a": "z", "b": 3}], [])
    with pytest.raises(ProblemError, match="row 2 of 't', column 'b'"):
        fit_table("f.json", "t", reading, [{"a": "z", "b": 3}, {"a": "w"}], None)


def test_cells_that_were_all_empty_may_become_anything() -> None:
    reading = FormerTable([{"a": "x", "b": None}, {"a": "y", "b": None}], {})
    rows = [{"a": "z", "b": 3}, {"a": "w", "b": "t"}]
    assert fit_table("f.json", "t", reading, rows, None) == (rows, [])
    # An empty cell stays what it was.
    reading = FormerTable([{"a": "x", "b": ""}, {"a": "y", "b": 2}], {})
    assert fit_table("f.json", "t", reading, [{"a": "z", "b": None}], None) == ([{"a": "z", "b": ""}], [])
    # A column that some earlier rows lack may be missing, and a further one of remarks is left out.
    reading = FormerTable([{"a": "x"}, {"a": "y", "b": 2}], {})
    fitted, notes = fit_table("f.json", "t", reading, [{"a": "z", "c": "remark"}, {"a": "w", "b": 1, "c": ""}], None)
    assert fitted == [{"a": "z"}, {"a": "w", "b": 1}]
    assert len(notes) == 1
    assert "'c'" in notes[0]


def test_a_missing_column_names_what_is_there_instead() -> None:
    names = [f"c{at}" for at in range(7)]
    reading = FormerTable([{f"d{at}": 1 for at in range(25)}], {})
    with pytest.raises(ProblemError) as caught:
        fit_table("f.json", "t", reading, [dict.fromkeys(names, 1)], None)
    text = str(caught.value)
    assert text.count("'c") == 5
    assert text.count("'d") == 1 + 20
    with pytest.raises(ProblemError) as caught:
        fit_table("f.json", "t", reading, [{"d0": 1}], None)
    assert "instead" not in str(caught.value)


def test_a_long_cell_is_cut_in_the_message() -> None:
    reading = FormerTable([{"a": 1}], {})
    with pytest.raises(ProblemError) as caught:
        fit_table("f.json", "t", reading, [{"a": "y" * 99}], None)
    assert 30 < len(re.findall(r"y+", str(caught.value))[0]) <= 40


@pytest.mark.parametrize("demand", [110, 500])
def test_the_lines_of_a_rerun_have_both_costs_and_the_exit_code(dairy: Path, tmp_path: Path, demand: int) -> None:
    """With 500 kg in May no plan is possible, and the checks say so too."""
    rows = [*ROWS, ["May", "2026-05-31", demand, 5.5]]
    (tmp_path / "months.csv").write_bytes(csv_text([HEADER, *rows]))
    console = Console(file=io.StringIO(), width=160)
    published: dict[str, object] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command_module, "publish_result", published.update)
        code = rerun_files(dairy, (tmp_path / "months.csv",), tmp_path / "out", console)
    lines = console.file.getvalue().splitlines()
    (line,) = (line for line in lines if line.startswith("objective: "))
    before, now = re.fullmatch(r"objective: (.*) before, (.*) now", line).groups()  # type: ignore[union-attr]
    assert float(before.replace(",", "")) == pytest.approx(best_cost(ROWS))
    assert (code, published["verdict"], published["exit_code"]) == (0, "checked", 0)
    assert published["before"] == [pytest.approx(best_cost(ROWS))]
    if demand == 110:
        assert float(now.replace(",", "")) == published["objective"] == pytest.approx(best_cost(rows))
        assert set(published["changes"]) >= {"make_May", "store_May"}  # type: ignore[call-overload]
        assert published["changes"]["make_May"][0] is None  # type: ignore[index]
    else:
        assert (now, published["objective"], published["status"]) == ("none", None, "infeasible")
        assert any(line.startswith("checked: infeasible") for line in lines)


def test_a_program_that_does_not_read_what_changed_is_not_called_checked(tmp_path: Path) -> None:
    """Program and checker have the figures of the first data."""
    program, checker = (text.replace('row["demand"]', '{"Jan": 60, "Feb": 90}[name]') for text in (PROGRAM, CHECKER))
    (tmp_path / "dairy.md").write_text(TEXT)
    (tmp_path / "months.csv").write_bytes(csv_text([HEADER, *ROWS[:2]]))

    def reply(request, number: int) -> str:
        return f"```python\n{checker if request.role == 'counterfactual' else program}\n```"

    command = FormulateCommand(
        tmp_path / "dairy.md", tmp_path / "out", (tmp_path / "months.csv",), options={"metamorphic": False}
    )
    assert formulate_file(command, Console(file=io.StringIO()), Scripted(reply)) == 0
    (folder,) = (tmp_path / "out" / "dairy").iterdir()
    (tmp_path / "months.csv").write_bytes(csv_text([HEADER, *changed(3, 2, 95, ROWS[:2])[1:]]))
    rerun = rerun_formulation(folder, [tmp_path / "months.csv"], tmp_path / "again")
    assert rerun.outcome.result is not None
    assert rerun.outcome.result.judgement.verdict is Verdict.UNCHECKED
    assert rerun.changes == {}


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ({"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 3.0}, {"b": (2.0, 3.0)}), ({"a": 1.0}, {"b": 0.0}, {"a": (1.0, None), "b": (None, 0.0)}), ({"a": 1e6}, {"a": 1e6 + 0.5}, {}), ({"a": -1e6}, {"a": -1e6 - 2.0}, {"a": (-1e6, -1e6 - 2.0)}),
        ({"a": -1e6}, {"a": -1e6 - 0.5}, {}), ({"a": 0.1}, {"a": 0.1 + 5e-7}, {}), ({"a": 0.1}, {"a": 0.1 - 2e-6}, {"a": (0.1, 0.1 - 2e-6)}), (None, {"a": 1.0}, {"a": (None, 1.0)}),
    ],
)  # fmt: skip
def test_changes_are_values_that_differ_by_more_than_a_millionth(
    before: dict | None, after: dict, changes: dict
) -> None:
    old, new = (
        result_of(BAKERY, solution=None if values is None else {"values": values}) for values in (before, after)
    )
    assert rerun_module._compare_values(old, new) == changes
    lines = rerun_module._changes_text(changes).splitlines()
    assert lines[0] == "variable,old,new"
    assert [line.split(",")[0] for line in lines[1:]] == list(changes)
    assert all("None" not in line for line in lines)


def test_models_are_the_same_if_each_part_is() -> None:
    other = BAKERY.with_records(rows=ROWS_OF_BAKERY[:2])
    same = rerun_module._is_same_model
    assert same(result_of(BAKERY), result_of(BAKERY)) is True
    assert same(result_of(BAKERY), result_of(other)) is False
    assert same(replace(result_of(BAKERY), milp=None), result_of(BAKERY)) is False
    assert same(result_of(BAKERY), replace(result_of(BAKERY), milp=None)) is False


@pytest.mark.parametrize(
    ("old", "new", "is_refused"),
    [
        # Zeros show nothing of the size of figures.
        ([0, 2300], [0, 2.3], True), ([0, 950], [0.0, 1.95], True), ([0, 0], [0, 2.3], False), ([None, 950], [None, 1.95], True), ([100, 950], [1.95, 0], True), ([97, 950], [1.95, 0], False),
        ([950, 2300], [2, 3], False), ([950, 2300], [2.0, 3.0], False), ([950.5, 2300], [1.95, 2.3], False),
    ],
)  # fmt: skip
def test_fractions_far_below_whole_figures_are_thousands(old: list, new: list, is_refused: bool) -> None:
    reading = FormerTable([{"a": value} for value in old], {})
    rows = [{"a": value} for value in new]
    if is_refused:
        with pytest.raises(ProblemError):
            fit_table("f.json", "t", reading, rows, None)
    else:
        assert fit_table("f.json", "t", reading, rows, None)[0] == rows


@pytest.mark.parametrize(
    ("old", "new", "fits"),
    [
        ([1], [1, 2], True),
        (["a"], ["b", 2], False),
        ({"x": 1}, {"y": 2, "z": 3}, True),
        ([], ["a", 1], True),
        ([1, "a"], [2, 3], True),
        ([[1]], [["a"]], True),
    ],
)
def test_lists_of_one_kind_keep_it(old: object, new: object, fits: bool) -> None:
    if fits:
        assert fit_value("f.json", "v", old, new) == new
    else:
        with pytest.raises(ProblemError):
            fit_value("f.json", "v", old, new)


@pytest.mark.parametrize(
    ("program", "checker", "data", "state", "words"),
    [
        ("other", "agrees", {"flour": 22}, CheckStatus.PASSED, ""), ("other", "", {"flour": 22}, CheckStatus.UNCHECKED, "checker"), ("broken", "agrees", {"flour": 22}, CheckStatus.UNCHECKED, "solution"),
        # The same model for other data was not built from them.
        ("right", "agrees", {"flour": 22}, CheckStatus.UNCHECKED, "does not read"), ("right", "agrees", {"flour": 21, "hours": 12}, CheckStatus.PASSED, ""), ("other", "violated", {"flour": 22}, CheckStatus.FAILED, ""),
    ],
)  # fmt: skip
def test_a_stored_program_is_run_and_checked_with_the_new_data(
    program: str, checker: str, data: dict[str, int], state: CheckStatus, words: str
) -> None:
    other = replace(scripted.RIGHT, milp=BAKERY.with_records(rows=ROWS_OF_BAKERY[1:]))
    runner = scripted.NamedRunner(other=other, violated=scripted.VIOLATED)
    source = f"def solve(data):\n    return '{program}'\n"
    pool = (PoolEntry("formalization", "", {"OBJECTIVE": "maximize: profit", "UNIT": "EUR"}),)
    old = result_of(
        BAKERY, program=source, checker=scripted.checker(checker) if checker else "", data={"flour": 21, "hours": 12}, pool=pool, readings=({"sentence": "s", "objective": 1.0},)
    )  # fmt: skip
    problem = ProblemText("bakery", STORY, data)
    case = scripted.ScriptedCase({})
    result = rerun_module._run_stored(case, problem, choose_options("default", gap=0.25), runner, old)  # type: ignore[arg-type]
    assert result.checks is not None
    assert result.checks["state"] == state
    assert words in result.checks["note"]
    # Figures that an encoder read from the text are kept.
    assert runner.calls[0] == (program, {"flour": 21, "hours": 12, **data})
    assert (result.program, result.readings, result.kept) == (source, (), 0)
    assert [(each["number"], each["origin"]) for each in result.attempts] == [(0, "rerun")]
    assert [aim.unit for aim in result.aims] == ([] if program == "broken" else ["EUR"])
