"""What an optimisation agent is to a conversation: a message in, an answer out, with all that it did meanwhile."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from oragent.converse.state import RestrictionState


@dataclass(frozen=True)
class AgentEvent:
    """Something that an agent did before it answered.

    Attributes:
        tool: Name of the tool, or what it ran.
        failed: Whether the call was refused, or the program failed.
        note: Facts for the audit, told to nobody in the conversation.
    """

    tool: str
    arguments: Mapping[str, Any]
    result: str
    failed: bool = False
    note: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AgentAnswer:
    """What an agent answers.

    Attributes:
        solved: Decisions that a solver returned since the last answer, in order.
        state: Model in force; None where the agent keeps none.
        remarks: What the checks of the answer say, one line each, for the person.
        presented: Decisions that the text is about without showing them in full.
    """

    text: str
    events: tuple[AgentEvent, ...] = ()
    solved: tuple[str, ...] = ()
    calls: int = 0
    state: RestrictionState | None = None
    remarks: tuple[str, ...] = ()
    presented: tuple[str, ...] = ()


class Agent(Protocol):
    """An optimisation agent in one conversation."""

    @property
    def name(self) -> str:
        """Name of the design, such as ``T-P-P``."""

    async def answer(self, message: str) -> AgentAnswer:
        """Answer a message of the other side."""
