"""Statements of an agent about schools: figures recomputed, and what is said to be impossible solved again."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf

from oragent.converse.decision import AnswerRemark, ClaimStatus, RemarkKind
from oragent.converse.problems.district import District, Features, format_clock
from oragent.converse.problems.exact import (
    FREE,
    Constraints,
    ObjectiveWeights,
    ScheduleObjective,
    ScheduleOracle,
    ScheduleSolution,
)
from oragent.converse.problems.mentions import (
    AmountRelation,
    MentionedAmount,
    Named,
    ParsedSentence,
    Unit,
    find_placements,
    parse_sentence,
    split_sentences,
)

MEAN = re.compile(r"(?i)\b(?:deviation|average|mean|overall|per school)\b")
LOAD = re.compile(r"(?i)\b(?:loads?|busiest|peak|max(?:imum)?|any (?:one|single))\b")
# sentences about what is not, or not yet, the case
OPEN = re.compile(
    r"(?i)\b(?:if|would|could|might|may|can|cannot|option|alternative(?:ly)?|instead|suppose|consider|possible|impossible|"
    r"feasible|infeasible|requires?|no (?:schedule|solution|way))\b|can['’]t|\?"
)


class Truth(StrEnum):
    """What a stated figure is worth."""

    # of a schedule presented with it
    TRUE = "true"
    # of today's times, or of a schedule presented before
    EARLIER = "earlier"
    FALSE = "false"
    # a bound, a difference, a supposition, or not understood
    UNCHECKED = "unchecked"


@dataclass(frozen=True)
class StatedFigure:
    """A figure that was stated."""

    # kind of figure: ``load``, ``deviation``, ``time``, ``students``, ``change``, or ``unknown``
    kind: str
    # figure as it was said, such as ``2453 students``
    told: str
    sentence: str
    truth: Truth


STANDINGS = {Truth.FALSE: ClaimStatus.FALSE, Truth.UNCHECKED: ClaimStatus.UNKNOWN}
# what "below" takes from a bound; less than any two values differ
STRICT = 1e-6
CANNOT = r"(?:can(?:not| not|['’]t)|could(?: not|n['’]t)|unable to|(?:not possible|impossible) to)"
DOES_NOT = r"(?:do(?:es)?(?: not|n['’]t)|did(?: not|n['’]t)|w(?:ill|ould) not|won['’]t|wouldn['’]t)"
DENIED = re.compile(
    rf"(?i)\b(?:{CANNOT}|(?:not|\w{{1,5}}n['’]t) (?:possible|feasible|achievable|attainable)|not be (?:met|satisfied)|"
    r"(?:is not|isn['’]t|are not|aren['’]t) (?:a|any) (?:\w+ )?(?:schedule|solution|way|option|arrangement)s?|"
    r"impossible|infeasib\w+|unfeasible|unattainable|unachievable|clash(?:es)?|"
    r"no (?:feasible |possible |valid )?(?:schedule|solution|way|option|arrangement)s?)\b"
)
NO_BETTER = re.compile(
    rf"(?i)\b(?:(?:{CANNOT}|{DOES_NOT}) (?:\w+ )?(?:be )?(?:lower|reduc|decreas|improv|bring|get|push|cut|help)\w*|"
    r"no (?:lower|smaller|better|further|additional|improvement|reduction)|not (?:any )?(?:lower|better) than)\b"
)
LEAST = re.compile(
    r"(?i)\b(?:lowest|least|smallest|minimum)\b(?=[^.;]{0,60}\b(?:possible|achievable|attainable|feasible|can|reach\w*)\b)|"
    r"\b(?:possible|achievable|attainable|feasible)\s(?:minimum|lowest)\b"
)
REQUIRED = re.compile(r"(?i)\b(?:requires?|needs?|takes?|means?|forces?)\b(?=.*\bat least\b)")
WITHOUT = re.compile(r"(?i)\bwithout\b")
IN_FORCE = re.compile(
    r"(?i)\b(?:model|(?:these|those|current|all|both|the) (?:\w+ )?(?:constraint|bound|limit|requirement|condition)s)\b"
)
# no claim at all
DOUBTED = re.compile(r"(?i)\bnot (?:impossible|infeasible)\b|\?")
ABOUT_LOAD = re.compile(r"(?i)\b(?:loads?|busiest|peak|students)\b")
ABOUT_DEVIATION = re.compile(r"(?i)\b(?:deviation|(?:average|mean|overall) (?:change|shift))\b")
UNITS = {ScheduleObjective.LOAD: Unit.STUDENTS, ScheduleObjective.DEVIATION: Unit.MINUTES}
TURNED = {AmountRelation.ABOVE: AmountRelation.AT_MOST, AmountRelation.AT_LEAST: AmountRelation.BELOW}


def check_figures(
    district: District, text: str, presented: Sequence[str], earlier: Sequence[str] = ()
) -> tuple[StatedFigure, ...]:
    """Every figure of a message: load, deviation, loads of single times, times and changes of schools.

    Args:
        district: District whose schedules these are.
        text: Text of the message; tables of schools are left to ``read``, which takes them as the proposal itself.
        presented: Schedules that the message presents.
        earlier: Schedules presented before, the default one among them.

    Returns:
        In the order of the text; a figure that is not understood is there too, unchecked.
    """
    judge = _Judge(district, tuple(presented), tuple(earlier))
    return tuple(
        figure
        for sentence in split_sentences(text)
        if (parsed := parse_sentence(district, sentence)).named or parsed.amounts
        for figure in judge.sentence(parsed)
    )


@dataclass(frozen=True)
class _Values:
    """What a figure truly is: in schedules presented, and before."""

    presented: tuple[float, ...]
    earlier: tuple[float, ...]

    def truth(self, fits: Callable[[float], bool], supposed: bool) -> Truth:
        if any(map(fits, self.presented)):
            return Truth.TRUE
        if any(map(fits, self.earlier)):
            return Truth.EARLIER
        if supposed:
            return Truth.UNCHECKED
        return Truth.FALSE


@dataclass(frozen=True)
class _Judge:
    district: District
    presented: tuple[str, ...]
    earlier: tuple[str, ...]

    def sentence(self, parsed: ParsedSentence) -> Iterator[StatedFigure]:
        supposed = bool(OPEN.search(parsed.text))
        for amount in parsed.amounts:
            kind, values = self._judge_amount(parsed, amount)
            checked = values is not None and (amount.relation is AmountRelation.EQUAL or kind == "change")
            if values and checked:
                truth = values.truth(amount.fits, supposed)
            else:
                truth = Truth.UNCHECKED
            yield StatedFigure(kind, f"{amount.value:g} {amount.unit}", parsed.text, truth)
        for school, time in find_placements(parsed):
            statement = f"{self.district.schools[school].name} {format_clock(time.minutes or 0)}"
            yield StatedFigure("time", statement, parsed.text, self._judge_time(school, time, supposed))

    def _judge_amount(self, sentence: ParsedSentence, amount: MentionedAmount) -> tuple[str, _Values | None]:
        """What an amount is an amount of, and what that is; of several things in a sentence it may be any."""
        schools = {named.school for named in sentence.named if named.school is not None}
        times = {self.district.times.index(t.minutes) for t in sentence.named if t.minutes in self.district.times}
        if amount.unit is Unit.MINUTES:
            moved = self._compute_values(
                lambda schedule: [abs(self.district.changes(schedule)[school]) for school in schools]
            )
            if schools and (amount.relation is AmountRelation.STEP or not MEAN.search(sentence.text)):
                return "change", moved
            mean = self._compute_values(lambda schedule: [self.district.features(schedule).deviation])
            if MEAN.search(sentence.text):
                return ("deviation", _join_values(mean, moved))
            return ("unknown", None)
        carried = self._compute_values(lambda schedule: [self.district.schools[school].students for school in schools])
        if LOAD.search(sentence.text) or times:
            load = self._compute_values(lambda schedule: [self.district.features(schedule).load])
            at_times = self._compute_values(lambda schedule: [self.district.loads(schedule)[time] for time in times])
            return "load", _join_values(_join_values(load, at_times), carried)
        if schools:
            return ("students", carried)
        return ("unknown", None)

    def _judge_time(self, school: int, time: Named, supposed: bool) -> Truth:
        starts = self._compute_values(lambda schedule: [self.district.times[self.district.chosen(schedule)[school]]])
        earlier = (*starts.earlier, self.district.schools[school].current)
        # "X now starts at 8:40" may be of today or of the schedule: either makes it true.
        return _Values(starts.presented, earlier).truth(lambda true: true == time.minutes, supposed)

    def _compute_values(self, figure: Callable[[str], Sequence[float]]) -> _Values:
        presented = tuple(value for schedule in self.presented for value in figure(schedule))
        return _Values(presented, tuple(value for schedule in self.earlier for value in figure(schedule)))


def _join_values(first: _Values, second: _Values) -> _Values:
    return _Values(first.presented + second.presented, first.earlier + second.earlier)


def figure_remarks(
    district: District, text: str, presented: Sequence[str], earlier: Sequence[str]
) -> Iterator[AnswerRemark]:
    """Every figure of an answer."""
    for stated in check_figures(district, text, presented, tuple(earlier)):
        standing = STANDINGS.get(stated.truth, ClaimStatus.TRUE)
        yield AnswerRemark(RemarkKind.FIGURE, standing, f"{stated.told}: {stated.sentence}")


class ClaimKind(StrEnum):
    """What is said to be impossible."""

    # to meet all constraints
    INFEASIBLE = "infeasible"
    # to lower an objective
    NO_BETTER = "no better"
    # to go below a value that is said to be the least
    LEAST = "least"
    # something, but who knows what
    UNPARSED = "unparsed"


class ClaimVerdict(StrEnum):
    """What a claim is worth."""

    TRUE = "true"
    FALSE = "false"
    UNPARSED = "unparsed"


@dataclass(frozen=True)
class ImpossibilityClaim:
    """A claim of impossibility.

    Attributes:
        constraints: Constraints that the sentence itself names: schools with their times, and bounds.
        objective: Objective that cannot be lowered; None where the claim is about constraints.
        amount: Value that the sentence gives the objective; None where it gives none.
    """

    kind: ClaimKind
    sentence: str
    constraints: Constraints = FREE
    objective: ScheduleObjective | None = None
    amount: MentionedAmount | None = None


@dataclass(frozen=True)
class Resolved:
    """A claim with what a solver says of it."""

    claim: ImpossibilityClaim
    verdict: ClaimVerdict
    # schedule that shows that it is false; None where there is none to show
    witness: ScheduleSolution | None = None


def find_claims(district: District, text: str) -> tuple[ImpossibilityClaim, ...]:
    """Every claim of impossibility in a message, those that are not understood among them."""
    return tuple(
        claim
        for sentence in split_sentences(text)
        if (claim := _parse_claim(district, parse_sentence(district, sentence)))
    )


def resolve_claim(
    claim: ImpossibilityClaim, oracle: ScheduleOracle, in_force: Constraints, incumbent: Features
) -> Resolved:
    """Solve what a claim says cannot be solved.

    Args:
        claim: Claim to resolve.
        oracle: Oracle that knows the district.
        in_force: Constraints of the model when it was made; what the claim names replaces those on the same school and
            objective, as with the tools.
        incumbent: Features of the schedule last presented, which "no lower" compares with where the claim gives no
            value.
    """
    if claim.kind is ClaimKind.UNPARSED:
        return Resolved(claim, ClaimVerdict.UNPARSED)
    if claim.objective is None:
        solution = oracle.least_cost(_merge_constraints(in_force, claim))
        return Resolved(claim, ClaimVerdict.TRUE if solution is None else ClaimVerdict.FALSE, solution)
    solution = _solve_least(claim.objective, oracle, _merge_constraints(in_force, claim))
    if claim.kind is ClaimKind.NO_BETTER:
        if claim.amount:
            value = claim.amount.value
        else:
            value = _objective_value(incumbent, claim.objective)
        lower = solution is not None and _objective_value(solution.features, claim.objective) < value - STRICT
        if lower:
            return Resolved(claim, ClaimVerdict.FALSE, solution)
        return Resolved(claim, ClaimVerdict.TRUE)
    # A least value may be meant of what the sentence names alone, too.
    for least in (solution, _solve_least(claim.objective, oracle, claim.constraints)):
        if least is not None and claim.amount and claim.amount.fits(_objective_value(least.features, claim.objective)):
            return Resolved(claim, ClaimVerdict.TRUE)
    return Resolved(claim, ClaimVerdict.FALSE, solution)


def _parse_claim(district: District, sentence: ParsedSentence) -> ImpossibilityClaim | None:
    least, no_better, denied = (pattern.search(sentence.text) for pattern in (LEAST, NO_BETTER, DENIED))
    required = REQUIRED.search(sentence.text)
    if not (least or no_better or denied or required) or DOUBTED.search(sentence.text):
        return None
    unparsed = ImpossibilityClaim(ClaimKind.UNPARSED, sentence.text)
    constraints = _parse_constraints(district, sentence, turned=bool(required or WITHOUT.search(sentence.text)))
    if constraints is None:
        return unparsed
    equal = [amount for amount in sentence.amounts if amount.relation is AmountRelation.EQUAL]
    cue = least or no_better
    if cue and not required:
        objective = _nearest_objective(sentence.text, cue.start())
        if objective is None:
            return unparsed
        of_it = [amount for amount in equal if amount.unit is UNITS[objective]]
        if len(of_it) > 1 or (least and not of_it):
            return unparsed
        if _objective_value(constraints, objective) == inf:
            if least:
                kind = ClaimKind.LEAST
            else:
                kind = ClaimKind.NO_BETTER
            others = [amount for amount in equal if amount.unit is not UNITS[objective]]
            return ImpossibilityClaim(
                kind, sentence.text, _with_bounds(constraints, others), objective, of_it[0] if of_it else None
            )
    # "The load cannot be brought below 2,000" is a clash of constraints, the load's bound among them.
    constraints = _with_bounds(constraints, equal)
    if constraints == FREE and not (denied and IN_FORCE.search(sentence.text)):
        return unparsed
    return ImpossibilityClaim(ClaimKind.INFEASIBLE, sentence.text, constraints)


def _parse_constraints(district: District, sentence: ParsedSentence, *, turned: bool) -> Constraints | None:
    """The schools' times and the bounds that a sentence names; None where it names something else too.

    Args:
        district: District whose schools these are.
        sentence: Sentence, taken apart.
        turned: Whether it says that what lies above a bound cannot be avoided ("not without more than 12 minutes"), so
            that what is impossible lies below.
    """
    placed = [(school, time) for school, time in find_placements(sentence) if not time.former]
    if any(time.minutes not in district.times for _, time in placed):
        return None
    if len({school for school, _ in placed}) < len({(school, time.minutes) for school, time in placed}):
        # "not at 9:30, but at 8:40", or "at 7:50 or 8:40"
        return None
    if {named.school for named in sentence.named if named.school is not None} - {school for school, _ in placed}:
        # a school without a time: moved, kept or swapped somehow
        return None
    bounds = []
    for amount in sentence.amounts:
        if turned:
            relation = TURNED.get(amount.relation, amount.relation)
        else:
            relation = amount.relation
        if relation in (AmountRelation.ABOVE, AmountRelation.AT_LEAST, AmountRelation.STEP):
            return None
        if relation is not AmountRelation.EQUAL:
            bounds.append(replace(amount, relation=relation))
    fixed = frozenset((school, district.times.index(time.minutes or 0)) for school, time in placed)
    return _with_bounds(Constraints(fixed=fixed), bounds)


def _with_bounds(constraints: Constraints, amounts: list[MentionedAmount]) -> Constraints:
    for amount in amounts:
        value = amount.value - STRICT * (amount.relation is AmountRelation.BELOW)
        if amount.unit is Unit.STUDENTS:
            constraints = replace(constraints, load=min(value, constraints.load))
        else:
            constraints = replace(constraints, deviation=min(value, constraints.deviation))
    return constraints


def _nearest_objective(sentence: str, cue: int) -> ScheduleObjective | None:
    """The objective that is named next after a place, or else the last one before it."""
    mentions = sorted(
        [(match.start(), ScheduleObjective.LOAD) for match in ABOUT_LOAD.finditer(sentence)]
        + [(match.start(), ScheduleObjective.DEVIATION) for match in ABOUT_DEVIATION.finditer(sentence)]
    )
    after = [objective for start, objective in mentions if start >= cue]
    if after:
        return after[0]
    if mentions:
        return mentions[-1][1]
    return None


def _objective_value(values: Features | Constraints, objective: ScheduleObjective) -> float:
    if objective is ScheduleObjective.LOAD:
        return values.load
    return values.deviation


def _solve_least(
    objective: ScheduleObjective, oracle: ScheduleOracle, constraints: Constraints
) -> ScheduleSolution | None:
    return oracle.least_cost(
        constraints, ObjectiveWeights(1, 0) if objective is ScheduleObjective.LOAD else ObjectiveWeights(0, 1)
    )


def _merge_constraints(in_force: Constraints, claim: ImpossibilityClaim) -> Constraints:
    """The model as the claim would have it; a bound in force on what is to be lowered is no obstacle to that."""
    named = claim.constraints
    schools = {school for school, _ in named.fixed}
    fixed, forbidden = (
        frozenset(choice for choice in choices if choice[0] not in schools)
        for choices in (in_force.fixed, in_force.forbidden)
    )
    if claim.objective is ScheduleObjective.LOAD:
        load = inf
    else:
        load = in_force.load
    if claim.objective is ScheduleObjective.DEVIATION:
        deviation = inf
    else:
        deviation = in_force.deviation
    return Constraints(
        fixed | named.fixed,
        forbidden,
        named.load if named.load < inf else load,
        named.deviation if named.deviation < inf else deviation,
    )


def claim_remarks(
    oracle: ScheduleOracle, text: str, in_force: Constraints | None, incumbent: str
) -> Iterator[AnswerRemark]:
    """Solve again every claim that something is not possible; ``in_force`` is None where nobody knows the state."""
    features = oracle.district.features(incumbent)
    for claim in find_claims(oracle.district, text):
        resolved = resolve_claim(claim, oracle, in_force or Constraints(), features)
        # Without a state nobody knows what "these constraints" are; what a sentence names itself can be solved.
        unknown = in_force is None and claim.constraints == FREE and resolved.verdict is ClaimVerdict.FALSE
        if resolved.verdict is ClaimVerdict.UNPARSED or unknown:
            yield AnswerRemark(RemarkKind.IMPOSSIBLE, ClaimStatus.UNKNOWN, claim.sentence)
        else:
            if resolved.witness:
                shown = f" ({resolved.witness.schedule}, {resolved.witness.features})"
            else:
                shown = ""
            if resolved.verdict is ClaimVerdict.FALSE:
                standing = ClaimStatus.FALSE
            else:
                standing = ClaimStatus.TRUE
            yield AnswerRemark(RemarkKind.IMPOSSIBLE, standing, claim.sentence + shown)
