"""Text of programs whose long expressions are broken into lines that people can read."""

import ast
import io
import keyword
import tokenize

MAX_WIDTH = 100
INDENT = 4
# Tokens before which an expression may be broken, the loosest first. Commas are looser than all.
LEVELS = (("if", "else"), ("or",), ("and",), ("<", ">", "<=", ">=", "==", "!="), ("+", "-"), ("*", "/", "//", "%", "@"))
BREAKS = {text: level for level, texts in enumerate(LEVELS) for text in texts}
AFTER_COMMA = -1


def write_program(tree: ast.Module) -> str:
    """Return the text of a syntax tree, with lines of at most 100 characters where expressions can be broken."""
    text = ast.unparse(ast.fix_missing_locations(tree))
    if all(len(line) <= MAX_WIDTH for line in text.splitlines()):
        return text
    lines = text.splitlines()
    # Later statements first: their lines stay where the tree has them.
    long = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Return | ast.Assign | ast.AugAssign)]
    for node in sorted(long, key=lambda node: -node.lineno):
        line = lines[node.lineno - 1]
        if node.value is not None and node.lineno == node.end_lineno and len(line) > MAX_WIDTH:
            # Columns of a tree count bytes.
            start = len(line.encode()[: node.value.col_offset].decode())
            lines[node.lineno - 1] = "\n".join(_break_value(line[:start], line[start:]))
    broken = "\n".join(lines)
    try:
        is_same = ast.dump(ast.parse(broken)) == ast.dump(ast.parse(text))
    except SyntaxError:
        # The further parentheses can be one more than Python nests.
        return text
    return broken if is_same else text


def _break_value(head: str, value: str) -> list[str]:
    """Return the lines of a statement whose value is put into parentheses."""
    indent = len(head) - len(head.lstrip())
    places = _find_breaks(value)

    def split(start: int, end: int, depth: int) -> list[str]:
        margin = f"{'':{indent + INDENT * (1 + depth)}}"
        text = margin + value[start:end].strip()
        inner = [place for place in places if start < place[0] < end]
        if len(text) <= MAX_WIDTH or not inner:
            return [text]
        # At all places of the outermost and loosest kind.
        kind = min(place[1:] for place in inner)
        cuts = [start, *(place[0] for place in inner if place[1:] == kind), end]
        depths = [depth, *(kind[0] for _ in cuts[2:])]
        return [
            line
            for first, last, level in zip(cuts, cuts[1:], depths, strict=False)
            for line in split(first, last, level)
        ]

    return [f"{head}(", *split(0, len(value), 0), f"{'':{indent}})"]


def _find_breaks(value: str) -> list[tuple[int, int, int]]:
    """Return position, depth of brackets and level of each place at which a value may be broken."""
    places, depth, is_operand = [], 0, False
    for token in tokenize.generate_tokens(io.StringIO(value).readline):
        level = BREAKS.get(token.string)
        # A sign before an operand is no operator between two.
        if level is not None and is_operand:
            places.append((token.start[1], depth, level))
        depth += (token.string in {"(", "[", "{"}) - (token.string in {")", "]", "}"})
        if token.string == "," and depth:
            places.append((token.end[1] + 1, depth, AFTER_COMMA))
        is_operand = token.string in {")", "]", "}"} or (
            token.type in {tokenize.NAME, tokenize.NUMBER, tokenize.STRING} and not keyword.iskeyword(token.string)
        )
    return places
