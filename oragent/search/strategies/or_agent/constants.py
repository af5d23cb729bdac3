"""The numbers in a program that can be tuned: found and rewritten in its syntax tree."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from oragent.errors import CandidateError
from oragent.programs.inspection import tree as parsed
from oragent.search.genetics.draft import build, rounded
from oragent.search.genetics.expressions import Kind
from oragent.search.genetics.sites import Site, find_sites

__all__ = ["Constant", "Range", "constants", "with_values"]

WIDTH = 4.0  # factor on a constant, up and down, where the model names no range
MOST = 30  # constants that are offered
BOUND = 1e9  # larger numbers stand for infinity


@dataclass(frozen=True)
class Constant:
    """A number in a program.

    Attributes:
        number: Number among the program's constants, in the order of its text.
        value: Value in the program.
        whole: Whether it must stay a whole number.
        line: Statement that it stands in.
    """

    number: int
    value: float
    whole: bool
    line: str


@dataclass(frozen=True)
class Range:
    """Where a constant is to be tuned.

    Attributes:
        constant: Constant to be tuned.
        low: Lower end.
        high: Upper end, above ``low``.
    """

    constant: Constant
    low: float
    high: float

    @property
    def logarithmic(self) -> bool:
        """Whether orders of magnitude lie within it."""
        return self.low > 0 and self.high / self.low >= 10

    @classmethod
    def around(cls, constant: Constant, low: str = "", high: str = "") -> "Range":
        """The range that was named, or where it is none, a factor of ``WIDTH`` around the value (-1 to 1 around 0)."""
        try:
            lower, upper = float(low), float(high)
        except ValueError:
            lower = upper = 0.0
        if not -BOUND < lower < upper < BOUND:
            lower, upper = sorted((constant.value / WIDTH, constant.value * WIDTH)) if constant.value else (-1.0, 1.0)
        return cls(constant, lower, upper)


def constants(source: str, function: str) -> list[Constant]:
    """Find the numbers that a program computes with, at most ``MOST``; sizes, indices and infinities are none."""
    lines = source.split("\n")
    try:
        found = enumerate(_places(parsed(source), function).items())
    except CandidateError:  # of another language
        return []
    return [Constant(number, value, whole, lines[line - 1].strip()) for number, ((line, _), (value, whole)) in found]


def with_values(source: str, function: str, values: Mapping[int, float]) -> str:
    """Rewrite constants, by their numbers; comments and layout go."""
    tree = parsed(source)
    places = _places(tree, function).items()
    new = {
        place: str(round(values[number]) if whole else rounded(values[number]))
        for number, (place, (_, whole)) in enumerate(places)
        if number in values
    }
    return ast.unparse(ast.fix_missing_locations(_Rewriter(new).visit(tree))) + "\n"


def _places(tree: ast.Module, function: str) -> dict[tuple[int, int], tuple[float, bool]]:
    """Each constant by its line and column, in the order of the text: its value, and whether it must stay whole."""
    found: dict[tuple[int, int], tuple[float, bool]] = {}
    for site in find_sites(tree, function).constants:
        value = _number(site.node)
        whole = isinstance(value, int) and _is_count(site)
        if value is not None and not (site.context.structural and isinstance(value, int)):
            found[site.node.lineno, site.node.col_offset] = float(value), whole
    for statement in tree.body:  # such as ``EXPONENT = 2.0``
        if isinstance(statement, ast.Assign):
            for node in ast.walk(statement.value):
                value = _number(node)
                if isinstance(node, ast.Constant) and isinstance(value, float):
                    found[node.lineno, node.col_offset] = value, False
    return dict([item for item in sorted(found.items()) if abs(item[1][0]) < BOUND][:MOST])


def _is_count(site: Site) -> bool:
    """Whether a whole number goes into an index or a size: as part of one, or alone into a variable."""
    return not isinstance(site.parent, ast.expr) or site.facts.kind(site.parent) is Kind.COUNT


def _number(node: ast.AST) -> int | float | None:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case _:
            return None


class _Rewriter(ast.NodeTransformer):
    """Puts other numbers in the place of constants."""

    def __init__(self, values: Mapping[tuple[int, int], str]) -> None:
        self._values = values

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        text = self._values.get((node.lineno, node.col_offset))
        return node if text is None else build(text)  # a negative number is an operation of its own
