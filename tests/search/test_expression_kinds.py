"""Kinds and shapes that the analysis infers, against the values of the expressions."""

import ast

import numpy as np
import pytest

from oragent.search.genetics.expressions import ExpressionKind, NameFacts

# ``n`` and ``k`` are counts, as they index; ``x`` is an array of numbers, ``v`` a number.
FUNCTION = """
def f(x: np.ndarray, v: float, n, k):
    first = x[n] + x[k]
    return {expression}
"""
VALUES = {"x": np.array([0.5, 1.5, 2.5, 4.0]), "v": 0.75, "n": 2, "k": 3, "np": np}


def infer(expression: str) -> tuple[ExpressionKind, int | None, bool]:
    unit = ast.parse(FUNCTION.format(expression=expression)).body[0]
    facts = NameFacts(unit, evolved=True)
    node = unit.body[-1].value
    return facts.kind(node), facts.shape(node), facts.nonnegative(node)


ARITHMETIC = [
    f"{left} {operator} {right}"
    for left in ("n", "v", "x", "2", "0.5")
    for operator in ("+", "-", "*", "/", "//", "%")
    for right in ("k", "v", "x", "3", "1.5")
]
CALLS = [
    "len(x)", "x.size", "x.sum()", "np.sum(x)", "np.sqrt(x)", "np.argmax(x)", "np.max(x)", "x.mean()", "abs(x)", "abs(v)",
    "-x", "-v", "min(n, k)", "max(v, 0.5)", "np.exp(v)", "np.maximum(x, v)", "x / x.sum()", "x * n", "np.log(x)",
    "np.where(x > v, x, v)", "np.argsort(x)", "np.cumsum(x)", "float(n)", "int(v)", "x[0]", "x[n]", "x.T",
    "v if n > k else x[0]", "x[n:]", "np.zeros_like(x)", "np.median(x)", "np.clip(x, 0.0, v)", "np.abs(x - v)",
]  # fmt: skip


@pytest.mark.parametrize("expression", ARITHMETIC + CALLS)
def test_what_is_inferred_holds_of_the_value(expression: str) -> None:
    kind, shape, nonnegative = infer(expression)
    value = eval(expression, dict(VALUES))
    is_whole = np.issubdtype(np.asarray(value).dtype, np.integer)
    if kind is ExpressionKind.COUNT:
        assert is_whole
    elif kind is ExpressionKind.NEUTRAL:
        assert isinstance(value, int)
    if not is_whole:
        assert kind in (ExpressionKind.NUMBER, ExpressionKind.OTHER)
    if shape is not None:
        assert shape == np.ndim(value)
    if nonnegative:
        assert np.all(np.asarray(value) >= 0)


@pytest.mark.parametrize(
    ("expression", "kind", "shape"),
    [
        ("n + k", ExpressionKind.COUNT, 0),
        ("n * k", ExpressionKind.COUNT, 0),
        ("n / k", ExpressionKind.NUMBER, 0),
        ("6 / 3", ExpressionKind.NUMBER, 0),
        ("n / 2", ExpressionKind.NUMBER, 0),
        ("n ** -1", ExpressionKind.NUMBER, 0),
        ("n // k", ExpressionKind.COUNT, 0),
        ("2 + 3", ExpressionKind.NEUTRAL, 0),
        ("n + 2", ExpressionKind.COUNT, 0),
        ("n + v", ExpressionKind.NUMBER, 0),
        ("x / n", ExpressionKind.NUMBER, 1),
        ("x + x", ExpressionKind.NUMBER, 1),
        ("np.argmax(x)", ExpressionKind.COUNT, 0),
        ("np.argsort(x)", ExpressionKind.COUNT, 1),
        # Ranks are quantities, although whole numbers.
        ("np.argsort(np.argsort(x))", ExpressionKind.NUMBER, 1),
        ("len(x) / 2", ExpressionKind.NUMBER, 0),
        # A choice between constants is a code, which no arithmetic suits.
        ("1 if v > 0.5 else 2", ExpressionKind.OTHER, 0),
        ("1.0 if v > 0.5 else 2.0", ExpressionKind.NUMBER, 0),
        ("np.sum(x, axis=0)", ExpressionKind.NUMBER, None),
        ("np.percentile(x, 50)", ExpressionKind.NUMBER, 0),
        ("'text'", ExpressionKind.OTHER, 0),
    ],
)
def test_kinds_and_shapes(expression: str, kind: ExpressionKind, shape: int | None) -> None:
    assert infer(expression)[:2] == (kind, shape)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x", True), ("-x", False), ("x - v", False), ("x + v", True), ("x * v", True), ("x / v", True),
        ("x * -1.0", False), ("np.log(x)", False), ("np.exp(-x)", True), ("abs(x - v)", True), ("x.sum()", True),
        ("(x - v).sum()", False), ("np.where(x > v, x, -v)", False), ("np.where(x > v, x, v)", True),
        ("np.negative(x)", False), ("(x - v) ** 2", False), ("max(v, n)", True), ("x > v", True), ("len(x)", True),
    ],
)  # fmt: skip
def test_what_cannot_be_negative(expression: str, expected: bool) -> None:
    assert infer(expression)[2] is expected
