"""Variants: contestants with settings of their own, so that one strategy can be held against itself.

A file of a variant has the keys ``name``, ``strategy``, ``model`` and ``settings``; from Python it is a mapping with
them.
"""

import json
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic.dataclasses import dataclass as checked

from oragent._base import settings as trees
from oragent._base.errors import ConfigError
from oragent._base.settings import STRICT, dump_settings
from oragent.search.config import Config, build_config
from oragent.search.strategies import STRATEGIES, choose_strategy

STRATEGY, FILE = "strategy.name", "strategy.file"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
# Sections that say how to search.
OWN = ("strategy", "or_agent", "archive", "cascade", "race", "twins", "models", "ensemble")
ELSEWHERE = {STRATEGY: "the key strategy", FILE: "the key strategy", "seed": "--seeds"}


@dataclass(frozen=True)
class StrategyVariant:
    """Who is compared.

    Attributes:
        name: Name in tables and figures.
        own: Settings of its own by ``section.key``; with ``strategy.name`` where the name does not say it.
    """

    name: str
    settings: Mapping[str, Any]


@checked(frozen=True, config=STRICT)
class Described:
    """A variant as a person writes it.

    Attributes:
        name: Name in tables and figures.
        strategy: Name of a strategy, or path of one's own, from the variant's file.
        model: Name of a model, or settings of one; None: as all have it.
        settings: Tree of settings, as in a run's configuration.
    """

    name: str
    strategy: str
    model: str | dict[str, Any] | None = None
    settings: dict[str, Any] = field(default_factory=dict)


def read_variant(variant: Path | Mapping[str, Any], common: Config) -> StrategyVariant:
    """Read and check a variant.

    Args:
        variant: Path of its YAML file, or its keys.
        common: Settings of all.

    Raises:
        ConfigError: naming the file, the key, and what was expected.
    """
    source, tree, base = "variant", variant, Path()
    if isinstance(variant, Path):
        source, tree, base = str(variant), trees.load_settings_tree(variant), variant.parent
    described = trees.build_settings(Described, dict(tree) if isinstance(tree, Mapping) else {}, [], source)
    name = described.name
    if not NAME.fullmatch(name):
        raise ConfigError(
            f"{source}: key 'name' must be up to 40 letters, digits, '.', '-' and '_', no sign first, not {name!r}"
        )
    source = source if isinstance(variant, Path) else f"variant {name!r}"
    settings = _read_settings(described, source)
    word = str(base / described.strategy) if described.strategy.endswith(".py") else described.strategy
    if word == "auto":
        raise ConfigError(f"{source}: key 'strategy' must name a strategy, not 'auto'")
    named = {STRATEGY: word} | ({FILE: str(Path(word).resolve())} if word.endswith(".py") else {})
    config = configure_variant(StrategyVariant(name, named | settings), common, source)
    try:
        strategy = choose_strategy(config)
    except ConfigError as problem:
        raise ConfigError(f"{source}: {problem}") from None
    if name in STRATEGIES and name != strategy.name:
        raise ConfigError(f"{source}: key 'name' must not be that of another strategy: {name!r} by {strategy.name!r}")
    return make_variant(name, {**named, STRATEGY: strategy.name, **settings}, common, source)


def plain_strategy(word: str, common: Config) -> StrategyVariant:
    """A strategy as it is, by its name or file.

    Raises:
        ConfigError: it is unknown, or lacks its model.
    """
    strategy = choose_strategy(build_config({}, [f"{STRATEGY}={json.dumps(word)}"], "--strategies"))
    if strategy.asks_model and common.model is None:
        raise ConfigError(f"strategy {word!r} asks a model: name one with --model ('scripted' needs no server)")
    return StrategyVariant(strategy.name, {FILE: str(Path(word).resolve())} if word.endswith(".py") else {})


def make_variant(name: str, settings: Mapping[str, Any], common: Config, source: str) -> StrategyVariant:
    """A variant by all of its settings, checked.

    Raises:
        ConfigError: one of them is wrong, or it lacks its model.
    """
    variant = StrategyVariant(name, dict(settings))
    config = configure_variant(variant, common, source)
    try:
        strategy = choose_strategy(config)
        strategy.own(config)
    except ConfigError as problem:
        raise ConfigError(f"{source}: {problem}") from None
    if strategy.asks_model and config.model is None:
        raise ConfigError(f"{source}: strategy {strategy.name!r} asks a model: give the variant one, or all by --model")
    return variant


def configure_variant(variant: StrategyVariant, common: Config | Mapping[str, Any], source: str, **more: Any) -> Config:
    """The whole configuration of a variant's runs; ``more`` are further keys, which it may override."""
    settings = {STRATEGY: variant.name, **more, **variant.settings}
    tree = dump_settings(common) if isinstance(common, Config) else dict(common)
    return build_config(deepcopy(tree), [f"{key}={json.dumps(value)}" for key, value in settings.items()], source)


def _read_settings(described: Described, source: str) -> dict[str, Any]:
    """The settings that a variant may have, by ``section.key``.

    Raises:
        ConfigError: one is unknown, or is for all alike.
    """
    settings = dict(_flatten("", described.settings))
    build_config(
        {}, [f"{key}={json.dumps(value, default=str)}" for key, value in settings.items()], source
    )  # unknown keys, types
    for key in settings:
        if remedy := ELSEWHERE.get(key):
            raise ConfigError(f"{source}: 'settings.{key}' is set by {remedy}")
        section = key.partition(".")[0]
        if section == "model":
            raise ConfigError(f"{source}: 'settings.{key}' is set by the key model, beside settings")
        if section not in OWN:
            sections = ", ".join(OWN)
            raise ConfigError(f"{source}: 'settings.{key}' must be the same for all; a variant may set {sections}")
    model = {"name": described.model} if isinstance(described.model, str) else described.model or {}
    return settings | dict(_flatten("model", model))


def _flatten(section: str, tree: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        path = f"{section}.{key}" if section else str(key)
        if isinstance(value, Mapping):
            yield from _flatten(path, value)
        else:
            yield path, value
