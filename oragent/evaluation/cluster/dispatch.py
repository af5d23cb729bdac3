"""Dispatch of jobs to an executor, with repeats of lost and copies of late ones; pool of a search on a cluster."""

import asyncio
import json
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass
from typing import Any, Protocol

from oragent._base.errors import ConfigError, SandboxError
from oragent._base.text_format import escape_text
from oragent.evaluation import Evaluation, Job
from oragent.evaluation.cluster.content import Content
from oragent.evaluation.cluster.worker_entry import (
    MalformedAnswer,
    WorkerTrouble,
    content_missing,
    handle_request,
    make_request,
    read_answer,
)
from oragent.evaluation.pool import EvaluationPool, Places

# Consecutive losses of one evaluation after which the run ends: another worker would not help.
LOSSES = 10
# Maximum number of concurrent copies of one evaluation.
COPIES = 3
# Order of repeated evaluations: they go first, because others wait for earlier evaluations.
AGAIN = -1
# Number of finished evaluations from which lateness is estimated.
KNOWN = 5
RECENT = 200
# Maximum size of content that is sent along with a job.
WHOLE_BYTES = 256 << 20


class EvaluationLost(Exception):
    """An evaluation was lost because its worker is gone."""


class JobExecutor(Protocol):
    """Interface of anything that runs a function elsewhere, such as a ``concurrent.futures.Executor``."""

    def submit(self, fn: Callable[..., str], /, *args: Any) -> "Future[str]":
        """Start a function of oragent, which is identified by its name, on texts and bytes."""


@dataclass(frozen=True)
class LatenessRule:
    """Rule for when an evaluation is late."""

    floor_s: float = 30.0
    # Factor on the longest recent duration.
    factor: float = 3.0

    def late_s(self, recent: "deque[float]", job: Job) -> float:
        """Return the seconds after which a second copy of a job starts."""
        # The device scorer may measure twice, each time up to 1.2 times the limit.
        bound = job.limits.idle_s + 3 * job.limits.cpu_s
        usual = self.factor * max(recent) if len(recent) >= KNOWN else bound
        return self.floor_s + min(usual, bound)


class Dispatcher:
    """Evaluator of jobs on an executor.

    Args:
        event: Callback for one line on each failure and its handling.
        patience: Rule for when an evaluation is late.
        whole: Whether content is sent along with a job if the worker lacks it, for executors that do not send it
            before.
    """

    def __init__(
        self,
        executor: JobExecutor,
        content: Content,
        places: Places,
        event: Callable[[str], None],
        patience: LatenessRule | None = None,
        *,
        whole: bool = False,
    ) -> None:
        self._executor, self._content, self._places, self._event = executor, content, places, event
        self._patience, self._whole = patience or LatenessRule(), whole
        self._recent: deque[float] = deque(maxlen=RECENT)
        self.counts: Counter[str] = Counter()

    async def evaluate(self, job: Job) -> Evaluation:
        """Evaluate one job, repeating and duplicating it as necessary; its caller has taken a place for it."""
        text, losses = make_request(job, self._content), 0
        loop = asyncio.get_running_loop()
        copies = {self._begin_copy(text): loop.time()}
        while True:
            newest = max(copies.values())
            patience_s = newest + self._patience.late_s(self._recent, job) - loop.time()
            finished, _ = await asyncio.wait(copies, timeout=max(patience_s, 0.0), return_when=asyncio.FIRST_COMPLETED)
            if not finished:
                self._duplicate_late(copies, text)
                continue
            for copy in finished:
                since = copies.pop(copy)
                outcome = self._read_outcome(copy)
                if isinstance(outcome, Evaluation):
                    self._recent.append(loop.time() - since)
                    self.counts["evaluations"] += 1
                    return outcome
                losses += bool(outcome)
                if losses >= LOSSES:
                    message = f"the run ends because the same evaluation was lost {losses} times: {outcome}"
                    raise SandboxError(message)
            if not copies:
                await self._places.take(AGAIN)
                self.counts["again"] += 1
                copies[self._begin_copy(text, along=not outcome)] = loop.time()

    def _begin_copy(self, text: str, *, along: bool = False) -> "asyncio.Future[str]":
        """Submit a copy of a job. Its place, which has been taken before, is released at its end."""
        self.counts["begun"] += 1
        try:
            words = self._add_content(text) if along else (text,)
            copy = asyncio.wrap_future(self._executor.submit(handle_request, *words))
        except (BrokenExecutor, RuntimeError) as problem:
            self._places.give_back()
            raise SandboxError(f"the executor accepts no more evaluations: {problem}") from None
        copy.add_done_callback(self._release_place)
        return copy

    def _release_place(self, copy: "asyncio.Future[str]") -> None:
        self._places.give_back()
        if not copy.cancelled():
            # Retrieve the exception, so that asyncio does not warn about it.
            copy.exception()

    def _duplicate_late(self, copies: "dict[asyncio.Future[str], float]", text: str) -> None:
        now = asyncio.get_running_loop().time()
        if len(copies) < COPIES and self._places.try_take():
            self._record_event("late", "an evaluation is late: a second copy starts, and the first result counts")
            copies[self._begin_copy(text)] = now
        else:
            # Check again after the same time.
            copies[next(iter(copies))] = now

    def _read_outcome(self, copy: "asyncio.Future[str]") -> Evaluation | str:
        """Return the evaluation of a copy, the reason for its loss, or "" if its worker only lacks the content."""
        try:
            answer = copy.result()
            if self._whole and answer == content_missing(self._content.digest):
                return ""
            return read_answer(answer)
        except (BrokenExecutor, SandboxError) as problem:
            raise SandboxError(f"the cluster can run no more evaluations: {escape_text(str(problem))}") from None
        except WorkerTrouble as problem:
            return self._record_event("trouble", f"a worker could not evaluate: {problem}")
        except MalformedAnswer as problem:
            return self._record_event("garbled", f"a worker's answer was rejected: {problem}")
        except EvaluationLost as problem:
            return self._record_event("lost", f"an evaluation was lost: {problem}")
        except asyncio.CancelledError:
            return self._record_event("lost", "an evaluation was lost: the executor gave it up")
        except Exception as problem:
            # The candidate is not responsible for exceptions of an executor's workers.
            return self._record_event("lost", f"an evaluation was lost: {type(problem).__name__}: {problem}")

    def _record_event(self, kind: str, text: str) -> str:
        text = escape_text(text)[:500]
        self.counts[kind] += 1
        self._event(text)
        return text

    def _add_content(self, text: str) -> tuple[Any, ...]:
        if self._content.size > WHOLE_BYTES:
            raise ConfigError(
                f"the content of {self._content.size >> 20} MiB is too large to send with a job: at most "
                f"{WHOLE_BYTES >> 20} MiB on an executor of your own"
            )
        parts = [self._content.paths[piece.name].read_bytes() for piece in self._content.pieces]
        return json.dumps(json.loads(text) | {"manifest": self._content.manifest}), *parts


class ClusterPool(EvaluationPool):
    """Pool on a cluster, with as many concurrent evaluations as its workers have places."""

    def __init__(self, dispatch: Dispatcher, places: Places) -> None:
        super().__init__(places)
        self._dispatch = dispatch

    async def _run_placed(self, job: Job) -> Evaluation:
        return await self._dispatch.evaluate(job)
