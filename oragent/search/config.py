"""The configuration of a run: YAML, defaults and the command line, checked in one place."""

import difflib
import os
from collections.abc import Sequence
from dataclasses import field, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

import yaml
from annotated_types import Ge, Gt, Le, Lt
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from oragent.errors import ConfigError
from oragent.llm.model import ModelSettings
from oragent.search.agent_settings import AgentSettings
from oragent.search.budget import Budget

__all__ = ["ArchiveSettings", "Config", "LimitSettings", "StrategySettings", "build", "dump", "explain", "read"]

UNKNOWN = ("unexpected_keyword_argument", "extra_forbidden")
STRICT = ConfigDict(extra="forbid")
Role = Literal["lead", "idea", "code", "experiment", "reflect", "debug", "repair"]


@dataclass(frozen=True, config=STRICT)
class ArchiveSettings:
    """The archive.

    Attributes:
        islands: populations that evolve side by side; None: 4 with ``or_agent``, 2 with other strategies.
        population: size of an island where a problem has no features.
        migration_period: rounds after which each island's best goes to the next one; 0: never.
        reset_period: rounds after which the worse half of the islands starts anew; 0: never.
    """

    islands: Annotated[int, Ge(1)] | None = None
    population: Annotated[int, Ge(1)] = 20
    migration_period: Annotated[int, Ge(0)] = 25
    reset_period: Annotated[int, Ge(0)] = 0


@dataclass(frozen=True, config=STRICT)
class StrategySettings:
    """The strategy.

    Attributes:
        name: ``auto`` is ``or_agent`` with a model and ``gp`` without.
        temperature: greed in choosing parents: share of the ranking over which the weight falls by a factor e.
        window: rounds in flight at once; a round begins on the state left that many rounds ago. None: 2 with
            ``or_agent``, whose rounds are long and do several things at once themselves, 4 with other strategies.
        patience: rounds in a row without a new program to score, after which a run gives up.
        novelty: share of its tokens by which a program must differ from every elite to be scored; 0: it must not equal
            one.
    """

    name: Literal["auto", "gp", "random", "funsearch", "eoh", "reevo", "mcts_ahd", "or_agent"] = "auto"
    temperature: Annotated[float, Gt(0)] = 0.2
    window: Annotated[int, Ge(1)] | None = None
    patience: Annotated[int, Ge(1)] = 30
    novelty: Annotated[float, Ge(0), Lt(1)] = 0.0


@dataclass(frozen=True, config=STRICT)
class LimitSettings:
    """Bounds of one evaluation; None leaves what the problem says.

    Attributes:
        timeout_s: seconds by the clock.
        memory_mb: address space of each process, in MiB.
    """

    timeout_s: Annotated[float, Gt(0)] | None = None
    memory_mb: Annotated[int, Ge(64)] | None = None


@dataclass(frozen=True, config=STRICT)
class Config:
    """Everything that shapes a run.

    Attributes:
        seed: of the run's own randomness; instances and solvers have seeds of their own.
        workers: evaluations at once, a core each; 0: as many as there are cores. It never changes what is found.
        zygote: fork evaluations from a warm interpreter; otherwise each starts a fresh one. Nor does this.
        cascade: score on ``train`` first, and on ``val`` only what is better there than this quantile of the elites:
            0.5 is their median, 1 the best. None: score on ``val`` alone.
        problem_size: score on this one of the problem's sizes alone; None: on all of them.
        budget: when to stop.
        strategy: how to search.
        or_agent: how its rounds go, if that is the strategy.
        archive: what to remember.
        limits: bounds of one evaluation.
        model: the language model; None: search without one.
        models: other models for single roles.
        ensemble: models beside the first; a bandit gives each round to one of them, by what it gained for its cost.
    """

    seed: Annotated[int, Ge(0)] = 0
    workers: Annotated[int, Ge(0)] = 0
    zygote: bool = True
    cascade: Annotated[float, Ge(0), Le(1)] | None = None
    problem_size: Annotated[int, Ge(1)] | None = None
    budget: Budget = field(default_factory=Budget)
    strategy: StrategySettings = field(default_factory=StrategySettings)
    or_agent: AgentSettings = field(default_factory=AgentSettings)
    archive: ArchiveSettings = field(default_factory=ArchiveSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    model: ModelSettings | None = None
    models: dict[Role, ModelSettings] = field(default_factory=dict)
    ensemble: tuple[ModelSettings, ...] = ()

    @property
    def strategy_name(self) -> str:
        """The strategy's name with ``auto`` resolved."""
        if self.strategy.name != "auto":
            return self.strategy.name
        return "gp" if self.model is None else "or_agent"

    @property
    def islands(self) -> int:
        """The number of islands, by strategy where none is set."""
        return self.archive.islands or (4 if self.strategy_name == "or_agent" else 2)

    @property
    def window(self) -> int:
        """The number of rounds in flight, by strategy where none is set."""
        return self.strategy.window or (2 if self.strategy_name == "or_agent" else 4)

    def settled(self) -> "Config":
        """The same with what depends on the strategy filled in, as a run's folder keeps it."""
        archive, strategy = replace(self.archive, islands=self.islands), replace(self.strategy, window=self.window)
        return replace(self, archive=archive, strategy=strategy)

    @property
    def cores(self) -> int:
        """The number of workers with 0 resolved."""
        return self.workers or len(os.sched_getaffinity(0))


def read(path: Path | None, overrides: Sequence[str] = ()) -> Config:
    """Build a configuration.

    Args:
        path: a YAML file; None: the defaults.
        overrides: ``section.key=value`` each, the value in YAML; they win over the file.

    Raises:
        ConfigError: naming file or override, key, what was expected and the nearest valid key.
    """
    return build(_load(path) if path else {}, overrides, f"{path}" if path else "settings")


def build(tree: dict[str, Any], overrides: Sequence[str], source: str) -> Config:
    """Check a tree of settings, after overrides; ``source`` is named in errors.

    Raises:
        ConfigError: as for ``read``.
    """
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals or not key:
            raise ConfigError(f"cannot read {override!r}: write section.key=value, such as budget.evaluations=500")
        try:
            _place(tree, key, yaml.safe_load(text))
        except yaml.YAMLError:
            raise ConfigError(f"cannot read the value of {override!r}: it must be YAML") from None
    try:
        return TypeAdapter(Config).validate_python(tree)
    except ValidationError as problem:
        raise ConfigError(f"{source}: {explain(problem, Config)}") from None


def dump(config: Config) -> dict[str, Any]:
    """Turn a configuration into the plain tree that ``read`` takes; complete, defaults included."""
    tree: dict[str, Any] = TypeAdapter(Config).dump_python(config, mode="json")
    return tree


def explain(problem: ValidationError, schema: type) -> str:
    """Say in one line what is wrong with a checked tree: the key, what was expected, the nearest valid key."""
    unknown = [error for error in problem.errors() if error["type"] in UNKNOWN]  # often why another one is missing
    error = (unknown or problem.errors())[0]
    path = [str(part) for part in error["loc"]]
    key = ".".join(path)
    if unknown:
        valid = _keys(schema, path[:-1])
        near = difflib.get_close_matches(path[-1], valid, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"valid keys: {', '.join(valid)}"
        return f"unknown key {key!r}: {hint}"
    if error["type"] in ("missing", "missing_argument"):
        return f"key {key!r} is missing"
    return f"key {key!r}: {error['msg'][0].lower()}{error['msg'][1:]}, not {error['input']!r}"


def _load(path: Path) -> dict[str, Any]:
    try:
        tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(f"cannot read the configuration {path}: {problem}") from None
    except yaml.YAMLError as problem:
        raise ConfigError(f"{path} is not YAML: {' '.join(str(problem).split())}") from None
    if tree is not None and not isinstance(tree, dict):
        raise ConfigError(f"{path} must hold keys and values, not a {type(tree).__name__}")
    return tree or {}


def _place(tree: dict[str, Any], key: str, value: Any) -> None:
    *sections, last = key.split(".")
    for section in sections:
        inner = tree.get(section)
        tree[section] = dict(inner) if isinstance(inner, dict) else {}
        tree = tree[section]
    tree[last] = value


def _keys(schema: type, path: Sequence[str]) -> list[str]:
    """The valid keys of the section at ``path``."""
    for part in path:
        hint = get_type_hints(schema).get(part)
        sections = [kind for kind in (hint, *get_args(hint)) if isinstance(kind, type) and is_dataclass(kind)]
        if sections:
            schema = sections[0]
    return [item.name for item in fields(schema)]
