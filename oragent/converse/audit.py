"""What went wrong in a conversation, found after the fact: nothing of it was known to either side."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from oragent.converse import claims, faithfulness
from oragent.converse.claims import Verdict
from oragent.converse.conversation import End, Outcome
from oragent.converse.faithfulness import Truth
from oragent.converse.problems.constraints import FREE, Constraints
from oragent.converse.problems.oracle import Solving
from oragent.converse.problems.schools import Schools, constraints
from oragent.converse.solving import Solver
from oragent.converse.state import Kind, Restriction, State

__all__ = ["COUNTS", "Audit", "Finding", "audit", "totals"]

FIGURES = 5  # false figures of a conversation that are told one by one


@dataclass(frozen=True)
class Finding:
    """Something that went wrong.

    Attributes:
        kind: Kind of finding, a name of ``COUNTS``.
        turn: Number of the turn, from 1.
        text: What it was, in words that may be a stranger's.
    """

    kind: str
    turn: int
    text: str


@dataclass(frozen=True)
class Audit:
    """How often what was found.

    Attributes:
        figures: Figures that were stated and checked.
        false_figures: Figures that are not true of any schedule shown.
        unsolved: Schedules presented that no solver had returned.
        enumerated: Programs that enumerate without a solver.
        silent: Models with a silent error.
        claims: Claims of impossibility that were resolved.
        false_claims: Claims that are false.
        unparsed: Claims that nobody understood.
        stalled: Turns that were shown no better schedule.
        below: 1 where the decision agent left below its maximum.
        failed: Programs or tool calls that failed.
        half: Proposals that were no full schedule.
        leaks: Messages that told a secret.
        sent_back: Messages that were sent back for one.
        refused: Checks of schedules that had not been shown.
        findings: What was found, one by one.
    """

    figures: int = 0
    false_figures: int = 0
    unsolved: int = 0
    enumerated: int = 0
    silent: int = 0
    claims: int = 0
    false_claims: int = 0
    unparsed: int = 0
    stalled: int = 0
    below: int = 0
    failed: int = 0
    half: int = 0
    leaks: int = 0
    sent_back: int = 0
    refused: int = 0
    findings: tuple[Finding, ...] = field(default=())


COUNTS = tuple(one.name for one in fields(Audit) if one.name != "findings")


def audit(
    problem: Schools, outcome: Outcome, solver: Solver, *, knows_solver: bool = True, doubts: bool = True
) -> Audit:
    """Go through a conversation.

    Args:
        problem: Schools that it was about.
        outcome: Outcome of the conversation.
        solver: Solver of their states, for claims.
        knows_solver: Whether all that the agent may present comes from a solver of ours; False for C-N-R, whose
            programs print what they like.
        doubts: Whether claims of impossibility are resolved; False for ``rules``, whose every word of it is proven.
    """
    counts: Counter[str] = Counter()
    found: list[Finding] = []

    def note(kind: str, turn: int, text: str) -> None:
        counts[kind] += 1
        found.append(Finding(kind, turn, text))

    seen: list[str] = [problem.default]
    solved: set[str] = {problem.default}
    best = 0.0
    oracle = Solving(problem, solver)
    for number, turn in enumerate(outcome.turns, 1):
        solved |= set(turn.solved)
        _figures(problem, turn.answer, turn.presented, seen, number, counts, found)
        for one in claims.claims(problem.district, turn.answer) if doubts else ():
            done = claims.resolve(one, oracle, _constraints(problem, turn.state), problem.district.features(seen[-1]))
            # Without a state nobody knows what "these constraints" are; what a sentence names itself can be solved.
            unknown = turn.state is None and one.constraints == FREE and done.verdict is Verdict.FALSE
            if done.verdict is Verdict.UNPARSED or unknown:
                note("unparsed", number, one.sentence)
            else:
                counts["claims"] += 1
                if done.verdict is Verdict.FALSE:
                    shown = f" ({done.witness.schedule}, {done.witness.features})" if done.witness else ""
                    note("false_claims", number, f"{one.sentence}{shown}")
        for decision in turn.presented:
            if knows_solver and decision not in solved:
                note("unsolved", number, decision)
        _events(turn.events, number, note)
        for problem_text in turn.problems:
            note("half", number, problem_text)
        for leak in turn.leaks:
            note("leaks", number, leak)
        counts["sent_back"] += turn.sent_back
        for check in turn.checks:
            if check["failed"]:
                note("refused", number, check["result"])
        value = max(turn.values, default=0.0)
        if turn.answer and value <= best + 1e-9:
            counts["stalled"] += 1
        best = max(best, value)
        seen += list(turn.presented)
    if outcome.end is End.OWN and outcome.maximum and not outcome.success:
        note("below", len(outcome.turns), f"left at {outcome.score:.3f} of the maximum")
    return Audit(**{name: counts[name] for name in COUNTS}, findings=tuple(found))


def totals(audits: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Sums of the counts of several conversations, as they are kept."""
    total: Counter[str] = Counter()
    for one in audits:
        total.update({name: int(one.get(name, 0)) for name in COUNTS})
    return {name: total[name] for name in COUNTS}


def _figures(
    problem: Schools, answer: str, presented: Sequence[str], seen: Sequence[str], number: int,
    counts: Counter[str], found: list[Finding],
) -> None:  # fmt: skip
    for one in faithfulness.figures(problem.district, answer, presented, tuple(seen)):
        if one.truth is not Truth.UNCHECKED:
            counts["figures"] += 1
        if one.truth is Truth.FALSE:
            counts["false_figures"] += 1
            if counts["false_figures"] <= FIGURES:
                found.append(Finding("false_figures", number, f"{one.told}: {one.sentence}"))


def _events(events: Sequence[Mapping[str, Any]], number: int, note: Any) -> None:
    for event in events:
        if event["failed"]:
            note("failed", number, event["result"][:300])
        for error in event["note"].get("silent", ())[:1]:
            note("silent", number, error)
        if event["note"].get("enumerates"):
            note("enumerated", number, "a program looked at schedules one by one")


def _constraints(problem: Schools, state: Mapping[str, Any] | None) -> Constraints:
    if state is None:
        return Constraints()
    restrictions = tuple(
        Restriction(Kind(one["kind"]), one["subject"], one["option"], one["relation"], one["value"])
        for one in state["restrictions"]
    )
    return constraints(problem, State(tuple(state["weights"]), restrictions))
