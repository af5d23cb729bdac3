"""Monte Carlo tree search over heuristics (MCTS-AHD): all programs stay in a tree and can be expanded later.

Zheng et al. 2025 (arXiv:2501.08603; official code: zz1358m/MCTS-AHD-master). The root has no program; operators ``i1``
and ``e1`` make its children. A round descends by UCT on normalised scores; the exploration weight falls to zero as the
budget is spent. On the way, progressive widening adds a child to nodes with many visits: by ``e1`` to the root, by
``e2`` to other nodes. The leaf is expanded once by ``e2``, twice by ``m1``, twice by ``m2``, and once by ``s1``, whose
prompt shows the ancestors, worst first. The value of a node is that of its best child. If a program fails, the model is
asked again, up to three times in all, unless the program ran out of time. A child of ``e1`` is dropped if a child of
the root has the same score. After each program the model describes the thought behind the code at temperature 0
(thought alignment).

Differences from the paper: several rounds run at once. To expand different leaves, each further round selects a leaf as
if the leaves selected before had bad results (virtual loss, Chaslot et al. 2008, doi:10.1007/978-3-540-87608-3_6). With
``strategy.window=1`` rounds run one at a time. Because rounds overlap, prompts of the first programs show few of the
other first programs. The problem's seed heuristic is a child of the root. A program that ``e1`` draws twice is shown
once, and prompts do not show children of the same round. Prompts of ``e1``, ``e2``, ``m1`` and ``m2`` are those of
``eoh`` in this package; they show scores and metrics (``strategy.show=paper``: the score, but none in ``m1`` and
``m2``).

The descent is that of Kocsis & Szepesvari 2006 (doi:10.1007/11871842_29).
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Annotated

from annotated_types import Ge
from pydantic.dataclasses import dataclass

from oragent._base.protocol import Status
from oragent._base.settings import STRICT
from oragent.llm.dialogue import PromptPart, fit_prompt
from oragent.search.candidate import Candidate, Committed, Elite
from oragent.search.config import Blocks
from oragent.search.prompting.programs import Told, show_program, shown_figures
from oragent.search.prompting.prompt_templates import prompt_tokens_left, task_messages
from oragent.search.round_context import RoundContext
from oragent.search.selection import best_records, by_rank
from oragent.search.strategies.operators import apply_operator, read_prose, remember_thought
from oragent.search.strategy import Strategy

# Exponent alpha of progressive widening: a node with n visits may have n ** alpha children.
WIDENING = 0.5
DEPTH = 10


# Initial number of children of the root.
INITIAL = 4
EXPANSION = ("e2", "m1", "m1", "m2", "m2", "s1")
# Initial exploration weight, lambda_0 in the paper.
EXPLORATION = 0.1
# Number of best programs from which e2 draws its second parent.
ELITES = 10
# Minimum and maximum number of programs that e1 draws.
MIN_MEMBERS, MAX_MEMBERS = 2, 5
# Kind of notes that hold the fingerprint of a program that i1 or e1 made.
ROOT = "child of the root"


@dataclasses.dataclass(eq=False)
class ProgramNode:
    """Program in the tree. The root has no program."""

    # Program with its evaluation; None at the root.
    record: Committed | None = None
    # Parent node; None at the root.
    parent: "ProgramNode | None" = None
    # Value of its best child, or its own fitness without children.
    value: float = -math.inf
    # Number of programs in its subtree, including itself.
    visits: int = 0
    # Child nodes.
    children: list["ProgramNode"] = dataclasses.field(default_factory=list)
    # Fitness of its own program.
    fitness: float = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.fitness = self.value

    def line(self) -> list["ProgramNode"]:
        """Return the path from the child of the root to this node."""
        if self.parent:
            return [*self.parent.line(), self]
        return []

    def mark_bad(self, value: float) -> None:
        """Set the value of this node, then update the values and visits of all ancestors."""
        self.value = value
        node = self.parent
        while node:
            node.value = max(child.value for child in node.children)
            node.visits += 1
            node = node.parent

    def below(self) -> Iterator["ProgramNode"]:
        """Yield this node and all its descendants."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.children


def update_values(root: ProgramNode, nodes: Sequence[ProgramNode]) -> None:
    """Set values and visits of all nodes. In ``nodes``, parents come before their children."""
    for node in [*reversed(nodes), root]:
        node.visits = sum(child.visits for child in node.children) + (node is not root)
        node.value = max((child.value for child in node.children), default=node.value)


def take_turn(root: ProgramNode, weight: float, turn: int) -> tuple[list[ProgramNode], ProgramNode]:
    """Select a leaf by ``select_leaf`` after ``turn`` earlier selections, whose results are assumed to be bad."""
    values = [node.value for child in root.children for node in child.below()]
    low, high = min(values), max(values)
    for _ in range(turn):
        select_leaf(root, weight, low, high)[1].mark_bad(low)
    return select_leaf(root, weight, low, high)


def select_leaf(root: ProgramNode, weight: float, low: float, high: float) -> tuple[list[ProgramNode], ProgramNode]:
    """Descend to a leaf by UCT with values in [``low``, ``high``]; return the nodes to widen, and the leaf."""
    span = (high - low) or 1.0
    node, widened, depth = root, [], 0
    while node.children and depth < DEPTH:
        if int(node.visits**WIDENING) > len(node.children):
            widened.append(node)
        spread = math.log(node.visits + 1)
        scores = [(child.value - low) / span + weight * math.sqrt(spread / child.visits) for child in node.children]
        node, depth = node.children[scores.index(max(scores))], depth + 1
    return widened, node


@dataclass(frozen=True, config=STRICT)
class MCTSSettings:
    """Settings under ``strategy.options``.

    Attributes:
        first: Initial number of children of the root.
        tries: Maximum number of requests for a program, until one has a score.
    """

    first: Annotated[int, Ge(1)] = INITIAL
    tries: Annotated[int, Ge(1)] = 3


async def play_round(run: RoundContext) -> None:
    """Make one of the first programs, or descend, widen nodes on the path, and expand the leaf."""
    root = build_tree(run)
    if run.turn <= run.own.first:
        await _grow_node(run, root, root, "i1" if run.turn == 1 else "e1")
        return
    widened, leaf = take_turn(root, exploration_weight(run), run.turn % run.window)
    for node in widened:
        await _grow_node(run, root, node, "e2" if node.parent else "e1")
    for operator in EXPANSION:
        if operator != "s1" or len(leaf.line()) > 1:
            await _grow_node(run, root, leaf, operator)


def build_tree(run: RoundContext) -> ProgramNode:
    """Build the tree of all programs that were committed before the round began."""
    root = ProgramNode()
    first = {(note.round, note.text) for note in run.recall(ROOT)}
    nodes: dict[str, ProgramNode] = {}
    for record in run.scored:
        candidate = record.candidate
        at_root = not candidate.parents or (record.round, candidate.fingerprint) in first
        if at_root and candidate.parents and _is_met(root, run.fitness(record)):
            continue
        parent = root if at_root else nodes.get(candidate.parents[-1], root)
        nodes[record.id] = ProgramNode(record, parent, run.fitness(record))
        parent.children.append(nodes[record.id])
    update_values(root, list(nodes.values()))
    return root


def _is_met(root: ProgramNode, fitness: float) -> bool:
    return any(child.record is not None and child.fitness == fitness for child in root.children)


def exploration_weight(run: RoundContext) -> float:
    """Return the exploration weight. It falls linearly with the used share of the budget; time does not count."""
    return EXPLORATION * (1 - run.settings.budget.spent_share(run.spent))


async def _grow_node(run: RoundContext, root: ProgramNode, node: ProgramNode, operator: str) -> None:
    for _ in range(run.own.tries):
        candidate = await _make_program(run, root, node, operator)
        if candidate.score is not None:
            await _ask_thought(run, candidate)
        if candidate.evaluation.status is Status.TIMEOUT or not _is_useless(run, root, candidate, operator):
            return


async def _make_program(run: RoundContext, root: ProgramNode, node: ProgramNode, operator: str) -> Candidate:
    shown, paper = _shown_programs(run, root, node, operator), Told.NONE if operator in ("m1", "m2") else Told.SCORE
    descent = [ancestor.record for ancestor in node.line() if ancestor.record] if operator == "s1" else shown
    candidate = await apply_operator(run, operator, shown, paper=paper, descent=descent)
    if operator in ("i1", "e1"):
        run.note(ROOT, candidate.fingerprint)
    return candidate


def _is_useless(run: RoundContext, root: ProgramNode, candidate: Candidate, operator: str) -> bool:
    """Return True if the model must be asked again: the program has no score, or the score of a child of the root."""
    if candidate.score is None:
        return True
    first = operator == "e1" and run.turn <= run.own.first
    return first and _is_met(root, run.archive.fitness(candidate.score))


async def _ask_thought(run: RoundContext, candidate: Candidate) -> None:
    program = show_program("The program", Elite.of(candidate), detail=shown_figures(run, Told.NONE))
    prompt = fit_prompt(
        lambda sections: run.fill_template("describe", programs=sections["programs"][0]),
        [PromptPart("programs", [program], keep=1)],
        prompt_tokens_left(run),
    )
    remember_thought(
        run, candidate, read_prose((await run.ask("describe", task_messages(run, prompt), temperature=0.0)).text)
    )


def _shown_programs(run: RoundContext, root: ProgramNode, node: ProgramNode, operator: str) -> Sequence[Committed]:
    if operator == "i1":
        return []
    if operator == "e1":
        return _draw_strangers(run, root)
    descent = [ancestor.record for ancestor in node.line() if ancestor.record]
    if operator == "s1":
        return sorted(descent, key=run.fitness)
    changed = descent[-1:]
    if operator != "e2":
        return changed
    others = [record for record in best_records(run.scored, run.fitness, ELITES + 1) if record not in changed]
    if others:
        return [*by_rank(others, 1, run.rng), *changed]
    return changed


def _draw_strangers(run: RoundContext, root: ProgramNode) -> list[Committed]:
    """Draw two to five times, with replacement, one random program of a subtree of the root; drop repetitions."""
    members = [list(child.below()) for child in root.children]
    members_drawn = [family[int(run.rng.integers(len(family)))].record for family in members]
    count = min(int(run.rng.integers(MIN_MEMBERS, MAX_MEMBERS + 1)), len(members_drawn))
    drawn = [members_drawn[int(index)] for index in run.rng.integers(len(members_drawn), size=count)]
    return sorted({record.id: record for record in drawn if record}.values(), key=run.fitness)


STRATEGY = Strategy(name="mcts_ahd", round=play_round, remembers=True, blocks=Blocks.NONE, settings=MCTSSettings)
