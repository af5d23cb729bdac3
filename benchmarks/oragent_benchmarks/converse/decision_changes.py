"""Differences between decisions, and objectives, each in one line."""

from collections.abc import Iterator

from oragent._base.text_format import join_some
from oragent.modelling.data.solution import SolveStatus
from oragent_benchmarks.converse.decision import DecisionProblem, Solved, format_figure

# Maximum number of changed values in one line.
MAX_CHANGES = 20


def describe_changes(problem: DecisionProblem, earlier: str, after: str) -> str:
    """Describe the differences between two decisions in one line; empty if they are equal."""
    changes = list(decision_changes(problem, earlier, after))
    if changes:
        return f"changed: {join_some(changes, MAX_CHANGES)}"
    return ""


def objectives_in_words(problem: DecisionProblem, solved: Solved) -> str:
    """Write the objectives of a decision in one line, or why there is no decision."""
    if not solved.decision:
        return str(solved.status)
    values = problem.features(solved.decision)
    parts = [
        f"{goal.word} {format_figure(value)}"
        for goal, value in zip(problem.expressions[: problem.goals], values, strict=False)
    ]
    gap = [] if solved.status is SolveStatus.OPTIMAL else [f"gap {100 * solved.gap:.2g} %"]
    return ", ".join([*parts, *gap])


def decision_changes(problem: DecisionProblem, earlier: str, after: str) -> Iterator[str]:
    """Return the items whose option differs between two decisions, each as ``ITEM OLD -> NEW``.

    Values between 0 and 1 come first; items that become 0 come last in their group.
    """
    old, new = problem.chosen(earlier), problem.chosen(after)
    brief = problem.vocabulary.brief
    moved = [item for item, option in new.items() if old[item] != option]
    for item in sorted(moved, key=lambda item: (problem.options(item) != ("0", "1"), new[item] == "0")):
        yield f"{problem.short(item)} {brief(old[item])} → {brief(new[item])}"
