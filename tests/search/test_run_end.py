"""Why a run ends: a model that sends nothing usable, and one that is too slow."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from oragent._base.errors import ModelTimeout
from oragent._base.protocol import Status
from oragent.evaluation import EvaluationRunner
from oragent.evaluation.pool import JobPool
from oragent.llm.model import Reply, Request
from oragent.search.engine import Engine
from oragent.search.round_context import RoundContext
from oragent.search.run_end import DEAD
from oragent.search.store import Store
from oragent.search.strategies import STRATEGIES
from tests.cli.test_cli import only_run, oragent
from tests.llm.chat_server import ChatServer, ok, streamed
from tests.search.players import Players, guess, search

ASKING = [name for name, strategy in STRATEGIES.items() if strategy.asks_model]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "reply"), [*((name, "") for name in ASKING), ("or_agent", "I am sorry, I cannot help with that.")]
)
def test_a_model_without_programs_ends_the_run_after_a_few_replies(begun, strategy: str, reply: str) -> None:
    folder = begun("model.name=m", f"strategy.name={strategy}", "strategy.window=2")
    model = Players(**dict.fromkeys(("idea", "code", "experiment", "repair", "lead", "reflect"), reply))
    outcome = search(folder, model)
    assert not outcome.complete
    assert "held no program" in outcome.reason
    assert "the latest: " in outcome.reason
    assert len(model.asked) <= 45
    with Store(folder.database, readonly=True) as store:
        assert store.meta("end") == outcome.reason


def test_a_model_that_leaves_out_some_programs_goes_on(begun) -> None:
    numbers = iter(range(1000))

    def code(prompt: str) -> str:
        number = next(numbers)
        return "Let me think." if number % DEAD else guess(number / 7)

    folder = begun("model.name=m", "strategy.name=funsearch", "strategy.window=1", "budget.evaluations=6")
    outcome = search(folder, Players(**dict.fromkeys(("sample", "code", "improve"), code), repair="Hm."))
    assert outcome.complete, outcome.reason


class Slow:
    """A model that runs into its time-out at one call."""

    def __init__(self, at: int) -> None:
        self.calls, self._at = 0, at

    async def __call__(self, request: Request) -> Reply:
        self.calls += 1
        await asyncio.sleep(0)
        if self.calls == self._at:
            raise ModelTimeout("sent nothing for 900 s, the limit of model.timeout_s")
        text = guess(self.calls / 7)
        return Reply(text, model="slow", tokens_in=10, tokens_out=5, money=0.0, seconds=0.0)


def test_a_time_out_pauses_the_run_and_no_reply_is_asked_for_twice(begun) -> None:
    folder = begun("model.name=m", "strategy.name=funsearch", "strategy.window=2", "budget.evaluations=8")
    first = Slow(5)
    outcome = search(folder, first)
    assert outcome.reason.startswith("paused: ")
    assert not outcome.complete
    with Store(folder.database, readonly=True) as store:
        kept = len(store.replies.all_replies())
    assert kept >= 4
    second = Slow(0)
    outcome = search(folder, second)
    assert outcome.complete
    with Store(folder.database, readonly=True) as store:
        assert len(store.replies.all_replies()) == kept + second.calls


def test_a_time_out_of_the_first_call_is_no_end(begun) -> None:
    folder = begun("model.name=m", "strategy.name=funsearch", "strategy.window=1", "budget.evaluations=4")
    assert search(folder, Slow(1)).reason.startswith("paused: ")
    assert search(folder, Slow(0)).complete


@pytest.mark.slow
def test_a_slow_server_is_waited_for_and_a_silent_one_pauses_the_run(toy: Path, tmp_path: Path) -> None:
    program = guess(51)
    slow = replace(streamed(*({"content": letter} for letter in program)), pieces=8, gap_s=0.2)
    settings = ("strategy.name=funsearch", "strategy.window=1", "--evaluations", 3)
    with ChatServer(ok("OK"), slow, then=ok(guess(52), delay_s=60.0)) as server:
        keys = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk"}
        done = oragent("run", "toy", "--model", "m", "model.timeout_s=1.2", *settings, cwd=tmp_path, **keys)
        asked = len(server.requests)
    assert done.returncode == 3, done.stderr
    # the check, the slow reply, the silent one
    assert asked == 3
    said = done.stdout + done.stderr
    assert "paused" in said
    assert "model.timeout_s" in said
    assert "oragent resume" in said
    with ChatServer(ok("OK"), then=ok(guess(53))) as server:
        keys = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk"}
        run = only_run(tmp_path)
        done = oragent("resume", str(run), "model.timeout_s=30", cwd=tmp_path, **keys)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_program_that_sleeps_is_ended_by_the_seeds_clock_time(begun) -> None:
    folder = begun("budget.evaluations=2", "strategy.window=1", "cache=false")

    async def sleep(run: RoundContext) -> None:
        await run.evaluate("import time\ndef guess(x):\n    time.sleep(500)\n    return x\n", [], "sleeper")

    with EvaluationRunner(folder.config.cores) as runner, Store(folder.database) as store:
        pool = JobPool(1, runner)
        try:
            asyncio.run(Engine(folder, store, pool, sleep).run())
        finally:
            pool.close()
        (sleeper,) = [record.candidate.evaluation for record in store.records(1)]
    assert sleeper.status is Status.TIMEOUT
    assert sleeper.wall_s < 20.0
