"""Symbols add up to the same linear expressions as numbers do, and refuse all else."""

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.formulate.model_capture import Affine, as_symbols

figures = st.integers(-50, 50).map(float)


@given(a=figures, b=figures, c=figures, x=figures, y=figures)
def test_an_expression_of_symbols_has_the_value_of_the_same_expression_of_numbers(a, b, c, x, y) -> None:
    def said(u, v):
        return a * u - v * b + (c - u) / 4.0 + sum([u, v, -v]) - (-(+u)) + 0 * v

    row = said(Affine({"x": 1.0}), Affine({"y": 1.0}))
    value = row.terms.get("x", 0.0) * x + row.terms.get("y", 0.0) * y + row.constant
    assert value == pytest.approx(said(x, y), abs=1e-9)


@pytest.mark.parametrize(
    "refused",
    [
        lambda u: u * u, lambda u: 1 / u, lambda u: u > 0, lambda u: u == u, bool, round, abs, int, float,
        lambda u: u // 2, lambda u: u % 2, lambda u: u**2, lambda u: max(u, 0), lambda u: operator.ne(u, 1),
    ],
)  # fmt: skip
def test_what_is_not_linear_is_refused(refused) -> None:
    with pytest.raises(TypeError):
        refused(Affine({"x": 1.0}))


def test_symbols_stand_where_columns_are() -> None:
    found = as_symbols({"a": 1.0, "b": [2.0, 3.0]}, {"a": "x", "b": [None, "y"]})
    assert found["a"].terms == {"x": 1.0}
    assert found["b"][0] == 2.0
    assert found["b"][1].terms == {"y": 1.0}
