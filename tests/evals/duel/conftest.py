"""A pool of ours: who is better is known, and every evaluation is counted."""

from contextlib import asynccontextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from oragent._base.protocol import Status
from oragent.evals.duel import runner
from oragent.evaluation import Evaluation, Job

SIZES = {"20": 6, "50": 6}


class DicePool:
    """Scores a program, which is a shift and a spread, on instances drawn by the seed of the job."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.options = "--fresh_seed --instances practice"

    async def evaluate(self, job: Job, **words: object) -> Evaluation:
        if "--help" in job.arguments:
            return ended(output=f"options: {self.options}", score=None)
        self.jobs.append(job)
        shift, spread = map(float, job.source.split())
        if shift < 0:
            return ended(status=Status.TIMEOUT, message="too slow", score=None)
        seed = next((int(word.partition("=")[2]) for word in job.arguments if word.startswith("--fresh_seed=")), 0)
        shared, own = np.random.default_rng(seed), np.random.default_rng([seed, int(1e6 * shift)])
        work = next((float(word.partition("=")[2]) for word in job.arguments if word.startswith("--work=")), 1.0)
        values = {
            size: [
                int(size) * (10 + x + shift + spread * e)
                for x, e in zip(*(rng.normal(size=count) for rng in (shared, own)), strict=True)
            ]
            for size, count in SIZES.items()
        }
        return ended(metrics={"by_instance": values, "heuristic_seconds": 1 + shift}, score=1.0, cpu_s=3 * shift * work)

    def close(self) -> None:
        pass


def ended(**fields: object) -> Evaluation:
    texts = {"message": "", "output": "", "log": ""}
    blank = {
        "status": Status.OK,
        "score": None,
        "features": None,
        "metrics": {},
        "wall_s": 0.1,
        "cpu_s": 2.0,
        "peak_mb": 1.0,
    }
    return Evaluation(**{**blank, **texts, **fields})


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> DicePool:
    made = DicePool()

    @asynccontextmanager
    async def open_evaluations(*_: object):
        yield SimpleNamespace(pool=lambda: made)

    monkeypatch.setattr(runner.os, "urandom", lambda count: b"\1" * count)
    monkeypatch.setattr(runner, "open_evaluations", open_evaluations)
    monkeypatch.setattr(
        runner, "help_job", lambda problem, root, limits: problem.make_job("", root, None, arguments=("--help",))
    )
    return made
