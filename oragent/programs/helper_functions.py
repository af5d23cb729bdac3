"""Functions of earlier programs that a program names instead of repeating them.

They are copied as text, with the functions, constants and imports that they use, so every program stays complete.
"""

import ast
from collections.abc import Collection, Iterable, Mapping

from oragent._base.ast_utils import first_line, names_of_statement, statement_text
from oragent._base.errors import CandidateError
from oragent.programs.inspection import parse_tree

# Maximum number of characters of copied text.
MAX_COPIED = 100_000


def list_helpers(source: str, functions: Collection[str]) -> dict[str, str]:
    """Return the top-level functions of a program by name, as calls; those of the problem are left out.

    Raises:
        CandidateError: The program cannot be parsed.
    """
    nodes = (node for node in parse_tree(source).body if isinstance(node, ast.FunctionDef))
    return {node.name: f"{node.name}({ast.unparse(node.args)})" for node in nodes if node.name not in functions}


def omit_functions(source: str, shown: str) -> str:
    """Return a program in which comments replace the top-level functions that another program has with the same text.

    A text that cannot be parsed is returned unchanged.
    """
    try:
        trees = [parse_tree(text) for text in (source, shown)]
    except CandidateError:
        return source
    lines, others = source.split("\n"), shown.split("\n")
    texts = {statement_text(others, node) for node in trees[1].body if isinstance(node, ast.FunctionDef)}
    for node in reversed(trees[0].body):
        if isinstance(node, ast.FunctionDef) and statement_text(lines, node) in texts:
            lines[first_line(node) - 1 : node.end_lineno] = [f"# {node.name}: as in the last program"]
    return "\n".join(lines)


def copy_helpers(source: str, names: Iterable[str], libraries: Mapping[str, str]) -> str:
    """Return a program with functions of other programs before its own text.

    Args:
        source: Text of the program.
        names: Functions to copy; those that the program defines are left out.
        libraries: Text of the program that has each function, by name.

    Raises:
        CandidateError: With status ``rejected``: a name is in no library, or a program cannot be parsed.
    """
    tree = parse_tree(source)
    own_names = {name for node in tree.body for name in names_of_statement(node)}
    parts: dict[str, None] = {}
    for name in names:
        if name in own_names:
            continue
        if name not in libraries:
            library_names = ", ".join(sorted(libraries)) or "none"
            raise CandidateError(f"no earlier program has a function {name!r}: known are {library_names}", "rejected")
        for part in _collect_parts(libraries[name], name, own_names):
            parts[part] = None
    copied = "\n\n\n".join(parts)
    if not copied:
        return source
    if len(copied) > MAX_COPIED:
        raise CandidateError(f"copied functions have more than {MAX_COPIED:,} characters", "rejected")
    head, rest = _split_head(tree, source)
    return "\n\n".join(part for part in (head, copied, rest.lstrip("\n")) if part)


def _collect_parts(library: str, name: str, own_names: Collection[str]) -> list[str]:
    """Return the texts of a function and of all that it uses, in the order of its program."""
    tree = parse_tree(library)
    lines = library.split("\n")
    bound = {bound_name: node for node in tree.body for bound_name in names_of_statement(node)}
    needed, seen = [name], set[str]()
    nodes: set[ast.stmt] = set()
    while needed:
        current = needed.pop()
        if current in seen or current not in bound or (current in own_names and current != name):
            continue
        seen.add(current)
        nodes.add(bound[current])
        needed += [node.id for node in ast.walk(bound[current]) if isinstance(node, ast.Name)]
    return [statement_text(lines, node) for node in tree.body if node in nodes]


def _split_head(tree: ast.Module, source: str) -> tuple[str, str]:
    """Split a program after its docstring and the imports at its top, which decorators of copied functions may need."""
    last = 0
    for at, node in enumerate(tree.body):
        is_docstring = at == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not (is_docstring or isinstance(node, ast.Import | ast.ImportFrom)):
            break
        last = node.end_lineno or last
    lines = source.split("\n")
    return "\n".join(lines[:last]), "\n".join(lines[last:])
