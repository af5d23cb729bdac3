"""Runs end cleanly, lose nothing, and find the same however they are scheduled."""

import asyncio
import random
import runpy
import threading
import time

import pytest

from oragent._base.errors import BudgetExhausted, ModelError, OragentError, ProblemError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job, run_evaluation
from oragent.evaluation.pool import JobPool
from oragent.llm.model import Message, Reply, Request
from oragent.search.engine import Engine
from oragent.search.events import SearchResult
from oragent.search.folder import RunFolder, reopen
from oragent.search.round_context import RoundContext
from oragent.search.selection import draw_parents
from oragent.search.store import Store


def scored(job: Job) -> Evaluation:
    """An instant evaluation of the toy problem, in our own process."""
    names: dict = {}
    try:
        exec(job.source, names)
        value = float(names["guess"](3))
        return Evaluation(Status.OK, abs(100 - value), (int(value) % 7,), {"value": value}, wall_s=0.001)
    except Exception as problem:
        return Evaluation(Status.ERROR, message=str(problem), wall_s=0.001)


def jittery(job: Job) -> Evaluation:
    threading.Event().wait(random.random() / 50)
    return scored(job)


async def climb(run: RoundContext) -> None:
    """A strategy for tests: change the parent's number, sometimes into a program that fails."""
    (parent,) = draw_parents(run.archive, run.island, 1, run.rng)
    number = run.rng.integers(60)
    body = "1 / 0" if number < 5 else f"{number} + {parent.score}"
    await run.evaluate(f"def guess(x):\n    return {body}\n", [parent.id], "climb")


def search(
    folder: RunFolder, strategy=climb, *, run=scored, model=None, workers=2, observer=lambda progress: None
) -> SearchResult:
    pool = JobPool(workers, run)
    with Store(folder.database) as store:
        try:
            return asyncio.run(Engine(folder, store, pool, strategy, model, observer).run())
        finally:
            pool.close()


def history(folder: RunFolder) -> list:
    with Store(folder.database, readonly=True) as store:
        return [
            (
                record.id,
                record.candidate.source,
                record.candidate.parents,
                record.candidate.island,
                record.placed,
                record.candidate.evaluation.score,
            )
            for record in store.records()
        ]


def test_a_budget_of_evaluations_is_spent_to_the_last_and_not_beyond(begun) -> None:
    folder = begun("budget.evaluations=30")
    outcome = search(folder)
    assert outcome.complete
    assert outcome.reason == "the budget of 30 evaluations is used up"
    assert outcome.progress.spent.evaluations == 30
    with Store(folder.database) as store:
        fingerprints = {record.candidate.fingerprint for record in store.records()}
    assert len(fingerprints) == 30


def test_a_run_at_one_size_asks_for_it_alone(begun) -> None:
    asked = []

    def noting(job: Job) -> Evaluation:
        asked.append((job.mode, job.problem_size))
        return scored(job)

    search(begun("budget.evaluations=5", "problem_size=200", "cascade=0.5"), run=noting)
    assert set(asked) == {("train", 200), (None, 200)}


def test_another_seed_finds_something_else(begun) -> None:
    first, second = begun("seed=1", "budget.evaluations=10"), begun("seed=2", "budget.evaluations=10")
    search(first)
    search(second)
    assert history(first) != history(second)


def test_a_finished_run_goes_on_with_a_larger_budget(begun) -> None:
    folder = begun("budget.evaluations=10")
    search(folder)
    before = history(folder)
    assert search(reopen(folder.path)).progress.spent.evaluations == 10
    outcome = search(reopen(folder.path, ["budget.evaluations=25"]))
    assert outcome.progress.spent.evaluations == 25
    assert history(folder)[: len(before)] == before


def test_best_py_is_always_the_best_so_far_and_importable(begun) -> None:
    folder = begun("budget.evaluations=25")

    def look(progress) -> None:
        best = runpy.run_path(str(folder.path / "best.py"))["guess"]
        assert abs(100 - best(3)) <= progress.best.score  # one that is scored may wait for its round's commitment

    outcome = search(folder, observer=look)
    assert abs(100 - runpy.run_path(str(folder.path / "best.py"))["guess"](3)) == outcome.progress.best.score
    kept = {path.name for path in (folder.path / "candidates").iterdir()}
    assert outcome.progress.best.id in kept


def test_a_failed_candidate_has_no_score_and_no_place(begun) -> None:
    folder = begun("budget.evaluations=40")
    search(folder)
    failed = [record for record in history(folder) if record[5] is None]
    assert failed
    assert all(placed == "" for *_, placed, _ in failed)


def test_equal_programs_are_scored_once(begun) -> None:
    calls = []

    def counting(job: Job) -> Evaluation:
        calls.append(job.source)
        return jittery(job)

    async def same(run: RoundContext) -> None:
        for source in ("def guess(x):\n    y = x\n    return y", "def guess(x):  # again\n    z = x\n    return z\n"):
            await run.evaluate(source, [], "same")

    folder = begun("strategy.patience=5")
    outcome = search(folder, same, run=counting)
    assert len(calls) == 2  # the seed and the one program
    assert outcome.progress.spent.evaluations == 2
    assert outcome.reason.startswith("no new program to score in 5 rounds")
    assert not outcome.complete


def test_a_broken_seed_ends_the_run_with_its_own_error(begun, toy) -> None:
    (toy / "heuristic.py").write_text("def guess(x):\n    return 1 / 0\n")
    with pytest.raises(ProblemError, match="division by zero"):
        search(begun(), run=run_evaluation)


def test_a_stop_keeps_what_is_being_evaluated(begun) -> None:
    folder, engines = begun("budget.evaluations=100"), []
    pool = JobPool(2, jittery)
    with Store(folder.database) as store:

        def stop(progress) -> None:
            if progress.spent.evaluations == 10:
                engines[0].stop("stopped by a test")

        engines.append(Engine(folder, store, pool, climb, None, stop))
        outcome = asyncio.run(engines[0].run())
        pool.close()
        evaluated = store._db.query_row("SELECT COUNT(*) AS number FROM evaluations")["number"]
    assert outcome.reason == "stopped by a test"
    assert not outcome.complete
    assert outcome.progress.spent.evaluations == evaluated


def test_a_budget_of_seconds_counts_over_all_sittings(begun) -> None:
    folder = begun("budget.evaluations=null", "budget.seconds=0.4")
    outcome = search(folder, run=jittery)
    assert outcome.complete
    assert outcome.reason == "the budget of 0.4 seconds is used up"
    again = search(reopen(folder.path), run=jittery)
    assert again.progress.spent.evaluations == outcome.progress.spent.evaluations
    assert len(history(folder)) == len({record[0] for record in history(folder)})


def test_what_waits_for_a_worker_when_time_is_up_is_not_begun(begun) -> None:
    starts: list[float] = []

    def slow(job: Job) -> Evaluation:
        starts.append(time.monotonic())
        threading.Event().wait(0.3)
        return scored(job)

    folder = begun("budget.evaluations=null", "budget.seconds=0.8", "strategy.window=8")
    outcome = search(folder, run=slow, workers=1)
    assert outcome.reason == "the budget of 0.8 seconds is used up"
    assert starts[-1] - starts[0] < 1.5  # seven others waited, which would have taken two seconds
    assert outcome.progress.spent.evaluations == len(starts)


@pytest.fixture
def hanging():
    """Evaluations that end when the test does, but for that of the seed."""
    over, begun = threading.Event(), []

    def run(job: Job) -> Evaluation:
        begun.append(job.source)
        if len(begun) > 1:
            over.wait(60)
        return scored(job)

    run.begun = begun
    yield run
    over.set()


@pytest.mark.slow
def test_what_is_under_way_when_time_and_grace_are_over_is_ended(begun, hanging) -> None:
    folder = begun("budget.seconds=0.2", "strategy.window=2")
    outcome = search(folder, run=hanging)
    assert outcome.complete
    assert outcome.reason == ("the budget of 0.2 seconds is used up; 2 evaluations or model calls were ended 1 s later")
    assert outcome.progress.spent.evaluations == 1
    assert len(hanging.begun) == 3
    with Store(folder.database, readonly=True) as store:
        assert store.meta("end") == outcome.reason


def test_a_model_that_does_not_answer_holds_up_no_end(begun) -> None:
    async def silent(request: Request) -> Reply:
        await asyncio.sleep(60)
        raise AssertionError("it should have been given up")

    outcome = search(begun("budget.seconds=0.2", "strategy.window=1"), told, model=silent)
    assert outcome.reason.endswith("is used up; one evaluation or model call was ended 1 s later")


@pytest.mark.slow
def test_what_a_round_paid_for_before_its_time_was_over_is_kept(begun, hanging) -> None:
    async def two(run: RoundContext) -> None:
        if run.number == 1:
            hanging.begun.clear()
            await run.evaluate("def guess(x):\n    return 99.0\n", ["0.0"], "first")
        await run.evaluate(f"def guess(x):\n    return {run.number}\n", ["0.0"], "second")

    outcome = search(begun("budget.seconds=0.3", "strategy.window=1"), two, run=hanging)
    assert outcome.progress.best.score == 1.0
    assert outcome.progress.spent.evaluations == 2


@pytest.mark.slow
def test_a_seed_that_takes_longer_than_the_time_is_one_line(begun, hanging) -> None:
    hanging.begun.append("as if it were not the first")
    with pytest.raises(BudgetExhausted) as caught:
        search(begun("budget.seconds=0.2"), run=hanging)
    assert "\n" not in str(caught.value)


class Oracle:
    """A model that names the next number; every fifth call fails for good, if so wished."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.calls, self.fail_at = 0, fail_at

    async def __call__(self, request: Request) -> Reply:
        self.calls += 1
        if self.calls == self.fail_at:
            raise ModelError("the server is gone")
        await asyncio.sleep(random.random() / 100)
        number = sum(map(ord, request.messages[0].content)) % 90
        return Reply(f"{number}", model="oracle", tokens_in=10, tokens_out=5, money=0.25, seconds=0.01)


async def told(run: RoundContext) -> None:
    best = run.archive.best
    reply = await run.ask("code", [Message("user", f"{run.number} {best.score} {best.metrics}")])
    await run.evaluate(f"def guess(x):\n    return {reply.text} + {run.number}\n", [best.id], "code", reply.call)


@pytest.mark.parametrize(
    ("budget", "calls"), [("budget.model_calls=7", 7), ("budget.tokens=90", 6), ("budget.money=2.5", 10)]
)
def test_budgets_of_a_model_end_the_run(begun, budget: str, calls: int) -> None:
    outcome = search(begun(budget, "strategy.window=1"), told, model=Oracle())
    assert outcome.complete
    assert outcome.progress.spent.model_calls == calls
    assert outcome.progress.spent.tokens == 15 * calls
    assert outcome.progress.spent.money == 0.25 * calls


def test_a_model_that_wants_to_learn_is_told_of_every_round_in_order_and_of_what_it_gained_and_took(begun) -> None:
    class Curious(Oracle):
        def __init__(self) -> None:
            super().__init__()
            self.begun: list[int] = []
            self.settled: list[tuple[int, float, float, int]] = []

        def begin_round(self, number: int) -> None:
            self.begun.append(number)

        def settle_round(self, number: int, reward: float, money: float, tokens: int) -> None:
            self.settled.append((number, reward, money, tokens))

    model = Curious()
    folder = begun("budget.evaluations=12")
    search(folder, told, model=model)
    assert model.begun == sorted(model.begun)
    assert [number for number, *_ in model.settled] == model.begun
    assert model.settled[0] == (0, 0.0, 0.0, 0)  # the seed
    assert all((money, tokens) == (0.25, 15) for _, _, money, tokens in model.settled[1:])
    best = {record[0] for record in history(folder) if record[5] is not None}
    gained = {number for number, reward, *_ in model.settled if reward == 1.0}
    assert gained <= {int(name.partition(".")[0]) for name in best}
    assert gained


def test_a_dead_model_ends_the_run_and_a_resumed_one_pays_for_nothing_twice(begun) -> None:
    whole, broken = begun("budget.evaluations=12"), begun("budget.evaluations=12")
    search(whole, told, model=Oracle())
    outcome = search(broken, told, model=Oracle(fail_at=6))
    assert outcome.reason == "the server is gone"
    assert not outcome.complete
    with Store(broken.database) as store:
        paid = len(store.replies.all_replies())
    model = Oracle()
    search(reopen(broken.path), told, model=model)
    assert history(broken) == history(whole)
    with Store(broken.database) as store:
        assert model.calls == len(store.replies.all_replies()) - paid


def test_a_run_that_changed_its_evaluator_cannot_be_resumed(begun, toy) -> None:
    folder = begun("budget.evaluations=3")
    search(folder)
    (toy / "eval.py").write_text("print('other')")
    with pytest.raises(ProblemError):
        reopen(folder.path)


def test_running_again_never_overwrites(begun) -> None:
    assert len({begun().path for _ in range(5)}) == 5


def test_a_round_knows_the_state_before_it_began(begun) -> None:
    seen: list[tuple] = []

    async def look(run: RoundContext) -> None:
        run.note("seen", str(run.number))
        texts = [note.text for note in run.recall("seen")]
        seen.append((run.number, run.horizon, run.island, run.spent.evaluations, texts))
        for step in range(2):
            await run.evaluate(f"def guess(x):\n    return {run.number}.{step}\n", [], "look")

    search(begun("budget.evaluations=7", "strategy.window=1", "archive.islands=2"), look, workers=1)
    assert seen == [(1, 0, 1, 1, []), (2, 1, 0, 3, ["1"]), (3, 2, 1, 5, ["1", "2"])]


def test_a_stop_begins_no_further_evaluation_in_a_running_round(begun) -> None:
    folder, engines, sources = begun("budget.evaluations=100"), [], []
    pool = JobPool(1, lambda job: sources.append(job.source) or scored(job))

    async def stop_between(run: RoundContext) -> None:
        await run.evaluate("def guess(x):\n    return 1\n", [], "first")
        engines[0].stop()
        await run.evaluate("def guess(x):\n    return 2\n", [], "second")

    with Store(folder.database) as store:
        engines.append(Engine(folder, store, pool, stop_between))
        outcome = asyncio.run(engines[0].run())
        pool.close()
    assert not any("return 2\n" in source for source in sources)
    assert not outcome.complete


def test_a_round_that_fails_lets_no_other_begin_new_work(begun) -> None:
    folder, sources, both = begun("budget.evaluations=100", "strategy.window=2"), [], asyncio.Event()

    async def fail_beside(run: RoundContext) -> None:
        if run.number == 1:
            await both.wait()
            raise ValueError("a bug")
        both.set()
        for _ in range(200):
            if run.context.stopped:
                break
            await asyncio.sleep(0.005)
        await run.evaluate("def guess(x):\n    return 2\n", [], "late")

    with pytest.raises(OragentError):
        search(folder, fail_beside, run=lambda job: sources.append(job.source) or scored(job))
    assert not any("return 2\n" in source for source in sources)
