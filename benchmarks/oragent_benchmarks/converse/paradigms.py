"""Decision agents that follow rules, and paradigms: ways to use the model, with their results for these agents.

The paradigms are those of Drossman et al. 2026 (arXiv:2604.02666): the default decision, one request without knowledge
of the model, one round of all wishes, and a conversation that ends at the best possible outcome.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any

from oragent._base.errors import ConfigError, ProblemError
from oragent_benchmarks.converse.agents.model_agents import AGENTS, ASKING
from oragent_benchmarks.converse.decider import DeciderMessage, DecisionView
from oragent_benchmarks.converse.decision import DecisionProblem, format_figure, unknown_name_error
from oragent_benchmarks.converse.prompting import PARTS
from oragent_benchmarks.converse.solving import StateSolver, begin
from oragent_benchmarks.converse.stakeholders import Request, Stakeholder
from oragent_benchmarks.converse.state import Restriction, RestrictionKind
from oragent_benchmarks.converse.tools import EXTENDED, PAPER

TOLERANCE = 1e-9


@dataclass
class Asking:
    """Decision agent that makes requests one after the other, and leaves when a decision fulfils the last request."""

    problem: DecisionProblem
    requests: Sequence[Request]
    # True if one message contains all requests, as alternatives for the case that earlier ones are infeasible.
    at_once: bool = False
    # True if a language model reads the requests. The ``rules`` agent reads commands.
    in_words: bool = False
    says_farewell: bool = False
    _left: Iterator[tuple[Request, ...]] = field(init=False)
    _asked: tuple[Request, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        self._left = iter([tuple(self.requests)] if self.at_once else [(request,) for request in self.requests])

    @classmethod
    def of(
        cls,
        rule: Callable[[Stakeholder], Iterator[Request]],
        stakeholder: Stakeholder,
        problem: DecisionProblem,
        *,
        at_once: bool = False,
        in_words: bool = False,
    ) -> "Asking":
        """Create the agent for a rule, such as the rational or the myopic one."""
        return cls(problem, list(rule(stakeholder)), at_once, in_words)

    async def say(self, view: DecisionView) -> DeciderMessage | None:
        """Return the next request. Leave when a request is met, or after the last one."""
        meets = partial(_meets_restriction, self.problem)
        if any(
            all(meets(shown, restriction) for restriction in request)
            for shown in view.presented
            for request in self._asked
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


class Paradigm(StrEnum):
    """Way of using the model, from no use to a conversation."""

    DEFAULT = "default"
    ONE_SHOT = "one-shot"
    AWARE = "aware"
    CONVERSATION = "conversation"


def command_of(problem: DecisionProblem, request: Request) -> str:
    """Return a request as a command of the ``rules`` agent, which clears earlier requests."""
    commands = ["reset all"]
    for restriction in request:
        if restriction.kind is RestrictionKind.BOUND:
            word = problem.expressions[_position_of(problem, restriction)].word
            commands.append(f"{word} {restriction.relation} {format_figure(restriction.value)}")
        else:
            commands.append(f"{restriction.kind} {restriction.subject} {restriction.option}")
    return "; ".join(commands)


def _restriction_words(problem: DecisionProblem, restriction: Restriction) -> str:
    if restriction.kind is RestrictionKind.BOUND:
        goal = problem.expressions[_position_of(problem, restriction)]
        return f"{goal.word} {'at most' if restriction.upper else 'at least'} {format_figure(restriction.value)}"
    return f"{restriction.subject} {'at' if restriction.kind is RestrictionKind.FIX else 'not at'} {restriction.option}"


def _meets_restriction(problem: DecisionProblem, decision: str, restriction: Restriction) -> bool:
    if restriction.kind is RestrictionKind.BOUND:
        value = problem.features(decision)[_position_of(problem, restriction)]
        if restriction.upper:
            return value <= restriction.limit + TOLERANCE
        return value >= restriction.limit - TOLERANCE
    # An option can have several spellings, such as 1,000 and 1000.
    chosen = problem.option(restriction.subject, problem.chosen(decision)[restriction.subject])
    is_chosen = chosen == problem.option(restriction.subject, restriction.option)
    return is_chosen is (restriction.kind is RestrictionKind.FIX)


def _position_of(problem: DecisionProblem, bound: Restriction) -> int:
    return [goal.name for goal in problem.expressions].index(bound.subject)


def no_request(stakeholder: Stakeholder) -> Iterator[Request]:
    """Yield one request without a restriction, for the default decision."""
    yield ()


def first_request(stakeholder: Stakeholder) -> Iterator[Request]:
    """Yield only the first wish, once."""
    yield (stakeholder.wishes[0].asked,)


def dropping_requests(stakeholder: Stakeholder) -> Iterator[Request]:
    """Yield all wishes, then all but the one of least weight, and so on.

    Of equal weights, the first is dropped first.
    """
    wishes = list(stakeholder.wishes)
    while True:
        yield tuple(wish.asked for wish in wishes)
        if not wishes:
            return
        wishes.remove(min(wishes, key=lambda wish: wish.weight))


def ranked_requests(stakeholder: Stakeholder) -> Iterator[Request]:
    """Yield each outcome in order of decreasing utility."""
    yield from stakeholder.outcomes


Requests = Callable[[Stakeholder], Iterator[Request]]


def find_rule(paradigm: Paradigm) -> Requests:
    """Return the function that yields the requests of a stakeholder under a paradigm."""
    match paradigm:
        case Paradigm.DEFAULT:
            return no_request
        case Paradigm.ONE_SHOT:
            return first_request
        case Paradigm.AWARE:
            return dropping_requests
        case Paradigm.CONVERSATION:
            return ranked_requests


def negotiate(solver: StateSolver, requests: Iterable[Request]) -> tuple[str, int]:
    """Make requests one after the other, each instead of the previous one, until one is feasible.

    Returns:
        The decision of least cost that fulfils it, and the number of requests made.

    Raises:
        ProblemError: No request is feasible.
    """
    number, start = 0, begin(solver.problem)
    for number, restrictions in enumerate(requests, 1):
        solved = solver(start.only(*restrictions))
        if solved.decision:
            return solved.decision, number
    raise ProblemError(f"none of {number} requests is feasible; expected at least one feasible request")


def list_contestants(
    agents: Sequence[str],
    paradigms: Sequence[str],
    models: Sequence[str],
    tools: Sequence[str] = (PAPER,),
    ablate: Sequence[str] = (),
) -> dict[str, dict[str, Any]]:
    """Return every combination of settings by a name that lists its differences."""
    kits = (PAPER, EXTENDED)
    choices: tuple[tuple[Sequence[str], Sequence[str], str], ...] = (
        (agents, list(AGENTS), "agent"),
        (paradigms, list(Paradigm), "paradigm"),
        (tools, kits, "set of tools"),
    )
    for names, choosable, what in choices:
        for name in names:
            if name not in choosable:
                raise unknown_name_error(name, choosable, what)
    parts = [_check_part(name) for name in ablate]
    if any(name in ASKING for name in agents) and not models:
        raise ConfigError("no model is named: add --models, 'scripted' for a stand-in, or choose rules")
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
    """Return the name of a contestant from its settings."""
    if settings["paradigm"] == Paradigm.DEFAULT:
        return "default"
    parts = [f"{settings['agent']} {settings['paradigm']}"]
    if settings["model"]:
        parts += [settings["model"]]
    if settings["tools"] != PAPER:
        parts += [f"{settings['tools']} tools"]
    if settings["without"]:
        parts += [f"without {settings['without']}"]
    return ", ".join(parts)


def _contestant_settings(agent: str, paradigm: str, model: str, tools: str, part: str) -> dict[str, Any]:
    return {"agent": agent, "paradigm": str(paradigm), "model": model, "tools": tools, "without": part}


def _check_part(name: str) -> str:
    part = name.removeprefix("prompt.")
    if part not in PARTS:
        raise unknown_name_error(name, [f"prompt.{part}" for part in PARTS], "part to leave out")
    return part
