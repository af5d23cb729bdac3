"""Kinds and shapes of the expressions of a heuristic, inferred by static analysis without running the program.

The kind of a name or an expression is number (a value or an array of values), count (an index or a size), or something
else. A number has a shape, if it can be inferred, and may be known to be non-negative. The analysis relies on two
conventions: instance data (distances, demands, prizes) are non-negative, and a name used as a subscript is an index.
"""

import ast
from collections.abc import Iterable, Iterator
from enum import IntEnum

from oragent._base.ast_utils import all_nodes, child_nodes

MODULES = frozenset(["np", "numpy", "math", "torch"])

_CONTAINER_METHODS = frozenset(["add", "append", "discard", "get", "items", "keys", "pop", "remove", "union", "values"])
_SIZED = frozenset(["arange", "eye", "full", "ones", "range", "zeros", "reshape"])
_ELEMENTWISE_NAMES = """
    abs absolute add arctan cbrt ceil clamp clip cos divide exp expm1 floor fmax fmin hypot log log10 log1p log2 maximum
    minimum multiply nan_to_num negative power reciprocal relu sigmoid sign sin sqrt square subtract tan tanh where
"""
ELEMENTWISE = frozenset(_ELEMENTWISE_NAMES.split())
REDUCTIONS = frozenset(
    ["amax", "amin", "average", "max", "mean", "median", "min", "percentile", "prod", "quantile", "std", "sum", "var"]
)
INDICES = frozenset(["argmax", "argmin", "argpartition", "argsort", "arange", "flatnonzero", "nonzero", "unique"])
_REARRANGEMENTS = frozenset(
    ["array", "asarray", "concatenate", "cumsum", "diag", "diff", "repeat", "roll", "sort", "tile", "transpose"]
)
_CONSTRUCTORS = frozenset(["eye", "full", "full_like", "ones", "ones_like", "zeros", "zeros_like"])
# Random draws whose positional arguments are sizes, other draws, and functions whose arguments are seeds.
DRAWS = frozenset(["rand", "randn", "random", "random_sample", "standard_normal"])
_OTHER_DRAWS = frozenset(["normal", "uniform"])
SEEDED = frozenset(["RandomState", "default_rng", "seed"])
# Products, which are numbers for two vectors, and arrays for a matrix.
_PRODUCTS = frozenset(["dot", "matmul"])
_ARRAYS = _REARRANGEMENTS | _CONSTRUCTORS | _PRODUCTS | {"outer"}
# Builtin functions that return a number.
PLAIN = frozenset(["abs", "float", "max", "min", "pow", "round", "sum"])
# Methods of arrays and tensors.
_SAME_SHAPE = frozenset(["astype", "clone", "copy", "cumsum", "float", "scatter"])
_POSITIVE = frozenset(["abs", "absolute", "exp", "square", "std", "var", "sqrt", "sigmoid", "relu", "argsort", "len"])


def numeric_call(node: ast.expr) -> str:
    """Return ``exp`` for a call of ``np.exp``, ``math.exp``, ``torch.exp``, and the empty string for anything else."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=name)) if module in MODULES:
            return name
        case _:
            return ""


def find_bindings(unit: ast.stmt) -> Iterator[tuple[str, ast.expr | None, bool]]:
    """Yield the name, the value and a flag for each binding; the flag is True if the name is an item of the value.

    An unknown value is None.
    """
    parameters = unit.args if isinstance(unit, ast.FunctionDef) else None
    for node in _in_order(unit):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value, False
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value, False
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                yield name, value, False
            case ast.AugAssign(target=ast.Name(id=name) as target, op=operator, value=value):
                yield name, ast.BinOp(target, operator, value), False
            case (
                ast.For(target=ast.Name(id=name), iter=value) | ast.comprehension(target=ast.Name(id=name), iter=value)
            ):
                yield name, value, True
            case ast.Assign(targets=[ast.Tuple() as target], value=ast.Attribute(attr="shape") as value):
                yield from ((name, value, True) for name in _stored_names(target))
            case ast.Assign(targets=targets):
                yield from ((name, None, False) for target in targets for name in _stored_names(target))
            case ast.For(target=target) | ast.comprehension(target=target):
                yield from ((name, None, False) for name in _stored_names(target))
            case ast.arguments() if node is not parameters:
                yield from ((arg.arg, None, False) for arg in all_nodes(node) if isinstance(arg, ast.arg))


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in child_nodes(node):
        yield from _in_order(child)


def _stored_names(target: ast.expr) -> list[str]:
    return [node.id for node in all_nodes(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def index_names(parts: Iterable[ast.AST]) -> Iterator[str]:
    """Yield names that are used in a subscript or as a size."""
    for node in parts:
        match node:
            case ast.Subscript(slice=place):
                yield from _plain_names(place)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args) if name in _SIZED | DRAWS:
                yield from (name for arg in args for name in _plain_names(arg))
            case ast.keyword(arg="size", value=value):
                yield from _plain_names(value)


def _plain_names(target: ast.expr) -> Iterator[str]:
    """Yield the names that form an index. Names inside a mask or a call have other uses."""
    match target:
        case ast.Name(id=name):
            yield name
        case ast.BinOp() | ast.UnaryOp() | ast.Tuple() | ast.Slice():
            for child in child_nodes(target):
                if isinstance(child, ast.expr):
                    yield from _plain_names(child)


def container_names(parts: Iterable[ast.AST]) -> Iterator[str]:
    """Yield names that hold collections: searched, iterated by a built-in function, or changed by a method."""
    for node in parts:
        match node:
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(id=name)]):
                yield name
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in _CONTAINER_METHODS:
                if name not in MODULES:
                    yield name
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str())):
                yield name
            case ast.Call(func=ast.Name(id="min" | "max"), args=[ast.Name(id=name)], keywords=[_, *_]):
                yield name
            case ast.Call(func=ast.Name(id="sorted" | "list" | "set"), args=[ast.Name(id=name)]):
                yield name


def operand_names(parts: Iterable[ast.AST]) -> Iterator[str]:
    """Yield names of operands of arithmetic."""
    for node in parts:
        if isinstance(node, ast.BinOp) or (isinstance(node, ast.Call) and numeric_call(node)):
            yield from (child.id for child in child_nodes(node) if isinstance(child, ast.Name))


class ExpressionKind(IntEnum):
    """Kind of the value of an expression."""

    # An integer constant, which may be COUNT or NUMBER.
    NEUTRAL = 0
    # An index or a size.
    COUNT = 1
    NUMBER = 2
    OTHER = 3


class NameFacts:
    """Kinds and shapes of the names in one top-level function or class. Nested scopes share one table."""

    def __init__(self, unit: ast.stmt, evolved: bool) -> None:
        self.evolved = evolved
        parts = all_nodes(unit)
        self._counts = set(index_names(parts))
        self._containers = set(container_names(parts))
        self._kinds: dict[str, ExpressionKind] = {}
        self._known: dict[ast.expr, ExpressionKind] = {}
        self._shapes: dict[str, int | None] = {}
        self._nonnegative: dict[str, bool] = {}
        if isinstance(unit, ast.FunctionDef):
            for arg in unit.args.args:
                self._declare_parameter(arg, evolved)
        operands = set(operand_names(parts))
        for name, value, item in find_bindings(unit):
            if value is None:
                self._kinds[name] = self._kind_of_name(
                    name, ExpressionKind.NUMBER if name in operands else ExpressionKind.OTHER
                )
                self._shapes[name] = 0 if name in self._counts else None
            else:
                self._bind_name(name, value, item)
        # Kinds inferred before all names were known may be wrong.
        self._known.clear()

    def kind(self, node: ast.expr) -> ExpressionKind:
        """Return the kind of an expression."""
        if isinstance(node, ast.Name | ast.Constant):
            return self._kind_of(node)
        if node not in self._known:
            self._known[node] = self._kind_of(node)
        return self._known[node]

    def _kind_of(self, node: ast.expr) -> ExpressionKind:
        match node:
            case ast.Constant(value=value):
                return {int: ExpressionKind.NEUTRAL, float: ExpressionKind.NUMBER}.get(
                    type(value), ExpressionKind.OTHER
                )
            case ast.Name(id=name):
                return self._kinds.get(name, ExpressionKind.OTHER)
            case ast.BinOp(left=left, op=operator, right=right):
                return _combine_kinds(operator, self.kind(left), self.kind(right))
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=inner) | ast.NamedExpr(value=inner):
                return self.kind(inner)
            case ast.IfExp(body=body, orelse=orelse):
                # A choice between integer constants is a code, such as a category.
                kind = _join_kinds(self.kind(body), self.kind(orelse))
                if kind is ExpressionKind.NEUTRAL:
                    return ExpressionKind.OTHER
                return kind
            case ast.Subscript(value=value):
                return self.kind(value)
            case ast.Attribute(value=ast.Name(id=module), attr="inf" | "pi" | "e") if module in MODULES:
                return ExpressionKind.NUMBER
            case ast.Attribute(attr="shape" | "size" | "ndim"):
                return ExpressionKind.COUNT
            case ast.Attribute(value=value, attr="T") | ast.ListComp(elt=value):
                return self.kind(value)
            case ast.List(elts=[_, *_] as parts) | ast.Tuple(elts=[_, *_] as parts):
                return _join_kinds(*map(self.kind, parts))
            case ast.Call():
                return self._kind_of_call(node)
            case _:
                return ExpressionKind.OTHER

    def shape(self, node: ast.expr) -> int | None:
        """Return 0 for a scalar, 1 for an array, None if unknown."""
        match node:
            case ast.Constant() | ast.Attribute(attr="inf" | "pi" | "e" | "size" | "ndim"):
                return 0
            case ast.Name(id=name):
                return self._shapes.get(name)
            case ast.BinOp(left=left, op=operator, right=right):
                combine = _multiply_shapes if isinstance(operator, ast.MatMult) else _broadcast_shapes
                return combine(self.shape(left), self.shape(right))
            case ast.UnaryOp(operand=inner) | ast.NamedExpr(value=inner) | ast.Attribute(value=inner, attr="T"):
                return self.shape(inner)
            case ast.IfExp(body=body, orelse=orelse):
                if self.shape(body) == self.shape(orelse):
                    return self.shape(body)
                return None
            case ast.Compare(left=left, comparators=others):
                return _broadcast_shapes(self.shape(left), *map(self.shape, others))
            case ast.Subscript(value=ast.Attribute(attr="shape")):
                return 0
            case ast.Subscript(slice=ast.Tuple(elts=[first, second])):
                parts = [self.shape(part) for part in (first, second)]
                if parts == [0, 0]:
                    return 0
                if 1 in parts:
                    return 1
                return None
            case ast.Slice() | ast.List() | ast.ListComp():
                return 1
            case ast.Call():
                return self._shape_of_call(node)
            case _:
                return None

    def nonnegative(self, node: ast.expr) -> bool:
        """Return whether the value is non-negative, assuming non-negative instance data."""
        match node:
            case ast.Constant(value=value):
                return isinstance(value, int | float) and value >= 0
            case ast.Name(id=name):
                return self._nonnegative.get(name, self.kind(node) is ExpressionKind.COUNT)
            case ast.BinOp(left=left, op=ast.Add() | ast.Mult() | ast.Div(), right=right):
                return self.nonnegative(left) and self.nonnegative(right)
            case (
                ast.BinOp(left=inner, op=ast.Pow()) | ast.Subscript(value=inner) | ast.Attribute(value=inner, attr="T")
            ):
                return self.nonnegative(inner)
            case ast.IfExp(body=body, orelse=orelse):
                return self.nonnegative(body) and self.nonnegative(orelse)
            case ast.Attribute(attr="shape" | "size" | "inf" | "pi" | "e") | ast.Compare():
                return True
            case ast.Call(func=ast.Attribute(value=value, attr=name), args=args):
                operands = args if numeric_call(node) else [value]
                signed = ("log", "log2", "log10", "subtract")
                is_elementwise = name in ELEMENTWISE | REDUCTIONS | _ARRAYS and name not in signed
                if name == "where":
                    operands = operands[1:]
                return name in _POSITIVE or (
                    is_elementwise and name != "negative" and all(map(self.nonnegative, operands))
                )
            case ast.Call(func=ast.Name(id=name), args=args):
                return name in _POSITIVE or (name in PLAIN and bool(args) and all(map(self.nonnegative, args)))
            case _:
                return False

    def _declare_parameter(self, arg: ast.arg, evolved: bool) -> None:
        shape: int | None
        hint = ast.unparse(arg.annotation) if arg.annotation else ""
        if any(word in hint for word in ("ndarray", "Tensor", "float", "int", "NDArray")) and "[int" not in hint:
            kind, shape = ExpressionKind.NUMBER, 0 if hint in ("int", "float") else 1
        else:
            kind, shape = ExpressionKind.OTHER if hint else ExpressionKind.NUMBER, 1 if evolved else None
        self._kinds[arg.arg] = self._kind_of_name(arg.arg, kind)
        self._shapes[arg.arg] = 0 if self._kinds[arg.arg] is ExpressionKind.COUNT else shape
        self._nonnegative[arg.arg] = evolved

    def _bind_name(self, name: str, value: ast.expr, item: bool) -> None:
        kind, shape = self.kind(value), self.shape(value)
        if item:
            kind = ExpressionKind.NUMBER if kind is ExpressionKind.NUMBER else ExpressionKind.COUNT
            shape = None if kind is ExpressionKind.NUMBER else 0
        if name in self._kinds:
            kind = _join_kinds(self._kinds[name], kind)
            if self._shapes.get(name) != shape:
                shape = None
        elif kind is ExpressionKind.NEUTRAL:
            kind = ExpressionKind.NUMBER
        self._kinds[name], self._shapes[name] = self._kind_of_name(name, kind), shape
        self._nonnegative[name] = self.nonnegative(value) and self._nonnegative.get(name, True)

    def _kind_of_name(self, name: str, kind: ExpressionKind) -> ExpressionKind:
        if name in self._counts:
            return ExpressionKind.COUNT
        if name in self._containers:
            return ExpressionKind.OTHER
        return kind

    def _kind_of_call(self, node: ast.Call) -> ExpressionKind:
        name = numeric_call(node)
        if name in INDICES:
            ranks = name == "argsort" and bool(node.args) and numeric_call(node.args[0]) == "argsort"
            if ranks:
                return ExpressionKind.NUMBER
            return ExpressionKind.COUNT
        if name in _REARRANGEMENTS and node.args:
            return self.kind(node.args[0])
        if name:
            if name in ELEMENTWISE | REDUCTIONS | _ARRAYS:
                return ExpressionKind.NUMBER
            return ExpressionKind.OTHER
        match node.func:
            case ast.Attribute(value=value, attr=method):
                keeps_kind = method in REDUCTIONS | ELEMENTWISE | _SAME_SHAPE | {"item", "flatten", "ravel"}
                if method in INDICES:
                    return ExpressionKind.COUNT
                if method in DRAWS | _OTHER_DRAWS:
                    return ExpressionKind.NUMBER
                if keeps_kind:
                    return self.kind(value)
                return ExpressionKind.OTHER
            case ast.Name(id="len" | "int"):
                return ExpressionKind.COUNT
            case ast.Name(id="min" | "max") if node.keywords or not node.args:
                return ExpressionKind.OTHER
            case ast.Name(id="min" | "max") if not isinstance(node.args[0], ast.GeneratorExp | ast.ListComp):
                return _join_kinds(*map(self.kind, node.args))
            case ast.Name(id=name):
                if name in PLAIN:
                    return ExpressionKind.NUMBER
                return ExpressionKind.OTHER
            case _:
                return ExpressionKind.OTHER

    def _shape_of_call(self, node: ast.Call) -> int | None:
        name, operands = numeric_call(node), list(node.args)
        if not name and isinstance(node.func, ast.Attribute):
            name, operands = node.func.attr, [node.func.value, *node.args]
        if name in REDUCTIONS:
            quantile = name in ("percentile", "quantile")
            if node.keywords or len(operands) > 1 + quantile:
                return None
            return 0
        if name in ELEMENTWISE:
            return _broadcast_shapes(*map(self.shape, operands))
        if name == "item":
            return 0
        if name in _SAME_SHAPE or name == "argsort":
            if operands:
                return self.shape(operands[0])
            return None
        if name in ("argmin", "argmax"):
            if node.keywords:
                return None
            return 0
        if name in _PRODUCTS:
            return _multiply_shapes(*map(self.shape, operands))
        if name in _ARRAYS | INDICES:
            return 1
        if name in DRAWS:
            return 1 if node.args or node.keywords else 0
        match node.func:
            case ast.Name(id="len" | "int" | "float" | "round" | "sum" | "min" | "max"):
                return 0
            case ast.Name(id="list" | "sorted"):
                return 1
            case ast.Name(id="abs") if operands:
                return self.shape(operands[0])
            case _:
                return None


def _combine_kinds(operator: ast.operator, first: ExpressionKind, second: ExpressionKind) -> ExpressionKind:
    if ExpressionKind.NUMBER in (first, second) or isinstance(operator, ast.Div | ast.Pow):
        return ExpressionKind.NUMBER
    return max(first, second)


def _join_kinds(*kinds: ExpressionKind) -> ExpressionKind:
    return max(kinds, default=ExpressionKind.OTHER)


def _multiply_shapes(*shapes: int | None) -> int | None:
    """Return the shape of a product; of two arrays it is unknown, as the number of their dimensions is."""
    return _broadcast_shapes(*shapes) if 0 in shapes else None


def _broadcast_shapes(*shapes: int | None) -> int | None:
    if 1 in shapes:
        return 1
    if None in shapes:
        return None
    return 0
