"""Kinds and shapes that the analysis infers, against the values of the expressions."""

import ast
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from oragent.search.genetics import growth
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
    "np.dot(x, x)", "x.dot(x)", "x @ x", "np.matmul(x, x)", "np.dot(x, v)", "np.dot(v, n)", "np.outer(x, x) @ x",
    "np.outer(x, x)", "np.dot(np.outer(x, x), x)", "np.dot(x, x) * x", "np.dot(x[n:], x[n:]) / v",
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
        assert shape == min(np.ndim(value), 1)
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


# Kind, shape and whether it cannot be negative, as numpy computes them for an array ``x``, a number ``v`` and counts.
INFERRED = """
1 NEUTRAL 0 True              ; -1 NEUTRAL 0 False              ; -0.5 NUMBER 0 False       ; b'a' OTHER 0 False
-n COUNT 0 False              ; +x NUMBER 1 False               ; (m := x) NUMBER 1 False   ; not x OTHER 1 False
np.inf NUMBER 0 True          ; math.pi NUMBER 0 True           ; np.nan OTHER None False   ; x.nan OTHER None False
x.shape COUNT None True       ; x.shape[0] COUNT 0 True         ; x.size COUNT 0 True       ; x.ndim COUNT 0 False
x.T NUMBER 1 True             ; (-x).T NUMBER 1 False           ; [x, n] NUMBER 1 False     ; [n, k] COUNT 1 False
(x, v) NUMBER None False      ; [] OTHER 1 False                ; [n for i in x] COUNT 1 False
x[n] NUMBER None True         ; x[n, k] NUMBER 0 True           ; x[n, x > 1] NUMBER 1 True ; x[:, n] NUMBER 1 True
x[n:k, 1] NUMBER 1 True       ; x[n, other] NUMBER None True    ; (x - v)[n] NUMBER None False
other OTHER None False        ; other + n OTHER None False      ; other * v NUMBER None False
n % k COUNT 0 False           ; n / k NUMBER 0 True             ; n ** k NUMBER 0 True      ; 2 / 3 NUMBER 0 True
n - k COUNT 0 False           ; v + n NUMBER 0 True             ; v - x NUMBER 1 False      ; (v - n) ** 2 NUMBER 0 False
1 if v else 2 OTHER 0 True    ; n if v else k COUNT 0 True      ; n if v else x NUMBER None True
v if v else -1 NUMBER 0 False ; -1.0 if v else v NUMBER 0 False ; x > v OTHER 1 True        ; v > n OTHER 0 True
n > other OTHER None True     ; v < x < n OTHER 1 True          ; x[1] < n OTHER None True
np.argsort(x) COUNT 1 True    ; np.argsort(np.argsort(x)) NUMBER 1 True ; x.argsort() COUNT 1 True
np.argsort(np.argmax(x)) COUNT 0 True ; np.unique(x) COUNT 1 False ; np.argmax(x, axis=0) COUNT None False
x.argmax() COUNT 0 False      ; x.argmax(axis=0) COUNT None False ; np.array([n, k]) COUNT 1 False
np.repeat(n, 3) COUNT 1 True  ; np.cumsum(x) NUMBER 1 True      ; np.cumsum(x - v) NUMBER 1 False
np.exp(v) NUMBER 0 True       ; np.exp(-x) NUMBER 1 True        ; np.other(x) OTHER None False
np.zeros(3) NUMBER 1 True     ; np.maximum(v, n) NUMBER 0 True  ; np.maximum(v, other) NUMBER None False
np.maximum(other, x) NUMBER 1 False ; np.minimum(v, -n) NUMBER 0 False ; np.clip(x, 0.0, v) NUMBER 1 True
np.where(x > v, n, k) NUMBER 1 True ; np.where(-v > n, v, n) NUMBER 0 True ; np.subtract(x, v) NUMBER 1 False
np.log(x) NUMBER 1 False      ; np.log1p(x) NUMBER 1 True       ; np.log10(v) NUMBER 0 False
np.sum(x) NUMBER 0 True       ; np.sum(x, 0) NUMBER None True   ; np.sum(x, axis=0) NUMBER None True
x.sum() NUMBER 0 True         ; x.sum(1) NUMBER None True       ; (x - v).max() NUMBER 0 False ; n.sum() COUNT 0 True
np.percentile(x, 50) NUMBER 0 True ; np.quantile(x, 0.5, 0) NUMBER None True ; x.quantile(0.5) NUMBER 0 True
np.dot(x, x) NUMBER None True ; np.dot(x - v, x) NUMBER None False ; np.dot(v, x) NUMBER 1 True
x @ x NUMBER None False       ; np.matmul(x, x) NUMBER None True ; np.outer(x, x) NUMBER 1 True
x.item() NUMBER 0 False       ; x.copy() NUMBER 1 False         ; x.clip(0, 1) NUMBER 1 True ; x.other() OTHER None False
x.flatten() NUMBER None False ; x.astype(int) NUMBER 1 False    ; n.copy() COUNT 0 False
len(x) COUNT 0 True           ; int(v) COUNT 0 False            ; float(n) NUMBER 0 True    ; round(v) NUMBER 0 True
abs(x) NUMBER 1 True          ; abs(v - n) NUMBER 0 True        ; abs(other) NUMBER None True
sum(x) NUMBER 0 True          ; max(x) NUMBER 0 True            ; max(v, -n) NUMBER 0 False ; min(n, k) COUNT 0 True
min(n, v) NUMBER 0 True       ; min(x, key=other) OTHER 0 True  ; min() OTHER 0 False       ; pow(v, 2) NUMBER None True
max(v * 2 for i in x) NUMBER 0 False ; sorted(x) OTHER 1 False  ; list(x) OTHER 1 False     ; set(x) OTHER None False
other(x) OTHER None False     ; other(x)(n) OTHER None False    ; lambda y: y OTHER None False
"""
CASES = [part.strip().rsplit(maxsplit=3) for line in INFERRED.split("\n") for part in line.split(";") if part.strip()]


@pytest.mark.parametrize(("expression", "kind", "shape", "nonnegative"), CASES)
def test_kinds_shapes_and_signs(expression: str, kind: str, shape: str, nonnegative: str) -> None:
    found = infer(expression)
    assert [found[0].name, str(found[1]), str(found[2])] == [kind, shape, nonnegative]


def infer_name(
    body: str, name: str, head: str = "x: np.ndarray, v: float, n, s: set[int]"
) -> tuple[str, int | None, bool]:
    """Return what is known of a name in a function with that body and these parameters."""
    lines = "".join(f"    {line}\n" for line in body.split("; "))
    facts = NameFacts(ast.parse(f"def f({head}):\n{lines}").body[0], evolved=True)
    node = ast.Name(name, ast.Load())
    return facts.kind(node).name, facts.shape(node), facts.nonnegative(node)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("y = 1", ("NUMBER", 0, True)), ("y: float = -1", ("NUMBER", 0, False)), ("y: int", ("OTHER", None, False)),
        ("y = len(x)", ("COUNT", 0, True)), ("y = other", ("OTHER", None, False)), ("z = (y := x)", ("NUMBER", 1, True)),
        # What is assigned twice has what both have.
        ("y = x; y = v", ("NUMBER", None, True)), ("y = v; y = 1", ("NUMBER", 0, True)), ("y = len(x); y = 1", ("COUNT", 0, True)),
        ("y = len(x); y = v", ("NUMBER", 0, True)), ("y = v; y = -v", ("NUMBER", 0, False)), ("y = -v; y = v", ("NUMBER", 0, False)),
        ("y = v; y -= 1", ("NUMBER", 0, False)), ("y = x; y *= 2", ("NUMBER", 1, True)), ("y = 1; y = 'a'", ("OTHER", 0, False)),
        # Items of arrays are numbers, those of collections and ranges are counts.
        ("for y in x: pass", ("NUMBER", None, True)), ("for y in range(n): pass", ("COUNT", 0, False)),
        ("for y in s: pass", ("COUNT", 0, True)), ("z = [y for y in x]", ("NUMBER", None, True)),
        ("y, z = x.shape", ("COUNT", 0, True)), ("z, y = x.size", ("OTHER", None, False)), ("(z, y), w = v", ("OTHER", None, False)),
        ("y = z = x", ("OTHER", None, False)), ("for z, y in other: pass", ("OTHER", None, False)),
        # Names of unknown values are numbers if they are operands.
        ("for z, y in other: w = y * 2.0", ("NUMBER", None, False)), ("for z, y in other: w = np.exp(y)", ("NUMBER", None, False)),
        ("for z, y in other: w = np.exp(z)", ("OTHER", None, False)), ("for z, y in other: x[y]", ("COUNT", 0, True)),
        ("g = lambda y: y * 2.0", ("NUMBER", None, False)), ("g = lambda z, *y, **w: z * 2.0", ("OTHER", None, False)),
        # An index or a size is a count; what is searched or changed by a method is a collection.
        ("y = v; x[y]", ("COUNT", 0, True)), ("y = v; x[y + 1, -n:]", ("COUNT", 0, True)), ("y = v; x[1, :y]", ("COUNT", 0, True)),
        ("y = v; np.zeros((2, y))", ("COUNT", 0, True)), ("y = v; range(y)", ("COUNT", 0, True)), ("y = v; x[g(y)]", ("NUMBER", 0, True)),
        ("y = v; x[y > 1]", ("NUMBER", 0, True)), ("y = v; np.exp(y)", ("NUMBER", 0, True)),
        ("y = x; y.add(1)", ("OTHER", 1, True)), ("y = x; z = 1 in y", ("OTHER", 1, True)), ("y = x; z = 1 not in y", ("OTHER", 1, True)),
        ("y = x; z = 1 < y", ("NUMBER", 1, True)), ("y = x; y['a']", ("OTHER", 1, True)), ("y = x; y[0]", ("NUMBER", 1, True)),
        ("y = x; sorted(y)", ("OTHER", 1, True)), ("y = x; sum(y)", ("NUMBER", 1, True)), ("y = x; min(y, key=g)", ("OTHER", 1, True)),
        ("y = x; min(y)", ("NUMBER", 1, True)), ("y = x; np.add(y, 1)", ("NUMBER", 1, True)), ("np = x; y = np.add(1, 2)", ("NUMBER", 0, True)),
    ],
)  # fmt: skip
def test_what_is_known_of_a_name_comes_from_all_of_its_uses(body: str, found: tuple[str, int | None, bool]) -> None:
    assert infer_name(body, "y") == found


@pytest.mark.parametrize(
    ("head", "found"),
    [
        ("y", ("NUMBER", 1)), ("y: np.ndarray", ("NUMBER", 1)), ("y: 'torch.Tensor'", ("NUMBER", 1)), ("y: float", ("NUMBER", 0)),
        ("y: int", ("NUMBER", 0)), ("y: NDArray[np.float64]", ("NUMBER", 1)), ("y: list[int]", ("OTHER", 1)), ("y: dict", ("OTHER", 1)),
    ],
)  # fmt: skip
def test_parameters_are_what_they_are_annotated_as(head: str, found: tuple[str, int | None]) -> None:
    assert infer_name("return 0", "y", head)[:2] == found
    assert infer_name("return x[y]", "y", head)[0] == "COUNT"


def test_a_parameter_of_a_helper_may_be_of_any_shape_and_sign() -> None:
    unit = ast.parse("def g(x, y: np.ndarray):\n    return x\n").body[0]
    helper, evolved = NameFacts(unit, evolved=False), NameFacts(unit, evolved=True)
    names = [ast.Name(name, ast.Load()) for name in "xy"]
    assert [helper.shape(name) for name in names] == [None, 1]
    assert [evolved.shape(name) for name in names] == [1, 1]
    assert [helper.nonnegative(name) for name in names] == [False, False]
    assert [evolved.nonnegative(name) for name in names] == [True, True]


def parse(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize(
    ("form", "node", "parent", "repeats"),
    [
        ("-{e}", "-x", "-x", True),
        ("-{e}", "not x", "x", True),
        ("-{e}", "x - y", "-x", False),
        ("abs({e})", "-x", "x", False),
        ("{e} ** {k}", "x ** 2", "y", True),
        ("{e} ** {k}", "x", "x ** 2", True),
        ("{e} ** {k}", "x", "x * 2", False),
        ("{e} ** {k}", "x ** y", "x", False),
        ("{e} ** {k}", "-x", "x", False),
    ],
)
def test_no_form_gives_a_power_of_a_power_or_a_double_negation(
    form: str, node: str, parent: str, repeats: bool
) -> None:
    site: Any = SimpleNamespace(node=parse(node), parent=parse(parent))
    assert growth._repeats_form(SimpleNamespace(text=form), site) is repeats
    assert not growth._repeats_form(
        SimpleNamespace(text="{e} ** {k}"), SimpleNamespace(node=parse("x"), parent=ast.arg("x"))
    )
