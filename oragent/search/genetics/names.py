"""What a program does with its names: which values they are given, and which serve as index, container or operand."""

import ast
from collections.abc import Iterable, Iterator

from oragent._base.trees import all_nodes, child_nodes

MODULES = frozenset(["np", "numpy", "math", "torch"])

_CONTAINER_METHODS = frozenset(["add", "append", "discard", "get", "items", "keys", "pop", "remove", "union", "values"])
_SIZED = frozenset(["arange", "eye", "full", "ones", "range", "zeros", "reshape"])


def numeric_call(node: ast.expr) -> str:
    """Return ``exp`` for a call of ``np.exp``, ``math.exp``, ``torch.exp``, and the empty string for anything else."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=name)) if module in MODULES:
            return name
        case _:
            return ""


def find_bindings(unit: ast.stmt) -> Iterator[tuple[str, ast.expr | None, bool]]:
    """Yield (name, value, whether it is an item of that value) for each binding; no value where none is known."""
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
    """Yield names that make up a subscript, or a size."""
    for node in parts:
        match node:
            case ast.Subscript(slice=place):
                yield from _plain_names(place)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args) if name in _SIZED:
                yield from (name for arg in args for name in _plain_names(arg))


def _plain_names(target: ast.expr) -> Iterator[str]:
    """Yield the names that make up an index; those inside a mask or a call have other uses."""
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
    """Yield names that are computed with."""
    for node in parts:
        if isinstance(node, ast.BinOp) or (isinstance(node, ast.Call) and numeric_call(node)):
            yield from (child.id for child in child_nodes(node) if isinstance(child, ast.Name))
