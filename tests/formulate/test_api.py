"""Formulation from Python, with a function as the model; and what the evaluator of programs does not import."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from oragent._base.budget import Budget
from oragent._base.errors import ConfigError, ModelError
from oragent.formulate import api
from oragent.formulate.api import formulate
from oragent.formulate.folder import FormulationEnd, FormulationRequest
from oragent.formulate.problem import ProgramInterface
from oragent.formulate.running import Bounds
from oragent.llm.callable import Scripted
from tests.formulate import pharmacy
from tests.formulate.pharmacy import speaks
from tests.formulate.results import BAKERY, STORY, result_of

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_function_is_a_model(tmp_path: Path) -> None:
    found = formulate(pharmacy.TEXT, model=speaks, name="pharmacy", folder=tmp_path)
    assert (found.objective, found.answer, found.spent.model_calls) == (735.0, True, 3)
    assert found.milp is not None
    assert "LpProblem" in found.program
    (folder,) = (tmp_path / "pharmacy").iterdir()
    formulate(pharmacy.TEXT, model=speaks, name="../../up and away", folder=tmp_path)
    assert (tmp_path / "up-and-away").is_dir()
    again = formulate(pharmacy.TEXT, name="pharmacy", replay=folder)
    assert again.program == found.program


@pytest.mark.slow
def test_it_works_inside_of_a_loop_and_with_a_model_of_ours() -> None:
    async def within() -> float | None:
        return formulate(pharmacy.TEXT, model=Scripted(pharmacy.reply), preset="paper").objective

    assert asyncio.run(within()) == 735.0


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ({"model": speaks, "metod": "cot"}, ConfigError, "did you mean 'method'"),
        ({"model": speaks, "method": "coty"}, ConfigError, "did you mean 'cot'"),
        ({"model": speaks, "data": "products.csv"}, ConfigError, "type str"),
        ({"model": 5}, ModelError, "function of messages"),
        ({}, ConfigError, "needs a language model"),
        ({"model": lambda messages: 1 / 0}, ModelError, "ZeroDivisionError"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(given, error, told: str) -> None:
    with pytest.raises(error, match=told):
        formulate(pharmacy.TEXT, **given)


class Recorded:
    """Stands for a run: it records its arguments and ends with a result."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, end: FormulationEnd) -> None:
        self.end, self.folder, self.words = end, Path(), dict[str, Any]()
        monkeypatch.setattr(api, "run_formulation", self)

    def __call__(self, folder: Any, request: FormulationRequest, **words: Any) -> FormulationEnd:
        self.folder = folder()
        assert self.folder.is_dir()
        self.words = {"request": request, **words}
        return self.end


RESULT = result_of(BAKERY)


def test_arguments_reach_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Recorded(monkeypatch, FormulationEnd(RESULT))
    settings = {"model": {"name": "m", "base_url": "http://localhost/v1"}, "budget": {"money": 2}}
    bounds, interface = Bounds(3.0), ProgramInterface("plan", ("data",), "def plan(data): ...")
    found = formulate(
        STORY, {"flour": 21}, name="bread", interface=interface, preset="paper", folder=tmp_path / "out", replay=tmp_path, bounds=bounds,
        settings=settings, gap=0.25,
    )  # fmt: skip
    assert found is RESULT
    assert run.folder.parent == tmp_path / "out" / "bread"
    request = run.words.pop("request")
    assert run.words == {"model": None, "replay": tmp_path, "fresh": True, "bounds": bounds}
    assert (request.problem.text, request.problem.data, request.problem.interface) == (STORY, {"flour": 21}, interface)
    assert (request.options.method, request.options.gap) == ("ormind", 0.25)
    assert (request.runtime.model_name, request.runtime.budget.money) == ("m", 2.0)
    # Without a folder nothing is left, and the name is that of the text.
    formulate("# Loaves of rye\n\nBake.", None, "some-model", budget=Budget(tokens=7))
    assert not run.folder.exists()
    request = run.words.pop("request")
    assert request.runtime.model_name == "some-model"
    assert (request.runtime.budget.tokens, request.problem.name, request.problem.data) == (7, "loaves-rye", {})
    assert run.words == {"model": None, "replay": None, "fresh": True, "bounds": None}
    # A replay alone asks nobody.
    formulate(STORY, replay=tmp_path)
    assert run.words["fresh"] is False
    assert run.words["request"].runtime.model is None
    model = Scripted(["a"])
    formulate(STORY, model=model)
    assert (run.words["model"], run.words["fresh"]) == (model, True)
    formulate(STORY, model=speaks)
    assert run.words["model"] is not speaks
    assert callable(run.words["model"])


def test_a_run_without_a_result_is_an_error_and_a_loop_is_no_hindrance(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Recorded(monkeypatch, FormulationEnd(None, reason="the budget is spent"))
    with pytest.raises(ModelError):
        formulate(STORY, model="m")
    run.end = FormulationEnd(RESULT)

    async def within() -> object:
        return formulate(STORY, model="m")

    assert asyncio.run(within()) is RESULT


@pytest.mark.slow
def test_the_process_around_a_program_knows_no_model_and_no_ledger() -> None:
    code = (
        "import sys, oragent.formulate.evaluator; print(sorted(n for n in sys.modules if n.startswith(('oragent.llm', "
        "'oragent.ledger', 'oragent.search', 'oragent.evals', 'oragent.modelling.operations', 'oragent.modelling.opening', "
        "'oragent.modelling.capture.program', 'openai'))))"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert ended.stdout.strip() == "[]", ended.stderr
