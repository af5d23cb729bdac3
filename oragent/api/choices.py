"""What a caller chose, as settings of a configuration: names, trees, functions."""

import inspect
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import SecretStr

from oragent._base.errors import ConfigError
from oragent._base.settings import dump
from oragent.evaluation.cluster.dispatch import JobExecutor
from oragent.evaluation.problem import Problem, find_problem
from oragent.evaluation.problem import load_problem as load_problem
from oragent.llm.callable import Function, wrapped
from oragent.llm.factory import Maker
from oragent.llm.keys import KEY
from oragent.llm.model_settings import ModelSettings
from oragent.search.config import Config
from oragent.search.launch import Given
from oragent.search.strategies import FUNCTION
from oragent.search.strategy import Round, Strategy

ModelChoice = str | Mapping[str, Any] | ModelSettings | Function
StrategyChoice = str | Path | Strategy | Round | Mapping[str, Any]
ProblemChoice = str | Path | Problem
Settings = Mapping[str, Any] | Sequence[str] | str


@dataclass(frozen=True)
class Choices:
    """What a caller chose.

    Attributes:
        overrides: ``section.key=value`` each, as on the command line.
        strategy: one that is no name.
        makers: make the models that are no names.
        executor: runs evaluations elsewhere.
    """

    overrides: tuple[str, ...] = ()
    strategy: Strategy | Round | None = None
    makers: Mapping[str, Maker] = field(default_factory=dict)
    executor: JobExecutor | None = None

    def given(self, config: Config) -> Given:
        """What no file can hold; a function as strategy asks a model where there is one.

        The caller's environment stays as it is: a function that asks a server itself finds its key there.
        """
        own = self.strategy
        if own is not None and not isinstance(own, Strategy):
            own = Strategy(name=_name(own, "own"), round=own, asks_model=config.model is not None, remembers=True)
        return Given(own, self.makers, SecretStr(os.environ.get(KEY, "")), self.executor)


def chosen(
    model: ModelChoice | None, strategy: StrategyChoice | None, settings: Settings | None, keys: Mapping[str, Any]
) -> Choices:
    """Bring a caller's choices into one form.

    Args:
        model: a name, settings, or any function of messages.
        strategy: a name, a path, a ``Strategy``, or a coroutine function that does one round.
        settings: a tree, or ``section.key=value`` texts.
        keys: sections and keys of the configuration; they win over ``settings``.

    Raises:
        ConfigError: if one of them is of no kind that can be used.
    """
    executor = _executor(keys.get("cluster"))
    overrides = [
        *_settings(settings),
        *_flat("", {name: key for name, key in keys.items() if executor is None or key is not executor}),
    ]
    makers: dict[str, Maker] = {}
    own: Strategy | Round | None = None
    if model is not None:
        made, makers = _model(model)
        overrides += made
    if strategy is not None:
        made, own = _strategy(strategy)
        overrides += made
    return Choices(tuple(overrides), own, makers, executor)


def found(problem: ProblemChoice, root: Path) -> Problem:
    """The problem that is meant by a name, a folder, or itself.

    Raises:
        ProblemError: if there is none.
        ConfigError: if it is none of these.
    """
    if isinstance(problem, Problem):
        return problem
    if isinstance(problem, Path):
        return load_problem(problem)
    if isinstance(problem, str):
        return find_problem(problem, root)
    raise ConfigError(f"problem must be a name, a folder or a Problem, not {type(problem).__name__}")


def _executor(cluster: object) -> JobExecutor | None:
    """Whatever runs functions elsewhere, where that is what was chosen, and no name."""
    if cluster is None or isinstance(cluster, str):
        return None
    submit = getattr(cluster, "submit", None)
    if not callable(submit):
        raise ConfigError(
            "cluster must be a name, such as local:4, or an executor, which has a method submit, not a "
            f"{type(cluster).__name__}"
        )
    return cast(JobExecutor, cluster)


def _model(model: ModelChoice) -> tuple[list[str], dict[str, Maker]]:
    if isinstance(model, str):
        return _flat("model", {"name": model}), {}
    if isinstance(model, ModelSettings):
        return _flat("model", dump(model)), {}
    if isinstance(model, Mapping):
        return _flat("model", model), {}
    if not callable(model):
        raise ConfigError(f"model must be a name, settings or a function of messages, not {type(model).__name__}")
    function, name = model, _name(model, "model")
    return _flat("model", {"name": f"{name}{FUNCTION}"}), {
        f"{name}{FUNCTION}": lambda settings: wrapped(function, name, settings.concurrency)
    }


def _strategy(strategy: StrategyChoice) -> tuple[list[str], Strategy | Round | None]:
    if isinstance(strategy, Strategy):
        return [], strategy
    if isinstance(strategy, str | Path):
        return _flat("strategy", {"name": str(strategy)}), None
    if isinstance(strategy, Mapping):
        return _flat("strategy", strategy), None
    if not inspect.iscoroutinefunction(strategy) and not inspect.iscoroutinefunction(type(strategy).__call__):
        raise ConfigError(
            "strategy must be a name, a path, an oragent.Strategy or a coroutine function (async def round(run): ...), "
            f"not {_described(strategy)}"
        )
    return [], strategy


def _name(function: Callable[..., Any], default: str) -> str:
    """A function's own name where that is a word; a lambda has none."""
    name = getattr(function, "__name__", type(function).__name__)
    return name if name.isidentifier() else default


def _described(thing: object) -> str:
    return f"the plain function {_name(thing, 'lambda')}" if inspect.isfunction(thing) else f"a {type(thing).__name__}"


def _settings(settings: Settings | None) -> list[str]:
    if settings is None:
        return []
    if isinstance(settings, str):
        return settings.split()
    if isinstance(settings, Mapping):
        return list(_flat("", settings))
    if not all(isinstance(setting, str) for setting in settings):
        raise ConfigError("settings must be a tree (a dict) or texts such as 'archive.islands=4'")
    return list(settings)


def _flat(section: str, tree: Mapping[str, Any]) -> list[str]:
    """A tree as overrides of its leaves: what it does not name stays as it is."""
    return list(_leaves(section, tree))


def _leaves(section: str, tree: Mapping[str, Any]) -> Iterator[str]:
    for key, value in tree.items():
        place = f"{section}.{key}" if section else str(key)
        plain = dump(value) if is_dataclass(value) and not isinstance(value, type) else value
        if isinstance(plain, Mapping) and plain:
            yield from _leaves(place, plain)
        else:
            yield f"{place}={json.dumps(plain, default=str)}"
