"""Estimates before money is spent: calls, tokens and prices by role, and the question on a terminal."""

import json
from pathlib import Path

import pytest

from oragent._base.budget import Budget
from oragent._base.errors import ConfigError
from oragent.cli import spending
from oragent.evaluation.problem import load_problem
from oragent.llm.estimates import PlannedCalls, SpendingEstimate, add_estimates, price_calls
from oragent.llm.model_settings import ModelSettings
from oragent.llm.prices import Price, Prices
from oragent.search.config import build_config
from oragent.search.spending import estimate_search
from oragent.search.strategies import STRATEGIES

PRICES = Prices({"big": Price(**{"in": 10, "out": 30}), "small": Price(**{"in": 1, "out": 2})}, "2026-11-01")
BIG, SMALL = ModelSettings(name="big"), ModelSettings(name="small")
OPEN = Budget(evaluations=None)


def estimate(*planned: PlannedCalls, budget: Budget = OPEN) -> SpendingEstimate:
    return price_calls(planned, PRICES, budget)


def test_money_follows_from_calls_and_the_price_list_by_role() -> None:
    found = estimate(PlannedCalls("idea", BIG, 10, 1000, 100), PlannedCalls("code", SMALL, 100, 2000, 500))
    assert (found.calls, found.tokens) == (110, 10 * 1100 + 100 * 2500)
    # 10 x (1000 x 10 + 100 x 30) / 1e6 and 100 x (2000 x 1 + 500 x 2) / 1e6
    assert [role.money for role in found.roles] == pytest.approx([0.13, 0.3])
    assert found.money == pytest.approx(0.43)
    assert found.prices == "your price list, 2026-11-01"


@pytest.mark.parametrize(
    ("budget", "calls", "money"),
    [
        (Budget(model_calls=50), 50, 0.15),
        (Budget(tokens=25_000), 10, 0.03),
        (Budget(evaluations=None, money=0.1), 100, 0.1),
    ],
)
def test_bounds_limit_the_estimate(budget: Budget, calls: int, money: float) -> None:
    found = estimate(PlannedCalls("code", SMALL, 100, 2000, 500), budget=budget)
    assert found.calls == calls
    assert found.money == pytest.approx(money)


def test_the_longest_reply_limits_the_estimate() -> None:
    short = ModelSettings(name="small", max_tokens=100)
    assert estimate(PlannedCalls("code", short, 100, 2000, 500)).tokens == 100 * 2100


def test_unknown_prices_are_named_and_local_servers_and_stand_ins_are_free() -> None:
    away = ModelSettings(name="other", base_url="https://models.example.org/v1")
    found = estimate(PlannedCalls("code", away, 10, 1, 1))
    assert found.money is None
    assert found.is_paid
    assert "other is not known" in found.describe()
    near = ModelSettings(name="other", base_url="http://127.0.0.1:8000/v1")
    assert not estimate(PlannedCalls("code", near, 10, 1, 1)).is_paid
    for name in ("scripted", "oracle", "my_function()"):
        assert estimate(PlannedCalls("code", ModelSettings(name=name), 10, 1, 1)).roles == ()
    assert estimate(PlannedCalls("code", ModelSettings(command="my-agent"), 10, 1, 1)).roles == ()


def test_estimates_of_runs_are_added_by_role(tmp_path: Path) -> None:
    one = estimate(PlannedCalls("code", SMALL, 100, 2000, 500), budget=Budget(evaluations=None, money=0.2))
    both = add_estimates([one, one, SpendingEstimate()])
    assert (both.calls, both.runs, len(both.roles)) == (200, 2, 1)
    assert both.money == pytest.approx(0.4)
    both.write(tmp_path)
    tree = json.loads((tmp_path / "estimate.json").read_text())
    assert tree["roles"][0]["price_out"] == 2
    assert tree["money"] == pytest.approx(0.4)


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_every_strategy_has_an_estimate_that_grows_with_the_budget(toy: Path, strategy: str) -> None:
    def money(evaluations: int) -> float:
        words = [f"strategy.name={strategy}", "model.name=big", f"budget.evaluations={evaluations}"]
        return estimate_search(build_config({}, words, "test"), load_problem(toy), PRICES).money or 0.0

    if strategy == "gp":
        assert money(100) == 0
    else:
        assert 0 < money(10) < money(100) / 5


def test_roles_have_the_prices_of_their_own_models(toy: Path) -> None:
    words = ["strategy.name=or_agent", "model.name=small", "models={idea: {name: big}}", "budget.evaluations=100"]
    found = estimate_search(build_config({}, words, "test"), load_problem(toy), PRICES)
    assert {role.role: (role.model, role.price_in) for role in found.roles}["idea"] == ("big", 10)
    assert {role.role: (role.model, role.price_in) for role in found.roles}["code"] == ("small", 1)


@pytest.mark.parametrize(
    ("terminal", "yes", "limit", "asked"),
    [(True, False, 0.1, True), (True, True, 0.1, False), (True, False, 1.0, False), (False, False, 0.1, False)],
)
def test_a_terminal_is_asked_above_the_limit(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, yes: bool, limit: float, asked: bool
) -> None:
    questions = []
    monkeypatch.setattr(spending.sys.stdin, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(spending.sys.stdout, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(spending.typer, "confirm", lambda text: questions.append(text))
    found = estimate(PlannedCalls("code", SMALL, 100, 2000, 500))
    if asked:
        with pytest.raises(ConfigError, match="--yes"):
            spending.confirm_spending(found, limit, yes=yes)
    else:
        spending.confirm_spending(found, limit, yes=yes)
    assert bool(questions) == asked


def test_lines_of_an_estimate_fit_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    found = estimate(*(PlannedCalls(role, BIG, 12_000, 20_000, 5_000) for role in ("experiments", "idea")))
    spending.confirm_spending(found, 1.0, yes=True)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(any(role in line for line in lines) for role in ("experiments", "idea"))
