"""Program under variation, and operators that keep its structure or shrink it.

Each operator changes one place, or returns False if it finds none. Point mutation of constants and functions, and a
shrinking operator against bloat, follow Koza 1992, *Genetic Programming* (ISBN 0-262-11170-5).
"""

import ast
import builtins
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from oragent._base.ast_utils import all_nodes, tree_of
from oragent.search.genetics.expressions import ELEMENTWISE, ExpressionKind, numeric_call
from oragent.search.genetics.sites import Site, Sites, find_sites

T = TypeVar("T")

# With this exponent, 1 / d ** 12 is finite for instance data of any reasonable scale.
MAX_POWER = 12.0
# Modules that are imported if a child uses them.
MODULES = {"np": "numpy", "math": "math", "torch": "torch"}


_FAMILIES = (
    ("sqrt", "log1p", "tanh", "square", "abs"),
    ("mean", "median", "max", "min", "std"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
)
_NEED_SIGN = ("sqrt", "log1p")
ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


@dataclass
class Draft:
    """Program under variation."""

    # Syntax tree of the program; operators change it in place.
    tree: ast.Module
    # Name of the evolved function.
    function: str
    # Texts of expressions over its parameters.
    primitives: Sequence[str]
    # Text of the other parent, or None.
    mate: str | None
    # Only source of randomness.
    rng: np.random.Generator
    # Places of ``tree`` at the last call of ``look``.
    sites: Sites = field(default_factory=Sites)

    def look(self) -> None:
        """Find the places of the present tree."""
        self.sites = find_sites(self.tree, self.function)

    @property
    def torch(self) -> bool:
        """True if the program computes with torch instead of numpy."""
        names = [item.name for node in self.tree.body if isinstance(node, ast.Import) for item in node.names]
        return "torch" in names and "numpy" not in names

    def pick(self, items: Sequence[T]) -> T:
        """Draw an item."""
        return items[int(self.rng.integers(len(items)))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in random order."""
        return [items[int(index)] for index in self.rng.permutation(len(items))]

    def weighted(self, items: Sequence[T], weights: Sequence[float]) -> T:
        """Draw one of the items with probability proportional to its weight; a weight must be positive."""
        bounds = np.cumsum(weights)
        return items[int(np.searchsorted(bounds, self.rng.random() * bounds[-1], side="right"))]

    def chance(self, share: float) -> bool:
        """Return True with probability ``share``."""
        return bool(self.rng.random() < share)

    def number(self, centre: float, spread: float) -> float:
        """Draw a log-normal number around ``centre``."""
        return round_to_three(centre * float(np.exp(spread * self.rng.standard_normal())))

    def choose(self, sites: Sequence[Site]) -> Site:
        """Draw a place; with probability 1/2, one that holds a whole result."""
        results = [site for site in sites if site.context.root]
        return self.pick(results if results and self.chance(0.5) else sites)

    def define(self, site: Site, value: ast.expr, name: str) -> ast.Name:
        """Insert an assignment before the statement of ``site``, and return the new variable."""
        taken = {node.id for node in all_nodes(self.tree) if isinstance(node, ast.Name)}
        taken |= {node.arg for node in all_nodes(self.tree) if isinstance(node, ast.arg)}
        fresh = next(text for text in (name, *(f"{name}{number}" for number in range(2, 999))) if text not in taken)
        block, statement = site.block
        position = next(index for index, candidate in enumerate(block) if candidate is statement)
        block.insert(position, ast.Assign([ast.Name(fresh, ast.Store())], value, lineno=0))
        return ast.Name(fresh, ast.Load())


def round_to_three(value: float) -> float:
    """Round to three significant digits, so that programs stay readable."""
    return float(f"{value:.3g}")


def build_expression(text: str, **parts: ast.expr) -> ast.expr:
    """Parse an expression and replace each ``{name}`` in it by the part of that name."""
    texts = {name: f"({ast.unparse(part)})" for name, part in parts.items()}
    return tree_of(text.format(**texts), mode="eval").body


def count_nodes(node: ast.AST) -> int:
    """Count the nodes of a tree."""
    return len(all_nodes(node))


def fits_shape(site: Site, node: ast.expr) -> bool:
    """Return True if ``node`` may replace the expression at ``site``, as far as shapes are known."""
    shape = site.facts.shape(node)
    return shape == site.shape and not (shape is None and isinstance(node, ast.Constant))


def is_reachable(site: Site, node: ast.expr) -> bool:
    """Return True if all names in ``node`` are bound at ``site``, or can be imported."""
    return all(name in site.context.visible or name in MODULES or hasattr(builtins, name) for name in free_names(node))


def free_names(node: ast.AST) -> list[str]:
    """Return the names that an expression uses and does not bind itself."""
    names = [child for child in all_nodes(node) if isinstance(child, ast.Name)]
    bound = {child.id for child in names if not isinstance(child.ctx, ast.Load)}
    bound |= {child.arg for child in all_nodes(node) if isinstance(child, ast.arg)}
    return [child.id for child in names if child.id not in bound]


def jitter_constant(draft: Draft) -> bool:
    """Change one numeric constant by a log-normal factor, or an integer by a step; rarely change its sign."""
    useful = [site for site in draft.sites.constants if not _is_guard(_constant_value(site.node))]
    useful = [site for site in useful if not site.context.factor] or useful
    if not useful:
        return False
    site = draft.pick(useful)
    site.put(build_expression(str(_move_value(draft, site, _constant_value(site.node)))))
    return True


def _move_value(draft: Draft, site: Site, value: int | float) -> int | float:
    whole = isinstance(value, int)
    # The integer may be a size, so it stays an integer.
    if whole and (site.context.structural or isinstance(site.parent, ast.stmt)):
        step = max(1, round(0.3 * abs(value) * float(draft.rng.random())))
        return max(min(value, 1), draft.pick((value - step, value + step)))
    if value == 0:
        return round_to_three(float(draft.rng.normal(0, 0.5)))
    moved = draft.pick((value - 1, value + 1)) if whole and draft.chance(0.5) else draft.number(value, 0.4)
    if isinstance(site.parent, ast.BinOp) and isinstance(site.parent.op, ast.Pow):
        return min(max(moved, 0.25), MAX_POWER)
    if draft.chance(0.05):
        return -moved
    return moved


def _is_guard(value: int | float) -> bool:
    """Return True for a constant that keeps a divisor from zero, or stands for infinity. Changing it has no effect."""
    return 0 < abs(value) < 1e-6 or abs(value) >= 1e4


def _constant_value(node: ast.expr) -> int | float:
    assert isinstance(node, ast.Constant)
    assert isinstance(node.value, int | float)
    return node.value


def swap_operator(draft: Draft) -> bool:
    """Replace an arithmetic operator or a comparison by a similar one."""
    operations = [site for site in draft.sites.numbers if _allowed_operators(site)]
    compares = [node for node in draft.sites.compares if isinstance(node.ops[0], ORDERS)]
    if not operations and not compares:
        return False
    index = int(draft.rng.integers(len(operations) + len(compares)))
    if index < len(operations):
        node = operations[index].node
        assert isinstance(node, ast.BinOp)
        node.op = draft.pick(_allowed_operators(operations[index]))()
    else:
        change_order(draft, compares[index - len(operations)])
    return True


def change_order(draft: Draft, compare: ast.Compare) -> None:
    """Replace the first operator of a comparison by another order."""
    compare.ops[0] = draft.pick([order for order in ORDERS if not isinstance(compare.ops[0], order)])()


def _allowed_operators(site: Site) -> list[type[ast.operator]]:
    """Return the operators that can replace a sum or product; division only if the divisor is probably not zero."""
    node = site.node
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
        return []
    divisor = site.facts.nonnegative(node.right) and not isinstance(node.right, ast.Constant)
    family = (ast.Add, ast.Sub, ast.Mult, ast.Div) if divisor else (ast.Add, ast.Sub, ast.Mult)
    return [kind for kind in family if not isinstance(node.op, kind)]


def swap_function(draft: Draft) -> bool:
    """Replace a function by a similar one: mean by median, sqrt by log1p, minimum by maximum."""
    choices = [(site.node, others) for site in draft.sites.numbers if (others := _related_functions(site, draft.torch))]
    if not choices:
        return False
    node, others = draft.pick(choices)
    assert isinstance(node, ast.Call)
    name = draft.pick(others)
    if isinstance(node.func, ast.Attribute):
        node.func.attr = name
    else:
        node.func = ast.Name(name, ast.Load())
    return True


def _related_functions(site: Site, torch: bool) -> list[str]:
    """Return the functions that take the same arguments as the one called here, and are defined for them."""
    node = site.node
    family: tuple[str, ...]
    match node:
        case ast.Call(func=ast.Name(id="min" | "max" as name)):
            return ["max" if name == "min" else "min"]
        case ast.Call(func=ast.Attribute(attr=name), args=args):
            family = next((group for group in _FAMILIES if name in group), ())
        case _:
            return []
    called = numeric_call(node)
    # In torch, ``max`` and ``median`` with an axis also return indices.
    if torch and ("mean" in family and (args or node.keywords)):
        family = ("mean", "std") if called else ()
    if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "math":
        family = tuple(relative for relative in family if relative in ("sqrt", "log1p", "tanh"))
    positive = bool(args) and site.facts.nonnegative(args[0])
    others = [relative for relative in family if relative != name and (positive or relative not in _NEED_SIGN)]
    # Arrays do not have this method.
    if called:
        return others
    return [relative for relative in others if relative != "median"]


def shrink_program(draft: Draft) -> bool:
    """Replace a call by its argument or an operation by one side, or remove an updating statement."""
    parts = ((site, part) for site in draft.sites.numbers for part in _smaller_parts(site.node))
    choices = [(site, part) for site, part in parts if _may_become(site, part)]
    blocks = {id(site.block[1]): site.block for site in (*draft.sites.numbers, *draft.sites.constants)}
    updates = [block for block in blocks.values() if _is_update(block[1])]
    if updates and draft.chance(0.3 if choices else 1):
        block, statement = draft.pick(updates)
        block[:] = [sibling for sibling in block if sibling is not statement] or [ast.Pass()]
        return True
    if not choices:
        return False
    site, part = draft.pick(choices)
    site.put(part)
    return True


def _smaller_parts(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.BinOp(left=left, op=ast.Pow()):
            return [left]
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.UnaryOp(operand=inner):
            return [inner]
        case ast.IfExp(body=body, orelse=orelse):
            return [body, orelse]
        case ast.Call(args=[ast.Compare(ops=[ast.Eq() | ast.NotEq()]), *_]) if numeric_call(node) == "where":
            # The masked values are special, such as the zeros of a diagonal, and the function around them relies on
            # that.
            return []
        case ast.Call(args=args) if numeric_call(node) == "where":
            return args[1:]
        case ast.Call(args=args) if numeric_call(node) in ELEMENTWISE:
            return args
        case _:
            return []


def _may_become(site: Site, part: ast.expr) -> bool:
    guard = site.divides and isinstance(site.node, ast.BinOp) and isinstance(site.node.op, ast.Add)
    value = site.facts.kind(part) is ExpressionKind.NUMBER and not isinstance(part, ast.Constant)
    # Keep a term that keeps a divisor from zero.
    return value and fits_shape(site, part) and not guard


def _is_update(statement: ast.stmt) -> bool:
    match statement:
        case ast.AugAssign(target=ast.Name()):
            return True
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return any(isinstance(node, ast.Name) and node.id == name for node in all_nodes(value))
        case _:
            return False
