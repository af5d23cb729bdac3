"""What a decision agent gets by each way of using a model, where both sides follow rules: exact baselines.

The paradigms are those of Drossman et al. 2026 (arXiv:2604.02666): the default decision, one request without knowledge
of the model, one round of all wishes, and a conversation that ends at the best possible outcome.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from oragent._base.errors import ConfigError, ProblemError
from oragent.converse.agents.model_agents import AGENTS, ASKING
from oragent.converse.decision import Judged, unknown_name_error
from oragent.converse.prompting import PARTS
from oragent.converse.solving import StateSolver, begin
from oragent.converse.tools import EXTENDED, PAPER
from oragent.evals.converse.asking_deciders import dropping_requests, first_request, ranked_requests
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
    Paradigm.ONE_SHOT: first_request,
    Paradigm.AWARE: dropping_requests,
    Paradigm.CONVERSATION: ranked_requests,
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


def list_contestants(
    agents: Sequence[str], paradigms: Sequence[str], models: Sequence[str], tools: Sequence[str] = (PAPER,),
    ablate: Sequence[str] = (),
) -> dict[str, dict[str, Any]]:  # fmt: skip
    """Every combination, by a name that says what is special about it.

    Raises:
        ConfigError: A name is unknown, or nobody is asked.
    """
    for name in agents:
        if name not in AGENTS:
            raise unknown_name_error(name, AGENTS, "agent")
    for name in paradigms:
        if name not in list(Paradigm):
            raise unknown_name_error(name, list(Paradigm), "paradigm")
    for name in tools:
        if name not in (PAPER, EXTENDED):
            raise unknown_name_error(name, (PAPER, EXTENDED), "set of tools")
    parts = [_check_part(name) for name in ablate]
    if any(name in ASKING for name in agents) and not models:
        raise ConfigError("nobody is asked: name models with --models, 'scripted' for a stand-in, or take rules")
    combinations: dict[str, dict[str, Any]] = {}
    for paradigm in paradigms:
        if paradigm == Paradigm.DEFAULT:
            combinations["default"] = _contestant_settings("", paradigm, "", PAPER, "")
            continue
        for agent in agents:
            for model in models if agent in ASKING else [""]:
                for kit in tools if agent == "T-P-P" else [PAPER]:
                    for part in ["", *parts] if agent in ASKING and agent != "C-N-R" else [""]:
                        settings = _contestant_settings(agent, paradigm, model, kit, part)
                        combinations[name_of(settings)] = settings
    return combinations


def name_of(settings: Mapping[str, Any]) -> str:
    """Name of a contestant by its settings."""
    if settings["paradigm"] == Paradigm.DEFAULT:
        return "default"
    parts = [f"{settings['agent']} {settings['paradigm']}"]
    parts += [settings["model"]] if settings["model"] else []
    parts += [f"{settings['tools']} tools"] if settings["tools"] != PAPER else []
    parts += [f"without {settings['without']}"] if settings["without"] else []
    return ", ".join(parts)


def _contestant_settings(agent: str, paradigm: str, model: str, tools: str, part: str) -> dict[str, Any]:
    return {"agent": agent, "paradigm": str(paradigm), "model": model, "tools": tools, "without": part}


def _check_part(name: str) -> str:
    part = name.removeprefix("prompt.")
    if part not in PARTS:
        raise unknown_name_error(name, [f"prompt.{part}" for part in PARTS], "part to leave out")
    return part
