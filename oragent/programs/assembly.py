"""Complete a program with what it uses but does not define: imports and helpers that stand elsewhere."""

import ast
import builtins
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from oragent._base.errors import ReplyError
from oragent._base.trees import all_nodes
from oragent.programs import caps

TYPING = "Any Callable Dict Iterable List Optional Sequence Set Tuple Union"
FAMILIAR = {
    "np": "import numpy as np",
    "numpy": "import numpy",
    "math": "import math",
    "torch": "import torch",
    **{name: f"from typing import {name}" for name in TYPING.split()},
}
DEFINING = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign, ast.If, ast.Try)
NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
BUILTINS = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__"}


@lru_cache(maxsize=64)  # a piece of a reply, and a parent, are looked at more than once; nobody changes a tree
def parse_piece(source: str) -> ast.Module:
    """Parse a program, or a piece of a reply that may be one.

    Raises:
        ReplyError: it is no Python; the text gives the line and what stands there.
    """
    if complaint := caps.text_problem(source):
        raise ReplyError(complaint)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a stray backslash in a candidate's string is not our warning
            return ast.parse(source)
    except SyntaxError as problem:
        shown = (problem.text or "").strip()[:120]
        raise ReplyError(f"syntax error in line {problem.lineno}: {problem.msg}: {shown!r}") from None
    except ValueError as problem:  # null bytes, half characters
        raise ReplyError(f"the code cannot be read: {problem}") from None
    except (RecursionError, MemoryError):
        raise ReplyError("the code is nested too deeply to be read") from None


def defined_names(
    tree: ast.Module, kinds: tuple[type[ast.FunctionDef | ast.ClassDef], ...] = (ast.FunctionDef,)
) -> list[str]:
    """List the names of a program's top-level functions, or of definitions of other ``kinds``."""
    return [node.name for node in tree.body if isinstance(node, kinds)]


def complete_program(source: str, helpers: Sequence[str], needed: frozenset[str] = frozenset()) -> str:
    """Put the missing imports and definitions before a program.

    Args:
        source: Program that parses.
        helpers: Other programs that parse, in which missing names are looked up; the last definition of a name wins.
        needed: Names that must be there though the program itself does not use them.

    Returns:
        ``source``, behind those statements of ``helpers`` that it needs, and those that they need in turn; and imports
        of what everybody imports alike, such as ``np``.
    """
    tree = parse_piece(source)
    statements = [statement for helper in helpers for statement in _list_statements(helper)]
    home = {name: index for index, statement in enumerate(statements) for name in statement.names}
    inner = all_nodes(tree)
    bound_names = _bound_names(inner)
    missing_names, chosen, familiar = (_used_names(inner) | needed) - bound_names, set[int](), set[str]()
    while missing_names:
        name = missing_names.pop()
        if name not in home:
            familiar |= {FAMILIAR[name]} if name in FAMILIAR else set()
        elif home[name] not in chosen:
            chosen.add(home[name])
            missing_names |= statements[home[name]].needs - bound_names
    picked = [statements[index] for index in sorted(chosen)]
    imports = sorted(familiar) + [statement.text for statement in picked if statement.is_import]
    return insert_statements(source, tree, imports, [statement.text for statement in picked if not statement.is_import])


@dataclass(frozen=True)
class _Statement:
    """A statement at the top level of a helper: what it defines, and what it needs for that."""

    text: str
    names: frozenset[str]
    needs: frozenset[str]
    is_import: bool


def _list_statements(helper: str) -> list[_Statement]:
    lines = helper.split("\n")
    statements = []
    for node in parse_piece(helper).body:
        if not isinstance(node, DEFINING) or (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            continue
        inner = all_nodes(node)
        bound = _bound_names(inner)
        names = {node.name} if isinstance(node, ast.FunctionDef | ast.ClassDef) else bound
        text = statement_text(lines, node)
        is_import = isinstance(node, ast.Import | ast.ImportFrom)
        statements.append(_Statement(text, frozenset(names), frozenset(_used_names(inner) - bound), is_import))
    return statements


def first_line(node: ast.stmt) -> int:
    """The first line of a statement, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def statement_text(lines: Sequence[str], node: ast.stmt) -> str:
    """The text of a statement of a program of these lines."""
    return "\n".join(lines[first_line(node) - 1 : node.end_lineno])


def _used_names(nodes: list[ast.AST]) -> set[str]:
    """The names that are read anywhere, built-in ones aside."""
    read = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return read - BUILTINS


def _bound_names(nodes: list[ast.AST]) -> set[str]:
    """The names that are given a value anywhere, in whatever scope."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, NAMED) and node.name:
            names.add(node.name)
    return names


def insert_statements(source: str, tree: ast.Module, imports: list[str], definitions: list[str]) -> str:
    """``source`` with the given statements behind its docstring and its ``__future__`` imports."""
    lines = source.split("\n")
    head = 0
    for node in tree.body:
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and head == 0
        if not is_docstring and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        head = node.end_lineno or head
    above, below = "\n".join(lines[:head]), "\n".join(lines[head:])
    if not imports and not definitions:
        return source
    return "\n\n\n".join(part for part in [above, "\n".join(imports), *definitions, below.lstrip("\n")] if part)
