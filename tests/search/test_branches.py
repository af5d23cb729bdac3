"""What is done side by side in a round is found in the same order, however long each part takes."""

import asyncio
import random
from functools import partial

import pytest

from oragent._base.errors import ModelError
from oragent.llm.model import Message, Reply, Request
from oragent.search.engine import Engine
from oragent.search.folder import reopen
from oragent.search.genetics.variation import breed_child
from oragent.search.round_context import RoundContext
from oragent.search.store import Store
from oragent.search.strategies.scripted import make_player
from tests.search.players import Late, notes, replies, search
from tests.search.test_engine import history, jittery
from tests.search.test_engine import search as searched

SETTINGS = ("model.name=scripted", "or_agent.initial_ideas=6", "or_agent.tuning_evaluations=8", "seed=5")


def everything(folder) -> tuple:
    asked = sorted((int(r.case), r.branch, r.call, r.role, r.prompt, r.text) for r in replies(folder))
    return history(folder), notes(folder, "tree"), notes(folder, "memory"), asked


async def double(run: RoundContext, number: int) -> int:
    await asyncio.sleep(random.random() / 100)
    value = int(run.rng.integers(1000))
    await run.evaluate(f"def guess(x):\n    return {number} + {value}\n", [], f"branch {number}")
    run.note("seen", str(value))
    return value


async def forking(run: RoundContext) -> None:
    async def deeper(branch: RoundContext, number: int) -> list[int]:
        return await branch.fork([partial(double, number=10 * number + inner) for inner in range(2)])

    values = await run.fork([partial(deeper, number=number) for number in range(3)])
    assert [candidate.evaluation.score for candidate in run.candidates][:2] == [
        abs(100 - v - n) for n, v in enumerate(values[0])
    ]


def test_branches_are_committed_in_their_order_with_generators_of_their_own(begun) -> None:
    runs = []
    for workers in (1, 2, 8):
        folder = begun("budget.evaluations=25")
        searched(folder, forking, run=jittery, workers=workers)
        with Store(folder.database) as store:
            records = store.records()
        runs.append((history(folder), [record.candidate.branch for record in records]))
    assert runs[0] == runs[1] == runs[2]
    assert runs[0][1][1:7] == ["0.0/0.0/", "0.0/0.1/", "0.1/0.0/", "0.1/0.1/", "0.2/0.0/", "0.2/0.1/"]
    assert len({record[1] for record in runs[0][0][1:7]}) == 6


def test_a_branch_that_fails_ends_the_round_when_all_have_ended_and_nothing_paid_for_is_lost(begun) -> None:
    async def uneven(run: RoundContext) -> None:
        async def greedy(branch: RoundContext, number: int) -> None:
            for step in range(5):
                await branch.evaluate(f"def guess(x):\n    return {number}.{step}\n", [], "greedy")

        await run.fork([partial(greedy, number=number) for number in range(3)])

    folder = begun("budget.evaluations=9", "strategy.window=1")
    outcome = searched(folder, uneven, run=jittery)
    assert outcome.progress.spent.evaluations == 9
    firsts = [source.split("return ")[1].strip() for _, source, *_ in history(folder)[1:9]]
    assert firsts == ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2", "2.0", "2.1"]  # eight in three shares: 3, 3 and 2


def test_a_dead_model_in_a_branch_ends_the_run_though_another_branch_ran_out_of_budget(begun) -> None:
    class Dead:
        async def __call__(self, request: Request) -> Reply:
            raise ModelError("gone")

    async def mixed(run: RoundContext) -> None:
        async def asks(branch: RoundContext) -> None:
            await asyncio.sleep(0.02)
            await branch.ask("code", [Message("user", "?")])

        async def spends(branch: RoundContext) -> None:
            for step in range(99):
                await branch.evaluate(f"def guess(x):\n    return {step}\n", [], "spends")

        await run.fork([spends, asks])

    folder = begun("budget.evaluations=5", "strategy.window=1")
    pool_outcome = searched(folder, mixed, model=Dead())
    assert pool_outcome.reason == "gone"
    assert not pool_outcome.complete


@pytest.mark.slow
@pytest.mark.parametrize("settings", [("strategy.window=2",), ("strategy.window=3", "or_agent.reflection_period=2")])
def test_one_seed_gives_one_history_at_any_number_of_workers_with_a_late_model(begun, settings) -> None:
    runs = []
    for workers in (1, 2, 8):
        folder = begun(*SETTINGS, *settings, "budget.evaluations=36")
        search(folder, Late(make_player(5, breed_child)), run=jittery, workers=workers)
        runs.append(everything(folder))
    assert runs[0] == runs[1] == runs[2]
    assert len(runs[0][0]) >= 30
    assert {reply[3] for reply in runs[0][3]} >= {"idea", "code", "debug", "repair", "experiment", "reflect"}


@pytest.mark.slow
def test_a_resumed_run_ends_as_if_it_had_never_been_stopped_and_pays_for_nothing_twice(begun) -> None:
    whole, broken = (begun(*SETTINGS, "budget.evaluations=40") for _ in range(2))
    search(whole, Late(make_player(5, breed_child)), run=jittery)
    engines: list[Engine] = []
    calls = iter(range(1000))

    class Stopping(Late):
        async def __call__(self, request: Request) -> Reply:
            if next(calls) == 35:
                engines[0].stop("stopped by a test")
            return await super().__call__(request)

    search(broken, Stopping(make_player(5, breed_child)), run=jittery, built=engines.append)
    paid = len(replies(broken))
    model = make_player(5, breed_child)
    search(reopen(broken.path), Late(model), run=jittery)
    assert everything(broken) == everything(whole)
    assert model.calls == len(replies(broken)) - paid
