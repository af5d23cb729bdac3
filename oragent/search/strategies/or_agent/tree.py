"""The tree of ideas of one round: what was tried from where, what came of it, and what is kept with its programs.

The idea behind a program, what its experiments taught and their report are notes of the round that found it: a mark
of its text, then JSON. Who draws the program as a parent is shown it.

What rounds write down for later rounds and for reports has one schema: JSON in notes of the store.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from itertools import chain
from typing import Any, TypeVar

from oragent.search.candidate import Elite
from oragent.search.prompting.search_summary import LESSON, program_mark
from oragent.search.round_context import RoundContext
from oragent.search.store import RoundNote

# kinds of notes
TREE, MEMORY = "tree", "memory"
# of a final memory, the latest
MOST_LESSONS = 30
# kinds of steps that change nothing
MEASURING = ("probe", "instrument")
# state of an idea that the budget did not reach, or that came beyond those asked for
UNTRIED = "untried"
T = TypeVar("T")


# kind of these notes
ACCOUNT = "account"


@dataclass(frozen=True)
class ExperimentStep:
    """An experiment on a solution."""

    # ``edit``, ``tune``, ``probe`` or ``instrument``
    kind: str
    # change that was made, in words
    change: str
    # score after it, or how it failed
    outcome: str
    # whether it became the solution; otherwise it was taken back
    better: bool
    # lesson learned from it; empty where nobody was asked
    lesson: str = ""


@dataclass(frozen=True)
class NodeNote:
    """An idea of a tree, and what came of it."""

    # number in the order of the round; the root is 0
    number: int
    # number of the node that it is for; None for the root
    parent: int | None
    # title of the idea, a few words; empty for the root
    title: str
    # text of the idea: how to do it
    idea: str
    # state of the node, as in ``tree.Node``
    state: str
    # id of its solution; None without one
    candidate: str | None
    # score of its solution, in the problem's natural units; None without one
    score: float | None
    # reason why there is no solution; empty where there is one
    failure: str
    # experiments on its solution
    steps: tuple[ExperimentStep, ...]
    # report on the experiments, in words
    report: str
    # whether its solution is better than what it started from
    better: bool


@dataclass(frozen=True)
class TreeNote:
    """A round's tree."""

    # whether it began at the best program ever, alone
    elitist: bool
    # ids of the programs at its root
    start: tuple[str, ...]
    # nodes of the tree, the root and all ideas, in the order of their numbers
    nodes: tuple[NodeNote, ...]

    def dump(self) -> str:
        """The note's text."""
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str) -> "TreeNote":
        """Read a note; ValueError if it is none."""
        tree = _read_object(text, cls)
        nodes = [_make_note(NodeNote, node) for node in _expect_list(tree["nodes"])]
        steps = [tuple(_make_note(ExperimentStep, step) for step in _expect_list(node.steps)) for node in nodes]
        known = tuple(replace(node, steps=own) for node, own in zip(nodes, steps, strict=True))
        return cls(bool(tree["elitist"]), tuple(map(str, _expect_list(tree["start"]))), known)


@dataclass(frozen=True)
class MemoryNote:
    """The long-term memory, as a round left it."""

    # text of the memory: what is known, in words
    text: str
    # number of the last round up to which it has taken in all reports
    horizon: int
    # numbers of later rounds whose reports it has taken in too
    beyond: tuple[int, ...] = ()

    def dump(self) -> str:
        """The note's text."""
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str) -> "MemoryNote":
        """Read a note; ValueError if it is none."""
        note = _make_note(cls, _read_object(text, cls))
        return cls(note.text, note.horizon, tuple(map(int, _expect_list(note.beyond))))


def final_memory(notes: Sequence[RoundNote]) -> str:
    """The long-term memory of a run at its end: as it was last rewritten, then later reports and lessons."""
    memories = [MemoryNote.load(note.text) for note in notes if note.kind == MEMORY]
    if memories:
        latest = memories[-1]
    else:
        latest = MemoryNote("", 0)
    trees = [note for note in notes if note.kind == TREE and note.round > latest.horizon]
    later = [node for note in trees if note.round not in latest.beyond for node in TreeNote.load(note.text).nodes[1:]]
    reports = [
        f"- {node.title}: {node.failure or f'score {node.score:.6g}'}. {node.report}".rstrip()
        for node in later
        if node.state != UNTRIED and (node.score is not None or node.failure)
    ]
    lessons = [f"- {text}" for text in dict.fromkeys(note.text for note in notes if note.kind == LESSON)]
    return "\n".join(
        [*([latest.text.strip()] if latest.text.strip() else []), *dict.fromkeys(reports), *lessons[-MOST_LESSONS:]]
    )


def _read_object(text: str, kind: type[Any]) -> dict[str, Any]:
    values = json.loads(text)
    # others came with later versions
    required = [field.name for field in fields(kind) if field.default is MISSING]
    missing = [name for name in required if not isinstance(values, dict) or name not in values]
    if missing:
        raise ValueError(f"a note lacks {', '.join(missing)}")
    return dict(values)


def _make_note(kind: type[T], values: Any) -> T:
    try:
        return kind(**values)
    except TypeError as problem:
        raise ValueError(f"a note is broken: {problem}") from None


def _expect_list(value: Any) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"a note has {type(value).__name__} where a list was expected")
    return value


@dataclass(frozen=True)
class Idea:
    """Idea to try: its title, a few words, and how to do it."""

    title: str
    text: str


@dataclass
class IdeaNode:
    """An idea with its solution."""

    # number in the order of the round; the root is 0
    number: int
    # steps from the root
    depth: int
    # number of the node that the idea is for; None for the root
    parent: int | None
    # idea of the node; None for the root
    idea: Idea | None
    # best program found for the idea; None where none ran
    solution: Elite | None
    # reason why no program ran; empty where one did
    failure: str = ""
    # experiments on the solution, in their order
    steps: list[ExperimentStep] = field(default_factory=list)
    # report on the experiments, in words
    report: str = ""
    # state of the node. ``open``: may get children; ``grown``: has better children; ``closed``: none was better, or it
    # is as deep as the tree may be; ``worse``: not better than its parent; ``failed``: no solution; ``untried``: the
    # budget did not reach, or more ideas came than were asked for
    state: str = "open"
    # whether its solution is better than what it started from
    better: bool = False
    # number of times that a leaf was opened here or below
    visits: int = 0


class IdeaTree:
    """A round's tree; with ``all_at_root`` every child of the root with a solution is kept, not only better ones."""

    def __init__(
        self, start: Sequence[Elite], fitness: Callable[[float], float], depth: int, *, all_at_root: bool = False
    ) -> None:
        self.start = tuple(start)
        self._fitness, self._depth, self._all_at_root = fitness, depth, all_at_root
        self.nodes = [IdeaNode(0, 0, None, None, self.start[-1])]

    def better(self, child: Elite | None, parent: Elite | None) -> bool:
        """Return whether a solution is strictly better than another; any solution is better than none."""
        if child is None or parent is None:
            return child is not None
        return self._fitness(child.score) > self._fitness(parent.score)

    def programs(self, node: IdeaNode) -> tuple[Elite, ...]:
        """Return the programs that an idea for ``node`` starts from; the one to change comes last."""
        if node.solution is None or node.parent is None:
            return self.start
        return (node.solution,)

    def best_open(self) -> IdeaNode | None:
        """The open leaf with the best solution, the older of equals; None when all are closed."""
        leaves = [node for node in self.nodes if node.state == "open"]
        return max(leaves, key=lambda node: (self._node_value(node), -node.number), default=None)

    def puct_open(self, exploration: float) -> IdeaNode | None:
        """The open leaf to which PUCT leads from the root; None when all are closed.

        At each node goes on to the child with the largest value of its subtree plus ``exploration`` times the root of
        the node's visits over one plus the child's, weighed evenly as ideas have no prior (Rosin 2011,
        doi:10.1007/s10472-011-9258-6; Silver et al. 2017, doi:10.1038/nature24270). Values are the best scores of the
        subtrees, from 0 to 1 within the tree.
        """
        node = self.nodes[0]
        while node.state != "open":
            below = [child for child in self.children(node) if any(n.state == "open" for n in self._nodes_below(child))]
            if not below:
                return None
            pull = exploration * math.sqrt(node.visits) / len(below)
            node = max(
                below, key=lambda child: (self._relative_value(child) + pull / (1 + child.visits), -child.number)
            )
        return node

    def grow(self, leaf: IdeaNode, children: Sequence[IdeaNode]) -> None:
        """Attach what was tried for a leaf: better children stay open, and perhaps all that the root has.

        Without any, the leaf is closed. The root may be grown again, where no child of it had a solution.
        """
        for child in children:
            child.number = len(self.nodes)
            self.nodes.append(child)
            if child.state == UNTRIED:
                continue
            child.better = self.better(child.solution, leaf.solution)
            if child.solution is None:
                child.state = "failed"
            elif not child.better and not (self._all_at_root and leaf.parent is None):
                child.state = "worse"
            elif child.depth >= self._depth:
                child.state = "closed"
        has_survivor = any(child.state in ("open", "closed") for child in children)
        if has_survivor:
            leaf.state = "grown"
        else:
            leaf.state = "closed"
        for node in self._ancestors_of(leaf):
            node.visits += 1

    def leaves(self) -> list[IdeaNode]:
        """The kept solutions from which nothing better came: what a finished tree leaves to the archive."""
        return [node for node in self.nodes[1:] if node.solution is not None and node.state in ("open", "closed")]

    def note(self, elitist: bool, names: Mapping[str, str]) -> TreeNote:
        """The tree for the store; ``names`` are the ids of candidates that are known by their fingerprints."""
        start = tuple(elite.id for elite in self.start)
        return TreeNote(elitist, start, tuple(_note_of_node(node, names) for node in self.nodes))

    def _node_value(self, node: IdeaNode) -> float:
        if node.solution is None:
            return -math.inf
        return self._fitness(node.solution.score)

    def _relative_value(self, node: IdeaNode) -> float:
        values = [self._node_value(peer) for peer in self.nodes if peer.solution is not None]
        low, high = min(values), max(values)
        best = max(self._node_value(peer) for peer in self._nodes_below(node))
        if high > low:
            return (best - low) / (high - low)
        return 1.0

    def children(self, node: IdeaNode) -> list[IdeaNode]:
        """The ideas that were tried for a node, in the order of their numbers."""
        return [child for child in self.nodes if child.parent == node.number]

    def _nodes_below(self, node: IdeaNode) -> Iterator[IdeaNode]:
        yield node
        for child in self.children(node):
            yield from self._nodes_below(child)

    def _ancestors_of(self, node: IdeaNode) -> Iterator[IdeaNode]:
        yield node
        while node.parent is not None:
            node = self.nodes[node.parent]
            yield node


def _note_of_node(node: IdeaNode, names: Mapping[str, str]) -> NodeNote:
    solution = node.solution
    return NodeNote(
        number=node.number,
        parent=node.parent,
        title=node.idea.title if node.idea else "",
        idea=node.idea.text if node.idea else "",
        state=node.state,
        candidate=names.get(solution.id, solution.id) if solution else None,
        score=solution.score if solution else None,
        failure=node.failure,
        steps=tuple(node.steps),
        report=node.report,
        better=node.better,
    )


@dataclass(frozen=True)
class Account:
    """Idea, report and lesson of a program."""

    # idea behind it, with its title
    idea: str
    # report on the experiments that led to it, in words
    report: str = ""
    # lesson of the last experiment that changed it; empty where nobody was asked
    lesson: str = ""


def remember_account(run: RoundContext, source: str, idea: Idea, *, report: str = "", lesson: str = "") -> None:
    """Keep with a program what is known of it; a later account takes the place of an earlier one."""
    account = Account(f"{idea.title}. {idea.text}" if idea.text != idea.title else idea.text, report, lesson)
    run.note(ACCOUNT, f"{program_mark(source)} {json.dumps(asdict(account))}")


def account_of(run: RoundContext, source: str) -> Account | None:
    """Return the latest account of a program from this round and earlier ones; None without one."""
    prefix = f"{program_mark(source)} "
    latest: Sequence[str] = [note.text for note in (*run.written, *run.notes) if note.kind == ACCOUNT]
    others = (note.text for note in reversed(run.moment.notes) if note.kind == ACCOUNT)
    earlier = (note.text for note in reversed(run.memory) if note.kind == ACCOUNT)
    for text in chain(reversed(latest), others, earlier):
        if text.startswith(prefix):
            values = json.loads(text.removeprefix(prefix))
            return Account(**{field.name: str(values.get(field.name, "")) for field in fields(Account)})
    return None
