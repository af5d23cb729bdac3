"""How alike two programs are as trees: 1 less the edit distance of their syntax trees, as a share of the larger one.

The trees are ordered and labelled, an insertion, a deletion and a change of a label cost 1 each (Zhang & Shasha 1989,
doi:10.1137/0218082); APTED, which others use, finds the same distance. Names that a program gives itself, numbers,
comments, docstrings and imports make no difference (Song et al. 2024, arXiv:2404.08817, and TIDE, arXiv:2601.21239).
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from oragent._base.trees import tree_of
from oragent.programs.nearness import distance

TOKEN = re.compile(r"\w+|\S")
MOST_TOKENS = 20_000
MOST_WORK = 600_000  # steps of a comparison: about half a second
LEFT_OUT = (ast.Import, ast.ImportFrom, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
NUMBER, NAME, TEXT = "number", "name", "text"


@dataclass(frozen=True)
class PostorderTree:
    """An ordered tree in postorder.

    Attributes:
        labels: Label of each node.
        leftmost: Place of the leftmost leaf below each node.
    """

    labels: tuple[str, ...]
    leftmost: tuple[int, ...]

    @property
    def keyroots(self) -> list[int]:
        """Places of the nodes that have a left sibling, and of the root: the highest one for each leftmost leaf."""
        return sorted({leaf: place for place, leaf in enumerate(self.leftmost)}.values())


def likeness(first: str, second: str) -> float:
    """How alike two programs are, in [0, 1]: by their trees, or token by token.

    Tokens stand in for trees where a program is not Python, or a comparison of trees would take more than
    ``MOST_WORK``.
    """
    try:
        trees = grown(tree_of(first)), grown(tree_of(second))
    except (SyntaxError, ValueError):
        trees = None
    if trees is None or work(*trees) > MOST_WORK:
        words = [TOKEN.findall(text)[:MOST_TOKENS] for text in (first, second)]
        return 1.0 - distance(*words)
    longest = max(len(trees[0].labels), len(trees[1].labels), 1)
    return max(0.0, 1.0 - tree_distance(*trees) / longest)


def work(first: PostorderTree, second: PostorderTree) -> int:
    """Number of steps that a comparison takes."""
    steps = [sum(place - tree.leftmost[place] + 1 for place in tree.keyroots) for tree in (first, second)]
    return steps[0] * steps[1]


def grown(program: ast.Module) -> PostorderTree:
    """The tree of a program as it is compared."""
    labels: list[str] = []
    leftmost: list[int] = []

    def add(node: ast.AST) -> int:
        leaf = len(labels)
        for place, child in enumerate(_children(node)):
            found = add(child)
            leaf = found if place == 0 else leaf
        labels.append(_label(node))
        leftmost.append(leaf)
        return leaf

    add(program)
    return PostorderTree(tuple(labels), tuple(leftmost))


def tree_distance(first: PostorderTree, second: PostorderTree) -> int:
    """The least number of insertions, deletions and changes of labels that make one tree of the other."""
    if not first.labels or not second.labels:
        return max(len(first.labels), len(second.labels))
    known = [[0] * len(second.labels) for _ in first.labels]
    for mine in first.keyroots:
        for theirs in second.keyroots:
            _compare(first, second, mine, theirs, known)
    return known[-1][-1]


def _compare(first: PostorderTree, second: PostorderTree, mine: int, theirs: int, known: list[list[int]]) -> None:
    """Fill in the distances of all subtrees that begin with the leftmost leaves of two nodes."""
    left, right = first.leftmost[mine], second.leftmost[theirs]
    above = list(range(theirs - right + 2))
    rows = [above]
    for row, place in enumerate(range(left, mine + 1), 1):
        at_left = first.leftmost[place] == left
        base = rows[first.leftmost[place] - left]
        now, label, own = [row], first.labels[place], known[place]
        for column, other in enumerate(range(right, theirs + 1), 1):
            least = min(above[column], now[column - 1]) + 1
            if at_left and second.leftmost[other] == right:
                least = min(least, above[column - 1] + (label != second.labels[other]))
                own[other] = least
            else:
                least = min(least, base[second.leftmost[other] - right] + own[other])
            now.append(least)
        rows.append(now)
        above = now


def _children(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, LEFT_OUT):
            continue
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant) and isinstance(child.value.value, str):
            continue  # a docstring, or text that does nothing
        yield child


def _label(node: ast.AST) -> str:
    match node:
        case ast.Name() | ast.arg():
            return NAME
        case ast.Constant(value=str()):
            return TEXT
        case ast.Constant(value=bool() | None as value):
            return str(value)
        case ast.Constant():
            return NUMBER
        case ast.Attribute(attr=name):
            return f".{name}"
        case ast.BinOp(op=op) | ast.UnaryOp(op=op) | ast.BoolOp(op=op) | ast.AugAssign(op=op):
            return f"{type(node).__name__} {type(op).__name__}"
        case ast.Compare(ops=ops):
            return " ".join(["Compare", *(type(op).__name__ for op in ops)])
        case _:
            return type(node).__name__
