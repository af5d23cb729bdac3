"""A cascade ends an evaluation on val as soon as the archive is out of reach, and changes nothing else."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.direction import Direction
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job
from oragent.evaluation.job import floor_score, screened_evaluation
from oragent.evaluation.pool import JobPool
from oragent.search.engine import Engine
from oragent.search.folder import RunFolder
from oragent.search.store import Store
from tests.search.test_engine import climb, history, scored


class Ending:
    """An evaluator that ends early where the score will not come up to its floor; lower is better."""

    def __init__(self) -> None:
        self.floors: list[float] = []

    def __call__(self, job: Job) -> Evaluation:
        found = scored(job)
        if job.mode == "train" or found.score is None:
            return replace(found, score=None if found.score is None else found.score % 7)
        given = [word for word in job.arguments if word.startswith("--floor=")]
        floor = float(given[0].removeprefix("--floor=")) if given else None
        if floor is None:
            return found
        self.floors.append(floor)
        return replace(found, metrics=found.metrics | {"below_floor": True}) if found.score > floor else found


def searched(folder: RunFolder, run: Ending, *offers: str, workers: int = 2) -> None:
    pool = JobPool(workers, run)
    with Store(folder.database) as store:
        try:
            asyncio.run(Engine(folder, store, pool, climb, offers=frozenset(offers)).run())
        finally:
            pool.close()


def statuses(folder: RunFolder) -> dict[str, str]:
    with Store(folder.database, readonly=True) as store:
        return {one.source: str(one.candidate.evaluation.status) for one in store.records()}


def test_who_cannot_come_up_to_the_elites_is_screened_and_everybody_else_has_the_same_score(begun) -> None:
    settings = "budget.evaluations=40", "cascade=0.5", "strategy.window=1"
    run, plain = Ending(), Ending()
    folder, other = begun(*settings), begun(*settings)
    searched(folder, run, "--floor")
    searched(other, plain)
    assert run.floors
    assert plain.floors == []
    scores = {source: score for _, source, _, _, _, score in history(folder) if score is not None}
    true = {source: abs(100 - eval_of(source)) for source in scores}
    assert scores == true
    ended = statuses(folder)
    assert "screened" in ended.values()
    assert {ended[source] for source in scores} == {"ok"}


def eval_of(source: str) -> float:
    names: dict = {}
    exec(source, names)
    return float(names["guess"](3))


def test_it_finds_the_same_at_any_number_of_workers(begun) -> None:
    runs = []
    for workers in (1, 4):
        folder = begun("budget.evaluations=30", "cascade=0.5", "seed=3")
        searched(folder, Ending(), "--floor", workers=workers)
        runs.append(history(folder))
    assert runs[0] == runs[1]


def test_without_a_cascade_nobody_is_ended(begun) -> None:
    run = Ending()
    searched(begun("budget.evaluations=10"), run, "--floor")
    assert run.floors == []


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.sampled_from(Direction))
def test_a_floor_lies_among_the_elites(scores: list[float], direction: Direction) -> None:
    assert floor_score(scores, direction, 1.0) == pytest.approx(direction.best(scores))
    assert min(scores) <= floor_score(scores, direction, 0.5) <= max(scores)
    assert floor_score([], direction, 0.5) is None


def test_a_screened_candidate_has_no_score_whatever_ended_it() -> None:
    quick = Evaluation(Status.OK, 3.0, (1,), {"below_floor": True}, wall_s=1.0)
    found = screened_evaluation(quick)
    assert (found.status, found.score, found.features) == (Status.SCREENED, None, None)
