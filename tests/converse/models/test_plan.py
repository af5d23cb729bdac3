"""A small plan whose optima follow from enumeration: what lines, pages, prompts and tables show of it."""

import asyncio
import csv
import io
import itertools
import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from oragent._base.errors import ModellingError, StoreError
from oragent.converse.conversation_request import ConversationRequest, read_request
from oragent.converse.models import (
    line_schema,
    model_agents,
    model_prompt,
    page_state,
    scenario_table,
    terminal,
    workbench,
)
from oragent.converse.models.line_schema import lines_schema, write_lines
from oragent.converse.models.message_record import MessageRecord
from oragent.converse.models.model_agents import LinesAgent, OperationsAgent, OperationTools, help_text
from oragent.converse.models.model_conversation import MODEL_FILE, ModelConversation
from oragent.converse.models.model_files import begin_conversation
from oragent.converse.models.model_prompt import describe_family, describe_model, find_names
from oragent.converse.models.page import write_model_page
from oragent.converse.models.page_server import make_page_application
from oragent.converse.models.result_text import headline, markdown_result, view_result
from oragent.converse.models.scenario_table import PRESENT, scenario_rows, table_cells, write_scenarios
from oragent.converse.models.terminal import complete, hold_conversation, show_record
from oragent.converse.models.workbench import Workbench
from oragent.converse.prompting import quote_line
from oragent.llm.model import ToolCall
from oragent.llm.model_settings import build_runtime
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.files.model_files import write
from oragent.modelling.operations.registry import QUERIES
from oragent.modelling.operations.results import RepairResult
from tests.extras import need
from tests.report.live.requests import TOKEN, get

CITIES, WEEKS = ["Metz", "Lyon"], ["w1", "w2", "w3"]
GAINS = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
CAP = {"Metz": 4.0, "Lyon": 3.0}


def make_plan() -> IndexedModel:
    """Shipments of two cities in three weeks, at most ``cap`` of a city, and a variable that only costs."""
    builder = IndexedModelBuilder("plan", meaning="two cities")
    builder.add_set("city", CITIES, meaning="places")
    builder.add_set("week", WEEKS, is_ordered=True)
    builder.add_parameter("cap", ["city"], list(CAP.values()), unit="t", meaning="largest amount")
    ship = builder.add_variables("ship", ["city", "week"], high=5, unit="t", kind="integer")
    spare = builder.add_variables("spare", [], high=9)
    rows = np.repeat(np.arange(2), 3)
    builder.add_rows("limit", ["city"], "<=", rows=rows, columns=ship, rhs=builder.cells("cap"))
    builder.set_objective("gain", "maximize", [*ship, *spare], [*GAINS, -1.0])
    return builder.build()


def optimum(cap: Mapping[str, float]) -> tuple[float, dict[tuple[str, str], int]]:
    """Largest gain and its shipments, by enumeration of each city."""
    total, shipped = 0.0, {}
    for number, city in enumerate(CITIES):
        gains = GAINS[3 * number : 3 * number + 3]
        plans = [plan for plan in itertools.product(range(6), repeat=3) if sum(plan) <= cap[city]]
        best = max(plans, key=lambda plan: sum(gain * amount for gain, amount in zip(gains, plan, strict=True)))
        total += sum(gain * amount for gain, amount in zip(gains, best, strict=True))
        shipped |= {(city, week): amount for week, amount in zip(WEEKS, best, strict=True)}
    return total, shipped


BASE = optimum(CAP)[0]
MORE = optimum(CAP | {"Metz": 6})[0]
LESS = optimum({"Metz": 6, "Lyon": 1})[0]


@pytest.fixture
def agent(tmp_path: Path) -> LinesAgent:
    return LinesAgent(Workbench(make_plan()), tmp_path)


def hold(folder: Path, *messages: str, model: IndexedModel | None = None) -> ModelConversation:
    folder.mkdir(exist_ok=True)
    write(model or make_plan(), folder / "model.json")
    opened = begin_conversation(folder / "out", ConversationRequest(str(folder / "model.json")))
    return resume(opened, *messages)


def resume(opened: Path, *messages: str) -> ModelConversation:
    async def run() -> ModelConversation:
        async with ModelConversation(opened, read_request(opened)).open(None) as conversation:
            for message in messages:
                await conversation.say(message)
            return conversation

    return asyncio.run(run())


@pytest.fixture(scope="module")
def conversation(tmp_path_factory: pytest.TempPathFactory) -> ModelConversation:
    lines = ("cap[Metz] = 6", "keep more", "cap[Lyon] = 1", "whatif spare = 2")
    return hold(tmp_path_factory.mktemp("plan"), *lines)


# Lines, their states and their results.


def test_a_comparison_and_a_solve_have_the_optima_of_the_enumeration(agent: LinesAgent) -> None:
    assert agent.answer("solve").results[0].objective.value == BASE
    compared = agent.answer("whatif cap[Metz] = 6").results[0].objective
    assert (compared.before.value, compared.after.value, compared.difference.value) == (BASE, MORE, MORE - BASE)
    assert agent.answer("whatif cap[Metz] = 6").changes == ()
    together = agent.answer("cap[Metz] = 6\ncap[Lyon] = 1\nsolve\n# a comment\n\nkeep both")
    assert len(together.results) == 3
    assert (together.results[0].objective.after.value, together.changes) == (LESS, ("cap[Metz] = 6", "cap[Lyon] = 1"))
    assert together.scenarios["both"] == together.changes
    assert together.results[-1].scenario == "both"


def test_a_message_has_a_largest_number_of_lines(agent: LinesAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_agents, "MAX_LINES", 2)
    assert agent.answer("total ship\ntotal ship").refused == 0
    refused = agent.answer("total ship\ntotal ship\ntotal ship")
    assert (refused.refused, refused.results, refused.pending) == (1, (), None)


@pytest.mark.parametrize(("lines", "says_more"), [("value nothing", False), ("cap[Lyon] = 2\nvalue nothing", True)])
def test_a_refusal_says_that_the_lines_before_it_changed_nothing(
    lines: str, says_more: bool, agent: LinesAgent
) -> None:
    record = agent.answer(lines)
    assert (record.refused, record.changes, record.results, record.undone) == (1, (), (), 0)
    assert ("changed nothing" in record.note) is says_more


def test_undo_goes_back_by_messages_up_to_a_number(agent: LinesAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbench, "MAX_UNDO", 2)
    for at in (1, 2, 3):
        agent.answer(f"cap[Lyon] = {at}")
    assert agent.answer("undo 3").refused == 1
    record = agent.answer("undo 2")
    assert (record.changes, record.undone) == (("cap[Lyon] = 1",), 2)
    assert record.results[0].scenario == "base + 1"
    assert agent.answer("undo").refused == 1
    # Changes of the same message are taken back first.
    record = agent.answer("cap[Metz] = 1\nundo")
    assert (record.changes, record.undone) == (("cap[Lyon] = 1",), 0)
    agent.answer("cap[Metz] = 1")
    record = agent.answer("cap[Metz] = 2\nundo 2")
    assert (record.changes, record.undone) == (("cap[Lyon] = 1",), 1)


def test_a_repair_is_offered_for_the_state_or_for_the_trial(agent: LinesAgent) -> None:
    agent.answer("whatif row many: sum ship >= 20")
    repaired = agent.answer("repair").results[0]
    assert isinstance(repaired, RepairResult)
    assert agent.answer("keep").changes == ("row many: sum ship >= 20", repaired.changes[0].line)
    assert agent.answer("undo").changes == ()
    agent.answer("row many: sum ship >= 20")
    conflict = agent.answer("conflict").results[0]
    assert {family.family: (family.members, family.size) for family in conflict.families} == {
        "many": (1, 1),
        "limit": (2, 2),
    }
    words = headline(conflict)
    assert "1 of 1 rows of many" in words
    assert "2 of 2 rows of limit" in words
    repair = agent.answer("repair").results[0]
    # At least 20 of 7 that can be shipped.
    assert repair.total.value == 13
    assert repair.changes[0].line in headline(repair)
    assert agent.answer("keep").changes[-1] == repair.changes[0].line
    assert agent.answer("solve").results[0].objective.value == BASE


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("solve", f"optimal, {BASE:g}"), ("total ship", "7 t"), ("value ship", "2 of 6 members"),
        ("value ship[Metz, *]", "1 of 3 members"), ("whatif cap[Metz] = 6", f"gain {BASE:g} → {MORE:g} (difference {MORE - BASE:g})"),
        ("whatif row many: sum ship >= 20", "infeasible"), ("whatif free spare; spare <= 1", None),
        ("repair", None), ("price limit", "optimal"), ("scenario base", "in force: no changes"),
    ],
)  # fmt: skip
def test_headlines_have_the_figures(line: str, expected: str | None, agent: LinesAgent) -> None:
    words = headline(agent.workbench.ask(line))
    assert "\n" not in words
    assert expected is None or words == expected


def test_a_view_has_all_fields_but_the_head(agent: LinesAgent) -> None:
    result = agent.workbench.ask("whatif cap[Metz] = 6")
    view = view_result(result)
    facts = dict(view.facts)
    assert (facts["objective before"], facts["objective after"], facts["changes"]) == (
        f"{BASE:g}",
        f"{MORE:g}",
        "cap[Metz] = 6",
    )
    assert (view.id, view.line, view.headline) == (result.id, "whatif cap[Metz] = 6", headline(result))
    (moved,) = [table for table in view.tables if table.title == "moved"]
    assert dict(zip(moved.header, moved.rows[0], strict=True))["total after"] == "9 t"
    text = markdown_result(result)
    for part in (f"**{view.id}** `{view.line}`", "- changes: cap[Metz] = 6", "| ship | 2 | 7 t | 9 t |"):
        assert part in text
    assert f"|{'---|' * len(moved.header)}" in text


def test_a_message_is_written_with_what_was_said_its_answer_and_its_results(agent: LinesAgent) -> None:
    result = agent.workbench.ask("total ship")
    record = MessageRecord(said="a\n\nb", note="Seven.", results=(result,))
    assert record.markdown() == f"> a\n> \n> b\n\nSeven.\n\n{markdown_result(result)}"
    assert MessageRecord(said="").markdown() == "> "


def test_help_is_found_by_a_word(agent: LinesAgent) -> None:
    every, some = help_text().splitlines(), help_text("KEEP").splitlines()
    assert some == [line for line in every if "keep" in line.casefold()]
    assert 0 < len(some) < len(every)
    assert agent.answer("help keep").note == "\n".join(some)
    with pytest.raises(ModellingError):
        help_text("zzzz")


# Scenarios side by side.


def test_scenarios_are_rows_with_their_optima(agent: LinesAgent, tmp_path: Path) -> None:
    agent.answer("cap[Metz] = 6\nkeep more\ncap[Lyon] = 1")
    rows = scenario_rows(agent.workbench)
    assert [(row.name, row.objective.value, row.totals["ship"].value, row.gap) for row in rows] == [
        ("base", BASE, 7.0, 0.0), ("more", MORE, 9.0, 0.0), (PRESENT, LESS, 7.0, 0.0),
    ]  # fmt: skip
    assert rows[-1].changes == agent.workbench.state.lines
    agent.answer("row many: sum ship >= 20")
    cells = table_cells(scenario_rows(agent.workbench))
    assert cells[0] == ["scenario", "status", "objective", "gap", "total ship", "total spare", "changes"]
    assert cells[1] == ["base", "optimal", f"{BASE:g}", "", "7 t", "0", ""]
    assert cells[-1][:6] == [PRESENT, "infeasible", "", "", "", ""]
    text = agent.answer("scenarios").note.splitlines()
    assert text[0] == f"| {' | '.join(cells[0])} |"
    assert len(text) == len(cells) + 1
    written = list(csv.reader(io.StringIO(write_scenarios(agent.workbench, "t.csv", tmp_path).read_text())))
    numbers = scenario_table.table_values(scenario_rows(agent.workbench))
    assert numbers[0] == ["scenario", "status", "objective", "gap", "total ship (t)", "total spare", "changes"]
    assert numbers[1] == ["base", "optimal", BASE, 0.0, 7.0, 0.0, ""]
    assert numbers[-1][2:6] == [None] * 4
    assert written == [["" if cell is None else str(cell) for cell in line] for line in numbers]
    openpyxl = pytest.importorskip("openpyxl")
    sheet = openpyxl.load_workbook(write_scenarios(agent.workbench, "t.xlsx", tmp_path))["scenarios"]
    assert [[cell or None for cell in row] for row in sheet.iter_rows(values_only=True)] == [
        [cell or None for cell in line] for line in numbers
    ]
    page = write_scenarios(agent.workbench, "t.html", tmp_path).read_text()
    assert "plan" in page
    assert all(f">{cell}<" in page for row in cells for cell in row if cell and "=" not in cell)
    assert agent.answer("export ../t.csv").refused == 1
    assert agent.answer("export t2.csv").refused == 0


def row(name: str, gap: float | None, **totals: float) -> scenario_table.ScenarioRow:
    figures = {family: scenario_table.Figure.exact(value) for family, value in totals.items()}
    return scenario_table.ScenarioRow(name, "optimal", scenario_table.Figure.exact(5.0), gap, figures, ("=a", "b"))


def test_families_that_differ_most_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row("base", 0.0, a=1, b=5, c=0, d=2), row("x", 0.1234, a=3, b=1, c=4.5, e=7)]
    cells = table_cells(rows)
    # Differences 4.5, 4, 2, and none of families that one row has; equal ones by name.
    assert cells[0] == [
        "scenario",
        "status",
        "objective",
        "gap",
        "total c",
        "total b",
        "total a",
        "total d",
        "total e",
        "changes",
    ]
    assert cells[1] == ["base", "optimal", "5", "", "0", "5", "1", "2", "", "=a; b"]
    assert cells[2] == ["x", "optimal", "5", "12.34%", "4.5", "1", "3", "", "7", "=a; b"]
    monkeypatch.setattr(scenario_table, "MAX_TOTALS", 2)
    assert table_cells(rows)[0][4:] == ["total c", "total b", "changes"]


def test_exported_figures_have_the_ends_of_open_intervals_and_no_noise() -> None:
    rows = [row("base", 0.0, a=727.0000000000002), row("x", 0.1, a=-0.1 - 0.2)]
    values = scenario_table.table_values(rows)
    assert values[0][2:] == ["objective", "gap", "total a", "changes"]
    assert [line[2:5] for line in values[1:]] == [[5.0, 0.0, 727.0], [5.0, 0.1, -0.3]]
    rows[1] = replace(rows[1], objective=scenario_table.Figure.between(5.0, 4.5, 5.0, "EUR"))
    values = scenario_table.table_values(rows[::-1])
    assert values[0][2:] == ["objective (EUR)", "low", "high", "gap", "total a", "changes"]
    assert [line[2:6] for line in values[1:]] == [[5.0, 4.5, 5.0, 0.1], [5.0, 5.0, 5.0, 0.0]]


@pytest.mark.parametrize("name", ["../a.csv", "a.txt", ".csv", ".a.csv", "/tmp/a.csv", "a", ""])
def test_exports_are_plain_files_of_three_kinds(name: str, agent: LinesAgent) -> None:
    with pytest.raises(ModellingError):
        write_scenarios(agent.workbench, name, agent.folder)


@pytest.mark.parametrize(
    ("objective", "bound", "gap"),
    [(10.0, 12.0, 0.2), (-10.0, -12.0, 0.2), (0.0, 1e-9, 1.0), (None, 1.0, None), (1.0, None, None)],
)
def test_a_gap_is_relative_to_the_size_of_the_objective(
    objective: float | None, bound: float | None, gap: float | None
) -> None:
    outcome = type("Outcome", (), {"objective": objective, "bound": bound})
    found = scenario_table._gap(outcome)
    assert found == (None if gap is None else pytest.approx(gap))


# The prompt of a language model.


def test_a_model_is_described_by_its_sets_families_and_aims() -> None:
    assert describe_model(make_plan()).splitlines() == [
        "plan: 7 variables, 2 rows.", "two cities", "Objective: maximize gain",
        "Sets:", "- city (2): Metz, Lyon (places)", "- week (3, in order): w1, w2, w3",
        "Data:", "- cap[city]: 2, t (largest amount)",
        "Variables:", "- ship[city, week]: 6 integer, t", "- spare: continuous", "Rows:", "- limit[city]: 2 <=",
    ]  # fmt: skip
    assert describe_family(make_plan(), ' "SHIP" ').splitlines() == [
        "ship[city, week]: 6 integer, t",
        "members: ship[Metz, w1], ship[Metz, w2], ship[Metz, w3], ship[Lyon, w1], ship[Lyon, w2], ...",
        "city (2): Metz, Lyon (places)", "week (3, in order): w1, w2, w3",
    ]  # fmt: skip
    assert describe_family(make_plan(), "cap").splitlines()[1] == "members: cap[Metz], cap[Lyon]"
    assert len(describe_family(make_plan(), "spare").splitlines()) == 2
    builder = IndexedModelBuilder("wide")
    names = [f"set{at}" for at in range(20)]
    for name in names:
        builder.add_set(name, [f"{'n' * 180} {at}" for at in range(2)])
    builder.set_objective("o", "minimize", builder.add_variables("x", names, keys=[(f"{'n' * 180} 1",) * 20]), 1.0)
    assert len(describe_family(builder.build(), "x")) == 3000


def test_names_and_labels_are_found_by_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_names(make_plan(), "M").splitlines() == ["cap[city]", "limit[city]", "Metz of city"]
    monkeypatch.setattr(model_prompt, "MAX_HITS", 3)
    assert len(find_names(make_plan(), "M").splitlines()) == 3
    monkeypatch.setattr(model_prompt, "MAX_HITS", 2)
    assert [line.split()[:2] for line in find_names(make_plan(), "M").splitlines()] == [
        ["cap[city]"],
        ["limit[city]"],
        ["and", "1"],
    ]


@pytest.mark.parametrize(("room", "shown"), [(1, 1), (13, 2), (12, 1), (19, 3), (18, 2)])
def test_entries_fill_a_room(room: int, shown: int) -> None:
    # Each entry takes its characters and three more; the first is always shown.
    lines = list(model_prompt._cut("T", ["abcd", "abc", "abc"], room))
    entries = ["- abcd", "- abc", "- abc"][:shown]
    assert lines[: shown + 1] == ["T", *entries]
    assert len(lines) == shown + 1 + (shown < 3)
    assert shown == 3 or f"{3 - shown} more" in lines[-1]
    assert list(model_prompt._cut("T", [], room)) == []


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        (["a", "b"], "a, b"), (["a" * 41, *"b" * 11, "c" * 41], ", ".join(["a" * 39 + "…", *"b" * 11]) + ", ... " + "c" * 39 + "…"), ([f"l{at}" for at in range(12)], ", ".join(f"l{at}" for at in range(12))),
        ([f"l{at}" for at in range(14)], ", ".join(f"l{at}" for at in range(12)) + ", ... l13"),
        # Five labels of 40 characters are more than 160, four are not.
        ([*(f"{at}" * 40 for at in range(1, 5)), *"abc"], ", ".join([*(f"{at}" * 40 for at in range(1, 5)), "a, ... c"])),
        ([f"{at}" * 40 for at in range(1, 8)], ", ".join([*(f"{at}" * 40 for at in range(1, 6)), "... " + "7" * 40])),
    ],
)  # fmt: skip
def test_labels_of_large_sets_are_cut(labels: list[str], text: str) -> None:
    assert model_prompt._labels(labels).replace('"', "") == text


# Operations as JSON.


def schemas(model: IndexedModel) -> list[dict[str, Any]]:
    return lines_schema(model)["properties"]["lines"]["items"]["anyOf"]


def test_labels_of_an_index_are_enumerated_with_spans_of_ordered_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_plan()
    assert len(schemas(model)) == 1 + 1 + 4 + 2
    reading = {one["properties"]["name"]["const"]: one["properties"] for one in schemas(model)[2:6]}
    assert reading["cap"]["at"] == {"type": "array", "items": {"enum": ["*", *CITIES]}, "minItems": 1, "maxItems": 1}
    labels = ["*", *CITIES, *WEEKS, "w2..w3"]
    assert reading["ship"]["at"] == {"type": "array", "items": {"enum": labels}, "minItems": 2, "maxItems": 2}
    assert "at" not in reading["spare"]
    most = schemas(model)[-1]["properties"]
    assert (most["do"], most["name"]) == ({"enum": ["most", "least"]}, {"const": "spare"})
    monkeypatch.setattr(line_schema, "MAX_LABELS", len(labels))
    assert schemas(model)[3]["properties"]["at"]["items"] == {"enum": labels}
    monkeypatch.setattr(line_schema, "MAX_LABELS", len(labels) - 1)
    assert schemas(model)[3]["properties"]["at"]["items"] == line_schema.TEXT
    monkeypatch.setattr(line_schema, "MAX_FAMILIES", 2)
    assert len(schemas(model)) == 1 + 1 + 4 + 2
    monkeypatch.setattr(line_schema, "MAX_FAMILIES", 1)
    (_, _, _, any_variable, *_) = schemas(model)
    assert any_variable["properties"]["name"] == line_schema.TEXT
    assert any_variable["additionalProperties"] is False


def test_changes_have_the_signs_of_their_kind() -> None:
    lines = lines_schema(make_plan())["properties"]["lines"]
    assert (lines["minItems"], lines["maxItems"]) == (1, line_schema.MAX_LINES)
    several = schemas(make_plan())[1]["properties"]["changes"]
    assert (several["minItems"], several["maxItems"]) == (1, line_schema.MAX_CHANGES)
    signs = {}
    for one in several["items"]["anyOf"]:
        properties = one["properties"]
        reference = properties if "name" in properties else properties["sum"]["properties"]
        name = f"{'' if reference is properties else 'sum '}{reference['name']['const']}"
        signs.setdefault(name, []).append(("".join(properties["sign"]["enum"]), "number" in properties))
        assert one["required"] == list(properties)
    assert signs == {
        "cap": [("=+=-=*=", True)], "ship": [("=<=>=", True), ("forbid", False)], "spare": [("=<=>=", True), ("forbid", False)],
        "limit": [("=+=-=*=", True), ("drop", False)], "sum ship": [("<=>=", True)],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("operation", "line"),
    [
        ({"do": "solve"}, "solve"), ("total ship", "total ship"), ({"do": "total", "name": "ship", "at": ["Metz", "*"]}, "total ship[Metz, *]"),
        ({"do": "total", "name": "ship", "at": ["*", "w2..w3"]}, "total ship[*, w2..w3]"),
        ({"do": "total", "name": "ship", "at": ["Nice", "*"]}, "total ship[Nice, *]"), ({"do": "value", "name": "spare", "at": []}, "value spare"),
        ({"do": "most", "name": "spare"}, "most sum spare"), ({"do": "most", "name": "spare", "within": 0}, "most sum spare"), ({"do": "least", "name": "spare", "within": 2.5}, "least sum spare within 2.5"),
        ({"do": "data", "name": "parameters.cap"}, "data parameters.cap"), ({"do": "value", "name": "a.b"}, 'value "a.b"'),
        ({"do": "whatif", "changes": [{"name": "cap", "at": ["Metz"], "sign": "*=", "number": 2}, {"name": "limit", "sign": "drop"}, 3]},
         "whatif cap[Metz] *= 2; drop limit"),
        ({"do": "whatif", "changes": [{"sum": {"name": "ship", "at": ["*", "w1"]}, "sign": "<=", "number": 3}] * 2},
         "whatif row limit1: sum ship[*, w1] <= 3; row limit2: sum ship[*, w1] <= 3"),
    ],
)  # fmt: skip
def test_an_operation_is_written_as_a_line(operation: object, line: str) -> None:
    assert list(write_lines([operation, None, 3], make_plan())) == [line]


def test_a_label_with_two_dots_is_no_span() -> None:
    builder = IndexedModelBuilder("dots")
    builder.add_set("k", ["1..2", "1", "2"], is_ordered=True)
    builder.set_objective("o", "minimize", builder.add_variables("x", ["k"]), [1.0] * 3)
    lines = list(
        write_lines([{"do": "value", "name": "x", "at": [label]} for label in ("1..2", "1..1")], builder.build())
    )
    bench = Workbench(builder.build())
    assert [bench.ask(line).size for line in lines] == [1, 1]
    assert lines[0] != "value x[1..2]"


# Tools of a language model.


def test_results_of_one_call_share_a_room(agent: LinesAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    rooms: list[int] = []
    monkeypatch.setattr(model_agents, "brief_result", lambda result, room: rooms.append(room) or "x" * 500)
    monkeypatch.setattr(model_agents, "CALL_ROOM", 1200)
    run_lines(OperationTools(agent.workbench), *["total ship"] * 4)
    assert rooms == [1200, 700, 300, 300]
    monkeypatch.setattr(model_agents, "CALL_ROOM", 9000)
    run_lines(OperationTools(agent.workbench), "total ship")
    assert rooms[-1] == 2500


def run_lines(tools: OperationTools, *lines: str) -> list[str]:
    return tools(ToolCall("1", "ask", {"lines": list(lines)})).splitlines()


def test_tools_count_lines_and_tell_of_the_last(agent: LinesAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_agents, "MAX_LINES", 4)
    monkeypatch.setattr(model_agents, "MAX_ANNOUNCED_LINES", 2)
    tools = OperationTools(agent.workbench)
    assert not any("left" in line for line in run_lines(tools, "total ship"))
    assert "2 lines are left" in run_lines(tools, "# nothing", "value nothing", "")[-1]
    assert (tools.used, tools.refused, len(tools.results)) == (2, 1, 1)
    assert "1 lines are left" in run_lines(tools, "total ship")[-1]
    texts = run_lines(tools, "total ship", "total ship", "total ship")
    assert [text.startswith("not run") for text in texts if text][-2:] == [True, True]
    assert (tools.used, len(tools.results)) == (4, 3)
    assert not any("are left" in text for text in texts)


@pytest.mark.parametrize(
    ("call", "is_error"),
    [
        (ToolCall("1", "ask", {"lines": "total ship\ntotal ship"}), False), (ToolCall("1", "ask", {"line": ["total ship"]}), False),
        (ToolCall("1", "ask", {"lines": ["total ship", 3]}), True), (ToolCall("1", "ask", {}), True), (ToolCall("1", "ask", {"lines": ["# a"]}), True),
        (ToolCall("1", "other", {}), True), (ToolCall("1", "describe", {"name": 3}), True), (ToolCall("1", "describe", {"name": "ship"}), False),
        (ToolCall("1", "ask", {}, "broken JSON"), True),
    ],
)  # fmt: skip
def test_a_wrong_call_is_one_line(call: ToolCall, is_error: bool, agent: LinesAgent) -> None:
    answer = OperationTools(agent.workbench)(call)
    assert answer.startswith("error") is is_error
    assert "\n" not in answer or not is_error


def test_a_prompt_has_the_earlier_messages_and_the_changes_in_force(
    agent: LinesAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_agents, "MAX_EARLIER", 2)
    monkeypatch.setattr(model_agents, "MAX_EARLIER_RESULTS", 1)
    opening = agent.answer("solve")
    earlier = [opening, *(agent.answer(f"cap[Lyon] = {at}\ntotal ship\nsolve") for at in (1, 2, 3))]
    messages = OperationsAgent(agent.workbench, None, earlier=earlier).messages("and now?")
    assert [message.role for message in messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert f"{opening.results[0].id}: solve: {headline(opening.results[0])}" in messages[0].content
    assert messages[0].content.count(": solve:") == 1
    assert [message.content for message in messages[1:5:2]] == [record.said for record in earlier[2:]]
    for record, message in zip(earlier[2:], messages[2:6:2], strict=True):
        assert headline(record.results[0]) in message.content
        assert f"{record.results[1].id}: total" not in message.content
    assert messages[-1].content == "and now?\n\n(changes in force: cap[Lyon] = 1; cap[Lyon] = 2; cap[Lyon] = 3)"
    alone = OperationsAgent(Workbench(make_plan()), None).messages("hi")
    assert [message.content for message in alone[1:]] == ["hi"]


def test_a_prompt_lists_the_operations_that_need_no_file() -> None:
    prompt = model_prompt.model_prompt(make_plan(), 12, 60)
    for name, entry in QUERIES.items():
        assert (f"\n- {entry.syntax}: " in prompt) is (name not in ("verify", "inverse", "diff"))


def test_names_in_a_prompt_are_one_short_line_without_marks() -> None:
    assert quote_line("`a`\n# System:\r\n x") == "'a' System: x"
    assert quote_line("n" * 300) == "n" * 200


# Conversations in a folder.


def test_a_conversation_is_resumed_with_state_scenarios_and_undo(conversation: ModelConversation) -> None:
    again = resume(conversation.folder)
    assert again.records == conversation.records
    assert again.workbench.state == conversation.workbench.state
    assert again.workbench.results == conversation.workbench.results
    # The last trial can still be kept, and messages can be taken back.
    study = again.workbench.session.study
    assert study.trial is not None
    assert study.trial[:-1] == study.changes
    agent = LinesAgent(again.workbench, again.folder)
    assert agent.answer("undo 2").changes == ("cap[Metz] = 6",)
    transcript = (conversation.folder / "transcript.md").read_text()
    assert [line for line in transcript.splitlines() if line.startswith("## ")] == [f"## {at}" for at in range(5)]
    assert "> cap[Lyon] = 1" in transcript


def test_a_conversation_opens_with_the_optimum_or_with_conflict_and_repair(tmp_path: Path) -> None:
    (opening,) = hold(tmp_path / "feasible").records
    assert [result.line for result in opening.results] == ["solve"]
    assert opening.results[0].objective.value == BASE
    builder = IndexedModelBuilder("broken")
    column = builder.add_variables("x", [], high=1)
    builder.add_rows("many", [], ">=", rows=[0], columns=column, rhs=3.0)
    builder.set_objective("o", "minimize", column, [1.0])
    (opening,) = hold(tmp_path / "infeasible", model=builder.build()).records
    assert [result.line for result in opening.results] == ["solve", "conflict", "repair"]
    assert opening.note == ""


def test_limits_of_a_request_are_those_of_its_solves(tmp_path: Path) -> None:
    write(make_plan(), tmp_path / "model.json")
    request = ConversationRequest(
        str(tmp_path / "model.json"), seconds=7.0, gap=0.25, solver="cbc", confirm="glpk", threads=2
    )
    opened = begin_conversation(tmp_path / "out", request)
    limits = ModelConversation(opened, read_request(opened)).workbench.session.study.limits
    assert (limits.seconds, limits.gap, limits.threads) == (7.0, 0.25, 2)
    assert (limits.solver, limits.confirm) == ("cbc", "glpk")
    # The copy of the model stays when its file goes.
    assert read_request(opened) == replace(request, problem=MODEL_FILE)


def test_lines_need_no_language_model_although_one_is_named(tmp_path: Path) -> None:
    write(make_plan(), tmp_path / "model.json")
    runtime = build_runtime({"model": {"name": "far", "base_url": "http://127.0.0.1:9/v1"}}, ())
    request = ConversationRequest(str(tmp_path / "model.json"), runtime=runtime)
    (record,) = resume(begin_conversation(tmp_path / "out", request)).records
    assert record.results[0].objective.value == BASE


def test_a_model_that_cannot_be_solved_says_so_once(tmp_path: Path) -> None:
    write(make_plan(), tmp_path / "model.json")
    request = ConversationRequest(str(tmp_path / "model.json"), solver="nonsense")
    (record,) = resume(begin_conversation(tmp_path / "out", request)).records
    assert (len(record.note.splitlines()), record.results) == (1, ())
    assert "'nonsense'" in record.note


def test_a_message_of_another_window_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oragent.converse.models.model_conversation.MAX_MESSAGE_CHARACTERS", 30)
    opened = hold(tmp_path).folder

    async def run() -> None:
        async with ModelConversation(opened, read_request(opened)).open(None) as conversation:
            await conversation.say("total ship", seen=1)
            with pytest.raises(StoreError):
                await conversation.say("total ship", seen=1)
            assert (await conversation.say(" total spare ", seen=2)).said == "total spare"
            assert (await conversation.say("total ship " + "x" * 99)).said == ("total ship " + "x" * 99)[:30]
            assert not (conversation.folder / "pending.txt").exists()
            assert len(conversation.records) == 4

    asyncio.run(run())


def test_an_interrupted_message_with_broken_characters_is_answered(tmp_path: Path) -> None:
    opened = hold(tmp_path).folder
    (opened / "pending.txt").write_bytes(b"1\ntotal ship \xff")
    (_, record) = resume(opened).records
    assert record.refused == 1


@pytest.mark.parametrize("moment", ["_answer", "_write_transcript"])
def test_an_interrupted_message_is_answered_once(moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = hold(tmp_path).folder

    class KilledError(BaseException):
        """Stands for a kill: before the message is answered, or after that is stored."""

    def kill(self: ModelConversation, *values: object) -> None:
        raise KilledError

    async def run() -> None:
        async with ModelConversation(opened, read_request(opened)).open(None) as conversation:
            await conversation.say("total spare")
            monkeypatch.setattr(ModelConversation, moment, kill)
            await conversation.say("total ship")

    with pytest.raises(KilledError):
        asyncio.run(run())
    monkeypatch.undo()
    assert [record.said for record in resume(opened).records] == ["", "total spare", "total ship"]
    assert not (opened / "pending.txt").exists()


# The page.


def test_the_state_of_the_page_is_that_of_the_conversation(conversation: ModelConversation) -> None:
    state = page_state.page_state(conversation)
    assert (state["name"], state["size"], state["status"], state["present"]) == (
        "plan",
        "7 variables, 2 rows",
        "optimal",
        "now",
    )
    assert (state["asking"], state["absence"], state["count"]) == (False, "", 5)
    tried = LESS - 2
    gain, first, second = state["kpis"]
    assert gain == {"name": "gain (maximize)", "before": f"{BASE:g}", "after": f"{LESS:g}", "tried": f"{tried:g}"}
    # Totals that differ come first.
    assert (first["name"], first["before"], first["after"], first["tried"]) == ("total spare", "0", "0", "2")
    assert second["name"] == "total ship"
    assert state["in_force"] == ["cap[Metz] = 6", "cap[Lyon] = 1"]
    assert state["trial"] == {"line": "whatif spare = 2", "text": headline(conversation.records[-1].results[0])}
    assert state["families"] == [
        {"name": "ship", "kind": "variables", "sets": ["city", "week"], "size": 6, "unit": "t"},
        {"name": "spare", "kind": "variables", "sets": [], "size": 1, "unit": ""},
        {"name": "cap", "kind": "data", "sets": ["city"], "size": 2, "unit": "t"},
    ]
    assert [message["said"] for message in state["messages"]] == [record.said for record in conversation.records]
    result, record = state["messages"][1]["results"][0], conversation.records[1].results[0]
    assert (result["id"], result["line"], result["headline"]) == (record.id, record.line, headline(record))
    assert dict(result["facts"])["objective after"] == f"{MORE:g}"
    assert result["tables"][0]["header"] == list(view_result(record).tables[0].header)
    json.dumps(state, allow_nan=False)


def test_the_trial_that_keep_applies_stays_on_the_page(tmp_path: Path) -> None:
    talked = hold(tmp_path, "whatif spare = 2", "solve", "compare base base", "value spare")
    trial = {"line": "whatif spare = 2", "text": headline(talked.records[1].results[0])}
    assert page_state.page_state(talked)["trial"] == trial
    again = resume(talked.folder)
    assert page_state.page_state(again)["trial"] == trial
    assert page_state.page_state(resume(talked.folder, "keep"))["in_force"] == ["spare = 2"]
    repaired = resume(talked.folder, "row many: sum ship >= 20", "repair", "solve")
    assert page_state.page_state(repaired)["trial"]["line"] == "repair"
    kept = resume(talked.folder, "keep")
    assert len(page_state.page_state(kept)["in_force"]) > 2


def test_a_report_counts_the_rows_that_it_leaves_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talked = hold(tmp_path, "value ship")
    (whole,) = view_result(talked.records[1].results[0]).tables
    assert "more</p>" not in write_model_page(talked).read_text()
    view = partial(view_result, limit=len(whole.rows) - 1)
    monkeypatch.setattr("oragent.converse.models.page.view_result", view)
    assert "<p>1 more</p>" in write_model_page(talked).read_text()


def test_without_a_trial_the_page_shows_none(tmp_path: Path) -> None:
    state = page_state.page_state(hold(tmp_path, "whatif spare = 2", "keep"))
    assert state["trial"] is None
    assert {tuple(kpi) for kpi in state["kpis"]} == {("name", "before", "after")}
    assert state["kpis"][0]["after"] == f"{BASE - 2:g}"
    state = page_state.page_state(hold(tmp_path / "new"))
    assert state["trial"] is None
    assert {tuple(kpi) for kpi in state["kpis"]} == {("name", "before", "after")}


def test_lists_of_the_page_are_bounded(conversation: ModelConversation, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("MAX_MESSAGES", 2), ("MAX_FAMILIES", 2), ("MAX_KPIS", 2), ("MAX_ROWS", 1)):
        monkeypatch.setattr(page_state, name, size)
    state = page_state.page_state(conversation)
    assert (len(state["messages"]), len(state["families"]), len(state["kpis"])) == (2, 2, 2)
    assert state["messages"][-1]["said"] == "whatif spare = 2"
    assert state["count"] == 5
    results = [result for record in conversation.records[-2:] for result in record.results]
    shown = [result for message in state["messages"] for result in message["results"]]
    for result, view in zip(results, shown, strict=True):
        for table, whole in zip(view["tables"], view_result(result).tables, strict=True):
            assert table["rows"] == [list(row) for row in whole.rows[:1]]
            assert table["hidden"] == len(whole.rows) - 1
    table = page_state.pivot_table(conversation, {"family": "ship", "rows": "0", "columns": "1"})
    assert (len(table["rows"]), table["hidden"]) == (1, [1, 0])
    monkeypatch.setattr(page_state, "MAX_COLUMNS", 2)
    table = page_state.pivot_table(conversation, {"family": "ship", "rows": "0", "columns": "1"})
    assert (table["columns"], len(table["rows"][0]["cells"]), table["hidden"]) == (["w1", "w2"], 2, [1, 1])


def test_a_pivot_table_has_the_shipments_of_the_optimum(conversation: ModelConversation) -> None:
    shipped = optimum({"Metz": 6, "Lyon": 1})[1]
    table = page_state.pivot_table(conversation, {"family": "ship", "rows": "0", "columns": "1"})
    found = {
        (row["label"], column): (cell["text"], cell["name"])
        for row in table["rows"]
        for column, cell in zip(table["columns"], row["cells"], strict=True)
    }
    assert found == {key: (f"{amount}", f"ship[{', '.join(key)}]") for key, amount in shipped.items()}
    assert (table["summed"], table["hidden"], table["note"]) == ([], [0, 0], "")
    for question, expected, name, summed in (
        ({"rows": "1"}, [sum(shipped[city, week] for city in CITIES) for week in WEEKS], "ship[*, w1]", ["city"]),
        ({"rows": "1", "fixed.0": "Lyon"}, [shipped["Lyon", week] for week in WEEKS], "ship[Lyon, w1]", []),
        ({}, [sum(shipped.values())], "ship[*, *]", ["city", "week"]),
    ):
        table = page_state.pivot_table(conversation, {"family": "ship", **question})
        assert [row["cells"][0]["text"] for row in table["rows"]] == [f"{value}" for value in expected]
        assert table["rows"][0]["cells"][0]["name"] == name
        assert table["summed"] == summed
    searched = page_state.pivot_table(conversation, {"family": "ship", "rows": "0", "search": "ETZ"})
    assert [row["label"] for row in searched["rows"]] == ["Metz"]
    assert page_state.label_choices(conversation, "week") == WEEKS


def test_rows_and_columns_of_a_sparse_family_are_in_the_order_of_their_sets(tmp_path: Path) -> None:
    builder = IndexedModelBuilder("sparse")
    # Rows 1, 3 and 8, and columns 0, 1 and 8.
    builder.add_set("a", [".", "z", ".2", "x", *(f".{at}" for at in range(4, 8)), "w"])
    builder.add_set("b", ["q", "p", *(f".{at}" for at in range(2, 8)), "o"])
    keys = [("w", "o"), ("z", "p"), ("x", "q"), ("w", "q")]
    column = builder.add_variables("v", ["a", "b"], keys=keys, high=1)
    builder.set_objective("o", "maximize", column, [1.0, 2.0, 3.0, -1.0])
    table = page_state.pivot_table(hold(tmp_path, model=builder.build()), {"family": "v", "rows": "0", "columns": "1"})
    assert ([row["label"] for row in table["rows"]], table["columns"]) == (["z", "x", "w"], ["q", "p", "o"])
    assert [[cell["text"] for cell in row["cells"]] for row in table["rows"]] == [
        ["", "1", ""],
        ["1", "", ""],
        ["0", "", "1"],
    ]


def test_requests_to_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("starlette")
    opened = hold(tmp_path)

    def say(app: Any, text: str, **headers: str) -> Any:
        return get(app, "/say", body=text.encode(), origin="http://127.0.0.1:80", **headers)

    async def start() -> ModelConversation:
        return ModelConversation(opened.folder, read_request(opened.folder))

    app = make_page_application(asyncio.run(start()), TOKEN)
    page = get(app, "/", f"token={TOKEN}", x_token="")
    policy = page.headers["content-security-policy"]
    nonce = policy.split("'nonce-")[1].split("'")[0]
    # At least 128 random bits.
    assert len(nonce) >= 22
    assert page.text.count(f'nonce="{nonce}"') == page.text.count("<script") + page.text.count("<style")
    assert get(app, "/", x_token="").status == 403
    assert get(app, "/count").json == {"count": 1}
    assert get(app, "/state").json["count"] == 1
    assert get(app, "/labels", "set=week").json == {"labels": WEEKS}
    assert get(app, "/pivot", "family=cap&rows=0").json["columns"] == ["cap"]
    assert get(app, "/pivot", "family=none").status == 400
    for ending, kind in (("csv", "text/csv"), ("html", "text/html")):
        export = get(app, f"/export/{ending}")
        assert (export.status, export.headers["content-type"].split(";")[0]) == (200, kind)
        assert export.headers["content-disposition"] == f'attachment; filename="scenarios.{ending}"'
    assert get(app, "/export/exe").status == 400
    assert say(app, "  ").status == 400
    monkeypatch.setattr("oragent.converse.models.page_server.MAX_BODY", 5)
    assert say(app, "123456").status == 413

    async def send_whole() -> MessageRecord:
        return MessageRecord(said="12345")

    said: list[str] = []
    monkeypatch.setattr(ModelConversation, "say", lambda self, text, seen: said.append(text) or send_whole())
    answer = say(app, "12345")
    assert (answer.status, answer.json["count"], said) == (200, 1, ["12345"])
    assert answer.headers["cache-control"] == "no-store"
    for path in ("/", "/state", "/export/csv", "/labels?set=week", "/count", "/pivot?family=cap"):
        assert get(app, *path.split("?")).headers["cache-control"] == "no-store"


# The terminal.


@pytest.mark.parametrize(
    ("typed", "fragment", "expected"),
    [
        ("total ", "sh", ["ship"]), ("total ", "SP", ["spare"]), ("total ship[", "", CITIES), ("total ship[Metz,", "w", WEEKS),
        ("total ship[Metz, w1,", "", []), ("total nothing[", "", []), ('total "ship"[', "l", ["Lyon"]), ("", "sol", ["solve"]),
        ("", "exp", ["export"]), ("total ship[Metz] ", "by", ["by"]),
    ],
)  # fmt: skip
def test_words_are_completed_by_their_place(typed: str, fragment: str, expected: list[str]) -> None:
    assert [word for word in complete(make_plan(), typed, fragment) if word in expected or fragment] == expected


def test_completions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oragent.converse.models.terminal.MAX_COMPLETIONS", 3)
    assert len(complete(make_plan(), "", "")) == 3


def show(record: MessageRecord) -> str:
    out = io.StringIO()
    show_record(record, Console(file=out, width=100, color_system=None))
    return out.getvalue()


def test_a_report_and_a_terminal_name_the_model_and_count_its_messages(
    conversation: ModelConversation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.StringIO()
    monkeypatch.setattr("sys.stdin", io.StringIO("\n  describe  \nexit\n"))
    folder = shutil.copytree(conversation.folder, tmp_path / "copy")
    again = ModelConversation(folder, read_request(folder))
    hold_conversation(again, Console(file=out, width=100, color_system=None))
    lines = out.getvalue().splitlines()
    assert "plan: 7 variables, 2 rows" in lines
    assert "4 earlier messages" in lines
    said = [record.said for record in conversation.records[1:]]
    assert [line for line in lines if line.startswith("> ")] == [f"> {text}" for text in (*said, "describe")]
    assert "<h1>plan</h1>" in write_model_page(conversation).read_text()


def test_a_record_is_printed_with_its_tables(conversation: ModelConversation) -> None:
    text = show(conversation.records[1])
    assert "cap[Metz] = 6" in text
    assert f"{MORE:g}" in text
    table = show(MessageRecord(said="x", note="before\n| a | b |\n|---|---|\n| 1 | 22 |\nafter"))
    lines = [line.split() for line in table.splitlines() if line.strip()]
    assert lines[0] == ["before"]
    assert lines[-1] == ["after"]
    assert ["1", "22"] in lines
    assert "|---" not in table
    # A single line of this form is no table.
    assert show(MessageRecord(said="x", note="| a |")).split() == ["|", "a", "|"]


def test_a_terminal_completes_names_and_keeps_its_history(
    conversation: ModelConversation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines come from a person, whose typing the terminal shows already."""
    folder = shutil.copytree(conversation.folder, tmp_path / "copy")
    calls: list[tuple[str, Any]] = []
    names = ("set_completer_delims", "set_completer", "parse_and_bind", "read_history_file", "set_history_length")
    fake = {name: lambda value, name=name: calls.append((name, value)) for name in (*names, "write_history_file")}
    line = "total ship[Me"
    fake |= {"get_line_buffer": lambda: line, "get_begidx": lambda: len(line) - 2}
    monkeypatch.setattr(terminal, "readline", SimpleNamespace(**fake))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))

    def play(*typed: str) -> list[str]:
        calls.clear()
        given = iter(typed)
        monkeypatch.setattr("builtins.input", lambda prompt: next(given))
        out = io.StringIO()
        hold_conversation(ModelConversation(folder, read_request(folder)), Console(file=out, width=100))
        return out.getvalue().splitlines()

    lines = play("", "  describe ", "QUIT")
    assert "> describe" not in lines
    history = folder / terminal.HISTORY
    assert [call for call in calls if "history" in call[0]] == [
        ("set_history_length", terminal.MAX_HISTORY), ("write_history_file", history),
    ]  # fmt: skip
    completer = next(value for name, value in calls if name == "set_completer")
    assert [completer("Me", number) for number in (0, 1)] == ["Metz", None]
    assert calls[-1] == ("set_completer", None)
    history.write_text("describe\n")
    play("bye")
    assert ("read_history_file", history) in calls
    # A system without the library.
    monkeypatch.setattr(terminal, "readline", None)
    play("quit")
    assert calls == []
