"""Prompts of strong models show arguments in numbers and the speed of a core."""

import contextlib
import io
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from oragent.evaluation import Evaluation, Job
from oragent.search.core_speed import describe_core_speed
from oragent.search.prompting.example_call import BEGIN, END, MAX_CHARACTERS, printing_copy
from oragent.search.store import CORE, Store
from tests.search.players import Players, guess, search
from tests.search.test_engine import scored

ACTIONS = "model.name=m", "or_agent.rounds=actions", "strategy.tuning=0", "budget.model_calls=1"
OFFERS = frozenset(["--instances"])


def printed_by(source: str, function: str, calls: int, *args: Any) -> tuple[str, list[Any]]:
    names: dict[str, Any] = {}
    exec(printing_copy(source, function), names)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        results = [names[function](*args) for _ in range(calls)]
    return out.getvalue(), results


def test_the_first_and_a_later_call_are_printed_and_results_stay() -> None:
    source = "def f(weights, *, limit=2):\n    return limit * weights.sum()\n"
    text, results = printed_by(source, "f", 40, np.arange(3.0))
    assert results == [6.0] * 40
    assert text.count(BEGIN) == text.count(END) == 2
    assert "weights = ndarray of shape (3,):\n[0. 1. 2.]" in text


@pytest.mark.parametrize("value", [np.zeros((500, 500)), list(range(10_000)), {"a": "b" * 9999}, {1, 2}, None, "x"])
def test_arguments_of_any_size_are_short(value: object) -> None:
    text, _ = printed_by("def f(x):\n    return 1\n", "f", 1, value)
    assert len(text) < MAX_CHARACTERS
    assert "x = " in text


def test_the_prompts_of_actions_have_them_for_every_model(begun) -> None:
    def run(job: Job) -> Evaluation:
        if BEGIN in job.source:
            assert job.mode == "train"
            return replace(scored(job), log=f"{BEGIN}first call:\nx = 7\n{END}\n")
        return scored(job)

    def first_prompt(style: str) -> str:
        folder = begun(*ACTIONS, f"model.style={style}")
        with Store(folder.database) as store:
            store.note(CORE, "A core is slow.")
        about = replace(folder.problem.about, sizes={"train": [20], "val": [20]})
        model = Players(idea=guess(40))
        search(replace(folder, problem=replace(folder.problem, about=about)), model, run=run, offers=OFFERS)
        return model.asked[0][1]

    strong = first_prompt("strong")
    assert "x = 7" in strong
    assert strong.startswith("A core is slow.")
    assert "x = 7" in first_prompt("small")


def test_the_speed_of_a_core_is_two_rough_positive_numbers() -> None:
    numbers = [float(number) for number in re.findall(r"(\d+) million", describe_core_speed())]
    assert len(numbers) == 2
    assert min(numbers) >= 1
