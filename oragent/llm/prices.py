"""What models cost."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from oragent.errors import ConfigError

__all__ = ["Price", "Prices"]

# What may follow a listed name: a snapshot (-2024-07-18, -0613, :latest), never another member of the family (-mini).
SNAPSHOT = re.compile(r"[-@:](\d[\w.-]*|latest|preview(-[\d-]+)?)")


class Price(BaseModel):
    """What a model costs, USD per million tokens; the file's keys are ``in`` and ``out``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tokens_in: Annotated[float, Field(alias="in", ge=0.0)]
    tokens_out: Annotated[float, Field(alias="out", ge=0.0)]


class _PriceList(BaseModel):
    model_config = ConfigDict(extra="forbid")

    date: Any = None
    models: dict[str, Price]


@dataclass(frozen=True)
class Prices:
    """List prices by model name.

    Attributes:
        models: Price of each model; a name also stands for its dated snapshots, the longest listed name winning.
    """

    models: Mapping[str, Price] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> "Prices":
        """Read a price list such as ``configs/prices.yaml``; no file there means no prices.

        Raises:
            ConfigError: the file is no price list.
        """
        try:
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return cls()
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as problem:
            raise ConfigError(f"{path}: cannot read the price list: {_one_line(problem)}") from None
        try:
            return cls(_PriceList.model_validate(content).models)
        except ValidationError as problem:
            first = problem.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the file"
            raise ConfigError(
                f"{path}: {where}: {first['msg']}; expected 'models: {{NAME: {{in: USD, out: USD}}}}'"
            ) from None

    def cost(self, model: str, tokens_in: int, tokens_out: int) -> float | None:
        """Price a call in USD; None where ``model`` is not listed."""
        listed = [name for name in self.models if _covers(name, model)]
        if not listed:
            return None
        price = self.models[max(listed, key=len)]
        return (tokens_in * price.tokens_in + tokens_out * price.tokens_out) / 1e6


def _covers(name: str, model: str) -> bool:
    rest = model.removeprefix(name)
    return model == name or (model.startswith(name) and SNAPSHOT.fullmatch(rest) is not None)


def _one_line(problem: Exception) -> str:
    return " ".join(str(problem).split())
