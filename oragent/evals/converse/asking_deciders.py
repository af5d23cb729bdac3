"""A decision agent by rules: it makes one request after the other, until one is met."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from oragent.converse.decider import DeciderMessage, DecisionView
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
        self._left = iter([tuple(self.requests)] if self.at_once else [(request,) for request in self.requests])

    @classmethod
    def of(
        cls, rule: Callable[[Stakeholder], Iterator[Request]], stakeholder: Stakeholder, problem: DecisionProblem,
        *, at_once: bool = False, in_words: bool = False,
    ) -> "Asking":  # fmt: skip
        """The agent that follows a rule, such as the rational or the myopic one."""
        return cls(problem, list(rule(stakeholder)), at_once, in_words)

    async def say(self, view: DecisionView) -> DeciderMessage | None:
        """Put the next request; leave once one is met, or where none is left."""
        if any(
            _respects_request(self.problem, decision, request) for decision in view.presented for request in self._asked
        ):
            return None
        self._asked = next(self._left, ())
        if not self._asked:
            return None
        if self.in_words:
            return DeciderMessage(
                "\n".join(["Please start afresh, without any wish of before.", *self._request_words()])
            )
        return DeciderMessage(" else ".join(command_of(self.problem, request) for request in self._asked))

    def _request_words(self) -> Iterator[str]:
        for number, request in enumerate(self._asked):
            wishes = "; ".join(_restriction_words(self.problem, restriction) for restriction in request)
            yield f"{'If that cannot be had, then ' if number else 'Now '}I would like: {wishes}."
        yield "Show me a whole solution that does this."


def command_of(problem: DecisionProblem, request: Request) -> str:
    """A request in the words of the ``rules`` agent; what was asked before is cleared."""
    return "; ".join(["reset all", *(_restriction_command(problem, restriction) for restriction in request)])


def _restriction_command(problem: DecisionProblem, restriction: Restriction) -> str:
    if restriction.kind is RestrictionKind.BOUND:
        goal = problem.expressions[_position_of(problem, restriction)]
        return f"{goal.word} {restriction.relation} {format_figure(restriction.value)}"
    return f"{restriction.kind} {restriction.subject} {restriction.option}"


def _restriction_words(problem: DecisionProblem, restriction: Restriction) -> str:
    if restriction.kind is RestrictionKind.BOUND:
        goal = problem.expressions[_position_of(problem, restriction)]
        return f"{goal.word} {'at most' if restriction.upper else 'at least'} {format_figure(restriction.value)}"
    return f"{restriction.subject} {'at' if restriction.kind is RestrictionKind.FIX else 'not at'} {restriction.option}"


def _respects_request(problem: DecisionProblem, decision: str, request: Request) -> bool:
    return all(_meets_restriction(problem, decision, restriction) for restriction in request)


def _meets_restriction(problem: DecisionProblem, decision: str, restriction: Restriction) -> bool:
    if restriction.kind is RestrictionKind.BOUND:
        value = problem.features(decision)[_position_of(problem, restriction)]
        return value <= restriction.limit + TOLERANCE if restriction.upper else value >= restriction.limit - TOLERANCE
    # An option may be written in several ways, such as 1,000 and 1000.
    wanted_option = problem.option(restriction.subject, problem.chosen(decision)[restriction.subject])
    return (wanted_option == problem.option(restriction.subject, restriction.option)) is (
        restriction.kind is RestrictionKind.FIX
    )


def _position_of(problem: DecisionProblem, bound: Restriction) -> int:
    return [goal.name for goal in problem.expressions].index(bound.subject)


def first_request(stakeholder: Stakeholder) -> Iterator[Request]:
    """Ask for the first wish alone, once."""
    yield (stakeholder.wishes[0].asked,)


def dropping_requests(stakeholder: Stakeholder) -> Iterator[Request]:
    """Ask for all wishes, then without the one of least weight, and so on; of equal ones the first goes first."""
    wishes = list(stakeholder.wishes)
    while True:
        yield tuple(wish.asked for wish in wishes)
        if not wishes:
            return
        wishes.remove(min(wishes, key=lambda wish: wish.weight))


def ranked_requests(stakeholder: Stakeholder) -> Iterator[Request]:
    """Ask for each outcome in order of falling utility."""
    yield from stakeholder.outcomes
