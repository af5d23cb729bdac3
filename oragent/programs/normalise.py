"""Strip a program of what does not change its behaviour; in doubt a part stays."""

import ast
import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module

from oragent.programs.scopes import arguments, rename_locals
from oragent.programs.walking import nodes

# A program that uses one of these may see its own names, text, annotations or definitions.
_REFLECTIVE = re.compile(
    "eval|exec|compile|locals|globals|vars|dir|getattr|setattr|delattr|hasattr|open|attrgetter|methodcaller|getsource|"
    "get_type_hints|signature|singledispatch|singledispatchmethod|query|evaluate|objmode|breakpoint|"
    "fromfile|loadtxt|genfromtxt|memmap"
)
_REFLECTIVE_MODULE = re.compile(
    "ast|builtins|ctypes|dis|gc|importlib|inspect|io|linecache|logging|_?os|pathlib|pickle|subprocess|symtable|_?sys|"
    "tokenize|traceback|types|warnings"
)
_HIDDEN = re.compile(r"__|\b(?:f_(?:back|builtins|code|globals|locals)|(?:ag|co|cr|gi|tb)_[a-z])")
_HARMLESS = frozenset(["__init__", "__name__", "__main__"])

# Dropping an import is safe only where it is certain to succeed.
_MODULES = frozenset(["collections", "functools", "heapq", "itertools", "math", "numpy", "random", "typing"])
_CONTAINERS = frozenset(["list", "tuple", "set", "frozenset", "dict"])
_TYPES = _CONTAINERS | {"int", "float", "bool", "complex", "str", "bytes", "object"}
_TYPING = frozenset(["Any", "List", "Dict", "Set", "Tuple", "Sequence", "Iterable", "Callable"])
_GENERICS = {"List": 1, "Set": 1, "Sequence": 1, "Iterable": 1, "Optional": 1, "Dict": 2}  # how many types they take
_ATTRIBUTES = {"numpy": frozenset(["ndarray", "float64", "int64"]), "torch": frozenset(["Tensor"]), "typing": _TYPING}


def normalise(tree: ast.Module, functions: Sequence[str], found: Sequence[ast.AST] = ()) -> ast.Module | None:
    """Strip and rename in place for ``ast.unparse``; None where the program may look at itself.

    Args:
        tree: Program, which is spent by this.
        functions: Names of the functions that must stay.
        found: Its nodes, as ``drop_docstrings`` has returned them; empty where it has not been called.
    """
    found = found or drop_docstrings(tree)
    if any(_looks_at_itself(node) for node in found):
        return None
    if any(map(_has_annotations, found)):
        _drop_annotations(tree)
    if len(tree.body) > 1 or getattr(tree.body[0] if tree.body else None, "name", "") not in functions:
        _drop_unused(tree, functions)
    try:
        rename_locals(tree, found)
    except RecursionError:
        return None
    return tree


def drop_docstrings(tree: ast.Module) -> list[ast.AST]:
    """Drop docstrings, and other constants that stand as statements, in place.

    Returns:
        The nodes that are left, as ``walking.nodes`` has them.
    """
    found, dropped = nodes(tree), False
    for node in found:
        for field in _BLOCKS.get(type(node), ()):
            block = getattr(node, field, ())
            if any(map(_is_constant, block)):
                kept = [statement for statement in block if not _is_constant(statement)]
                may_be_empty = field == "orelse" or isinstance(node, ast.Module)
                setattr(node, field, kept if kept or may_be_empty else [ast.Pass()])
                dropped = True
    return nodes(tree) if dropped else found


def _blocks() -> dict[type[ast.AST], tuple[str, ...]]:
    """The fields that hold statements, of each type of node that has any."""
    statements = (ast.mod, ast.stmt, ast.ExceptHandler, ast.match_case)
    found: dict[type[ast.AST], tuple[str, ...]] = {}
    for kind in vars(ast).values():
        if isinstance(kind, type) and issubclass(kind, statements):
            found[kind] = tuple(field for field in ("body", "orelse", "finalbody") if field in kind._fields)
    return {kind: fields for kind, fields in found.items() if fields and kind is not ast.Expression}


_BLOCKS = _blocks()


def _has_annotations(node: ast.AST) -> bool:
    kind = type(node)
    if kind is ast.FunctionDef:
        return getattr(node, "returns", None) is not None
    return (kind is ast.arg and getattr(node, "annotation", None) is not None) or kind is ast.AnnAssign


_TELLING = frozenset((ast.Name, ast.Attribute, ast.keyword, ast.alias, ast.ImportFrom, ast.Constant))


def _is_constant(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _looks_at_itself(node: ast.AST) -> bool:
    if type(node) not in _TELLING:
        return False
    match node:
        case ast.Name(id=name):
            return bool(_REFLECTIVE.fullmatch(name)) or ("__" in name and name not in _HARMLESS)
        case ast.Attribute(attr=name):
            return _is_reflective(name) or _is_hidden(name)
        case ast.keyword(arg=str(name)):
            return bool(_REFLECTIVE.fullmatch(name))
        case ast.alias(name=name) | ast.ImportFrom(module=str(name)):
            return any(map(_is_reflective, name.split(".")))
        case ast.Constant(value=str(text)):
            return _is_hidden(text)
        case _:
            return False


def _is_reflective(name: str) -> bool:
    return bool(_REFLECTIVE.fullmatch(name) or _REFLECTIVE_MODULE.fullmatch(name))


def _is_hidden(text: str) -> bool:
    return text not in _HARMLESS and bool(_HIDDEN.search(text))


def _drop_annotations(tree: ast.Module) -> None:
    """Drop annotations of undecorated functions and of their variables, unless evaluating one could raise."""
    known: dict[str, str] = {}  # names of modules and of members of typing that are certain to be bound by now
    rebound = _rebound(tree)
    for statement in tree.body:
        found: dict[str, str] = {}
        if isinstance(statement, ast.Import):
            found = {item.asname or item.name: item.name for item in statement.names}
        elif isinstance(statement, ast.ImportFrom) and statement.module in ("typing", "__future__"):
            found = {item.asname or item.name: f"{statement.module}.{item.name}" for item in statement.names}
        known |= {name: origin for name, origin in found.items() if name not in rebound}
        if isinstance(statement, ast.FunctionDef):
            _drop_in_function(statement, known, rebound)


def _rebound(tree: ast.Module) -> set[str]:
    names = set()
    for node in nodes(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
    return names


def _drop_in_function(function: ast.FunctionDef, known: dict[str, str], rebound: set[str]) -> None:
    for node in nodes(function):
        if isinstance(node, ast.FunctionDef) and not node.decorator_list:
            if node.returns and _is_safe(node.returns, known, rebound):
                node.returns = None
            for arg in arguments(node.args):
                if arg.annotation and _is_safe(arg.annotation, known, rebound):
                    arg.annotation = None
        for field in () if isinstance(node, ast.ClassDef) else ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                block[:] = [_bare(statement) for statement in block]


def _bare(statement: ast.stmt) -> ast.stmt:
    """Turn ``x: T = e`` into ``x = e``: in a function the annotation of a plain name is never evaluated."""
    if isinstance(statement, ast.AnnAssign) and statement.simple:
        if statement.value:
            return ast.copy_location(ast.Assign([statement.target], statement.value), statement)
        statement.annotation = ast.Constant(None)  # the statement still makes the name a local one
    return statement


def _is_safe(node: ast.expr, known: dict[str, str], rebound: set[str]) -> bool:
    """Tell whether evaluating the annotation can neither raise nor do anything."""
    if "__future__.annotations" in known.values():
        return True
    match node:
        case ast.Constant(value=value):
            return value is None or isinstance(value, str)
        case ast.Name(id=name):
            plain = name in _TYPES and name not in rebound and name not in known
            return plain or _typing_name(node, known) in _TYPING
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            return attr in _ATTRIBUTES.get(known.get(name, ""), ())
        case ast.Subscript(value=ast.Name(id=name) as base, slice=inner):
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            if name in _CONTAINERS:
                parts = [part for part in parts if not _is_ellipsis(part)]
                return _is_safe(base, known, rebound) and all(_is_safe(part, known, rebound) for part in parts)
            typed = not any(isinstance(part, ast.Constant) for part in parts)  # the text would be parsed
            fits = _GENERICS.get(_typing_name(base, known)) == len(parts)
            return fits and typed and all(_is_safe(part, known, rebound) for part in parts)
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return not isinstance(left, ast.Constant) and _is_safe(left, known, rebound)
        case _:
            return False


def _typing_name(node: ast.Name, known: dict[str, str]) -> str:
    return known.get(node.id, "").removeprefix("typing.")


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _drop_unused(tree: ast.Module, functions: Sequence[str]) -> None:
    """Drop what the rest does not name: imports that cannot fail, plain functions, constants of the module."""
    waiting: dict[str, list[ast.stmt]] = {}  # by each name that a statement is needed for
    kept: set[ast.stmt] = set()
    used, fresh = set(functions), list(functions)

    def keep(statement: ast.stmt) -> None:
        kept.add(statement)
        more = _mentioned(statement) - used
        used.update(more)
        fresh.extend(more)

    for statement in tree.body:
        names = _only_for(statement)
        if names is None:
            keep(statement)
        for name in names or ():
            waiting.setdefault(name, []).append(statement)
    while fresh:
        for statement in waiting.pop(fresh.pop(), ()):
            if statement not in kept:
                keep(statement)
    tree.body = [statement for statement in tree.body if statement in kept]
    for statement in tree.body:
        if _module_of(statement):
            assert isinstance(statement, ast.Import | ast.ImportFrom)
            statement.names = [item for item in statement.names if (item.asname or item.name) in used]


def _only_for(statement: ast.stmt) -> set[str] | None:
    """The names without whose use a statement can be dropped; None where it stays anyway."""
    match statement:
        case ast.Import(names=items) | ast.ImportFrom(names=items) if _module_of(statement):
            return {item.asname or item.name for item in items}
        case ast.FunctionDef(name=name, decorator_list=[], returns=None, args=args):
            defaults = [node for node in (*args.defaults, *args.kw_defaults) if node]
            plain = all(isinstance(node, ast.Constant) for node in defaults)
            bare = not any(arg.annotation for arg in arguments(args))
            return {name} if plain and bare and not getattr(statement, "type_params", None) else None
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant()):
            return {name}
        case _:
            return None


def _module_of(statement: ast.stmt) -> bool:
    """Tell whether ``statement`` imports only what is certain to be there."""
    match statement:
        case ast.Import(names=items):
            return all(item.name in _MODULES for item in items)
        case ast.ImportFrom(module=str(name), names=items, level=0) if name in _MODULES:
            return all(item.name in _members(name) for item in items)
        case _:
            return False


@cache
def _members(module: str) -> frozenset[str]:
    return frozenset(dir(import_module(module)))  # imported where a program asks: numpy takes a tenth of a second


def _mentioned(statement: ast.stmt) -> set[str]:
    names = set()
    for node in nodes(statement):
        match node:
            case ast.Name(id=name):
                names.add(name)
            case ast.Global(names=several) | ast.Nonlocal(names=several):
                names.update(several)
    return names
