"""What a decision agent gets by each way of using a model, where both sides follow rules: exact baselines.

The paradigms are those of Drossman et al. 2026 (arXiv:2604.02666): the default decision, one request without knowledge
of the model, one round of all wishes, and a conversation that ends at the best possible outcome.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from oragent._base.errors import ProblemError
from oragent.converse.judging import Judged
from oragent.converse.solving import StateSolver, begin
from oragent.evals.converse.deciders import myopic, rational
from oragent.evals.converse.stakeholders import Request, Stakeholder

Requests = Callable[[Stakeholder], Iterator[Request]]


class Paradigm(StrEnum):
    """How the model is used, from no say at all to a conversation."""

    DEFAULT = "default"
    ONE_SHOT = "one-shot"
    AWARE = "aware"
    CONVERSATION = "conversation"


@dataclass(frozen=True)
class RuleBaseline:
    """What a rule-based decision agent ends with.

    Attributes:
        decision: Decision that it is given.
        judged: How good that decision is for the agent.
        requests: Number of requests until one could be met; 0 where it has no say.
    """

    decision: str
    judged: Judged
    requests: int


def _no_requests(stakeholder: Stakeholder) -> Iterator[Request]:
    yield ()


RULES: dict[Paradigm, Requests] = {
    Paradigm.DEFAULT: _no_requests,
    Paradigm.ONE_SHOT: myopic.first_request,
    Paradigm.AWARE: myopic.dropping_requests,
    Paradigm.CONVERSATION: rational.ranked_requests,
}


def negotiate(solver: StateSolver, requests: Iterable[Request]) -> tuple[str, int]:
    """Put requests one after the other, each in place of the one before, until one can be met.

    Returns:
        The decision of least cost that meets it, and the number of requests put.

    Raises:
        ProblemError: none can be met.
    """
    number, start = 0, begin(solver.problem)
    for number, restrictions in enumerate(requests, 1):
        solved = solver(start.only(*restrictions))
        if solved.decision:
            return solved.decision, number
    raise ProblemError(f"none of {number} requests can be met; expected one that asks for less than the others")


def run_baseline(paradigm: Paradigm, stakeholder: Stakeholder, solver: StateSolver) -> RuleBaseline:
    """Return the decision that a decision agent ends with under a paradigm."""
    decision, number = negotiate(solver, RULES[paradigm](stakeholder))
    return RuleBaseline(decision, stakeholder(decision), 0 if paradigm is Paradigm.DEFAULT else number)
