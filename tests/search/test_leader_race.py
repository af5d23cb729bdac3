"""Races of new leaders on new instances: the error of their answers, their cost, and runs that repeat them."""

import asyncio
import json
import zlib
from collections.abc import Callable
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from oragent._base.budget import Spent
from oragent._base.direction import Direction
from oragent._base.errors import BudgetExhausted, StoreError
from oragent._base.protocol import Status
from oragent._base.racing import mean_score
from oragent._base.sequential import anytime_p
from oragent.evaluation import Evaluation, Job
from oragent.report.run import load_run
from oragent.report.terminal import list_costs
from oragent.search.folder import RunFolder, reopen
from oragent.search.leader_race import (
    RACE_NOTE,
    LeaderRace,
    describe_races,
    hold_race,
    is_above_noise,
    list_races,
    weigh_gains,
)
from oragent.search.round_context import RoundContext
from oragent.search.store import RoundNote, Store
from oragent.search.strategy import Strategy
from tests.search.test_engine import history
from tests.search.test_purity_checks import records, search
from tests.tools.duels import NOISES

OFFERS = frozenset({"--instances", "practice", "--fresh_seed"})
VALUES = st.dictionaries(
    st.sampled_from("abc"), st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=5), min_size=1
)


def race(
    measure: Callable[[str, int], Evaluation], direction: Direction = Direction.MAXIMIZE, rounds: int = 8
) -> LeaderRace:
    async def run(program: str, seed: int) -> Evaluation:
        return measure(program, seed)

    return asyncio.run(hold_race(run, direction, ("old", "new"), "fingerprint", rounds, lambda evaluation: 0.0))


def measured(values: list[float]) -> Evaluation:
    return Evaluation(Status.OK, float(np.mean(values)), metrics={"by_instance": {"a": values}})


@pytest.mark.parametrize("noise", sorted(NOISES))
def test_of_leaders_that_are_no_better_at_most_the_level_is_shown(noise: str) -> None:
    """Programs that differ by chance, looked at after each of eight rounds; a fixed test would show a sixth of them."""
    rng, shown = np.random.default_rng(1), 0
    for _ in range(300):
        shown += race(lambda program, seed: measured((NOISES[noise](rng, 12) * (program == "new")).tolist())).is_shown
    # Half of the differences at the level of 5 % are those of worse programs. Three standard errors.
    assert shown <= 300 * 0.025 + 3 * np.sqrt(300 * 0.025)


@pytest.mark.parametrize("direction", list(Direction))
@pytest.mark.parametrize("better", [True, False])
def test_a_difference_ends_the_race_early_and_only_a_better_program_is_shown(
    direction: Direction, better: bool
) -> None:
    rng = np.random.default_rng(2)
    shift = direction.sign * (1 if better else -1)
    races = [
        race(lambda program, seed: measured((shift * (program == "new") + rng.normal(size=12)).tolist()), direction)
        for _ in range(50)
    ]
    assert sum(ended.is_shown for ended in races) == (50 if better else 0)
    assert np.mean([ended.evaluations for ended in races]) < 10
    assert all(ended.instances == 6 * ended.evaluations for ended in races)
    assert all(ended.p < 0.05 for ended in races)


@pytest.mark.parametrize(("loss", "is_shown"), [(0.0, True), (20.0, False)])
def test_a_leader_whose_mean_may_be_worse_is_not_shown(loss: float, is_shown: bool) -> None:
    """A program that wins on 23 of 24 instances, and loses on the last nearly as much as it won, is shown by its signs."""
    gains = [1.0] * 23 + [-loss]
    values = {"old": [0.0] * 24, "new": gains}
    assert anytime_p(gains) < 0.05
    assert sum(gains) > 0
    assert race(lambda program, seed: measured(values[program]), rounds=1).is_shown is is_shown


def test_each_round_has_instances_of_its_own_for_both_programs() -> None:
    seeds: dict[str, list[int]] = {"old": [], "new": []}

    def measure(program: str, seed: int) -> Evaluation:
        seeds[program].append(seed)
        return measured([float(program == "new" and len(seeds[program]) % 2), 0.5])

    ended = race(measure, rounds=5)
    assert seeds["old"] == seeds["new"]
    assert len(set(seeds["old"])) == 5
    assert (ended.evaluations, ended.instances, ended.is_shown) == (10, 10, False)


def test_programs_that_do_the_same_race_once_and_a_race_without_rounds_shows_nothing() -> None:
    ended = race(lambda program, seed: measured([1.0, float(seed % 7)]))
    assert (ended.evaluations, ended.is_shown, ended.p) == (2, False, 1.0)
    assert race(lambda program, seed: measured([1.0]), rounds=0) == LeaderRace("fingerprint", False, 0, 1.0, 0)


@pytest.mark.parametrize(("failing", "is_shown"), [("old", True), ("new", False), ("old new", False)])
def test_a_program_that_fails_on_new_instances_loses(failing: str, is_shown: bool) -> None:
    ended = race(
        lambda program, seed: Evaluation(Status.ERROR) if program in failing.split() else measured([1.0]), rounds=4
    )
    assert (ended.is_shown, ended.evaluations) == (is_shown, 2)


@given(VALUES, st.data(), st.sampled_from(list(Direction)))
def test_the_mean_of_weighted_gains_is_the_difference_of_the_scores(
    old: dict[str, list[float]], data: st.DataObject, direction: Direction
) -> None:
    new = {size: [data.draw(st.integers(-9, 9).map(float)) for _ in values] for size, values in old.items()}
    gains = weigh_gains(direction, {"by_instance": old}, {"by_instance": new})
    assert np.mean(gains) == pytest.approx(direction.sign * (mean_score(new) - mean_score(old)))
    mirrored = weigh_gains(direction, {"by_instance": new}, {"by_instance": old})
    assert mirrored == pytest.approx([-gain for gain in gains])


@pytest.mark.parametrize(
    "other", [{}, {"by_instance": {"b": [1.0, 2.0]}}, {"by_instance": {"a": [1.0]}}, {"by_instance": {"a": [1.0, 10**400]}}]
)  # fmt: skip
def test_figures_of_other_instances_are_not_compared(other: dict[str, object]) -> None:
    figures = {"by_instance": {"a": [1.0, 2.0]}}
    for pair in ((figures, other), (other, figures)):
        assert weigh_gains(Direction.MINIMIZE, *pair) is None
        assert is_above_noise(Direction.MINIMIZE, *pair, 1) is None


def test_few_searches_without_a_better_program_name_a_leader_above_the_noise() -> None:
    """Programs that differ by luck alone: the best of 60 on 24 instances leads, in 200 searches."""
    rng = np.random.default_rng(5)
    named = 0
    for _ in range(200):
        values = rng.normal(size=24) + rng.normal(size=(60, 24))
        leader, claims = values[0], 0
        for tried, row in enumerate(values[1:], 2):
            if row.mean() > leader.mean():
                figures = [{"by_instance": {"a": list(map(float, side))}} for side in (leader, row)]
                claims += bool(is_above_noise(Direction.MAXIMIZE, figures[0], figures[1], tried))
                leader = row
        named += claims > 0
    assert named <= 10
    better = [{"by_instance": {"a": [shift + 0.1 * at for at in range(24)]}} for shift in (0.0, 1.0)]
    assert is_above_noise(Direction.MAXIMIZE, better[0], better[1], 60)
    assert not is_above_noise(Direction.MINIMIZE, better[0], better[1], 60)
    # Sizes count alike: the few instances of the second one outweigh the others.
    values = [{"by_instance": {"a": [shift] * 40, "b": [-1.5 * shift] * 4}} for shift in (0.0, 1.0)]
    assert is_above_noise(Direction.MAXIMIZE, *values, 1) is False
    assert is_above_noise(Direction.MAXIMIZE, {}, {}, 1) is None
    # Each program that was tried counts.
    close = [{"by_instance": {"a": [shift + 0.01 * at for at in range(8)]}} for shift in (0.0, 1.0)]
    assert [is_above_noise(Direction.MAXIMIZE, *close, tried) for tried in (0, 1, 10**6)] == [True, True, False]
    # A rare loss may outweigh many gains, whose signs alone would be above the noise.
    rare = [{"by_instance": {"a": [0.0] * 21}}, {"by_instance": {"a": [1.0] * 20 + [-15.0]}}]
    assert is_above_noise(Direction.MAXIMIZE, *rare, 1) is False


RACE = LeaderRace("f", True, 24, 0.01, 4)


def test_notes_are_read_back_and_damaged_ones_refused() -> None:
    notes = [RACE.to_note(3), RoundNote(3, "other", "no race")]
    assert list_races(notes) == (RACE,)
    assert notes[0].round == 3
    for damage in ({"p": "x"}, {"instances": -1}, {"evaluations": 1.5}, {"more": 1}):
        with pytest.raises(ValidationError):
            list_races([RoundNote(1, RACE_NOTE, json.dumps(asdict(RACE) | damage))])


def test_the_sum_of_races_counts_shown_dropped_and_evaluations() -> None:
    dropped = LeaderRace("g", False, 96, 0.7, 16)
    assert [word for word in describe_races([RACE, dropped, dropped]).split() if word.isdigit()] == ["1", "2", "36"]


def noisy(job: Job) -> Evaluation:
    """The loss is the distance to 100 of the whole number of a program; its other digits are luck on each instance."""
    names: dict[str, Callable[[int], float]] = {}
    exec(job.source, names)
    value = names["guess"](3)
    drawn = [word for word in job.arguments if word.startswith("--fresh_seed")]
    rng = np.random.default_rng(zlib.crc32(f"{job.mode} {drawn} {value}".encode()))
    values = (abs(100 - int(value)) + rng.normal(size=16)).tolist()
    return Evaluation(
        Status.OK, float(np.mean(values)), (1,), {"by_instance": {"a": values}, "work": 2.5}, wall_s=0.001, cpu_s=1.0
    )


async def luck(run: RoundContext) -> None:
    """Propose a program that is better by 1 in each tenth round, and as good as the best before in the others."""
    await run.evaluate(f"def guess(x):\n    return {40 + run.number // 10} + {run.number} / 1000\n", [], "step")


STRATEGY = Strategy(name="step", round=luck, asks_model=False)
SETTINGS = ("strategy.disagreement=0", "strategy.tuning=0")


def leaders(folder: RunFolder) -> list[int]:
    """Rounds whose program led when it was committed."""
    best, rounds = np.inf, []
    for record in records(folder):
        if record.score is not None and record.score < best:
            best = record.score
            rounds.append(record.round)
    return rounds


@pytest.mark.parametrize("window", [1, 3])
def test_a_run_drops_leaders_by_luck_repeats_its_races_and_counts_them(begun, window: int) -> None:
    runs = []
    for workers in (1, 4):
        folder = begun("budget.evaluations=150", f"strategy.window={window}", "strategy.leader_rounds=6", *SETTINGS)
        outcome = search(folder, STRATEGY, noisy, workers=workers, offers=OFFERS)
        runs.append(history(folder))
    assert runs[0] == runs[1]
    with Store(folder.database, readonly=True) as store:
        races, spent = list_races(store.notes()), sum(store.rounds().values(), Spent())
    raced = sum(ended.evaluations for ended in races)
    assert {ended.is_shown for ended in races} == {True, False}
    assert spent.evaluations == len(runs[0]) + raced == outcome.progress.spent.evaluations
    assert spent.work == 2.5 * spent.evaluations
    # The last race may exceed the budget only by rounds that were under way.
    assert 150 <= spent.evaluations < 150 + window
    dropped = [record for record in records(folder) if record.candidate.evaluation.status is Status.REJECTED]
    assert len(dropped) == sum(not ended.is_shown for ended in races)
    # Of the programs that lead by luck alone hardly one is left: one for each step of the true quality.
    steps = max(record.round for record in records(folder)) // 10
    assert len(leaders(folder)) <= 1 + steps + 1
    again: list[Job] = []
    search(reopen(folder.path), STRATEGY, lambda job: again.append(job) or noisy(job), offers=OFFERS)
    assert history(folder) == runs[0]
    assert not again
    data = load_run(folder.path)
    assert data.races == races
    assert data.spent.evaluations == spent.evaluations
    assert describe_races(races) in dict(list_costs(data)).values()


@pytest.mark.parametrize("offers", [OFFERS, frozenset({"--instances"})])
def test_without_rounds_or_instances_the_score_decides(begun, offers: frozenset[str]) -> None:
    told: list[str] = []
    rounds = 0 if offers == OFFERS else 6
    folder = begun("budget.evaluations=30", "strategy.window=1", f"strategy.leader_rounds={rounds}", *SETTINGS)
    outcome = search(folder, STRATEGY, noisy, offers=offers, tell=told.append)
    assert outcome.progress.spent.evaluations == 30 == len(records(folder))
    assert len(leaders(folder)) > 6
    assert any("practice instances" in message for message in told) is (rounds > 0)


def test_a_step_above_the_noise_of_val_needs_no_race(begun) -> None:
    async def jump(run: RoundContext) -> None:
        await run.evaluate(f"def guess(x):\n    return {40 + 9 * run.number}\n", [], "step")

    folder = begun("budget.evaluations=6", "strategy.window=1", "strategy.leader_rounds=6", *SETTINGS)
    outcome = search(folder, Strategy(name="jump", round=jump, asks_model=False), noisy, offers=OFFERS)
    assert outcome.progress.spent.evaluations == 6 == len(leaders(folder))


@pytest.mark.parametrize("reported", [2.5, None])
def test_races_have_the_size_of_a_run_and_end_within_its_bound_on_work(begun, reported: float | None) -> None:
    """An evaluation counts as much as that of the seed if it reports no work."""

    def report(job: Job) -> Evaluation:
        ended = noisy(job)
        work = 2.5 if "--fresh_seed" not in str(job.arguments) else reported
        return replace(ended, metrics=ended.metrics | {"work": work})

    jobs: list[Job] = []
    settings = ("budget.work=75", "strategy.window=1", "strategy.leader_rounds=6", "problem_size=7", *SETTINGS)
    folder = begun(*settings)
    outcome = search(folder, STRATEGY, lambda job: jobs.append(job) or report(job), offers=OFFERS)
    assert outcome.progress.spent.work == 75
    assert outcome.progress.spent.evaluations == 30
    assert {job.problem_size for job in jobs if job.mode == "practice"} == {7}
    again: list[Job] = []
    resumed = search(reopen(folder.path), STRATEGY, lambda job: again.append(job) or report(job), offers=OFFERS)
    assert not again
    assert resumed.progress.spent.work == 75


def test_nothing_leads_within_the_noise_when_the_time_ends(begun) -> None:
    def end(job: Job) -> Evaluation:
        if job.mode == "practice":
            raise BudgetExhausted("the budget of 60 seconds is used up")
        return noisy(job)

    folder = begun("budget.evaluations=20", "strategy.window=1", "strategy.leader_rounds=6", *SETTINGS)
    search(folder, STRATEGY, end, offers=OFFERS)
    assert len(records(folder)) == 20
    # The seed and the first program, which is better by far.
    assert len(leaders(folder)) <= 2


def test_a_killed_race_goes_on_with_its_stored_evaluations(begun) -> None:
    """The search ends in the middle of a race; the next one pays for the missing evaluations alone."""
    settings = ("budget.evaluations=60", "strategy.window=1", "strategy.leader_rounds=6", *SETTINGS)
    whole, jobs = begun(*settings), []
    search(whole, STRATEGY, lambda job: jobs.append(job) or noisy(job), workers=1, offers=OFFERS)
    practice = [at for at, job in enumerate(jobs) if job.mode == "practice"]
    for stop in (practice[1], practice[2], practice[-1]):
        folder, count = begun(*settings), 0

        def fail(job: Job, stop: int = stop) -> Evaluation:
            nonlocal count
            count += 1
            if count > stop:
                raise StoreError("the disk is full")
            return noisy(job)

        with pytest.raises(StoreError):
            search(folder, STRATEGY, fail, workers=1, offers=OFFERS)
        later: list[Job] = []
        search(reopen(folder.path), STRATEGY, lambda job, later=later: later.append(job) or noisy(job), offers=OFFERS)
        assert history(folder) == history(whole)
        assert len(later) == len(jobs) - stop
