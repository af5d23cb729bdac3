"""Scoring of programs: what is run for each kind of evaluation, what is stored, and what is run only once."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from oragent._base.protocol import Status
from oragent._base.racing import BEHAVIOUR
from oragent.evaluation import Evaluation, Job
from oragent.evaluation.capabilities import (
    CHECK,
    DEVICE,
    FLOOR,
    FRESH_SEED,
    HEURISTIC_S,
    INSTANCES,
    OBSERVER,
    PRACTICE,
    PROTOCOL,
    RACE,
    WORK,
)
from oragent.evaluation.job import BELOW_FLOOR, COMPILED, KEEP, KEPT_METRIC, TRAIN
from oragent.evaluation.problem import WorkSettings
from oragent.search import scoring as scoring_module
from oragent.search.archive import Archive
from oragent.search.candidate import Candidate, Elite
from oragent.search.coarse_times import round_coarsely
from oragent.search.evaluation_key import EvaluationKey, EvaluationKind, impure_text, screened_text
from oragent.search.experiments import SECONDS, Subset
from oragent.search.folder import RunFolder
from oragent.search.scoring import MIN_SLEEP_S, PROBED, SLEEP_FACTOR, Gate, Scoring, Seen, plan_job, reject_leader
from oragent.search.store import Store


def guess(value: object) -> str:
    return f"def guess(x):\n    return {value}\n"


def ok(score: float | None = 1.0, **changes: Any) -> Evaluation:
    return Evaluation(Status.OK, score, **({"wall_s": 0.1, "cpu_s": 0.1} | changes))


FAILED = Evaluation(Status.ERROR, message="no more", wall_s=0.1)


class Pool:
    """Evaluations in this process: the result of each job is that of a function."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.asked: list[tuple[str, int]] = []
        self.answer: Callable[[Job], Evaluation] = lambda job: ok()

    async def evaluate(self, job: Job, admit: Callable[[], None], what: str = "", order: int = 0) -> Evaluation:
        admit()
        self.jobs.append(job)
        self.asked.append((what, order))
        await asyncio.sleep(0)
        return self.answer(job)


class Bench:
    """A scorer on a problem and settings of a test, with its store and pool."""

    def __init__(self, folder: RunFolder, store: Store, offers: Sequence[str], problem: Any, cache: Any) -> None:
        self.told: list[str] = []
        self.pool, self.store, self.folder, self.problem = Pool(), store, folder, problem
        self.archive, self.known, self.tried = Archive("minimize"), set[str](), list[Candidate]()
        self.admitted = 0
        self.scoring = Scoring(
            problem,
            folder.root,
            folder.config,
            store,
            self.pool,
            lambda: 7.0,
            frozenset(offers),
            self.told.append,
            cache,
        )
        self.seen = Seen(self.archive, self.tried, self.known.__contains__, self.admit, "work", 3)

    def admit(self) -> None:
        self.admitted += 1

    def score(self, source: str, gate: Any = None) -> tuple[str, Evaluation]:
        found = asyncio.run(self.scoring.score(source, self.seen, gate))
        return found.name, found.evaluation

    def fingerprint(self, source: str) -> str:
        return self.scoring.fingerprint(source)

    def add(self, score: float, **metrics: Any) -> None:
        name = f"{len(self.archive.elites())}.9"
        self.archive.add(Elite(id=name, source=guess(name), score=score, features=None, metrics=metrics), 0)


@pytest.fixture
def bench(begun) -> Iterator[Callable[..., Bench]]:
    opened: list[Store] = []

    def make(*settings: str, offers: Sequence[str] = (CHECK,), cache: Any = None, **about: Any) -> Bench:
        folder = begun(*settings)
        problem = replace(folder.problem, about=replace(folder.problem.about, **about))
        opened.append(Store(folder.database))
        return Bench(folder, opened[-1], offers, problem, cache)

    yield make
    for store in opened:
        store.close()


SIZES: dict[str, Any] = {"train": [20, 10], "val": [20, 50]}


def candidate(bench: Bench, source: str, score: float | None = 1.0) -> Candidate:
    return Candidate(
        source=source,
        fingerprint=bench.fingerprint(source),
        parents=(),
        origin="code",
        island=0,
        call=0,
        evaluation=ok(score, features=(2.0,), traceback="of the score"),
    )


# --- scores ----------------------------------------------------------------------------------------------------------


def test_a_program_is_scored_once_and_equal_ones_have_its_score(bench) -> None:
    made = bench("problem_size=50")
    made.pool.answer = lambda job: ok(4.0, log="seen")
    name, evaluation = made.score(guess("1 + x"))
    assert (name, evaluation.score) == (made.fingerprint(guess("1 + x")), 4.0)
    assert made.score("def guess(x):  # the same\n    return 1 + x\n") == (name, evaluation)
    (job,) = made.pool.jobs
    assert (job.source, job.mode, job.problem_size, job.arguments, job.observer) == (guess("1 + x"), None, 50, (), "")
    assert job.limits == made.problem.make_limits(made.folder.config.limits)
    assert made.pool.asked == [("work", 3)]
    assert made.admitted == 1
    assert made.store.evaluation(name) == evaluation
    made.known.add(name)
    assert made.score(guess("1 + x")) == (name, evaluation)
    assert len(made.pool.jobs) == 1


def test_an_evaluation_is_what_a_resumed_run_reads(bench) -> None:
    made = bench()
    made.pool.answer = lambda job: ok(4.0, metrics={"pair": (1, 2)})
    assert made.score(guess(5))[1].metrics == {"pair": [1, 2]}


def test_equal_programs_at_the_same_time_are_run_once(bench) -> None:
    made = bench()

    async def both() -> Any:
        works = [made.scoring.score(guess(5), made.seen) for _ in range(3)]
        return await asyncio.gather(*works)

    first, *others = asyncio.run(both())
    assert others == [first] * 2
    assert len(made.pool.jobs) == 1


def test_running_evaluations_can_be_given_up(bench) -> None:
    made = bench()

    async def stop() -> None:
        over = asyncio.Event()

        async def wait(job: Job, admit: Any, what: str, order: int) -> Evaluation:
            over.set()
            await asyncio.sleep(60)
            return ok()

        made.pool.evaluate = wait
        scoring = asyncio.ensure_future(made.scoring.score(guess(5), made.seen))
        await over.wait()
        made.scoring.give_up()
        with pytest.raises(asyncio.CancelledError):
            await scoring

    asyncio.run(stop())
    assert made.store.evaluation(made.fingerprint(guess(5))) is None


def test_a_text_without_a_program_is_rejected_and_stored(bench) -> None:
    made = bench()
    name, evaluation = made.score("def other(x):\n    return 1\n")
    assert evaluation.status is Status.REJECTED
    assert evaluation.message
    assert made.store.evaluation(name) == evaluation
    rejected = made.scoring.reject("text", "why")
    assert rejected.name == hashlib.sha256(b"text").hexdigest()
    assert (rejected.evaluation.status, rejected.evaluation.message) == (Status.REJECTED, "why")
    assert made.scoring.reject("\ud800", "why").evaluation.status is Status.REJECTED
    assert made.pool.jobs == []


def test_a_program_that_failed_its_check_stays_rejected(bench) -> None:
    made = bench()
    print_of = made.fingerprint(guess(5))
    rejected = Evaluation(Status.REJECTED, message="no function")
    name = made.scoring.store_impure(print_of, rejected)
    assert name == impure_text(print_of)
    # Rounds that do not know of the check score it.
    assert made.score(guess(5))[0] == print_of
    made.known.add(name)
    found_name, found = made.score(guess(5))
    assert (found_name, found.status, found.message) == (name, Status.REJECTED, "no function")
    unknown = guess(6)
    made.known.add(impure_text(made.fingerprint(unknown)))
    assert made.score(unknown)[1].status is Status.OK


def test_a_program_near_an_elite_or_a_program_of_the_round_is_rejected_if_it_is_new(bench) -> None:
    long = (
        "def guess(x):\n"
        + "".join(f"    y = x * {number} + x\n    x = y\n" for number in range(12))
        + "    return {}\n"
    )
    near, far = long.format("x + 1"), guess(99)
    for settings, by_elite, is_rejected in (
        (("strategy.novelty=0.1",), True, True),
        (("strategy.novelty=0.1",), False, True),
        (("strategy.novelty=0",), True, False),
    ):
        made = bench(*settings)
        if by_elite:
            made.archive.add(Elite(id="4.2", source=long.format("x"), score=1.0, features=None, metrics={}), 0)
        else:
            made.tried.append(replace(candidate(made, far), origin="probe"))
            made.tried.append(candidate(made, long.format("x")))
        name, evaluation = made.score(near)
        assert (evaluation.status is Status.REJECTED) is is_rejected
        if is_rejected:
            assert ("4.2" in evaluation.message) is by_elite
            assert name != made.fingerprint(near)
        assert made.score(far)[1].status is Status.OK
        # An equal program of another round has its score.
        made.known.add(made.fingerprint(near))
        assert made.score(near)[1].status is Status.OK
    for unlike in ("probe", None):
        made = bench("strategy.novelty=0.1")
        given = candidate(made, long.format("x"), None if unlike is None else 1.0)
        made.tried.append(replace(given, origin=unlike or "code"))
        assert made.score(near)[1].status is Status.OK


# --- gates and stages ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quick", "jobs", "status"),
    [(5.0, 2, Status.OK), (4.0, 2, Status.OK), (5.01, 1, Status.SCREENED), (None, 1, Status.ERROR)],
)
def test_a_gate_scores_at_one_size_first(bench, quick: float | None, jobs: int, status: Status) -> None:
    made = bench()
    made.pool.answer = lambda job: (FAILED if quick is None else ok(quick)) if job.problem_size == 20 else ok(9.0)
    name, evaluation = made.score(guess(5), lambda source: Gate(20, 5.0) if source == guess(5) else None)
    assert [job.problem_size for job in made.pool.jobs] == [20, None][:jobs]
    assert evaluation.status is status
    print_of = made.fingerprint(guess(5))
    assert name == (screened_text(print_of) if status is Status.SCREENED else print_of)
    assert made.store.evaluation(name) == evaluation
    assert evaluation.score == (9.0 if status is Status.OK else None)
    if status is Status.SCREENED:
        assert "20" in evaluation.message
    assert made.score(guess(6), lambda source: None)[1].status is Status.OK
    assert made.pool.jobs[-1].problem_size is None


@pytest.mark.parametrize(("quick", "stages"), [(2.0, ["train", None]), (7.0, ["train"]), (None, ["train"])])
def test_a_cascade_scores_on_train_first(bench, quick: float | None, stages: list[str | None]) -> None:
    made = bench("cascade=0.5")
    for score in (1.0, 3.0, 5.0):
        made.add(score, **{TRAIN: score + 1.0})
    made.pool.answer = lambda job: (FAILED if quick is None else ok(quick)) if job.mode == "train" else ok(9.0)
    name, evaluation = made.score(guess(5))
    assert [job.mode for job in made.pool.jobs] == stages
    assert made.pool.asked[0][0].endswith("train")
    print_of = made.fingerprint(guess(5))
    if quick == 2.0:
        assert (name, evaluation.score, evaluation.metrics[TRAIN]) == (print_of, 9.0, 2.0)
        assert made.pool.asked[1][0] == "work"
    elif quick is None:
        assert (name, evaluation.status) == (print_of, Status.ERROR)
    else:
        assert (name, evaluation.status) == (screened_text(print_of), Status.SCREENED)
        assert made.score(guess(5))[1] == evaluation
    assert made.store.evaluation(name) == evaluation


@pytest.mark.parametrize("offers", [[FLOOR], []])
@pytest.mark.parametrize("below", [True, False])
def test_a_floor_ends_a_full_evaluation_early(bench, offers: list[str], below: bool) -> None:
    made = bench("cascade=0.5", offers=offers)
    for score in (1.0, 3.0, 9.0):
        made.add(score, **{TRAIN: 8.0})
    made.pool.answer = lambda job: ok(2.0, metrics={BELOW_FLOOR: below} if job.mode is None else {})
    name, evaluation = made.score(guess(5))
    assert made.pool.jobs[1].arguments == ((f"{FLOOR}=3.0",) if offers else ())
    assert evaluation.status is (Status.SCREENED if below else Status.OK)
    assert name == (screened_text if below else str)(made.fingerprint(guess(5)))
    first = bench("cascade=0.5", offers=offers)
    first.score(guess(5))
    assert first.pool.jobs[1].arguments == ()


def test_a_floor_is_part_of_the_key(bench) -> None:
    made = bench("cascade=0.5", offers=[FLOOR])
    made.add(3.0, **{TRAIN: 8.0})
    made.score(guess(5))
    key = EvaluationKey(made.fingerprint(guess(5)), EvaluationKind.FLOOR, "3.0")
    assert made.store.evaluation(key) is not None


VALUES = {"20": [1.0, 2.0]}


def test_a_race_ends_early_and_is_stored_by_its_terms(bench) -> None:
    made = bench("race=0.5", offers=[RACE])
    made.add(1.0, by_instance=VALUES)
    made.pool.answer = lambda job: Evaluation(Status.SCREENED, message="out of reach", wall_s=0.1)
    name, evaluation = made.score(guess(5))
    (job,) = made.pool.jobs
    (argument,) = job.arguments
    terms = json.loads(argument.removeprefix(f"{RACE}="))
    assert (terms["bar"], terms["probes"]) == (VALUES, 0)
    assert name.startswith("raced ")
    assert evaluation.status is Status.SCREENED
    assert made.store.evaluation(name) == evaluation
    assert made.store.evaluation(made.fingerprint(guess(5))) is None
    assert made.score(guess(5)) == (name, evaluation)
    assert len(made.pool.jobs) == 1


def test_a_race_to_the_end_is_the_score_of_the_program(bench) -> None:
    made = bench("race=0.5", "twins=2", offers=[RACE])
    made.add(1.0, by_instance=VALUES)
    made.pool.answer = lambda job: ok(0.5, metrics={"by_instance": {"20": [0.0, 1.0, 0.0, 1.0]}, BEHAVIOUR: "abc"})
    name, evaluation = made.score(guess(5))
    assert (name, evaluation.score) == (made.fingerprint(guess(5)), 0.5)
    assert json.loads(made.pool.jobs[0].arguments[0].partition("=")[2])["probes"] == 2
    assert made.store.evaluation(name) == evaluation
    # An elite that answers alike ends the race by the known result, without another run.
    twin = Elite(id="9.0", source=guess(7), score=0.4, features=None, metrics={"by_instance": VALUES, BEHAVIOUR: "abc"})
    made.archive.add(twin, 0)
    later_name, later = made.score(guess(5))
    assert (later.status, len(made.pool.jobs)) == (Status.SCREENED, 1)
    assert later_name.startswith("raced ")
    assert made.store.evaluation(later_name) == later


def test_races_need_settings_and_an_evaluator_that_offers_them(bench) -> None:
    plain = bench(offers=[RACE, CHECK])
    plain.score(guess(5))
    assert plain.pool.jobs[0].arguments == ()
    assert plain.told == []
    for setting in ("race=0.5", "twins=1"):
        missing = bench(setting)
        missing.score(guess(5))
        assert missing.pool.jobs[0].arguments == ()
        assert len(missing.told) == 1
    twins = bench("twins=1", offers=[RACE])
    twins.score(guess(5))
    assert twins.pool.jobs[0].arguments[0].startswith(RACE)


# --- options and limits ----------------------------------------------------------------------------------------------


def test_evaluations_have_the_options_that_the_evaluator_offers(bench) -> None:
    made = bench("limits.heuristic_s=3", "protocol=study", offers=[HEURISTIC_S, DEVICE, PROTOCOL, CHECK])
    made.score(guess(5))
    assert set(made.pool.jobs[0].arguments) == {f"{HEURISTIC_S}=3", f"{DEVICE}=cpu", f"{PROTOCOL}=study"}
    assert made.told == []
    bare = bench("limits.heuristic_s=3", "protocol=study", offers=[])
    bare.score(guess(5))
    assert bare.pool.jobs[0].arguments == ()
    assert len(bare.told) == 3
    assert len(bench(offers=[]).told) == 1


def test_a_program_may_sleep_for_some_times_the_seed(bench) -> None:
    for wall_s, idle_s in ((10.0, SLEEP_FACTOR * 10.0), (0.01, MIN_SLEEP_S), (1e6, None)):
        made = bench()
        whole = made.problem.make_limits(made.folder.config.limits)
        made.scoring.take_limits(ok(wall_s=wall_s if wall_s < 1e5 else whole.idle_s))
        made.score(guess(5))
        assert made.pool.jobs[0].limits.idle_s == min(whole.idle_s, idle_s or whole.idle_s)
        assert made.pool.jobs[0].limits.cpu_s == whole.cpu_s


@pytest.mark.parametrize(
    ("subset", "size", "done", "patience"),
    [
        (Subset((), "8", PRACTICE), None, 8, 2.0),
        (Subset((), "8", PRACTICE), 20, 4, 2.0),
        (Subset((), "2:8", PRACTICE), 20, 2, 3.0),
        (Subset((20, 50, 90), "8", PRACTICE), None, 8, 3.0),
        (Subset((), "8", PRACTICE), None, 64, 1.0),
        (Subset((), "8", PRACTICE), None, None, 1.0),
        (Subset((), "8", PRACTICE), None, 0, 1.0),
        (Subset((), "8", PRACTICE), None, 8.0, 1.0),
        (Subset((), "8", "train"), None, 8, 1.0),
        (Subset((), "", PRACTICE), None, 8, 1.0),
    ],
)
def test_time_limits_of_experiments_are_in_proportion_to_their_instances(
    bench, subset: Subset, size: int | None, done: Any, patience: float
) -> None:
    made = bench("limits.heuristic_s=3", offers=[PRACTICE, INSTANCES, HEURISTIC_S], sizes=SIZES)
    made.scoring.take_limits(ok(metrics={"instances_done": done}))
    cpu_s = made.problem.make_limits(made.folder.config.limits).cpu_s
    found = asyncio.run(made.scoring.measure(made.seen, guess(5), size, subset, 1e6, ""))
    assert found.score == 1.0
    (job,) = made.pool.jobs
    assert job.limits.cpu_s == pytest.approx(patience * cpu_s)
    assert f"{HEURISTIC_S}={3 * patience:g}" in job.arguments
    assert (job.mode, job.problem_size) == (subset.mode, size)
    assert set(subset.arguments) <= set(job.arguments)
    asyncio.run(made.scoring.measure(made.seen, guess(6), size, subset, 0.5, ""))
    assert made.pool.jobs[1].limits.cpu_s == 0.5


# --- experiments -----------------------------------------------------------------------------------------------------


def measure(
    made: Bench, source: str, cpu_s: float = 9.0, subset: Subset | None = None, observer: str = ""
) -> Evaluation:
    return asyncio.run(made.scoring.measure(made.seen, source, 10, subset or Subset((10,), "2"), cpu_s, observer))


def test_an_experiment_is_run_once_and_counts_coarse_seconds(bench) -> None:
    made = bench(sizes=SIZES)
    made.pool.answer = lambda job: ok(2.0, cpu_s=1.234, metrics={"a": 1})
    first = measure(made, guess(5))
    assert first.metrics == {"a": 1, SECONDS: round_coarsely(1.234)}
    assert measure(made, guess(5)) == first
    assert len(made.pool.jobs) == 1
    assert made.pool.asked[0] == ("experiment, work", 3)
    for changes in (
        {"subset": Subset((10,), "3")},
        {"subset": Subset((10,), "2", "train", 4)},
        {"observer": "observe"},
    ):
        measure(made, guess(5), **changes)
    assert len(made.pool.jobs) == 4
    assert [job.observer for job in made.pool.jobs] == ["", "", "", "observe"]
    assert made.pool.jobs[2].arguments == (f"{INSTANCES}=2", f"{FRESH_SEED}=4")
    rejected = measure(made, "no program")
    assert rejected.status is Status.REJECTED
    assert rejected.message
    assert len(made.pool.jobs) == 4


def test_an_experiment_that_ran_out_of_time_may_run_again_with_more(bench) -> None:
    made = bench(sizes=SIZES)
    made.pool.answer = lambda job: (
        Evaluation(Status.TIMEOUT, message="late", wall_s=1.0, cpu_s=1.234) if job.limits.cpu_s < 5 else ok(2.0)
    )
    late = measure(made, guess(5), 2.0)
    assert (late.status, late.metrics[SECONDS]) == (Status.TIMEOUT, 1.234)
    assert measure(made, guess(5), 2.0) == late
    assert len(made.pool.jobs) == 1
    assert measure(made, guess(5), 6.0).score == 2.0
    assert len(made.pool.jobs) == 2
    # The result with more time is known now.
    assert measure(made, guess(5), 2.0).score == 2.0
    assert len(made.pool.jobs) == 2


def test_compiled_code_of_experiments_is_shared(bench) -> None:
    made = bench(offers=[COMPILED], sizes=SIZES)
    source = "import numba\n" + guess(5)
    measure(made, source)
    measure(made, source.replace("5", "6"))
    made.score(source)
    first, second, scored = (job.program for job in made.pool.jobs)
    assert first == second != ""
    assert scored == ""


def test_equal_experiments_at_the_same_time_run_once_and_each_limit_gets_its_own(bench) -> None:
    made = bench(sizes=SIZES)
    made.pool.answer = lambda job: Evaluation(Status.TIMEOUT, message="late", wall_s=1.0, cpu_s=job.limits.cpu_s)

    async def all_at_once() -> list[Evaluation]:
        limits = (2.0, 2.0, 3.0)
        works = [made.scoring.measure(made.seen, guess(5), 10, Subset((10,)), limit, "") for limit in limits]
        return await asyncio.gather(*works)

    found = asyncio.run(all_at_once())
    assert [one.cpu_s for one in found] == [2.0, 2.0, 3.0]
    assert len(made.pool.jobs) == 2


# --- probes ----------------------------------------------------------------------------------------------------------


def probe(made: Bench, source: str, observer: str = "") -> tuple[str, Evaluation]:
    found = asyncio.run(made.scoring.probe(source, made.seen, observer))
    return found.name, found.evaluation


def test_a_probe_runs_on_a_few_instances_of_the_smallest_training_size(bench) -> None:
    made = bench("problem_size=50", offers=[INSTANCES], sizes=SIZES)
    name, evaluation = probe(made, guess(5), "observe")
    (job,) = made.pool.jobs
    assert (job.mode, job.problem_size, job.arguments, job.observer, job.keeps_arrays) == (
        "train", 10, (f"{INSTANCES}={PROBED}",), "observe", False,
    )  # fmt: skip
    assert made.store.evaluation(name) == evaluation
    assert probe(made, guess(5), "observe") == (name, evaluation)
    other, _ = probe(made, guess(5))
    assert other != name
    assert len(made.pool.jobs) == 2
    # A solution is still scored.
    made.score(guess(5))
    assert len(made.pool.jobs) == 3
    assert probe(made, "no program")[1].status is Status.REJECTED
    bare = bench("problem_size=50")
    probe(bare, guess(5))
    assert (bare.pool.jobs[0].mode, bare.pool.jobs[0].problem_size, bare.pool.jobs[0].arguments) == (None, 50, ())
    without = bench(sizes=SIZES)
    probe(without, guess(5))
    assert (without.pool.jobs[0].mode, without.pool.jobs[0].arguments) == ("train", ())


def test_a_probe_on_practice_instances_has_the_time_for_them(bench) -> None:
    made = bench("strategy.practice=6", offers=[PRACTICE, INSTANCES], sizes=SIZES)
    made.scoring.take_limits(ok(metrics={"instances_done": 4}))
    probe(made, guess(5))
    (job,) = made.pool.jobs
    assert (job.mode, job.problem_size, job.arguments) == (PRACTICE, None, (f"{INSTANCES}=6",))
    cpu_s = made.problem.make_limits(made.folder.config.limits).cpu_s
    assert job.limits.cpu_s == pytest.approx(3 * cpu_s)
    single = bench("strategy.practice=6", "problem_size=20", offers=[PRACTICE, INSTANCES], sizes=SIZES)
    single.scoring.take_limits(ok(metrics={"instances_done": 4}))
    probe(single, guess(5))
    assert single.pool.jobs[0].limits.cpu_s == pytest.approx(1.5 * cpu_s)
    assert single.pool.jobs[0].problem_size == 20


@pytest.mark.parametrize(
    ("offers", "sizes", "keeps"),
    [
        ([KEEP, INSTANCES, PRACTICE], {}, True),
        ([KEEP], SIZES, True),
        ([KEEP], {}, False),
        ([INSTANCES, PRACTICE], SIZES, False),
    ],
)
def test_probes_keep_arrays_on_instances_of_their_own(bench, offers: list[str], sizes: Any, keeps: bool) -> None:
    made = bench(offers=offers, sizes=sizes)
    assert made.scoring.keeps_arrays is keeps
    keeping = "KEPT_ARRAYS = {}\n" + guess(5)
    probe(made, keeping)
    probe(made, guess(6))
    made.score(guess(7))
    assert [job.keeps_arrays for job in made.pool.jobs] == [keeps, False, False]


def kept(made: Bench, content: Any) -> Any:
    found = made.scoring._store_arrays(ok(metrics={"a": 1, **({} if content is None else {KEPT_METRIC: content})}))
    assert found.metrics["a"] == 1
    return found.metrics.get(KEPT_METRIC)


def test_arrays_of_a_probe_are_stored_before_its_evaluation(bench) -> None:

    made = bench()
    assert kept(made, None) is None
    assert kept(made, 3) is None
    assert kept(made, json.dumps({"problem": "too large"})) == "too large"
    for broken in ("{", "3", "{}", '{"arrays": 3}', '{"arrays": {"a": 3}}', '{"arrays": {"a": {}}}'):
        assert isinstance(kept(made, broken), str)


# --- checks of leaders -----------------------------------------------------------------------------------------------


def test_a_leader_is_checked_on_a_few_instances(bench) -> None:
    made = bench(offers=[CHECK, INSTANCES], sizes=SIZES)
    leader = candidate(made, guess(5))
    assert asyncio.run(made.scoring.check(leader, made.seen)) is None
    (job,) = made.pool.jobs
    assert (job.mode, job.problem_size, job.arguments) == ("train", 10, (f"{INSTANCES}={PROBED}", CHECK))
    made.pool.answer = lambda job: Evaluation(Status.REJECTED, message="differs", traceback="line 3", wall_s=0.1)
    other = candidate(made, guess(6))
    rejected = asyncio.run(made.scoring.check(other, made.seen))
    assert rejected is not None
    assert (rejected.status, rejected.score, rejected.features, rejected.message, rejected.traceback) == (
        Status.REJECTED, None, None, "differs", "line 3",
    )  # fmt: skip
    assert made.told == []
    failing = bench(offers=[CHECK])
    failing.pool.answer = lambda job: FAILED
    assert asyncio.run(failing.scoring.check(leader, failing.seen)) is None
    assert (failing.pool.jobs[0].mode, failing.pool.jobs[0].problem_size) == (None, None)
    unchecked = bench(offers=[])
    assert asyncio.run(unchecked.scoring.check(leader, unchecked.seen)) is None
    assert unchecked.pool.jobs == []


def test_a_leader_that_is_random_by_itself_is_told(bench) -> None:
    random_one = "import numpy as np\n\ndef guess(x):\n    return np.random.default_rng().random()\n"
    for offers in ([], [CHECK]):
        made = bench(offers=offers)
        made.pool.answer = lambda job: Evaluation(Status.REJECTED, message="differs", wall_s=0.1)
        before = len(made.told)
        rejected = asyncio.run(made.scoring.check(candidate(made, random_one), made.seen))
        assert len(made.told) == before + 1
        assert (rejected is not None) == bool(offers)
        if rejected is not None:
            assert rejected.message.startswith("differs; ")


@pytest.mark.parametrize("failures", [(), ("one case",)])
def test_a_leader_is_run_with_unusual_arguments_if_it_is_protected(
    bench, failures: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    async def harden(measure: Any, problem: Any, source: str) -> Any:
        asked.append((problem, source))
        await measure(guess(77), 2.5)
        await measure(guess(77), 2.5)
        await measure(guess(78), None)
        return SimpleNamespace(failures=failures, sentence="it fails in one case")

    monkeypatch.setattr(scoring_module, "harden_program", harden)
    made = bench("protect=true", offers=[INSTANCES, CHECK], sizes=SIZES)
    leader = candidate(made, guess(5))
    rejected = asyncio.run(made.scoring.harden(leader, made.seen))
    assert asked == [(made.problem, guess(5))]
    cpu_s = made.problem.make_limits(made.folder.config.limits).cpu_s
    assert [(job.source, job.limits.cpu_s, job.mode, job.arguments) for job in made.pool.jobs] == [
        (guess(77), 2.5, "train", (f"{INSTANCES}=1",)),
        (guess(78), cpu_s, "train", (f"{INSTANCES}=1",)),
    ]
    if failures:
        assert rejected is not None
        assert (rejected.status, rejected.message, rejected.traceback) == (Status.REJECTED, "it fails in one case", "")
    else:
        assert rejected is None
    assert asyncio.run(made.scoring.harden(candidate(made, made.problem.seed), made.seen)) is None
    plain = bench()
    assert asyncio.run(plain.scoring.harden(leader, plain.seen)) is None
    assert len(asked) == 1


def protected(made: Bench, seed: Evaluation, program: Evaluation) -> Evaluation | None:
    made.scoring._protected = {
        "hard": made.problem.make_job(
            made.problem.seed, made.folder.root, made.problem.make_limits(made.folder.config.limits), "hard"
        )
    }
    made.pool.answer = lambda job: seed if job.source == made.problem.seed else program
    return asyncio.run(made.scoring.check_protected(candidate(made, guess(5)), made.seen))


@pytest.mark.parametrize(("score", "loses"), [(4.0, False), (5.0, False), (6.0, True), (None, True)])
def test_a_leader_may_not_lose_against_the_seed_on_a_protected_set(bench, score: float | None, loses: bool) -> None:
    made = bench()
    rejected = protected(made, ok(5.0), FAILED if score is None else ok(score))
    assert (rejected is not None) == loses
    assert [(job.source, job.mode) for job in made.pool.jobs] == [(made.problem.seed, "hard"), (guess(5), "hard")]
    assert made.pool.asked[0][0].endswith("hard")
    if rejected is not None:
        assert "hard" in rejected.message
        # No figures of the set come back.
        assert "6" not in rejected.message
    # Both results are kept.
    protected(made, ok(5.0), ok(6.0))
    assert len(made.pool.jobs) == 2
    assert asyncio.run(made.scoring.check_protected(candidate(made, made.problem.seed), made.seen)) is None


def test_a_set_on_which_the_seed_fails_protects_nothing(bench) -> None:
    made = bench()
    assert protected(made, FAILED, ok(6.0)) is None
    (told,) = made.told
    assert "hard" in told
    assert "no more" in told


@pytest.mark.parametrize(
    ("before", "after", "loses"),
    [(5.0, 4.0, False), (5.0, 5.0, False), (5.0, 6.0, True), (5.0, None, True), (None, 6.0, False)],
)
def test_a_leader_may_not_be_worse_at_more_work(bench, before: float | None, after: float | None, loses: bool) -> None:
    made = bench(offers=[WORK, CHECK])
    made.scoring._more_work = plan_job(made.problem, made.folder.root, made.folder.config, frozenset([WORK]), work=4.0)
    best = Elite(id="1.0", source=guess(7), score=1.0, features=None, metrics={})
    made.pool.answer = lambda job: (
        (FAILED if before is None else ok(before)) if job.source == guess(7) else FAILED if after is None else ok(after)
    )
    rejected = asyncio.run(made.scoring.check_more_work(candidate(made, guess(5)), best, made.seen))
    assert (rejected is not None) == loses
    assert [(job.source, job.arguments) for job in made.pool.jobs] == [
        (guess(7), (f"{WORK}=4",)),
        (guess(5), (f"{WORK}=4",)),
    ]
    if rejected is not None and after is None:
        assert "no more" in rejected.message
    if rejected is not None and after is not None:
        assert rejected.message.index("6") < rejected.message.index("5")
    assert asyncio.run(made.scoring.check_more_work(candidate(made, guess(5)), None, made.seen)) is None
    plain = bench(offers=[WORK, CHECK], work=WorkSettings(lead=1.0))
    assert asyncio.run(plain.scoring.check_more_work(candidate(plain, guess(5)), best, plain.seen)) is None
    assert plain.pool.jobs == []


def test_a_problem_names_the_work_and_the_sets_of_its_leaders(bench) -> None:
    made = bench(offers=[WORK, CHECK], work=WorkSettings(lead=1.5))
    best = Elite(id="1.0", source=guess(7), score=1.0, features=None, metrics={})
    asyncio.run(made.scoring.check_more_work(candidate(made, guess(5)), best, made.seen))
    assert {job.arguments for job in made.pool.jobs} == {(f"{WORK}=1.5",)}


def test_a_rejected_leader_keeps_its_evaluation_but_for_its_score(bench) -> None:
    leader = candidate(bench(), guess(5))
    rejected = reject_leader(leader, "m" * 2000)
    assert (rejected.status, rejected.score, rejected.features, rejected.traceback) == (Status.REJECTED, None, None, "")
    assert rejected.message == "m" * 1000
    assert rejected.cpu_s == leader.evaluation.cpu_s


def test_a_planned_job_has_the_limits_of_its_mode_and_work(begun) -> None:
    folder = begun("problem_size=50")
    cpu_s = folder.problem.make_limits(folder.config.limits).cpu_s

    def plan(offers: Sequence[str] = (), **options: Any) -> Job:
        return plan_job(folder.problem, folder.root, folder.config, frozenset(offers), **options)

    job = plan()
    assert (job.source, job.mode, job.problem_size, job.limits.cpu_s) == (folder.problem.seed, None, 50, cpu_s)
    assert plan(source=guess(5)).source == guess(5)
    assert plan([WORK], work=3.0).limits.cpu_s == 3 * cpu_s
    assert plan(mode="test").limits.cpu_s > cpu_s
    assert plan(mode="train").mode == "train"
    other = replace(folder.config, protocol="study")
    job = plan_job(folder.problem, folder.root, other, frozenset([DEVICE, PROTOCOL]))
    assert set(job.arguments) == {f"{DEVICE}={folder.config.device}", f"{PROTOCOL}=study"}


# --- the cache -------------------------------------------------------------------------------------------------------


class Shared:
    """A cache that records what is asked of it."""

    def __init__(self, found: Evaluation | None = None) -> None:
        self.found = found
        self.kept: list[str] = []

    def find(self, name: str, job: Job) -> Evaluation | None:
        return self.found

    def keep(self, name: str, job: Job, evaluation: Evaluation) -> None:
        self.kept.append(name)


def test_a_known_evaluation_comes_from_the_cache_and_counts(bench) -> None:
    shared = Shared(ok(8.0))
    made = bench(cache=shared)
    name, evaluation = made.score(guess(5))
    assert evaluation.score == 8.0
    assert (made.pool.jobs, made.admitted, shared.kept) == ([], 1, [])
    assert made.store.evaluation(name) == evaluation
    asyncio.run(made.scoring.check(candidate(made, guess(5)), made.seen))
    assert len(made.pool.jobs) == 1


def test_new_evaluations_go_into_the_cache_but_for_checks_and_kept_arrays(bench) -> None:
    shared = Shared()
    made = bench(cache=shared, offers=[CHECK, KEEP], sizes=SIZES)
    name, _ = made.score(guess(5))
    asyncio.run(made.scoring.check(candidate(made, guess(5)), made.seen))
    probe(made, "KEPT_ARRAYS = {}\n" + guess(5))
    assert shared.kept == [name]
    assert len(made.pool.jobs) == 3


def test_what_an_evaluator_offers_decides_what_a_run_may_use(bench) -> None:
    hooks = {"step": "the state"}
    rich = bench(offers=[PRACTICE, INSTANCES, FRESH_SEED, OBSERVER, CHECK], sizes=SIZES, hooks=hooks).scoring
    assert (rich.practice, rich.draws_practice, rich.offers_instances, dict(rich.hooks)) == (8, True, True, hooks)
    poor = bench(offers=[CHECK], sizes=SIZES, hooks=hooks).scoring
    assert (poor.practice, poor.draws_practice, poor.offers_instances, dict(poor.hooks)) == (None, False, False, {})
    assert dict(bench(offers=[OBSERVER], hooks=hooks).scoring.hooks) == {}
    for missing in (PRACTICE, INSTANCES, FRESH_SEED):
        offers = {PRACTICE, INSTANCES, FRESH_SEED, CHECK} - {missing}
        made = bench("strategy.leader_rounds=2", offers=sorted(offers))
        assert not made.scoring.draws_practice
        assert len(made.told) == 1
    assert bench("strategy.leader_rounds=2", offers=[PRACTICE, INSTANCES, FRESH_SEED, CHECK]).told == []
