"""Findings about a program's model and solution, from a checker that was written without the program."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from oragent.formulate.aims import StatedAim, match_aims, staged_objectives
from oragent.formulate.model_comparison import RELATIONS, SENSES, ModelComparison, Ruling
from oragent.formulate.options import ACCEPTED_GAP, Options
from oragent.formulate.rules import RuleComparison, RuleOutcome
from oragent.formulate.running import ExecutionResult, Report
from oragent.modelling.data.display import number, plain, quoted

# Largest distance of a value from a whole number.
WHOLE = 1e-5
MAX_FINDINGS = 20
NOT_COMPARED = "the rows of the checker could not be compared with the model in time, so that a better plan may exist"


class CheckStatus(StrEnum):
    """Result of a check."""

    PASSED = "passed"
    FAILED = "failed"
    # No checker runs, or it has no entries. Ranks below ``passed``.
    UNCHECKED = "unchecked"


class Reason(StrEnum):
    """Kind of a finding."""

    VIOLATED = "violated row"
    INTEGRALITY = "integrality"
    OBJECTIVE = "objective"
    FORBIDS = "forbids too much"
    ALLOWS = "allows too much"


RULED = {Ruling.FORBIDS: Reason.FORBIDS, Ruling.ALLOWS: Reason.ALLOWS, Ruling.OBJECTIVE: Reason.OBJECTIVE}


@dataclass(frozen=True)
class CheckFinding:
    """Disagreement between program and checker.

    Attributes:
        name: Name of the check, or of the program's row.
        text: Feedback for the revision of the program.
        left, right: Both sides of a row; None if the finding is not about a row.
        sentence: Sentence of the problem that the checker names; may be empty.
    """

    reason: Reason
    name: str
    text: str
    left: float | None = None
    right: float | None = None
    sentence: str = ""

    @property
    def violation(self) -> float | None:
        """Distance between both sides of a row."""
        if self.left is None or self.right is None:
            return None
        return abs(self.left - self.right)


@dataclass(frozen=True)
class Checked:
    """Result of a check with its findings.

    Attributes:
        findings: Disagreements, the rows first.
        count: Number of entries of the checker.
        met: Number of entries that hold.
        confirmed: Whether solving the checker's own rows gives the result of the program: an equal optimum, or
            both infeasible, or both unbounded.
        compared: Whether these rows could be compared with the program's model, up to the accepted gap; always true for
            options that do not compare them.
        note: Reason why a part was not checked; may be empty.
        sentences: Sentence of the problem by the name of the program's row that states it.
        aims: Aims of the checker, with their values at the solution.
        compared_aims: Number of the most important aims of the program whose optima were compared; None in folders of
            older versions.
        rules: Rules of both sides, one by one; empty unless they were compared.
    """

    state: CheckStatus
    findings: tuple[CheckFinding, ...] = ()
    count: int = 0
    met: int = 0
    confirmed: bool = False
    compared: bool = False
    note: str = ""
    sentences: Mapping[str, str] = field(default_factory=dict, hash=False)
    aims: tuple[StatedAim, ...] = ()
    compared_aims: int | None = None
    rules: tuple[RuleComparison, ...] = ()

    @property
    def feedback(self) -> str:
        """Findings as text for the supervisor."""
        return "\n".join(f"- {finding.text}" for finding in self.findings[:MAX_FINDINGS])


def judge(ran: ExecutionResult, report: Report, options: Options) -> Checked:
    """Turn the report of a checker into findings."""
    if report.problem:
        return Checked(CheckStatus.UNCHECKED, note=f"the checker does not run: {report.problem}")
    comparison = report.comparison if options.solve_checks else None
    aims = comparison.aims if comparison is not None and comparison.aims else _match_numbers(ran, report)
    findings = [*_check_entries(report, options), *_check_aims(ran, report, aims, options)]
    broken = len(findings)
    if comparison is not None and comparison.ruling in RULED:
        reason = RULED[comparison.ruling]
        names = [finding.name for finding in findings]
        if reason is not Reason.ALLOWS or not set(comparison.names) <= set(names) or not findings:
            findings.append(
                CheckFinding(
                    reason, comparison.names[0] if comparison.names else "", _comparison_text(reason, comparison.reason)
                )
            )
    findings += _check_rules(report.rules, {finding.name for finding in findings})
    confirmed = comparison is not None and comparison.ruling is Ruling.AGREES
    compared = not options.solve_checks or _is_compared(comparison, options)
    note = report.note or ("" if compared else (comparison.reason if comparison else "") or NOT_COMPARED)
    if not report.entries and comparison is None:
        return Checked(CheckStatus.UNCHECKED, tuple(findings), note=note or "the checker has nothing to say of it")
    state = CheckStatus.FAILED if findings else CheckStatus.PASSED
    count = len(report.entries)
    return Checked(
        state,
        tuple(findings),
        count,
        count - broken,
        confirmed and not findings,
        compared,
        note,
        dict(report.sentences),
        aims,
        len(aims) if comparison is None else comparison.compared_aims,
        report.rules,
    )


def _check_rules(rules: Sequence[RuleComparison], named: Collection[str]) -> Iterator[CheckFinding]:
    """Yield a finding for each rule that one side lacks, if no other finding names it."""
    reasons = {RuleOutcome.MISSING: Reason.ALLOWS, RuleOutcome.ADDED: Reason.FORBIDS}
    for rule in rules:
        if rule.outcome in reasons and rule.name not in named:
            text = f"{quoted(rule.name)}{_sentence_text(rule.sentence)}: {rule.text}"
            yield CheckFinding(reasons[rule.outcome], rule.name, text, sentence=rule.sentence)


def _match_numbers(ran: ExecutionResult, report: Report) -> tuple[StatedAim, ...]:
    """Return the aims of a checker that is known by its numbers alone."""
    assert ran.milp is not None
    stated = [
        StatedAim(name, SENSES[relation], value) for name, value, relation, _, _ in report.entries if relation in SENSES
    ]
    point = ran.solution.values if ran.solution is not None and ran.solution.status.has_point else None
    return match_aims(staged_objectives(ran.milp), point, stated)


def _is_compared(comparison: ModelComparison | None, options: Options) -> bool:
    if comparison is None:
        return False
    if comparison.ruling is not Ruling.UNDECIDED:
        return True
    return comparison.within is not None and comparison.within <= (options.gap or ACCEPTED_GAP)


def _check_entries(report: Report, options: Options) -> Iterator[CheckFinding]:
    for name, left_side, relation, right, sentence in report.entries:
        why = _sentence_text(sentence)
        if relation == "integer":
            if not _is_whole(left_side, options):
                nearest = float(round(left_side)) if math.isfinite(left_side) else None
                text = _fraction_text(name, why, left_side)
                yield CheckFinding(Reason.INTEGRALITY, name, text, left_side, nearest, sentence)
        elif relation in RELATIONS and not _relation_holds(left_side, RELATIONS[relation], right, options):
            yield CheckFinding(
                Reason.VIOLATED,
                name,
                _violation_text(name, why, left_side, RELATIONS[relation], right),
                left_side,
                right,
                sentence,
            )


def _sentence_text(sentence: str) -> str:
    return f" ({plain(sentence, 300)})" if sentence else ""


def _check_aims(
    ran: ExecutionResult, report: Report, aims: Sequence[StatedAim], options: Options
) -> Iterator[CheckFinding]:
    """Compare the aims of the checker with the objectives of the program to which they correspond.

    Aims that correspond to none are compared by their optima, because a program may weight them.
    """
    assert ran.milp is not None
    whole = any(relation == "integer" for _, _, relation, _, _ in report.entries)
    if options.published and whole and ran.objective is not None:
        nearest = round(ran.objective)
        if not math.isclose(ran.objective, nearest):
            text = _fraction_text("objective", "", ran.objective)
            yield CheckFinding(Reason.INTEGRALITY, "objective", text, ran.objective, float(nearest))
    objectives = staged_objectives(ran.milp)
    has_point = ran.solution is not None and ran.solution.status.has_point
    stated = [entry for entry in report.entries if entry[2] in SENSES]
    for position, aim in enumerate(aims):
        if aim.aim is None:
            continue
        objective = objectives[aim.aim]
        sentence = stated[position][4] if position < len(stated) else ""
        why = _sentence_text(sentence)
        if (objective.sense is not aim.sense) is not aim.is_negated:
            text = (
                f"the objective {quoted(aim.name)}{why} is to {aim.sense}; the program's model is to {objective.sense}"
            )
            yield CheckFinding(Reason.OBJECTIVE, aim.name, text, sentence=sentence)
        elif has_point and aim.value is not None:
            assert ran.solution is not None
            value = objective.at(ran.solution.values) * (-1 if aim.is_negated else 1)
            if not _relation_holds(aim.value, "=", value, options):
                text = (
                    f"the objective {quoted(aim.name)}{why} has the value {number(aim.value)} at this solution; by "
                    f"the program's model it is {number(value)}"
                )
                yield CheckFinding(Reason.OBJECTIVE, aim.name, text, aim.value, value, sentence)


def _violation_text(name: str, why: str, left_side: float, relation: str, right: float) -> str:
    return (
        f"{quoted(name)}{why}: {number(left_side)} {relation} {number(right)} does not hold, it is broken by "
        f"{number(abs(left_side - right))}. For this solution to be right the constraint would have to be changed to "
        f"... {relation} {number(left_side)}"
    )


def _fraction_text(name: str, why: str, value: float) -> str:
    return (
        f"{quoted(name)}{why}: {number(value)} is no whole number. This solution would be right only if the integer "
        "constraint were removed: is it missing in the program?"
    )


def _is_whole(value: float, options: Options) -> bool:
    if options.published:
        return math.isfinite(value) and math.isclose(value, round(value))
    return math.isfinite(value) and abs(value - round(value)) <= max(WHOLE, options.absolute)


def _relation_holds(left_side: float, relation: str, right: float, options: Options) -> bool:
    over = left_side - right
    if math.isnan(over):
        return False
    # An infinite side has an infinite tolerance.
    is_finite = math.isfinite(over)
    allowed = max(options.absolute, options.relative * max(1.0, abs(left_side), abs(right))) if is_finite else 0.0
    return {"<=": over <= allowed, ">=": over >= -allowed, "=": abs(over) <= allowed}[relation]


def _comparison_text(reason: Reason, why: str) -> str:
    if reason is Reason.FORBIDS:
        return f"the program forbids too much: {why}. Cite the sentence of the problem that demands this, or drop it"
    if reason is Reason.OBJECTIVE:
        return f"the objective is not the problem's: {why}"
    return f"the program allows too much: {why}"
