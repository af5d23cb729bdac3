"""What a person's conversation came to: the messages and their effect, what is in force, and the plan now."""

from collections.abc import Sequence
from dataclasses import dataclass

from oragent.converse.conversation import Turn, state_of
from oragent.converse.decision import DecisionProblem, Editable, Solved
from oragent.converse.model_changes import describe_changes, objectives_in_words
from oragent.converse.solving import StateSolver, problem_in_force


@dataclass(frozen=True)
class MessageRow:
    """A message in the summary.

    Attributes:
        effect: Objectives after it, or why there is no plan; empty where it changed nothing.
    """

    number: int
    said: str
    effect: str


@dataclass(frozen=True)
class ConversationSummary:
    """What a conversation came to.

    Attributes:
        opening: Objectives of the plan that it opened with.
        now: Objectives of the best plan of what is in force, or why there is none.
        changes: What differs between both plans, one line each; empty for nothing.
        plan: The plan now, as Markdown; empty where there is none.
    """

    rows: tuple[MessageRow, ...]
    opening: str
    now: str
    changes: tuple[str, ...]
    plan: str
    decision: str


def summarize_conversation(problem: DecisionProblem, solver: StateSolver, turns: Sequence[Turn]) -> ConversationSummary:
    """Summarize a conversation; what no state says, as with agents that keep none, is read from what was presented."""
    opening = objectives_in_words(problem, problem.first)
    rows: list[MessageRow] = []
    in_force, solved, now = problem, problem.first, opening
    for number, turn in enumerate(turns, 1):
        before, shown = now, turn.state is None and turn.presented
        if turn.state is not None:
            state = state_of(turn.state)
            in_force, solved = problem_in_force(problem, state), solver(state)
        elif shown:
            solved = Solved(problem.first.status, turn.presented[-1])
        now = objectives_in_words(in_force, solved)
        earlier = turns[number - 2].state if number > 1 else None
        is_changed = now != before or (turn.state is not None and not _is_same(turn.state, earlier))
        rows.append(MessageRow(number, turn.said, now if is_changed else ""))
    changes = (
        describe_changes(in_force, problem.default, solved.decision, isinstance(problem, Editable))
        if solved.decision
        else ""
    )
    plan = in_force.render(solved.decision) if solved.decision else ""
    return ConversationSummary(
        tuple(rows), opening, now, tuple(changes.splitlines()), plan, problem.vocabulary.decision
    )


def _is_same(state: object, earlier: object) -> bool:
    """Return True if two states as plain data hold the same; None is the beginning."""
    if not isinstance(state, dict):
        return state == earlier
    if earlier is None:
        return not state.get("restrictions") and not state.get("changes")
    return state == earlier
