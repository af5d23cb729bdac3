"""Configuration of a run from a YAML file, defaults and the command line."""

import inspect
from collections.abc import Sequence
from dataclasses import field
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic import StringConstraints
from pydantic.dataclasses import dataclass

from oragent._base import settings
from oragent._base.budget import Budget
from oragent._base.direction import Direction
from oragent._base.settings import STRICT
from oragent.evaluation.devices import AUTO, PATTERN
from oragent.evaluation.problem import LimitSettings
from oragent.llm.model_settings import ModelSettings
from oragent.sandbox.limits import count_processors
from oragent.search.archive import ArchivePolicy

Role = Literal["lead", "idea", "code", "experiment", "reflect", "debug", "repair"]


class Blocks(StrEnum):
    """Selection of the building blocks of a problem (its ``primitives``) for a strategy."""

    NONE = "none"
    # Some, drawn for each prompt.
    SOME = "some"
    ALL = "all"


class Show(StrEnum):
    """Content of prompts of published strategies in addition to the text of a program."""

    # Score, metrics, time, and other content by settings.
    RICH = "rich"
    # Only what the prompts of the paper or its code contain: mostly nothing, or the thought.
    PAPER = "paper"


@dataclass(frozen=True, config=STRICT)
class ArchiveSettings:
    """The archive.

    Attributes:
        islands: Number of separate populations; None: the strategy's default.
        population: Size of an island if the problem has no features.
        migration_period: Rounds after which each island's best is copied to the next island; 0: never.
        reset_period: Rounds after which the worse half of the islands starts anew; 0: never.
        reset_s: The same in seconds of the run; 0: never. Resumed runs repeat recorded resets; a new run may differ.
        seed_islands: Islands that begin with the seed heuristic.
    """

    islands: Annotated[int, Ge(1)] | None = None
    population: Annotated[int, Ge(1)] = 20
    migration_period: Annotated[int, Ge(0)] = 25
    reset_period: Annotated[int, Ge(0)] = 0
    reset_s: Annotated[float, Ge(0)] = 0.0
    seed_islands: Literal["all", "first"] = "all"


@dataclass(frozen=True, config=STRICT)
class StrategySettings:
    """The strategy.

    Attributes:
        name: A strategy, or the path of a ``.py`` file. ``auto``: ``or_agent`` with a model, ``gp`` without.
        file: The run's copy of a strategy file.
        options: Options of the strategy.
        temperature: Greed in choosing parents: share of the ranking over which the weight falls by a factor e.
        window: Rounds in flight; a round sees the state of that many rounds ago. None: the strategy's default.
        blocks: Building blocks that prompts name and ``gp`` inserts; None: the strategy's default.
        features: Show the bins of programs in prompts; None: the strategy's default.
        standing: Show the best programs and the remaining budget in prompts; None: the strategy's default.
        live: Build prompts from the state at the moment of the call, which is recorded, not from that at the start of
            the round. None: the strategy's default.
        history: Show in prompts how the program to be changed arose; None: the strategy's default.
        show: Details that prompts of published strategies show: ``rich``, or only those of the ``paper``.
        tuning: Largest share of the evaluations for tuning constants, 0 to 0.9; None: the strategy's default.
        experiment_s: CPU seconds of sweeps and probes of chosen instances for each evaluation, and ten times as many
            at first; they cost no evaluations. None: no bound.
        practice: Instances of each size of ``val`` on which models probe and sweep, drawn as those of ``val``, where
            the evaluator has them. None: training instances.
        patience: Consecutive rounds without a new program after which a run ends.
        disagreement: Consecutive new best programs that are worse on practice instances than an earlier one, after
            which a run without a model ends, if the evaluator has practice instances; 0: never.
        leader_rounds: Rounds of new instances, drawn as those of ``val``, in which a new best program within the noise
            is compared with the one before until it is shown to be better; else it is rejected. Each round is two
            evaluations. 0: it leads by its score on ``val``.
        novelty: Share of its tokens by which a program must differ from every elite; 0: it must not equal one.
    """

    name: Annotated[str, MinLen(1)] = "auto"
    file: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    temperature: Annotated[float, Gt(0)] = 0.2
    window: Annotated[int, Ge(1)] | None = None
    blocks: Blocks | None = None
    features: bool | None = None
    standing: bool | None = None
    live: bool | None = None
    history: bool | None = None
    show: Show = Show.RICH
    tuning: Annotated[float, Ge(0), Le(0.9)] | None = None
    experiment_s: Annotated[float, Gt(0)] | None = 30.0
    practice: Annotated[int, Ge(1)] | None = 8
    patience: Annotated[int, Ge(1)] = 30
    disagreement: Annotated[int, Ge(0)] = 5
    leader_rounds: Annotated[int, Ge(0)] = 0
    novelty: Annotated[float, Ge(0), Lt(1)] = 0.0


@dataclass(frozen=True, config=STRICT)
class Config:
    """Everything that shapes a run; strategies add sections of their own, see ``register_section``.

    Attributes:
        seed: Seed of the search, 0 or more. Instances and solvers have their own.
        workers: Evaluations at once, one core each, or at most so many on a cluster; 0: all cores or places. Results do
            not depend on it.
        cluster: Where evaluations run: ``local:N``, address of a scheduler, batch system, or a file; None: on this
            machine.
        zygote: Fork evaluations from a warm interpreter instead of starting one each. Results do not depend on it.
        cache: Share evaluations between runs in ``outputs/cache.db``; a hit counts as an evaluation. Off if
            ``budget.seconds`` is set.
        cascade: Quantile of the elites, 0 to 1. Candidates are scored on ``train``, and on ``val`` only if they beat it
            there (0.5: the median elite, 1: the best). None: on ``val`` alone.
        race: Quantile of the elites, 0 to 1. An evaluation on ``val`` ends early when a paired test shows that the
            candidate cannot reach that elite. None: no races.
        protect: Test programs that would lead with unusual arguments, as ``oragent harden`` does; one that fails does
            not lead.
        twins: Instances of each size after which a program ends if it answers exactly as an elite that is no longer; 0:
            never.
        device: Where networks compute: ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ``mps``. A run keeps its device.
        protocol: Study whose instances are scored, such as ``oragent``; None: the evaluator's default.
        problem_size: Score this size only; None: all sizes.
        prompts: Folder of prompts (``NAME.txt``) in place of those that ``oragent prompts`` lists; None: those.
        budget: Budget that ends the run when it is used up.
        strategy: Settings of the search: its strategy, and what all strategies have.
        archive: Settings of the archive.
        limits: Bounds of one evaluation.
        model: Language model; None: search without one.
        models: Other models for single roles.
        ensemble: Further models; a bandit assigns rounds to models by gain per cost.
    """

    seed: Annotated[int, Ge(0)] = 0
    workers: Annotated[int, Ge(0)] = 0
    cluster: str | None = None
    zygote: bool = True
    cache: bool = False
    cascade: Annotated[float, Ge(0), Le(1)] | None = None
    race: Annotated[float, Ge(0), Le(1)] | None = None
    protect: bool = False
    twins: Annotated[int, Ge(0)] = 0
    device: Annotated[str, StringConstraints(pattern=f"^({PATTERN})$")] = AUTO
    protocol: Annotated[str, MinLen(1)] | None = None
    problem_size: Annotated[int, Ge(1)] | None = None
    prompts: str | None = None
    budget: Budget = field(default_factory=Budget)
    strategy: StrategySettings = field(default_factory=StrategySettings)
    archive: ArchiveSettings = field(default_factory=ArchiveSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    model: ModelSettings | None = None
    models: dict[Role, ModelSettings] = field(default_factory=dict)
    ensemble: tuple[ModelSettings, ...] = ()

    @property
    def strategy_name(self) -> str:
        """Return the strategy's name with ``auto`` resolved."""
        if self.strategy.name != "auto":
            return self.strategy.name
        if self.model is None:
            return "gp"
        return "or_agent"

    @property
    def is_scripted(self) -> bool:
        """True if the stand-in model answers. Its replies depend on the prompts, so these must not depend on time."""
        return self.model is not None and self.model.name == "scripted"

    @property
    def cores(self) -> int:
        """Return the number of workers; 0 becomes the number of cores."""
        return self.workers or count_processors()


_SECTIONS: dict[str, type[Any]] = {}


def register_section(name: str, model: type[Any]) -> None:
    """Register a section of the configuration for a strategy: a pydantic dataclass whose fields have defaults."""
    _SECTIONS[name] = model


def config_schema() -> type[Config]:
    """Return the class of configurations: ``Config`` with the sections of all strategies that have one."""
    return _compose_schema(tuple(_SECTIONS.items()))


@lru_cache
def _compose_schema(sections: tuple[tuple[str, type[Any]], ...]) -> type[Config]:
    attributes = "".join(f"\n    {name}: Settings of the strategy ``{name}``." for name, _ in sections)
    content = {name: field(default_factory=model) for name, model in sections} | {
        "__annotations__": dict(sections),
        "__doc__": f"{inspect.getdoc(Config)}{attributes}",
        "__module__": __name__,
    }
    return cast(type[Config], dataclass(frozen=True, config=STRICT)(type("Config", (Config,), content)))


def read_config(path: Path | None, overrides: Sequence[str] = ()) -> Config:
    """Build a configuration from a YAML file and overrides ``section.key=value``.

    Overrides win; without a file, defaults are used.

    Raises:
        ConfigError: A setting is wrong. The message names the file or override, the key, the expectation and the
            nearest key.
    """
    return build_config(settings.load_settings_tree(path) if path else {}, overrides, f"{path}" if path else "settings")


def build_config(tree: dict[str, Any], overrides: Sequence[str], source: str) -> Config:
    """Check a tree of settings with overrides, as ``read_config`` does. ``source`` is named in errors."""
    return settings.build_settings(config_schema(), tree, overrides, source)


def archive_policy(config: Config, direction: Direction) -> ArchivePolicy:
    """Return the archive policy of a configuration."""
    return ArchivePolicy(
        direction=direction,
        islands=config.archive.islands or 1,
        population=config.archive.population,
        migration_period=config.archive.migration_period,
        reset_period=config.archive.reset_period,
        everywhere=config.archive.seed_islands == "all",
        seed=config.seed,
    )
