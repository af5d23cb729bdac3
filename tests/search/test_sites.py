"""Places of a program at which a child may differ, and what is known of each."""

import ast

import pytest

from oragent.search.genetics.sites import Site, find_sites

PARAMETERS = "x: np.ndarray, k: list"


def describe(site: Site) -> str:
    """Return the expression of a place and the words that are true of it."""
    context = site.context
    words = [word for word in ("outer", "root", "ordinal", "factor", "structural") if getattr(context, word)]
    words += [word for word in ("returned", "divides") if getattr(site, word)]
    words += [f"={context.assigned}"] if context.assigned else []
    return f"{ast.unparse(site.node)}: {' '.join(words)}".rstrip()


@pytest.mark.parametrize(
    ("body", "numbers", "constants", "compares"),
    [
        (
            "return 2.0 * x / (x + 1)",
            [
                "2.0 * x / (x + 1): outer root factor returned",
                "2.0 * x: outer factor",
                "x: outer factor",
                "x + 1: outer factor divides",
                "x: outer",
            ],
            ["2.0: outer factor", "1: outer"],
            [],
        ),
        (
            "return -(x * 2.0) + 3.0",
            ["-(x * 2.0) + 3.0: outer root factor returned", "-(x * 2.0): outer", "x * 2.0: outer", "x: outer"],
            ["2.0: outer", "3.0: outer"],
            [],
        ),
        (
            "y = x * 2.0; z: float = 3; z += y[0]; x[1] = y * 4; print(y * 5.0, 6); return y - z",
            [
                "x * 2.0: =y",
                "x: =y",
                "y[0]: outer =z",
                "y * 4: structural",
                "y:",
                "y * 5.0: structural",
                "y:",
                "y - z: outer root factor returned",
                "y: outer",
                "z: outer",
            ],
            ["2.0: outer =y", "3: outer =z", "4:", "5.0:"],
            [],
        ),
        (
            # Sizes of random draws stay, seeds change.
            "np.random.seed(7); g = np.random.default_rng(8); y = np.random.randn(9, 2); z = g.random(size=n); return y * z",
            [
                "np.random.randn(9, 2): outer =y",
                "g.random(size=n): outer =z",
                "y * z: outer root factor returned",
                "y: outer factor",
                "z: outer factor",
            ],
            ["7: structural", "8: outer structural =g"],
            [],
        ),
        (
            "y: float; z = 'a'; return x",
            ["x: outer root factor returned"],
            [],
            [],
        ),
        (
            "if x > 1.5 and not (k < 2.5 or x == 3.0): y = x * 1.0\nelse: y = -x\nreturn y",
            [
                "x: outer",
                "x * 1.0: outer =y",
                "x: outer =y",
                "-x: outer =y",
                "x: outer =y",
                "y: outer root factor returned",
            ],
            ["1.5: outer", "2.5: outer", "1.0: outer =y"],
            [],
        ),
        (
            "for i, j in k: w = i * 2.0\nelse: w = 5\nwhile x < 7.0: x = x * 0.5\nreturn x * w",
            [
                "i * 2.0: outer =w",
                "i: outer =w",
                "x * 0.5: =x",
                "x: =x",
                "x * w: outer root factor returned",
                "x: outer factor",
                "w: outer factor",
            ],
            ["2.0: outer =w", "5: outer =w", "0.5: outer =x"],
            [],
        ),
        (
            "with k as q: y = x + 6.0\ntry: z = x + 7.0\nexcept E: z = x + 8.0\nreturn y + z",
            [
                "x + 6.0: outer =y",
                "x: outer =y",
                "x + 7.0: outer =z",
                "x: outer =z",
                "y + z: outer root factor returned",
                "y: outer",
                "z: outer",
            ],
            ["6.0: outer =y", "7.0: outer =z"],
            [],
        ),
        (
            "def g(t): return t + 8.0\nreturn g(x) * 2.0",
            ["t + 8.0: outer root factor", "t: outer", "g(x) * 2.0: outer root factor returned", "x: structural"],
            ["8.0: outer", "2.0: outer factor"],
            [],
        ),
        (
            "return np.where(x > 1.5, x, 2.5)",
            ["np.where(x > 1.5, x, 2.5): outer root factor returned", "x: outer", "x: outer"],
            ["1.5: outer", "2.5: outer"],
            ["x > 1.5"],
        ),
        (
            "return np.where((x > 4.5) & ~(x < 5.5) | (x == 2.5), x, 6)",
            [
                "np.where((x > 4.5) & ~(x < 5.5) | (x == 2.5), x, 6): outer root factor returned",
                "x: outer",
                "x: outer",
                "x: outer",
            ],
            ["4.5: outer", "5.5: outer", "6: outer"],
            ["x > 4.5", "x < 5.5"],
        ),
        (
            "return np.where(k, x, 6.0) + (x < 3.5) * (1.0 if x > 9.0 else 2)",
            [
                "np.where(k, x, 6.0) + (x < 3.5) * (1.0 if x > 9.0 else 2): outer root factor returned",
                "np.where(k, x, 6.0): outer",
                "x: outer",
                "(x < 3.5) * (1.0 if x > 9.0 else 2): outer",
                "x:",
                "1.0 if x > 9.0 else 2: outer",
                "x: outer",
            ],
            ["6.0: outer", "3.5:", "9.0: outer", "1.0: outer", "2: outer"],
            ["x < 3.5", "x > 9.0"],
        ),
        (
            "return 1 if x > 9.0 else 2",
            ["x: outer"],
            ["9.0: outer"],
            ["x > 9.0"],
        ),
        (
            "return np.argmin(x * 2.0)",
            ["x * 2.0: outer root ordinal structural", "x: outer"],
            ["2.0: outer"],
            [],
        ),
        (
            "return np.argsort(-x * 2.0, 1)",
            ["-x * 2.0: outer root ordinal structural", "-x: outer", "x: outer"],
            ["2.0: outer"],
            [],
        ),
        (
            "return np.mean(x * 3.0, axis=1) + np.sum(x, 1)",
            [
                "np.mean(x * 3.0, axis=1) + np.sum(x, 1): outer root factor returned",
                "np.mean(x * 3.0, axis=1): outer",
                "x * 3.0: structural",
                "x:",
                "np.sum(x, 1): outer",
                "x: structural",
            ],
            ["3.0:"],
            [],
        ),
        (
            "return min(k, key=lambda n: n * 4.0)",
            ["n * 4.0: outer root ordinal structural", "n: outer"],
            ["4.0: outer"],
            [],
        ),
        (
            "return sorted(k, key=g, reverse=True) + [max(x, 2.5)]",
            [
                "sorted(k, key=g, reverse=True) + [max(x, 2.5)]: outer root factor returned",
                "max(x, 2.5): structural",
                "x:",
            ],
            ["2.5:"],
            [],
        ),
        (
            "return max(k * 1.5, 2.5)",
            ["max(k * 1.5, 2.5): outer root factor returned", "k * 1.5: outer"],
            ["1.5: outer", "2.5: outer"],
            [],
        ),
        (
            "return x[0] + x[x > 5.0].sum() + x[g(6.0)]",
            [
                "x[0] + x[x > 5.0].sum() + x[g(6.0)]: outer root factor returned",
                "x[0] + x[x > 5.0].sum(): outer",
                "x[0]: outer",
                "x[x > 5.0].sum(): outer",
                "x[x > 5.0]: structural",
                "x:",
                "x[g(6.0)]: outer",
            ],
            ["5.0:", "6.0: structural"],
            ["x > 5.0"],
        ),
        (
            "return k.foo(x * 6.0, 2) + g(7.0, 7) + abs(-8.0)",
            [
                "k.foo(x * 6.0, 2) + g(7.0, 7) + abs(-8.0): outer root factor returned",
                "abs(-8.0): outer",
                "-8.0: outer",
            ],
            ["8.0: outer"],
            [],
        ),
        (
            "return np.foo(x * 2.0, 3) + np.sqrt(x)",
            [
                "np.foo(x * 2.0, 3) + np.sqrt(x): outer root factor returned",
                "x * 2.0: structural",
                "x:",
                "np.sqrt(x): outer",
                "x: outer",
            ],
            ["2.0:"],
            [],
        ),
        (
            "s = x * 2.0; return np.argmin(s)",
            ["x * 2.0: outer root ordinal =s", "x: outer =s", "s: outer root ordinal structural"],
            ["2.0: outer =s"],
            [],
        ),
        (
            "s = x * 2.0; return np.argmin(s) + s",
            [
                "x * 2.0: outer =s",
                "x: outer =s",
                "np.argmin(s) + s: outer root factor returned",
                "s: outer root ordinal structural",
                "s: outer",
            ],
            ["2.0: outer =s"],
            [],
        ),
        (
            "s = x * 2.0; t = s * 3.0; return np.sort(t) + s",
            [
                "x * 2.0: =s",
                "x: =s",
                "s * 3.0: =t",
                "s: =t",
                "np.sort(t) + s: outer root factor returned",
                "np.sort(t): outer",
                "t: structural",
                "s: outer",
            ],
            ["2.0: outer =s", "3.0: outer =t"],
            [],
        ),
        (
            "s = x * 2.0; t = s + 1.0; return t * s",
            [
                "x * 2.0: outer =s",
                "x: outer =s",
                "s + 1.0: outer =t",
                "s: outer =t",
                "t * s: outer root factor returned",
                "t: outer factor",
                "s: outer factor",
            ],
            ["2.0: outer =s", "1.0: outer =t"],
            [],
        ),
        (
            "return [a * 2.0 for a in x if a > 1.0]",
            ["a:", "a * 2.0:", "a:"],
            ["1.0:", "2.0:"],
            ["a > 1.0"],
        ),
        (
            "return {'a': x * 3.0}, (b + 1.5 for b in x), {a: a * 2.5 for a in x}",
            ["x * 3.0: structural", "x:", "b + 1.5:", "b:", "a * 2.5:", "a:"],
            ["3.0:", "1.5:", "2.5:"],
            [],
        ),
        (
            "best = -np.inf; low = float('inf'); n = len(x) // 4; m = n * 3; return x[:n]",
            ["x[:n]: outer root factor returned"],
            ["4: outer structural =n", "3: outer structural =m"],
            [],
        ),
        (
            "return (lambda y: y * 2.0)(x)",
            ["x: structural"],
            [],
            [],
        ),
        (
            "return x // 2 + len(x) * 3 - (x % 2.0)",
            [
                "x // 2 + len(x) * 3 - x % 2.0: outer root factor returned",
                "x // 2 + len(x) * 3: outer",
                "x // 2: outer",
                "x: outer",
                "x % 2.0: outer",
                "x: outer",
            ],
            ["2: outer", "3: outer structural", "2.0: outer"],
            [],
        ),
    ],
)
def test_numbers_constants_and_comparisons_are_found_with_their_context(
    body: str, numbers: list[str], constants: list[str], compares: list[str]
) -> None:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    sites = find_sites(ast.parse(f"import numpy as np\ndef f({PARAMETERS}):\n{lines}"), "f")
    assert [describe(site) for site in sites.numbers] == numbers
    assert [describe(site) for site in sites.constants] == constants
    assert [ast.unparse(node) for node in sites.compares] == compares


SCOPES = """
from a import b as c, d
N = M = 3
(P, Q), R[0] = 1, 2
S: int
T: int = 1
def g(a):
    return a * 2.0
class A:
    def h(self):
        return self * 3.0
def f(x):
    w = x * 4.0
    if w:
        y = x * 5.0
    for i, (j, _) in x:
        z = x * 6.0
    def inner(t, *u):
        return x * 7.0
    return [v * 8.0 for v in x if v > 9.0] + min(x, key=lambda q: x * 10.0)
"""


def test_names_are_visible_where_they_are_certainly_bound() -> None:
    sites = find_sites(ast.parse(SCOPES), "f")
    module = "c d N M P Q T g A f"
    wanted = {
        "2.0": "a", "3.0": "self", "4.0": "x", "5.0": "x w", "6.0": "x w i j _", "7.0": "x w t u",
        "8.0": "x w inner v", "9.0": "x w inner v", "10.0": "x w inner q",
    }  # fmt: skip
    found = {ast.unparse(site.node): " ".join(site.context.visible) for site in sites.constants}
    assert found == {number: f"{module} {names}" for number, names in wanted.items()}


def test_a_place_knows_its_statement_and_can_hold_another_expression() -> None:
    tree = ast.parse("def f(x):\n    y = np.maximum(x, x * 2.0)\n    return y\n")
    block = tree.body[0].body
    sites = {ast.unparse(site.node): site for site in find_sites(tree, "f").numbers}
    assert all(site.block[0] is block for site in sites.values())
    assert sites["x * 2.0"].block[1] is block[0]
    assert sites["y"].block[1] is block[1]
    sites["x * 2.0"].put(ast.Name("z", ast.Load()))
    assert ast.unparse(tree.body[0].body[0]) == "y = np.maximum(x, z)"
    sites["np.maximum(x, x * 2.0)"].put(ast.Constant(1))
    assert ast.unparse(tree.body[0].body[0]) == "y = 1"


def test_a_result_of_unknown_shape_counts_as_an_array() -> None:
    source = "def f(x: np.ndarray, y):\n    return np.sum(x, axis=1) * 2.0\n"
    for function, shape in (("f", 1), ("g", None)):
        result, part, *_ = find_sites(ast.parse(source), function).numbers
        assert (result.shape, part.shape) == (shape, None)
    scalar = find_sites(ast.parse(source.replace(", axis=1", "")), "f").numbers[0]
    assert scalar.shape == 0
