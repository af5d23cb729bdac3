"""Registration of work that a search starts; the server for agents is imported only for the strategy ``agent``."""

from collections.abc import Callable
from importlib import import_module

from oragent.search.companions import Companion, register_companion
from oragent.search.config import Config
from oragent.search.strategies.agent import AGENT


def register_companions() -> None:
    """Register the episodes of the strategy ``agent``; a second call changes nothing."""
    register_companion(AGENT, _make_episodes)


def _make_episodes(config: Config, tell: Callable[[str], None]) -> Companion:
    episodes: Companion = import_module("oragent.api.mcp.agent_episodes").AgentEpisodes(config, tell)
    return episodes
