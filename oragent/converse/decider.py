"""What a decision agent is to a conversation: it sees what it is told and shown, and says the next message."""

from dataclasses import dataclass
from typing import Protocol

from oragent.converse.agents.agent import AgentEvent

END_WORD = "__END__"
LEAVING = {"quit", "exit", "bye", END_WORD.casefold()}  # what a person writes to leave


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
