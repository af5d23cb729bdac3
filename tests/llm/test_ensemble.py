"""Several models behind one, chosen by what they gain for what they cost."""

import asyncio
import random
from dataclasses import replace

import pytest

from oragent.llm.callable import Scripted
from oragent.llm.factory import Ensemble, EnsembleArm, choose_arm
from oragent.llm.model import Message, Request

ASK = (Message("user", "?"),)


def ensemble(*names: str) -> Ensemble:
    return Ensemble([Scripted([name]) for name in names])


def answer(models: Ensemble, round_number: int, call: int = 0) -> str:
    return asyncio.run(models(Request("code", ASK, key=f"{round_number}.0.1/{call}"))).text


def play(
    rewards: list[float], costs: list[float], budget: float, seed: int, flying: int = 1
) -> tuple[list[int], float]:
    """Spend a budget on Bernoulli arms; returns how often each was drawn, and what it all gained."""
    models, rng = ensemble(*map(str, range(len(rewards)))), random.Random(seed)
    counts, gained, number = [0] * len(rewards), 0.0, 0
    begun: list[tuple[int, int]] = []
    while budget > 0:
        while len(begun) < flying:
            before = models.arms
            models.begin_round(number)
            (place,) = (at for at, arm in enumerate(models.arms) if arm.rounds > before[at].rounds)
            begun.append((number, place))
            number += 1
        settled, arm = begun.pop(0)
        won = float(rng.random() < rewards[arm])
        counts[arm] += 1
        gained += won
        budget -= costs[arm]
        models.settle_round(settled, won, costs[arm], 100)
    return counts, gained


@pytest.mark.parametrize("flying", [1, 4])
@pytest.mark.parametrize(
    ("rewards", "costs", "best"),
    [([0.2, 0.6, 0.3], [1.0, 1.0, 1.0], 1), ([0.6, 0.5], [4.0, 1.0], 1), ([0.3, 0.9, 0.1], [1.0, 1.0, 0.5], 1)],
)
def test_most_of_the_budget_goes_to_what_gains_most_for_its_cost(rewards, costs, best: int, flying: int) -> None:
    counts, _ = play(rewards, costs, 600.0, seed=1, flying=flying)
    assert counts[best] == max(counts)
    assert counts[best] * costs[best] > 0.6 * 600


def test_regret_for_what_was_spent_falls_as_the_budget_grows() -> None:
    rewards, costs = [0.15, 0.55, 0.35], [1.0, 1.0, 2.0]

    def regret(budget: float) -> float:
        gains = [play(rewards, costs, budget, seed)[1] for seed in range(5)]
        return (0.55 * budget - sum(gains) / 5) / budget

    early, late = regret(60.0), regret(1500.0)
    assert late < early / 1.5
    assert late < 0.5 * (0.55 - (0.15 + 0.55 + 0.35) / 4)  # half of what drawing them in turn would lose


def test_every_model_is_tried_first_and_while_nothing_has_come_back_they_take_turns() -> None:
    models = ensemble("a", "b", "c")
    for number in range(6):
        models.begin_round(number)
    assert [answer(models, number) for number in range(6)] == ["a", "b", "c", "a", "b", "c"]


def test_all_calls_of_a_round_go_to_one_model_whatever_comes_back_meanwhile() -> None:
    models = ensemble("a", "b")
    for number in (1, 2):
        models.begin_round(number)
    models.settle_round(1, 1.0, 0.0, 10)
    assert [answer(models, 2, call) for call in range(3)] == ["b", "b", "b"]


def test_a_round_that_asked_nothing_tells_nothing_about_its_model() -> None:
    models = ensemble("a", "b")
    models.begin_round(0)
    models.settle_round(0, 0.0, 0.0, 0)
    assert models.arms == (EnsembleArm(), EnsembleArm())


def test_a_useless_model_is_left_alone_however_cheap_it_is() -> None:
    counts, _ = play([0.0, 0.3], [0.01, 1.0], 60.0, seed=2)
    assert counts[0] < counts[1] / 2


def test_where_nothing_gains_all_are_tried_alike() -> None:
    counts, _ = play([0.0, 0.0], [0.5, 1.0], 60.0, seed=2)
    assert abs(counts[0] - counts[1]) <= 1


def test_tokens_are_the_cost_where_a_price_is_missing() -> None:
    half_known = [EnsembleArm(50, 50, 20.0, 20.0, 0.0, 50.0), EnsembleArm(50, 50, 20.0, 20.0, 5.0, 5000.0)]
    assert choose_arm(half_known) == 0
    priced = [EnsembleArm(50, 50, 20.0, 20.0, 50.0, 50.0), EnsembleArm(50, 50, 20.0, 20.0, 5.0, 5000.0)]
    assert choose_arm(priced) == 1


def test_a_prompt_of_no_round_goes_to_the_best_so_far() -> None:
    models = ensemble("a", "b")
    for number, reward in enumerate([0.0, 1.0] * 40):
        models._rounds_in_flight[number] = number % 2
        models._arms[number % 2] = replace(models._arms[number % 2], rounds=number // 2 + 1)
        models.settle_round(number, reward, 0.0, 10)
    assert asyncio.run(models(Request("code", ASK))).text == "b"


def test_an_ensemble_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        Ensemble([])
