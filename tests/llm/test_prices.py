"""Prices by name."""

from pathlib import Path

import pytest

from oragent._base.errors import ConfigError
from oragent.llm import Price, Prices
from oragent.llm.prices import describe_price_package

SHIPPED = Path(__file__).parents[2] / "configs" / "prices.yaml"
FAMILY = Prices({name: Price(**{"in": cost, "out": 0.0}) for name, cost in [("gpt-5", 1.0), ("gpt-5-mini", 2.0)]})


@pytest.mark.parametrize(
    ("model", "per_million"),
    [
        ("gpt-5", 1.0),
        ("gpt-5-2025-08-07", 1.0),
        ("gpt-5-latest", 1.0),
        ("gpt-5-mini", 2.0),
        ("gpt-5-mini-2025-08-07", 2.0),  # the longest listed name
        ("gpt-5-nano", None),  # another member of the family, not a snapshot
        ("gpt-5.1", None),
        ("gpt-50", None),
        ("my-gpt-5", None),
        ("", None),
    ],
)
def test_a_model_has_the_price_of_the_longest_name_it_is_a_snapshot_of(model: str, per_million: float | None) -> None:
    assert FAMILY.call_cost(model, 1_000_000, 500) == per_million


@pytest.mark.parametrize(
    ("model", "base_url"),
    [
        ("gpt-4o-mini-2024-07-18", "https://api.openai.com/v1"),
        ("claude-sonnet-4-5", "https://api.anthropic.com/v1"),
        ("gemini-2.5-flash", "https://generativelanguage.googleapis.com/v1beta/openai"),
        ("mistral-large-latest", "https://api.mistral.ai/v1"),
        ("anthropic/claude-sonnet-4.5", "https://openrouter.ai/api/v1"),
    ],
)
def test_the_package_prices_models_at_their_providers_and_cached_tokens_cost_less(model: str, base_url: str) -> None:
    prices = Prices.load_prices(SHIPPED)
    plain, cached = (prices.call_cost(model, 1_000_000, 1000, count, base_url) for count in (0, 900_000))
    assert plain is not None
    assert cached is not None
    assert 0 < cached <= plain
    assert prices.call_cost(model, 0, 1_000_000, 0, base_url) >= prices.call_cost(model, 1_000_000, 0, 0, base_url)
    assert describe_price_package() in prices.describe_price(model, base_url)


def test_a_server_of_ones_own_has_no_price_whatever_its_model_is_called() -> None:
    for base_url in ("", "http://localhost:8000/v1", "http://10.0.0.7/v1", "https://example.com/api.openai.com/v1"):
        assert Prices().call_cost("deepseek-chat", 10, 10, 0, base_url) is None


def test_the_list_of_ones_own_goes_first_and_may_price_cached_tokens() -> None:
    prices = Prices({"gpt-4o-mini": Price(**{"in": 10.0, "out": 20.0, "cached": 1.0})}, date="2026-11-01")
    address = "https://api.openai.com/v1"
    assert prices.call_cost("gpt-4o-mini", 1_000_000, 0, 400_000, address) == pytest.approx(6.0 + 0.4)
    assert prices.describe_price("gpt-4o-mini", address) == (
        "gpt-4o-mini costs 10 USD a million tokens in and 20 out (your price list, 2026-11-01)"
    )


def test_a_missing_price_list_means_no_prices(tmp_path: Path) -> None:
    assert Prices.load_prices(tmp_path / "prices.yaml").models == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "models: 3",
        "models: {m: {in: 1}}",
        "models: {m: {in: -1, out: 1}}",
        "models: {m: {in: 1, out: 1, x: 1}}",
        "[",
    ],
)
def test_a_broken_price_list_is_told_in_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        Prices.load_prices(path)
    assert "\n" not in str(caught.value)
