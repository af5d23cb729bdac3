"""Places where a program can be varied: its numeric sub-expressions, constants and comparisons.

Structural parts are left out: subscripts, ``axis`` and other keyword arguments, ranges, sizes, and integer arguments of
unknown functions.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from oragent._base.ast_utils import all_nodes
from oragent.search.genetics.expressions import (
    DRAWS,
    ELEMENTWISE,
    INDICES,
    PLAIN,
    REDUCTIONS,
    SEEDED,
    ExpressionKind,
    NameFacts,
    numeric_call,
)

# List of statements, and one of its statements.
Block = tuple[list[ast.stmt], ast.stmt]


class SiteContext(NamedTuple):
    """Context of a place in the tree."""

    # Names that are bound wherever the expression is evaluated.
    visible: tuple[str, ...]
    # True if an operand added here is combined element by element with the result.
    outer: bool = True
    # True for the result itself.
    root: bool = False
    # True if only the order of its values matters.
    ordinal: bool = False
    # True if it scales the whole result.
    factor: bool = False
    # True if its integers are indices or sizes, not values.
    structural: bool = False
    # Name of the variable that it is assigned to.
    assigned: str = ""


@dataclass(frozen=True)
class Site:
    """Place of an expression in a syntax tree."""

    # The expression is ``parent.field``, or ``parent.field[index]``.
    parent: ast.AST
    field: str
    index: int | None
    # Facts about the names of its function or class.
    facts: NameFacts
    # Its statement, and the list that contains it.
    block: Block
    context: SiteContext
    # True for the whole return value of the evolved function.
    returned: bool = False

    @property
    def node(self) -> ast.expr:
        """Return the present expression."""
        held = getattr(self.parent, self.field)
        expression: ast.expr = held if self.index is None else held[self.index]
        return expression

    def put(self, node: ast.expr) -> None:
        """Replace the expression."""
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node

    @property
    def divides(self) -> bool:
        """Return True if the expression is a divisor."""
        return isinstance(self.parent, ast.BinOp) and isinstance(self.parent.op, ast.Div) and self.field == "right"

    @property
    def shape(self) -> int | None:
        """Return 0 for a scalar, 1 for an array, None if unknown.

        A return value of the evolved function counts as an array.
        """
        shape = self.facts.shape(self.node)
        if shape is None and self.returned:
            return 1
        return shape


@dataclass
class Sites:
    """All places of a program."""

    # Places of numbers, an expression before its parts.
    numbers: list[Site] = field(default_factory=list)
    # Places of numeric constants that are values.
    constants: list[Site] = field(default_factory=list)
    # Comparisons of numbers that select a value, not a branch of statements.
    compares: list[ast.Compare] = field(default_factory=list)


def find_sites(tree: ast.Module, function: str) -> Sites:
    """Find the places in all functions and methods of ``tree`` at which a child may differ."""
    sites = Sites()
    module_names = tuple(name for statement in tree.body for name in _bound_by(statement))
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            evolved = isinstance(statement, ast.FunctionDef) and statement.name == function
            walker = _Walker(sites, NameFacts(statement, evolved), evolved)
            start = len(sites.numbers)
            parameters = _bound_names(statement.args) if isinstance(statement, ast.FunctionDef) else ()
            walker.statements(statement.body, module_names + parameters)
            sites.numbers[start:] = _mark_used_variables(statement, sites.numbers[start:])
    return sites


def _mark_used_variables(unit: ast.stmt, sites: list[Site]) -> list[Site]:
    """Mark places that are assigned to variables which are not used element by element, or are only compared."""
    loads: dict[str, int] = {}
    for node in all_nodes(unit):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            loads[node.id] = loads.get(node.id, 0) + 1
    uses: dict[str, list[SiteContext]] = {}
    for site in sites:
        if isinstance(site.node, ast.Name):
            uses.setdefault(site.node.id, []).append(site.context)
    inner: set[str] = set()
    while grown := [
        name
        for name, count in loads.items()
        if name not in inner and sum(use.outer and use.assigned not in inner for use in uses.get(name, ())) < count
    ]:
        inner.update(grown)
    ranked = {name for name, contexts in uses.items() if [use.ordinal for use in contexts] == [True] * loads[name]}
    return [replace(site, context=_settled_context(site, inner, ranked)) for site in sites]


def _settled_context(site: Site, inner: set[str], ranked: set[str]) -> SiteContext:
    context = site.context
    if context.assigned in ranked and isinstance(site.parent, ast.stmt):
        return context._replace(root=True, ordinal=True)
    if context.assigned in inner:
        return context._replace(outer=False)
    return context


class _Walker:
    def __init__(self, sites: Sites, facts: NameFacts, evolved: bool) -> None:
        self.sites, self.facts, self.evolved = sites, facts, evolved
        self.block: Block

    def statements(self, block: list[ast.stmt], visible: tuple[str, ...]) -> None:
        for statement in block:
            self.statement(statement, (block, statement), visible)
            visible += tuple(_bound_by(statement))

    def statement(self, node: ast.stmt, block: Block, visible: tuple[str, ...]) -> None:
        self.block = block
        context = SiteContext(visible)
        match node:
            case ast.Return(value=ast.expr()):
                self.expression(node, "value", None, context._replace(root=True, factor=True))
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AugAssign(target=ast.Name(id=name)):
                self.assigned(node, context._replace(assigned=name))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                self.assigned(node, context._replace(assigned=name))
            case ast.Assign() | ast.AugAssign():
                self.expression(node, "value", None, context._replace(outer=False, structural=True))
            case ast.Expr(value=ast.Call()):
                self.expression(node, "value", None, context._replace(outer=False, structural=True))
            case ast.If(test=test):
                compare_count = len(self.sites.compares)
                self.condition(test, context)
                del self.sites.compares[compare_count:]
                self.statements(node.body, visible)
                self.statements(node.orelse, visible)
            case ast.For(target=target):
                self.statements(node.body, visible + _bound_names(target))
                self.statements(node.orelse, visible)
            case ast.While():
                # The condition is left out, because a change could make the loop endless.
                self.statements(node.body, visible)
            case ast.With() | ast.Try() | ast.ClassDef():
                self.statements(node.body, visible)
            case ast.FunctionDef():
                evolved, self.evolved = self.evolved, False
                self.statements(node.body, visible + _bound_names(node.args))
                self.evolved = evolved

    def assigned(self, node: ast.Assign | ast.AugAssign | ast.AnnAssign, context: SiteContext) -> None:
        value = node.value
        if isinstance(value, ast.Constant):
            self.constant(Site(node, "value", None, self.facts, self.block, context))
        else:
            self.expression(node, "value", None, context)

    def constant(self, site: Site) -> None:
        if isinstance(site.node, ast.Constant) and type(site.node.value) in (int, float):
            self.sites.constants.append(site)

    def expression(self, parent: ast.AST, name: str, index: int | None, context: SiteContext) -> None:
        returned = self.evolved and context.root and not context.ordinal
        site = Site(parent, name, index, self.facts, self.block, context, returned)
        node = site.node
        if isinstance(node, ast.Constant):
            if not (context.structural and isinstance(node.value, int)):
                self.constant(site)
            return
        kind = self.facts.kind(node)
        is_several = isinstance(node, ast.List | ast.ListComp | ast.Tuple)
        if kind is ExpressionKind.NUMBER and not _is_limit(node) and not is_several:
            self.sites.numbers.append(site)
        self.parts(node, kind, context)

    def parts(self, node: ast.expr, kind: ExpressionKind, context: SiteContext) -> None:
        inner = context._replace(root=False, ordinal=False, factor=False, structural=False)
        match node:
            case ast.BinOp(op=operator) if kind is ExpressionKind.NUMBER:
                scales = context.factor and isinstance(operator, ast.Mult | ast.Div)
                self.expression(node, "left", None, inner._replace(factor=scales))
                self.expression(node, "right", None, inner._replace(factor=scales))
            case ast.BinOp(op=ast.FloorDiv() | ast.Mult()):
                # The constant is a size or an index.
                size = inner._replace(structural=True)
                self.constant(Site(node, "right", None, self.facts, self.block, size))
            case ast.UnaryOp(op=ast.USub()):
                same = inner._replace(factor=context.factor, structural=context.structural)
                self.expression(node, "operand", None, same)
            case ast.IfExp(test=test):
                self.condition(test, inner)
                either = inner._replace(structural=kind is not ExpressionKind.NUMBER)
                self.expression(node, "body", None, either)
                self.expression(node, "orelse", None, either)
            case ast.Call():
                self.call(node, inner._replace(structural=True))
            case ast.Compare() | ast.BoolOp():
                self.condition(node, inner._replace(outer=False))
            case ast.Subscript(value=value, slice=place):
                if not isinstance(value, ast.Name):
                    self.expression(node, "value", None, inner._replace(outer=False, structural=True))
                if isinstance(place, ast.Call):
                    self.expression(node, "slice", None, inner._replace(outer=False, structural=True))
                self.condition(place, inner._replace(outer=False))
            case ast.Lambda():
                self.expression(node, "body", None, inner._replace(visible=context.visible + _bound_names(node.args)))
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                self.comprehension(node, inner._replace(outer=False))
            case ast.Tuple() | ast.List() | ast.Dict():
                held = "values" if isinstance(node, ast.Dict) else "elts"
                for place_ in range(len(getattr(node, held))):
                    self.expression(node, held, place_, inner._replace(outer=False, structural=True))

    def call(self, node: ast.Call, context: SiteContext) -> None:
        name = numeric_call(node)
        values = context._replace(structural=False)
        match node.func:
            case ast.Name(id="min" | "max" | "sorted") if any(word.arg == "key" for word in node.keywords):
                for word in node.keywords:
                    if isinstance(word.value, ast.Lambda):
                        visible = context.visible + _bound_names(word.value.args)
                        inner = context._replace(outer=True, root=True, ordinal=True, assigned="", visible=visible)
                        self.expression(word.value, "body", None, inner)
            case ast.Name(id=builtin) if builtin in PLAIN:
                self.arguments(node, values)
            case _ if name in ELEMENTWISE:
                if name == "where" and node.args:
                    self.condition(node.args[0], values)
                self.arguments(node, values, start=name == "where")
            case _ if name in INDICES and node.args:
                self.expression(node, "args", 0, context._replace(outer=True, root=True, ordinal=True, assigned=""))
            case _ if name in REDUCTIONS and node.args:
                self.expression(node, "args", 0, context._replace(outer=False))
            case ast.Attribute(attr=method) if method in DRAWS:
                # Other sizes give arrays of other shapes.
                return
            case ast.Attribute(attr=method) if method in SEEDED:
                for index in range(len(node.args)):
                    self.constant(Site(node, "args", index, self.facts, self.block, context))
            case ast.Attribute(value=ast.expr()) if not name:
                self.expression(node.func, "value", None, context._replace(outer=False))
                self.arguments(node, context._replace(outer=False))
            case _:
                self.arguments(node, context._replace(outer=False))

    def arguments(self, node: ast.Call, context: SiteContext, start: int = 0) -> None:
        for index in range(start, len(node.args)):
            self.expression(node, "args", index, context)

    def condition(self, node: ast.expr, context: SiteContext) -> None:
        match node:
            case ast.Compare(ops=[ast.Eq() | ast.NotEq(), *_]):
                # It selects a special value, such as the zeros of a diagonal.
                return
            case ast.Compare(left=left, comparators=others):
                if ExpressionKind.NUMBER not in map(self.facts.kind, (left, *others)):
                    return
                self.sites.compares.append(node)
                self.expression(node, "left", None, context)
                for index in range(len(others)):
                    self.expression(node, "comparators", index, context)
            case ast.BoolOp(values=values):
                for value in values:
                    self.condition(value, context)
            case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=value):
                self.condition(value, context)
            case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr(), right=right):
                self.condition(left, context)
                self.condition(right, context)

    def comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, context: SiteContext
    ) -> None:
        visible = context.visible + tuple(name for part in node.generators for name in _bound_names(part.target))
        inner = context._replace(visible=visible)
        for part in node.generators:
            for test in part.ifs:
                self.condition(test, inner)
        self.expression(node, "value" if isinstance(node, ast.DictComp) else "elt", None, inner)


def _is_limit(node: ast.expr) -> bool:
    """Return True for an infinity, such as the initial value of a search for the best."""
    match node:
        case ast.UnaryOp(operand=inner):
            return _is_limit(inner)
        case ast.Attribute(attr="inf") | ast.Call(func=ast.Name(id="float"), args=[ast.Constant()]):
            return True
        case _:
            return False


def _bound_names(node: ast.AST) -> tuple[str, ...]:
    named = (child for child in all_nodes(node) if isinstance(child, ast.arg | ast.Name))
    bound = (child for child in named if isinstance(child, ast.arg) or isinstance(child.ctx, ast.Store))
    return tuple(child.arg if isinstance(child, ast.arg) else child.id for child in bound)


def _bound_by(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that are certainly bound after the statement."""
    match statement:
        case ast.Import(names=items) | ast.ImportFrom(names=items):
            yield from ((item.asname or item.name).split(".")[0] for item in items)
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from _bound_in(targets)
        case ast.AnnAssign(target=target, value=ast.expr()):
            yield from _bound_in([target])


def _bound_in(targets: Iterable[ast.expr]) -> Iterator[str]:
    for target in targets:
        yield from _bound_names(target)
