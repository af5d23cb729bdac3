"""Prices of models: the user's list first, then the package ``genai-prices``."""

import importlib.metadata
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from oragent._base import package_data
from oragent._base.distribution import extra_install_command
from oragent._base.errors import ConfigError
from oragent._base.safe_load import load_yaml

MILLION = 1_000_000
# Suffix of a snapshot (-2024-07-18, -0613, :latest), but not of another model of the family (-mini).
SNAPSHOT = re.compile(r"[-@:](\d[\w.-]*|latest|preview(-[\d-]+)?)")


class Price(BaseModel):
    """Price of a model, USD per million tokens; keys of the file: ``in``, ``out`` and, optionally, ``cached``."""

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
    """List prices by model name."""

    # Price of each model, on any server. A name also matches its dated snapshots, and the longest listed name wins.
    models: Mapping[str, Price] = field(default_factory=dict)
    # Date of the list. May be empty.
    date: str = ""

    @classmethod
    def load_prices(cls, path: Path) -> "Prices":
        """Read a price list such as ``configs/prices.yaml``. A missing file means no prices."""
        try:
            content = load_yaml(path)
        except FileNotFoundError:
            return cls()
        except (OSError, yaml.YAMLError) as problem:
            raise ConfigError(f"{path}: cannot read the price list: {' '.join(str(problem).split())}") from None
        try:
            price_list = _PriceList.model_validate(content)
            return cls(price_list.models, "" if price_list.date is None else str(price_list.date))
        except ValidationError as problem:
            first = problem.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the file"
            raise ConfigError(
                f"{path}: {where}: {first['msg']}; expected 'models: {{NAME: {{in: USD, out: USD}}}}'"
            ) from None

    def call_cost(
        self, model: str, tokens_in: int, tokens_out: int, tokens_cached: int = 0, base_url: str = ""
    ) -> float | None:
        """Price a call in USD. Return None if neither the list nor the package has the model of this server.

        ``tokens_in`` includes ``tokens_cached``, those in the server's cache. Without a ``base_url`` only the list is
        used.
        """
        price = self._find_listed(model)
        if price is None:
            if base_url:
                return _package_price(model, tokens_in, tokens_out, tokens_cached, base_url)
            return None
        cached = price.tokens_in if price.tokens_cached is None else price.tokens_cached
        fresh = tokens_in - tokens_cached
        return (fresh * price.tokens_in + tokens_cached * cached + tokens_out * price.tokens_out) / 1e6

    def describe_price(self, model: str, base_url: str = "") -> str:
        """Describe the price of a model and its source in one line; empty if it is unknown."""
        price_in, price_out = self.list_rates(model, base_url)
        if price_in is None or price_out is None:
            return ""
        source = self.describe_source(is_listed=self._find_listed(model) is not None)
        return f"{model} costs {price_in:.4g} USD a million tokens in and {price_out:.4g} out ({source})"

    def list_rates(self, model: str, base_url: str) -> tuple[float | None, float | None]:
        """Return the prices of a million tokens in and out; None if they are unknown."""
        return self.call_cost(model, MILLION, 0, 0, base_url), self.call_cost(model, 0, MILLION, 0, base_url)

    def describe_source(self, *, is_listed: bool) -> str:
        """Describe the user's list, or the package, with date or version; empty without a package."""
        if not is_listed:
            return describe_price_package()
        return f"your price list{f', {self.date}' if self.date else ''}"

    def _find_listed(self, model: str) -> Price | None:
        starts = [name for name in self.models if model.startswith(name)]
        listed = [name for name in starts if name == model or SNAPSHOT.fullmatch(model.removeprefix(name))]
        if listed:
            return self.models[max(listed, key=len)]
        return None


def project_prices(*roots: Path) -> Prices:
    """Load ``configs/prices.yaml`` of the first root that has one, of the current project, or of the package."""
    lists = (
        root / "configs" / "prices.yaml"
        for root in (*roots, package_data.find_project_root(), package_data.shipped_root())
    )
    return next((Prices.load_prices(path) for path in lists if path.is_file()), Prices())


@lru_cache
def describe_price_package() -> str:
    """Return the price package with its version; empty if it is not installed."""
    try:
        return f"genai-prices {importlib.metadata.version('genai-prices')}"
    except importlib.metadata.PackageNotFoundError:
        return ""


def price_package_hint() -> str:
    """Return a clause with the command that installs the price package; empty if it is installed."""
    if describe_price_package():
        return ""
    return f"; list prices of many models: {extra_install_command('models')}"


def _package_price(model: str, tokens_in: int, tokens_out: int, tokens_cached: int, base_url: str) -> float | None:
    """Return the present list price of the provider of an address. None for a private server."""
    try:
        # The table has a megabyte, which runs that use only a server do not need.
        from genai_prices import Usage, calc_price

        usage = Usage(input_tokens=tokens_in, output_tokens=tokens_out, cache_read_tokens=tokens_cached or None)
        return float(calc_price(usage, model, provider_api_url=base_url).total_price)
    except (ImportError, LookupError, ValueError, ArithmeticError):
        return None
