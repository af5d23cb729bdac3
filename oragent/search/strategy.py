"""What a strategy is: one round of search, with the facts that an engine needs to know about it."""

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
    """A strategy; a file that holds one exports it as ``STRATEGY``.

    Attributes:
        name: Name under which it is chosen and reported.
        round: Coroutine function of one round.
        asks_model: Whether it asks a language model.
        remembers: Whether it looks back on every candidate (``run.history``); otherwise the archive must be enough for
            it, and memory does not grow.
        islands: Number of populations that evolve side by side where ``archive.islands`` is not set.
        window: Number of rounds in flight at once where ``strategy.window`` is not set.
        blocks: Building blocks that it gets where ``strategy.blocks`` is not set.
        features: Whether its prompts tell bins and their meanings where ``strategy.features`` is not set.
        languages: Languages of the candidates that it can write; empty: any.
        standing: Whether they tell where the search stands where ``strategy.standing`` is not set.
        history: Whether they tell how a program came about where ``strategy.history`` is not set.
        tuning: Share of the evaluations that tuning takes at most where ``strategy.tuning`` is not set.
        live: Whether prompts show the state at the moment of the call where ``strategy.live`` is not set.
        settings: Class of its own settings, a pydantic dataclass, which a configuration has under ``strategy.options``,
            or in a section; None: it has none.
        has_section: Whether they are a section of the configuration under the strategy's name, for strategies that
            ship.
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
        """Settings with what was left to the strategy filled in."""
        standing = self.standing if chosen.standing is None else chosen.standing
        return replace(
            chosen,
            live=live and self.live and standing if chosen.live is None else chosen.live,
            window=chosen.window or self.window,
            blocks=chosen.blocks or self.blocks,
            features=self.features if chosen.features is None else chosen.features,
            standing=standing,
            history=self.history if chosen.history is None else chosen.history,
            tuning=self.tuning if chosen.tuning is None else chosen.tuning,
        )

    def own(self, config: Config) -> Any:
        """The strategy's own settings in a configuration; None where it has none.

        Raises:
            ConfigError: if they are wrong, or there are some though it takes none.
        """
        options = config.strategy.options
        if self.settings is None or self.has_section:
            if options:
                raise ConfigError(f"strategy {self.name!r} takes no strategy.options, but got {', '.join(options)}")
            return self.section(config)
        return settings.build_settings(self.settings, dict(options), [], f"strategy.options of {self.name}")

    def section(self, config: Config) -> Any:
        """The strategy's section of a configuration; the defaults of its settings, or None, where there is none."""
        if self.has_section and hasattr(config, self.name):
            return getattr(config, self.name)
        return self.settings() if self.settings else None
