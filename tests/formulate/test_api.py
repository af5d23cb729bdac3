"""Formulation from Python, with a function as the model; and what the evaluator of programs does not import."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from oragent._base.errors import ConfigError, ModelError
from oragent.formulate.api import formulate
from oragent.llm.callable import Scripted
from tests.formulate import pharmacy
from tests.formulate.pharmacy import speaks

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


@pytest.mark.slow
def test_the_process_around_a_program_knows_no_model_and_no_ledger() -> None:
    code = (
        "import sys, oragent.formulate.evaluator; print(sorted(n for n in sys.modules if n.startswith(('oragent.llm', "
        "'oragent.ledger', 'oragent.search', 'oragent.evals', 'oragent.modelling.operations', 'oragent.modelling.opening', "
        "'oragent.modelling.capture.program', 'openai'))))"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert ended.stdout.strip() == "[]", ended.stderr
