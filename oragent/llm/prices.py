"""What models cost: a list of one's own first, then that of the package ``genai-prices``, which is well kept."""

import importlib.metadata
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from oragent._base import shipped
from oragent._base.errors import ConfigError

# What may follow a listed name: a snapshot (-2024-07-18, -0613, :latest), never another member of the family (-mini).
SNAPSHOT = re.compile(r"[-@:](\d[\w.-]*|latest|preview(-[\d-]+)?)")


class Price(BaseModel):
    """What a model costs, USD per million tokens; the file's keys are ``in``, ``out`` and perhaps ``cached``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tokens_in: Annotated[float, Field(alias="in", ge=0.0)]
    tokens_out: Annotated[float, Field(alias="out", ge=0.0)]
    tokens_cached: Annotated[float | None, Field(alias="cached", ge=0.0)] = None


class _PriceList(BaseModel):
    model_config = ConfigDict(extra="forbid")

    date: Any = None
    models: dict[str, Price]


@dataclass(frozen=True)
class Prices:
    """List prices by model name.

    Attributes:
        models: Price of each model, wherever it is asked; a name also stands for its dated snapshots, the longest
            listed name winning.
        date: Date of that list; empty where it says none.
    """

    models: Mapping[str, Price] = field(default_factory=dict)
    date: str = ""

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
            found = _PriceList.model_validate(content)
            return cls(found.models, "" if found.date is None else str(found.date))
        except ValidationError as problem:
            first = problem.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the file"
            raise ConfigError(
                f"{path}: {where}: {first['msg']}; expected 'models: {{NAME: {{in: USD, out: USD}}}}'"
            ) from None

    def cost(
        self, model: str, tokens_in: int, tokens_out: int, tokens_cached: int = 0, base_url: str = ""
    ) -> float | None:
        """Price a call in USD.

        Args:
            model: Name under which the model was asked.
            tokens_in: Number of tokens of the prompt, those that were cached among them.
            tokens_out: Number of tokens of the answer.
            tokens_cached: Number of tokens of the prompt that the server had read before.
            base_url: Address of the server; empty where there is none.

        Returns:
            The price; None where the model is not listed, and the package knows no such model of this server.
        """
        price = self._listed(model)
        if price is None:
            return _packaged(model, tokens_in, tokens_out, tokens_cached, base_url) if base_url else None
        cached = price.tokens_in if price.tokens_cached is None else price.tokens_cached
        fresh = tokens_in - tokens_cached
        return (fresh * price.tokens_in + tokens_cached * cached + tokens_out * price.tokens_out) / 1e6

    def told(self, model: str, base_url: str = "") -> str:
        """The price of a model with its source, one line; empty where none is known."""
        price = self.cost(model, 1_000_000, 0, 0, base_url), self.cost(model, 0, 1_000_000, 0, base_url)
        if price[0] is None or price[1] is None:
            return ""
        dated = f", {self.date}" if self.date else ""
        source = f"your price list{dated}" if self._listed(model) else package()
        return f"{model} costs {price[0]:.4g} USD a million tokens in and {price[1]:.4g} out ({source})"

    def _listed(self, model: str) -> Price | None:
        listed = [name for name in self.models if _covers(name, model)]
        return self.models[max(listed, key=len)] if listed else None


def project_prices(*roots: Path) -> Prices:
    """Load the price list ``configs/prices.yaml``: of a root, else of the project around here, else the shipped one.

    Args:
        roots: Roots of projects that are looked at first, in their order.

    Raises:
        ConfigError: the file is no price list.
    """
    lists = (root / "configs" / "prices.yaml" for root in (*roots, shipped.project(), shipped.root()))
    return next((Prices.load(path) for path in lists if path.is_file()), Prices())


@lru_cache
def package() -> str:
    """The package whose prices hold where one's own list has none, with its version; empty where it is missing."""
    try:
        return f"genai-prices {importlib.metadata.version('genai-prices')}"
    except importlib.metadata.PackageNotFoundError:
        return ""


def _packaged(model: str, tokens_in: int, tokens_out: int, tokens_cached: int, base_url: str) -> float | None:
    """Today's list price at the provider that an address belongs to; None for a server of one's own."""
    try:
        from genai_prices import Usage, calc_price  # a table of a megabyte, for runs with a server alone

        usage = Usage(input_tokens=tokens_in, output_tokens=tokens_out, cache_read_tokens=tokens_cached or None)
        return float(calc_price(usage, model, provider_api_url=base_url).total_price)
    except (ImportError, LookupError, ValueError, ArithmeticError):
        return None


def _covers(name: str, model: str) -> bool:
    rest = model.removeprefix(name)
    return model == name or (model.startswith(name) and SNAPSHOT.fullmatch(rest) is not None)


def _one_line(problem: Exception) -> str:
    return " ".join(str(problem).split())
