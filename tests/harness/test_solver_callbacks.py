"""The example of a heuristic inside a solver: its page works, and failures in callbacks of native code are final."""

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oragent
from oragent.harness import number
from oragent._base.errors import CandidateError
from oragent._base.protocol import Status

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "solvers-in-problems.md"
RETURN = "return profits / weights.sum(axis=0)"


@pytest.fixture(scope="module")
def knapsacks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("knapsacks")
    for name, text in re.findall(
        r"`(\w+\.(?:py|yaml))`:\n\n```\w+\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    ):
        (folder / name).write_text(text)
    assert {path.name for path in folder.iterdir()} == {"problem.yaml", "heuristic.py", "eval.py"}
    return folder


def evaluate(folder: Path, body: str, mode: str = "train") -> Any:
    source = (folder / "heuristic.py").read_text()
    assert RETURN in source
    return oragent.evaluate(str(folder), source.replace(RETURN, body), mode=mode)


def test_its_profits_are_those_of_packings(knapsacks: Path) -> None:
    ended = evaluate(knapsacks, RETURN, mode="val")
    assert ended.status is Status.OK
    assert ended.metrics["heuristic_calls"] > 5
    assert ended.metrics["work"] > 0
    (profits,) = ended.metrics["by_instance"].values()
    for seed, profit in enumerate(profits):
        assert profit <= bound_profit(seed, 40)
        assert profit == round(profit)


def bound_profit(seed: int, size: int) -> float:
    """Return an upper bound on the profit: the best fractional packing of each knapsack alone."""
    rng = np.random.default_rng([seed, size])
    weights, profits = rng.integers(1, 60, (5, size)).astype(float), rng.integers(10, 99, size).astype(float)
    bounds = []
    for row, room in zip(weights, weights.sum(axis=1) // 3, strict=True):
        order = np.argsort(-profits / row)
        filled = np.minimum(np.maximum(room - np.concatenate([[0], np.cumsum(row[order])[:-1]]), 0) / row[order], 1)
        bounds.append(float(profits[order] @ filled))
    return min(bounds)


def test_the_function_matters(knapsacks: Path) -> None:
    good, bad = (evaluate(knapsacks, body).score for body in (RETURN, "return -profits"))
    assert good > bad


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ('raise RuntimeError("x")', Status.ERROR),
        ('return profits * float("nan")', Status.INVALID),
        ("return None", Status.INVALID),
        ("return profits[:3]", Status.INVALID),
        ("import os; os._exit(0)", Status.CRASHED),
    ],
)
def test_a_failure_in_a_callback_is_final(knapsacks: Path, body: str, status: Status) -> None:
    ended = evaluate(knapsacks, body)
    assert (ended.status, ended.score) == (status, None)


@pytest.mark.slow
def test_an_endless_loop_in_a_callback_ends_by_the_limit_of_the_function(knapsacks: Path) -> None:
    ended = evaluate(knapsacks, "while True: pass")
    assert ended.status is Status.TIMEOUT
    assert ended.cpu_s < 20


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.array(3), True])
def test_a_number_is_a_real_scalar(value: Any) -> None:
    assert number(value) == float(value)
    assert type(number(value)) is float


@pytest.mark.parametrize("value", [None, "3", float("nan"), float("inf"), [3], np.array([3]), 3j, {}])
def test_what_is_no_number_is_invalid(value: Any) -> None:
    with pytest.raises(CandidateError) as caught:
        number(value)
    assert caught.value.status is Status.INVALID


def test_a_number_is_within_its_bounds() -> None:
    for value, low, high in itertools.product((-1, 0, 1), repeat=3):
        if low <= value <= high:
            assert number(value, low, high) == value
        else:
            with pytest.raises(CandidateError):
                number(value, low, high)
