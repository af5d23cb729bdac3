"""Nobody leads a run whose decisions are not those of a function of its arguments, however the run is scheduled."""

import asyncio
import random
import threading
from dataclasses import replace
from typing import Any

import pytest

from oragent._base.errors import ProblemError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job
from oragent.evaluation.pool import JobPool
from oragent.search.archive import replay_archive
from oragent.search.auditing import found_out, would_lead
from oragent.search.config import archive_policy
from oragent.search.engine import Engine
from oragent.search.events import Audits, SearchResult
from oragent.search.folder import RunFolder, reopen
from oragent.search.round_context import RoundContext
from oragent.search.scoring import AUDIT_PATIENCE
from oragent.search.selection import draw_parents
from oragent.search.store import Store
from tests.search.test_engine import history, scored

OFFERS = frozenset({"--audit"})
REASON = "decision 7 of the loop is not what the function says on its own"


class Auditor:
    """Evaluations of the toy problem; whoever has ``cheat`` in the text passes all but an audit."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def __call__(self, job: Job) -> Evaluation:
        threading.Event().wait(random.random() / 100)
        self.jobs.append(job)
        if job.arguments and "cheat" in job.source:
            return Evaluation(Status.REJECTED, message=REASON, wall_s=0.001, cpu_s=2.0)
        return replace(scored(job), cpu_s=2.0 if job.arguments else 3.0)

    @property
    def audited(self) -> list[Job]:
        return [job for job in self.jobs if job.arguments]


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


def records(folder: RunFolder) -> list[Any]:
    with Store(folder.database, readonly=True) as store:
        return store.records()


def test_whoever_led_was_audited_and_no_cheat_ever_led(begun) -> None:
    folder, auditor = begun("budget.evaluations=60", "audit_share=1", "audit_lag=0"), Auditor()
    leaders = []
    outcome = search(folder, climb, auditor, observer=lambda progress: leaders.append(progress.best.source))
    assert len(set(leaders)) > 2
    assert not any("cheat" in source for source in leaders)
    assert "cheat" not in (folder.path / "best.py").read_text()
    assert {job.source for job in auditor.audited} >= set(leaders)
    caught = [one.candidate for one in records(folder) if one.candidate.evaluation.status is Status.REJECTED]
    assert caught
    for candidate in caught:
        assert candidate.evaluation.message == f"audited, as it would have led: {REASON}"
        assert candidate.evaluation.score is None
    assert outcome.audits.number == len({job.source for job in auditor.audited})
    assert outcome.audits.failed == len({one.fingerprint for one in caught})


def test_only_the_best_of_a_round_that_would_lead_is_audited_and_the_winner_once_more(begun) -> None:
    folder, auditor = begun("budget.evaluations=40", "strategy.window=1", "audit_share=1"), Auditor()
    outcome = search(folder, climb, auditor, workers=1)
    ordered, usual = records(folder), folder.problem.make_limits(folder.config.limits)
    expected = []
    for at, record in enumerate(ordered):
        archive = replay_archive(archive_policy(folder.config, folder.problem.about.direction), ordered[:at], at)
        full = scored(Job(folder.problem.evaluator, record.source, folder.root, usual))
        if would_lead(record.source, full, archive):
            expected.append(record.source)
    assert [job.source for job in auditor.audited] == [*expected, outcome.progress.best.source]
    assert auditor.audited[0].arguments == ("--audit=10",)  # before anything is known of its cost
    assert auditor.audited[-1].arguments == ("--audit=30",)
    assert {job.limits for job in auditor.audited} == {folder.problem.make_limits(folder.config.limits, AUDIT_PATIENCE)}
    assert {job.limits for job in auditor.jobs if not job.arguments} == {usual}


def test_the_leader_tells_of_its_own_audit_alone_and_of_that_before_a_resume(begun) -> None:
    """Round 2 scores a better program before the audit of round 1 begins."""
    engines: list[Engine] = []
    states: dict[str, str] = {}
    scored_first = asyncio.Event()

    async def climb_in_turn(run: RoundContext) -> None:
        if run.number == 1:
            await scored_first.wait()
        await run.evaluate(f"def guess(x):\n    return {50 + run.number}\n", [], "climb")
        scored_first.set()

    def record_state(job: Job) -> Evaluation:
        leader = engines[0].leader
        if job.arguments and leader is not None:
            states.setdefault(f"{100 - scored(job).score:g} of {100 - leader[0].score:g}", leader[1])
        return scored(job)

    def play(folder: RunFolder, observed: Any = lambda progress: None) -> None:
        pool = JobPool(2, record_state)
        with Store(folder.database) as store:
            try:
                engines[:] = [Engine(folder, store, pool, climb_in_turn, observer=observed, offers=OFFERS)]
                asyncio.run(engines[0].run())
            finally:
                pool.close()

    folder = begun("strategy.window=2", "budget.evaluations=3", "audit_share=1", "audit=10")
    play(folder)
    assert states["51 of 52"] == "not audited yet"
    assert states["52 of 52"] == "audit under way"
    resumed: list[str] = []
    play(reopen(folder.path), lambda progress: resumed.append(engines[0].leader[1]))
    assert set(resumed) == {""}


async def siblings(run: RoundContext) -> None:
    """Four programs, each better than the one before and than all of earlier rounds."""
    for step in range(4):
        await run.evaluate(f"def guess(x):\n    return {100 + 4 * run.number + step - 40}\n", [], "sibling")


def test_of_siblings_that_beat_the_old_best_the_best_alone_is_audited(begun) -> None:
    folder, auditor = begun("budget.evaluations=8", "strategy.window=1", "audit_share=1"), Auditor()
    search(folder, siblings, auditor, workers=1)
    rounds = {record.round for record in records(folder) if record.round}
    assert len(rounds) == 2
    assert len(auditor.audited) == 1 + len(rounds) + 1  # the seed, the best of each round, the winner


def test_audits_keep_to_their_share_and_the_winner_is_audited_in_any_case(begun) -> None:
    async def improve(run: RoundContext) -> None:
        await run.evaluate(f"def guess(x):\n    return {100 - 40 + run.number}\n", [], "improve")

    folder, auditor = begun("budget.evaluations=40", "strategy.window=1"), Auditor()
    outcome = search(folder, improve, auditor, workers=1)
    assert outcome.progress.spent.evaluations > 30
    assert len(auditor.audited) < 8  # each of forty programs led in its turn
    assert auditor.audited[-1].source == outcome.progress.best.source
    assert outcome.audits.winner == "30 decisions of the best"
    first_line = (folder.path / "best.py").read_text().splitlines()[0]
    assert outcome.progress.best.id in first_line
    assert "not audited" not in first_line


def test_a_winner_that_fails_its_audit_is_taken_back_and_the_next_best_wins(begun) -> None:
    class Late(Auditor):
        """Finds the cheat only where the winner is audited."""

        def __call__(self, job: Job) -> Evaluation:
            if job.arguments == ("--audit=10",):
                return super().__call__(replace(job, source=job.source.replace("cheat", "honest")))
            return super().__call__(job)

    async def write(run: RoundContext) -> None:
        cheat = "    cheat = 1\n" if run.number == 2 else ""
        await run.evaluate(f"def guess(x):\n{cheat}    return {100 - 3 + run.number}\n", [], "write")

    told: list[str] = []
    folder = begun("budget.evaluations=3", "strategy.window=1")
    outcome = search(folder, write, Late(), workers=1, tell=told.append)
    assert outcome.progress.best.id == "1.0"
    assert "cheat" not in (folder.path / "best.py").read_text()
    assert [line for line in told if "by program 2.0 is taken back" in line]
    last = records(folder)[-1]
    assert (last.candidate.evaluation.status, last.placed) == (Status.REJECTED, "")
    again = search(reopen(folder.path), write, Late(), workers=1)
    assert again.progress.best.id == "1.0"


def test_audits_find_the_same_at_any_number_of_workers(begun) -> None:
    runs = []
    for workers in (1, 2, 8):
        folder = begun("budget.evaluations=50", "seed=4")
        outcome = search(folder, climb, Auditor(), workers=workers)
        runs.append((history(folder), outcome.audits))
    assert runs[0] == runs[1] == runs[2]


def test_a_resumed_run_audits_nobody_twice_and_finds_the_same(begun) -> None:
    whole, broken = begun("budget.evaluations=40"), begun("budget.evaluations=40")
    search(whole, climb, Auditor())

    class Killed(Exception):
        pass

    def kill(progress) -> None:
        if progress.spent.evaluations >= 15:
            raise Killed

    first, second = Auditor(), Auditor()
    with pytest.raises(Killed):
        search(broken, climb, first, observer=kill)
    search(reopen(broken.path), climb, second)
    assert history(whole) == history(broken)
    assert not {job.source for job in first.audited} & {job.source for job in second.audited}


def test_audit_null_audits_nobody_and_says_nothing(begun) -> None:
    folder, auditor, told = begun("budget.evaluations=20", "audit=null"), Auditor(), []
    outcome = search(folder, climb, auditor, tell=told.append)
    assert not auditor.audited
    assert outcome.audits.number == 0
    assert told == []
    search(begun("budget.evaluations=5", "audit=null"), climb, auditor, offers=frozenset(), tell=told.append)
    assert told == []


@pytest.mark.parametrize("then", ["null", "12"])
def test_a_resumed_run_may_be_audited_otherwise(begun, then: str) -> None:
    folder = begun("budget.evaluations=10")
    search(folder, climb, Auditor())
    again = reopen(folder.path, [f"audit={then}", "budget.evaluations=30"])
    auditor = Auditor()
    search(again, climb, auditor)
    assert {job.arguments for job in auditor.audited} == (set() if then == "null" else {("--audit=12",)})


def test_an_evaluator_without_audits_is_told_of_once_in_the_life_of_a_run(begun) -> None:
    folder, told = begun("budget.evaluations=5"), []
    search(folder, climb, Auditor(), offers=frozenset(), tell=told.append)
    assert [line.partition(":")[0] for line in told] == ["this evaluator has no --audit"]
    search(reopen(folder.path, ["budget.evaluations=10"]), climb, Auditor(), offers=frozenset(), tell=told.append)
    assert len(told) == 1
    with Store(folder.database, readonly=True) as store:
        assert store.remarks() == told


def test_in_a_cascade_only_full_scores_are_audited(begun) -> None:
    folder, auditor = begun("budget.evaluations=40", "cascade=0.5"), Auditor()
    search(folder, climb, auditor)
    assert auditor.audited
    assert {job.mode for job in auditor.audited} == {None}
    assert "train" in {job.mode for job in auditor.jobs}


def test_a_cheat_that_a_round_knows_of_is_not_scored_again(begun) -> None:
    async def insist(run: RoundContext) -> None:
        for name in ("y", "z"):  # equal programs
            await run.evaluate(f"def guess(x):\n    cheat = {name} = 100\n    return cheat\n", [], "insist")

    folder, auditor = begun("strategy.patience=4"), Auditor()
    outcome = search(folder, insist, auditor)
    assert outcome.progress.best is not None
    assert outcome.progress.best.id == "0.0"
    assert len([job for job in auditor.jobs if "cheat" in job.source]) == 2  # one evaluation, one audit
    assert outcome.progress.spent.evaluations == 2
    assert {record.placed for record in records(folder)[1:]} == {""}


def test_a_seed_that_fails_its_audit_ends_the_run_with_the_reason(begun, toy) -> None:
    (toy / "heuristic.py").write_text("def guess(x):\n    cheat = 1\n    return x * 2.0\n")
    with pytest.raises(ProblemError, match=f"the seed heuristic of toy fails: rejected: audited.*{REASON}"):
        search(begun(), climb, Auditor())


def test_a_random_leader_is_rejected_and_where_its_chance_comes_from_is_told(begun) -> None:
    told: list[str] = []

    def chancy(job: Job) -> Evaluation:
        found = scored(replace(job, source=job.source.replace("__import__('os').urandom(1)[0]", "3")))
        off = 0.25 if job.arguments and "default_rng" in job.source else 0.0
        return replace(found, score=None if found.score is None else found.score + off)

    async def draw(run: RoundContext) -> None:
        source = "import numpy as np\ndef guess(x):\n    np.random.default_rng()\n    return 100\n"
        await run.evaluate(source, [], "draw")

    folder = begun("budget.evaluations=2", "strategy.patience=2", "audit_lag=0")
    outcome = search(folder, draw, chancy, tell=told.append)
    assert outcome.progress.best.id == "0.0"
    message = records(folder)[1].candidate.evaluation.message
    assert "it got 0.0 first, and 0.25 when it was evaluated again" in message
    assert "np.random.default_rng() in line 3 has no seed: write np.random.default_rng(0)" in message
    assert [line for line in told if "random by itself" in line]
    assert len(told) == 1


@pytest.mark.parametrize(
    ("audit", "expected"),
    [
        (Evaluation(Status.OK, 3.0, (1,)), ""),
        (Evaluation(Status.OK, 3.0 + 1e-12, (1,)), ""),
        (Evaluation(Status.OK, 4.0, (1,)), "it got 3.0 first, and 4.0 when it was evaluated again"),
        (Evaluation(Status.REJECTED, message="decision 2 differs"), "decision 2 differs"),
        (
            Evaluation(Status.TIMEOUT, message="no result within 9 s"),
            "the audit ended as timeout: no result within 9 s",
        ),
    ],
)
def test_what_an_audit_means(audit: Evaluation, expected: str) -> None:
    full = Evaluation(Status.OK, 3.0, (1,), {"figure": 1}, wall_s=2.0)
    rejected = found_out(full, audit, "a hint")
    if not expected:
        assert rejected is None
    else:
        assert rejected is not None
        assert (rejected.status, rejected.score, rejected.features) == (Status.REJECTED, None, None)
        assert rejected.message == f"audited, as it would have led: {expected}; a hint"
        assert rejected.was_started


def test_the_cost_of_audits_is_counted(begun) -> None:
    folder, auditor = begun("budget.evaluations=30"), Auditor()
    audits = search(folder, climb, auditor).audits
    assert audits.cpu_s == pytest.approx(2.0 * len(auditor.audited))
    plain = [job for job in auditor.jobs if not job.arguments]
    failures = sum(scored(job).score is None for job in plain)
    assert audits.all_cpu_s == pytest.approx(2.0 * len(auditor.audited) + 3.0 * len(plain))
    assert failures == 0
    assert str(Audits(1, 0, 1.0, 50.0)) == "1 program that would have led, none rejected; 2.0 % of the CPU time"


def test_a_program_whose_guests_take_long_to_begin_is_audited_by_fewer_decisions(begun) -> None:
    jobs: list[Job] = []

    def compiling(job: Job) -> Evaluation:
        jobs.append(job)
        if job.arguments != ("--audit=5",) and job.arguments and "np" in job.source:
            return Evaluation(Status.TIMEOUT, message="too long", wall_s=1.0, cpu_s=60.0)
        return scored(job)

    async def write(run: RoundContext) -> None:
        await run.evaluate("import numpy as np\ndef guess(x):\n    return 100\n", [], "write")

    folder, told = begun("budget.evaluations=2", "strategy.patience=2"), []
    outcome = search(folder, write, compiling, tell=told.append)
    assert outcome.progress.best.score == 0
    assert [job.arguments for job in jobs if "np" in job.source] == [(), ("--audit=10",), ("--audit=5",)]
    assert len(told) == 1
    assert "5 then" in told[0]
    assert outcome.audits.number == 2  # programs: the seed, and this one
