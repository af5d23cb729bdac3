"""Workers for tests: executors that lose, garble and double what they are given, and an engine on top of them."""

import asyncio
import json
import random
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from oragent.evaluation import Evaluation
from oragent.evaluation.cluster.content import Content, gather_content
from oragent.evaluation.cluster.dispatch import ClusterPool, Dispatcher, EvaluationLost, LatenessRule
from oragent.evaluation.cluster.worker_entry import evaluation_to_json
from oragent.evaluation.pool import Places
from oragent.evaluation.problem import load_problem
from oragent.sandbox.messages import Limits
from oragent.search.engine import Engine
from oragent.search.events import SearchResult
from oragent.search.folder import RunFolder
from oragent.search.store import Store
from tests.search.test_engine import climb, scored


class Sham:
    """An executor whose workers are threads, and answer as a script says."""

    def __init__(self, answer: Callable[[int, str], str]) -> None:
        self.answer, self.requests = answer, []

    def submit(self, fn: Callable[..., str], /, *args: Any) -> "Future[str]":
        future: Future[str] = Future()
        number = len(self.requests)
        self.requests.append(args)

        def work() -> None:
            try:
                answer = self.answer(number, args[0])
            except Exception as problem:
                future.set_exception(problem)
            else:
                future.set_result(answer)

        threading.Thread(target=work, daemon=True).start()
        return future


class _Asked:
    """A job as ``scored`` looks at it."""

    def __init__(self, source: str) -> None:
        self.source = source


def well(request: str) -> str:
    """What a worker answers that does its work."""
    found = scored(_Asked(json.loads(request)["job"]["source"]))
    return json.dumps({"evaluation": evaluation_to_json(found)})


def shaky(rng: random.Random) -> Callable[[int, str], str]:
    """Workers of which a third dies, is in trouble, speaks nonsense, or comes late."""

    def answer(number: int, request: str) -> str:
        luck = rng.random()
        if luck < 0.1:
            raise EvaluationLost("its worker is gone")
        if luck < 0.2:
            return '{"trouble": "No space left on device"}'
        if luck < 0.3:
            return rng.choice(["", "[]", "{", '{"evaluation": {}}', '{"evaluation": 3}', "NaN"])
        if luck < 0.4:
            threading.Event().wait(0.15)
        return well(request)

    return answer


@pytest.fixture
def content(toy: Path, tmp_path: Path) -> Content:
    return gather_content(load_problem(toy), tmp_path)


def dispatched(
    folder: RunFolder, answer: Callable[[int, str], str], places: int, patience: LatenessRule, strategy: Any = climb
) -> tuple[SearchResult, Dispatcher, list[str]]:
    """A search of the toy problem on an executor of tests."""
    events: list[str] = []

    async def search() -> tuple[SearchResult, Dispatcher]:
        free = Places(places)
        dispatch = Dispatcher(Sham(answer), gather_content(folder.problem, folder.root), free, events.append, patience)
        pool = ClusterPool(dispatch, free)
        with Store(folder.database) as store:
            return await Engine(folder, store, pool, strategy, None, lambda progress: None).run(), dispatch

    return *asyncio.run(search()), events


def job(toy: Path, root: Path, source: str = "def guess(x):\n    return 50.0\n") -> Any:
    return load_problem(toy).make_job(source, root, Limits(cpu_s=5.0))


def same(one: Evaluation, other: Evaluation) -> bool:
    """Whether two evaluations differ in their times alone."""
    times = ("queued_s", "wall_s", "cpu_s", "peak_mb")
    return {**vars(one), **dict.fromkeys(times)} == {**vars(other), **dict.fromkeys(times)}
