"""What is put to workers is seen through: lost ones again, late ones twice, each counted once, and nothing believed."""

import asyncio
import json
import random
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from oragent._base.errors import SandboxError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, run_evaluation
from oragent.evaluation.cluster.content import Content
from oragent.evaluation.cluster.dispatch import Dispatcher, EvaluationLost, LatenessRule
from oragent.evaluation.pool import Places
from tests.evaluation.cluster.conftest import Sham, dispatched, job, same, shaky, well
from tests.search.test_engine import history, search

QUICK = LatenessRule(floor_s=0.05, factor=1.0)
SLOW = LatenessRule(floor_s=60.0)


@pytest.mark.slow
@pytest.mark.parametrize("places", [1, 4, 16])
def test_the_archive_is_that_of_one_worker_whatever_is_lost(begun, places: int) -> None:
    alone, afar = begun("budget.evaluations=40", "seed=3"), begun("budget.evaluations=40", "seed=3")
    search(alone, workers=1)
    outcome, dispatch, events = dispatched(afar, shaky(random.Random(places)), places, QUICK)
    assert history(afar) == history(alone)
    assert outcome.progress.spent.evaluations == dispatch.counts["evaluations"] == 40
    assert dispatch.counts["lost"]
    assert dispatch.counts["trouble"]
    assert dispatch.counts["garbled"]
    assert len(events) >= sum(dispatch.counts[kind] for kind in ("lost", "trouble", "garbled"))


def test_a_run_that_was_killed_goes_on_with_other_workers(begun) -> None:
    whole, broken = begun("budget.evaluations=30"), begun("budget.evaluations=30")
    search(whole)
    with pytest.raises(SandboxError):  # its executor dies in the middle
        dispatched(broken, lambda number, request: _until(number, 12, request), 3, SLOW)
    _, dispatch, _ = dispatched(broken, lambda number, request: well(request), 5, SLOW)
    assert history(broken) == history(whole)
    assert dispatch.counts["evaluations"] < 30


def _until(number: int, last: int, request: str) -> str:
    if number > last:
        raise SandboxError("the Dask process ended")
    return well(request)


async def _one(answer, content: Content, toy: Path, root: Path, places: int = 4, patience: LatenessRule = QUICK):
    free, events = Places(places), []
    dispatch = Dispatcher(Sham(answer), content, free, events.append, patience)
    await free.take()
    found = await dispatch.evaluate(job(toy, root))
    return found, dispatch, free, events


def test_of_two_copies_the_first_result_counts(content, toy, tmp_path) -> None:
    hung = threading.Event()

    def answer(number: int, request: str) -> str:
        if number == 0:
            hung.wait()
        return well(request)

    patience = LatenessRule(floor_s=0.01, factor=0.0)

    async def race():
        free = Places(2)
        dispatch = Dispatcher(Sham(answer), content, free, lambda line: None, patience)
        dispatch._recent.extend([0.001] * 5)  # so long did others take
        await free.take()
        found = await dispatch.evaluate(job(toy, tmp_path))
        held = free.taken
        hung.set()
        while free.taken:
            await asyncio.sleep(0.001)
        return found, dispatch, held

    found, dispatch, held = asyncio.run(race())
    assert found.score == 50
    assert dispatch.counts["begun"] == 2
    assert dispatch.counts["late"] == dispatch.counts["evaluations"] == 1
    assert held >= 1  # who hangs keeps its place, so that nothing more is put to it


def test_who_is_late_is_not_doubled_where_there_is_no_place(content, toy, tmp_path) -> None:
    def answer(number: int, request: str) -> str:
        threading.Event().wait(0.2)
        return well(request)

    async def race():
        free = Places(1)
        dispatch = Dispatcher(Sham(answer), content, free, lambda line: None, LatenessRule(0.01, 0.0))
        dispatch._recent.extend([0.001] * 5)
        await free.take()
        return await dispatch.evaluate(job(toy, tmp_path)), dispatch

    _, dispatch = asyncio.run(race())
    assert dispatch.counts["begun"] == 1


def test_what_is_lost_time_and_again_ends_the_run_and_not_the_candidate(content, toy, tmp_path) -> None:
    def answer(number: int, request: str) -> str:
        raise EvaluationLost("its worker is gone")

    with pytest.raises(SandboxError):
        asyncio.run(_one(answer, content, toy, tmp_path))


def test_a_worker_without_the_content_is_sent_it_along(content, toy, tmp_path) -> None:
    def answer(number: int, request: str) -> str:
        return json.dumps({"needs": content.digest}) if number == 0 else well(request)

    async def ask():
        free, sham = Places(1), Sham(answer)
        dispatch = Dispatcher(sham, content, free, lambda line: None, SLOW, whole=True)
        await free.take()
        await dispatch.evaluate(job(toy, tmp_path))
        return sham.requests

    first, second = asyncio.run(ask())
    assert len(first) == 1
    assert second[1:] == tuple(content.paths[piece.name].read_bytes() for piece in content.pieces)


@pytest.mark.slow
def test_any_executor_will_do(content, toy, tmp_path) -> None:
    jobs = [job(toy, tmp_path, f"def guess(x):\n    return {body}\n") for body in ("7.0", "1 / 0", "x * 3")]

    async def ask(executor) -> list[Evaluation]:
        free = Places(2)
        dispatch = Dispatcher(executor, content, free, lambda line: None, SLOW, whole=True)

        async def one(wanted) -> Evaluation:
            await free.take()
            return await dispatch.evaluate(wanted)

        return await asyncio.gather(*map(one, jobs))

    with ProcessPoolExecutor(1) as executor:
        found = asyncio.run(ask(executor))
    assert [one.status for one in found] == [Status.OK, Status.ERROR, Status.OK]
    assert all(same(one, run_evaluation(wanted)) for one, wanted in zip(found[:1], jobs[:1], strict=True))
    assert "ZeroDivisionError" in found[1].traceback
