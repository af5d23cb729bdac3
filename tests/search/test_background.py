"""Audits run while the search goes on, and their verdicts take effect at fixed rounds, however a run is scheduled."""

import asyncio
import random
import threading
from dataclasses import replace
from typing import Any

import pytest

from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job
from oragent.evaluation.pool import JobPool
from oragent.search.engine import Engine
from oragent.search.folder import RunFolder, reopen
from oragent.search.round_context import RoundContext
from oragent.search.store import BEGUN, WITHDRAWN, Store
from tests.search.test_auditing import OFFERS, REASON, Auditor, climb, records, search
from tests.search.test_engine import history, scored

SETTINGS = "budget.evaluations=40", "audit_share=1", "seed=4"


class Late(Auditor):
    """Takes longer for audits than for evaluations."""

    def __call__(self, job: Job) -> Evaluation:
        if job.arguments:
            threading.Event().wait(random.random() / 20)
        return super().__call__(job)


class Killed(BaseException):
    pass


def rows(folder: RunFolder, kind: str) -> list[tuple[int, int, str]]:
    with Store(folder.database, readonly=True) as store:
        return [(row.round, row.due, row.fingerprint) for row in store.background_audits() if row.kind == kind]


def test_the_search_goes_on_while_an_audit_runs(begun) -> None:
    """The audit of round 1 ends only after round 2 has asked for an evaluation."""
    evaluated = threading.Event()
    waited: list[bool] = []

    def judge(job: Job) -> Evaluation:
        if "return 61" in job.source and job.arguments == ("--audit=10",):
            waited.append(evaluated.wait(20))
        elif "return 62" in job.source and not job.arguments:
            evaluated.set()
        return scored(job)

    async def improve(run: RoundContext) -> None:
        await run.evaluate(f"def guess(x):\n    return {60 + run.number}\n", [], "improve")

    search(begun("budget.evaluations=3", "strategy.window=1"), improve, judge, workers=2)
    assert waited == [True]


@pytest.mark.parametrize("lag", [1, 3])
def test_a_program_that_fails_leads_until_the_round_of_its_verdict_and_no_longer(begun, lag: int) -> None:
    """Round 2 cheats; rounds up to `2 + lag` see it, also where the audit ended long before."""
    best_seen: dict[int, float] = {}

    async def cheat_once(run: RoundContext) -> None:
        best_seen[run.number] = run.archive.best.score
        cheat = "    cheat = 1\n" if run.number == 2 else ""
        number = 90 if run.number == 2 else 50 + run.number
        await run.evaluate(f"def guess(x):\n{cheat}    return {number}\n", [], "write")

    folder = begun("budget.evaluations=9", "strategy.window=1", f"audit_lag={lag}", "audit_share=1")
    outcome = search(folder, cheat_once, Auditor(), workers=1)
    seen = [number for number, score in best_seen.items() if score == 10]
    assert seen == list(range(3, 2 + lag + 1))
    assert outcome.audits.failed == 1
    assert "cheat" not in outcome.progress.best.source
    ((at, _, _),) = rows(folder, WITHDRAWN)
    assert at == 2 + lag
    caught = next(record for record in records(folder) if record.id == "2.0")
    assert (caught.candidate.evaluation.status, caught.placed) == (Status.REJECTED, "")
    assert REASON in caught.candidate.evaluation.message


def test_the_archive_is_the_same_at_any_number_of_workers(begun) -> None:
    found = []
    for workers in (1, 2, 8):
        folder = begun(*SETTINGS)
        outcome = search(folder, climb, Late(), workers=workers)
        found.append((history(folder), rows(folder, BEGUN), rows(folder, WITHDRAWN), outcome.progress.best.id))
    assert found[0] == found[1] == found[2]
    assert len(found[0][2]) > 2


@pytest.mark.parametrize("fatal", range(2, 48, 3))
def test_a_run_that_is_killed_anywhere_goes_on_as_if_it_had_not_been(begun, whole, fatal: int) -> None:
    """It ends at an evaluation or audit, at a commitment, or between both."""
    broken, first, second = begun(*SETTINGS), Auditor(), Auditor()
    lock = threading.Lock()

    def deadly(job: Job) -> Evaluation:
        with lock:
            if len(first.jobs) >= fatal:
                raise Killed
        return first(job)

    with pytest.raises(Killed):
        search(broken, climb, deadly, workers=3)
    search(reopen(broken.path), climb, second, workers=3)
    assert history(broken) == history(whole)
    assert rows(broken, WITHDRAWN) == rows(whole, WITHDRAWN)
    assert rows(broken, BEGUN) == rows(whole, BEGUN)
    ended = {(job.source, job.arguments) for job in first.jobs}
    # One that had ended is never repeated; up to three were under way, and their results are lost.
    assert len([job for job in second.jobs if (job.source, job.arguments) in ended]) <= 3


@pytest.fixture
def whole(begun) -> RunFolder:
    folder = begun(*SETTINGS)
    search(folder, climb, Auditor(), workers=2)
    return folder


def replay(folder: RunFolder, target: RunFolder, judge: Any) -> None:
    """Search again with the verdicts of another run."""
    pool = JobPool(2, judge)
    with Store(target.database) as store:
        store.take_times(folder.database)
        store.take_audits(folder.database)
        try:
            asyncio.run(Engine(target, store, pool, climb, offers=OFFERS).run())
        finally:
            pool.close()


def test_a_replay_withdraws_the_same_programs_also_where_its_audits_would_find_nothing(begun, whole) -> None:
    again = begun(*SETTINGS)
    audited: list[Job] = []

    def blind(job: Job) -> Evaluation:
        if job.arguments:
            audited.append(job)
        return scored(job)

    replay(whole, again, blind)
    assert history(again) == history(whole)
    assert rows(again, WITHDRAWN) == rows(whole, WITHDRAWN)
    assert not audited


def test_audits_may_be_switched_off_and_on_again_at_resumes_and_a_replay_is_the_same(begun) -> None:
    folder = begun("budget.evaluations=15", "audit_share=1")
    search(folder, climb, Auditor())
    search(reopen(folder.path, ["audit=null", "budget.evaluations=25"]), climb, Auditor())
    search(reopen(folder.path, ["audit=12", "budget.evaluations=40"]), climb, Auditor())
    before = rows(folder, WITHDRAWN)
    resumed = reopen(folder.path, ["budget.evaluations=41"])
    search(resumed, climb, Auditor())
    assert rows(folder, WITHDRAWN)[: len(before)] == before
    assert any("cheat" in record.source and record.score is None for record in records(folder))
    assert "cheat" not in (folder.path / "best.py").read_text()


def test_an_equal_program_of_a_round_under_way_is_withdrawn_with_the_first(begun) -> None:
    """Rounds 2 and 3 are in flight at once and cheat alike."""

    async def cheat_alike(run: RoundContext) -> None:
        text = "    cheat = 1\n    return 90\n" if run.number in (2, 3) else f"    return {50 + run.number}\n"
        await run.evaluate(f"def guess(x):\n{text}", [], "write")

    folder = begun("budget.evaluations=8", "strategy.window=2", "audit_share=1")
    outcome = search(folder, cheat_alike, Auditor(), workers=2)
    twins = [record for record in records(folder) if "cheat" in record.source]
    assert [record.score for record in twins] == [None, None]
    assert "cheat" not in outcome.progress.best.source


def test_best_says_not_audited_until_its_audit_has_ended(begun) -> None:
    heads: dict[int, str] = {}
    folder = begun("budget.evaluations=4", "strategy.window=1", "audit_lag=2")

    async def improve(run: RoundContext) -> None:
        heads[run.number] = (folder.path / "best.py").read_text().splitlines()[0]
        await asyncio.sleep(0.3 if run.number == 2 else 0)
        heads[-run.number] = (folder.path / "best.py").read_text().splitlines()[0]
        score = 60 if run.number == 1 else 20
        await run.evaluate(f"def guess(x):\n    return {score + run.number}\n", [], "improve")

    search(folder, improve, lambda job: replace(scored(job), cpu_s=1.0), workers=2)
    assert "1.0" in heads[2]
    assert "not audited yet" in heads[2]
    assert "not audited" not in heads[-2]
