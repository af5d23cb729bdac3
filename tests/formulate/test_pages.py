"""What the page of a formulation is filled with, against the result that it shows."""

import math
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from oragent.formulate import pages
from oragent.formulate.checks import CheckStatus
from oragent.formulate.folder import FormulationRequest, price_result
from oragent.formulate.formulation import FormulationResult
from oragent.formulate.options import choose_options
from oragent.formulate.pages import mark_sentences, render_page
from oragent.formulate.problem import ProblemText
from oragent.formulate.prompting import PoolEntry
from oragent.formulate.rules import RuleComparison, RuleOutcome
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.intervals import PlanInterval, TimeExpression
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.files.solution_json import solution_dict
from tests.formulate.results import BAKERY, ROWS, STORY, checks_of, result_of


def fill(monkeypatch: pytest.MonkeyPatch, result: FormulationResult, text: str = STORY) -> dict[str, Any]:
    """Return what the template gets."""
    filled: dict[str, Any] = {}

    def render(**values: Any) -> str:
        filled.update(values)
        return "page"

    environment = SimpleNamespace(get_template=lambda name: SimpleNamespace(render=render))
    monkeypatch.setattr(pages, "make_environment", lambda folder: environment)
    request = FormulationRequest(ProblemText("bakery", text, notes=("a note",)), choose_options("default"))
    assert render_page(request, price_result(result)) == "page"
    return filled


def test_a_page_has_the_parts_of_its_result(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [
        RuleComparison("a", RuleOutcome.HOLDS), RuleComparison("b", RuleOutcome.MISSING, 2.0), RuleComparison("c", RuleOutcome.HOLDS)
    ]  # fmt: skip
    plain = [{"name": rule.name, "outcome": str(rule.outcome), "amount": rule.amount, "sentence": ""} for rule in rules]
    readings = (
        {"sentence": "s", "used": "u", "other": "o", "status": "optimal", "objective": 39.0, "aims": [39.0], "changed": []},
        {"sentence": "t", "used": "u", "other": "o", "status": "optimal", "objective": 41.0, "aims": [41.0], "changed": ["x"]},
    )  # fmt: skip
    pool = tuple(PoolEntry(name, "text", time=time) for name, time in (("program", 5.0), ("review", 12.5)))
    facts = PoolEntry("formalization", "", {"OBJECTIVE": "maximize: profit", "UNIT": "EUR"}, time=13.0)
    result = result_of(
        BAKERY, checks=checks_of(CheckStatus.PASSED) | {"rules": plain, "sentences": {"dough": "A bag of dough"}}, readings=readings, pool=(*pool, facts),
        metamorphic=({"property": "p", "datum": "d", "note": "n", "holds": None},), program="the program",
        attempts=({"number": 0, "source": "one\ntwo\n"}, {"number": 1, "source": ""}, {"number": 2, "source": "one\nthree\n"}),
    )  # fmt: skip
    filled = fill(monkeypatch, result)
    assert (filled["title"], filled["unit"], filled["notes"], filled["left"], filled["held"]) == (
        "bakery",
        "EUR",
        ("a note",),
        0,
        2,
    )
    assert "39" in str(filled["objective"])
    assert [rule.name for rule in filled["rules"]] == ["b"]
    assert [reading["sentence"] for reading, _ in filled["readings"]] == ["s", "t"]
    assert [reading["sentence"] for reading in filled["same"]] == ["s"]
    assert [after for *_, after in filled["pool"]] == [0.0, 7.5, 8.0]
    assert [aim.name for aim, _ in filled["aims"]] == ["profit"]
    assert {part.name: part.value for part in filled["parts"]} == pytest.approx({"x": 9.0, "y": 30.0})
    assert (filled["tried"], filled["program"].strip(), filled["gantt"], filled["charts"]) == (
        False,
        "the program",
        None,
        [],
    )
    assert "<math" in filled["mathematics"]
    # The first program has no other before it, and an empty one is passed over.
    changes = [(attempt["number"], [line.text for line in lines]) for attempt, lines in filled["changes"]]
    assert [number for number, _ in changes] == [0, 1, 2]
    assert changes[0][1] == []
    assert any("two" in text for text in changes[2][1])
    assert any("three" in text for text in changes[2][1])
    assert [row["sentence"] for row in filled["rows"]] == [
        "The oven has 12 hours",
        "There are 21 kg of flour",
        "A bag of dough",
    ]
    tested = replace(result, metamorphic=({"property": "p", "datum": "d", "note": "n", "holds": True},))
    assert fill(monkeypatch, tested)["tried"] is True


def test_a_page_without_a_plan_has_no_rows_and_no_mathematics(monkeypatch: pytest.MonkeyPatch) -> None:
    filled = fill(monkeypatch, replace(result_of(BAKERY), milp=None, solution=None, status="timeout"))
    empty = {"objective": None, "unit": "", "mathematics": None, "rows": [], "parts": (), "uses": (), "gantt": None}
    assert {name: filled[name] for name in empty} == empty
    interval = PlanInterval("bake", TimeExpression({"x": 1.0}), TimeExpression({"x": 1.0}, 2.0), "oven", {}, False)
    assert fill(monkeypatch, result_of(BAKERY, intervals=(interval,)))["gantt"] is not None
    monkeypatch.setattr(pages, "MAX_MATHS", 5)
    assert fill(monkeypatch, result_of(BAKERY))["mathematics"] is not None
    monkeypatch.setattr(pages, "MAX_MATHS", 4)
    assert fill(monkeypatch, result_of(BAKERY))["mathematics"] is None


def test_rows_have_their_figures_and_duals_only_where_these_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (*ROWS, Row("even", {"x": 1.0, "y": 1.0}, Relation.EQUAL, 9.0))
    for milp, has_duals in (
        (BAKERY.with_records(rows=rows), True),
        (BAKERY.with_records(rows=rows, variables=(Variable("x", kind=VariableKind.INTEGER), Variable("y"))), False),
    ):
        filled = {row["name"]: row for row in fill(monkeypatch, result_of(milp))["rows"]}
        assert (filled["oven"]["activity"], filled["oven"]["relation"], filled["oven"]["rhs"]) == ("12", "<=", "12")
        assert [filled[name]["slack"] for name in ("oven", "flour", "dough")] == ["0", "0", "1"]
        assert filled["even"]["dual"] == "–"
        assert all((filled[name]["dual"] != "–") is has_duals for name in ("oven", "flour", "dough"))
        assert all((filled[name]["range"] == "–") or filled[name]["dual"] != "–" for name in filled)
        assert any(filled[name]["range"] != "–" for name in filled) is has_duals
    # Two rows share the price of x, and the price of y holds at any right-hand side.
    free = (Variable("x", -math.inf), Variable("y", -math.inf))
    rows = tuple(Row(name, {column: 1.0}, Relation.AT_LEAST, 3.0) for name, column in zip("abc", "xxy", strict=True))
    milp = IndexedModel.from_records(free, rows, Objective({"x": 1.0, "y": 2.0}), Sense.MINIMIZE)
    filled = {row["name"]: (row["dual"], row["range"]) for row in fill(monkeypatch, result_of(milp))["rows"]}
    assert filled == {"a": ("not unique", "–"), "b": ("not unique", "–"), "c": ("+2", "any")}
    # A point without activities, such as one of another solver.
    solution = Solution(SolveStatus.FEASIBLE, objective=39.0, values={"x": 3.0, "y": 6.0})
    lines = list(pages._row_lines(BAKERY, solution))
    assert {(line["activity"], line["slack"], line["dual"]) for line in lines} == {("–", "–", "–")}


@pytest.mark.parametrize(
    ("text", "sentences", "marked"),
    [
        # Eight characters at least; in any case and spacing; the longer of two that overlap; none twice.
        ("We bake bread.", ["bake bre"], ["bake bre"]), ("We bake bread.", ["bake br"], []), ("WE  BAKE\nbread", ["we bake bread."], ["WE  BAKE\nbread"]),
        ("one two three four", ["one two three", "three four five", "two three four"], ["two three four"]),
        ("first part, second part", ["second part", "first part", "first part"], ["first part", "second part"]),
        ("first partsecond part", ["second part", "first part"], ["first part", "second part"]),
        ("a < b & more words", ["b & more words"], ["b &amp; more words"]),
    ],
)  # fmt: skip
def test_sentences_are_marked_once_each_in_the_order_of_the_text(
    text: str, sentences: list[str], marked: list[str]
) -> None:
    page = str(mark_sentences(text, sentences))
    assert re.findall("<mark>(.*?)</mark>", page, re.DOTALL) == marked
    plain = re.sub("</?mark>", "", page)
    assert plain == text.replace("&", "&amp;").replace("<", "&lt;")


def test_a_result_in_a_folder_has_its_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    solution = Solution(SolveStatus.FEASIBLE, objective=39.0, bound=45.0, gap=0.15, values={"x": 3.0, "y": 6.0})
    filled = fill(monkeypatch, result_of(BAKERY, solution=solution_dict(solution)))
    assert filled["solution"].bound == 45.0
    assert filled["verdict"].verdict == result_of(BAKERY).judgement.verdict


def test_long_texts_of_a_page_are_cut_and_the_rest_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = (PoolEntry("program", "a line\n" * 63, time=1.0),)
    source = "".join(f"line {at}\n" for at in range(300))
    attempts = ({"number": 0, "source": "before\n"}, {"number": 1, "source": source})
    filled = fill(monkeypatch, result_of(BAKERY, pool=pool, attempts=attempts), "a line\n" * 2003)
    assert (filled["left"], str(filled["problem"]).count("a line")) == (3, 2000)
    assert filled["pool"][0][1].count("a line") == 60
    assert len(filled["changes"][1][1]) == 200


@pytest.mark.parametrize("count", [199, 200, 201])
def test_a_sentence_of_two_hundred_words_is_marked(count: int) -> None:
    text = " ".join(f"w{at}" for at in range(count))
    assert ("<mark>" in mark_sentences(text, [text])) is (count <= 200)


def test_a_page_has_at_most_four_hundred_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tuple(Row(f"r{at}", {"x": 1.0}, Relation.AT_MOST, 9.0 + at) for at in range(402))
    milp = IndexedModel.from_records((Variable("x"),), rows, Objective({"x": 1.0}), Sense.MAXIMIZE)
    filled = fill(monkeypatch, result_of(milp))
    assert (len(filled["rows"]), filled["most"], filled["mathematics"]) == (400, 400, None)
    assert filled["colours"] == pages.COLOURS
