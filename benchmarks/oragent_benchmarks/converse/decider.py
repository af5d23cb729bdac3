"""Interfaces of both sides of a conversation: an optimisation agent answers the messages of a decision agent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from oragent_benchmarks.converse.state import RestrictionState


@dataclass(frozen=True)
class AgentEvent:
    """Action of an agent before its answer, such as a tool call."""

    # Name of the tool or of the action.
    tool: str
    arguments: Mapping[str, Any]
    result: str
    # True if the call was refused or the program failed.
    failed: bool = False
    # Facts for the audit; no agent sees them.
    note: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AgentAnswer:
    """Answer of an agent.

    Attributes:
        solved: Decisions that a solver returned since the last answer, in order.
        state: Current model; None if the agent does not maintain one.
        presented: Decisions that the text discusses without showing them in full.
    """

    text: str
    events: tuple[AgentEvent, ...] = ()
    solved: tuple[str, ...] = ()
    calls: int = 0
    state: RestrictionState | None = None
    presented: tuple[str, ...] = ()


class Agent(Protocol):
    """An optimisation agent in one conversation."""

    @property
    def name(self) -> str:
        """Name of the design, such as ``T-P-P``."""

    async def answer(self, message: str) -> AgentAnswer:
        """Answer a message of the other side."""


END_WORD = "__END__"


@dataclass(frozen=True)
class DecisionView:
    """Information that a decision agent receives.

    Attributes:
        turn: Number of the message to write, from 1.
        text: Last answer of the optimisation agent; in the first turn its opening message.
    """

    turn: int
    text: str
    presented: tuple[str, ...] = ()


@dataclass(frozen=True)
class DeciderMessage:
    """Message of a decision agent.

    Attributes:
        events: Actions before the message, such as checks of its utility.
        leaks: Secrets or forbidden words in the message.
        sent_back: Number of earlier versions that were rejected because of such leaks.
    """

    text: str
    ends: bool = False
    events: tuple[AgentEvent, ...] = ()
    leaks: tuple[str, ...] = ()
    sent_back: int = 0


class DecisionAgent(Protocol):
    """A decision agent in one conversation."""

    @property
    def says_farewell(self) -> bool:
        """True if the agent writes one more message after it reached the maximum."""

    async def say(self, view: DecisionView) -> DeciderMessage | None:
        """Return the next message; None to end the conversation without one."""
