"""Write a Python function as a program: its source and what it uses of its module."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from oragent._base.errors import CandidateError

PLAIN = (bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, type(None))


def source_of(function: Callable[..., Any]) -> str:
    """Write a function as a program: the imports, constants and functions that it uses, then itself.

    Args:
        function: made by ``def`` in a file or a notebook's cell. What it uses of its module may be a module, what a
            module exports, plain data, or another such function.

    Raises:
        CandidateError: with status ``rejected``, if it is a lambda, a closure, or something else whose source says not
            all that it does.
    """
    imports: dict[str, None] = {}  # in their order, each once
    definitions: dict[str, str] = {}
    _collect_definitions(function, imports, definitions)
    return "\n\n\n".join(["\n".join(imports), *definitions.values()]).strip() + "\n"


def _collect_definitions(function: Callable[..., Any], imports: dict[str, None], definitions: dict[str, str]) -> None:
    """Add a function after its dependencies."""
    source = _own_source(function)
    definitions.setdefault(function.__name__, "")  # so that functions that call each other come to an end
    outside = function.__globals__
    for name in _names_read(source):  # what is not outside is a builtin, or the evaluation complains of it
        if name in outside and name not in definitions:
            _add_dependency(name, outside[name], function, imports, definitions)
    definitions[function.__name__] = definitions.pop(function.__name__) or source


def _add_dependency(
    name: str, value: object, user: Callable[..., Any], imports: dict[str, None], definitions: dict[str, str]
) -> None:
    if isinstance(value, ModuleType):
        imports[f"import {value.__name__}" + (f" as {name}" if name != value.__name__ else "")] = None
    elif isinstance(value, PLAIN) and type(value) in PLAIN and _is_literal(value):
        definitions[name] = f"{name} = {value!r}"
    elif isinstance(value, FunctionType) and value.__module__ == user.__module__:
        if value.__name__ != name:
            raise _reject(f"{user.__name__} uses {value.__name__} under another name, {name}: use its own")
        _collect_definitions(value, imports, definitions)
    elif exported := _find_export(value):
        imports[f"from {exported[0]} import {exported[1]}" + (f" as {name}" if name != exported[1] else "")] = None
    else:
        kind = type(value).__name__
        raise _reject(f"{user.__name__} uses {name}, a {kind} of its module: move it into the function")


def _own_source(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", f"a {type(function).__name__}")
    if not isinstance(function, FunctionType):
        raise _reject(f"{name} is no function made by def: give one, or a program's text")
    if name == "<lambda>":
        raise _reject("a lambda has no source of its own: write it as a function with def")
    if function.__code__.co_freevars:
        used = ", ".join(function.__code__.co_freevars)
        raise _reject(f"{name} is a closure over {used}: make these arguments or constants of the function")
    try:
        return textwrap.dedent(inspect.getsource(function)).strip()
    except (OSError, TypeError):
        raise _reject(f"the source of {name} cannot be found: give the program's text") from None


def _names_read(source: str) -> list[str]:
    """Return the names that a definition reads, in order, nested functions included."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError as problem:
        raise _reject(f"the source of the function cannot be read by itself: {problem.msg}") from None
    bound = {node.arg for node in nodes if isinstance(node, ast.arg)}
    bound |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    read = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    return [name for name in dict.fromkeys(read) if name not in bound]


def _is_literal(value: object) -> bool:
    """Return True if ``repr`` of a value reads as the same value."""
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError, TypeError, RecursionError):
        return False


def _find_export(value: object) -> tuple[str, str] | None:
    """Return the module of a value and its name there; None if it cannot be imported."""
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__":
        return None
    return (module, name) if getattr(sys.modules.get(module), name, None) is value else None


def _reject(message: str) -> CandidateError:
    return CandidateError(message, "rejected")
