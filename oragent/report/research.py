"""Notes of a run with research rounds: long-term memory, trees of ideas, and gains of actions."""

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

# Maximum number of rounds whose trees are shown.
LATEST = 10
MARKS = {
    "open": "better",
    "grown": "better",
    "closed": "better",
    "worse": "not better",
    "failed": "failed",
    UNTRIED: "not tried",
}


@dataclass(frozen=True)
class Branch:
    """An idea in a tree."""

    # Number of steps from the root. 1 for an idea at the root.
    depth: int
    title: str
    # Text of the idea.
    idea: str
    # Id of its solution. Empty without one.
    candidate: str
    # Score of its solution, or its failure.
    outcome: str
    # Comparison with the program from which it started, in words.
    verdict: str
    report: str
    # Experiments on it, one line each.
    steps: tuple[str, ...]


@dataclass(frozen=True)
class ReportTree:
    """A round's tree."""

    round: int
    # Programs at its root, in words.
    start: str
    branches: tuple[Branch, ...]


@dataclass(frozen=True)
class ActionRow:
    """Cost and gain of one kind of action."""

    action: str
    rounds: int
    # Number of programs evaluated in them.
    programs: int
    # Tokens of their calls.
    tokens: int
    # Total improvement of the best score by them, 0 or more.
    gain: float
    # Bound by which the next action is chosen, highest first. None for the opening.
    index: float | None = None

    @property
    def gain_per_token(self) -> str:
        """Gain per 1,000 tokens."""
        if self.tokens:
            return f"{1000 * self.gain / self.tokens:.3g}"
        return "no tokens"


@dataclass(frozen=True)
class Research:
    """Notes of a run."""

    # Long-term memory at the end, with later lessons. Empty if the run wrote no memory.
    memory: str
    # Latest trees, the latest first.
    trees: tuple[ReportTree, ...]
    # Number of older trees that are left out.
    left_out: int
    # Total number of ideas that were tried.
    ideas: int
    better: int
    # Number of further ideas that were not tried: the budget was used up, or they exceeded the requested number.
    untried: int
    # Cost and gain of each kind of action, if rounds are actions.
    actions: tuple[ActionRow, ...] = ()


def read_research(notes: Sequence[RoundNote]) -> Research | None:
    """Read the notes of a run.

    None if its strategy writes neither trees nor actions. Damaged notes raise StoreError.
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
    latest = zip(trees_written[-LATEST:], every[-LATEST:], strict=True)
    trees = tuple(_make_tree(note.round, tree) for note, tree in latest)
    states = [node.state for tree in every for node in tree.nodes[1:]]
    better = sum(_describe_state(node) == "better" for tree in every for node in tree.nodes[1:])
    left_out, untried = len(trees_written) - len(trees), states.count(UNTRIED)
    return Research(memory, trees[::-1], left_out, len(states) - untried, better, untried, _sum_actions(actions))


def _sum_actions(records: Sequence[ActionRecord]) -> tuple[ActionRow, ...]:
    """Return cost, gain and index by kind of action, in the order of the first of each. Untried kinds come last."""
    rows, latest, kinds = [], latest_records(records), list(PRIORS)
    for kind in dict.fromkeys([*(record.action for record in records), *(kinds if records else [])]):
        index = upper_bound(kind, latest, kinds) if kind in PRIORS else None
        mine = [record for record in records if record.action is kind]
        programs, tokens = sum(record.programs for record in mine), sum(record.tokens for record in mine)
        rows.append(ActionRow(str(kind), len(mine), programs, tokens, sum(record.gain for record in mine), index))
    return tuple(rows)


def _describe_state(node: NodeNote) -> str:
    """Describe whether an idea was better. A child of the root may be kept although it is worse."""
    verdict = MARKS.get(node.state, "")
    if not node.better and verdict == "better":
        return "not better"
    return verdict


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
    if step.kind in MEASURING:
        verdict = ""
    elif step.better:
        verdict = ", kept"
    else:
        verdict = ", taken back"
    return f"{step.kind}: {step.change} → {step.outcome}{verdict}. {step.lesson}".rstrip()
