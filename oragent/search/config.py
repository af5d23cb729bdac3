"""The configuration of a run: YAML, defaults and the command line, checked in one place."""

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
from oragent.search.history import ArchivePolicy

Role = Literal["lead", "idea", "code", "experiment", "reflect", "debug", "repair"]


class Blocks(StrEnum):
    """Selection of the problem's building blocks, its ``primitives``, for a strategy."""

    NONE = "none"
    SOME = "some"  # a few, drawn anew for each prompt
    ALL = "all"


class Show(StrEnum):
    """Content that prompts of published strategies have besides a program's text."""

    RICH = "rich"  # score, metrics, time, and what else the settings have
    PAPER = "paper"  # what the paper's or its code's prompts do: mostly nothing, or the thought alone


@dataclass(frozen=True, config=STRICT)
class ArchiveSettings:
    """The archive.

    Attributes:
        islands: Populations that evolve side by side; None: as the strategy has it.
        population: Size of an island where a problem has no features.
        migration_period: Rounds after which each island's best goes to the next one; 0: never.
        reset_period: Rounds after which the worse half of the islands starts anew; 0: never.
        reset_s: Seconds of the run's own time after which it does so; 0: never. What the clock decides is written down,
            so that a resumed run and reports see the same; done again, a run may find something else.
        seed_islands: Whether the seed heuristic begins on ``all`` islands, or on the ``first`` alone.
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
        name: ``auto`` is ``or_agent`` with a model and ``gp`` without; a path that ends in ``.py`` is a strategy of
            one's own.
        file: File of a strategy, as a run keeps it.
        options: Settings that a strategy of one's own takes.
        temperature: Greed in choosing parents: share of the ranking over which the weight falls by a factor e.
        window: Rounds in flight at once; a round begins on the state left that many rounds ago. None: as the strategy
            has it.
        blocks: Building blocks of the problem that prompts name where they ask for something new, and that ``gp``
            breeds with. None: as the strategy has it.
        features: Whether prompts tell the bins of the programs that they show, and what these mean. None: as the
            strategy has it.
        standing: Whether prompts tell where the search stands: its best programs, and what is left of the budget. None:
            as the strategy has it.
        live: Whether prompts are built from the state at the moment of the call: results of rounds and branches under
            way, and what is left then. The state is recorded, so that replays are exact. Otherwise they show what was
            committed when their round began. None: as the strategy has it.
        history: Whether prompts tell how the program to be changed came about. None: as the strategy has it.
        show: What prompts of published strategies tell of the programs that they show: ``rich``, or what their
            ``paper`` has; strategies without such prompts do not look at it.
        tuning: Share of the evaluations, at most, that go into tuning the constants of good programs, whatever the
            strategy; 0: none. None: as the strategy has it.
        experiment_s: CPU seconds of sweeps, and of probes on training instances, that a run may use for each
            evaluation, and ten times as many at first; they are counted apart from evaluations. None: no bound.
        patience: Rounds in a row without a new program to score, after which a run gives up.
        novelty: Share of its tokens by which a program must differ from every elite to be scored; 0: it must not equal
            one.
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
    patience: Annotated[int, Ge(1)] = 30
    novelty: Annotated[float, Ge(0), Lt(1)] = 0.0


@dataclass(frozen=True, config=STRICT)
class Config:
    """Everything that shapes a run; strategies add sections of their own, see ``register_section``.

    Attributes:
        seed: Seed of the run's own randomness, 0 or more; instances and solvers have seeds of their own.
        workers: Number of evaluations at once, a core each; 0: as many as there are cores. It never changes what is
            found. With a cluster, the number of evaluations at once, at most; 0: as many as its workers have places.
        cluster: Where evaluations run: ``local:N``, the address of a scheduler, a batch system, or a file that says
            more; None: on this machine.
        zygote: Whether evaluations are forked from a warm interpreter; otherwise each starts a fresh one. Nor does this
            change what is found.
        cache: Whether evaluations are taken from, and kept in, ``outputs/cache.db`` of the project, so that runs share
            them; a hit counts as an evaluation. It is off where ``budget.seconds`` binds.
        cascade: Quantile of the elites, in [0, 1]: candidates are scored on ``train`` first, and on ``val`` only if
            they are better there than it (0.5 is the elites' median, 1 their best). None: all are scored on ``val``
            alone.
        race: Quantile of the elites, in [0, 1], likewise: an evaluation on ``val`` goes in blocks of instances, and is
            ended as soon as a paired test says that the candidate cannot come up to that elite, where the evaluator
            offers it. None: all are scored to the end.
        twins: Number of instances of each size after which a program is ended that has answered just as an elite which
            is no longer than it, where the evaluator offers it; 0: none is.
        audit: Number of random decisions, at most, by which the best program of a round is audited where it would lead,
            each put to a process that knows that call's arguments alone, where the evaluator offers it; up to ten times
            as many for the winner of the run. None: no program is audited.
        audit_share: Share of the CPU time that audits may take, in (0, 1]. The seed heuristic, the first two programs
            that lead and the winner are audited whatever it is; 1: every program that would lead is.
        audit_lag: Number of rounds after which the verdict of an audit takes effect, while the search goes on: a
            program that fails is withdrawn just before that round is committed. 0: a round waits for the audit of its
            best program. None: as many as ``strategy.window``, so that no round that builds on it is committed before.
        device: What networks compute on: ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ``mps``; a run is pinned to what it
            begins on. Evaluators without PyTorch ignore it.
        protocol: Study whose instances are scored, where the evaluator offers them, such as ``oragent``; None: the
            evaluator's own.
        problem_size: Only one of the problem's sizes to score on; None: all of them.
        budget: Budget that ends the run when it is used up.
        strategy: Settings of the search: its strategy, and what all strategies have.
        archive: Settings of the archive.
        limits: Bounds of one evaluation.
        model: Language model; None: search without one.
        models: Other models for single roles.
        ensemble: Models beside the first; a bandit gives each round to one of them, by what it gained for its cost.
    """

    seed: Annotated[int, Ge(0)] = 0
    workers: Annotated[int, Ge(0)] = 0
    cluster: str | None = None
    zygote: bool = True
    cache: bool = False
    cascade: Annotated[float, Ge(0), Le(1)] | None = None
    race: Annotated[float, Ge(0), Le(1)] | None = None
    twins: Annotated[int, Ge(0)] = 0
    audit: Annotated[int, Ge(1)] | None = 30
    audit_share: Annotated[float, Gt(0), Le(1)] = 0.2
    audit_lag: Annotated[int, Ge(0)] | None = None
    device: Annotated[str, StringConstraints(pattern=f"^({PATTERN})$")] = AUTO
    protocol: Annotated[str, MinLen(1)] | None = None
    problem_size: Annotated[int, Ge(1)] | None = None
    budget: Budget = field(default_factory=Budget)
    strategy: StrategySettings = field(default_factory=StrategySettings)
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
    def is_scripted(self) -> bool:
        """True if the stand-in model answers: its replies depend on prompts, and these must not depend on time then."""
        return self.model is not None and self.model.name == "scripted"

    @property
    def cores(self) -> int:
        """The number of workers with 0 resolved."""
        return self.workers or count_processors()


_SECTIONS: dict[str, type[Any]] = {}


def register_section(name: str, model: type[Any]) -> None:
    """Give a configuration a section for the settings of a strategy.

    Args:
        name: Name of the strategy and of the section.
        model: Class of the settings, a pydantic dataclass with a default for each.
    """
    _SECTIONS[name] = model


def config_schema() -> type[Config]:
    """Return the class of configurations: ``Config`` with the sections of all strategies that have one."""
    return _compose_schema(tuple(_SECTIONS.items()))


@lru_cache
def _compose_schema(sections: tuple[tuple[str, type[Any]], ...]) -> type[Config]:
    told = "".join(f"\n    {name}: Settings of the strategy ``{name}``." for name, _ in sections)
    content = {name: field(default_factory=model) for name, model in sections} | {
        "__annotations__": dict(sections),
        "__doc__": f"{inspect.getdoc(Config)}{told}",
        "__module__": __name__,
    }
    return cast(type[Config], dataclass(frozen=True, config=STRICT)(type("Config", (Config,), content)))


def read_config(path: Path | None, overrides: Sequence[str] = ()) -> Config:
    """Build a configuration.

    Args:
        path: Path of a YAML file; None: the defaults.
        overrides: ``section.key=value`` each, the value in YAML; they win over the file.

    Raises:
        ConfigError: naming file or override, key, what was expected and the nearest valid key.
    """
    return build_config(settings.load_settings_tree(path) if path else {}, overrides, f"{path}" if path else "settings")


def build_config(tree: dict[str, Any], overrides: Sequence[str], source: str) -> Config:
    """Check a tree of settings, after overrides; ``source`` is named in errors.

    Raises:
        ConfigError: as for ``read``.
    """
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
