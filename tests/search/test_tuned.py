"""Tuning between rounds: within its share, of programs that were not tuned, beside any strategy."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from oragent._base.budget import Budget
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.search.archive import Archive
from oragent.search.candidate import Elite
from oragent.search.config import build_config
from oragent.search.genetics.variation import breed_child
from oragent.search.store import Store
from oragent.search.strategies import STRATEGIES, resolve_strategy, tuning
from oragent.search.strategies.constants import Constant, Range, find_constants
from oragent.search.strategies.scripted import make_player
from oragent.search.strategies.tuning import (
    COST,
    GENERATION,
    MAX_TUNED,
    MIN_TUNED,
    TUNED,
    is_worth,
    tune_constants,
    tuning_cost,
    tuning_period,
)
from tests.search.players import search


def read(folder) -> tuple[list, list[str]]:
    with Store(folder.database, readonly=True) as store:
        return store.records(), [note.text for note in store.notes() if note.kind == TUNED]


OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in ("eoh", "reevo", "mcts_ahd", "funsearch")]


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["gp", "or_agent", *OTHERS])
def test_constants_of_the_best_are_tuned_within_the_share(begun, strategy: str) -> None:
    # Research rounds are long, and every so many is kept free.
    evaluations = 150 if strategy == "or_agent" else 50
    share, free = 0.3, tuning_period(STRATEGIES[strategy].window)
    settings = (f"strategy.name={strategy}", "model.name=m", f"budget.evaluations={evaluations}")
    folder = begun(*settings, f"strategy.tuning={share}", "archive.population=6")
    search(folder, make_player(1, breed_child))
    records, notes = read(folder)
    made = [one for one in records if one.candidate.origin == "tune" and one.round % free == 0]
    assert notes
    assert len({text.split()[0] for text in notes}) == len(notes)  # none has two turns
    assert len(made) <= share * evaluations
    assert {one.round % free for one in records if one.round and one.candidate.origin != "tune"} >= {1, 2}


@pytest.mark.slow
def test_a_run_tunes_unless_its_budget_is_too_small(begun) -> None:
    small, large = (
        begun("strategy.name=gp", "budget.evaluations=60"),
        begun("strategy.name=gp", "budget.evaluations=130"),
    )
    search(small, None)
    assert read(small)[1] == []
    assert {one.round for one in read(small)[0]} >= {tuning_period(4)}  # nor is a round kept free
    search(large, None)
    records, notes = read(large)
    made = [one for one in records if one.candidate.origin == "tune"]
    assert notes
    assert 1 <= len(made) <= 13


def test_a_run_that_time_ends_tunes_few_constants_at_once_and_others_next(
    begun, monkeypatch: pytest.MonkeyPatch
) -> None:
    tunings: list[tuple[list[int], int]] = []

    async def tune(run, elite, ranges, evaluations: int, *, local: bool) -> None:
        tunings.append(([one.constant.number for one in ranges], evaluations))

    monkeypatch.setattr(tuning, "tune_constants", tune)
    monkeypatch.setattr(
        tuning, "find_constants", lambda source, function: [Constant(n, 1.0, False, "") for n in range(8)]
    )
    folder = begun("strategy.name=gp", "budget.evaluations=null", "budget.seconds=600", "strategy.tuning=0.4")
    told: list[int] = []

    def built(engine) -> None:
        engine._observer = lambda progress: told.append(1) or (len(told) == 120 and engine.stop("test"))

    search(folder, None, built=built)
    assert tunings[:2] == [([0, 1, 2, 3, 4], COST), ([5, 6, 7], COST)]


@pytest.mark.slow
def test_a_stopped_run_tunes_nothing_twice(begun) -> None:
    settings = ("strategy.name=gp", "budget.evaluations=60", "strategy.tuning=0.3")
    whole, parts = begun(*settings), begun(*settings)
    search(whole, None)
    _, notes = read(whole)
    told: list[int] = []

    def built(engine) -> None:
        engine._observer = lambda progress: (
            told.append(1) or (len(told) == 4 * tuning_period(4) and engine.stop("test"))
        )

    search(parts, None, built=built)
    search(parts, None)
    assert notes
    assert [one.source for one in read(parts)[0]] == [one.source for one in read(whole)[0]]
    assert read(parts)[1] == notes


def test_every_strategy_tunes_by_itself_but_the_baselines_with_a_model() -> None:
    shares = {
        name: resolve_strategy(build_config({}, (f"strategy.name={name}", "model.name=m"), "test")).strategy.tuning
        for name in STRATEGIES
    }
    assert [shares.pop(name) for name in ("random", "hill_climb", "one_shot")] == [0.0] * 3
    assert set(shares.values()) == {0.1}


@pytest.mark.parametrize(("share", "evaluations", "worth"), [(0.1, 119, False), (0.1, 120, True), (0.0, None, False)])
def test_no_round_is_kept_free_for_what_cannot_be_paid(share: float, evaluations: int | None, worth: bool) -> None:
    assert is_worth(share, Budget(evaluations=evaluations)) is worth
    assert is_worth(0.1, Budget(evaluations=None, seconds=60))
    assert not is_worth(0.1, Budget(evaluations=None, model_calls=60))


def test_a_free_round_begins_when_the_one_before_is_committed() -> None:
    for window in range(1, 20):
        assert tuning_period(window) >= window
        assert tuning_period(window) % 2 == 1


def ranges(count: int) -> list[Range]:
    terms = " + ".join(f"{number + 2}.5 * x ** {number + 2}.25" for number in range((count + 1) // 2))
    found = find_constants(f"def guess(x):\n    return {terms}\n", "guess")[:count]
    assert len(found) == count
    return [Range.around(constant) for constant in found]


TERMS = " + ".join(f"{number + 2}.5 * x ** {number + 2}.25" for number in range(6))


def tuned_values(count: int, window: int, seed: int, score: Callable[[dict[int, float]], float | None]) -> list[dict]:
    """Return the values that a tuning of the first constants of a program tries; ``score`` is their fitness."""
    source = f"def guess(x):\n    return {TERMS}\n"
    axes = [Range.around(constant) for constant in find_constants(source, "guess")[:count]]
    tried = []

    async def fork(works: list) -> list:
        found = [find_constants(work.keywords["source"], "guess") for work in works]
        chosen = [{constant.number: constant.value for constant in constants} for constants in found]
        tried.extend({axis.constant.number: values[axis.constant.number] for axis in axes} for values in chosen)
        scores = [score(values) for values in tried[-len(works) :]]
        return [SimpleNamespace(evaluation=Evaluation(Status.ERROR if of is None else Status.OK, of)) for of in scores]

    run = SimpleNamespace(
        rng=np.random.default_rng(seed), window=window, fork=fork, archive=Archive("maximize"),
        problem=SimpleNamespace(about=SimpleNamespace(function="guess")),
    )  # fmt: skip
    elite = Elite(id="1.0", source=source, score=0.0, features=None, metrics={})
    asyncio.run(tune_constants(run, elite, axes, tuning_cost(count), local=True))
    assert all(axis.low <= values[axis.constant.number] <= axis.high for values in tried for axis in axes)
    return tried


@pytest.mark.parametrize("window", [1, 4 * GENERATION])
@pytest.mark.parametrize("count", [1, 2, MIN_TUNED, MIN_TUNED + 1, MAX_TUNED])
def test_few_and_many_constants_come_nearer_to_where_they_are_best(count: int, window: int) -> None:
    """A bowl whose least value lies at 1.3 times the constants, as many times as a tuning asks."""
    present = {
        constant.number: constant.value for constant in find_constants(f"def guess(x):\n    return {TERMS}\n", "guess")
    }

    def bowl(values: dict[int, float]) -> float:
        return -sum((value / present[number] - 1.3) ** 2 for number, value in values.items())

    tried = [tuned_values(count, window, seed, bowl) for seed in range(3)]
    assert {len(values) for values in tried} == {tuning_cost(count)}
    assert sorted(max(map(bowl, values)) for values in tried)[1] > 0.9 * -count * 0.3**2
    assert tuning_cost(count) >= COST


def test_what_fails_is_no_reason_to_stop_proposing() -> None:
    assert len(tuned_values(8, 1, 0, lambda values: None)) == tuning_cost(8)


def test_a_trial_is_made_from_three_other_points(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [np.array([float(number)]) for number in range(6)]
    drawn: set[tuple[float, ...]] = set()

    def make(target, others, box, rng):
        assert float(target[0]) == 2.0
        drawn.add(tuple(float(other[0]) for other in others))
        return target

    monkeypatch.setattr(tuning, "make_trial", make)
    for seed in range(200):
        tuning._draw_trial(points, 2, None, np.random.default_rng(seed))
    assert all(len(set(three)) == 3 and 2.0 not in three for three in drawn)
    assert {number for three in drawn for number in three} == {0.0, 1.0, 3.0, 4.0, 5.0}
