"""Programs that are not functions of their arguments never lead a run, however the run is scheduled."""

import asyncio
import json
import random
import threading
from dataclasses import replace
from typing import Any

import pytest

from oragent._base.errors import ProblemError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job
from oragent.evaluation.hardening import CASES
from oragent.evaluation.pool import JobPool
from oragent.search.engine import Engine
from oragent.search.events import PurityChecks, SearchResult
from oragent.search.folder import RunFolder, reopen
from oragent.search.round_context import RoundContext
from oragent.search.selection import draw_parents
from oragent.search.store import Store
from tests.search.test_engine import history, scored

OFFERS = frozenset({"--check"})
REASON = "answers a call differently"


class Checker:
    """Evaluations of the toy problem; programs with ``cheat`` in their text fail a check and pass all else."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def __call__(self, job: Job) -> Evaluation:
        threading.Event().wait(random.random() / 100)
        self.jobs.append(job)
        if "--check" in job.arguments and "cheat" in job.source:
            return Evaluation(Status.REJECTED, message=REASON, wall_s=0.001, cpu_s=2.0)
        return replace(scored(job), cpu_s=2.0 if job.arguments else 3.0)

    @property
    def checked(self) -> list[Job]:
        return [job for job in self.jobs if "--check" in job.arguments]


def search(
    folder: RunFolder, strategy: Any, run: Any, *, workers: int = 2, offers: frozenset[str] = OFFERS, **more: Any
) -> SearchResult:
    pool = JobPool(workers, run)
    with Store(folder.database) as store:
        try:
            return asyncio.run(Engine(folder, store, pool, strategy, offers=offers, **more).run())
        finally:
            pool.close()


async def climb(run: RoundContext) -> None:
    """Change the parent's number; every other program cheats."""
    (parent,) = draw_parents(run.archive, run.island, 1, run.rng)
    number = int(run.rng.integers(300))
    cheat = "  # noqa\n    cheat = 1" if number % 2 else ""
    await run.evaluate(f"def guess(x):{cheat}\n    return {number} - {parent.score} / 7\n", [parent.id], "climb")


async def siblings(run: RoundContext) -> None:
    """Four programs, each better than the one before and than all of earlier rounds."""
    for step in range(4):
        await run.evaluate(f"def guess(x):\n    return {100 + 4 * run.number + step - 40}\n", [], "sibling")


def records(folder: RunFolder) -> list[Any]:
    with Store(folder.database, readonly=True) as store:
        return store.records()


def test_leaders_are_checked_and_no_cheat_ever_leads(begun) -> None:
    folder, checker = begun("budget.evaluations=60"), Checker()
    leaders = []
    outcome = search(folder, climb, checker, observer=lambda progress: leaders.append(progress.best.source))
    assert len(set(leaders)) > 2
    assert not any("cheat" in source for source in leaders)
    assert "cheat" not in (folder.path / "best.py").read_text()
    assert {job.source for job in checker.checked} >= set(leaders)
    caught = [one.candidate for one in records(folder) if one.candidate.evaluation.status is Status.REJECTED]
    assert caught
    for candidate in caught:
        assert candidate.evaluation.message == REASON
        assert candidate.evaluation.score is None
    assert outcome.checks.number == len({job.source for job in checker.checked})
    assert outcome.checks.failed == len({one.fingerprint for one in caught})


def test_of_siblings_that_beat_the_old_best_only_the_best_is_checked(begun) -> None:
    folder, checker = begun("budget.evaluations=8", "strategy.window=1"), Checker()
    search(folder, siblings, checker, workers=1)
    rounds = {record.round for record in records(folder) if record.round}
    # the seed, and the best of each round
    assert len(checker.checked) == 1 + len(rounds) == 3


@pytest.mark.slow
@pytest.mark.parametrize("window", [1, 3])
def test_the_archive_is_the_same_with_any_number_of_workers_and_after_a_resume(begun, window: int) -> None:
    runs = []
    for workers in (1, 2, 8):
        folder = begun("budget.evaluations=50", "seed=4", f"strategy.window={window}")
        search(folder, climb, Checker(), workers=workers)
        runs.append(history(folder))
    assert runs[0] == runs[1] == runs[2]
    again = Checker()
    outcome = search(reopen(folder.path), climb, again)
    assert history(folder) == runs[0]
    assert "cheat" not in outcome.progress.best.source
    assert again.checked == []


def test_a_seed_that_fails_its_check_ends_the_run(begun) -> None:
    def reject(job: Job) -> Evaluation:
        if "--check" in job.arguments:
            return Evaluation(Status.REJECTED, message=REASON)
        return scored(job)

    with pytest.raises(ProblemError, match=f"rejected: {REASON}"):
        search(begun(), climb, reject)


def test_a_check_that_cannot_be_made_rejects_nothing(begun) -> None:
    def fail(job: Job) -> Evaluation:
        if "--check" in job.arguments:
            return Evaluation(Status.TIMEOUT, message="ran out of time")
        return scored(job)

    folder = begun("budget.evaluations=8", "strategy.window=1")
    assert search(folder, siblings, fail).progress.best.id != "0.0"


def test_without_the_option_nothing_is_checked_and_that_is_said(begun) -> None:
    told: list[str] = []
    folder, checker = begun("budget.evaluations=6"), Checker()
    outcome = search(folder, climb, checker, offers=frozenset(), tell=told.append)
    assert checker.checked == []
    assert outcome.checks == PurityChecks(all_cpu_s=outcome.checks.all_cpu_s)
    assert any("--check" in line for line in told)


class Hardener(Checker):
    """Evaluations in which programs whose text names ``weak`` fail a case of unusual arguments."""

    def __call__(self, job: Job) -> Evaluation:
        if "@HARDEN" not in job.source:
            return super().__call__(job)
        names = [CASES[0]] if f"= 0, {[CASES[0]]!r}" in job.source else CASES
        fault = {"fault": "ValueError: no item"} if "weak" in job.source else {"form": ["number", None, True]}
        lines = [{"case": name, "seconds": 0.1, "size": 5, **fault} for name in names]
        if "weak" in job.source:
            lines[0] = {**lines[0], "form": ["number", None, True], "fault": ""}
        log = "\n".join(f"@HARDEN {json.dumps(line)}" for line in lines)
        return Evaluation(Status.ERROR, log=log, wall_s=0.1, cpu_s=0.2)


async def weaken(run: RoundContext) -> None:
    """Two programs a round, each better than all before; every second one is weak."""
    for step, remark in enumerate(("", "  # noqa\n    weak = 1")):
        number = 100 + 2 * run.number + step - 40
        await run.evaluate(f"def guess(x):{remark}\n    return {number}\n", [], "sibling")


def test_with_protect_no_program_leads_that_fails_unusual_arguments(begun) -> None:
    folder = begun("budget.evaluations=9", "strategy.window=1", "protect=true")
    outcome = search(folder, weaken, Hardener(), workers=1)
    assert outcome.progress.best.id != "0.0"
    assert "weak" not in outcome.progress.best.source
    rejected = [one for one in records(folder) if one.candidate.evaluation.status is Status.REJECTED]
    assert rejected
    assert "no item" in rejected[0].candidate.evaluation.message
    unprotected = begun("budget.evaluations=9", "strategy.window=1")
    assert "weak" in search(unprotected, weaken, Hardener(), workers=1).progress.best.source
