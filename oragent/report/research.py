"""The notes of a run with research rounds: long-term memory, trees of ideas, and gains of actions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from oragent._base.errors import StoreError
from oragent.report.pages import text as in_words
from oragent.search.store import RoundNote
from oragent.search.strategies.or_agent.allocation import (
    ACTION,
    PRIORS,
    ActionRecord,
    latest_records,
    upper_bound,
)
from oragent.search.strategies.or_agent.tree import (
    MEASURING,
    TREE,
    UNTRIED,
    ExperimentStep,
    NodeNote,
    TreeNote,
    final_memory,
)

LATEST = 10  # rounds whose trees are shown
MARKS = {"open": "better", "grown": "better", "closed": "better", "worse": "not better", "failed": "failed"}
MARKS |= {UNTRIED: "not tried"}


@dataclass(frozen=True)
class Branch:
    """An idea in a tree.

    Attributes:
        depth: Steps from the root; 1 for what was tried at the root.
        title: Title of the idea, a few words.
        idea: Text of the idea: how to do it.
        candidate: Id of its solution; empty without one.
        outcome: Score of its solution, or how it failed.
        verdict: Whether it is better than what it started from, in words.
        report: Report on the experiments on it.
        steps: Experiments on it, one line each.
    """

    depth: int
    title: str
    idea: str
    candidate: str
    outcome: str
    verdict: str
    report: str
    steps: tuple[str, ...]


@dataclass(frozen=True)
class ReportTree:
    """A round's tree.

    Attributes:
        round: Number of the round.
        start: Programs at its root, in words.
        branches: Ideas of the tree, each before those that start from it.
    """

    round: int
    start: str
    branches: tuple[Branch, ...]


@dataclass(frozen=True)
class ActionRow:
    """What one kind of action cost and gained.

    Attributes:
        action: Name of the action.
        rounds: Number of rounds with it.
        programs: Number of programs that were evaluated in them.
        tokens: Tokens of their calls.
        gain: Improvement of the best score in all of them, 0 or more.
        index: Bound by which the next action is chosen, the highest first; None for the opening, which comes once.
    """

    action: str
    rounds: int
    programs: int
    tokens: int
    gain: float
    index: float | None = None

    @property
    def gain_per_token(self) -> str:
        """Gain for 1,000 tokens."""
        return f"{1000 * self.gain / self.tokens:.3g}" if self.tokens else "no tokens"


@dataclass(frozen=True)
class Research:
    """Notes of a run.

    Attributes:
        memory: Long-term memory at the end, with what came after it was written; empty where none was written.
        trees: Latest trees, the latest first.
        left_out: Number of older trees that are not among them.
        ideas: Number of ideas that were tried in all.
        better: Number of these ideas that were better than what they started from.
        untried: Number of further ideas, which the budget did not reach or which came beyond those asked for.
        actions: Cost and gain of each kind of action, where rounds are actions.
    """

    memory: str
    trees: tuple[ReportTree, ...]
    left_out: int
    ideas: int
    better: int
    untried: int
    actions: tuple[ActionRow, ...] = ()


def read_research(notes: Sequence[RoundNote]) -> Research | None:
    """Read the notes of a run; None if its strategy writes neither trees nor actions.

    Raises:
        StoreError: if a note is not what such a strategy writes.
    """
    trees_written = [note for note in notes if note.kind == TREE]
    actions_written = [note for note in notes if note.kind == ACTION]
    if not trees_written and not actions_written:
        return None
    try:
        every = [TreeNote.load(note.text) for note in trees_written]
        memory = final_memory(notes)
        actions = [ActionRecord.load(note.text) for note in actions_written]
    except ValueError as problem:
        raise StoreError(f"the notes of the run are corrupted ({problem}); restore it from a copy") from None
    trees = tuple(
        _make_tree(note.round, tree) for note, tree in zip(trees_written[-LATEST:], every[-LATEST:], strict=True)
    )
    states = [node.state for tree in every for node in tree.nodes[1:]]
    better = sum(_describe_state(node) == "better" for tree in every for node in tree.nodes[1:])
    left_out, untried = len(trees_written) - len(trees), states.count(UNTRIED)
    return Research(memory, trees[::-1], left_out, len(states) - untried, better, untried, _sum_actions(actions))


def _sum_actions(records: Sequence[ActionRecord]) -> tuple[ActionRow, ...]:
    """Cost, gain and index by kind of action, in the order of the first of each; those never tried come last."""
    rows, latest, kinds = [], latest_records(records), list(PRIORS)
    for kind in dict.fromkeys([*(record.action for record in records), *(kinds if records else [])]):
        index = upper_bound(kind, latest, kinds) if kind in PRIORS else None
        mine = [record for record in records if record.action is kind]
        programs, tokens = sum(record.programs for record in mine), sum(record.tokens for record in mine)
        rows.append(ActionRow(str(kind), len(mine), programs, tokens, sum(record.gain for record in mine), index))
    return tuple(rows)


def _describe_state(node: NodeNote) -> str:
    """Describe whether an idea was better: a child of the root may be kept although it is worse."""
    verdict = MARKS.get(node.state, "")
    return "not better" if node.better is False and verdict == "better" else verdict


def _make_tree(number: int, tree: TreeNote) -> ReportTree:
    start = f"{'the elitist' if tree.elitist else 'parents'} {' and '.join(tree.start)}"
    return ReportTree(number, start, tuple(_list_branches(tree.nodes, 0, 1)))


def _list_branches(nodes: Sequence[NodeNote], parent: int, depth: int) -> Iterator[Branch]:
    for node in nodes:
        if node.parent == parent:
            yield Branch(
                depth=depth,
                title=node.title,
                idea=node.idea,
                candidate=node.candidate or "",
                outcome=node.failure if node.score is None else in_words.format_score(node.score),
                verdict=_describe_state(node),
                report=node.report,
                steps=tuple(map(_describe_step, node.steps)),
            )
            yield from _list_branches(nodes, node.number, depth + 1)


def _describe_step(step: ExperimentStep) -> str:
    verdict = "" if step.kind in MEASURING else ", kept" if step.better else ", taken back"
    return f"{step.kind}: {step.change} → {step.outcome}{verdict}. {step.lesson}".rstrip()
