"""Nonlinear problems are refused, vague requirements are listed, and both readings of a sentence are solved."""

import asyncio
import io
import json
import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from oragent._base.budget import Budget
from oragent._base.errors import ReplyError
from oragent.formulate.audit import find_foreign_figures
from oragent.formulate.folder import FormulationRequest, price_result
from oragent.formulate.formulation import FormulationResult, formulate_case
from oragent.formulate.options import choose_options
from oragent.formulate.pages import render_page
from oragent.formulate.printing import print_outcome
from oragent.formulate.problem import DEFAULT, ProblemText
from oragent.formulate.prompting import extract_program
from oragent.formulate.requirements import find_nonlinearity, has_same_optimum, list_readings, list_unmodelled
from oragent.formulate.running import FormulationRunner
from oragent.ledger import Study
from oragent.llm.callable import Scripted
from oragent.llm.model import Request
from oragent.modelling.data.solution import SolveVerdict

TEXT = """A baker makes loaves and rolls. A loaf earns 3 EUR, a roll 1 EUR. A loaf takes 2 minutes, a roll 1 minute, and there
are 100 minutes. Half of the rolls and loaves must be rolls. The baker wants good service for regular customers."""
PROGRAM = """
import pulp

def solve(data):
    problem = pulp.LpProblem("baker", pulp.LpMaximize)
    a, b = pulp.LpVariable("loaves", 0), pulp.LpVariable("rolls", 0)
    problem += 3 * a + b
    problem += 2 * a + b <= 100, "minutes"
    problem += {row}, "half"
    problem.solve()
    return {{"optimized_vars": {{"loaves": a, "rolls": b}}}}
"""
CHECKER = """
def checks(values, data):
    a, b = values["loaves"], values["rolls"]
    yield ("minutes", 2 * a + b, "<=", 100, "there are 100 minutes")
    yield ("half", b, ">=", a, "Half of the rolls and loaves must be rolls")
    yield ("earned", 3 * a + b, "maximize", None, "A loaf earns 3 EUR, a roll 1 EUR")
"""
MODEL = {
    "VARIABLES": ["loaves: made, pieces, continuous, from 0"],
    "CONSTRAINTS": ["minutes: 2 a + b <= 100 -- there are 100 minutes", "half: b >= a -- Half of the rolls and loaves"],
    "OBJECTIVE": "maximize: 3 a + b -- A loaf earns 3 EUR, a roll 1 EUR",
    "UNIT": "EUR",
    "CLASS": "linear",
    "NOT_MODELLED": ["The baker wants good service for regular customers. -- no figure"],
    "READINGS": ["Half of the rolls and loaves must be rolls -- at least half -- exactly half of the 60 pieces"],
}


def formulate_baker(folder: Path, runner: FormulationRunner, model: dict, **programs: str) -> FormulationResult:
    def reply(request: Request, number: int) -> str:
        said = {
            "semantic_encoder": "{}",
            "formalization": json.dumps(model),
            "counterfactual": f"```python\n{CHECKER}\n```",
            "syntax_analysis": "a product",
            "reading": f"```python\n{programs.get('reading', '')}\n```",
        }
        return said.get(request.role, f"```python\n{programs.get(request.role) or PROGRAM.format(row='b >= a')}\n```")

    async def work(case):
        return (
            await formulate_case(case, ProblemText("baker", TEXT), choose_options("default", method="ormind"), runner)
        ).to_plain()

    with Study(folder, {"": Scripted(reply)}, Budget(evaluations=None)) as study:
        (finished,) = asyncio.run(study.run_cases(["baker"], work))
    return FormulationResult.from_plain(finished.result)


def show(found: FormulationResult) -> tuple[str, str]:
    out = io.StringIO()
    end = price_result(found)
    print_outcome(end, Console(file=out, width=100))
    request = FormulationRequest(ProblemText("baker", TEXT), choose_options("default"))
    return out.getvalue(), render_page(request, end)


def test_both_optima_of_an_ambiguous_sentence_are_shown_and_a_vague_requirement_is_listed(runner, tmp_path) -> None:
    found = formulate_baker(tmp_path, runner, MODEL, reading=PROGRAM.format(row="a + b == 60"))
    assert found.objective == pytest.approx(400 / 3)
    assert found.readings[0]["objective"] == pytest.approx(3 * 40 + 20)
    assert [sentence for sentence, _ in found.unmodelled] == ["The baker wants good service for regular customers."]
    for text in show(found):
        figures = re.findall(r"\d[\d,]*\.\d+", text)
        assert all(len(re.sub(r"\D", "", shown).lstrip("0")) <= 6 for shown in figures)
        assert "Half of the rolls and loaves must be rolls" in text
        assert "133.333" in text
        assert "140" in text
        assert "good service" in text


@pytest.mark.slow
def test_a_reading_with_the_same_optimum_says_whether_the_decisions_differ(runner, tmp_path) -> None:
    found = formulate_baker(tmp_path, runner, MODEL, reading=PROGRAM.format(row="2 * b >= 2 * a"))
    assert found.readings[0]["changed"] == []
    other = formulate_baker(tmp_path / "other", runner, MODEL, reading=PROGRAM.format(row="a + b == 60"))
    assert other.readings[0]["changed"] == ["loaves", "rolls"]
    assert "the same decisions" in show(found)[0]
    assert "2 decisions differ" in show(other)[0]


def test_requirements_and_readings_of_a_refused_problem_are_shown(runner, tmp_path) -> None:
    model = {**MODEL, "CLASS": "nonlinear: price times amount", "NOT_MODELLED": ["Towels for free -- no figure"]}
    found = formulate_baker(tmp_path, runner, model)
    assert list(map(list, found.unmodelled)) == [["Towels for free", "no figure"]]
    for text in show(found):
        assert "Towels for free" in text
        assert "at least half (used here)" in text
        assert "exactly half of the 60 pieces" in text


def test_list_marks_are_dropped_from_requirements() -> None:
    listed = {"NOT_MODELLED": ["- Good service -- no figure", "", " * Towels"]}
    assert list_unmodelled(listed) == [("Good service", "no figure"), ("Towels", "")]


def test_a_reading_whose_program_fails_says_so(runner: FormulationRunner, tmp_path: Path) -> None:
    found = formulate_baker(tmp_path, runner, MODEL, reading="def solve(data):\n    return 1 / 0\n")
    assert found.answer
    assert found.readings[0]["status"] == SolveVerdict.RUNTIME_ERROR
    assert "runtime_error" in show(found)[0]


def test_a_problem_that_is_called_nonlinear_is_refused_with_its_reason(runner, tmp_path) -> None:
    reason = "nonlinear: price times amount, and the price falls with the amount"
    found = formulate_baker(tmp_path, runner, {**MODEL, "CLASS": reason})
    assert (found.status, found.answer, found.program) == ("unsupported", False, "")
    assert [entry.module for entry in found.pool] == ["semantic_encoder", "formalization", "compiler"]
    assert all("price times amount" in text for text in show(found))


def test_a_program_that_multiplies_three_variables_is_told_of_the_way_out_and_refused(runner, tmp_path) -> None:
    product = PROGRAM.format(row="a * b * a <= 5")
    ran = runner.run_program(product, DEFAULT, {})
    assert ran.verdict is SolveVerdict.RUNTIME_ERROR
    assert "more than two variables were multiplied" in ran.message
    refusal = "def solve(data):\n    raise NotImplementedError('nonlinear: the area is a product')\n"
    found = formulate_baker(tmp_path, runner, MODEL, supervisor_forward=product, supervisor_backward=refusal)
    assert (found.status, found.message, len(found.attempts)) == ("unsupported", "nonlinear: the area is a product", 2)


@pytest.mark.parametrize("entries", [None, 5, "a -- b -- c", [None], [["a"]], ["a -- b"], [{"a": 1}]])
def test_lists_of_any_other_form_count_as_none(entries: object) -> None:
    assert list_readings({"READINGS": entries}) == []


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)),
    max_leaves=12,
)
KEYS = ("READINGS", "CLASS", "NOT_MODELLED", "CONSTRAINTS", "OBJECTIVE", "VARIABLES", "Value")


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(KEYS), JSON), st.text(max_size=200))
def test_replies_of_any_form_are_read(model: dict, text: str) -> None:
    assert isinstance(list_readings(model), list)
    assert isinstance(find_nonlinearity(model), str)
    assert isinstance(list_unmodelled(model), list)
    assert isinstance(find_foreign_figures({"x": model}, text, {}), list)
    with suppress(ReplyError):
        assert "def solve(" in extract_program(text, "solve")


def test_a_program_that_forbids_too_much_is_said_so_where_its_point_meets_all_entries(runner, tmp_path) -> None:
    found = formulate_baker(tmp_path, runner, MODEL, supervisor_forward=PROGRAM.format(row="b >= a + 40"),
                            supervisor_backward=PROGRAM.format(row="b >= a + 40"))  # fmt: skip
    assert found.checks["state"] == "failed"
    shown, _ = show(found)
    assert "failed: forbids too much; the solution meets all" in shown
    assert "hold" not in next(line for line in shown.splitlines() if line.startswith("checks"))


@pytest.mark.parametrize(
    ("reading", "values", "is_same"),
    [
        ({"objective": 5.0}, [5.0], True), ({"objective": 5.0}, [5.1], False), ({"objective": None}, [5.0], False),
        ({"objective": 5.0, "aims": [5.0, 2.0]}, [5.0, 2.0], True), ({"objective": 5.0, "aims": [5.0, 2.0]}, [5.0, 3.0], False),
        ({"objective": 5.0, "aims": [5.0, 2.0]}, [5.0], False), ({"objective": 5.0}, [None], False),
        ({"objective": 1e6}, [1e6 + 0.5], True), ({"objective": 1e6}, [1e6 + 2.0], False), ({"objective": 0.0}, [5e-7], True),
    ],
)  # fmt: skip
def test_a_reading_has_the_same_optimum_if_each_aim_has(
    reading: dict, values: list[float | None], is_same: bool
) -> None:
    assert has_same_optimum(reading, values) is is_same


@pytest.mark.parametrize(
    ("parsed", "readings", "unmodelled", "nonlinear"),
    [
        ({"READINGS": ["a -- b -- c", "a -- b", ""], "NOT_MODELLED": ["- x -- y", "z", " * "], "CLASS": "Nonlinear: x y"},
         [("a", "b", "c")], [("x", "y"), ("z", "")], "Nonlinear: x y"),
        ({"READINGS": "a -- b -- c", "NOT_MODELLED": "x", "CLASS": "linear"}, [], [], ""),
        (["x"], [], [], ""), ({}, [], [], ""),
    ],
)  # fmt: skip
def test_statements_of_a_formalization_are_read(
    parsed: object, readings: list[tuple], unmodelled: list[tuple], nonlinear: str
) -> None:
    assert [(each.sentence, each.used, each.other) for each in list_readings(parsed)] == readings
    assert list_unmodelled(parsed) == unmodelled
    assert find_nonlinearity(parsed) == nonlinear
