"""Tunable numbers of a program: find and replace them in its syntax tree."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeGuard

from oragent._base.errors import CandidateError
from oragent.programs.inspection import parse_tree as parsed
from oragent.programs.layout import write_program
from oragent.programs.parameters import read_parameters, write_values
from oragent.search.genetics.draft import build_expression, round_to_three
from oragent.search.genetics.expressions import ExpressionKind
from oragent.search.genetics.sites import find_sites

# Without a range from the model, a constant c ranges from c / WIDTH to c * WIDTH.
WIDTH = 4.0
# Maximum number of constants that a prompt offers.
MAX_CONSTANTS = 30
# Maximum absolute value of the ends of a range.
BOUND = 1e9
# Numbers above SENTINEL stand for infinity, and numbers below EPSILON for zero.
SENTINEL, EPSILON = 1e5, 1e-6
# Substrings of names of functions whose arguments are seeds.
SEEDERS = ("default_rng", "randomstate", "seed", "generator")


@dataclass(frozen=True)
class Constant:
    """A number in a program."""

    # Index among the program's constants, in text order.
    number: int
    # Value in the program.
    value: float
    # Whether tuned values must be integers.
    whole: bool
    # Text of the statement that contains it.
    line: str
    # Name under which the program declares it; empty if it declares none.
    name: str = ""
    # Declared range. Both ends are 0 without one.
    low: float = 0.0
    high: float = 0.0

    @property
    def label(self) -> str:
        """Return the name in prompts and replies."""
        return self.name or f"c{self.number}"


@dataclass(frozen=True)
class Range:
    """Tuning range of a constant; ``high`` is above ``low``."""

    constant: Constant
    low: float
    high: float

    @property
    def logarithmic(self) -> bool:
        """Return True if the range spans orders of magnitude."""
        return self.low > 0 and self.high / self.low >= 10

    @classmethod
    def around(cls, constant: Constant, low: str = "", high: str = "") -> "Range":
        """Return the given range, or else a factor of ``WIDTH`` around the value (-1 to 1 around 0)."""
        try:
            lower, upper = float(low), float(high)
        except ValueError:
            lower, upper = constant.low, constant.high
        if not -BOUND < lower < upper < BOUND:
            if constant.value:
                lower, upper = sorted((constant.value / WIDTH, constant.value * WIDTH))
            else:
                lower, upper = (-1.0, 1.0)
        return cls(constant, lower, upper)


def find_constants(source: str, function: str) -> list[Constant]:
    """Find the numbers that a program computes with, most influential first, at most ``MAX_CONSTANTS``.

    If the program declares parameters in comments, only these are returned. Counters, sentinels, epsilons and seeds of
    generators are not.
    """
    lines = source.split("\n")
    if declared := read_parameters(source).parameters:
        return [
            Constant(number, item.value, item.is_integer, item.name, item.name, item.low, item.high)
            for number, item in enumerate(declared)
        ]
    try:
        places = _constant_sites(parsed(source), function)
    except CandidateError:
        # The program is in another language.
        return []
    ranked = [
        (site.rank, Constant(number, site.value, site.whole, lines[row - 1].strip()))
        for number, ((row, _), site) in enumerate(places.items())
    ]
    return [constant for _, constant in sorted(ranked, key=lambda pair: (pair[0], pair[1].number))][:MAX_CONSTANTS]


def with_values(source: str, function: str, values: Mapping[int, float]) -> str:
    """Replace constants by index. Comments and layout are lost, unless the program declares its parameters."""
    if declared := read_parameters(source).parameters:
        pairs = [(declared[number], value) for number, value in values.items()]
        return write_values(source, {item.name: round(value) if item.is_integer else value for item, value in pairs})
    tree = parsed(source)
    places = _constant_sites(tree, function).items()
    new = {
        at: str(round(values[number]) if site.whole else round_to_three(values[number]))
        for number, (at, site) in enumerate(places)
        if number in values
    }
    return write_program(_Rewriter(new).visit(tree)) + "\n"


class _Place(NamedTuple):
    """Constant with its value, a flag for integers, and its rank by its position in the formula."""

    value: float
    whole: bool
    rank: int


def _constant_sites(tree: ast.Module, function: str) -> dict[tuple[int, int], _Place]:
    sites: dict[tuple[int, int], tuple[ast.expr, bool]] = {}
    for site in find_sites(tree, function).constants:
        value, parent = _constant_value(site.node), site.parent
        # The number is an index or a size, because it stands inside an index expression or is assigned to such a
        # variable.
        is_count = not isinstance(parent, ast.expr) or site.facts.kind(parent) is ExpressionKind.COUNT
        whole = isinstance(value, int) and is_count
        if value is not None and not (site.context.structural and isinstance(value, int)):
            sites[site.node.lineno, site.node.col_offset] = site.node, whole
    for node, whole in _unbred_numbers(tree):
        sites.setdefault((node.lineno, node.col_offset), (node, whole))
    above = {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}
    places = {}
    for at, (node, whole) in sorted(sites.items(), key=lambda item: item[0]):
        value = _constant_value(node)
        if value is not None and not _is_idle(node, float(value), above):
            places[at] = _Place(float(value), whole, _constant_rank(node, above))
    return places


def _unbred_numbers(tree: ast.Module) -> Iterator[tuple[ast.expr, bool]]:
    """Yield numbers that can be tuned but not bred: named, in tuples, at ends of slices, or integer divisors."""
    # Assignments such as ``EXPONENT = 2.0``.
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            yield from ((node, False) for node in ast.walk(statement.value) if _is_float(node))
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name()], value=value) if _is_many(value):
                yield value, True
            case ast.arguments(defaults=defaults, kw_defaults=keywords):
                numbers = [part for part in (*defaults, *keywords) if part is not None]
                yield from ((part, _is_many(part)) for part in numbers if _is_float(part) or _is_many(part))
            case ast.Tuple(elts=parts, ctx=ast.Load()) | ast.List(elts=parts, ctx=ast.Load()):
                yield from ((part, False) for part in parts if _is_float(part))
            case ast.Slice(lower=low, upper=high):
                yield from ((end, True) for end in (low, high) if end is not None and _is_many(end))
            case ast.BinOp(op=ast.FloorDiv(), right=right) if _is_many(right):
                yield right, True


def _is_float(node: ast.AST) -> TypeGuard[ast.Constant]:
    return isinstance(_constant_value(node), float)


def _is_many(node: ast.AST) -> bool:
    value = _constant_value(node)
    return isinstance(value, int) and value >= 2


def _is_idle(node: ast.AST, value: float, above: Mapping[ast.AST, ast.AST]) -> bool:
    """Return True for a number that must not change: a sentinel, an epsilon, the step of a counter or a seed."""
    if abs(value) >= SENTINEL or 0 < abs(value) <= EPSILON:
        return True
    parent = above.get(node)
    if _is_counting(node, value, above):
        return True
    while parent is not None and not isinstance(parent, ast.stmt):
        if isinstance(parent, ast.Call) and any(word in ast.unparse(parent.func).lower() for word in SEEDERS):
            return True
        if isinstance(parent, ast.keyword) and (parent.arg or "").lower() in ("seed", "random_state", "axis", "dtype"):
            return True
        parent = above.get(parent)
    return False


def _is_counting(node: ast.AST, value: float, above: Mapping[ast.AST, ast.AST]) -> bool:
    """Return True for the step of an index, a marker such as -1, or an operand of a bit operation."""
    parent, whole = above.get(node), isinstance(_constant_value(node), int)
    if isinstance(parent, ast.UnaryOp):
        parent = above.get(parent)
    match parent:
        case ast.AugAssign(op=ast.Add() | ast.Sub()):
            return abs(value) == 1
        case ast.AugAssign(op=ast.FloorDiv() | ast.Mod() | ast.LShift() | ast.RShift() | ast.BitAnd()):
            return whole
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.LShift() | ast.RShift() | ast.BitAnd()):
            return (whole and abs(value) <= 1) or isinstance(parent.op, ast.LShift | ast.RShift | ast.BitAnd)
        case ast.Assign() | ast.Return():
            return whole and abs(value) <= 1
        case _:
            return False


def _constant_rank(node: ast.AST, above: Mapping[ast.AST, ast.AST]) -> int:
    """Return the rank in which numbers are offered: exponents, factors, named numbers, thresholds, terms, counts."""
    parent = above.get(node)
    if isinstance(parent, ast.UnaryOp):
        parent = above.get(parent)
    match parent:
        case ast.BinOp(op=ast.Pow()):
            return 0
        case ast.BinOp(op=ast.Mult() | ast.Div()) | ast.Assign(targets=[ast.Name()]) | ast.arguments():
            return 1
        case ast.Compare():
            return 2
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return 3
        case ast.Slice() | ast.BinOp(op=ast.FloorDiv() | ast.Mod()):
            return 5
        case _:
            return 4


def _constant_value(node: ast.AST) -> int | float | None:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case _:
            return None


class _Rewriter(ast.NodeTransformer):
    """Replaces constants by other numbers."""

    def __init__(self, values: Mapping[tuple[int, int], str]) -> None:
        self._values = values

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        text = self._values.get((node.lineno, node.col_offset))
        # A negative number is a unary operation in the syntax tree, so the text is parsed.
        if text is None:
            return node
        return build_expression(text)
