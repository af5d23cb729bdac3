"""TIDE: its bandit, its islands, its tuner, and what its prompts show."""

import json
import math
import random
from dataclasses import asdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.budget import Spent
from oragent.search.archive import Archive
from oragent.search.candidate import Committed
from oragent.search.round_context import RoundContext
from oragent.search.run_context import RunContext
from oragent.search.store import RoundNote, Store
from oragent.search.strategies import STRATEGIES
from oragent.search.strategies.constants import Constant
from oragent.search.strategies.tide import (
    EVENT,
    BanditArm,
    IslandEvent,
    choose_operator,
    mean_likeness,
    relative_gain,
    replay_islands,
)
from oragent.search.strategies.tuning import CROSSOVER, EVOLVED, FACTOR, Box, make_trial
from tests.search.test_engine import scored
from tests.search.test_funsearch import record
from tests.search.test_rivals import records, search, settings
from tests.search.writer import Writer


def opened(begun, history: list[Committed], events: dict[int, IslandEvent]) -> RoundContext:
    folder = begun("strategy.name=tide", "model.name=m", "archive.islands=2")
    own = STRATEGIES["tide"].own(folder.config)
    context = RunContext(folder.problem, folder.config, own, None, None, None, lambda: 0.0)
    context.history.extend([one] for one in history)
    return RoundContext.opened(
        context, len(history), archive=Archive("minimize", 2), rng=np.random.default_rng(0), allowance=Spent(),
        horizon=len(history) - 1, island=0,
        memory=[RoundNote(number, EVENT, json.dumps(asdict(event))) for number, event in events.items()],
    )  # fmt: skip


def names(members: list[Committed]) -> list[str]:
    return [one.id for one in members]


@given(st.lists(st.tuples(st.integers(1, 20), st.floats(0, 1)), min_size=2, max_size=5), st.integers(0, 99))
def test_the_bandit_takes_the_highest_bound_and_first_of_all_what_nobody_has_tried(given_arms, turn: int) -> None:
    arms = {f"m{place}": BanditArm(plays, plays * mean) for place, (plays, mean) in enumerate(given_arms)}
    total = sum(plays for plays, _ in given_arms)
    bounds = [mean + 2**0.5 * math.sqrt(2 * math.log(total) / plays) for plays, mean in given_arms]
    assert bounds[int(choose_operator(arms, 2**0.5, turn)[1:])] == pytest.approx(max(bounds))
    assert choose_operator(arms | {"new": BanditArm()}, 2**0.5, turn) == "new"


def test_a_gain_is_a_share_of_the_best_and_never_negative() -> None:
    assert relative_gain(-9.0, -10.0) == pytest.approx(0.1)
    assert relative_gain(-11.0, -10.0) == relative_gain(-math.inf, -10.0) == 0.0


def test_islands_arms_and_stagnation_follow_from_history_and_notes(begun) -> None:
    history = [record("0.0", 10.0), record("1.0", 8.0), record("2.0", 9.0, 1), record("3.0", 8.5)]
    events = {1: IslandEvent(0, "e1"), 2: IslandEvent(1, "m1"), 3: IslandEvent(0, "m1", insight="Short edges.")}
    arms = {name: BanditArm() for name in ("e1", "m1", "m2")}
    first, second = replay_islands(opened(begun, history, events), 2, arms)
    assert names(first.members) == ["1.0", "3.0"]
    assert names(second.members) == ["2.0", "0.0"]
    assert (first.since, second.since) == (1, 0)
    assert (arms["e1"].plays, arms["m1"].plays, arms["m2"].plays) == (1, 2, 0)
    assert (arms["e1"].reward, arms["m1"].reward) == (pytest.approx(0.2), pytest.approx(0.1))
    assert (first.insight, first.explained) == ("Short edges.", "1.0")


def test_a_settler_takes_the_place_of_the_worst_and_a_lent_insight_stays_with_the_island(begun) -> None:
    history = [record("0.0", 10.0), record("1.0", 8.0), record("2.0", 9.0, 1), record("3.0", 9.5, 1)]
    events = {
        1: IslandEvent(0, "e1"),
        2: IslandEvent(1, "m1"),
        3: IslandEvent(1, "m1", settler="1.0", lent="Long edges."),
    }
    _, second = replay_islands(opened(begun, history, events), 3, {})
    assert names(second.members) == ["1.0", "2.0", "3.0"]
    assert (second.lent, second.moved) == ("Long edges.", 1)


def test_an_island_that_starts_anew_has_nothing_but_the_new_program(begun) -> None:
    history = [record("0.0", 10.0), record("1.0", 8.0), record("2.0", 30.0)]
    events = {1: IslandEvent(0, "e1", insight="Known."), 2: IslandEvent(0, reset=True)}
    first, _ = replay_islands(opened(begun, history, events), 3, {})
    assert (names(first.members), first.since, first.insight) == (["2.0"], 0, "")


def test_islands_are_alike_by_the_mean_over_pairs_of_their_best() -> None:
    one, other = (
        record(name, 1.0, source=f"def guess(x):\n    return {body}\n")
        for name, body in (("a", "x + 1"), ("b", "x * (x - 2)"))
    )
    assert mean_likeness([one], [one]) == 1.0
    assert mean_likeness([one, other], [one]) == pytest.approx((1 + mean_likeness([other], [one])) / 2)


VECTORS = st.lists(st.floats(-5, 5), min_size=3, max_size=3).map(np.array)


@given(VECTORS, VECTORS, VECTORS, VECTORS, st.integers(0, 1000))
def test_a_trial_is_the_difference_within_the_box_or_the_members_own(target, first, second, third, seed: int) -> None:
    box = Box(np.zeros(3), np.full(3, 6.0))
    found = make_trial(target, (first, second, third), box, np.random.default_rng(seed))
    mutant = np.clip(first + FACTOR * (second - third), -6, 6)
    own, new = found == target, found == mutant
    assert np.all(own | new)
    assert new.any()
    assert 0 < CROSSOVER < 1


def test_the_box_is_in_proportion_to_constants_and_of_one_size_near_zero() -> None:
    box = Box.around([Constant(0, 4.0, False, ""), Constant(1, -2.0, False, ""), Constant(2, 0.0, False, "")])
    assert box.reach.tolist() == [2.0, 1.0, 0.5]
    rng = np.random.default_rng(0)
    drawn = np.array([box.neighbour(rng) for _ in range(2000)])
    assert np.all(np.abs(drawn - box.centre) <= box.reach)
    assert drawn.std(axis=0) == pytest.approx(box.reach / 5, rel=0.1)


@pytest.mark.slow
def test_a_child_near_the_elite_is_tuned_within_the_share_of_the_budget(begun) -> None:
    folder = begun(*settings("tide", "strategy.options.tuning=0.4", evaluations=120))
    search(folder)
    known = records(folder)
    tuned = [one for one in known if one.candidate.origin == EVOLVED]
    assert 10 < len(tuned) <= 0.4 * (120 + 15) + 15
    by_name = {one.id: one for one in known}
    assert all(by_name[one.candidate.parents[0]].candidate.origin.startswith(("tide_", "repair")) for one in tuned)
    plain = begun(*settings("tide", "strategy.options.tuning=0", evaluations=40))
    search(plain)
    assert not [one for one in records(plain) if one.candidate.origin == EVOLVED]


class Stuck(Writer):
    """Writes nothing that is better than the seed."""

    def _answer(self, text: str, rng: random.Random) -> str:
        if "Python block" not in text:
            return f"Insight {rng.randrange(10**6)}."
        return f"{{Worse.}}\n```python\ndef guess(x):\n    return {500 + rng.randrange(10**6)} - x\n```"


def test_an_island_without_a_gain_gets_help_after_two_rounds_and_starts_anew_after_eight(begun) -> None:
    model = Stuck()
    folder = begun(
        *settings("tide", "archive.islands=2", "strategy.window=1", "strategy.options.tuning=0", evaluations=30)
    )
    search(folder, model)
    with Store(folder.database, readonly=True) as store:
        events = {note.round: json.loads(note.text) for note in store.notes() if note.kind == EVENT}
    first = {number: event for number, event in events.items() if event["island"] == 1}
    own = list(first.values())
    assert [event["reset"] for event in own[:9]] == [False] * 8 + [True]
    helped = [bool(event["lent"] or event["settler"]) for event in own[:8]]
    assert helped[:2] == [False, False]
    assert any(helped)
    assert not any(one and other for one, other in pairwise(helped))
    (prompt, *_) = model.prompts("tide_reset")
    assert "The search is stuck around programs of this structure" in prompt
    reset = next(number for number, event in first.items() if event["reset"])
    later = [one for one in records(folder) if one.round == reset + 2]
    made = {one.id for one in records(folder) if one.round == reset}
    assert set(later[0].candidate.parents) <= made


def test_prompts_show_what_sets_the_best_apart_and_some_of_them_what_another_island_sends(begun) -> None:
    model = Writer()
    folder = begun(*settings("tide", "archive.islands=2", "strategy.window=1", evaluations=90))
    search(folder, model, run=scored)
    with Store(folder.database, readonly=True) as store:
        events = [json.loads(note.text) for note in store.notes() if note.kind == EVENT]
    said = {event["insight"] for event in events if event["insight"]}
    assert said
    shown = [prompt for name in ("e1", "e2", "m1", "m2", "m3") for prompt in model.prompts(f"tide_{name}")]
    assert any(words in prompt for words in said for prompt in shown)
    assert all("worst" in prompt and "best" in prompt for prompt in model.prompts("reflect"))
