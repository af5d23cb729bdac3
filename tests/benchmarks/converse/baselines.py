"""What decision agents by rules end with under each paradigm."""

from dataclasses import dataclass

from oragent_benchmarks.converse.decision import Judged
from oragent_benchmarks.converse.paradigms import Paradigm, find_rule, negotiate
from oragent_benchmarks.converse.solving import StateSolver
from oragent_benchmarks.converse.stakeholders import Stakeholder


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


def run_baseline(paradigm: Paradigm, stakeholder: Stakeholder, solver: StateSolver) -> RuleBaseline:
    """Return the decision that a decision agent ends with under a paradigm."""
    decision, number = negotiate(solver, find_rule(paradigm)(stakeholder))
    return RuleBaseline(decision, stakeholder(decision), 0 if paradigm is Paradigm.DEFAULT else number)
