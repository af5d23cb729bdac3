"""A search tree of programs, and the descent by UCT on normalised values with progressive widening.

Kocsis & Szepesvari 2006 (doi:10.1007/11871842_29), as Zheng et al. 2025 (arXiv:2501.08603) have it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from oragent.search.candidate import Committed

WIDENING = 0.5  # alpha: a node that was visited n times may have n ** alpha children before one is added
DEPTH = 10


@dataclass(eq=False)
class ProgramNode:
    """A program in the tree; the root has none.

    Attributes:
        record: Program with its evaluation; None at the root.
        parent: Node that it was made from; None at the root.
        value: Best value of its children; without children, its own fitness.
        visits: Number of programs that were made below it, and itself.
        children: Nodes that were made from it.
        fitness: Its own value, whatever its children's.
    """

    record: Committed | None = None
    parent: "ProgramNode | None" = None
    value: float = -math.inf
    visits: int = 0
    children: list["ProgramNode"] = field(default_factory=list)
    fitness: float = field(init=False)

    def __post_init__(self) -> None:
        self.fitness = self.value

    def line(self) -> list["ProgramNode"]:
        """The way from the root's child down to this node."""
        return [*self.parent.line(), self] if self.parent else []

    def mark_bad(self, value: float) -> None:
        """Take this node for one of the given value, and tell all ancestors of that and of a visit."""
        self.value = value
        node = self.parent
        while node:
            node.value = max(child.value for child in node.children)
            node.visits += 1
            node = node.parent

    def below(self) -> Iterator["ProgramNode"]:
        """This node and all that were made from it."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.children


def update_values(root: ProgramNode, nodes: Sequence[ProgramNode]) -> None:
    """Give all nodes their values and visits; a node comes behind its parent."""
    for node in [*reversed(nodes), root]:
        node.visits = sum(child.visits for child in node.children) + (node is not root)
        node.value = max((child.value for child in node.children), default=node.value)


def take_turn(root: ProgramNode, weight: float, turn: int) -> tuple[list[ProgramNode], ProgramNode]:
    """Select as ``select`` does, after as many other leaves as ``turn`` says were selected and turned out bad."""
    values = [node.value for child in root.children for node in child.below()]
    low, high = min(values), max(values)
    for _ in range(turn):
        select_leaf(root, weight, low, high)[1].mark_bad(low)
    return select_leaf(root, weight, low, high)


def select_leaf(root: ProgramNode, weight: float, low: float, high: float) -> tuple[list[ProgramNode], ProgramNode]:
    """Descend to a leaf by UCT.

    Args:
        root: Root of the tree; it has children.
        weight: Weight of exploration.
        low: Least value of a node, which counts as 0.
        high: Greatest value of a node, which counts as 1.

    Returns:
        The nodes on the way that are to be widened, and the leaf.
    """
    span = (high - low) or 1.0
    node, widened, depth = root, [], 0
    while node.children and depth < DEPTH:
        if int(node.visits**WIDENING) > len(node.children):
            widened.append(node)
        spread = math.log(node.visits + 1)
        scores = [(child.value - low) / span + weight * math.sqrt(spread / child.visits) for child in node.children]
        node, depth = node.children[scores.index(max(scores))], depth + 1
    return widened, node
