"""Every search has an end that can come, and the hint that goes on with it does go on."""

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.budget import Budget, Spent
from oragent._base.errors import ConfigError
from oragent.search.checks import IDLE, expect_an_end, way_on
from oragent.search.config import read_config
from oragent.search.folder import reopen, repeat_command
from oragent.search.strategies import choose_strategy
from tests.search.test_engine import search

ROOT = Path(__file__).parents[2]


def ends(*settings: str, root: Path = ROOT) -> None:
    config = read_config(None, settings)
    expect_an_end(config, choose_strategy(config), root)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (["budget.money=2"], "budget.money would never end this search, as strategy 'gp' asks no model"),
        (["budget.tokens=9", "budget.model_calls=9"], "budget.model_calls would never end this search"),
        (["budget.money=2", "model.name=homemade"], "as the price of homemade is not known (configs/prices.yaml)"),
    ],
)
def test_a_budget_that_cannot_end_a_search_is_one_line(settings: list[str], why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ends(*settings)
    assert why in str(caught.value)
    assert str(caught.value).endswith("name --evaluations too")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "settings",
    [
        [],
        ["budget.seconds=3"],
        ["budget.evaluations=null"],  # until Ctrl-C
        ["budget.money=2", "budget.evaluations=9"],
        ["budget.money=2", "model.name=gpt-4.1-mini"],
        ["budget.tokens=9", "model.name=homemade"],
    ],
)
def test_a_budget_that_can_end_it_passes(settings: list[str]) -> None:
    ends(*settings)


@given(
    st.integers(1, 10**7), st.integers(0, 10**8),
    st.floats(0.01, 1e6), st.floats(0, 1e7),
)  # fmt: skip
def test_the_way_on_raises_every_bound_that_is_used_up(bound: int, used: int, money: float, paid: float) -> None:
    budget, spent = Budget(evaluations=bound, money=money), Spent(evaluations=used, money=paid)
    words = shlex.split(way_on(Path("a run"), budget, spent, "it ended", "toy"))
    assert words[:3] == ["oragent", "resume", "a run"]
    raised = read_config(None, [f"budget.evaluations={bound}", f"budget.money={money!r}", *words[3:]]).budget
    assert raised.name_reached_bound(spent) is None
    assert len(words) - 3 == (used >= bound) + (paid >= money)


def test_the_way_on_goes_on(begun) -> None:
    folder = begun("budget.evaluations=7")
    outcome = search(folder)
    words = shlex.split(way_on(folder.path, folder.config.budget, outcome.progress.spent, outcome.reason, folder.again))
    assert words == ["oragent", "resume", str(folder.path), "budget.evaluations=14"]
    assert search(reopen(folder.path)).progress.spent.evaluations == 7  # without the setting, nothing
    assert search(reopen(folder.path, words[3:])).progress.spent.evaluations == 14


def test_a_search_that_finds_nothing_new_is_begun_anew_and_not_resumed(begun) -> None:
    folder = begun("budget.evaluations=100", "strategy.patience=2")

    async def same(run) -> None:
        await run.evaluate(folder.problem.seed, (), "same")

    outcome = search(folder, same)
    assert outcome.reason.startswith(IDLE)
    line = way_on(folder.path, folder.config.budget, outcome.progress.spent, outcome.reason, folder.again)
    assert shlex.split(line, comments=True) == ["oragent", "run", "toy", "--seed", "1"]
    assert "finds nothing new" in line


def test_another_search_keeps_strategy_and_model() -> None:
    settings = {"strategy": {"name": "eoh"}, "model": {"name": "a b"}, "seed": 4}
    assert repeat_command("toy", settings) == "toy --strategy eoh --model 'a b' --seed 5"
    assert repeat_command("toy", {"strategy": {"name": "auto"}, "model": None}) == "toy --seed 1"
