"""Similarity of two programs: 1 minus the edit distance of their syntax trees, relative to the larger one.

The trees are ordered and labelled; an insertion, a deletion and a change of a label cost 1 each (Zhang & Shasha 1989,
doi:10.1137/0218082). APTED, which others use, finds the same distance. Local names, numbers, comments, docstrings and
imports make no difference (Song et al. 2024, arXiv:2404.08817, and TIDE, arXiv:2601.21239).
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from oragent._base.ast_utils import tree_of

TOKEN = re.compile(r"\w+|\S")
MAX_TOKENS = 20_000
# Maximum steps of a comparison: about half a second.
MAX_WORK = 600_000
LEFT_OUT = (ast.Import, ast.ImportFrom, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
NUMBER, NAME, TEXT = "number", "name", "text"


# Maximum steps, of 64 tokens each, in all comparisons of a program: some tenths of a second.
MAX_TOKEN_WORK = 10_000_000
# Additional steps per token.
_SETUP = 10


@dataclass(frozen=True)
class PostorderTree:
    """Ordered tree in postorder, with the index of the leftmost leaf below each node."""

    labels: tuple[str, ...]
    leftmost: tuple[int, ...]

    @property
    def keyroots(self) -> list[int]:
        """Indices of the nodes with a left sibling, and of the root: the highest one for each leftmost leaf."""
        return sorted({leaf: index for index, leaf in enumerate(self.leftmost)}.values())


def likeness(first: str, second: str) -> float:
    """Compute the similarity of two programs in [0, 1] from their trees, or from their tokens.

    Tokens are used if a program is not Python, or if a comparison of trees would take more than ``MAX_WORK`` steps.
    """
    try:
        trees = postorder_tree(tree_of(first)), postorder_tree(tree_of(second))
    except (SyntaxError, ValueError):
        trees = None
    if trees is None or comparison_steps(*trees) > MAX_WORK:
        words = [TOKEN.findall(text)[:MAX_TOKENS] for text in (first, second)]
        return 1.0 - token_distance(*words)
    longest = max(len(tree.labels) for tree in trees)
    return max(0.0, 1.0 - tree_distance(*trees) / longest)


def comparison_steps(first: PostorderTree, second: PostorderTree) -> int:
    """Return the number of steps that a comparison takes."""
    steps = [sum(index - tree.leftmost[index] + 1 for index in tree.keyroots) for tree in (first, second)]
    return steps[0] * steps[1]


def postorder_tree(program: ast.Module) -> PostorderTree:
    """Build the tree of a program for comparisons."""
    labels: list[str] = []
    leftmost: list[int] = []

    def add_node(node: ast.AST) -> int:
        leaf = len(labels)
        for position, child in enumerate(_compared_children(node)):
            leftmost_leaf = add_node(child)
            if position == 0:
                leaf = leftmost_leaf
        labels.append(_label_node(node))
        leftmost.append(leaf)
        return leaf

    add_node(program)
    return PostorderTree(tuple(labels), tuple(leftmost))


def tree_distance(first: PostorderTree, second: PostorderTree) -> int:
    """Compute the least number of insertions, deletions and label changes that turn one tree into the other."""
    if not first.labels or not second.labels:
        return max(len(first.labels), len(second.labels))
    distances = [[0] * len(second.labels) for _ in first.labels]
    for mine in first.keyroots:
        for theirs in second.keyroots:
            _fill_distances(first, second, mine, theirs, distances)
    return distances[-1][-1]


def _fill_distances(
    first: PostorderTree, second: PostorderTree, mine: int, theirs: int, distances: list[list[int]]
) -> None:
    """Fill in the distances of all subtrees that begin with the leftmost leaves of two nodes."""
    first_leaf, second_leaf = first.leftmost[mine], second.leftmost[theirs]
    above = list(range(theirs - second_leaf + 2))
    rows = [above]
    for row, index in enumerate(range(first_leaf, mine + 1), 1):
        at_left = first.leftmost[index] == first_leaf
        base = rows[first.leftmost[index] - first_leaf]
        now, label, distances_of_row = [row], first.labels[index], distances[index]
        for column, second_index in enumerate(range(second_leaf, theirs + 1), 1):
            least = min(above[column], now[column - 1]) + 1
            if at_left and second.leftmost[second_index] == second_leaf:
                least = min(least, above[column - 1] + (label != second.labels[second_index]))
                distances_of_row[second_index] = least
            else:
                least = min(least, base[second.leftmost[second_index] - second_leaf] + distances_of_row[second_index])
            now.append(least)
        rows.append(now)
        above = now


def _compared_children(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, LEFT_OUT):
            continue
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant) and isinstance(child.value.value, str):
            # A docstring, or another text without effect.
            continue
        yield child


def _label_node(node: ast.AST) -> str:
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


def find_nearest(tokens: Sequence[str], candidates: Sequence[Sequence[str]], threshold: float) -> int | None:
    """Find the candidate with the smallest token distance below a threshold.

    Returns:
        Index of the first of equally near candidates, or None. Candidates beyond ``MAX_TOKEN_WORK`` are not compared.
    """
    best: tuple[float, int] | None = None
    work = 0
    for index, candidate in enumerate(candidates):
        work += min(len(tokens), len(candidate)) * (max(len(tokens), len(candidate)) // 64 + _SETUP)
        if work > MAX_TOKEN_WORK:
            break
        distance_to_candidate = token_distance(tokens, candidate)
        if distance_to_candidate < threshold and (best is None or distance_to_candidate < best[0]):
            best = distance_to_candidate, index
    return best and best[1]


def may_be_near(first: Counter[str], second: Counter[str], threshold: float) -> bool:
    """Return True if two texts can differ by less than a threshold, judged by their token counts alone."""
    longest = max(first.total(), second.total(), 1)
    bound = min(int(threshold * longest) + 1, longest)
    # Each of these tokens takes its own edit.
    return max((first - second).total(), (second - first).total()) < bound


def token_distance(first: Sequence[str], second: Sequence[str]) -> float:
    """Compute the edit distance of two sequences (Levenshtein 1966) relative to the longer one, in [0, 1].

    A column of the table is stored as two integers whose bits mark increases and decreases, and a step is a few
    operations on them (Myers 1999, doi:10.1145/316542.316550, in the variant of Hyyrö 2003 for the whole distance).
    Python's integers have any number of bits, so thirty thousand tokens take half a second.
    """
    second, first = sorted((first, second), key=len)
    rows = len(first)
    if not second:
        if rows:
            return 1.0
        return 0.0
    places: dict[str, int] = {}
    for row, token in enumerate(first):
        places[token] = places.get(token, 0) | 1 << row
    whole, last = (1 << rows) - 1, 1 << rows - 1
    up, down, edits = whole, 0, rows
    for token in second:
        same = places.get(token, 0)
        across = same | down
        same |= ((same & up) + up) ^ up
        moved_up = down | ~(same | up) & whole
        moved_down = up & same
        if moved_up & last:
            edits += 1
        elif moved_down & last:
            edits -= 1
        moved_up = (moved_up << 1 | 1) & whole
        moved_down = moved_down << 1 & whole
        up = moved_down | ~(across | moved_up) & whole
        down = moved_up & across
    return edits / rows
