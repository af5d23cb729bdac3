"""The tree of ideas of one round, and the notes that store it.

The idea, lesson and report of a program are notes of its round: a mark of the program's text, then JSON. Prompts that
show the program as a parent show them too.

Notes for later rounds and for reports are JSON in the store, all of one schema.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from itertools import chain
from typing import Any, TypeVar

from oragent.search.candidate import Elite
from oragent.search.prompting.search_summary import LESSON, program_mark
from oragent.search.round_context import RoundContext
from oragent.search.store import RoundNote

# Kinds of notes.
TREE, MEMORY = "tree", "memory"
# Number of latest lessons in a final memory.
MAX_LESSONS = 30
# Kinds of steps that do not change the program.
MEASURING = ("probe", "instrument")
# State of an idea that was not implemented: no budget was left, or it is beyond the requested number.
UNTRIED = "untried"
T = TypeVar("T")


# Kind of notes that hold the account of a program.
ACCOUNT = "account"


@dataclass(frozen=True)
class ExperimentStep:
    """Experiment on a solution."""

    # Kind: ``edit``, ``tune``, ``probe`` or ``instrument``.
    kind: str
    # Change, in words.
    change: str
    # Score after it, or its failure.
    outcome: str
    # Whether it became the solution; otherwise it was reverted.
    better: bool
    # Lesson; empty if no model was asked.
    lesson: str = ""


@dataclass(frozen=True)
class NodeNote:
    """Note of an idea of a tree and its result."""

    # Number in the order of the round; the root is 0.
    number: int
    # Number of the parent node; None for the root.
    parent: int | None
    # Title of the idea, a few words; empty for the root.
    title: str
    # Text of the idea.
    idea: str
    # State of the node, as in ``IdeaNode``.
    state: str
    # Id of its solution; None without one.
    candidate: str | None
    # Score of its solution, in the problem's natural units; None without one.
    score: float | None
    # Reason why there is no solution; empty if there is one.
    failure: str
    # Experiments on its solution.
    steps: tuple[ExperimentStep, ...]
    # Report on the experiments, in words.
    report: str
    # True if its solution is better than the programs from which it started.
    better: bool


@dataclass(frozen=True)
class TreeNote:
    """Note of a round's tree."""

    # True if the round started from the best program alone.
    elitist: bool
    # Ids of the programs at its root.
    start: tuple[str, ...]
    # Nodes of the tree, the root and all ideas, in the order of their numbers.
    nodes: tuple[NodeNote, ...]

    def dump(self) -> str:
        """Return the text of the note."""
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str) -> "TreeNote":
        """Read a note; raise ValueError if the text is not one."""
        tree = _read_object(text, cls)
        nodes = [_make_note(NodeNote, node) for node in _expect_list(tree["nodes"])]
        steps = [tuple(_make_note(ExperimentStep, step) for step in _expect_list(node.steps)) for node in nodes]
        loaded = tuple(replace(node, steps=node_steps) for node, node_steps in zip(nodes, steps, strict=True))
        return cls(bool(tree["elitist"]), tuple(map(str, _expect_list(tree["start"]))), loaded)


@dataclass(frozen=True)
class MemoryNote:
    """Note of the long-term memory at the end of a round."""

    # Text of the memory.
    text: str
    # Number of the last round up to which it includes all reports.
    horizon: int
    # Numbers of later rounds whose reports it also includes.
    beyond: tuple[int, ...] = ()

    def dump(self) -> str:
        """Return the text of the note."""
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str) -> "MemoryNote":
        """Read a note; raise ValueError if the text is not one."""
        note = _make_note(cls, _read_object(text, cls))
        return cls(note.text, note.horizon, tuple(map(int, _expect_list(note.beyond))))


def final_memory(notes: Sequence[RoundNote]) -> str:
    """Return the long-term memory at the end of a run: its last text, then later reports and lessons."""
    memories = [MemoryNote.load(note.text) for note in notes if note.kind == MEMORY]
    latest = memories[-1] if memories else MemoryNote("", 0)
    trees = [note for note in notes if note.kind == TREE and note.round > latest.horizon]
    later = [node for note in trees if note.round not in latest.beyond for node in TreeNote.load(note.text).nodes[1:]]
    reports = [
        f"- {node.title}: {node.failure or f'score {node.score:.6g}'}. {node.report}".rstrip()
        for node in later
        if node.state != UNTRIED and (node.score is not None or node.failure)
    ]
    lessons = [f"- {text}" for text in dict.fromkeys(note.text for note in notes if note.kind == LESSON)]
    return "\n".join(
        [*([latest.text.strip()] if latest.text.strip() else []), *dict.fromkeys(reports), *lessons[-MAX_LESSONS:]]
    )


def _read_object(text: str, kind: type[Any]) -> dict[str, Any]:
    values = json.loads(text)
    # Fields with a default may be missing in notes of earlier versions.
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
    """Idea: its title, a few words, and its text."""

    title: str
    text: str

    @property
    def account(self) -> str:
        """Title and text, as prompts show them below a program."""
        return f"{self.title}. {self.text}" if self.text != self.title else self.text


@dataclass
class IdeaNode:
    """Node of the tree: an idea with its solution."""

    # Depth; the root has depth 0.
    depth: int
    # Number of the parent node; None for the root.
    parent: int | None
    # Idea of the node; None for the root.
    idea: Idea | None
    # Best program of the idea; None if no program has a score.
    solution: Elite | None
    # Reason why there is no solution; empty if there is one.
    failure: str = ""
    # Experiments on the solution, in order.
    steps: list[ExperimentStep] = field(default_factory=list)
    # Report on the experiments, in words.
    report: str = ""
    # State. ``open``: may get children. ``grown``: has better children. ``closed``: no child was better, or the node
    # has the maximum depth. ``worse``: not better than its parent. ``failed``: no solution. ``untried``: no budget was
    # left, or the idea is beyond the requested number.
    state: str = "open"
    # True if its solution is better than the programs from which it started.
    better: bool = False
    # Number in the order of the round, which the tree sets; the root is 0.
    number: int = 0


class IdeaTree:
    """Tree of a round. ``all_at_root`` keeps all children of the root with a solution, not only better ones."""

    def __init__(
        self, start: Sequence[Elite], fitness: Callable[[float], float], depth: int, *, all_at_root: bool = False
    ) -> None:
        self.start = tuple(start)
        self._fitness, self._depth, self._all_at_root = fitness, depth, all_at_root
        self.nodes = [IdeaNode(0, None, None, self.start[-1])]

    def better(self, child: Elite | None, parent: Elite | None) -> bool:
        """Return True if a solution is strictly better than another. Any solution is better than none."""
        if child is None or parent is None:
            return child is not None
        return self._fitness(child.score) > self._fitness(parent.score)

    def programs(self, node: IdeaNode) -> tuple[Elite, ...]:
        """Return the programs from which an idea for ``node`` starts. The last one is to be changed."""
        if node.solution is None or node.parent is None:
            return self.start
        return (node.solution,)

    def best_open(self) -> IdeaNode | None:
        """Return the open leaf with the best solution, the oldest of equal ones; None if all are closed."""

        def value(node: IdeaNode) -> tuple[float, int]:
            return -math.inf if node.solution is None else self._fitness(node.solution.score), -node.number

        return max((node for node in self.nodes if node.state == "open"), key=value, default=None)

    def grow(self, leaf: IdeaNode, children: Sequence[IdeaNode]) -> None:
        """Attach the children of a leaf. Better ones stay open; with ``all_at_root``, all children of the root do.

        Without open children, the leaf is closed. The root may be grown again if no child has a solution.
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
        leaf.state = "grown" if any(child.state in ("open", "closed") for child in children) else "closed"

    def leaves(self) -> list[IdeaNode]:
        """Return the solutions without a better child: those that a finished tree adds to the archive."""
        return [node for node in self.nodes[1:] if node.solution is not None and node.state in ("open", "closed")]

    def note(self, elitist: bool, names: Mapping[str, str]) -> TreeNote:
        """Return the note of the tree; ``names`` maps fingerprints of candidates to ids."""
        start = tuple(elite.id for elite in self.start)
        return TreeNote(elitist, start, tuple(_note_of_node(node, names) for node in self.nodes))

    def children(self, node: IdeaNode) -> list[IdeaNode]:
        """Return the children of a node, in the order of their numbers."""
        return [child for child in self.nodes if child.parent == node.number]


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

    # Idea of the program, with its title.
    idea: str
    # Report on the experiments that led to it, in words.
    report: str = ""
    # Lesson of the last experiment that changed it; empty if no model was asked.
    lesson: str = ""


def remember_account(run: RoundContext, source: str, idea: Idea, *, report: str = "", lesson: str = "") -> None:
    """Store the account of a program. It replaces an earlier one."""
    account = Account(idea.account, report, lesson)
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
