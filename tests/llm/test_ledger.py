"""Prices by name, and the sums of a run's calls."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.errors import ConfigError
from oragent.llm import Ledger, Price, Prices, Reply, Tally

SHIPPED = Path(__file__).parents[2] / "configs" / "prices.yaml"
FAMILY = Prices({name: Price(**{"in": cost, "out": 0.0}) for name, cost in [("gpt-5", 1.0), ("gpt-5-mini", 2.0)]})


def reply(
    model: str = "m", tokens_in: int = 0, tokens_out: int = 0, cost: float | None = 0.0, retries: int = 0
) -> Reply:
    return Reply("", model, tokens_in, tokens_out, cost, seconds=1.0, retries=retries)


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


def test_the_ledger_sums_by_model_and_by_role() -> None:
    ledger = Ledger()
    ledger.add("proposer", reply("a", 10, 5, 0.25, retries=1))
    ledger.add("proposer", reply("b", 1, 2, None))
    ledger.add("reflector", reply("a", 100, 50, 0.5, retries=2))
    assert ledger.total == Tally(calls=3, tokens_in=111, tokens_out=57, cost=0.75, unpriced=1, retries=3)
    assert ledger.total.tokens == 168
    assert ledger.by_model == {
        "a": Tally(calls=2, tokens_in=110, tokens_out=55, cost=0.75, retries=3),
        "b": Tally(calls=1, tokens_in=1, tokens_out=2, unpriced=1),
    }
    assert ledger.by_role["reflector"] == Tally(calls=1, tokens_in=100, tokens_out=50, cost=0.5, retries=2)


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.integers(0, 10**6), st.none() | st.integers(0, 9))
    )
)
def test_the_parts_of_a_ledger_add_up_to_its_total(calls: list[tuple[str, str, int, int | None]]) -> None:
    ledger = Ledger()
    for model, role, tokens, cost in calls:
        ledger.add(role, reply(model, tokens, 1, cost))
    for parts in (ledger.by_model, ledger.by_role):
        for figure in ("calls", "tokens", "cost", "unpriced"):
            assert sum(getattr(part, figure) for part in parts.values()) == getattr(ledger.total, figure)
