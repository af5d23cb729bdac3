"""A decision agent by rules: it makes one request after the other, until one is met."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from oragent.converse.deciders.decider import DeciderMessage, DecisionView
from oragent.converse.decision import DecisionProblem, format_figure
from oragent.converse.state import Restriction, RestrictionKind
from oragent.evals.converse.stakeholders import Request, Stakeholder

TOLERANCE = 1e-9


@dataclass
class Asking:
    """Makes requests in turn and leaves as soon as a decision that is shown respects what was asked last.

    Attributes:
        problem: Problem whose decisions are asked for.
        requests: Requests in order.
        at_once: Whether all of them go into one message, each in case those before cannot be met.
        in_words: Whether a model reads them; the ``rules`` agent reads commands.
    """

    problem: DecisionProblem
    requests: Sequence[Request]
    at_once: bool = False
    in_words: bool = False
    says_farewell: bool = False
    _left: Iterator[tuple[Request, ...]] = field(init=False)
    _asked: tuple[Request, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        self._left = iter([tuple(self.requests)] if self.at_once else [(one,) for one in self.requests])

    @classmethod
    def of(
        cls, rule: Callable[[Stakeholder], Iterator[Request]], stakeholder: Stakeholder, problem: DecisionProblem,
        *, at_once: bool = False, in_words: bool = False,
    ) -> "Asking":  # fmt: skip
        """The agent that follows a rule, such as the rational or the myopic one."""
        return cls(problem, list(rule(stakeholder)), at_once, in_words)

    async def say(self, view: DecisionView) -> DeciderMessage | None:
        """Put the next request; leave once one is met, or where none is left."""
        if any(_respects(self.problem, decision, asked) for decision in view.presented for asked in self._asked):
            return None
        self._asked = next(self._left, ())
        if not self._asked:
            return None
        if self.in_words:
            return DeciderMessage("\n".join(["Please start afresh, without any wish of before.", *self._told()]))
        return DeciderMessage(" else ".join(command(self.problem, one) for one in self._asked))

    def _told(self) -> Iterator[str]:
        for number, asked in enumerate(self._asked):
            wishes = "; ".join(_worded(self.problem, one) for one in asked)
            yield f"{'If that cannot be had, then ' if number else 'Now '}I would like: {wishes}."
        yield "Show me a whole solution that does this."


def command(problem: DecisionProblem, asked: Request) -> str:
    """A request in the words of the ``rules`` agent; what was asked before is cleared."""
    return "; ".join(["reset all", *(_said(problem, one) for one in asked)])


def _said(problem: DecisionProblem, one: Restriction) -> str:
    if one.kind is RestrictionKind.BOUND:
        goal = problem.expressions[_place(problem, one)]
        return f"{goal.word} {one.relation} {format_figure(one.value)}"
    return f"{one.kind} {one.subject} {one.option}"


def _worded(problem: DecisionProblem, one: Restriction) -> str:
    if one.kind is RestrictionKind.BOUND:
        goal = problem.expressions[_place(problem, one)]
        return f"{goal.word} {'at most' if one.upper else 'at least'} {format_figure(one.value)}"
    return f"{one.subject} {'at' if one.kind is RestrictionKind.FIX else 'not at'} {one.option}"


def _respects(problem: DecisionProblem, decision: str, asked: Request) -> bool:
    return all(_meets(problem, decision, one) for one in asked)


def _meets(problem: DecisionProblem, decision: str, one: Restriction) -> bool:
    if one.kind is RestrictionKind.BOUND:
        value = problem.features(decision)[_place(problem, one)]
        return value <= one.limit + TOLERANCE if one.upper else value >= one.limit - TOLERANCE
    # An option may be written in several ways, such as 1,000 and 1000.
    given = problem.option(one.subject, problem.chosen(decision)[one.subject])
    return (given == problem.option(one.subject, one.option)) is (one.kind is RestrictionKind.FIX)


def _place(problem: DecisionProblem, bound: Restriction) -> int:
    return [goal.name for goal in problem.expressions].index(bound.subject)
