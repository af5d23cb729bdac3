"""What a decision agent gets by each way of using a model, where both sides follow rules: exact baselines.

The paradigms are those of Drossman et al. 2026 (arXiv:2604.02666): the default schedule, one request without knowledge
of the model, one round of all wishes, and a conversation that ends at the best possible outcome.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from oragent.converse.deciders import myopic, rational
from oragent.converse.problems.constraints import FREE, Constraints, Oracle
from oragent.converse.problems.district import District
from oragent.converse.utilities import Standing, Utility, maximum, standing
from oragent.errors import ProblemError

__all__ = ["RULES", "Baseline", "Paradigm", "Requests", "baseline", "negotiate"]

Requests = Callable[[Utility, District], Iterator[Constraints]]


class Paradigm(StrEnum):
    """How the model is used, from no say at all to a conversation."""

    DEFAULT = "default"
    ONE_SHOT = "one-shot"
    AWARE = "aware"
    CONVERSATION = "conversation"


@dataclass(frozen=True)
class Baseline:
    """What a rule-based decision agent ends with.

    Attributes:
        schedule: Schedule that it is given.
        standing: Standing of that schedule: how good it is for the agent.
        requests: Number of requests until one could be met; 0 where it has no say.
    """

    schedule: str
    standing: Standing
    requests: int


def _nothing(utility: Utility, district: District) -> Iterator[Constraints]:
    yield FREE


def _preferred_time(utility: Utility, district: District) -> Iterator[Constraints]:
    yield Constraints(fixed=myopic.wished(utility, district))


RULES: dict[Paradigm, Requests] = {
    Paradigm.DEFAULT: _nothing,
    Paradigm.ONE_SHOT: _preferred_time,
    Paradigm.AWARE: myopic.requests,
    Paradigm.CONVERSATION: rational.requests,
}


def negotiate(oracle: Oracle, asked: Iterable[Constraints]) -> tuple[str, int]:
    """Put requests one after the other, each in place of the one before, until one can be met.

    Returns:
        The schedule of least cost that meets it, and the number of requests put.

    Raises:
        ProblemError: none can be met.
    """
    number = 0
    for number, constraints in enumerate(asked, 1):
        found = oracle.least_cost(constraints)
        if found is not None:
            return found.schedule, number
    raise ProblemError(f"none of {number} requests can be met; expected one that asks for less than the others")


def baseline(paradigm: Paradigm, utility: Utility, oracle: Oracle) -> Baseline:
    """What a decision agent ends with under a paradigm."""
    schedule, number = negotiate(oracle, RULES[paradigm](utility, oracle.district))
    judged = standing(utility, oracle.district, schedule, maximum(utility, oracle))
    return Baseline(schedule, judged, 0 if paradigm is Paradigm.DEFAULT else number)
