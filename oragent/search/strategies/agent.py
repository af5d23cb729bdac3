"""Strategy of a command-line coding agent, which works in episodes and submits programs by tools of the MCP server.

Each round takes one event: a submitted program, or the end of an episode with its tokens and costs. An event is stored
as a reply before it is used. A killed run therefore scores no program twice, and a replay needs no agent. The process
of the run starts the agent (``oragent.api.mcp.agent_episodes``).
"""

import json
from dataclasses import asdict
from dataclasses import dataclass as plain
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le
from pydantic.dataclasses import dataclass

from oragent._base.errors import ConfigError, ModelError, SearchFinished
from oragent._base.safe_load import parse_json
from oragent._base.settings import STRICT
from oragent.llm.model import Message
from oragent.search.config import Blocks
from oragent.search.round_context import RoundContext
from oragent.search.strategies.submitted import PROMPT, ROLE, take_submission
from oragent.search.strategy import Strategy

# Name of the strategy, and of its model if no other name is given.
AGENT = "agent"
# Kind of notes about episodes that ended.
EPISODE = "agent episode"
MAX_END = 10_000


@dataclass(frozen=True, config=STRICT)
class CodingAgentSettings:
    """Settings under ``strategy.options``.

    Attributes:
        command: Command line of the agent, which reads its task from standard input. ``{mcp}`` is a JSON file with the
            server, ``{url}`` its address, ``{model}`` the name of the model. The token is in ``ORAGENT_MCP_TOKEN``.
        recipe: Known agent whose command, paths and variables are used: ``claude`` or ``codex``.
        episodes: Number of times that the agent is started.
        episode_s: Seconds after which an episode is ended.
        readable: Files and folders that the agent may read, in addition to its own folder, programs and libraries.
        writable: Files and folders that it may change, such as its settings in the home folder.
        variables: Environment variables that it receives, such as the one with its key.
        ports: TCP ports that it may connect to, such as that of its model, besides those of its tools and of addresses
            in its variables. ``null`` leaves the network open; without ports it reaches nothing but its tools.
        confined: Whether other files are hidden from it, and all but its folder and ``writable`` are read-only.
            Otherwise it can read the held-out instances and change your files.
    """

    command: str = ""
    recipe: Literal["", "claude", "codex"] = ""
    episodes: Annotated[int, Ge(1)] = 3
    episode_s: Annotated[float, Gt(0)] = 3600.0
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    ports: tuple[Annotated[int, Ge(1), Le(65535)], ...] | None = (443,)
    confined: bool = True


@plain(frozen=True)
class EpisodeEnd:
    """End of an episode."""

    # Number of the episode, from 1.
    episode: int
    # Reason for the end of the agent, one line.
    ended: str
    # Number of programs that it submitted.
    submissions: int
    # Whether the agent reported its tokens.
    has_usage: bool

    def dump(self) -> str:
        """Return the end as JSON."""
        return json.dumps(asdict(self))


def parse_end(text: str) -> EpisodeEnd | None:
    """Read the end of an episode from JSON; None for a submission."""
    if len(text) > MAX_END:
        return None
    try:
        tree = parse_json(text, MAX_END)
        return EpisodeEnd(int(tree["episode"]), str(tree["ended"]), int(tree["submissions"]), tree["has_usage"] is True)
    except (ValueError, KeyError, TypeError):
        return None


async def take_event(run: RoundContext) -> None:
    """Score the next program of the agent, or note the end of an episode."""
    try:
        reply = await run.ask(ROLE, [Message("user", PROMPT)])
    except ModelError as problem:
        # In a replay, the recorded events are used up.
        raise SearchFinished(str(problem)) from None
    if parse_end(reply.text) is not None:
        run.note(EPISODE, reply.text)
        return
    await take_submission(run, reply.text)


def check_command(settings: CodingAgentSettings) -> None:
    """Check that the settings name an agent.

    Raises:
        ConfigError: Neither a command nor a recipe is set.
    """
    if not settings.command.strip() and not settings.recipe:
        raise ConfigError(
            "strategy agent needs a coding agent: strategy.options.recipe=claude (or codex), or "
            "'strategy.options.command=my-agent --mcp-config {mcp}'"
        )


STRATEGY = Strategy(
    name=AGENT,
    round=take_event,
    islands=1,
    window=1,
    blocks=Blocks.NONE,
    tuning=0.0,
    remembers=False,
    settings=CodingAgentSettings,
)
