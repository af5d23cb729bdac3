"""What went wrong in a conversation, found after the fact: nothing of it was known to either side."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from oragent.converse.conversation import ConversationEnd, ConversationResult, state_of
from oragent.converse.decision import AnswerContext, AnswerRemark, ClaimStatus, DecisionProblem, RemarkKind
from oragent.converse.solving import StateSolver

FIGURES = 5  # false figures of a conversation that are told one by one


@dataclass(frozen=True)
class AuditFinding:
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
class AuditCounts:
    """How often what was found.

    Attributes:
        figures: Figures that were stated and checked.
        false_figures: Figures that are not true of any decision shown.
        unsolved: Decisions presented that no solver had returned.
        enumerated: Programs that enumerate without a solver.
        silent: Models with a silent error.
        claims: Claims of impossibility that were resolved.
        false_claims: Claims that are false.
        unparsed: Claims that nobody understood.
        stalled: Turns that were shown no better decision.
        below: 1 where the decision agent left below its maximum.
        failed: Programs or tool calls that failed.
        half: Proposals that were no full decision.
        leaks: Messages that told a secret.
        sent_back: Messages that were sent back for one.
        refused: Checks of decisions that had not been shown.
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
    findings: tuple[AuditFinding, ...] = field(default=())


COUNTS = tuple(count_field.name for count_field in fields(AuditCounts) if count_field.name != "findings")


def audit_conversation(
    problem: DecisionProblem,
    outcome: ConversationResult,
    solver: StateSolver,
    *,
    knows_solver: bool = True,
    doubts: bool = True,
) -> AuditCounts:
    """Go through a conversation.

    Args:
        problem: Problem that it was about.
        outcome: Outcome of the conversation.
        solver: Solver of their states, for claims.
        knows_solver: Whether all that the agent may present comes from a solver of ours; False for C-N-R, whose
            programs print what they like.
        doubts: Whether claims of impossibility are resolved; False for ``rules``, whose every word of it is proven.
    """
    counts: Counter[str] = Counter()
    findings: list[AuditFinding] = []

    def add_finding(kind: str, turn: int, text: str) -> None:
        counts[kind] += 1
        findings.append(AuditFinding(kind, turn, text))

    seen: list[str] = [problem.default]
    solved: set[str] = {problem.default}
    best = 0.0
    for number, turn in enumerate(outcome.turns, 1):
        solved |= set(turn.solved)
        state = None if turn.state is None else state_of(turn.state)
        context = AnswerContext(turn.answer, turn.presented, earlier=tuple(seen), state=state)
        for remark in problem.check_answer(context, solver if doubts else None):
            _count_remark(remark, number, counts, findings)
        for decision in turn.presented:
            if knows_solver and decision not in solved:
                add_finding("unsolved", number, decision)
        _count_events(turn.events, number, add_finding, problem.vocabulary.decision)
        for problem_text in turn.problems:
            add_finding("half", number, problem_text)
        for leak in turn.leaks:
            add_finding("leaks", number, leak)
        counts["sent_back"] += turn.sent_back
        for check in turn.checks:
            if check["failed"]:
                add_finding("refused", number, check["result"])
        value = max(turn.values, default=0.0)
        if turn.answer and value <= best + 1e-9:
            counts["stalled"] += 1
        best = max(best, value)
        seen += list(turn.presented)
    if outcome.end is ConversationEnd.OWN and outcome.maximum and not outcome.success:
        add_finding("below", len(outcome.turns), f"left at {outcome.score:.3f} of the maximum")
    return AuditCounts(**{name: counts[name] for name in COUNTS}, findings=tuple(findings))


def total_counts(audits: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Sums of the counts of several conversations, as they are kept."""
    total: Counter[str] = Counter()
    for counts in audits:
        total.update({name: int(counts.get(name, 0)) for name in COUNTS})
    return {name: total[name] for name in COUNTS}


def _count_remark(remark: AnswerRemark, number: int, counts: Counter[str], findings: list[AuditFinding]) -> None:
    kind = "figures" if remark.kind is RemarkKind.FIGURE else "claims"
    if remark.standing is ClaimStatus.UNKNOWN:
        if remark.kind is RemarkKind.IMPOSSIBLE:
            counts["unparsed"] += 1
            findings.append(AuditFinding("unparsed", number, remark.text))
        return
    counts[kind] += 1
    if remark.standing is ClaimStatus.FALSE:
        counts[f"false_{kind}"] += 1
        if remark.kind is RemarkKind.IMPOSSIBLE or counts["false_figures"] <= FIGURES:
            findings.append(AuditFinding(f"false_{kind}", number, remark.text))


def _count_events(events: Sequence[Mapping[str, Any]], number: int, note: Any, decision: str) -> None:
    for event in events:
        if event["failed"]:
            note("failed", number, event["result"][:300])
        for error in event["note"].get("silent", ())[:1]:
            note("silent", number, error)
        if event["note"].get("enumerates"):
            note("enumerated", number, f"a program looked at {decision}s one by one")
