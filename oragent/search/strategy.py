"""Strategies: one round of search each, and the properties that the engine needs."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from oragent._base import settings
from oragent._base.errors import ConfigError
from oragent.search.config import Blocks, Config, StrategySettings
from oragent.search.round_context import RoundContext

Round = Callable[[RoundContext], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class Strategy:
    """A search strategy. A Python file exports it as ``STRATEGY``.

    Attributes:
        name: Name in settings and reports.
        round: Coroutine function of one round.
        asks_model: True if it asks a language model.
        remembers: True if it reads every candidate (``run.history``), not only the archive.
        islands: Default of ``archive.islands``.
        window: Default of ``strategy.window``.
        blocks: Default of ``strategy.blocks``.
        features: Default of ``strategy.features``.
        languages: Languages of candidates that it can write; empty means all.
        standing: Default of ``strategy.standing``.
        history: Default of ``strategy.history``.
        tuning: Default of ``strategy.tuning``.
        live: Default of ``strategy.live``.
        settings: Class of its settings, a pydantic dataclass, set by ``strategy.options``; None: no settings.
        has_section: Its settings are a section of the configuration instead; only for strategies of this package.
    """

    name: str
    round: Round
    asks_model: bool = True
    remembers: bool = False
    islands: int = 2
    window: int = 4
    blocks: Blocks = Blocks.ALL
    features: bool = False
    languages: tuple[str, ...] = ()
    standing: bool = False
    history: bool = False
    tuning: float = 0.1
    live: bool = False
    settings: type[Any] | None = None
    has_section: bool = False

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise ConfigError(f"a strategy's name must be a plain word, not {self.name!r}")
        if not callable(self.round):
            raise ConfigError(f"strategy {self.name!r}: round must be a coroutine function, not {self.round!r}")
        if self.islands < 1 or self.window < 1:
            raise ConfigError(f"strategy {self.name!r}: islands and window must be positive")

    def settled(self, chosen: StrategySettings, *, live: bool = True) -> StrategySettings:
        """Fill in the defaults of the strategy for settings that are None."""
        names = ("window", "blocks", "features", "standing", "history", "tuning")
        settled = replace(chosen, **{name: getattr(self, name) for name in names if getattr(chosen, name) is None})
        if chosen.live is None:
            return replace(settled, live=live and self.live and settled.standing)
        return settled

    def own(self, config: Config) -> Any:
        """Return the strategy's own settings from a configuration; None if it has none.

        Raises:
            ConfigError: The settings are wrong, or the strategy has none.
        """
        options = config.strategy.options
        if self.settings is None or self.has_section:
            if options:
                raise ConfigError(f"strategy {self.name!r} takes no strategy.options, but got {', '.join(options)}")
            return self.section(config)
        return settings.build_settings(self.settings, dict(options), [], f"strategy.options of {self.name}")

    def section(self, config: Config) -> Any:
        """Return the strategy's section of a configuration, or the defaults of its settings, or None."""
        if self.has_section and hasattr(config, self.name):
            return getattr(config, self.name)
        if self.settings:
            return self.settings()
        return None
