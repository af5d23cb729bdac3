"""Races of a run: elites have full scores, who is ended has none, and all is the same however it is scheduled."""

import asyncio
import json
import threading
from dataclasses import replace

import numpy as np
import pytest

from oragent._base.direction import Direction
from oragent._base.protocol import Status
from oragent._base.racing import BEHAVIOUR, BY_INSTANCE, RaceTerms, mean_score
from oragent.evaluation import Evaluation, Job
from oragent.evaluation.pool import JobPool
from oragent.search.engine import Engine
from oragent.search.evaluation_key import EvaluationKey, ended_race_text
from oragent.search.folder import RunFolder
from oragent.search.screening import race_result, terms_of
from oragent.search.store import Store
from tests.search.test_engine import climb, history, scored

PLANNED = {"20": 12, "50": 12}
NOISE = {size: np.random.default_rng(7).normal(0, 3, count) for size, count in PLANNED.items()}


class Racing:
    """An evaluator that races: on every instance the toy's score, and what is hard about the instance."""

    def __init__(self, jitter: float = 0.0) -> None:
        self.jobs: list[Job] = []
        self.instances = 0
        self._jitter, self._rng = jitter, np.random.default_rng()

    def __call__(self, job: Job) -> Evaluation:
        threading.Event().wait(self._jitter * self._rng.random())
        self.jobs.append(job)
        found = scored(job)
        if found.score is None:
            return found
        told = [word for word in job.arguments if word.startswith("--race=")]
        values = {size: (found.score + noise).round(6).tolist() for size, noise in NOISE.items()}
        behaviour = f"{round(found.score / 4):x}"
        full = replace(found, score=mean_score(values), metrics={"value": found.score})
        if not told:
            self.instances += 24
            return full
        terms = RaceTerms.loads(told[0].removeprefix("--race="))
        ended = terms.replay_race(values, behaviour)
        self.instances += ended.measured if ended else 24
        if ended:
            return Evaluation(Status.SCREENED, message=ended.reason, metrics=ended.metrics, wall_s=0.001)
        marked = {BY_INSTANCE: values} | ({BEHAVIOUR: behaviour} if terms.probes else {})
        return replace(full, metrics=full.metrics | marked)


def searched(folder: RunFolder, run: Racing, *offers: str, workers: int = 2) -> None:
    pool = JobPool(workers, run)
    with Store(folder.database) as store:
        try:
            asyncio.run(Engine(folder, store, pool, climb, offers=frozenset(offers)).run())
        finally:
            pool.close()


def ends(folder: RunFolder) -> list:
    """Each candidate's end, as far as it is no time."""
    with Store(folder.database, readonly=True) as store:
        found = [one.candidate for one in store.records()]
        return [(one.source, one.fingerprint, str(one.evaluation.status), one.evaluation.message) for one in found]


def test_elites_have_full_scores_and_who_was_ended_has_none(begun) -> None:
    folder, run = begun("budget.evaluations=60", "race=0.5", "strategy.window=1"), Racing()
    searched(folder, run, "--race")
    with Store(folder.database, readonly=True) as store:
        records = store.records()
    ended = [one for one in records if one.candidate.evaluation.status is Status.SCREENED]
    assert ended
    for one in ended:
        assert (one.score, one.placed) == (None, "")
        assert one.candidate.evaluation.metrics["raced"]["done"] < 24
        assert "instances" in one.candidate.evaluation.message
    offset = float(np.mean([noise.mean() for noise in NOISE.values()]))
    placed = [one for one in records if one.placed]
    assert placed
    for one in placed:
        assert one.score == pytest.approx(one.candidate.evaluation.metrics["value"] + offset, abs=1e-5)
    assert run.instances < 0.8 * 24 * 60


@pytest.mark.slow
@pytest.mark.parametrize("settings", [("race=0.5",), ("race=1", "cascade=0.3"), ("twins=1",), ("race=0.7", "twins=2")])
def test_it_finds_the_same_at_any_number_of_workers(begun, settings: tuple[str, ...]) -> None:
    runs = []
    for workers in (1, 2, 8):
        folder = begun("budget.evaluations=50", "seed=3", *settings)
        searched(folder, Racing(0.01), "--race", workers=workers)
        runs.append((history(folder), ends(folder)))
    assert runs[0] == runs[1] == runs[2]
    assert any(status == "screened" for _, _, status, _ in runs[0][1])


def test_a_twin_is_not_scored_again_and_has_no_score(begun) -> None:
    folder = begun("budget.evaluations=40", "twins=1", "strategy.window=1")
    searched(folder, Racing(), "--race")
    told = [message for _, _, status, message in ends(folder) if status == "screened"]
    assert told
    assert all("answers just as an elite" in message for message in told)


def test_without_the_option_nothing_changes_and_one_line_says_so(begun) -> None:
    plain, raced = begun("budget.evaluations=20"), begun("budget.evaluations=20", "race=0.5", "twins=1")
    searched(plain, Racing())
    searched(raced, Racing())
    assert history(plain) == history(raced)
    with Store(raced.database, readonly=True) as store:
        assert any("--race" in line for line in store.remarks())


def test_by_a_full_evaluation_a_race_ends_as_it_would_have() -> None:
    rng = np.random.default_rng(5)
    values = {size: (10 + noise + rng.normal(0, 1, len(noise))).round(6).tolist() for size, noise in NOISE.items()}
    full = Evaluation(Status.OK, mean_score(values), (1,), {BY_INSTANCE: json.loads(json.dumps(values))}, wall_s=2.0)
    bar = {size: noise.round(6).tolist() for size, noise in NOISE.items()}
    ended = race_result(full, RaceTerms(Direction.MINIMIZE, bar))
    assert ended is not None
    assert (ended.status, ended.score, ended.features, ended.wall_s) == (Status.SCREENED, None, None, 2.0)
    assert race_result(full, RaceTerms(Direction.MAXIMIZE, bar)) is full
    assert race_result(full, RaceTerms(Direction.MINIMIZE, bar, probes=1)) is None  # its answers are not known
    assert race_result(replace(full, metrics={}), RaceTerms(Direction.MINIMIZE, bar)) is None


def test_terms_are_part_of_the_name_and_the_mark_is_not() -> None:
    one, other = RaceTerms(Direction.MINIMIZE, {"a": [1.0]}), RaceTerms(Direction.MINIMIZE, {"a": [2.0]})
    races = [str(EvaluationKey.of_race("f00", terms.dumps())) for terms in (one, other)]
    assert races[0] != races[1]
    assert ended_race_text(races[0]) == ended_race_text(races[1]) == ended_race_text("f00")


def test_only_a_program_that_is_no_shorter_is_a_twin(begun) -> None:
    from oragent.search.archive import Archive
    from oragent.search.candidate import Elite

    archive = Archive(Direction.MINIMIZE)
    source = "def guess(x):\n    return x * 2.0\n"
    elite = Elite(id="0.0", source=source, score=1.0, features=(1,), metrics={BEHAVIOUR: "beef"})
    archive.add(elite, 0)
    assert terms_of(archive, elite.length, None, 1).twins == {"beef"}
    assert terms_of(archive, elite.length - 1, None, 1).twins == frozenset()
    assert terms_of(archive, elite.length, None, 0).twins == frozenset()
