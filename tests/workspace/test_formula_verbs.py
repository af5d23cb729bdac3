"""What-ifs and revisions on a workbook whose limits are formulas. The optimum is computed by hand: a greedy choice."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from oragent._base.errors import WorkspaceError
from oragent.llm.model import ToolCall
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace.data_changes import EditPlan, audit_edits
from oragent.workspace.data_edits import list_edits
from oragent.workspace.model_results import WhatifResult
from oragent.workspace.model_tasks import try_changes
from oragent.workspace.runner import ProgramRunner
from oragent.workspace.settings import NO_OPTIONS, read_settings
from oragent.workspace.sources import FolderState, open_state
from oragent.workspace.tools import SET_CELL, TOOLS, ToolSession

openpyxl = pytest.importorskip("openpyxl")
pytest.importorskip("pulp")
from tests.workspace.test_formulas import save_with_values  # noqa: E402

PROGRAM = """import openpyxl, pulp
book = openpyxl.load_workbook("data/plan.xlsx", data_only=True)
stock = {row[0]: row for row in book["Stock"].iter_rows(min_row=2, max_row=3, values_only=True)}
rules = {row[0]: row[1] for row in book["Rules"].iter_rows(min_row=2, values_only=True)}
m = pulp.LpProblem("mill", pulp.LpMaximize)
x = {name: pulp.LpVariable(name, 0, row[3]) for name, row in stock.items()}
m += pulp.lpSum(row[4] * x[name] for name, row in stock.items())
m += pulp.lpSum(x.values()) <= rules["hours"], "hours"
m += pulp.lpSum(x.values()) >= rules["order"], "order"
m.solve(pulp.PULP_CBC_CMD(msg=0))
"""
INPUTS = {"rye gross": 100.0, "rye loss": 10.0, "oat gross": 80.0, "oat loss": 5.0, "rye price": 4.0, "oat price": 3.0,
          "men": 5.0, "hours of a man": 40.0, "customers": 3.0, "order of a customer": 40.0}  # fmt: skip
CELLS = {"rye gross": "Stock[rye, gross]", "rye loss": "Stock[rye, loss]", "oat gross": "Stock[oat, gross]",
         "oat price": "Stock[oat, price]", "men": "Rules[men, value]", "customers": "Rules[customers, value]",
         "order of a customer": "Rules[order of a customer, value]"}  # fmt: skip


def optimum(inputs: dict[str, float]) -> float | None:
    """Return the best revenue by hand; None if the order cannot be met."""
    limits = {name: inputs[f"{name} gross"] - inputs[f"{name} loss"] for name in ("rye", "oat")}
    hours = inputs["men"] * inputs["hours of a man"]
    if min(hours, sum(limits.values())) < inputs["customers"] * inputs["order of a customer"]:
        return None
    revenue = 0.0
    for name in sorted(limits, key=lambda name: -inputs[f"{name} price"]):
        amount = min(limits[name], hours)
        revenue, hours = revenue + amount * inputs[f"{name} price"], hours - amount
    return revenue


def plan_book(inputs: dict[str, float] = INPUTS) -> bytes:
    book = openpyxl.Workbook()
    stock = book.active
    stock.title = "Stock"
    stock.append(("item", "gross", "loss", "available", "price"))
    for row, name in enumerate(("rye", "oat"), 2):
        figures = [inputs[f"{name} {figure}"] for figure in ("gross", "loss")]
        stock.append((name, *figures, f"=B{row}-C{row}", inputs[f"{name} price"]))
    rules = book.create_sheet("Rules")
    rules.append(("rule", "value"))
    for name in ("men", "hours of a man", "customers", "order of a customer"):
        rules.append((name, inputs[name]))
    rules.append(("hours", "=PRODUCT(B2:B3)"))
    rules.append(("order", "=$B$4*B5"))
    rules.append(("stock in all", "=SUM(Stock!D:D)"))
    limits = [inputs[f"{name} gross"] - inputs[f"{name} loss"] for name in ("rye", "oat")]
    saved = {"Stock!D2": limits[0], "Stock!D3": limits[1], "Rules!B8": sum(limits)}
    saved |= {"Rules!B6": inputs["men"] * inputs["hours of a man"]}
    return save_with_values(book, saved | {"Rules!B7": inputs["customers"] * inputs["order of a customer"]})


@pytest.fixture
def mill(tmp_path: Path) -> Path:
    contents = {"data/plan.xlsx": plan_book(), "src/mill.py": PROGRAM.encode(), "docs/mill.md": b"# Mill\n"}
    for path, content in contents.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(content)
    return tmp_path


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with Sandbox(1) as shared:
        yield shared


QUESTIONS = [
    {"rye gross": 50.0}, {"rye gross": 20.0}, {"rye gross": 54.9}, {"rye loss": 0.0}, {"oat gross": 200.0}, {"men": 3.0},
    {"men": 2.0}, {"customers": 4.0}, {"customers": 5.0}, {"oat price": 6.0}, {"order of a customer": 55.0},
    {"men": 4.0, "rye gross": 300.0},
]  # fmt: skip


@pytest.mark.parametrize("changed", [pytest.param(QUESTIONS[1], id="fast"), *(
    pytest.param(changed, marks=pytest.mark.slow) for changed in QUESTIONS)])  # fmt: skip
def test_a_whatif_has_the_optimum_of_the_changed_workbook(mill: Path, changed: dict[str, float]) -> None:
    truth = optimum(INPUTS | changed)
    lines = [f"data/plan.xlsx#{CELLS[name]} = {value:g}" for name, value in changed.items()]
    with open_state(mill) as state:
        result = try_changes(state, lines)
    assert isinstance(result, WhatifResult)
    before, after = result.objective.before.value, result.objective.after.value
    assert before == pytest.approx(optimum(INPUTS))
    assert after == (None if truth is None else pytest.approx(truth))
    assert (result.ok, result.status == "infeasible") == (truth is not None, truth is None)
    assert bool(result.entries) != bool(result.warnings)


def test_a_computed_cell_can_be_asked_about(mill: Path) -> None:
    with open_state(mill) as state:
        result = try_changes(state, ["data/plan.xlsx#Stock[rye, available] = 60"])
    assert isinstance(result, WhatifResult)
    assert result.objective.after.value == pytest.approx(optimum(INPUTS | {"rye gross": 70.0}))


def test_a_revision_changes_inputs_and_no_formula_and_only_inputs_are_edits(mill: Path, box: Sandbox) -> None:
    """Formulas follow the cells that the agent changes; a formula itself is refused. Only the input is an edit."""
    old = {path: (mill / path).read_bytes() for path in ("data/plan.xlsx",)}
    session = ToolSession(mill, ProgramRunner(box), ("data/*",), (*TOOLS, SET_CELL))
    for number, (cell, value, done) in enumerate(
        (
            ("data/plan.xlsx#Stock[rye, gross]", "130", True),
            ("data/plan.xlsx#Stock[rye, available]", "120", False),
            ("data/plan.xlsx#Rules[men, value]", "6", True),
            ("data/plan.xlsx#Rules[order, value]", "150", False),
        )
    ):
        before = (mill / "data/plan.xlsx").read_bytes()
        session.call_tool(ToolCall(str(number), "set_cell", {"cell": cell, "value": value}))
        assert ((mill / "data/plan.xlsx").read_bytes() != before) is done
    run = session.runner.run(mill, "src/mill.py")
    assert run.objective == pytest.approx(optimum(INPUTS | {"rye gross": 130.0, "men": 6.0}))
    new = {"data/plan.xlsx": (mill / "data/plan.xlsx").read_bytes()}
    edits = [(edit.table, edit.row, edit.column, edit.before, edit.after) for edit in list_edits(old, new)]
    assert edits == [("Stock", "rye", "gross", "100", "130"), ("Rules", "men", "value", "5", "6")]


def test_a_planned_edit_of_an_input_has_no_unplanned_consequences(tmp_path: Path, mill: Path) -> None:
    old = tmp_path / "old"
    (old / "data").mkdir(parents=True)
    (old / "data/plan.xlsx").write_bytes(plan_book(INPUTS | {"rye gross": 110.0}))
    states = [FolderState(folder.name, "", folder, read_settings(folder, NO_OPTIONS)) for folder in (old, mill)]
    plan = EditPlan.of_tree({"edits": ["data/plan.xlsx#Stock[rye, gross] = 100"]})
    result = audit_edits(*states, plan)
    assert (result.ok, len(result.edits), result.missing) == (True, 1, ())


def test_a_changed_formula_is_an_edit(mill: Path) -> None:
    content = (mill / "data/plan.xlsx").read_bytes()
    book = openpyxl.load_workbook(mill / "data/plan.xlsx")
    book["Stock"]["D2"] = "=B2-C2*1"
    book["Rules"]["B6"] = 200
    values = {"Stock!D2": 90, "Stock!D3": 75, "Rules!B7": 120, "Rules!B8": 165}
    changed = save_with_values(book, values)
    edits = list_edits({"data/plan.xlsx": content}, {"data/plan.xlsx": changed})
    assert [(edit.row, edit.column, edit.before, edit.after) for edit in edits] == [
        ("rye", "available", "=B2-C2", "=B2-C2*1"),
        ("hours", "value", "=PRODUCT(B2:B3)", "200"),
    ]


def test_rows_that_move_keep_their_formulas() -> None:
    book = openpyxl.Workbook()
    book.active.append(("item", "gross", "net"))
    for row, name in enumerate(("rye", "oat"), 2):
        book.active.append((name, 10 * row, f"=B{row}*0.9"))
    old = save_with_values(book, {"Sheet!C2": 18, "Sheet!C3": 27})
    book.active.insert_rows(2)
    for row, cells in enumerate((("wheat", 50, 45), ("rye", 20, "=B3*0.9"), ("oat", 40, "=B4*0.9")), 2):
        for column, cell in enumerate(cells, 1):
            book.active.cell(row, column, cell)
    new = save_with_values(book, {"Sheet!C3": 18, "Sheet!C4": 36})
    edits = list_edits({"d.xlsx": old}, {"d.xlsx": new})
    assert {(edit.row, edit.column) for edit in edits} == {("wheat", "gross"), ("wheat", "net"), ("oat", "gross")}


def test_a_workbook_without_saved_values_is_refused(mill: Path) -> None:
    book = openpyxl.load_workbook(mill / "data/plan.xlsx")
    book.save(mill / "data/plan.xlsx")
    with open_state(mill) as state, pytest.raises(WorkspaceError):
        try_changes(state, ["data/plan.xlsx#Stock[rye, gross] = 20"])
