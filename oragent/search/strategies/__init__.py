"""Search strategies. Each is a coroutine that runs one round and follows its paper.

``STRATEGIES`` lists the strategies of this package by name. You add a strategy with a Python file that exports
``STRATEGY``, or with an entry point of the group ``oragent.strategies``. Such a file is trusted: it runs in the process
of the engine, not in the sandbox of candidates.
"""

import difflib
import importlib.metadata
import importlib.util
from dataclasses import replace
from pathlib import Path

from oragent._base.errors import ConfigError
from oragent._base.files import MAX_ARGUMENT_BYTES
from oragent.search.config import Config, register_section
from oragent.search.strategies import agent, portfolio, submitted
from oragent.search.strategy import Strategy

__all__ = ["FUNCTION", "GROUP", "STRATEGIES", "choose_strategy", "load_strategy", "resolve_strategy"]

# Group of entry points.
GROUP = "oragent.strategies"
# Suffix of the name of a strategy that was passed as a Python object. A run folder cannot store such a strategy.
FUNCTION = "()"
STRATEGIES: dict[str, Strategy] = dict(
    sorted({**portfolio.MEMBERS, portfolio.STRATEGY.name: portfolio.STRATEGY}.items())
)
# Strategies whose programs come from clients of the MCP server.
CLIENTS = {strategy.name: strategy for strategy in (agent.STRATEGY, submitted.STRATEGY)}
for _strategy in STRATEGIES.values():
    if _strategy.settings and _strategy.has_section:
        register_section(_strategy.name, _strategy.settings)


def choose_strategy(config: Config) -> Strategy:
    """Return the strategy that a configuration names.

    Raises:
        ConfigError: The name is unknown, or its file or entry point has no strategy.
    """
    name = config.strategy_name
    file = config.strategy.file or (name if name.endswith(".py") else None)
    if file:
        return load_strategy(Path(file))
    if name in STRATEGIES:
        return STRATEGIES[name]
    if name in CLIENTS:
        return CLIENTS[name]
    if name.endswith(FUNCTION):
        plain = name.removesuffix(FUNCTION)
        raise ConfigError(
            f"the strategy {name} is a Python function, which cannot be stored: pass it again, "
            f"oragent.resume(RUN, strategy={plain})"
        )
    others = {point.name: point for point in importlib.metadata.entry_points(group=GROUP)}
    if name in others:
        try:
            exported = others[name].load()
        except Exception as problem:
            raise ConfigError(f"the entry point {name!r} of {GROUP} cannot be loaded: {problem!r}") from None
        return _expect_strategy(exported, f"the entry point {name!r} of {GROUP}")
    names = [*STRATEGIES, agent.AGENT, *others]
    near = difflib.get_close_matches(name, names, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(names))}."
    raise ConfigError(f"unknown strategy {name!r}: {hint} Your own strategy is a Python file: --strategy my.py")


def load_strategy(path: Path) -> Strategy:
    """Run a Python file and return the strategy that it exports. A file without one raises ConfigError."""
    if not path.is_file():
        raise ConfigError(f"no strategy at {path}: expected a Python file that exports STRATEGY")
    if path.stat().st_size > MAX_ARGUMENT_BYTES:
        raise ConfigError(f"{path} has more than {MAX_ARGUMENT_BYTES:,} bytes; expected a shorter Python file")
    spec = importlib.util.spec_from_file_location(f"oragent_strategy_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SyntaxError as problem:
        raise ConfigError(f"{path}, line {problem.lineno}: {problem.msg}") from None
    except Exception as problem:
        raise ConfigError(f"{path} cannot be run: {type(problem).__name__}: {problem}") from None
    return _expect_strategy(getattr(module, "STRATEGY", None), str(path))


def resolve_strategy(config: Config, strategy_object: Strategy | None = None) -> Config:
    """Return the configuration that a run folder stores, with the values that depend on the strategy."""
    strategy = strategy_object or choose_strategy(config)
    strategy.own(config)
    archive = replace(config.archive, islands=config.archive.islands or strategy.islands)
    settings = strategy.settled(config.strategy, live=not config.is_scripted)
    if config.strategy.name.endswith(".py"):
        settings = replace(settings, name=strategy.name, file=str(Path(config.strategy.name).resolve()))
    if strategy_object:
        settings = replace(settings, name=f"{strategy.name}{FUNCTION}", file=None)
    return replace(config, archive=archive, strategy=settings)


def _expect_strategy(exported: object, where: str) -> Strategy:
    if not isinstance(exported, Strategy):
        what = "nothing" if exported is None else f"a {type(exported).__name__}"
        raise ConfigError(f"{where} exports {what} as STRATEGY, expected an oragent.Strategy")
    return exported
