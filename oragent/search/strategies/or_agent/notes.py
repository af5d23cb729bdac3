"""What research rounds write down for later rounds and for reports: trees of ideas, and the long-term memory.

The one schema of these notes, each JSON in the store.
"""

import json
from collections.abc import Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, TypeVar

from oragent.search.store import RoundNote

TREE, MEMORY = "tree", "memory"  # kinds of notes
LESSON = "lesson"  # kind of the notes that say at once what an experiment taught
MOST_LESSONS = 30  # of a final memory, the latest
MEASURING = ("probe", "instrument")  # kinds of steps that change nothing
UNTRIED = "untried"  # state of an idea that the budget did not reach, or that came beyond those asked for
T = TypeVar("T")


@dataclass(frozen=True)
class ExperimentStep:
    """An experiment on a solution."""

    kind: str  # ``edit``, ``tune``, ``probe`` or ``instrument``
    change: str  # change that was made, in words
    outcome: str  # score after it, or how it failed
    better: bool  # whether it became the solution; otherwise it was taken back
    lesson: str = ""  # lesson learned from it; empty where nobody was asked


@dataclass(frozen=True)
class NodeNote:
    """An idea of a tree, and what came of it."""

    number: int  # number in the order of the round; the root is 0
    parent: int | None  # number of the node that it is for; None for the root
    title: str  # title of the idea, a few words; empty for the root
    idea: str  # text of the idea: how to do it
    state: str  # state of the node, as in ``tree.Node``
    candidate: str | None  # id of its solution; None without one
    score: float | None  # score of its solution, in the problem's natural units; None without one
    failure: str  # reason why there is no solution; empty where there is one
    steps: tuple[ExperimentStep, ...]  # experiments on its solution
    report: str  # report on the experiments, in words
    # whether its solution is better than what it started from; None in notes of earlier versions, where its state says
    # so
    better: bool | None = None


@dataclass(frozen=True)
class TreeNote:
    """A round's tree."""

    elitist: bool  # whether it began at the best program ever, alone
    start: tuple[str, ...]  # ids of the programs at its root
    nodes: tuple[NodeNote, ...]  # nodes of the tree, the root and all ideas, in the order of their numbers

    def dump(self) -> str:
        """The note's text."""
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str) -> "TreeNote":
        """Read a note.

        Raises:
            ValueError: if it is none.
        """
        tree = _read_object(text, cls)
        nodes = [_make_note(NodeNote, node) for node in _expect_list(tree["nodes"])]
        known = [
            NodeNote(
                **{**vars(node), "steps": tuple(_make_note(ExperimentStep, step) for step in _expect_list(node.steps))}
            )
            for node in nodes
        ]
        return cls(bool(tree["elitist"]), tuple(map(str, _expect_list(tree["start"]))), tuple(known))


@dataclass(frozen=True)
class MemoryNote:
    """The long-term memory, as a round left it."""

    text: str  # text of the memory: what is known, in words
    horizon: int  # number of the last round up to which it has taken in all reports
    beyond: tuple[int, ...] = ()  # numbers of later rounds whose reports it has taken in too

    def dump(self) -> str:
        """The note's text."""
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str) -> "MemoryNote":
        """Read a note.

        Raises:
            ValueError: if it is none.
        """
        note = _make_note(cls, _read_object(text, cls))
        return cls(note.text, note.horizon, tuple(map(int, _expect_list(note.beyond))))


def final_memory(notes: Sequence[RoundNote]) -> str:
    """Return the long-term memory of a run at its end: as it was last rewritten, then later reports and lessons.

    Raises:
        ValueError: if a note is broken.
    """
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
        [*([latest.text.strip()] if latest.text.strip() else []), *dict.fromkeys(reports), *lessons[-MOST_LESSONS:]]
    )


def _read_object(text: str, kind: type[Any]) -> dict[str, Any]:
    values = json.loads(text)
    required = [field.name for field in fields(kind) if field.default is MISSING]  # others came with later versions
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
