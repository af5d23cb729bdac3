"""Estimates of the spending of a search: roles by strategy, their models, and the tokens of the problem."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from oragent._base.budget import Budget
from oragent.llm.model import estimate_tokens
from oragent.llm.model_settings import ModelSettings
from oragent.llm.prices import Prices
from oragent.search import spending

BIG, SMALL, OTHER = (ModelSettings(name=name) for name in ("big", "small", "other"))


def test_each_role_has_its_model_and_repairs_that_of_the_programs() -> None:
    def name(role: str, **models: ModelSettings) -> str:
        config: Any = SimpleNamespace(model=BIG, models=models)
        model = spending._model_of(config, role)
        return "" if model is None else model.name

    assert [name(role) for role in ("code", "idea", "repair")] == ["big"] * 3
    assert [name(role, code=SMALL, idea=OTHER) for role in ("code", "idea", "repair", "reflect")] == [
        "small", "other", "small", "big"
    ]  # fmt: skip
    assert [name(role, repair=OTHER) for role in ("code", "repair")] == ["big", "other"]
    assert [name(role, repair=OTHER, code=SMALL) for role in ("code", "repair")] == ["small", "small"]


@pytest.mark.parametrize(
    ("settings", "profiles"),
    [
        (("strategy.name=eoh",), spending.PROFILES["eoh"]),
        (("strategy.name=or_agent",), None),
        (("strategy.name=or_agent", "or_agent.rounds=tree"), spending.TREE),
        (("strategy.name=agent", "strategy.options.command=c"), spending.DEFAULT),
    ],
)
def test_a_strategy_has_its_roles(begun, settings: tuple[str, ...], profiles: Any) -> None:
    config = begun("model.name=m", *settings).config
    rounds = getattr(getattr(config, "or_agent", None), "rounds", "")
    if profiles is None:
        profiles = spending.TREE if rounds == "tree" else spending.PROFILES["or_agent"]
    assert spending._list_profiles(config) == profiles


@pytest.mark.parametrize(
    ("calls", "evaluations", "mean"), [(10, 100, 5.0), (10, 4, 2.0), (1000, None, spending.UNBOUNDED / 2)]
)
def test_a_conversation_sends_its_past_with_each_call(begun, calls: int, evaluations: int | None, mean: float) -> None:
    folder = begun("model.name=m", "strategy.name=one_shot", f"strategy.options.calls={calls}")
    config = replace(folder.config, budget=Budget(evaluations=evaluations, seconds=9.0))
    code, repairs = spending._list_profiles(config)
    assert code == spending.RoleProfile("code", 1.0, 660 + mean * 780, 700)
    assert repairs == spending.REPAIRS


@pytest.mark.parametrize("long", [False, True])
def test_calls_are_planned_for_each_role_with_the_texts_of_the_problem(
    begun, monkeypatch: pytest.MonkeyPatch, long: bool
) -> None:
    folder = begun("model.name=m", "strategy.name=eoh", "budget.evaluations=50")
    seed = folder.problem.seed + ("# words\n" * 500 if long else "")
    problem = replace(folder.problem, knowledge="what is known " * 90, seed=seed)
    planned: list[Any] = []
    monkeypatch.setattr(spending, "price_calls", lambda calls, prices, budget: planned.append((calls, budget)))
    spending.estimate_search(folder.config, problem, Prices({}, ""))
    ((calls, budget),) = planned
    fixed = 150 + estimate_tokens(problem.brief + problem.documentation) + estimate_tokens(problem.knowledge)
    growth = max(1.0, estimate_tokens(seed) / spending.MEASURED_SEED)
    assert (growth > 1.0) == long
    model = folder.config.model
    assert calls == [profile.plan(model, 50, fixed, growth) for profile in spending.PROFILES["eoh"]]
    assert budget == folder.config.budget
    # Breeding needs no model.
    bred = begun("model.name=m", "strategy.name=gp")
    assert spending.estimate_search(bred.config, problem, Prices({}, "")) == spending.SpendingEstimate()
    assert len(planned) == 1
