"""Numbers of a program as arguments of its compiled functions, so that other values need no other machine code.

Numba compiles a constant that a function reads into its machine code. In the program that `pass_numbers` returns,
such a function gets the constant as an argument instead. The result is meant for measurements only: comments are lost.
"""

import ast
from collections.abc import Collection

from oragent._base.ast_utils import all_nodes, bound_names
from oragent._base.errors import CandidateError
from oragent.programs.inspection import parse_tree

COMPILERS = frozenset(("jit", "njit"))


def pass_numbers(source: str, names: Collection[str]) -> str:
    """Return a program whose compiled functions take constants as arguments; unchanged if that is not possible.

    Args:
        source: Text of a program.
        names: Names of constants at its top level.
    """
    if "numba" not in source:
        return source
    try:
        tree = parse_tree(source)
    except CandidateError:
        return source
    constants = {name for name in names if _is_constant(tree, name)}
    compiled = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef) and _is_compiled(node)}
    needs = _find_needs(compiled, constants)
    if not needs or not all(_may_change(tree, compiled[name], needs[name]) for name in needs):
        return source
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in needs:
            node.keywords += [ast.keyword(name, ast.Name(name, ast.Load())) for name in needs[node.func.id]]
    for function, used in needs.items():
        arguments = compiled[function].args
        arguments.args += [ast.arg(name) for name in used]
        if arguments.defaults:
            # A parameter after one with a default needs one, too.
            arguments.defaults += [ast.Constant(0) for _ in used]
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _is_constant(tree: ast.Module, name: str) -> bool:
    """Return True if a name is bound once in the whole program, by an assignment at its top level."""
    is_assigned = any(isinstance(node, ast.Assign | ast.AnnAssign) and name in _bound_names(node) for node in tree.body)
    return is_assigned and _bound_names(tree).count(name) == 1


def _bound_names(tree: ast.AST) -> list[str]:
    nodes = all_nodes(tree)
    declared = (name for node in nodes if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names)
    return [*bound_names(nodes), *declared]


def _is_compiled(node: ast.FunctionDef) -> bool:
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
        if name in COMPILERS:
            return True
    return False


def _find_needs(compiled: dict[str, ast.FunctionDef], constants: Collection[str]) -> dict[str, list[str]]:
    """Return the constants that each compiled function uses, itself or by compiled functions that it calls."""
    used = {
        name: {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        for name, function in compiled.items()
    }
    needs = {name: words & {*constants} for name, words in used.items()}
    for _ in compiled:
        for name, words in used.items():
            needs[name] |= {constant for called in words & {*compiled} for constant in needs[called]}
    return {name: sorted(words) for name, words in needs.items() if words}


def _may_change(tree: ast.Module, function: ast.FunctionDef, constants: Collection[str]) -> bool:
    """Return True if a function can get more arguments: it has no explicit types and is only ever called."""
    arguments, name = function.args, function.name
    if len(function.decorator_list) > 1 or arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
        return False
    decorator = function.decorator_list[0]
    # A signature is a positional argument, or has this name.
    names = [keyword.arg for keyword in getattr(decorator, "keywords", [])]
    if getattr(decorator, "args", []) or "signature" in names or None in names:
        return False
    # A default is evaluated outside the function.
    if any(
        isinstance(node, ast.Name) and node.id in constants for part in arguments.defaults for node in ast.walk(part)
    ):
        return False
    mentions = sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree))
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    ]
    return mentions == len(calls) and _bound_names(tree).count(name) == 1
