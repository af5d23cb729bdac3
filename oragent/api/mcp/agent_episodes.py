"""Episodes of a coding agent in a search of the strategy ``agent``.

The process of the search starts the agent and serves its tools over HTTP on this machine. A submission or the end of an
episode is the reply to a request of the search, so it is recorded, counted and replayed like the reply of a model.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from oragent._base.errors import OragentError, SearchFinished
from oragent._base.files import replace_file
from oragent._base.text_format import format_count, one_line
from oragent.api.mcp.agent_process import AgentOutput, ServerAddress, find_program, run_agent
from oragent.api.mcp.agent_runs import SubmissionQueue, SubmissionRun
from oragent.api.mcp.agent_server import AgentPlace, serve_agent
from oragent.api.mcp.agent_usage import AgentUsage, read_usage
from oragent.api.mcp.answers import hide_secrets
from oragent.api.mcp.server import require_mcp
from oragent.ledger import Interrupted, RecordedReply
from oragent.llm.model import Message, Model, Reply, Request
from oragent.llm.prices import project_prices
from oragent.search.config import Config
from oragent.search.engine import Engine
from oragent.search.events import EventKind, Progress, RunEvent
from oragent.search.folder import RunFolder
from oragent.search.run_context import PROMPTS
from oragent.search.store import Store
from oragent.search.strategies.agent import AGENT, EPISODE, CodingAgentSettings, EpisodeEnd, check_command, parse_end
from oragent.search.strategies.agent import STRATEGY as AGENT_STRATEGY
from oragent.search.strategies.submitted import PROMPT, ROLE

# Seconds between two checks whether the user has stopped the run.
POLL_S = 0.5
# Seconds that an agent has to end after the run has ended, so that it reports its tokens.
GRACE_S = 30.0
# Folder of the logs of episodes in a run, and the maximum number of characters of each output.
LOGS, MAX_LOG = "episodes", 1 << 20


class AgentEpisodes(SubmissionQueue):
    """Answers requests with programs of an agent, which it starts when none is running."""

    def __init__(self, config: Config, tell: Callable[[str], None]) -> None:
        super().__init__()
        settings = AGENT_STRATEGY.own(config)
        assert isinstance(settings, CodingAgentSettings)
        check_command(settings)
        self._settings, self._config, self._tell = settings, config, tell
        self._model = config.model.name if config.model is not None else ""
        self._program = find_program(settings, self._model)
        self._run: SubmissionRun | None = None
        self._engine: Engine | None = None
        self._stack = AsyncExitStack()
        self._place: AgentPlace | None = None
        self._server: ServerAddress | None = None
        self._episode: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        # Number of the latest episode, and number of programs submitted in it.
        self._number = self._submitted = 0
        self._ends: asyncio.Queue[Reply] = asyncio.Queue()
        self._is_finished = False
        # Number of the latest committed round.
        self._committed = 0

    @asynccontextmanager
    async def open_model(self) -> AsyncIterator[Model]:
        """Answer requests until the search ends; then end the agent and its server."""
        require_mcp()
        async with self._stack:
            try:
                yield self
            finally:
                await self._end()

    def take_folder(self, folder: RunFolder) -> None:
        """Take the folder of the run, with the number of episodes that have ended."""
        with Store(folder.database) as store:
            ends = [parse_end(note.text) for note in store.notes() if note.kind == EPISODE]
        self._number = max((end.episode for end in ends if end is not None), default=0)
        self._run = SubmissionRun(folder, self)

    def take_engine(self, engine: Engine) -> None:
        """Take the engine, to notice that the user stops the run."""
        self._engine = engine

    def take_progress(self, progress: Progress) -> None:
        """Take the state of the run after a round."""
        assert self._run is not None
        self._run.take_progress(progress)

    def take_event(self, event: RunEvent) -> None:
        """Complete the submission of a committed round."""
        if event.kind is EventKind.BUDGET:
            self._committed = event.round
            self.settle(event.round)
        elif event.kind is EventKind.ENDED:
            self.close(str(event.data["reason"]))

    async def __call__(self, request: Request, /) -> Reply:
        """Return the next program of the agent, or the end of its episode.

        Raises:
            SearchFinished: All episodes have ended.
        """
        async with self._starting:
            await self._start_if_idle()
        program = asyncio.ensure_future(super().__call__(request))
        end = asyncio.ensure_future(self._ends.get())
        try:
            while not (program.done() or end.done() or self._is_finished):
                if self._engine is not None and self._engine.is_ending:
                    raise Interrupted("the run is being stopped")
                await asyncio.wait((program, end), timeout=POLL_S, return_when=asyncio.FIRST_COMPLETED)
            if program.done():
                if end.done():
                    self._ends.put_nowait(end.result())
                self._submitted += 1
                return replace(program.result(), model=self._model or AGENT)
            if end.done():
                return end.result()
            raise SearchFinished(self._describe_end())
        finally:
            program.cancel()
            end.cancel()

    async def _start_if_idle(self) -> None:
        if self._episode is not None and not (self._episode.done() and self._ends.empty()):
            return
        if self.has_waiting:
            return
        if self._number >= self._settings.episodes:
            self._is_finished = True
            raise SearchFinished(self._describe_end())
        if self._server is None:
            assert self._run is not None
            self._place = AgentPlace(self._run)
            self._server = await self._stack.enter_async_context(serve_agent(self._place))
        self._number, self._submitted = self._number + 1, 0
        self._episode = asyncio.create_task(self._run_episode(self._number))

    def _describe_end(self) -> str:
        return f"the agent has worked for {format_count(self._settings.episodes, 'episode')}"

    async def _run_episode(self, number: int) -> None:
        assert self._server is not None
        begun = time.monotonic()
        output = await run_agent(self._settings, self._program, self._server, self._write_prompt(), self._model)
        self._write_log(number, output)
        usage = read_usage(output.stdout)
        if usage is None:
            self._tell(f"episode {number}: the agent reported no tokens, so they do not count in the budget")
        if self._submitted == 0:
            last = one_line(output.stderr.strip().splitlines()[-1], 200) if output.stderr.strip() else ""
            self._tell(
                f"episode {number}: the agent submitted no program; it {output.ended}{f': {last}' if last else ''}"
            )
        end = EpisodeEnd(number, one_line(output.ended, 200), self._submitted, usage is not None)
        self._ends.put_nowait(self._make_reply(end, usage or AgentUsage(), time.monotonic() - begun))

    def _make_reply(self, end: EpisodeEnd, usage: AgentUsage, seconds: float) -> Reply:
        money = usage.money
        if money is None and end.has_usage and self._run is not None:
            prices = project_prices(self._run.folder.root)
            money = prices.call_cost(self._model, usage.tokens_in, usage.tokens_out, usage.tokens_cached)
        return Reply(
            end.dump(),
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            tokens_cached=usage.tokens_cached,
            money=money,
            seconds=seconds,
            model=self._model or AGENT,
        )

    def _write_prompt(self) -> str:
        assert self._run is not None
        assert self._place is not None
        problem, bound = self._run.folder.problem, self._run.folder.config.budget.evaluations
        remaining = "as many as you need" if bound is None else str(max(0, bound - self._run.state.spent.evaluations))
        folder = self._run.folder.config.prompts
        return PROMPTS.fill(
            AGENT,
            "",
            PROMPTS.read_own(Path(folder)) if folder else None,
            title=problem.about.title,
            description=problem.brief,
            signature=problem.signature.shown,
            better=problem.about.direction.comparative,
            run=self._place.run_name,
            left=remaining,
        )

    def _write_log(self, number: int, output: AgentOutput) -> None:
        assert self._run is not None
        folder = self._run.path / LOGS
        text = f"{output.ended}\n\n# stdout\n{output.stdout[-MAX_LOG:]}\n\n# stderr\n{output.stderr[-MAX_LOG:]}\n"
        with contextlib.suppress(OSError):
            folder.mkdir(exist_ok=True)
            replace_file(folder / f"{number}.log", hide_secrets(text))

    async def _end(self) -> None:
        """End the agent; the tokens of an episode that outlives the run are added to its last round."""
        self.close("the run has ended")
        if self._episode is None:
            return
        with contextlib.suppress(TimeoutError, OragentError, OSError):
            await asyncio.wait_for(self._episode, GRACE_S)
        while not self._ends.empty():
            self._book(self._ends.get_nowait())

    def _book(self, reply: Reply) -> None:
        assert self._run is not None
        folder, last = self._run.folder, self._committed
        with contextlib.suppress(OragentError), folder.locked(), folder.opened() as store:
            spent = store.rounds()[last]
            key = f"{last}.{len(store.replies.case_replies(str(last)))}"
            request = Request(ROLE, (Message("user", PROMPT),), key=key)
            store.replies.store_reply(RecordedReply.from_reply(request, reply), request.digest)
            tokens = spent.tokens + reply.tokens_in + reply.tokens_out
            store.amend(last, replace(spent, tokens=tokens, money=spent.money + (reply.money or 0.0)))
