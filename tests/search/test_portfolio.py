"""The portfolio: who plays when, who is pruned, and that a run of it goes on as if it had not been killed."""

import json
import math

import pytest

from oragent._base.errors import ConfigError
from oragent.llm.factory import Ensemble
from oragent.llm.model import Reply, Request
from oragent.search.genetics.variation import breed_child
from oragent.search.store import Store
from oragent.search.strategies.portfolio import LEFT, PLAYED, MemberGain, PortfolioSettings, better_half
from oragent.search.strategies.scripted import make_player
from tests.search.players import search

SETTINGS = (
    "strategy.name=portfolio", "model.name=scripted", "budget.evaluations=48", "strategy.patience=20",
    "or_agent.tuning_evaluations=4", "strategy.options.members=[or_agent, eoh, reevo, gp]",
)  # fmt: skip


def facts(folder) -> list[tuple]:
    with Store(folder.database, readonly=True) as store:
        return [(one.id, one.source, one.candidate.parents, one.score, one.placed) for one in store.records()]


def notes(folder, kind: str) -> list[str]:
    with Store(folder.database, readonly=True) as store:
        return [note.text for note in store.notes() if note.kind == kind]


@pytest.mark.slow
def test_all_begin_and_the_better_half_goes_on(begun) -> None:
    folder = begun(*SETTINGS)
    search(folder, make_player(3, breed_child))
    played, left = notes(folder, PLAYED), [json.loads(text) for text in notes(folder, LEFT)]
    assert set(played) == {"or_agent", "eoh", "reevo", "gp"}
    first = dict(reversed(left))  # of rounds in flight at once, the first one decides
    assert sorted(first) == [1, 2, 3]
    sizes = [len(first[stage]) for stage in (1, 2, 3)]
    assert sizes == sorted(sizes, reverse=True)
    assert set(first[2]) <= set(first[1])
    assert played[-1] in first[3]


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(begun) -> None:
    whole = begun(*SETTINGS)
    search(whole, make_player(3, breed_child))
    parts = begun(*SETTINGS)
    told: list[int] = []

    def built(engine) -> None:
        def stopping(progress) -> None:
            told.append(progress.spent.evaluations)
            if len(told) == 5:
                engine.stop("for a test")

        engine._observer = stopping

    search(parts, make_player(3, breed_child), built=built)
    search(parts, make_player(3, breed_child))
    assert facts(parts) == facts(whole)


@pytest.mark.parametrize(
    "members", [["gp"], ["gp", "gp"], ["gp", "nobody"], ["eoh@a", "eoh"], ["eoh@a", "eoh@a"], ["none@a", "eoh@b"]]
)
def test_members_must_be_several_strategies_or_models(members: list[str]) -> None:
    with pytest.raises((ConfigError, ValueError)):
        PortfolioSettings(members=tuple(members))


class Named:
    """A model that notes which calls it got."""

    def __init__(self, seed: int) -> None:
        self.player, self.keys = make_player(seed, breed_child), []

    async def __call__(self, request):
        self.keys.append(request.key)
        return await self.player(request)


@pytest.mark.slow
def test_a_strategy_may_play_with_several_models_each_of_which_answers_its_own_rounds(begun) -> None:
    settings = (
        "strategy.name=portfolio", "model.name=one", "ensemble=[{name: two}]", "budget.evaluations=24",
        "strategy.options.members=[eoh@one, eoh@two]",
    )  # fmt: skip
    folder, one, two = begun(*settings), Named(1), Named(2)
    search(folder, Ensemble([one, two]))
    with Store(folder.database, readonly=True) as store:
        played = {str(note.round): note.text for note in store.notes() if note.kind == PLAYED}
    for model, name in ((one, "eoh@one"), (two, "eoh@two")):
        assert model.keys
        assert {played.get(key.partition(".")[0], name) for key in model.keys} == {name}
    unknown = begun(*settings[:-1], "strategy.options.members=[eoh@one, eoh@three]")
    with pytest.raises(ConfigError):
        search(unknown, Ensemble([Named(1), Named(2)]))


def test_a_member_within_the_noise_of_the_better_half_stays() -> None:
    gained = {"a": MemberGain(0.030, 0.01), "b": MemberGain(0.024, 0.01), "c": MemberGain(0.0, 0.001)}
    assert better_half(["a", "c", "b"], gained) == ["a", "b"]
    close = {"a": MemberGain(0.030, 0.01), "b": MemberGain(0.024, 0.01)}
    assert better_half(["a", "b"], close) == ["a", "b"]  # 0.006 apart, and the noise is more
    assert better_half(["a", "b"], {**close, "b": MemberGain(0.0, 0.01)}) == ["a"]
    assert better_half(["a", "b"], {**close, "b": MemberGain(0.0, math.inf)}) == ["a", "b"]  # too few rounds


def test_members_of_a_shared_run_begin_from_its_archive_and_see_the_best_program(begun) -> None:
    prompts: list[str] = []

    async def write(request: Request) -> Reply:
        prompts.append(request.messages[-1].content)
        number = len(prompts)
        text = f"{{Take {number}.}}\n```python\ndef guess(x):\n    return 60 + {number} / 7\n```"
        return Reply(text, model="m", tokens_in=1, tokens_out=1, money=0.0, seconds=0.0)

    members = "strategy.options.members=[eoh, reevo]"
    folder = begun("strategy.name=portfolio", "model.name=m", "budget.evaluations=8", "strategy.window=1", members)
    search(folder, write)
    assert not any("There is no earlier program" in prompt for prompt in prompts)
    asked = [prompt for prompt in prompts[1:] if "Answer with one fenced" in prompt]
    assert asked
    assert all("Where the search stands" in prompt for prompt in asked)
    assert "return 60 + 1 / 7" in asked[0]
