"""Figures that an encoder misreads, and objectives that a program misreads, do not pass the checks."""

import asyncio
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from oragent._base.budget import Budget
from oragent.formulate.audit import find_foreign_figures, find_unclear_figures
from oragent.formulate.checks import CheckStatus, Reason
from oragent.formulate.command import formulate_file
from oragent.formulate.formulation import FormulationResult, formulate_case
from oragent.formulate.model_comparison import Ruling
from oragent.formulate.options import FormulateCommand, choose_options
from oragent.formulate.problem import DEFAULT, ProblemText
from oragent.formulate.running import FormulationRunner
from oragent.ledger import Study
from oragent.llm.callable import Scripted
from oragent.llm.model import Request

TEXT = """A joiner makes tables and chairs. A table earns 80 EUR, a chair 30 EUR. A table takes 2 hours, a chair 1 hour,
and there are 90 hours. At least 30 chairs are ordered. How much can the joiner earn?"""
PROGRAM = """
import pulp

def solve(data):
    problem = pulp.LpProblem("joiner", pulp.LpMaximize)
    t, c = pulp.LpVariable("tables", 0), pulp.LpVariable("chairs", 0)
    problem += {table} * t + 30 * c
    problem += 2 * t + c <= 90, "hours"
    problem += c <= 50, "sales"
    problem += c >= {demand}, "ordered"
    problem.solve()
    return {{"optimized_vars": {{"tables": t, "chairs": c}}}}
"""
CHECKER = """
def checks(values, data):
    t, c = values["tables"], values["chairs"]
    yield ("hours", 2 * t + c, "<=", data.get("hours", 90), "there are 90 hours")
    yield ("sales", c, "<=", 50, "")
    yield ("ordered", c, ">=", data.get("demand", 30), "at least 30 chairs are ordered")
    yield ("earned", 80 * t + 30 * c, "maximize", None, "how much can the joiner earn")
"""


def formulate_joiner(
    folder: Path, runner: FormulationRunner, first: str, revised: str, demand: float
) -> tuple[FormulationResult, list[Request]]:
    requests: list[Request] = []

    def reply(request: Request, number: int) -> str:
        requests.append(request)
        said = {
            "semantic_encoder": json.dumps({"demand": {"Type": "integer", "Kind": "scalar", "Value": demand}}),
            "formalization": '{"VARIABLES": [], "CONSTRAINTS": [], "OBJECTIVE": ""}',
            "compiler": f"```python\n{first}\n```",
            "supervisor_forward": f"```python\n{first}\n```",
            "supervisor_backward": f"```python\n{revised}\n```",
            "counterfactual": f"```python\n{CHECKER}\n```",
        }
        return said[request.role]

    async def work(case):
        return (
            await formulate_case(case, ProblemText("joiner", TEXT), choose_options("default", method="ormind"), runner)
        ).to_plain()

    with Study(folder, {"": Scripted(reply)}, Budget(evaluations=None)) as study:
        (finished,) = asyncio.run(study.run_cases(["joiner"], work))
    return FormulationResult.from_plain(finished.result), requests


def test_a_demand_that_the_encoder_misreads_does_not_pass_and_is_mended(runner: FormulationRunner, tmp_path) -> None:
    first = PROGRAM.format(table=80, demand='data["demand"]')
    found, requests = formulate_joiner(tmp_path, runner, first, PROGRAM.format(table=80, demand=30), 40.0)
    before = found.attempts[0]["checks"]
    assert before["state"] == CheckStatus.FAILED
    assert [finding["reason"] for finding in before["findings"]] == [Reason.FORBIDS]
    assert "'ordered'" in before["findings"][0]["text"]
    assert found.checks is not None
    assert found.checks["confirmed"]
    assert found.objective == pytest.approx(80 * 30 + 30 * 30)
    (checker,) = [request for request in requests if request.role == "counterfactual"]
    assert '"demand": 40' not in checker.messages[0].content


def test_a_figure_that_the_text_lacks_goes_back_to_the_encoder(runner: FormulationRunner, tmp_path: Path) -> None:
    program = PROGRAM.format(table=80, demand=30)
    _, requests = formulate_joiner(tmp_path, runner, program, program, 77.0)
    asked = [request.messages[0].content for request in requests if request.role == "semantic_encoder"]
    assert len(asked) == 2
    assert "demand has 77, and the text has no such figure" in asked[1]


@pytest.mark.parametrize("table", [200, 8])
def test_an_objective_that_is_not_the_problems_does_not_pass(
    runner: FormulationRunner, tmp_path: Path, table: int
) -> None:
    wrong = PROGRAM.format(table=table, demand=30)
    found, _ = formulate_joiner(tmp_path, runner, wrong, PROGRAM.format(table=80, demand=30), 30.0)
    reasons = [finding["reason"] for finding in found.attempts[0]["checks"]["findings"]]
    assert Reason.OBJECTIVE in reasons
    assert found.objective == pytest.approx(3300)


IDLE = """
import pulp

def solve(data):
    problem = pulp.LpProblem("joiner", pulp.LpMaximize)
    t, c = pulp.LpVariable("tables", 0), pulp.LpVariable("chairs", 0, 50)
    problem += {table} * t + 30 * c
    problem += 4 * t + c <= {hours}, "hours"
    problem += c >= 30, "ordered"
    problem.solve()
    return {{"optimized_vars": {{"tables": t, "chairs": c}}}}
"""


def test_a_misread_coefficient_that_the_point_does_not_use_is_found(runner: FormulationRunner) -> None:
    ran = runner.run_program(IDLE.format(table=8, hours=40), DEFAULT, {})
    assert ran.values == {"tables": 0.0, "chairs": 40.0}
    checker = CHECKER.replace('2 * t + c, "<=", data.get("hours", 90)', '4 * t + c, "<=", 40')
    report = runner.run_checker(checker, ran, {})
    assert report.comparison is not None
    assert report.comparison.ruling is Ruling.OBJECTIVE
    assert report.comparison.names == ("tables",)
    assert "8, by the checks 80" in report.comparison.reason
    right = runner.run_checker(checker, runner.run_program(IDLE.format(table=80, hours=40), DEFAULT, {}), {})
    assert right.comparison is not None
    assert right.comparison.ruling is Ruling.AGREES


def formulate_with_encoder(
    folder: Path, runner: FormulationRunner, *encoded: str, edit: str = ""
) -> tuple[FormulationResult, list[Request]]:
    """Formulate the joiner with an encoder that answers so, one text a time."""
    requests: list[Request] = []
    program = PROGRAM.format(table=80, demand='data["demand"]')
    answers = list(encoded)

    def reply(request: Request, number: int) -> str:
        requests.append(request)
        said = {"formalization": '{"VARIABLES": [], "CONSTRAINTS": [], "OBJECTIVE": ""}',
                "compiler": f"```python\n{program}\n```", "supervisor_forward": f"```python\n{program}\n```",
                "supervisor_backward": f"```python\n{program}\n```",
                "counterfactual": f"```python\n{CHECKER}\n```"}  # fmt: skip
        return answers.pop(0) if request.role == "semantic_encoder" else said[request.role]

    options = choose_options("default", method="ormind", edits={"semantic_encoder": edit} if edit else {})

    async def work(case):
        return (await formulate_case(case, ProblemText("joiner", TEXT), options, runner)).to_plain()

    with Study(folder, {"": Scripted(reply)}, Budget(evaluations=None)) as study:
        (finished,) = asyncio.run(study.run_cases(["joiner"], work))
    return FormulationResult.from_plain(finished.result), requests


def test_later_prompts_have_the_encoder_s_answer_that_is_in_force_alone(runner: FormulationRunner, tmp_path) -> None:
    wrong, right = (json.dumps({"demand": {"Kind": "scalar", "Value": value}}) for value in (35, 30))
    result, requests = formulate_with_encoder(tmp_path, runner, wrong, right)
    later = [request.messages[0].content for request in requests if request.role in ("formalization", "compiler")]
    assert later
    assert all('"Value": 30' in prompt and '"Value": 35' not in prompt for prompt in later)
    assert [entry.text for entry in result.pool[:2]] == [wrong, right]  # the record keeps both
    assert result.objective == pytest.approx(3300)


def test_an_unusable_second_answer_of_the_encoder_does_not_replace_the_first(
    runner: FormulationRunner, tmp_path
) -> None:
    first = json.dumps({"demand": {"Kind": "scalar", "Value": 30}, "room": {"Kind": "scalar", "Value": 31}})
    result, requests = formulate_with_encoder(tmp_path, runner, first, "I cannot.", "I cannot.")
    (prompt,) = [request.messages[0].content for request in requests if request.role == "compiler"]
    assert first in prompt
    assert "I cannot." not in prompt
    assert result.objective == pytest.approx(3300)  # the program reads the demand from the data


def test_what_a_person_says_in_place_of_the_encoder_is_not_asked_again(runner: FormulationRunner, tmp_path) -> None:
    edit = json.dumps({"demand": {"Kind": "scalar", "Value": 42}})
    result, requests = formulate_with_encoder(tmp_path, runner, edit=edit)
    assert "semantic_encoder" not in {request.role for request in requests}
    assert result.pool[0].author == "person"


@pytest.mark.parametrize(
    ("value", "is_foreign"),
    [(30, False), (80.0, False), (0.3, False), (5400, False), ([2, 1], False), (31, True), ({"a": [30, 7.5]}, True)],
)
def test_a_figure_is_looked_up_in_the_text_as_it_may_be_written(value: object, is_foreign: bool) -> None:
    assert bool(find_foreign_figures({"x": {"Value": value}}, TEXT, {})) is is_foreign
    assert not find_foreign_figures({"x": {"Value": value}}, TEXT, {"x": value})
    words = "two thirds of twenty five, fifteen percent, 1,500 and 1/8"
    assert not find_foreign_figures({"x": {"Value": [2 / 3, 25, 0.15, 1500, 0.125]}}, words, {})


def test_a_point_for_thousands_in_a_text_with_decimal_commas_is_no_decimal_point():
    text = "Depot Süd braucht 2.300 t, der Vertrag kostet 4.500,50 EUR, die Fracht 9,20 EUR."
    (complaint,) = find_foreign_figures({"need": {"Value": 2.3}, "fee": {"Value": 4500.5}}, text, {})
    assert complaint == "need has 2.3: the text has decimal commas, and its 2.300 is 2300"
    assert find_foreign_figures({"need": {"Value": 2300}}, text, {}) == []
    assert find_foreign_figures({"need": {"Value": 2.3}}, "It takes 2.300 t and 9.20 EUR.", {}) == []
    assert find_unclear_figures(text) == []
    assert find_unclear_figures("It takes 2.300 t and 9.20 EUR.") == []
    assert find_unclear_figures("It takes 2.300 t of 10,000 t.") == []
    assert find_unclear_figures("It takes 2.300 t of 12 t, on 1.2.2026 by v1.250.3.") == ["2.300"]
    assert find_unclear_figures("It takes 2.300 t, 9,20 EUR and 1.5 h.") == ["2.300"]


@pytest.mark.slow
def test_a_figure_of_the_text_that_can_be_read_in_two_ways_is_said(tmp_path) -> None:
    (tmp_path / "salt.md").write_text("Depot South needs 2.300 t of salt, depot North 900 t.")
    console = Console(file=io.StringIO(), width=160)
    command = FormulateCommand(tmp_path / "salt.md", tmp_path / "out")
    formulate_file(command, console, Scripted(lambda request, number: "{}"))
    assert "the text writes 2.300, which can be read in two ways" in console.file.getvalue()


@pytest.mark.parametrize("value", [27.5, 2400, 12345.5, 1234567])
def test_figures_with_a_decimal_comma_and_points_for_thousands_are_read(value: float) -> None:
    text = "Extra hours cost 27,50 an hour, gas is 2.400 euro, the loan 12.345,50, turnover 1.234.567. Weeks 4,5,6."
    assert not find_foreign_figures({"x": {"Value": value}}, text, {})
    assert find_foreign_figures({"x": {"Value": 5.6}}, text, {})
