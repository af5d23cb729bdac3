"""What prompts say beside the task is the strategy's settings' choice, and alike for all strategies."""

import re

import pytest

from oragent.search.config import Blocks
from oragent.search.folder import RunFolder
from oragent.search.store import Store
from oragent.search.strategies import STRATEGIES, resolve_strategy
from oragent.search.strategy import Strategy
from tests.search.test_engine import search as run_engine
from tests.search.test_handing_on import Unique
from tests.search.test_rivals import search

PRIMITIVES = ["x * 71.5", "x + 72.5", "abs(x - 73.5)", "x ** 74.5", "max(x, 75.5)"]
NEW = {  # roles in which something new is asked for; an idea is carried out by or_agent's others
    "eoh": {"i1", "e1", "e2", "m1", "m2", "m3"},
    "funsearch": {"code"},
    "mcts_ahd": {"i1", "e1", "e2", "m1", "m2", "s1"},
    "or_agent": {"idea"},
    "random": {"i1"},
    "reevo": {"initial", "crossover", "mutation"},
}
SMALL = ("archive.population=4", "or_agent.initial_ideas=2", "or_agent.depth=1", "strategy.patience=60")
DEFAULTS = {
    "eoh": (Blocks.NONE, False), "funsearch": (Blocks.SOME, False), "gp": (Blocks.ALL, False),
    "mcts_ahd": (Blocks.NONE, False), "or_agent": (Blocks.SOME, True), "random": (Blocks.NONE, False),
    "reevo": (Blocks.NONE, False), "hill_climb": (Blocks.NONE, False), "one_shot": (Blocks.NONE, False), **dict.fromkeys(("ael", "levi", "tide"), (Blocks.NONE, False)), "portfolio": (Blocks.SOME, True),
}  # fmt: skip


@pytest.fixture
def hinting(begun, toy):
    def make(strategy: str, *settings: str) -> tuple[RunFolder, Unique]:
        yaml = toy / "problem.yaml"
        yaml.write_text(re.sub(r"primitives: .*", f"primitives: {PRIMITIVES}", yaml.read_text()))
        folder, model = begun(f"strategy.name={strategy}", "model.name=m", *SMALL, *settings), Unique()
        search(folder, model)
        return folder, model

    return make


def named(prompt: str) -> list[str]:
    return [block for block in PRIMITIVES if f"`{block}`" in prompt]


def prompts(model: Unique, roles: set[str]) -> list[str]:
    return [request.messages[-1].content for request, _ in model.asked if request.role in roles]


@pytest.mark.slow
@pytest.mark.parametrize("blocks", list(Blocks))
@pytest.mark.parametrize("strategy", sorted(NEW))
def test_blocks_are_named_alike_wherever_something_new_is_asked_for(hinting, strategy: str, blocks: Blocks) -> None:
    _, model = hinting(strategy, f"strategy.blocks={blocks}", "budget.evaluations=36")
    asked = prompts(model, NEW[strategy])
    assert {request.role for request, _ in model.asked} >= NEW[strategy] - {"s1", "mutation", "m3"}
    assert {len(named(prompt)) for prompt in asked} == {{"none": 0, "some": 3, "all": 5}[blocks]}
    assert bool(set().union(*map(named, asked))) == (blocks is not Blocks.NONE)
    if blocks is Blocks.SOME:  # drawn anew for each prompt
        assert len({tuple(named(prompt)) for prompt in asked}) > 1
    others = [
        request.messages[-1].content for request, _ in model.asked if request.role not in {*NEW[strategy], "repair"}
    ]
    assert not any("Building blocks" in prompt or named(prompt) for prompt in others)


@pytest.mark.slow
@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("strategy", sorted(NEW))
def test_bins_and_their_meanings_are_told_alike_with_the_programs_that_are_shown(hinting, strategy: str, told) -> None:
    _, model = hinting(strategy, f"strategy.features={told}", "budget.evaluations=36")
    for prompt in prompts(model, NEW[strategy] | {"experiment"}):
        shows = ", remainder bin " in prompt
        assert shows == (told and "score " in prompt)
        assert ("Bins of remainder: of the guess by seven." in prompt) == shows
    if not told:
        assert not any("remainder" in request.messages[-1].content for request, _ in model.asked)


@pytest.mark.slow
@pytest.mark.parametrize("blocks", list(Blocks))
def test_breeding_has_the_blocks_that_the_settings_leave_it(hinting, blocks: Blocks) -> None:
    folder, _ = hinting("gp", f"strategy.blocks={blocks}", "budget.evaluations=60")
    with Store(folder.database, readonly=True) as store:
        sources = "\n".join(record.source for record in store.records())
    assert any(f"7{number}.5" in sources for number in range(1, 6)) == (blocks is not Blocks.NONE)


def test_by_itself_each_strategy_has_what_the_docs_say(begun) -> None:
    assert set(DEFAULTS) == set(STRATEGIES)
    for name, (blocks, features) in DEFAULTS.items():
        kept = begun(f"strategy.name={name}", "model.name=m").config.strategy
        assert (kept.blocks, kept.features) == (blocks, features)


def test_a_strategy_of_ones_own_gets_what_it_asks_for_as_the_settings_say(begun) -> None:
    seen = []

    async def one_round(run) -> None:
        seen.append(run.blocks())

    run_engine(begun("strategy.patience=1"), Strategy(name="own", round=one_round, asks_model=False, window=1))
    run_engine(begun("strategy.patience=1", "strategy.blocks=none"), one_round)
    assert seen[0] == ("x * x",)
    assert seen[-1] == ()


def test_settling_keeps_what_was_chosen(begun) -> None:
    config = begun("strategy.name=eoh", "model.name=m", "strategy.blocks=some", "strategy.features=true").config
    again = resolve_strategy(config)
    assert (again.strategy.blocks, again.strategy.features) == (Blocks.SOME, True)


def test_a_run_that_was_begun_before_there_was_a_choice_keeps_its_strategys_own(begun) -> None:
    folder = begun("strategy.name=or_agent", "model.name=m", *SMALL, "budget.evaluations=8")
    config = folder.path / "config.yaml"
    lines = [line for line in config.read_text().split("\n") if not re.match(r"    (blocks|features): ", line)]
    config.write_text("\n".join(lines))
    from oragent.search.folder import reopen

    old = reopen(folder.path)
    assert (old.config.strategy.blocks, old.config.strategy.features) == (None, None)
    model = Unique()
    search(old, model)
    assert all("Building blocks that may help: `x * x`." in prompt for prompt in prompts(model, {"idea"}))
    assert any("remainder bin" in prompt for prompt in prompts(model, {"idea"}))
