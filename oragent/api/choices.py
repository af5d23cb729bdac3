"""Turn arguments of callers (names, trees, functions) into settings of a configuration."""

import inspect
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import SecretStr

from oragent._base.errors import ConfigError
from oragent._base.settings import dump_settings
from oragent.evaluation.cluster.dispatch import JobExecutor
from oragent.evaluation.problem import Problem, find_problem
from oragent.evaluation.problem import load_problem as load_problem
from oragent.llm.callable import Function, wrap_function
from oragent.llm.factory import Maker
from oragent.llm.keys import KEY
from oragent.llm.model_settings import ModelSettings
from oragent.search.config import Config
from oragent.search.launch import LaunchOptions
from oragent.search.strategies import FUNCTION
from oragent.search.strategy import Round, Strategy

ModelChoice = str | Mapping[str, Any] | ModelSettings | Function
StrategyChoice = str | Path | Strategy | Round | Mapping[str, Any]
ProblemChoice = str | Path | Problem
Settings = Mapping[str, Any] | Sequence[str] | str


@dataclass(frozen=True)
class Choices:
    """Arguments of a caller."""

    # Settings, each ``section.key=value``, as on the command line.
    overrides: tuple[str, ...] = ()
    # Strategy object; None if the strategy is given by name.
    strategy: Strategy | Round | None = None
    # Factories of models that are given as objects.
    makers: Mapping[str, Maker] = field(default_factory=dict)
    executor: JobExecutor | None = None

    def make_launch_options(self, config: Config) -> LaunchOptions:
        """Return the options that a file cannot store; a strategy function uses the model if there is one.

        The environment of the caller is not changed, so that a function that calls a server finds its key.
        """
        strategy = self.strategy
        if strategy is not None and not isinstance(strategy, Strategy):
            strategy = Strategy(
                name=_function_name(strategy, "own"),
                round=strategy,
                asks_model=config.model is not None,
                remembers=True,
            )
        return LaunchOptions(strategy, self.makers, SecretStr(os.environ.get(KEY, "")), self.executor)


def read_choices(
    model: ModelChoice | None,
    strategy: StrategyChoice | None,
    settings: Settings | None,
    keys: Mapping[str, Any],
    evaluations: int | None,
    seconds: float | None,
) -> Choices:
    """Read a caller's arguments; ``keys`` of the configuration override ``settings``."""
    bounds = {"budget.evaluations": evaluations, "budget.seconds": seconds}
    keys = {**keys, **{name: bound for name, bound in bounds.items() if bound is not None}}
    executor = _read_executor(keys.get("cluster"))
    overrides = [
        *_read_settings(settings),
        *_flatten("", {name: key for name, key in keys.items() if executor is None or key is not executor}),
    ]
    makers: dict[str, Maker] = {}
    own_strategy: Strategy | Round | None = None
    if model is not None:
        words, makers = _read_model(model)
        overrides += words
    if strategy is not None:
        words, own_strategy = _read_strategy(strategy)
        overrides += words
    return Choices(tuple(overrides), own_strategy, makers, executor)


def resolve_problem(problem: ProblemChoice, root: Path) -> Problem:
    """Return the problem of a name, a folder, or a ``Problem``."""
    if isinstance(problem, Problem):
        return problem
    if isinstance(problem, Path):
        return load_problem(problem)
    if isinstance(problem, str):
        return find_problem(problem, root)
    raise ConfigError(f"problem must be a name, a folder or a Problem, not {type(problem).__name__}")


def _read_executor(cluster: object) -> JobExecutor | None:
    if cluster is None or isinstance(cluster, str):
        return None
    submit = getattr(cluster, "submit", None)
    if not callable(submit):
        raise ConfigError(
            "cluster must be a name, such as local:4, or an executor, which has a method submit, not a "
            f"{type(cluster).__name__}"
        )
    return cast(JobExecutor, cluster)


def _read_model(model: ModelChoice) -> tuple[list[str], dict[str, Maker]]:
    if isinstance(model, str):
        return _flatten("model", {"name": model}), {}
    if isinstance(model, ModelSettings):
        return _flatten("model", dump_settings(model)), {}
    if isinstance(model, Mapping):
        return _flatten("model", model), {}
    if not callable(model):
        raise ConfigError(f"model must be a name, settings or a function of messages, not {type(model).__name__}")
    function, name = model, _function_name(model, "model")
    return _flatten("model", {"name": f"{name}{FUNCTION}"}), {
        f"{name}{FUNCTION}": lambda settings: wrap_function(function, name, settings.concurrency)
    }


def _read_strategy(strategy: StrategyChoice) -> tuple[list[str], Strategy | Round | None]:
    if isinstance(strategy, Strategy):
        return [], strategy
    if isinstance(strategy, str | Path):
        return _flatten("strategy", {"name": str(strategy)}), None
    if isinstance(strategy, Mapping):
        return _flatten("strategy", strategy), None
    if not inspect.iscoroutinefunction(strategy) and not inspect.iscoroutinefunction(type(strategy).__call__):
        kind = f"a {type(strategy).__name__}"
        if inspect.isfunction(strategy):
            kind = f"the plain function {_function_name(strategy, 'lambda')}"
        raise ConfigError(
            "strategy must be a name, a path, an oragent.Strategy or a coroutine function (async def round(run): ...), "
            f"not {kind}"
        )
    return [], strategy


def _function_name(function: Callable[..., Any], default: str) -> str:
    """Return a function's name if it is an identifier; lambdas have no such name."""
    name = getattr(function, "__name__", type(function).__name__)
    if name.isidentifier():
        return name
    return default


def _read_settings(settings: Settings | None) -> list[str]:
    if settings is None:
        return []
    if isinstance(settings, str):
        return settings.split()
    if isinstance(settings, Mapping):
        return list(_flatten("", settings))
    if not all(isinstance(setting, str) for setting in settings):
        raise ConfigError("settings must be a tree (a dict) or texts such as 'archive.islands=4'")
    return list(settings)


def _flatten(section: str, tree: Mapping[str, Any]) -> list[str]:
    leaves: list[str] = []
    for key, value in tree.items():
        prefix = f"{section}.{key}" if section else str(key)
        plain = dump_settings(value) if is_dataclass(value) and not isinstance(value, type) else value
        if isinstance(plain, Mapping) and plain:
            leaves += _flatten(prefix, plain)
        else:
            leaves.append(f"{prefix}={json.dumps(plain, default=str)}")
    return leaves
