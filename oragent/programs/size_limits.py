"""Size limits of a program's text, each with its reason.

They are checked before and after parsing. The checks take time proportional to the text and give the same result on
every machine. A text that passes can still be expensive to parse; the limits of ``parser_worker`` bound that.
"""

import ast
import re

from oragent._base.ast_utils import all_nodes, child_nodes

# characters: four times the longest program, and more than any model writes at once
MAX_REPLY = 400_000
# of a program: a hundred times what people and models write
MAX_BYTES = 100_000
# of a program, a table of numbers in it included
MAX_LINES = 20_000
# levels of the syntax tree: visitors recurse, and Python's own compiler can crash on deeper ones
MAX_DEPTH = 100
# of a dotted name: the parser joins them one by one, which takes memory by the square of their number
MAX_PARTS = 50
# of a whole number: turning one into text takes time by the square of them
MAX_DIGITS = 4_000
# nodes that are compiled: each way out of a ``try`` gets a copy of its ``finally``
MAX_COPIES = 200_000

_DOTTED = re.compile(rf"(?<![\w.])(?:[^\W\d]\w*[\s\\]*\.[\s\\]*){{{MAX_PARTS}}}")
# in these Python itself bounds no digits
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
        # halves of characters: no file could hold them
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
    if isinstance(node, ast.Constant):
        value = node.value
    else:
        value = None
    return isinstance(value, int) and value.bit_length() > MAX_DIGITS * 3


def _count_compiled_nodes(node: ast.AST) -> tuple[int, int]:
    """Count the nodes that are compiled, with every copy of a ``finally`` block, and the exits among them."""
    count, exits = 1, int(isinstance(node, _EXITS))
    final: list[ast.stmt] = node.finalbody if isinstance(node, _TRIES) else []
    last = {id(statement) for statement in final}
    for child in child_nodes(node):
        if id(child) not in last:
            below, leaving = _count_compiled_nodes(child)
            count, exits = count + below, exits + leaving
    if final:
        final_counts = [_count_compiled_nodes(statement) for statement in final]
        # one for the end of the block, one for an exception
        copies = exits + 2
        count += copies * sum(below for below, _ in final_counts)
        exits += copies * sum(leaving for _, leaving in final_counts)
    return count, exits
