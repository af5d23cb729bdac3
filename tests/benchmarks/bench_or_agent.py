"""What the engine and ``or_agent`` themselves cost a model call, with two thousand programs stored.

Model and evaluations are instant fakes, whose own time is taken off; the target is below 5 ms of CPU time a call.
"""

import asyncio
import hashlib
import itertools
import tempfile
import time
from pathlib import Path

from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job
from oragent.evaluation.pool import JobPool
from oragent.evaluation.problem import load_problem
from oragent.llm.model import Reply, Request
from oragent.search.config import build_config
from oragent.search.engine import Engine
from oragent.search.folder import RunFolder, make_folder, reopen
from oragent.search.round_context import RoundContext
from oragent.search.store import Store
from oragent.search.strategies import STRATEGIES

ROOT = Path(__file__).parents[2]
STORED, CALLS, TARGET_MS = 2000, 600, 5.0
PROGRAM = """import numpy as np


def priority(item, bins_remain_cap):
    rest = bins_remain_cap - item
    score = -np.abs(rest - {0}) ** 1.5 / item
    score[rest == 0] = 2.0 * np.max(np.abs(score))
    near = np.exp(-rest / 10.0)
    return score + 0.5 * near - 0.01 * rest
"""
IDEAS = '[{"title": "steeper", "idea": "Raise the rest to a higher power."}, {"title": "gap", "idea": "Avoid gaps."}]'


class Instant:
    """Answers at once, and notes what that took."""

    def __init__(self) -> None:
        self.calls, self.own_s, self.first_s = 0, 0.0, 0.0
        self.numbers = itertools.count(STORED + 1)

    async def __call__(self, request: Request) -> Reply:
        begun = time.process_time()
        self.first_s = self.first_s or begun
        self.calls += 1
        program = f"```python\n{PROGRAM.format(next(self.numbers))}```"
        texts = {"idea": IDEAS, "code": program, "experiment": f"THOUGHT: a step\nACTION: EDIT\n{program}"}
        text = texts.get(request.role, "It changed little, as most items leave no such gap.")
        self.own_s += time.process_time() - begun
        return Reply(text, model="instant", tokens_in=1000, tokens_out=200, money=0.0, seconds=0.0)


def scored(job: Job) -> Evaluation:
    """A score and a cell that follow from the text."""
    digest = hashlib.sha256(job.source.encode()).digest()
    score = 2000.0 + int.from_bytes(digest[:4], "big") / 2**26
    metrics = {"bins_5000": score, "full_share": digest[4] / 256, "mean_wait": float(digest[5])}
    return Evaluation(Status.OK, score, (digest[4] % 8, digest[5] % 4, digest[6] % 7), metrics, wall_s=0.001)


async def fill(run: RoundContext) -> None:
    """One program a round, until enough are stored."""
    await run.evaluate(PROGRAM.format(run.number), ["0.0"], "fill")


def search(folder: RunFolder, strategy: str, model: Instant | None) -> None:
    """Run a strategy until its budget ends it."""
    pool = JobPool(1, scored)
    with Store(folder.database) as store:
        chosen = STRATEGIES[strategy] if model else fill
        asyncio.run(Engine(folder, store, pool, chosen, model).run())
    pool.close()


def main() -> None:
    """Store the programs, ask the calls, print what a call cost."""
    with tempfile.TemporaryDirectory() as name:
        settings = ["model.name=instant", f"budget.evaluations={STORED}"]
        problem = load_problem(ROOT / "problems" / "bpp_online")
        folder = make_folder(ROOT, Path(name), problem, build_config({}, settings, "bench"))
        search(folder, "fill", None)
        model = Instant()
        more = ["budget.evaluations=null", f"budget.model_calls={CALLS}"]
        search(reopen(folder.path, more), "or_agent", model)
        spent_ms = 1000 * (time.process_time() - model.first_s - model.own_s) / model.calls
        print(f"or_agent: {spent_ms:.2f} ms of CPU time a model call, {STORED:,} programs stored, {model.calls} calls")
        assert spent_ms < TARGET_MS, f"the target is {TARGET_MS} ms"


if __name__ == "__main__":
    main()
