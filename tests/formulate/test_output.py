"""What a result says of itself: calls and prices, the order of periods, shortages, names of folders."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from oragent import formulate
from oragent.formulate.folder import price_result, summarize_result
from oragent.formulate.formulation import FormulationResult
from oragent.formulate.plan_tables import order_families, tabulate_plan
from oragent.formulate.printing import headline, print_outcome
from oragent.formulate.problem import name_problem
from oragent.llm.keys import KEY
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.files.solution_json import solution_dict
from oragent.modelling.solving.model_solving import solve
from oragent.report.pages.value_tables import DecisionFamily, DecisionKind
from tests.formulate import pharmacy
from tests.llm.chat_server import ChatServer, ok


def test_every_call_counts_and_an_unknown_price_is_no_price_of_zero(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "sk-secret")
    replies = [ok(f"```python\n{text}\n```") for text in (pharmacy.RIGHT, pharmacy.CHECKER)]
    with ChatServer(ok("hello"), *replies) as server:
        model = {"name": "unpriced", "base_url": server.url, "api_key_env": KEY}
        result = formulate(pharmacy.TEXT, folder=tmp_path, settings={"model": model})
    assert len(server.requests) == 3
    assert (result.spent.model_calls, result.unpriced) == (3, 3)
    (file,) = tmp_path.glob("*/*/result.json")
    stored = json.loads(file.read_text())
    assert (stored["calls"], stored["unpriced"]) == (3, 3)
    console = Console(file=io.StringIO(), width=120)
    print_outcome(price_result(result), console)
    assert "$0" not in console.file.getvalue()


YEARS = ["2027", "2028", "2029", "2030"]
REPAIRS = [("B1", "2029"), ("B2", "2027"), ("B3", "2030"), ("B4", "2027")]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (YEARS, [("2027", "B2"), ("2027", "B4"), ("2029", "B1"), ("2030", "B3")]),
        (["w9", "w10", "w11", "w12"], [("w9", "B2"), ("w9", "B4"), ("w11", "B1"), ("w12", "B3")]),
        # Codes of machines are no periods.
        (["M1", "M2", "M3", "M4"], [("M3", "B1"), ("M1", "B2"), ("M4", "B3"), ("M1", "B4")]),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_a_plan_over_periods_goes_by_period(labels: list[str], expected: list[tuple[str, str]], turned: bool) -> None:
    names = dict(zip(YEARS, labels, strict=True))
    chosen = {(bridge, names[year]) for bridge, year in REPAIRS}
    bridges = ["B1", "B2", "B3", "B4"]
    pairs = [(bridge, label) for bridge in bridges for label in labels]
    values = {f"repair[{pair[0]},{pair[1]}]": float(pair in chosen) for pair in pairs}
    entries = {(pair[::-1] if turned else pair): f"repair[{pair[0]},{pair[1]}]" for pair in pairs}
    family = DecisionFamily("repair", entries, values, kind=DecisionKind.YES_NO)
    (table,) = tabulate_plan(order_families([family], {"bridges": bridges}), {})
    rows = [row[:2] if turned else (row[1], row[0]) for row in table.rows if row[2] == 1]
    assert rows == expected


def infeasible_result() -> FormulationResult:
    """Nurses of two wards, of which there are too few, and hours that cost."""
    nurses = (Variable("day", 0, 4, VariableKind.INTEGER), Variable("night", 0, 3, VariableKind.INTEGER))
    rows = (
        Row("day ward", {"day": 1}, Relation.AT_LEAST, 4, "4 nurses by day"),
        Row("night ward", {"night": 1}, Relation.AT_LEAST, 5, "5 nurses at night"),
    )
    milp = IndexedModel.from_records(nurses, rows, Objective({"day": 8, "night": 10}), Sense.MINIMIZE, name="roster")
    return FormulationResult(
        status="infeasible",
        answer=True,
        milp=milp,
        solution=solution_dict(solve(milp)),
        values={},
        program="",
        message="",
        checks=None,
        checker="",
        attempts=(),
        kept=0,
        pool=(),
        data={},
    )


def test_the_first_line_of_an_infeasible_plan_is_its_shortage() -> None:
    outcome = price_result(infeasible_result())
    assert outcome.incomplete is not None
    (shortage,) = outcome.incomplete.shortages
    assert (shortage.name, shortage.wanted, shortage.possible) == ("night ward", 5, 3)
    assert "5 nurses at night" in headline(outcome)
    console = Console(file=io.StringIO(), width=120)
    print_outcome(outcome, console)
    # The hours of the incomplete plan are 4 * 8 + 3 * 10.
    assert "32" not in console.file.getvalue()
    assert summarize_result(outcome)["objective_parts"] == {}


@pytest.mark.parametrize(
    ("text", "stem", "name"),
    [
        ("# Bridges of the county\n\nWe repair ...", "story", "bridges-county"),
        ("We repair bridges in four years and ten weeks.", "Problem", "repair-bridges-four-years-ten"),
        ("We repair bridges.", "county", "county"),
        ("We repair bridges.", "11", "repair-bridges"),
        ("We repair bridges.", "", "repair-bridges"),
        ("1 + 1", "", "problem"),
        ("# " + "x" * 500, "", "x" * 48),
        ("# ../../etc/passwd", "", "etc-passwd"),
    ],
)
def test_a_problem_is_named_after_its_file_or_its_first_words(text: str, stem: str, name: str) -> None:
    assert name_problem(text, stem) == name
