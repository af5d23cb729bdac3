"""Size limits of a program's text, each with its reason.

They are checked before and after parsing. The checks take time proportional to the text and give the same result on
every machine. An accepted text can still be expensive to parse; ``parser_worker`` limits that.
"""

import ast
import re

from oragent._base.ast_utils import all_nodes, child_nodes

# Maximum characters of a reply: four times the longest program, and more than any model writes at once.
MAX_REPLY = 400_000
# Maximum bytes of a program: a hundred times what people and models write.
MAX_BYTES = 100_000
# Maximum lines of a program, including tables of numbers.
MAX_LINES = 20_000
# Maximum depth of the syntax tree: visitors recurse, and Python's own compiler can crash on deeper trees.
MAX_DEPTH = 100
# Maximum parts of a dotted name: the parser joins them one by one, which takes quadratic memory.
MAX_PARTS = 50
# Maximum digits of an integer: converting it to text takes quadratic time.
MAX_DIGITS = 4_000
# Maximum compiled nodes: each exit from a ``try`` gets a copy of its ``finally``.
MAX_COPIES = 200_000

_DOTTED = re.compile(rf"(?<![\w.])(?:[^\W\d]\w*[\s\\]*\.[\s\\]*){{{MAX_PARTS}}}")
# Python does not limit the digits of these notations.
_NUMBER = re.compile(rf"\b0[xXoObB][\w]{{{MAX_DIGITS // 2}}}")
_EXITS = ast.Return | ast.Break | ast.Continue
_TRIES = tuple(getattr(ast, name) for name in ("Try", "TryStar"))


def size_problem(size: int) -> str:
    """Return why a program of this many bytes is rejected; empty if it is not."""
    return f"the program has {size:,} bytes, at most {MAX_BYTES:,} are taken; write a shorter one" * (size > MAX_BYTES)


def text_problem(source: str) -> str:
    """Return why a text is rejected before parsing; empty if it is not."""
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        # Lone surrogates cannot be stored in a file.
        return "the program holds characters that are no valid text; send plain UTF-8"
    if problem := size_problem(size):
        return problem
    if "\0" in source:
        return "the program holds a null byte; send plain text"
    if (lines := source.count("\n") + source.count("\r") - source.count("\r\n")) > MAX_LINES:
        return f"the program has {lines:,} lines, at most {MAX_LINES:,} are taken; write a shorter one"
    if _DOTTED.search(source):
        return f"the program holds a name of more than {MAX_PARTS} parts with dots between them; use shorter ones"
    return ""


def tree_problem(tree: ast.Module, source: str) -> str:
    """Return why a parsed program is rejected; empty if it is not."""
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in child_nodes(node)]
        if not level:
            break
    else:
        return f"the program is nested deeper than {MAX_DEPTH} levels; use intermediate variables"
    if _NUMBER.search(source) and any(map(_is_long, all_nodes(tree))):
        return f"the program holds a whole number of more than {MAX_DIGITS:,} digits; write it as a power or a float"
    if "finally" in source and _count_compiled_nodes(tree)[0] > MAX_COPIES:
        return "the program nests `finally` so that its code multiplies in the compiler; use fewer of them"
    return ""


def _is_long(node: ast.AST) -> bool:
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, int) and value.bit_length() > MAX_DIGITS * 3


def _count_compiled_nodes(node: ast.AST) -> tuple[int, int]:
    """Count the compiled nodes, including every copy of a ``finally`` block, and the exits among them."""
    count, exits = 1, int(isinstance(node, _EXITS))
    final: list[ast.stmt] = node.finalbody if isinstance(node, _TRIES) else []
    last = {id(statement) for statement in final}
    for child in child_nodes(node):
        if id(child) not in last:
            below, leaving = _count_compiled_nodes(child)
            count, exits = count + below, exits + leaving
    if final:
        final_counts = [_count_compiled_nodes(statement) for statement in final]
        # One for the end of the block, one for an exception.
        copies = exits + 2
        count += copies * sum(below for below, _ in final_counts)
        exits += copies * sum(leaving for _, leaving in final_counts)
    return count, exits
