"""Settings of models and budget, shared by all systems, from the command line, YAML and Python."""

import difflib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from pydantic.dataclasses import dataclass

from oragent._base import settings
from oragent._base.budget import Budget
from oragent._base.errors import ConfigError
from oragent._base.settings import STRICT
from oragent.llm.model_settings import ModelSettings

SOURCE = "settings"  # named in errors where no file is


@dataclass(frozen=True, config=STRICT)
class RuntimeSettings:
    """Models and their budget.

    Attributes:
        model: Model of all roles without an entry in ``models``; None: no model is used.
        models: Models of single roles.
        ensemble: Further models; a bandit chooses among them and ``model``.
        budget: Budget of the whole work; without bounds by default.
    """

    model: ModelSettings | None = None
    models: dict[str, ModelSettings] = field(default_factory=dict)
    ensemble: tuple[ModelSettings, ...] = ()
    budget: Budget = field(default_factory=lambda: Budget(evaluations=None))

    @property
    def every_model(self) -> tuple[ModelSettings, ...]:
        """All models, the main one first."""
        return (*filter(None, [self.model]), *self.models.values(), *self.ensemble)

    @property
    def model_name(self) -> str:
        """Name of the main model; empty where no model is asked."""
        return "" if self.model is None else self.model.name


@dataclass(frozen=True, config=STRICT)
class RuntimeWords:
    """Settings of the command line.

    Attributes:
        words: Texts ``model.base_url=URL``, ``models.ROLE.name=NAME``, ``budget.money=2``.
        shortcuts: Values of options by the key of their setting; None: not given.
        config: YAML file with the same keys; None for none.
    """

    words: tuple[str, ...] = ()
    shortcuts: dict[str, Any] = field(default_factory=dict)
    config: Path | None = None

    @property
    def overrides(self) -> list[str]:
        """All settings but those of the file, as ``key=value``; ``words`` come last and win."""
        overrides = [f"{key}={json.dumps(value)}" for key, value in self.shortcuts.items() if value is not None]
        return [*overrides, *self.words]

    def read_runtime(self, roles: Collection[str] = (), earlier: RuntimeSettings | None = None) -> RuntimeSettings:
        """Check the settings.

        Args:
            roles: Roles of the system; empty: any name is a role.
            earlier: Settings of the folder, which these change.

        Raises:
            ConfigError: A key, a value or a role is unknown.
        """
        tree = {} if earlier is None else settings.dump_settings(earlier)
        if self.config is not None:
            tree |= settings.load_settings_tree(self.config)
        return check_roles(build_runtime(tree, self.overrides, SOURCE if self.config is None else str(self.config)),
                           roles)  # fmt: skip

    def name_model(
        self, name: str, roles: Collection[str] = (), shortcuts: Mapping[str, Any] | None = None
    ) -> RuntimeSettings:
        """Check the settings of a benchmark's contestant, whose model is named by the benchmark.

        Args:
            name: Name of the main model.
            roles: Roles of the system; empty: any name is a role.
            shortcuts: Further values by the key of their setting, which the words change.

        Raises:
            ConfigError: A setting is unknown, or one names the main model.
        """
        if any(word.startswith("model.name=") for word in self.words):
            raise ConfigError("model.name is no setting of a benchmark: name contestants with --models")
        given = {key: value for key, value in self.shortcuts.items() if value is not None}
        named = {**(shortcuts or {}), **given, "model.name": name}
        return replace(self, shortcuts=named).read_runtime(roles)


def build_runtime(tree: Mapping[str, Any], overrides: Sequence[str] = (), source: str = SOURCE) -> RuntimeSettings:
    """Check a tree of settings, after overrides.

    Raises:
        ConfigError: A key or a value is unknown, or the budget bounds evaluations, which only a search counts.
    """
    built = settings.build_settings(RuntimeSettings, dict(tree), overrides, source)
    plain = tree.get("budget")
    counted = [word for word in overrides if word.startswith("budget.evaluations=")]
    if (counted or (isinstance(plain, Mapping) and plain.get("evaluations"))) and built.budget.evaluations:
        raise ConfigError(
            f"{source}: budget.evaluations bounds a search; here budget.model_calls, budget.tokens, budget.money and "
            "budget.seconds do"
        )
    return built


def check_roles(runtime: RuntimeSettings, roles: Collection[str]) -> RuntimeSettings:
    """Return the settings if they name no other roles than these; without roles any role is accepted.

    Raises:
        ConfigError: A role is unknown, or has a model although there is no main one.
    """
    for role in runtime.models:
        if roles and role not in roles:
            near = difflib.get_close_matches(role, list(roles), n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(sorted(roles))}"
            raise ConfigError(f"models.{role} names no role: {hint}")
    if runtime.model is None and (runtime.models or runtime.ensemble):
        raise ConfigError("models and ensemble stand beside a main model: name it with --model or model.name")
    return runtime
