"""The default method: two calls if they agree, revisions if they do not, a review on request."""

import asyncio
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from oragent._base.budget import Budget
from oragent._base.errors import ConfigError
from oragent.formulate.command import formulate_file
from oragent.formulate.formulation import FormulationResult, formulate_case
from oragent.formulate.options import FormulateCommand, choose_options
from oragent.formulate.problem import ProblemText
from oragent.formulate.running import FormulationRunner
from oragent.formulate.verdicts import Verdict
from oragent.ledger import Study
from oragent.llm.callable import Scripted
from oragent.llm.model import Request
from tests.formulate import pharmacy, transport

FACTS = {"OBJECTIVE": "minimize: medicine", "UNIT": "units", "VARIABLES": ["painkillers: pills, pills, integer, >= 0"]}


def formulate(folder: Path, runner: FormulationRunner, model: Scripted, problem: ProblemText, **options: object):
    async def work(case):
        return (await formulate_case(case, problem, choose_options("default", **options), runner)).to_plain()

    with Study(folder, {"": model}, Budget(evaluations=None)) as study:
        (finished,) = asyncio.run(study.run_cases(["case"], work))
    return FormulationResult.from_plain(finished.result)


def replies(program: str, checker: str, revised: str = "", facts: dict | None = None):
    def reply(request: Request, number: int) -> str:
        if request.role == "program":
            return f"```json\n{json.dumps(facts or {})}\n```\n```python\n{program}\n```"
        if request.role == "review":
            return '["A third of the pills is left over."]'
        return f"```python\n{checker if request.role == 'counterfactual' else revised or program}\n```"

    return reply


def test_two_calls_are_enough_if_program_and_checker_agree(runner: FormulationRunner, tmp_path: Path) -> None:
    model = Scripted(replies(pharmacy.RIGHT, pharmacy.CHECKER, facts=FACTS))
    found = formulate(tmp_path, runner, model, ProblemText("pharmacy", pharmacy.TEXT))
    assert (model.calls, found.objective, found.judgement.verdict) == (2, 735.0, Verdict.CHECKED)
    assert [entry.parsed["UNIT"] for entry in found.pool if entry.module == "formalization"] == ["units"]
    # The replies of both authors are kept, with their tokens, and the facts between them.
    assert [entry.module for entry in found.pool] == ["program", "formalization", "counterfactual"]
    assert [entry.author for entry in found.pool] == ["model"] * 3
    assert [attempt["number"] for attempt in found.attempts] == [0]
    assert found.spent.model_calls == 2
    assert [aim.unit for aim in found.aims] == ["units"]


def test_a_misread_row_costs_one_call_more_and_is_corrected(runner: FormulationRunner, tmp_path: Path) -> None:
    model = Scripted(replies(pharmacy.WRONG, pharmacy.CHECKER, pharmacy.RIGHT))
    found = formulate(tmp_path, runner, model, ProblemText("pharmacy", pharmacy.TEXT))
    assert (model.calls, found.objective, found.judgement.verdict) == (3, 735.0, Verdict.CHECKED)
    assert (found.kept, [attempt["objective"] for attempt in found.attempts]) == (1, [150.0, 735.0])
    assert [attempt["origin"] for attempt in found.attempts] == ["program", "supervisor_backward"]
    assert found.attempts[0]["checks"]["state"] == "failed"
    assert found.program.strip() == pharmacy.RIGHT.strip()


@pytest.mark.slow
def test_a_disagreement_on_changed_figures_is_feedback_and_part_of_the_verdict(runner, tmp_path: Path) -> None:
    """A program with one figure written out is right for the data at hand and wrong for others."""
    data = transport.data()
    most = max(row["demand t"] for row in data["customers"])
    fixed = transport.PROGRAM.replace(
        '>= row["demand t"]', f'>= (row["demand t"] if row["demand t"] < {most} else {most})'
    )
    problem = ProblemText("sugar", transport.TEXT, data)
    model = Scripted(replies(fixed, transport.CHECKER))
    kept = formulate(tmp_path / "kept", runner, model, problem, metamorphic=True)
    assert kept.judgement.verdict is Verdict.CONTRADICTED
    assert model.calls > 2
    model = Scripted(replies(fixed, transport.CHECKER, transport.PROGRAM))
    revised = formulate(tmp_path / "revised", runner, model, problem, metamorphic=True)
    assert (revised.judgement.verdict, model.calls) == (Verdict.CHECKED, 3)


def test_standard_can_be_checked_and_a_plan_reviewed(runner: FormulationRunner, tmp_path: Path) -> None:
    model = Scripted(replies(pharmacy.WRONG, pharmacy.CHECKER))
    problem = ProblemText("pharmacy", pharmacy.TEXT)
    found = formulate(tmp_path / "checked", runner, model, problem, method="standard", check_answer=True)
    assert (model.calls, found.judgement.verdict) == (2, Verdict.CONTRADICTED)
    alone = formulate(tmp_path / "alone", runner, Scripted(replies(pharmacy.WRONG, "")), problem, method="standard")
    assert alone.judgement.verdict is Verdict.UNCHECKED
    model = Scripted(replies(pharmacy.RIGHT, pharmacy.CHECKER))
    reviewed = formulate(tmp_path / "reviewed", runner, model, problem, review=True)
    assert (model.calls, reviewed.remarks) == (3, ("A third of the pills is left over.",))


@pytest.mark.slow
def test_a_person_clarifies_the_text_before_solving_and_the_replay_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "pharmacy.md").write_text(pharmacy.TEXT)
    prompts: list[str] = []

    def reply(request: Request, number: int) -> str:
        prompts.append(request.messages[0].content)
        if request.role == "program":
            return f"```json\n{json.dumps(FACTS)}\n```\n```python\n{pharmacy.RIGHT}\n```"
        return f"```python\n{pharmacy.CHECKER}\n```"

    console = Console(file=io.StringIO(), width=160)
    command = FormulateCommand(tmp_path / "pharmacy.md", tmp_path / "out", interactive=True)
    assert formulate_file(command, console, Scripted(reply), lambda question: "Pills are whole.") == 0
    assert FACTS["OBJECTIVE"] in console.file.getvalue()
    assert ["Clarification: Pills are whole." in prompt for prompt in prompts] == [False, True, True]
    (folder,) = (tmp_path / "out" / "pharmacy").iterdir()
    again = FormulateCommand(None, tmp_path / "again", replay=folder)
    assert formulate_file(again, console) == 0
    with pytest.raises(ConfigError):
        formulate_file(replace(again, interactive=True), console)
