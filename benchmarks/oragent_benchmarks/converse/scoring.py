"""Scores of an evaluation: findings in a conversation, means by group, and paired contrasts of contestants."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from statistics import fmean
from typing import Any

from oragent._base import statistics
from oragent._base.errors import ConfigError
from oragent_benchmarks.converse.conversation import ConversationEnd, ConversationResult
from oragent_benchmarks.converse.decision import DecisionProblem
from oragent_benchmarks.success_shares import mcnemar, success_share

MEASURED = ("score", "success", "turns", "calls")
# Properties that both cases of a pair share.
DECIDER = ("utility", "role", "style", "feedback")


@dataclass(frozen=True)
class AuditFinding:
    """A problem found in a conversation."""

    # Kind of finding, a name of ``COUNTS``.
    kind: str
    # Number of the turn, from 1.
    turn: int
    # Description of the finding; untrusted text.
    text: str


@dataclass(frozen=True)
class AuditCounts:
    """Number of findings of each kind."""

    # Number of presented decisions that no solver returned.
    unsolved: int = 0
    # Number of programs that enumerate decisions without a solver.
    enumerated: int = 0
    # Number of models with a silent error.
    silent: int = 0
    # Number of turns without a better decision.
    stalled: int = 0
    # 1 if the decision agent left below its maximum.
    below: int = 0
    # Number of failed programs or tool calls.
    failed: int = 0
    # Number of incomplete proposals of decisions.
    half: int = 0
    # Number of messages that revealed a secret.
    leaks: int = 0
    # Number of messages that were returned because of a secret.
    sent_back: int = 0
    # Number of checks of decisions that were not presented.
    refused: int = 0
    findings: tuple[AuditFinding, ...] = field(default=())


COUNTS = tuple(count_field.name for count_field in fields(AuditCounts) if count_field.name != "findings")


@dataclass(frozen=True)
class Scored:
    """Result of one conversation, or of a rule in place of it."""

    agent: str
    paradigm: str
    # Name of the optimisation agent's language model. Empty for rules.
    model: str
    # Position of the decision agent's utility in its set.
    utility: int
    # Traits of the decision agent by name, such as its preferences.
    traits: Mapping[str, str]
    # Role of the decision agent. Empty if it has no effect, as with the default decision.
    role: str
    # Style of the decision agent, vague or precise. Empty if it has no effect.
    style: str
    # Feedback to the decision agent, binary or rich. Empty if it has no effect.
    feedback: str
    # Utility divided by the greatest possible one, 0 to 1.
    score: float
    success: bool
    turns: int
    calls: int


GROUPS = tuple(field.name for field in fields(Scored) if field.name not in (*MEASURED, "traits"))
VARIED = tuple(name for name in GROUPS if name not in DECIDER)


def audit_conversation(
    problem: DecisionProblem,
    outcome: ConversationResult,
    *,
    knows_solver: bool = True,
) -> AuditCounts:
    """Audit a conversation.

    Args:
        problem: Problem of the conversation.
        outcome: Outcome of the conversation.
        knows_solver: Whether all presented decisions come from oragent's solver. False for C-N-R, whose programs can
            print anything.
    """
    counts: Counter[str] = Counter()
    findings: list[AuditFinding] = []

    def add_finding(kind: str, turn: int, text: str) -> None:
        counts[kind] += 1
        findings.append(AuditFinding(kind, turn, text))

    solved: set[str] = {problem.default}
    best = 0.0
    for number, turn in enumerate(outcome.turns, 1):
        solved |= set(turn.solved)
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
    if outcome.end is ConversationEnd.OWN and outcome.maximum and not outcome.success:
        add_finding("below", len(outcome.turns), f"left at {outcome.score:.3f} of the maximum")
    return AuditCounts(**{name: counts[name] for name in COUNTS}, findings=tuple(findings))


def total_counts(audits: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return the sums of the stored counts of several conversations."""
    total: Counter[str] = Counter()
    for counts in audits:
        total.update({name: int(counts.get(name, 0)) for name in COUNTS})
    return {name: total[name] for name in COUNTS}


def _count_events(events: Sequence[Mapping[str, Any]], number: int, note: Any, decision: str) -> None:
    for event in events:
        if event["failed"]:
            note("failed", number, event["result"][:300])
        for error in event["note"].get("silent", ())[:1]:
            note("silent", number, error)
        if event["note"].get("enumerates"):
            note("enumerated", number, f"a program looked at {decision}s one by one")


@dataclass(frozen=True)
class GroupMeans:
    """Means of a group."""

    cases: int
    score: statistics.MeanInterval
    success: statistics.MeanInterval
    turns: float
    calls: float


@dataclass(frozen=True)
class Contrast:
    """Comparison of two sides, paired by decision agent."""

    better: str
    other: str
    # Number of common decision agents.
    pairs: int
    # Mean score of each side over the pairs, the better one first.
    scores: tuple[float, float]
    # Share of successes of each side over the pairs.
    successes: tuple[float, float]
    # Adjusted p-value of a one-sided sign-flip test of scores. None for fewer than two pairs.
    score_p: float | None
    # Adjusted p-value of a one-sided exact McNemar test of success.
    success_p: float | None


def summarize_groups(cases: Iterable[Scored], by: Sequence[str]) -> dict[tuple[str, ...], GroupMeans]:
    """Return the means of each group with bootstrap intervals. Groups are in order of first appearance.

    Args:
        cases: Cases to summarise.
        by: Attributes of ``Scored``, or traits, whose values define a group. Empty means one group of all cases.
    """
    cases = tuple(cases)
    columns = (*GROUPS, *dict.fromkeys(name for case in cases for name in case.traits))
    unknown = [name for name in by if name not in columns]
    if unknown:
        raise ConfigError(f"cannot group by {unknown[0]!r}; expected some of {', '.join(columns)}")
    groups: dict[tuple[str, ...], list[Scored]] = {}
    for case in cases:
        key = tuple(str(getattr(case, name) if name in GROUPS else case.traits.get(name, "")) for name in by)
        groups.setdefault(key, []).append(case)
    return {
        key: GroupMeans(
            len(group),
            statistics.bootstrap_mean([case.score for case in group]),
            success_share([case.success for case in group]),
            fmean(case.turns for case in group),
            fmean(case.calls for case in group),
        )
        for key, group in groups.items()
    }


def contrast_sides(cases: Iterable[Scored], by: str, better: str) -> list[Contrast]:
    """Test whether one side is better than each of the others. p-values are adjusted by Holm's method.

    If the cases of a side have no role, style or feedback, as with the default decision, they are compared with every
    decision agent of the same utility.

    Raises:
        ConfigError: ``by`` is unknown, a side is missing or has no pairs, or a decision agent is repeated.
    """
    if by not in VARIED:
        raise ConfigError(f"cannot contrast by {by!r}; expected one of {', '.join(VARIED)}")
    sides: dict[str, list[Scored]] = {}
    for case in cases:
        sides.setdefault(str(getattr(case, by)), []).append(case)
    if better not in sides:
        raise ConfigError(f"no case of {by} {better!r}; there are {', '.join(map(repr, sides)) or 'none at all'}")
    others = [side for side in sides if side != better]
    paired = [_pair_cases(sides[better], sides[rival], f"{by} {rival!r}") for rival in others]
    score_ps, success_ps = (
        statistics.adjust_holm([test(pairs) for pairs in paired]) for test in (_score_p, _success_p)
    )
    return [
        Contrast(
            better,
            rival,
            len(pairs),
            (fmean(ours.score for ours, _ in pairs), fmean(theirs.score for _, theirs in pairs)),
            (fmean(ours.success for ours, _ in pairs), fmean(theirs.success for _, theirs in pairs)),
            score_p,
            success_p,
        )
        for rival, pairs, score_p, success_p in zip(others, paired, score_ps, success_ps, strict=True)
    ]


Pair = tuple[Scored, Scored]


def _pair_cases(ours: Sequence[Scored], theirs: Sequence[Scored], name: str) -> list[Pair]:
    """Return every case of the first side with the case of the second side that had the same decision agent."""
    shared = [field for field in DECIDER if all(getattr(case, field) != "" for case in theirs)]
    matching = {_decider_key(case, shared): case for case in theirs}
    whole = {_decider_key(case, DECIDER) for case in ours}
    if len(matching) < len(theirs) or len(whole) < len(ours):
        raise ConfigError(f"a decision agent is repeated in the contrast with {name}; expected one case per side")
    pairs = [(case, matching[key]) for case in ours if (key := _decider_key(case, shared)) in matching]
    if not pairs:
        raise ConfigError(
            f"no decision agent is on both sides of the contrast with {name}; expected the same utilities"
        )
    return pairs


def _decider_key(case: Scored, shared: Sequence[str]) -> tuple[object, ...]:
    return tuple(getattr(case, name) for name in shared)


def _score_p(pairs: Sequence[Pair]) -> float | None:
    return statistics.sign_flip_test(
        [ours.score - theirs.score for ours, theirs in pairs], statistics.Alternative.GREATER
    )


def _success_p(pairs: Sequence[Pair]) -> float | None:
    return mcnemar(
        [ours.success for ours, _ in pairs], [theirs.success for _, theirs in pairs], statistics.Alternative.GREATER
    )
