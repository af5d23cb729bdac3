"""Monte Carlo tree search over heuristics: every program stays in a tree and may be taken up again.

Zheng et al. 2025 (arXiv:2501.08603). The root stands for no program; its children come of ``i1`` and ``e1``. A round
descends by UCT on normalised scores, with an exploration that falls to zero as the budget is spent. On the way,
progressive widening adds a child to nodes that were visited often: by ``e1`` to the root, by ``e2`` to others. The leaf
is expanded by ``e2``, twice ``m1``, twice ``m2``, and ``s1`` over its line of descent. A node is worth what its best
child is. After each program the model is asked for the thought behind the code as it is (thought alignment).

Where we differ: several rounds are in flight, and so that they do not all expand the same leaf they take turns: one
takes the leaf that UCT selects, the next one the leaf that UCT selects if the former turned out bad, and so on (virtual
loss, Chaslot et al. 2008, doi:10.1007/978-3-540-87608-3_6); with ``strategy.window=1`` there is just the first. For the
same reason the first programs know little of each other. The problem's seed heuristic is a child of the root. ``e1`` is
shown five programs at most, and children of one round do not know each other. Prompts of ``e1``, ``e2``, ``m1`` and
``m2`` are those of our ``eoh``.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from oragent.llm.context import Part, fit
from oragent.search.candidate import Committed, Elite
from oragent.search.config import Blocks
from oragent.search.prompting import asked, fill, room, show
from oragent.search.run import Run
from oragent.search.selection import best, by_rank
from oragent.search.strategies.operators import apply, prose, remember
from oragent.search.strategy import Strategy

__all__ = ["STRATEGY", "Node", "backpropagate", "exploration", "round", "select", "take_turn", "tree"]

INITIAL = 4  # children of the root to begin with
EXPANSION = ("e2", "m1", "m1", "m2", "m2", "s1")
EXPLORATION = 0.1  # lambda_0
WIDENING = 0.5  # alpha: a node that was visited n times may have n ** alpha children before one is added
DEPTH = 10
ELITES = 10  # from which e2 draws its second parent
DIFFERENT = 5  # programs that e1 is shown at most
ROOT = "child of the root"  # kind of the notes that name, by fingerprint, the programs that i1 and e1 made


@dataclass(eq=False)
class Node:
    """A program in the tree; the root has none.

    Attributes:
        record: Program with its evaluation; None at the root.
        parent: Node that it was made from; None at the root.
        value: Best value of its children; without children, its own fitness.
        visits: Number of programs that were made below it, and itself.
        children: Nodes that were made from it.
    """

    record: Committed | None = None
    parent: "Node | None" = None
    value: float = -math.inf
    visits: int = 0
    children: list["Node"] = field(default_factory=list)

    def line(self) -> list["Node"]:
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

    def below(self) -> Iterator["Node"]:
        """This node and all that were made from it."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.children


async def round(run: Run) -> None:
    """Make one of the first programs; or descend, widen on the way, and expand the leaf."""
    root = tree(run)
    if run.turn <= INITIAL:
        await _grow(run, root, root, "i1" if run.turn == 1 else "e1")
        return
    widened, leaf = take_turn(root, exploration(run), run.turn % run.window)
    for node in widened:
        await _grow(run, root, node, "e2" if node.parent else "e1")
    for operator in EXPANSION:
        if operator != "s1" or len(leaf.line()) > 1:
            await _grow(run, root, leaf, operator)


def tree(run: Run) -> Node:
    """The tree of all programs that were committed before the round began."""
    root = Node()
    first = {(note.round, note.text) for note in run.recall(ROOT)}
    nodes: dict[str, Node] = {}
    for record in run.scored:
        candidate = record.candidate
        at_root = not candidate.parents or (record.round, candidate.fingerprint) in first
        parent = root if at_root else nodes.get(candidate.parents[-1], root)
        nodes[record.id] = Node(record, parent, run.fitness(record))
        parent.children.append(nodes[record.id])
    backpropagate(root, list(nodes.values()))
    return root


def backpropagate(root: Node, nodes: Sequence[Node]) -> None:
    """Give all nodes their values and visits; a node comes behind its parent."""
    for node in [*reversed(nodes), root]:
        node.visits = sum(child.visits for child in node.children) + (node is not root)
        node.value = max((child.value for child in node.children), default=node.value)


def exploration(run: Run) -> float:
    """The weight of exploration: it falls linearly with the share of the budget that is spent; seconds do not count."""
    budget, spent = run.settings.budget, run.spent
    shares = (
        getattr(spent, bound) / getattr(budget, bound)
        for bound in ("evaluations", "model_calls", "tokens", "money")
        if getattr(budget, bound) is not None
    )
    return EXPLORATION * (1 - min(max(shares, default=0.0), 1.0))


def take_turn(root: Node, weight: float, turn: int) -> tuple[list[Node], Node]:
    """Select as ``select`` does, after as many other leaves as ``turn`` says were selected and turned out bad."""
    values = [node.value for child in root.children for node in child.below()]
    low, high = min(values), max(values)
    for _ in range(turn):
        select(root, weight, low, high)[1].mark_bad(low)
    return select(root, weight, low, high)


def select(root: Node, weight: float, low: float, high: float) -> tuple[list[Node], Node]:
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
        scores = [(one.value - low) / span + weight * math.sqrt(spread / one.visits) for one in node.children]
        node, depth = node.children[scores.index(max(scores))], depth + 1
    return widened, node


async def _grow(run: Run, root: Node, node: Node, operator: str) -> None:
    """Make one program from a node, and ask for the thought behind it."""
    candidate = await apply(run, operator, _shown(run, root, node, operator))
    if operator in ("i1", "e1"):
        run.note(ROOT, candidate.fingerprint)
    if candidate.evaluation.score is None:
        return
    program = Elite.of(candidate)
    prompt = fit(
        lambda left: fill("describe", programs=left["programs"][0]),
        [Part("programs", [show("The program", program)], keep=1)],
        room(run),
    )
    remember(run, candidate, prose((await run.ask("describe", asked(run, prompt))).text))


def _shown(run: Run, root: Node, node: Node, operator: str) -> Sequence[Committed]:
    """The programs that an operator is shown; the one that it changes comes last."""
    if operator == "i1":
        return []
    if operator == "e1":
        families = run.rng.permutation(len(root.children))[:DIFFERENT]
        members = [list(root.children[int(family)].below()) for family in families]
        drawn = [family[int(run.rng.integers(len(family)))].record for family in members]
        return [record for record in drawn if record]
    line = [ancestor.record for ancestor in node.line() if ancestor.record]
    if operator == "s1":
        return line
    own = line[-1:]
    if operator != "e2":
        return own
    others = [record for record in best(run.scored, run.fitness, ELITES + 1) if record not in own]
    return [*by_rank(others, 1, run.rng), *own] if others else own


STRATEGY = Strategy(name="mcts_ahd", round=round, remembers=True, blocks=Blocks.NONE)
