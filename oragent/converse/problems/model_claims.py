"""Check what an answer states about any model: figures, comparisons, and what is said to be impossible.

A statement is false only where a sentence names a part of the model and the model contradicts what it says of it.
What is not understood is unknown, and so are suppositions that cannot be solved.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite

from oragent._base.errors import ConfigError
from oragent._base.plain import one_line
from oragent.converse.agents.change_commands import VERBS, read_change_command
from oragent.converse.agents.plain_questions import read_question
from oragent.converse.decision import (
    AnswerContext,
    AnswerRemark,
    ClaimStatus,
    DecisionProblem,
    Editable,
    Extremes,
    RemarkKind,
    Solved,
    format_figure,
)
from oragent.converse.model_changes import with_change
from oragent.converse.problems.claims import DENIED, DOUBTED, IN_FORCE, NO_BETTER
from oragent.converse.problems.mentions import AmountRelation, find_relation, split_sentences
from oragent.converse.problems.model_statements import ModelClause, NameIndex, StatedNumber, StatementPart, read_numbers
from oragent.converse.solving import begin, problem_in_force
from oragent.converse.state import Restriction, RestrictionKind, RestrictionState
from oragent.milp.model import Sense
from oragent.milp.solution import SolveStatus

Solver = Callable[[RestrictionState], Solved]
TOLERANCE = 1e-6
OPEN = re.compile(r"(?i)\b(?:if|would|could|might|may|suppose|consider|were to|let me|shall|should)\b|\?")
ASKED = re.compile(r"(?i)\b(?:you (?:asked|wanted|said|requested)|as requested|your (?:request|question))\b")
PAST = re.compile(
    r"(?i)"
    r"\b(?:from|was|were|had|previous\w*|before|earlier|instead of|than|compared|vs|versus|original\w*|initial\w*|old|"
    r"formerly|used to|without)\b"
)
LIMITED = re.compile(
    r"(?i)\b(?:limit\w*|capacit\w+|available|at most|at least|bound\w*|up to|maximum|minimum|allow\w*|must|cap|no more|"
    r"no less|requir\w+|of the|out of)\b|<=|>=|\u2264|\u2265"
)
RATES = re.compile(r"(?i)\b(?:per|each|apiece|every|coefficient|a piece|price)\b")
DIFFERENCE = re.compile(
    r"(?i)\b(?:more|less|fewer|by|slack|spare|left|unused|extra|additional|short|higher|lower|gain|loss|difference)\b"
)
EXTREME = re.compile(
    r"(?i)\b(?P<low>least|lowest|smallest|minimum|fewest)|(?P<high>most|highest|largest|maximum|greatest)\b"
)
FORMULA = re.compile(r"[+*/]|\d\s*x\s|<|>")
JOINED = re.compile(r"(?i),?\s(?:and|nor)\s(?=[^,]*\b(?:cannot|can't|impossible|infeasible|not possible)\b)")
STATES = re.compile(
    r"(?i)\b(?:is|are|was|were|costs?|gives?|needs?|uses?|reach\w*|ris\w+|fall\w*|becomes?|stays?|remains?)\b"
)
BEYOND = re.compile(
    r"(?i)(?:cannot|can't|can not|could not|impossible to) (?:exceed|(?:go|get|be|rise|raised?|increased?|made)\s+"
    r"(?:it\s+)?(?:above|beyond|over|higher than|more than|larger than))"
)
UP = re.compile(r"(?i)\b(?:increas\w+|ris\w+|rose|grow\w*|grew|gain\w*|improv\w+|went up|goes up)\b")
DOWN = re.compile(r"(?i)\b(?:decreas\w+|fall\w*|fell|drop\w*|declin\w+|reduc\w+|shr[aiu]nk\w*|went down|goes down)\b")
SAME = re.compile(
    r"(?i)\b(?:unchanged|unaffected|(?:stays?|remains?|is) (?:exactly )?(?:the same|at)|does(?: not|n't) change|"
    r"did(?: not|n't) change|no effect|not affected)\b"
)
MORE_THAN = re.compile(r"(?i)\b(?:more|higher|greater|larger|bigger|exceeds?|above|over)\b")
FEWER_THAN = re.compile(r"(?i)\b(?:fewer|less|lower|smaller|below|under)\b")
FULL = r"(?:binding|tight|fully used|used up|exhausted)"
BINDING = re.compile(rf"(?i)\b(?:{FULL}|binds|at (?:its|the) limit|bottleneck|no slack)\b")
LOOSE = re.compile(rf"(?i)\b(?:not (?:\w+ )?{FULL}|has (?:\w+ )?slack|unused|spare|(?:doesn't|does not) bind)\b")


RELATIONS = {
    AmountRelation.AT_MOST: "<=",
    AmountRelation.BELOW: "<",
    AmountRelation.AT_LEAST: ">=",
    AmountRelation.ABOVE: ">",
}


def check_model_answer(problem: DecisionProblem, context: AnswerContext, solve: Solver | None) -> list[AnswerRemark]:
    """Check every sentence of an answer about a model.

    Args:
        problem: Problem of the conversation, without its changes.
        context: The answer, and what was solved and called before it.
        solve: Solver of states; None: nothing is solved, and claims of impossibility stay unknown.
    """
    checker = _Checker(problem, context, solve)
    remarks: list[AnswerRemark] = []
    for sentence in split_sentences(context.text):
        for segment in sentence.split(";"):
            remarks += checker.check_sentence(segment.strip())
    return remarks


@dataclass
class _Checker:
    problem: DecisionProblem
    context: AnswerContext
    solve: Solver | None

    def __post_init__(self) -> None:
        self.state = self.context.state or begin(self.problem)
        self.at_hand = problem_in_force(self.problem, self.state)
        self.last_part: StatementPart | None = None

    @cached_property
    def index(self) -> NameIndex:
        goals = self.at_hand.goals
        every: list[tuple[str, int | None]] = [
            (goal.name, position) for position, goal in enumerate(self.at_hand.expressions) if position >= goals
        ]
        known = {name for name, _ in every}
        every += [(variable.name, None) for variable in self.at_hand.base.variables if variable.name not in known]
        return NameIndex([(goal.name, goal.word) for goal in self.at_hand.expressions[:goals]], every)

    @cached_property
    def now(self) -> str:
        """The decision in force: what the model says now."""
        if self.solve is not None:
            solved = self.solve(self.state)
        else:
            solved = None
        if solved is not None and solved.decision:
            return solved.decision
        if self.context.presented:
            return self.context.presented[-1]
        return ""

    @cached_property
    def called(self) -> frozenset[float]:
        return frozenset(read_numbers(self.context.calls))

    def check_sentence(self, sentence: str) -> Iterator[AnswerRemark]:
        """Yield a remark for each statement of a sentence."""
        if not sentence or sentence.endswith("?"):
            return
        if _is_denial(sentence) and not DOUBTED.search(sentence):
            for part in JOINED.split(sentence):
                if _is_denial(part) or not STATES.search(part):
                    yield self._check_denial(part)
                else:
                    yield from self._check_statement(part)
            return
        yield from self._check_statement(sentence)

    def _check_statement(self, sentence: str) -> Iterator[AnswerRemark]:
        supposed, given = self._suppose(sentence)
        self.last_part = None
        is_stated = False
        for clause in self.index.read_clauses(sentence):
            for remark in self._check_clause(clause, sentence, supposed, given):
                is_stated = True
                yield remark
        if not is_stated and len(sentence.split()) > 3:
            yield AnswerRemark(RemarkKind.PROSE, ClaimStatus.UNKNOWN, one_line(sentence, 120))

    def _check_clause(
        self, clause: ModelClause, sentence: str, supposed: str, given: Sequence[float]
    ) -> Iterator[AnswerRemark]:
        compared = self._check_comparison(clause, sentence)
        if compared is not None:
            yield compared
        for number in clause.numbers:
            if number.value in given:
                # it is the condition
                continue
            standing, truth = self._judge_number(number, clause, sentence, supposed)
            shown = clause.text[max(0, number.start - 60) : number.end + 40].strip()
            yield AnswerRemark(RemarkKind.FIGURE, standing, f"{one_line(shown, 120)}{truth}")
        if clause.parts:
            self.last_part = clause.parts[-1][1]
        else:
            self.last_part = self.last_part

    def _judge_number(
        self, number: StatedNumber, clause: ModelClause, sentence: str, supposed: str
    ) -> tuple[ClaimStatus, str]:
        subject = clause.find_subject(number)
        if subject:
            candidates = [subject]
        else:
            candidates = list(dict.fromkeys(part for _, part in clause.parts))
        candidates = candidates or ([self.last_part] if self.last_part else [])
        if any(self._is_true_of(part, number, clause, supposed) for part in candidates):
            return ClaimStatus.TRUE, ""
        if (OPEN.search(sentence) or ASKED.search(sentence)) and not supposed:
            known = not number.is_percent and any(number.fits(value) for value in self.called)
            return (ClaimStatus.TRUE if known and OPEN.search(sentence) else ClaimStatus.UNKNOWN), ""
        vague = number.is_percent or RATES.search(clause.text) or FORMULA.search(clause.text)
        decision = supposed or self.now
        if subject is None or not subject.is_certain or vague or not decision:
            return ClaimStatus.UNKNOWN, ""
        return ClaimStatus.FALSE, f" ({self._word(subject)} is {format_figure(self._value(subject, decision))})"

    def _is_true_of(self, part: StatementPart, number: StatedNumber, clause: ModelClause, supposed: str) -> bool:
        text = clause.text
        now = [self._value(part, decision) for decision in (supposed, self.now, *self.context.solved) if decision]
        past = [self._value(part, decision) for decision in self.context.earlier]
        if number.is_percent:
            return self._is_share(part, number, now, past)
        values = list(now)
        if PAST.search(text):
            values += past
        else:
            values += []
        limits = self._limits(part)
        if LIMITED.search(text) or FORMULA.search(text):
            values += limits
        else:
            values += []
        if RATES.search(text) or FORMULA.search(text):
            values += self._rates(part)
        else:
            values += []
        if DIFFERENCE.search(text) or UP.search(text) or DOWN.search(text):
            values += [new - old for new in now for old in (*past, *now)]
            values += [limit - value for limit in limits for value in now]
        if any(number.fits(value) for value in values):
            return True
        return bool(EXTREME.search(text)) and any(number.fits(value) for value in self._extremes(part, text))

    def _is_share(self, part: StatementPart, number: StatedNumber, now: list[float], past: list[float]) -> bool:
        shares = [100 * (new - old) / abs(old) for new in now for old in past if old]
        shares += [100 * value / limit for value in now for limit in self._limits(part) if limit]
        return any(number.fits(share) for share in shares)

    def _value(self, part: StatementPart, decision: str) -> float:
        if part.position is not None:
            return self.at_hand.features(decision)[part.position]
        chosen = self.at_hand.chosen(decision).get(part.name, "0")
        return float(chosen.replace(",", ""))

    def _word(self, part: StatementPart) -> str:
        """The name of a part in messages; of an objective that of its file."""
        named = part.position is not None and part.position < self.at_hand.goals
        return one_line(self.at_hand.expressions[part.position].word if named else part.name, 60)  # type: ignore[index]

    def _limits(self, part: StatementPart) -> list[float]:
        """Limits of a part: its own, those of the model as it came, and those that were asked for."""
        limits = []
        for problem in (self.at_hand, self.problem):
            if isinstance(problem, Editable):
                limits += [*(problem.limits(part.name) or ())]
            limits += [
                limit
                for variable in problem.base.variables
                if variable.name == part.name
                for limit in (variable.low, variable.high)
            ]
        limits += [restriction.value for restriction in self.state.restrictions if restriction.subject == part.name]
        return [limit for limit in limits if isfinite(limit)]

    def _rates(self, part: StatementPart) -> list[float]:
        """Coefficients in a row or objective, or those of a variable."""
        rates = []
        for goal in self.at_hand.expressions:
            rates += [value for name, value in goal.terms.items() if part.name in (name, goal.name)]
        return rates

    def _extremes(self, part: StatementPart, text: str) -> Iterator[float]:
        """The least or the most that a part can be: beside its own bounds, and under all that is in force."""
        if part.position is None or self.solve is None or not isinstance(self.at_hand, Extremes):
            return
        sense = Sense.MINIMIZE if EXTREME.search(text).lastgroup == "low" else Sense.MAXIMIZE  # type: ignore[union-attr]
        rest = [restriction for restriction in self.state.restrictions if restriction.subject != part.name]
        for state in dict.fromkeys((self.state, self.state.only(*rest))):
            solved = self.problem.extreme(state, part.position, sense)  # type: ignore[attr-defined]
            if solved.decision:
                yield self._value(part, solved.decision)

    def _check_comparison(self, clause: ModelClause, sentence: str) -> AnswerRemark | None:
        """Check a direction, an order of two parts, or whether a row binds."""
        if OPEN.search(sentence) or ASKED.search(sentence) or not self.now:
            return None
        named = list(dict.fromkeys(part for _, part in clause.parts if part.is_certain))
        holds, truth = self._compare_two(clause, named), ""
        if holds is None and len(named) == 1:
            holds, truth = self._compare_one(clause.text, named[0])
        if holds is None:
            return None
        if holds:
            standing = ClaimStatus.TRUE
        else:
            standing = ClaimStatus.FALSE
        if not holds and not truth:
            truth = ", ".join(f"{self._word(part)} is {format_figure(self._value(part, self.now))}" for part in named)
        return AnswerRemark(
            RemarkKind.COMPARISON, standing, one_line(clause.text, 120) + ("" if holds else f" ({truth})")
        )

    def _compare_two(self, clause: ModelClause, named: list[StatementPart]) -> bool | None:
        text = clause.text.casefold()
        if len(named) != 2 or (" than " not in text and "exceed" not in text):
            return None
        more, fewer = MORE_THAN.search(clause.text), FEWER_THAN.search(clause.text)
        if bool(more) == bool(fewer) or clause.numbers:
            return None
        first, second = (self._value(part, self.now) for part in named)
        if more:
            return first > second + TOLERANCE
        return first < second - TOLERANCE

    def _compare_one(self, text: str, part: StatementPart) -> tuple[bool | None, str]:
        if LOOSE.search(text) or BINDING.search(text):
            return self._check_binding(text, part)
        before = [*self.context.earlier, *(decision for decision in self.context.solved if decision != self.now)]
        earlier = [self._value(part, decision) for decision in before]
        now = self._value(part, self.now)
        if not earlier or part.position is None or (DIFFERENCE.search(text) and " than " in text):
            return None, ""
        truth = f"{self._word(part)} was {format_figure(earlier[-1])}, is {format_figure(now)}"
        same = [abs(now - value) <= TOLERANCE * max(1.0, abs(value)) for value in earlier]
        if SAME.search(text):
            return any(same), truth
        up, down = UP.search(text), DOWN.search(text)
        if bool(up) == bool(down):
            return None, ""
        if up and up[0].casefold().startswith("improv"):
            sign = -self.at_hand.expressions[part.position].sense.sign
            return any(sign * (now - value) > TOLERANCE for value in earlier), truth
        return any((now - value if up else value - now) > TOLERANCE for value in earlier), truth

    def _check_binding(self, text: str, part: StatementPart) -> tuple[bool | None, str]:
        if isinstance(self.at_hand, Editable):
            limits = [*(self.at_hand.limits(part.name) or ())]
        else:
            limits = []
        limits += [restriction.value for restriction in self.state.restrictions if restriction.subject == part.name]
        limits = [limit for limit in limits if isfinite(limit)]
        if not limits:
            return None, ""
        value = self._value(part, self.now)
        binds = any(abs(value - limit) <= 1e-5 * max(1.0, abs(limit)) for limit in limits)
        nearest = format_figure(min(limits, key=lambda limit: abs(value - limit)))
        truth = f"{self._word(part)} is {format_figure(value)}, its limit {nearest}"
        return (not binds if LOOSE.search(text) else binds), truth

    def _check_denial(self, sentence: str) -> AnswerRemark:
        """Solve what a sentence says cannot be had."""
        unknown = AnswerRemark(RemarkKind.IMPOSSIBLE, ClaimStatus.UNKNOWN, one_line(sentence, 160))
        if self.solve is None or ASKED.search(sentence):
            return unknown
        restrictions = list(self._denied_restrictions(sentence))
        refused = any("infeasible" in text or "cannot all hold" in text for text in self.context.calls)
        if not restrictions and (not IN_FORCE.search(sentence) or refused or OPEN.search(sentence)):
            return unknown
        state = self.state
        for restriction in restrictions:
            state = state.adding(restriction)
        try:
            solved = self.solve(state)
        except ConfigError:
            return unknown
        if solved.status is SolveStatus.INFEASIBLE:
            return replace(unknown, standing=ClaimStatus.TRUE)
        if not solved.decision:
            return unknown
        goal = self.at_hand.expressions[0]
        value = format_figure(self.at_hand.features(solved.decision)[0])
        return replace(
            unknown, standing=ClaimStatus.FALSE, text=f"{unknown.text} (it is possible, with {goal.word} {value})"
        )

    def _denied_restrictions(self, sentence: str) -> Iterator[Restriction]:
        """Restrictions that a denial names: a part with each number of its clause."""
        text = BEYOND.sub("impossible more than", sentence)
        names = {goal.name for goal in self.at_hand.expressions}
        for clause in self.index.read_clauses(text):
            part = clause.only_part
            for number in clause.numbers if part is not None and part.is_certain and not FORMULA.search(text) else ():
                assert part is not None
                relation = find_relation(clause.text[: number.start], clause.text[number.end :])
                sign = RELATIONS.get(relation)
                goal = part.position is not None and part.position < self.at_hand.goals
                if relation is AmountRelation.STEP or number.is_percent:
                    continue
                if sign is None and goal:
                    assert part.position is not None
                    if self.at_hand.expressions[part.position].sense is Sense.MINIMIZE:
                        sign = "<="
                    else:
                        sign = ">="
                if sign is None and part.name in {variable.name for variable in self.at_hand.base.variables}:
                    yield Restriction(RestrictionKind.FIX, part.name, f"{number.value:.12g}")
                elif part.name in names:
                    yield Restriction(RestrictionKind.BOUND, part.name, relation=sign or "=", value=number.value)

    def _suppose(self, sentence: str) -> tuple[str, Sequence[float]]:
        """The decision of what a sentence supposes, such as "with 50 carpentry hours the profit would be ...".

        Returns:
            The decision and the numbers of the condition; empty where nothing is supposed, or it cannot be solved.
        """
        cue = re.search(r"\b(?:if|with|suppose)\b", sentence, re.IGNORECASE)
        clause = self.index.read_clause(sentence)
        goal = next((place for place, part in clause.parts if part.position == 0 and part.is_certain), None)
        if self.solve is None or goal is None or cue is None:
            return "", ()
        if cue.start() < goal:
            condition = sentence[cue.end() : goal]
        else:
            condition = sentence[cue.end() :]
        try:
            command = read_question(self.at_hand, f"what if {condition}")
            verb, _, rest = command.partition(" ")
            if verb not in VERBS:
                return "", ()
            state, _ = with_change(self.problem, self.state, read_change_command(self.at_hand, verb, rest))
            return self.solve(state).decision, tuple(read_numbers([condition]))
        except ConfigError:
            return "", ()


def _is_denial(text: str) -> bool:
    return any(pattern.search(text) for pattern in (DENIED, NO_BETTER, BEYOND))
