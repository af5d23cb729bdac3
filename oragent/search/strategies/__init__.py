"""Strategies: each is one round of search, a coroutine that reads like its paper.

Those that ship are here by name; one of your own is a Python file that exports ``STRATEGY``, or an entry point of the
group ``oragent.strategies``. Such a file is your program: it runs in the engine, and not where candidates do.
"""

import difflib
import importlib.metadata
import importlib.util
from dataclasses import replace
from pathlib import Path

from oragent._base.errors import ConfigError
from oragent._base.files import LONGEST_ARGUMENT
from oragent.search.config import Config, register_section
from oragent.search.strategies import portfolio, submitted
from oragent.search.strategy import Strategy

__all__ = ["FUNCTION", "GROUP", "STRATEGIES", "choose_strategy", "load_strategy", "resolve_strategy"]

# of entry points
GROUP = "oragent.strategies"
# ends the name of what a Python program gave, and no folder can keep
FUNCTION = "()"
STRATEGIES: dict[str, Strategy] = dict(
    sorted({**portfolio.MEMBERS, portfolio.STRATEGY.name: portfolio.STRATEGY}.items())
)
for _strategy in STRATEGIES.values():
    if _strategy.settings and _strategy.has_section:
        register_section(_strategy.name, _strategy.settings)


def choose_strategy(config: Config) -> Strategy:
    """The strategy that a configuration names.

    Raises:
        ConfigError: if there is none of that name, naming the nearest; or its file or entry point is no strategy.
    """
    name = config.strategy_name
    file = config.strategy.file or (name if name.endswith(".py") else None)
    if file:
        return load_strategy(Path(file))
    if name in STRATEGIES:
        return STRATEGIES[name]
    if name == submitted.SUBMITTED:
        return submitted.STRATEGY
    if name.endswith(FUNCTION):
        plain = name.removesuffix(FUNCTION)
        raise ConfigError(
            f"the strategy {name} is a Python function, which no folder can keep: give it again, "
            f"oragent.resume(RUN, strategy={plain})"
        )
    others = {point.name: point for point in importlib.metadata.entry_points(group=GROUP)}
    if name in others:
        try:
            exported = others[name].load()
        except Exception as problem:
            raise ConfigError(f"the entry point {name!r} of {GROUP} cannot be loaded: {problem!r}") from None
        return _expect_strategy(exported, f"the entry point {name!r} of {GROUP}")
    names = [*STRATEGIES, *others]
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if near:
        hint = f"did you mean {near[0]!r}?"
    else:
        hint = f"there are {', '.join(names)}."
    raise ConfigError(f"unknown strategy {name!r}: {hint} One of your own is a Python file: --strategy my.py")


def load_strategy(path: Path) -> Strategy:
    """Read a strategy of one's own from a Python file, which is run for that; ConfigError where it cannot be."""
    if not path.is_file():
        raise ConfigError(f"no strategy at {path}: expected a Python file that exports STRATEGY")
    if path.stat().st_size > LONGEST_ARGUMENT:
        raise ConfigError(f"{path} has more than {LONGEST_ARGUMENT:,} bytes: expected a Python file that is shorter")
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
    """A configuration with what depends on the strategy filled in, as a run's folder keeps it."""
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
        if exported is None:
            what = "nothing"
        else:
            what = f"a {type(exported).__name__}"
        raise ConfigError(f"{where} exports {what} as STRATEGY, expected an oragent.Strategy")
    return exported
