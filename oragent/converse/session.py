"""A person's conversation in a folder that lasts: what was said is kept, and asked nothing twice when it goes on."""

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from oragent._base import files
from oragent._base.errors import ConfigError, MilpError, ModelError, StoreError
from oragent._base.settings import dump_settings
from oragent.converse.agents.guests import Guests
from oragent.converse.agents.model_agents import (
    ASKING,
    PROGRAMMING,
    Design,
    ToolsAgent,
    expect_fitting_agent,
    make_agent,
)
from oragent.converse.agents.rules import RulesAgent
from oragent.converse.conversation import Conversation, Turn, state_of
from oragent.converse.decider import Agent, AgentAnswer, DeciderMessage, DecisionView
from oragent.converse.decision import DecisionProblem
from oragent.converse.problems.registry import is_named
from oragent.converse.problems.registry import open_problem as problem_of
from oragent.converse.solving import StateSolver, build_readable_model, problem_in_force
from oragent.converse.transcript import session_page, summarize_conversation
from oragent.ledger import Interrupted, LedgerCase, Study
from oragent.ledger.database import FORMAT, expect_format
from oragent.ledger.study import open_study
from oragent.llm.model import Model, Reply, Request
from oragent.llm.model_settings import RuntimeSettings, build_runtime
from oragent.milp.files import write
from oragent.report.pages.html import replace_page
from oragent.sandbox.sandbox import Sandbox

CASE, FILE = "conversation", "converse.json"
# reason of a conversation that a person ended
LEAVES = "left"
# roles in which models are asked
MODEL_ROLES = ("agent",)
MOST_TURNS = 10_000
Listen = Callable[[DecisionView], Awaitable[str | None]]


@dataclass(frozen=True)
class ConversationRequest:
    """What a session was begun with.

    Attributes:
        problem: Problem, as the command line names it; of a model, the copy in the folder.
        runtime: Settings of its language models, and the budget; without a model where it asks none.
    """

    problem: str
    agent: str = "rules"
    tools: str = "extended"
    runtime: RuntimeSettings = RuntimeSettings()  # noqa: RUF009  # a frozen value


def begin(outputs: Path, request: ConversationRequest) -> Path:
    """Make the folder ``NAME/TIME`` below ``outputs``.

    Raises:
        OragentError: The problem is none, nobody is asked, or the folder cannot be written.
    """
    found = problem_of(request.problem)
    Design(request.agent, request.tools)
    expect_fitting_agent(request.agent, found)
    if request.agent in ASKING and request.runtime.model is None:
        raise ConfigError(f"nobody is asked as {request.agent}: name a model with --model, or take --agent rules")
    folder = files.name_dated_folder(outputs / files.file_stem(found.name, "model", limit=80))
    try:
        folder.mkdir(parents=True)
        if not is_named(request.problem):
            # it goes on even where the file is gone
            write(replace(found.base, name=found.name), folder / "milp.json")
            request = replace(request, problem="milp.json")
        tree = {"format": FORMAT} | asdict(request) | {"runtime": dump_settings(request.runtime)}
        files.replace_file(folder / FILE, json.dumps(tree, indent=1) + "\n")
    except OSError as problem:
        raise StoreError(f"cannot write into {folder}: {problem}") from None
    return folder


def read_request(folder: Path) -> ConversationRequest:
    """Read what a folder was begun with.

    Raises:
        StoreError: It is none, was changed by hand, or has a link in it.
    """
    files.expect_no_links(folder)
    try:
        plain = json.loads((folder / FILE).read_text(encoding="utf-8"))
        expect_format(plain.get("format"), folder / FILE)
        problem, agent, tools = (str(plain[key]) for key in ("problem", "agent", "tools"))
        return ConversationRequest(problem, agent, tools, build_runtime(plain["runtime"], (), str(folder / FILE)))
    except OSError as problem:
        raise StoreError(f"no conversation at {folder}: {problem.strerror} ({FILE})") from None
    except (AttributeError, ValueError, KeyError, TypeError) as problem:
        raise StoreError(f"{folder / FILE} is not what a conversation leaves: {type(problem).__name__}") from None


@dataclass
class ConversationSession:
    """A conversation in its folder.

    Attributes:
        agent: Agent that answers; None until the session is open.
        absence: Reason why the model of a conversation that goes on cannot be asked; empty while it can.
        notice: Line that the person is shown before the next message; empty for none.
    """

    folder: Path
    request: ConversationRequest = field(init=False)
    problem: DecisionProblem = field(init=False)
    solver: StateSolver = field(init=False)
    agent: Agent | None = None
    turns: list[Turn] = field(default_factory=list)
    absence: str = field(default="", init=False)
    notice: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self.request = read_request(self.folder)
        own = self.folder / "milp.json"
        self.problem = problem_of(str(own) if self.request.problem == "milp.json" else self.request.problem)
        self.solver = StateSolver(self.problem)

    def problem_after(self, state: Mapping[str, Any] | None) -> DecisionProblem:
        """The problem with the changes of a state as plain data."""
        return problem_in_force(self.problem, None if state is None else state_of(state))

    async def hold(self, listen: Listen, show: Callable[[Turn, bool], None], asked: Model | None = None) -> str:
        """Talk until the person leaves; what was said before is gone through first.

        Args:
            listen: Coroutine function that waits for the person's next message; None where they leave.
            show: Callback that is told of each turn, and whether it was known before.
            asked: Model that is asked; None: the one of the request.

        Returns:
            Why it stopped, one line.
        """
        async with AsyncExitStack() as stack:
            study = await self._open_study(stack, asked)
            if self.request.agent in PROGRAMMING:
                guests = Guests(stack.enter_context(Sandbox(1)))
            else:
                guests = None

            async def work(case: LedgerCase) -> object:
                made = make_agent(Design(self.request.agent, self.request.tools), self.solver, case, guests)
                if isinstance(made, RulesAgent):
                    made.is_brief = True
                self.agent = Direct(made, self.solver, self.absence)
                person = _Person(study, case, self._listen_within_reach(listen))
                talk = Conversation(self.problem, self.agent, person, limit=MOST_TURNS)
                talk.observer = lambda turn: self._told(turn, show, person.is_known)
                await talk.hold()
                # a conversation is never over: it can be gone on with
                raise Interrupted(LEAVES)

            await study.run_cases([CASE], work)
            return study.stop_reason.removeprefix(f"{CASE}: ")

    async def _open_study(self, stack: AsyncExitStack, asked: Model | None) -> Study:
        """Open models and records; a conversation that goes on opens without its model where that cannot be asked."""
        runtime, is_asking = self.request.runtime, self.request.agent in ASKING
        try:
            return await stack.enter_async_context(open_study(self.folder, runtime, model=asked, is_asking=is_asking))
        except ModelError as problem:
            if not (self.folder / "run.db").is_file():
                raise
            self.absence = str(problem)
        self.notice = f"the model cannot be asked: {self.absence}"
        if self.request.agent == "T-P-P":
            self.notice += "; lines that begin with '/', such as '/undo', still act"

        async def refuse(request: Request, /) -> Reply:
            raise ModelError(self.absence)

        return await stack.enter_async_context(open_study(self.folder, runtime, model=refuse))

    def _listen_within_reach(self, listen: Listen) -> Listen:
        """Listen for messages that can be answered: without a model, those are commands; others are not recorded."""

        async def listen_for_command(view: DecisionView) -> str | None:
            while (text := await listen(view)) is not None and self.absence and not is_command(text):
                self.notice = f"not sent, since the model cannot be asked: {self.absence}"
            return text

        return listen_for_command

    def _told(self, turn: Turn, show: Callable[[Turn, bool], None], known: bool) -> None:
        self.turns.append(turn)
        if not known:
            self._keep(turn, len(self.turns))
        show(turn, known)

    def _keep(self, turn: Turn, number: int) -> None:
        """Leave the state of a turn, and its model."""
        try:
            states = self.folder / "states"
            files.make_plain_folder(states)
            kept = {"said": turn.said, "presented": turn.presented, "state": turn.state}
            files.replace_file(states / f"{number:03d}.json", json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
            if turn.state is not None:
                write(build_readable_model(self.problem, state_of(turn.state)), states / f"{number:03d}.milp.json")
            lines = [
                f"## {place}\n\n> {turn.said}\n\n" + f"{turn.answer}\n" for place, turn in enumerate(self.turns, 1)
            ]
            files.replace_file(self.folder / "transcript.md", "\n".join(lines))
        except (OSError, MilpError) as problem:
            raise StoreError(f"cannot write into {self.folder}: {problem}") from None


@dataclass
class _Person:
    """A person whose messages are facts of the study: said once, known for ever."""

    study: Study
    case: LedgerCase
    listen: Listen
    says_farewell: bool = False
    is_known: bool = True
    _count: int = 0

    async def say(self, view: DecisionView) -> DeciderMessage | None:
        """The next message, from the study where it is known."""
        key, self._count = f"said.{self._count}", self._count + 1
        self.is_known = True

        async def heard() -> str:
            self.is_known = False
            text = await self.listen(view)
            if text is None:
                raise Interrupted(LEAVES)
            return text

        return DeciderMessage(await self.study.run_once(self.case, key, heard))


@dataclass
class Direct:
    """An agent whose model the person may also change directly: a line that begins with ``/`` is a command."""

    agent: Agent
    solver: StateSolver
    absence: str = ""
    _rules: RulesAgent | None = None

    @property
    def name(self) -> str:
        """Name of the agent."""
        return self.agent.name

    async def answer(self, message: str) -> AgentAnswer:
        """Answer, or do a command such as ``/undo``."""
        bare = message.strip()
        if isinstance(self.agent, RulesAgent):
            return await self.agent.answer(bare.removeprefix("/"))
        if not isinstance(self.agent, ToolsAgent) or not is_command(bare):
            return await self._ask_agent(message)
        self._rules = self._rules or RulesAgent(self.agent.tools)
        done = await self._rules.answer(bare.removeprefix("/"))
        self.agent.note(f"{bare}\n{done.text}")
        return done

    async def _ask_agent(self, message: str) -> AgentAnswer:
        try:
            answer = await self.agent.answer(message)
        except ModelError as problem:
            if not self.absence:
                raise
            if isinstance(self.agent, ToolsAgent):
                state = self.agent.tools.state
            else:
                state = None
            return AgentAnswer(f"(not answered yet: {problem})", state=state)
        return answer


def is_command(text: str) -> bool:
    """Return True for a line that changes the model directly, without a language model."""
    return text.strip().startswith("/") or text.strip() == "undo"


def write_page(session: ConversationSession) -> Path:
    """Write ``report.html`` into the folder of a conversation.

    Raises:
        StoreError: It cannot be written.
    """
    summary = summarize_conversation(session.problem, session.solver, session.turns)
    page = session_page(session.problem, session.request.agent, session.turns, summary)
    return replace_page(session.folder, page)
