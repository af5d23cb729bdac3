"""Symbols in a checker give the same expressions of degree 2 as numbers, and refuse every other operation."""

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.formulate.symbols import Quadratic, as_symbols

figures = st.integers(-50, 50).map(float)


def value_at(row: Quadratic, point: dict[str, float]) -> float:
    linear = row.constant + sum(size * point[name] for name, size in row.terms.items())
    return linear + sum(size * point[one] * point[other] for (one, other), size in row.products.items())


@given(a=figures, b=figures, c=figures, x=figures, y=figures)
def test_an_expression_of_symbols_has_the_value_of_the_same_expression_of_numbers(a, b, c, x, y) -> None:
    def expression(u, v):
        linear = a * u - v * b + (c - u) / 4.0 + sum([u, v, -v]) - (-(+u)) + 0 * v
        return linear + (u - b) * (c * v + a) - v**2 + 3 * (u + v + 1) ** 2

    row = expression(Quadratic({"x": 1.0}), Quadratic({"y": 1.0}))
    assert value_at(row, {"x": x, "y": y}) == pytest.approx(expression(x, y), abs=1e-6)


@pytest.mark.parametrize(
    "refused",
    [
        lambda u: u * u * u, lambda u: (u * u) * (u + 1), lambda u: u**3, lambda u: u**0.5, lambda u: 1 / u,
        lambda u: u / u, lambda u: u > 0, lambda u: u == u, bool, round, abs, int, float, hash, lambda u: u // 2,
        lambda u: u % 2, lambda u: max(u, 0), lambda u: operator.ne(u, 1),
    ],
)  # fmt: skip
def test_an_operation_of_higher_degree_or_on_the_value_is_refused(refused) -> None:
    with pytest.raises(TypeError):
        refused(Quadratic({"x": 1.0}))


def test_symbols_replace_the_values_of_columns_only() -> None:
    symbols = as_symbols({"a": 1.0, "b": [2.0, 3.0]}, {"a": "x", "b": [None, "y"]})
    assert symbols["a"].terms == {"x": 1.0}
    assert symbols["b"][0] == 2.0
    assert symbols["b"][1].terms == {"y": 1.0}
