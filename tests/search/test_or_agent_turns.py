"""Ideas for one leaf take turns: those that gain have more experiments, none has nothing, and each is told of the others."""

import re
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.budget import Spent, apportion
from oragent.search.round_context import RoundContext
from oragent.search.store import Store
from oragent.search.strategies.or_agent.allocation import FLOOR, deal_experiments, experiment_turns
from tests.search.players import Players, guess, notes, search
from tests.search.test_engine import search as searched

TWO = '[{"title": "gaining", "idea": "first"}, {"title": "stuck", "idea": "second"}]'
ROUND = (
    "model.name=m", "strategy.window=1", "strategy.patience=2", "or_agent.initial_ideas=1", "or_agent.depth=1",
    "or_agent.elitist_enlargement=1", "or_agent.tuning_evaluations=0", "budget.evaluations=40",
)  # fmt: skip
GAINS = st.lists(st.one_of(st.just(0.0), st.floats(1e-12, 1e9)), min_size=1, max_size=9)


@given(st.integers(0, 10**6), st.lists(st.integers(0, 99), min_size=1, max_size=9))
def test_what_is_whole_is_divided_to_the_last_and_within_one_of_its_quota(whole: int, weights: list[int]) -> None:
    parts = apportion(whole, weights)
    assert sum(parts) == whole
    if any(weights):
        for part, weight in zip(parts, weights, strict=True):
            assert abs(part - whole * weight / sum(weights)) < 1


@given(st.integers(0, 99), st.integers(1, 9))
def test_equal_weights_give_even_parts(whole: int, count: int) -> None:
    spent = Spent(whole, 2 * whole, 3 * whole, 1.0)
    assert spent.split_by_weights([7] * count) == [spent.equal_part(place, count) for place in range(count)]


@given(st.integers(0, 99), st.lists(st.integers(1, 50), min_size=1, max_size=9))
def test_no_branch_is_left_without_an_evaluation_where_there_is_one_for_each(whole: int, weights: list[int]) -> None:
    shares = [share.evaluations for share in Spent(evaluations=whole).split_by_weights(weights)]
    assert sum(shares) == whole
    assert min(shares) >= (whole >= len(weights))


@pytest.mark.parametrize(
    ("experiments", "sizes"), [(0, []), (1, [1]), (2, [1, 1]), (3, [1, 2]), (8, [2, 2, 2, 2]), (10, [2, 3, 3, 2])]
)
def test_experiments_come_in_turns(experiments: int, sizes: list[int]) -> None:
    assert experiment_turns(experiments) == sizes


@given(GAINS, st.integers(1, 9))
def test_a_turn_is_dealt_to_the_last_none_starves_and_who_gains_more_has_no_less(gains, each: int) -> None:
    shares = deal_experiments(gains, each)
    assert sum(shares) == each * len(gains)
    assert min(shares) >= FLOOR
    ranked = sorted(zip(gains, shares, strict=True))
    assert all(more[1] >= less[1] - 1 for less, more in pairwise(ranked))


def test_a_turn_after_which_nobody_gained_is_dealt_alike() -> None:
    assert deal_experiments([0.0, 0.0, 0.0], 3) == [3, 3, 3]
    assert deal_experiments([0.1, 0.0, 0.0], 3) == [7, 1, 1]
    assert deal_experiments([0.1, 0.3], 3) == [2, 4]
    assert deal_experiments([0.2, 0.2, 0.0], 2) == [3, 2, 1]  # of equal ones the older first


def experiment(prompt: str) -> str:
    """The first idea gets nearer with each experiment, the second one never."""
    value = float(re.search(r"return ([\d.]+)", prompt)[1])
    step = 3 if "idea: gaining" in prompt else -3
    return f"THOUGHT: step\nACTION: EDIT\n{guess(value + step)}"


def coded(prompt: str) -> str:
    return guess(40 if "gaining" in prompt else 55)


@pytest.mark.slow
@pytest.mark.parametrize(("allocation", "had"), [("flow", [11, 5]), ("even", [8, 8])])
def test_a_branch_that_gains_has_more_of_the_experiments(begun, allocation: str, had: list[int]) -> None:
    folder = begun(*ROUND, f"or_agent.allocation={allocation}")
    search(folder, Players(idea=TWO, code=coded, experiment=experiment))
    tree = notes(folder, "tree")[1]
    assert [len(node["steps"]) for node in tree["nodes"][1:]] == had
    assert [bool(node["report"]) for node in tree["nodes"][1:]] == [True, True]


@pytest.mark.slow
def test_a_branch_that_gains_and_stays_behind_has_no_more_than_others(begun) -> None:
    folder = begun(*ROUND, "model.style=small")
    model = Players(
        idea=TWO, code=lambda prompt: guess(90 if "\nstuck. second" in prompt else 30), experiment=experiment
    )
    search(folder, model)
    assert [(len(one["steps"]), one["score"]) for one in notes(folder, "tree")[1]["nodes"][1:]] == [(8, 46), (8, 10)]


@pytest.mark.slow
def test_a_branch_is_told_in_its_next_turn_what_the_others_have_come_to(begun) -> None:
    model = Players(idea=TWO, code=coded, experiment=experiment)
    search(begun(*ROUND, "model.style=small"), model)
    stuck = [prompt for prompt in model.prompts("experiment") if "idea: stuck" in prompt]
    assert "and what came of them so far:\n- gaining -> score 60, as it was coded.\n" in stuck[0]
    assert "2 of them are left in this turn; in the next one those that gain have more:" in stuck[0]
    assert "- gaining -> score 54, after 2 experiments. Learned.\n" in stuck[2]
    assert "1 of them are left:" in stuck[4]  # the last turn


def test_an_idea_alone_goes_on_to_its_end_and_so_do_those_that_the_model_stops(begun) -> None:
    model = Players(
        idea=TWO,
        code=coded,
        experiment=lambda prompt: "ACTION: STOP" if "idea: stuck" in prompt else experiment(prompt),
    )
    folder = begun(*ROUND)
    search(folder, model)
    gaining, stuck = notes(folder, "tree")[1]["nodes"][1:]
    assert (len(gaining["steps"]), len(stuck["steps"])) == (8, 0)


def test_branches_share_what_is_left_by_their_weights(begun) -> None:
    async def uneven(run: RoundContext) -> None:
        async def greedy(branch: RoundContext, number: int) -> None:
            for step in range(9):
                await branch.evaluate(f"def guess(x):\n    return {number}.{step}\n", [], f"branch {number}")

        await run.fork([partial(greedy, number=number) for number in range(2)], weights=[3, 1])

    folder = begun("budget.evaluations=9", "strategy.window=1")
    searched(folder, uneven)
    with Store(folder.database, readonly=True) as store:
        origins = [record.candidate.origin for record in store.records()]
    assert [origins.count(f"branch {number}") for number in range(2)] == [6, 2]


@pytest.mark.slow
def test_a_round_beside_the_opening_is_small_as_it_sees_the_seed_alone(begun) -> None:
    numbers = iter(range(1000))
    model = Players(
        idea=TWO,
        code=lambda prompt: guess(f"40 + {next(numbers)} / 9"),
        experiment=lambda prompt: f"ACTION: EDIT\n{guess(f'50 + {next(numbers)} / 9')}",
    )
    settings = ("model.name=m", "strategy.window=2", "or_agent.tuning_evaluations=0", "budget.evaluations=60")
    folder = begun(*settings)
    search(folder, model)
    with Store(folder.database, readonly=True) as store:
        rounds = [int(record.id.partition(".")[0]) for record in store.records()]
    assert 2 <= rounds.count(2) <= 12  # a fifth of 60
    assert {node["parent"] for node in notes(folder, "tree")[1]["nodes"][1:]} == {0}
    assert rounds.count(3) > 12
