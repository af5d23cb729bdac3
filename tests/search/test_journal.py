"""Prompts show the state at the moment of the call, which is recorded, so that a replay reads the same."""

import asyncio
import re
from dataclasses import replace

import pytest

from oragent._base.budget import Spent
from oragent._base.errors import StoreError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job
from oragent.evaluation.pool import JobPool
from oragent.ledger import ReplayModel
from oragent.search.candidate import Candidate, Elite
from oragent.search.engine import Engine
from oragent.search.journal import Journal
from oragent.search.prompting.search_summary import describe_champion, summarise_search
from oragent.search.round_context import RoundContext
from oragent.search.store import JournalRow, RoundNote, Store
from oragent.search.strategies import STRATEGIES
from oragent.search.strategy import Strategy
from tests.search.players import Late, Players, guess, search
from tests.search.test_engine import scored

SETTINGS = ("model.name=m", "strategy.window=1", "budget.evaluations=9")


def program(value: object) -> str:
    return f"def guess(x):\n    return {value}\n"


def late(job: Job) -> Evaluation:
    """Run out of time where a program says so, and score all others."""
    if "12345" in job.source:
        return Evaluation(
            Status.TIMEOUT, message="your function took 2 s of 2 s; 103 of 128 instances were done", wall_s=0.1
        )
    return scored(job)


def play(folder, work, run=late):
    strategy = Strategy(name="own", round=work, remembers=True, standing=True, live=True)
    pool = JobPool(1, run)
    with Store(folder.database) as store:
        try:
            return asyncio.run(Engine(folder, store, pool, strategy).run())
        finally:
            pool.close()


def test_a_branch_reads_at_once_what_another_one_found(begun) -> None:
    told: list[str] = []
    ready = asyncio.Event()

    async def first(run: RoundContext) -> None:
        await run.evaluate(program(60), [], "first")
        await run.evaluate(program(12345), [], "first")
        run.publish("lesson", "twelve is too many", "one")
        ready.set()

    async def second(run: RoundContext) -> None:
        await ready.wait()
        seed = Elite.of(run.history[0])
        told.append(summarise_search(run, seed) + describe_champion(run, [seed]))

    async def work(run: RoundContext) -> None:
        if run.number == 1:
            await run.fork([first, second])
        else:
            await run.evaluate(program(run.number), [], "later")

    play(begun(*SETTINGS), work)
    assert "the best score is 40 (lower is better)" in told[0]
    assert "return 60" in told[0].partition("The best program so far, score 40")[2]
    assert "timeout: your function took 2 s of 2 s; 103 of 128 instances were done" in told[0]
    assert "- twelve is too many" in told[0]
    assert "Left of the budget: 6 evaluations" in told[0]  # of nine: the seed and two of the other branch


def test_a_round_reads_what_a_round_beside_it_found(begun) -> None:
    told: list[str] = []
    ready = asyncio.Event()

    async def work(run: RoundContext) -> None:
        if run.number == 1:
            await run.evaluate(program(60), [], "first")
            ready.set()
        elif run.number == 2:
            await ready.wait()
            told.append(summarise_search(run))
        else:
            await run.evaluate(program(run.number), [], "later")

    play(begun(*SETTINGS, "strategy.window=2"), work)
    assert "the best score is 40" in told[0]


def test_a_replay_of_rounds_and_branches_that_overlap_builds_the_same_prompts(begun) -> None:
    numbers = iter(range(1000))
    ideas = '[{"title": "up", "idea": "Add."}, {"title": "down", "idea": "Subtract."}]'
    model = Players(idea=ideas, code=lambda prompt: guess(f"60 - {next(numbers)}"), experiment="ACTION: STOP")
    settings = ("model.name=m", "strategy.window=2", "or_agent.tuning_evaluations=0", "budget.evaluations=20")
    recorded = begun(*settings)
    search(recorded, Late(model), workers=3)
    again = begun(*settings)
    with Store(again.database) as store:
        store.replies.copy_from(recorded.database)
        store.take_journal(recorded.database)
        replaying, pool = ReplayModel(store.replies), JobPool(1, scored)
        try:
            asyncio.run(Engine(again, store, pool, STRATEGIES["or_agent"], replaying).run())
        finally:
            pool.close()
        records = [(record.id, record.source, record.score) for record in store.records()]
    assert replaying.reworded == 0
    with Store(recorded.database, readonly=True) as store:
        assert records == [(record.id, record.source, record.score) for record in store.records()]


def test_a_resumed_run_keeps_its_moments_and_writes_nothing_twice(begun) -> None:
    folder = begun(*SETTINGS)

    async def work(run: RoundContext) -> None:
        await run.evaluate(program(run.number + 50), [], "first")

    play(folder, work)
    with Store(folder.database) as store:
        journal, size = Journal(store), len(store.journal())
        moment = journal.moment("1.0~0", 0, next(iter(store.rounds().values())))
        record = store.records(1)[0].candidate
        journal.add_program("1.p1", 1, record)
        assert len(store.journal()) == size
        journal.add_program("1.p2", 1, record)
        assert Journal(store).moment("1.0~0", 0, next(iter(store.rounds().values()))) == moment
        assert len(Journal(store).moment("1.1~0", 0, moment.spent).findings) == len(moment.findings) + 1
        journal.reject_program(1, record.fingerprint)
        assert len(Journal(store).moment("1.2~0", 0, moment.spent).findings) == len(moment.findings) - 1


def test_a_champion_close_to_a_shown_program_is_told_as_changes(begun) -> None:
    told: list[str] = []

    async def work(run: RoundContext) -> None:
        long = "def guess(x):\n" + "".join(f"    a{n} = x + {n}\n" for n in range(20)) + "    return {}\n"
        for value in (50, 60):
            await run.evaluate(long.format(value), [], "first")
        told.append(describe_champion(run, [Elite.of(run.candidates[0])]))

    play(begun(*SETTINGS, "budget.evaluations=3", "model.style=strong"), work)
    assert re.search(r"score 40, as changes of the last program above:\n```diff\n", told[0])
    assert "-    return 50\n+    return 60" in told[0]
    assert "a3 = " not in told[0]


@pytest.mark.parametrize("text", ["{", "3", "{}", '{"source": 1}', '{"status": "nowhere", "score": 1, "features": 2}'])
def test_a_damaged_journal_is_one_line(begun, text: str) -> None:
    with Store(begun(*SETTINGS).database) as store:
        store.add_to_journal(JournalRow(0, "1.0", 1, "program", text))
        with pytest.raises(StoreError):
            Journal(store)


def found(score: float | None, fingerprint: str, source: str = "") -> Candidate:
    status = Status.ERROR if score is None else Status.OK
    evaluation = Evaluation(status, score, (1.0,), {"gap": 2.0}, message="said", log="not kept")
    return Candidate(
        source=source or program(score), fingerprint=fingerprint, parents=("0.0",), origin="code", island=2, call=3,
        evaluation=evaluation,
    )  # fmt: skip


def test_a_moment_has_the_findings_and_notes_of_later_rounds_up_to_it(begun) -> None:
    with Store(begun(*SETTINGS).database) as store:
        journal = Journal(store)
        journal.add_program("1.p1", 1, found(5.0, "a"))
        journal.add_note("1.n1", RoundNote(1, "lesson", "first"))
        journal.add_program("2.p1", 2, found(4.0, "b"))
        early = journal.moment("first", 0, Spent(evaluations=3, model_calls=2, tokens=9))
        journal.add_note("2.n1", RoundNote(2, "lesson", "second"))
        journal.add_program("2.p2", 2, found(None, "c"))
        # The same label with another text replaces the program.
        journal.add_program("1.p1", 1, found(3.0, "d"))
        late = journal.moment("second", 0, Spent(evaluations=8, model_calls=7))
        assert [(one.round, one.place, one.candidate.fingerprint) for one in early.findings] == [
            (1, "1.p1", "a"), (2, "2.p1", "b"),
        ]  # fmt: skip
        assert early.spent == Spent(evaluations=3, model_calls=2)
        assert [note.text for note in early.notes] == ["first"]
        assert [one.candidate.fingerprint for one in late.findings] == ["d", "b", "c"]
        assert [note.text for note in late.notes] == ["first", "second"]
        assert [one.elite.score for one in late.findings if one.elite] == [3.0, 4.0]
        # A recorded moment does not change, whatever was spent or found since; its horizon may.
        assert journal.moment("first", 0, Spent(evaluations=99)) == early
        beyond = journal.moment("second", 1, Spent(evaluations=99))
        assert [one.candidate.fingerprint for one in beyond.findings] == ["b", "c"]
        assert [note.text for note in beyond.notes] == ["second"]
        assert journal.moment("second", 2, Spent()).findings == ()
        assert Journal(store).moment("first", 0, Spent()) == early
        journal.reject_program(2, "b")
        assert journal.moment("second", 0, Spent()) == late
        rejected = journal.moment("third", 0, Spent())
        assert [one.candidate.fingerprint for one in rejected.findings] == ["d", "c"]


def test_a_finding_has_its_program_and_evaluation_without_its_output(begun) -> None:
    with Store(begun(*SETTINGS).database) as store:
        given = found(5.0, "a")
        Journal(store).add_program("1.p1", 1, given)
        (read,) = Journal(store).moment("x", 0, Spent()).findings
        assert read.candidate == replace(given, parents=(), call=None, evaluation=replace(given.evaluation, log=""))
        assert read.elite is not None
        assert read.elite.id == "a"
