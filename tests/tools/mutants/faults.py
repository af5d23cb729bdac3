"""Small faults in the text of a module: one changed operator, number, call or statement each."""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Fault", "list_faults"]

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div,
}  # fmt: skip
RENAMED = {"min": "max", "max": "min", "any": "all", "all": "any"}
REMOVED = {"reversed", "sorted", "abs"}
# Without them the same happens on most machines: no test can be asked for them.
KEYWORDS_OF_NO_EFFECT = {"encoding", "strict", "stacklevel", "daemon"}
SHOWN = 70


@dataclass(frozen=True)
class Fault:
    """A change of a module's text.

    Attributes:
        line: line of the changed node, from 1.
        begin: offset in bytes of the first byte that is replaced.
        end: offset behind the last byte that is replaced.
        new: text that comes in place.
        what: the change in one line, as ``old -> new``.
    """

    line: int
    begin: int
    end: int
    new: str
    what: str

    def apply(self, text: bytes) -> bytes:
        """Return the module's text with the fault; lines keep their numbers."""
        return text[: self.begin] + self.new.encode() + text[self.end :]


def list_faults(text: bytes) -> list[Fault]:
    """List the faults that can be made in bodies of functions, in their order in the text.

    What runs at import is left out: no test executes it, so that no test could be blamed.
    """
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    faults = set()
    for node in _nodes(ast.parse(text)):
        for changed in _changes(node):
            begin = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            lines = "\n" * text.count(b"\n", begin, end)
            new = ast.unparse(changed)
            what = f"{_shorten(ast.unparse(node), new)} -> {_shorten(new, ast.unparse(node))}"
            new = f"{new}{lines}" if isinstance(changed, ast.stmt) else f"({new}{lines})"
            if isinstance(changed, ast.stmt) and lines:
                new = f"return (None{lines})"
            faults.add(Fault(node.lineno, begin, end, new, what))
    return sorted(faults, key=lambda fault: (fault.begin, fault.end, fault.new))


def _shorten(text: str, other: str) -> str:
    """Return the part of a text around its first difference from another."""
    text = " ".join(text.split())
    if len(text) <= SHOWN:
        return text
    first = next((i for i, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), len(other))
    begin = max(0, min(first - SHOWN // 2, len(text) - SHOWN))
    return f"{'...' if begin else ''}{text[begin : begin + SHOWN]}{'...' if begin + SHOWN < len(text) else ''}"


def _nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes of bodies of functions, without annotations, f-strings and texts of raised errors."""
    stack: list[tuple[ast.AST, bool]] = [(tree, False)]
    while stack:
        node, inside = stack.pop()
        if inside and hasattr(node, "lineno"):
            yield node
        if isinstance(node, ast.JoinedStr | ast.Raise):
            continue
        if isinstance(node, ast.keyword) and node.arg in KEYWORDS_OF_NO_EFFECT:
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            stack += [(statement, True) for statement in node.body]
        elif isinstance(node, ast.Lambda):
            stack.append((node.body, True))
        elif isinstance(node, ast.AnnAssign):
            stack += [(node.value, inside)] if node.value else []
        elif isinstance(node, ast.ClassDef):
            stack += [(statement, False) for statement in node.body]
        else:
            stack += [(child, inside) for child in ast.iter_child_nodes(node)]


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield changed copies of a node."""
    new = copy.copy(node)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        new.ops = [COMPARED[type(node.ops[0])]()]
        yield new
    elif isinstance(node, ast.BinOp) and type(node.op) in COMPUTED:
        if not any(isinstance(side, ast.JoinedStr) or _is_text(side) for side in (node.left, node.right)):
            new.op = COMPUTED[type(node.op)]()
            yield new
    elif isinstance(node, ast.AugAssign) and type(node.op) in COMPUTED and not _is_text(node.value):
        if node.lineno == node.end_lineno:
            new.op = COMPUTED[type(node.op)]()
            yield new
    elif isinstance(node, ast.BoolOp):
        new.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield new
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand
    elif isinstance(node, ast.Constant) and type(node.value) in (bool, int, float):
        new.value = (not node.value) if isinstance(node.value, bool) else node.value + 1
        if new.value != node.value:
            yield new
    elif isinstance(node, ast.Break):
        yield ast.Continue()
    elif isinstance(node, ast.Continue):
        yield ast.Break()
    elif isinstance(node, ast.Return) and not (node.value is None or _is_none(node.value)):
        yield ast.Return(ast.Constant(None))
    elif isinstance(node, ast.Call):
        yield from _changed_calls(node)


def _changed_calls(node: ast.Call) -> Iterator[ast.AST]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in RENAMED:
        new = copy.copy(node)
        new.func = ast.Name(RENAMED[name])
        yield new
    if name in REMOVED and node.args and not isinstance(node.args[0], ast.Starred):
        # A generator in place of a list is another fault than a lost order.
        yield ast.Call(ast.Name("list"), [node.args[0]], []) if name != "abs" else node.args[0]
    for position, keyword in enumerate(node.keywords):
        if keyword.arg and keyword.arg not in KEYWORDS_OF_NO_EFFECT:
            new = copy.copy(node)
            new.keywords = node.keywords[:position] + node.keywords[position + 1 :]
            yield new


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
