"""What both sides are to a conversation: an agent answers messages, a decision agent says them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from oragent.converse.state import RestrictionState


@dataclass(frozen=True)
class AgentEvent:
    """Something that an agent did before it answered."""

    # Name of the tool, or what it ran.
    tool: str
    arguments: Mapping[str, Any]
    result: str
    # whether the call was refused, or the program failed
    failed: bool = False
    # Facts for the audit, told to nobody in the conversation.
    note: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AgentAnswer:
    """What an agent answers.

    Attributes:
        solved: Decisions that a solver returned since the last answer, in order.
        state: Model in force; None where the agent keeps none.
        presented: Decisions that the text is about without showing them in full.
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
# What a person writes to leave.
LEAVING = {"quit", "exit", "bye", END_WORD.casefold()}


@dataclass(frozen=True)
class DecisionView:
    """What a decision agent sees.

    Attributes:
        turn: Number of the message that it is to write, from 1.
        text: Last answer of the other side; at first what it opened with.
    """

    turn: int
    text: str
    presented: tuple[str, ...] = ()


@dataclass(frozen=True)
class DeciderMessage:
    """What a decision agent says.

    Attributes:
        events: What it did before, such as checks of its utility.
        leaks: Secrets that its message tells, or words that it must not use.
        sent_back: Number of messages that were sent back to it before, for such leaks.
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
        """True if it writes one more message after it got all that it wants."""

    async def say(self, view: DecisionView) -> DeciderMessage | None:
        """Say the next message; None to leave without a word."""
