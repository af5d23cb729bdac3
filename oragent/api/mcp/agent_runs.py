"""A run of programs from a client: an ordinary background search with a queue instead of a model."""

import asyncio
import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr

from oragent._base.budget import Spent
from oragent._base.errors import ConfigError, OragentError
from oragent.ledger import Interrupted
from oragent.llm.model import Model, Reply, Request
from oragent.search.candidate import Committed
from oragent.search.engine import Engine
from oragent.search.events import EventKind, Progress, RunEvent, SearchResult
from oragent.search.folder import RunFolder
from oragent.search.launch import LaunchOptions, search
from oragent.search.store import Store
from oragent.search.strategies.submitted import SUBMITTED, Submission

# Maximum number of submissions that wait for a round.
MAX_WAITING = 64
ENDED = "the server ended"


@dataclass
class _Waiting:
    submission: Submission
    # Number of the round that scored it.
    round: asyncio.Future[int] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class SubmissionQueue:
    """Replaces a model: each request is answered with the next submission."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[_Waiting | None] = asyncio.Queue()
        self._in_rounds: dict[int, _Waiting] = {}
        self._is_closed = False

    async def __call__(self, request: Request, /) -> Reply:
        """Return the next submission.

        Raises:
            Interrupted: The queue was closed.
        """
        begun = time.monotonic()
        while (waiting := await self._waiting.get()) is not None:
            # The client cancelled it before a round started.
            if waiting.round.cancelled():
                continue
            self._in_rounds[int(request.key.partition(".")[0])] = waiting
            seconds = time.monotonic() - begun
            return Reply(
                waiting.submission.dump(), tokens_in=0, tokens_out=0, money=0.0, seconds=seconds, model=SUBMITTED
            )
        self._waiting.put_nowait(None)
        raise Interrupted(ENDED)

    @property
    def has_waiting(self) -> bool:
        """True if a submission waits for a round."""
        return not self._waiting.empty()

    async def submit(self, submission: Submission) -> int:
        """Queue a submission and return the number of the round that scored it.

        Raises:
            ConfigError: Too many submissions are waiting.
            OragentError: The run ended first.
        """
        if self._is_closed:
            raise ConfigError("the run has ended: open_run with a larger budget continues it")
        if self._waiting.qsize() >= MAX_WAITING:
            raise ConfigError(f"{MAX_WAITING} submissions wait already: wait for their answers")
        waiting = _Waiting(submission)
        self._waiting.put_nowait(waiting)
        return await waiting.round

    def settle(self, number: int) -> None:
        """Complete the submission of a committed round."""
        waiting = self._in_rounds.pop(number, None)
        if waiting is not None and not waiting.round.done():
            waiting.round.set_result(number)

    def close(self, reason: str) -> None:
        """Stop answering requests; waiting submissions fail."""
        self._is_closed = True
        failed = list(self._in_rounds.values())
        self._in_rounds.clear()
        while not self._waiting.empty():
            waiting = self._waiting.get_nowait()
            if waiting is not None:
                failed.append(waiting)
        self._waiting.put_nowait(None)
        for waiting in failed:
            if not waiting.round.done():
                waiting.round.set_exception(ConfigError(f"the program was not scored: {reason}"))


@dataclass(frozen=True)
class RunState:
    """State of an open run."""

    spent: Spent
    best: str
    best_score: float
    seed_score: float


class SubmissionRun:
    """A run that takes programs of a client.

    Args:
        folder: Folder of the run.
        queue: Queue that passes the programs to the search.
    """

    def __init__(self, folder: RunFolder, queue: SubmissionQueue) -> None:
        self.folder = folder
        self._queue = queue
        self._progress: Progress | None = None

    @property
    def path(self) -> Path:
        """Folder of the run."""
        return self.folder.path

    @property
    def is_open(self) -> bool:
        """True if programs can be submitted."""
        return True

    @property
    def state(self) -> RunState:
        """Spending, and the best program so far."""
        assert self._progress is not None
        progress = self._progress
        return RunState(progress.spent, progress.best.id, progress.best.score, progress.seed.score)

    def take_progress(self, progress: Progress) -> None:
        """Take the state of the run after a round."""
        self._progress = progress

    async def submit(self, submission: Submission) -> Committed:
        """Score a program within the budget of the run and return the candidate.

        Raises:
            ConfigError: A parent is unknown, or the run has ended.
        """
        known_ids = await asyncio.to_thread(self._read_ids)
        unknown = [parent for parent in submission.parents if parent not in known_ids]
        if unknown:
            raise ConfigError(f"no candidate {unknown[0]} in this run: the tool archive lists ids")
        number = await self._queue.submit(submission)
        return (await asyncio.to_thread(self._read_round, number))[0]

    def _read_ids(self) -> set[str]:
        with Store(self.folder.database, readonly=True) as store:
            return {record.id for record in store.records()}

    def _read_round(self, number: int) -> list[Committed]:
        with Store(self.folder.database, readonly=True) as store:
            return list(store.records(number))


class AgentRun(SubmissionRun):
    """A run of the server.

    Args:
        folder: Folder of the run.
        takes_programs: Whether a client submits its programs. Otherwise its strategy searches in the background.
    """

    def __init__(self, folder: RunFolder, *, takes_programs: bool = True) -> None:
        super().__init__(folder, SubmissionQueue())
        self.takes_programs = takes_programs
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._engine: Engine | None = None
        # Number of rounds in the folder, which the search replays first.
        self._recorded, self._committed = 0, 0
        self._task: asyncio.Task[SearchResult] | None = None

    @property
    def is_open(self) -> bool:
        """True if programs can be submitted."""
        return self._task is not None and not self._task.done()

    async def begin(self) -> None:
        """Start the search and wait until the seed heuristic has a score.

        Raises:
            OragentError: The search cannot start.
        """
        self._task = asyncio.create_task(self._search())
        self._task.add_done_callback(self._note_end)
        await asyncio.shield(self._ready)

    async def close(self, reason: str = ENDED) -> None:
        """End the search; running evaluations finish, are stored, and count."""
        if self._engine is not None:
            self._engine.stop(reason)
        self._queue.close(reason)
        if self._task is not None:
            with contextlib.suppress(OragentError, asyncio.CancelledError):
                await asyncio.wait([self._task])

    async def _search(self) -> SearchResult:
        def make_queue(settings: object) -> Model:
            return self._queue

        folder = self.folder
        if self.takes_programs:
            overrides = LaunchOptions(makers={SUBMITTED: make_queue}, key=SecretStr(""))
        else:
            # A search without a model leaves the key of the environment alone.
            overrides = LaunchOptions(key=None if folder.config.model else SecretStr(""))
        return await search(
            folder.config,
            folder.root,
            folder.problem,
            lambda: folder,
            self.take_progress,
            steering=self._steer,
            overrides=overrides,
            on_event=self._take_event,
        )

    @contextlib.contextmanager
    def _steer(self, engine: Engine) -> Iterator[None]:
        self._engine = engine
        try:
            yield
        finally:
            self._engine = None

    def take_progress(self, progress: Progress) -> None:
        """Take the state of the run after a round; programs are taken after the recorded rounds."""
        super().take_progress(progress)
        self._committed += 1
        if self._committed >= self._recorded and not self._ready.done():
            self._ready.set_result(None)

    def _take_event(self, event: RunEvent) -> None:
        if event.kind is EventKind.BEGUN:
            self._recorded = int(str(event.data["rounds"]))
        elif event.kind is EventKind.BUDGET:
            self._queue.settle(event.round)

    def _note_end(self, task: asyncio.Task[SearchResult]) -> None:
        if task.cancelled():
            problem: BaseException | None = ConfigError(ENDED)
        else:
            problem = task.exception()
        reason = str(problem) if problem is not None else task.result().reason
        self._queue.close(reason)
        if not self._ready.done():
            self._ready.set_exception(problem or ConfigError(reason))
