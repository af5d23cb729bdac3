"""A cascade scores on val only what does well on train, and finds the same however it is scheduled."""

import random
import threading
from dataclasses import replace

import numpy as np
import pytest

from oragent._base.errors import ConfigError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job
from oragent.evaluation.job import TRAIN
from oragent.search.candidate import Committed
from oragent.search.config import read_config
from oragent.search.folder import reopen
from oragent.search.store import Store
from tests.search.test_engine import history, scored, search


class Watched:
    """Evaluations of the toy problem; on train a score is a little off, and programs are remembered by mode."""

    def __init__(self) -> None:
        self.sources: dict[str | None, list[str]] = {"train": [], None: []}

    def __call__(self, job: Job) -> Evaluation:
        threading.Event().wait(random.random() / 100)
        self.sources[job.mode].append(job.source)
        found = scored(job)
        off = sum(job.source.encode()) % 7 if job.mode == "train" else 0
        return found if found.score is None else replace(found, score=found.score + off)


def records(folder) -> list[Committed]:
    with Store(folder.database, readonly=True) as store:
        return store.records()


@pytest.mark.slow
def test_only_what_does_well_on_train_is_scored_on_val(begun) -> None:
    folder, watched = begun("budget.evaluations=60", "cascade=0.5"), Watched()
    search(folder, run=watched)
    ended = {status: [one for one in records(folder) if one.candidate.evaluation.status is status] for status in Status}
    assert ended[Status.SCREENED]
    assert ended[Status.ERROR]
    assert len(watched.sources["train"]) > len(watched.sources[None]) > 1
    for record in ended[Status.OK]:
        assert (
            record.candidate.evaluation.metrics[TRAIN]
            == record.candidate.evaluation.score + sum(record.candidate.source.encode()) % 7
        )
    for record in ended[Status.SCREENED]:
        assert (record.placed, record.candidate.evaluation.score, record.candidate.evaluation.features) == (
            "",
            None,
            None,
        )
    assert not {one.candidate.source for one in ended[Status.ERROR]} & set(watched.sources[None])
    scored_on_val = {one.candidate.source for one in ended[Status.OK]}
    assert scored_on_val == set(watched.sources[None])


def test_a_quantile_of_one_lets_only_what_beats_every_elite_on_train_go_on(begun) -> None:
    folder = begun("budget.evaluations=40", "cascade=1", "strategy.window=1")
    search(folder, run=Watched())
    train = [
        one.candidate.evaluation.metrics[TRAIN]
        for one in records(folder)
        if one.candidate.evaluation.status is Status.OK
    ]
    assert len(train) > 1
    assert all(np.diff(train) < 0)  # of the toy problem less is better


@pytest.mark.slow
def test_a_cascade_finds_the_same_at_any_number_of_workers(begun) -> None:
    runs = []
    for workers in (1, 2, 8):
        folder = begun("budget.evaluations=40", "seed=3", "cascade=0.5")
        search(folder, run=Watched(), workers=workers)
        runs.append(history(folder))
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.slow
def test_a_resumed_cascade_goes_on_as_if_it_had_never_been_stopped(begun) -> None:
    whole, broken = begun("budget.evaluations=40", "cascade=0.5"), begun("budget.evaluations=40", "cascade=0.5")
    search(whole, run=Watched())

    def kill(progress) -> None:
        if progress.spent.evaluations == 17:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(broken, run=Watched(), observer=kill)
    again = Watched()
    search(reopen(broken.path), run=again)
    assert history(whole) == history(broken)
    assert len(again.sources["train"]) <= 40 - 17


def test_a_quantile_beyond_one_is_one_clear_line() -> None:
    with pytest.raises(ConfigError, match="cascade"):
        read_config(None, ["cascade=50"])
