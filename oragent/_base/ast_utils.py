"""Parse trusted text into a syntax tree, and walk trees.

CPython counts the recursion depth of its tree conversion in one number for all threads. If another thread or a
finalizer parses in the meantime, it raises ``SystemError`` although the text is correct
(github.com/python/cpython, issue 106905); a second attempt succeeds.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, overload

ATTEMPTS = 5


_LEAVES = frozenset(["arg", "attr", "conversion", "ctx", "id", "kind", "level", "module", "type_comment"])


@overload
def tree_of(text: str, mode: Literal["exec"] = "exec") -> ast.Module: ...


@overload
def tree_of(text: str, mode: Literal["eval"]) -> ast.Expression: ...


def tree_of(text: str, mode: Literal["exec", "eval"] = "exec") -> ast.Module | ast.Expression:
    """Parse a text: a program, or one expression.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: As ``ast.parse`` does.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            parsed = ast.parse(text, mode=mode)
        except SystemError as problem:
            if attempt == ATTEMPTS or "recursion depth mismatch" not in str(problem):
                raise
        else:
            assert isinstance(parsed, ast.Module | ast.Expression)
            return parsed
    raise AssertionError("the last attempt raises")


# Fields that may contain nodes, by type of node.
_fields: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: ()}


def child_nodes(node: ast.AST) -> list[ast.AST]:
    """Return the direct children of a node in their order, without load and store marks."""
    below: list[ast.AST] = []
    kind = type(node)
    if kind not in _fields:
        _fields[kind] = tuple(name for name in kind._fields if name not in _LEAVES)
    for name in _fields[kind]:
        value = getattr(node, name, None)
        if value.__class__ is list:
            below += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            below.append(value)
    return below


def all_nodes(root: ast.AST) -> list[ast.AST]:
    """Return ``root`` and all nodes below it, level by level, without load and store marks."""
    ordered = [root]
    # The list grows during the loop.
    for node in ordered:
        ordered += child_nodes(node)
    return ordered


def bound_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that nodes bind, in any scope, in the order of the nodes."""
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name
            case ast.alias(name=name, asname=alias):
                yield (alias or name).partition(".")[0]


def names_of_statement(statement: ast.stmt) -> set[str]:
    """Return the names that a statement defines at the top level of a program."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    return set(bound_names(node for node in all_nodes(statement) if isinstance(node, ast.Name | ast.alias)))


def first_line(statement: ast.stmt) -> int:
    """Return the first line of a statement, including decorators."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def statement_text(lines: Sequence[str], statement: ast.stmt) -> str:
    """Return the text of a statement of a program, given its lines."""
    return "\n".join(lines[first_line(statement) - 1 : statement.end_lineno])
