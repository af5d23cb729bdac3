"""Prices by name."""

from pathlib import Path

import pytest

from oragent.errors import ConfigError
from oragent.llm import Price, Prices

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
    assert FAMILY.cost(model, 1_000_000, 500) == per_million


def test_the_shipped_price_list_knows_models_and_prices_them_by_million() -> None:
    prices = Prices.load(SHIPPED)
    assert prices.cost("gpt-4o-mini-2024-07-18", 2_000_000, 1_000_000) == pytest.approx(2 * 0.15 + 0.60)
    assert prices.cost("qwen2.5-coder:1.5b", 10, 10) is None
    assert all(price.tokens_out >= price.tokens_in > 0 for price in prices.models.values())


def test_a_missing_price_list_means_no_prices(tmp_path: Path) -> None:
    assert Prices.load(tmp_path / "prices.yaml").models == {}


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
    with pytest.raises(ConfigError, match=r"prices\.yaml") as caught:
        Prices.load(path)
    assert "\n" not in str(caught.value)
