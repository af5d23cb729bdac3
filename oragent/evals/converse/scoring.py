"""Scores of an evaluation: findings in a conversation, means by group, and paired contrasts of contestants."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from statistics import fmean
from typing import Any

from oragent._base import statistics
from oragent._base.errors import ConfigError
from oragent.converse.conversation import ConversationEnd, ConversationResult
from oragent.converse.decision import DecisionProblem

MEASURED = ("score", "success", "turns", "calls")
# properties that a pair shares
DECIDER = ("utility", "role", "style", "feedback")


@dataclass(frozen=True)
class AuditFinding:
    """Something that went wrong."""

    # kind of finding, a name of ``COUNTS``
    kind: str
    # number of the turn, from 1
    turn: int
    # description of the finding; untrusted text
    text: str


@dataclass(frozen=True)
class AuditCounts:
    """Number of findings of each kind."""

    # decisions presented that no solver had returned
    unsolved: int = 0
    # programs that enumerate without a solver
    enumerated: int = 0
    # models with a silent error
    silent: int = 0
    # turns that were shown no better decision
    stalled: int = 0
    # 1 where the decision agent left below its maximum
    below: int = 0
    # programs or tool calls that failed
    failed: int = 0
    # proposals that were no full decision
    half: int = 0
    # messages that told a secret
    leaks: int = 0
    # messages that were sent back for one
    sent_back: int = 0
    # checks of decisions that had not been shown
    refused: int = 0
    findings: tuple[AuditFinding, ...] = field(default=())


COUNTS = tuple(count_field.name for count_field in fields(AuditCounts) if count_field.name != "findings")


def audit_conversation(
    problem: DecisionProblem,
    outcome: ConversationResult,
    *,
    knows_solver: bool = True,
) -> AuditCounts:
    """Go through a conversation.

    Args:
        problem: Problem that it was about.
        outcome: Outcome of the conversation.
        knows_solver: Whether all that the agent may present comes from a solver of ours; False for C-N-R, whose
            programs print what they like.
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
    """Sums of the counts of several conversations, as they are kept."""
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
class Scored:
    """Result of one conversation, or of a rule in its place."""

    agent: str
    paradigm: str
    # name of the optimisation agent's language model; empty for rules
    model: str
    # position of the decision agent's utility in its set
    utility: int
    # what else is known of the decision agent's wishes, by name, such as what it cares for
    traits: Mapping[str, str]
    # role that the decision agent plays; empty where that makes no difference, as with the default
    role: str
    # style of the decision agent, vague or precise; empty likewise
    style: str
    # feedback to the decision agent, binary or rich; empty likewise
    feedback: str
    # utility over the greatest possible, 0 to 1
    score: float
    success: bool
    turns: int
    calls: int


GROUPS = tuple(field.name for field in fields(Scored) if field.name not in (*MEASURED, "traits"))
VARIED = tuple(name for name in GROUPS if name not in DECIDER)


@dataclass(frozen=True)
class GroupMeans:
    """The means of a group."""

    cases: int
    score: statistics.MeanInterval
    success: statistics.MeanInterval
    turns: float
    calls: float


@dataclass(frozen=True)
class Contrast:
    """One side against another, paired by decision agent."""

    better: str
    other: str
    # number of decision agents that both sides had
    pairs: int
    # mean score of either side over the pairs, the better one first
    scores: tuple[float, float]
    # share of successes of either side over the pairs
    successes: tuple[float, float]
    # one-sided sign-flip test of scores, adjusted; None for fewer than two pairs
    score_p: float | None
    # one-sided exact McNemar test of success, adjusted
    success_p: float | None


def summarize_groups(cases: Iterable[Scored], by: Sequence[str]) -> dict[tuple[str, ...], GroupMeans]:
    """The means of each group with bootstrap intervals, groups in the order in which they first appear.

    Args:
        cases: Cases to sum up.
        by: Attributes of ``Scored``, or traits, whose values make a group; none for one group of all.
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
            statistics.success_share([case.success for case in group]),
            fmean(case.turns for case in group),
            fmean(case.calls for case in group),
        )
        for key, group in groups.items()
    }


def contrast_sides(cases: Iterable[Scored], by: str, better: str) -> list[Contrast]:
    """Test whether one side is better than each of the others, p-values adjusted by Holm's method.

    A side whose cases leave role, style or feedback open, such as the default, stands against every decision
    agent of the same utility.

    Raises:
        ConfigError: ``by`` is something else, a side is missing or has no pair, or a decision agent comes twice.
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
    """Every case of ours with the one of the other side that had the same decision agent."""
    shared = [field for field in DECIDER if all(getattr(case, field) != "" for case in theirs)]
    matching = {_decider_key(case, shared): case for case in theirs}
    whole = {_decider_key(case, DECIDER) for case in ours}
    if len(matching) < len(theirs) or len(whole) < len(ours):
        raise ConfigError(f"a decision agent comes twice in the contrast with {name}; expected one case a side")
    pairs = [(case, matching[key]) for case in ours if (key := _decider_key(case, shared)) in matching]
    if not pairs:
        raise ConfigError(f"no decision agent met both sides of the contrast with {name}; expected the same utilities")
    return pairs


def _decider_key(case: Scored, shared: Sequence[str]) -> tuple[object, ...]:
    return tuple(getattr(case, name) for name in shared)


def _score_p(pairs: Sequence[Pair]) -> float | None:
    return statistics.sign_flip_test(
        [ours.score - theirs.score for ours, theirs in pairs], statistics.Alternative.GREATER
    )


def _success_p(pairs: Sequence[Pair]) -> float | None:
    return statistics.mcnemar(
        [ours.success for ours, _ in pairs], [theirs.success for _, theirs in pairs], statistics.Alternative.GREATER
    )
