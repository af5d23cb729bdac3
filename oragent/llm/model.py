"""What a model is to the rest of oragent: a request in, one reply out."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class Tool:
    """A function that a model may call.

    Attributes:
        name: Name of the tool: letters, digits, ``_`` and ``-`` alone, as servers want it.
        description: Description for the model: when to call it, and what comes back.
        parameters: JSON schema of its arguments, an object.
    """

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})

    def __post_init__(self) -> None:
        """Check the name.

        Raises:
            ValueError: no server would take it.
        """
        if not TOOL_NAME.fullmatch(self.name):
            raise ValueError(f"name is {self.name!r}: expected 1 to 64 letters, digits, '_' and '-'.")


@dataclass(frozen=True)
class ToolCall:
    """A model's wish to have a tool called; nothing in it is checked against the tool.

    Attributes:
        id: Id by which the message with the result refers to it.
        name: Name of the tool, perhaps of one that does not exist.
        arguments: Arguments by parameter name; empty where they could not be read.
        problem: Reason why they could not be read, one line; empty where they could.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True)
class Message:
    """One message of a conversation.

    Attributes:
        role: ``system``, ``user``, ``assistant`` or ``tool``.
        content: Text of the message.
        tool_calls: Calls that an ``assistant`` message asks for.
        tool_call_id: Id of the call whose result a ``tool`` message is.
    """

    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""

    def plain(self) -> dict[str, Any]:
        """The message as plain data, with what it has of tools and nothing where it has none."""
        calls = {"tool_calls": [vars(call) for call in self.tool_calls]} if self.tool_calls else {}
        answered = {"tool_call_id": self.tool_call_id} if self.tool_call_id else {}
        return {"role": self.role, "content": self.content, **calls, **answered}


@dataclass(frozen=True)
class Request:
    """What a model is asked.

    Attributes:
        role: Role that the model plays, such as ``code``.
        messages: Conversation so far.
        temperature: Sampling temperature, in [0, 2]; None: the model's own.
        tools: Tools that the model may call.
        key: Name of the call, different from that of every other call of a run; empty where nobody counts.
        schema: JSON schema of the reply, an object, for servers that can hold a model to one; None: a reply is free.
    """

    role: str
    messages: tuple[Message, ...]
    temperature: float | None = None
    tools: tuple[Tool, ...] = ()
    key: str = ""
    schema: Mapping[str, Any] | None = None

    @cached_property
    def prompt(self) -> str:
        """The conversation as JSON: a list of messages."""
        return json.dumps([message.plain() for message in self.messages])

    @cached_property
    def digest(self) -> str:
        """Hash of all that shapes the reply: equal requests have the same, whatever their keys."""
        tools = "".join(f"\n{json.dumps(vars(tool))}" for tool in self.tools)
        schema = "" if self.schema is None else f"\n{json.dumps(self.schema)}"
        return hashlib.sha256(f"{self.role}\n{self.temperature}\n{self.prompt}{tools}{schema}".encode()).hexdigest()


@dataclass(frozen=True)
class Reply:
    """What a model answered, and what that took.

    Attributes:
        text: Text of the answer; empty where the model gave none.
        tool_calls: Tools that it wants called, in order.
        tokens_in: Number of tokens of the prompt.
        tokens_out: Number of tokens of the answer, thoughts included.
        money: Price in US dollars; None where the model's price is unknown.
        seconds: Seconds from the first attempt to the last byte, waits between attempts included.
        model: Name under which the model was asked.
        retries: Number of attempts that failed before this answer came.
        finish_reason: Reason why the model stopped: ``stop``, ``length``, or whatever its server says.
        reasoning: Thoughts of the model, where the server sends them apart from the answer.
        estimated: Whether the token counts are a guess by length, as the server counted none.
        tokens_cached: Number of those of the prompt that the server had read before, and that cost less.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    tokens_in: int = field(kw_only=True)
    tokens_out: int = field(kw_only=True)
    money: float | None = field(kw_only=True)
    seconds: float = field(kw_only=True)
    model: str = field(kw_only=True)
    retries: int = field(default=0, kw_only=True)
    finish_reason: str = field(default="stop", kw_only=True)
    reasoning: str = field(default="", kw_only=True)
    estimated: bool = field(default=False, kw_only=True)
    tokens_cached: int = field(default=0, kw_only=True)

    @property
    def message(self) -> Message:
        """The reply as a message of the conversation that goes on."""
        return Message("assistant", self.text, self.tool_calls)

    @property
    def cut_off(self) -> bool:
        """Whether the answer ran into its length limit and lacks its end."""
        return self.finish_reason == "length"


class Model(Protocol):
    """Anything that answers a request."""

    async def __call__(self, request: Request, /) -> Reply:
        """Answer ``request``."""
        ...


@runtime_checkable
class Learner(Protocol):
    """A model that wants to know what came of the rounds in which it was asked."""

    def begin(self, number: int) -> None:
        """A round begins; rounds begin in order."""

    def settle(self, number: int, reward: float, money: float, tokens: int) -> None:
        """A round has ended; rounds end in order.

        Args:
            number: Number of the round; it was begun.
            reward: Reward of the round, in [0, 1].
            money: US dollars that its calls took.
            tokens: Tokens that its calls took.
        """


def estimate_tokens(text: str) -> int:
    """Guess the number of tokens of ``text``: one for every four characters, rounded up."""
    return -(-len(text) // 4)
