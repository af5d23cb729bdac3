"""What an optimisation agent is to a conversation: a message in, an answer out, with all that it did meanwhile."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from oragent.converse.state import RestrictionState
from oragent.ledger.replies import RecordedReply
from oragent.llm import fenced
from oragent.llm.model import Message, Request, Tool


class Asker(Protocol):
    """Who puts prompts to models; a case of a study is one."""

    async def ask(
        self, role: str, messages: Sequence[Message], temperature: float | None = None, tools: Sequence[Tool] = ()
    ) -> RecordedReply:
        """Put a prompt to the model that plays a role."""


@dataclass(frozen=True)
class AgentEvent:
    """Something that an agent did before it answered.

    Attributes:
        tool: Name of the tool, or what it ran.
        arguments: Arguments of the call.
        result: Text that came back.
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
        text: Text for the other side.
        events: Events before it, in order.
        solved: Decisions that a solver returned since the last answer, in order.
        calls: Number of calls of a solver.
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


def calls_of(reply: RecordedReply, messages: Sequence[Message], tools: Sequence[Tool]) -> Message:
    """A reply as a message with its tool calls; of those that stand in its text too.

    Some servers take tools and leave the calls of a small model in the text, as fenced JSON.
    """
    if reply.tool_calls:
        return Message("assistant", reply.text, reply.tool_calls)
    text, calls = fenced.extract_calls(reply.text, Request(reply.role, tuple(messages), tools=tuple(tools)))
    return Message("assistant", text, calls)


class Agent(Protocol):
    """An optimisation agent in one conversation."""

    @property
    def name(self) -> str:
        """Name of the design, such as ``T-P-P``."""

    async def answer(self, message: str) -> AgentAnswer:
        """Answer a message of the other side."""
