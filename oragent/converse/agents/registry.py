"""Agents by name."""

from dataclasses import dataclass, field

from oragent.converse.agents.agent import Agent
from oragent.converse.agents.guests import Guests
from oragent.converse.agents.model_agents import Blank, Formulating, ToolsAgent
from oragent.converse.agents.rules import RulesAgent
from oragent.converse.decision import unknown_name_error
from oragent.converse.solving import StateSolver
from oragent.converse.tools import EXTENDED, PAPER, Toolbox
from oragent.llm.dialogue import Asker

AGENTS = ("T-P-P", "C-P-P", "C-P-R", "C-N-R", "rules")
ASKING, PROGRAMMING = AGENTS[:4], AGENTS[1:4]  # those that ask models, and those that write programs


@dataclass(frozen=True)
class Design:
    """Which agent.

    Attributes:
        tools: Set of tools, ``paper`` or ``extended``.
        temperature: Sampling temperature; None: the model's own.
        without: Parts of the prompt that are left out.

    Raises:
        ConfigError: A name is unknown.
    """

    name: str
    tools: str = PAPER
    temperature: float | None = None
    without: frozenset[str] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        if self.name not in AGENTS:
            raise unknown_name_error(self.name, AGENTS, "agent")
        if self.tools not in (PAPER, EXTENDED):
            raise unknown_name_error(self.tools, (PAPER, EXTENDED), "set of tools")


def make_agent(design: Design, solver: StateSolver, asker: Asker | None = None, guests: Guests | None = None) -> Agent:
    """An agent for one conversation."""
    if design.name == "rules":
        return RulesAgent(Toolbox(solver, extended=True))
    assert asker is not None
    if design.name == "T-P-P":
        tools = Toolbox(solver, design.tools == EXTENDED)
        return ToolsAgent(asker, tools, design.temperature, design.without)
    assert guests is not None
    if design.name == "C-N-R":
        return Blank(asker, guests, design.temperature, design.without)
    return Formulating(
        asker, guests, design.temperature, design.without, problem=solver.problem, readable=design.name == "C-P-P"
    )
