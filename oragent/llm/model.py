"""Interface of models: a request in, and one reply out."""

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
    """A function that a model may call."""

    # Name of the tool, which has only letters, digits, ``_`` and ``-``, as servers require.
    name: str
    # Description for the model: when to call it, and its result.
    description: str
    # JSON schema of its arguments, an object.
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})

    def __post_init__(self) -> None:
        if not TOOL_NAME.fullmatch(self.name):
            raise ValueError(f"name is {self.name!r}: expected 1 to 64 letters, digits, '_' and '-'.")


@dataclass(frozen=True)
class ToolCall:
    """Tool call of a model, which is not checked against the tool."""

    # Id by which the message with the result refers to it.
    id: str
    # Name of the tool, which may not exist.
    name: str
    # Arguments. Empty if they could not be read.
    arguments: Mapping[str, Any] = field(default_factory=dict)
    # Reason why they could not be read, one line. Empty if they could.
    problem: str = ""


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    # ``system``, ``user``, ``assistant`` or ``tool``.
    role: str
    # Text of the message.
    content: str
    # Calls that an ``assistant`` message requests.
    tool_calls: tuple[ToolCall, ...] = ()
    # Id of the call whose result a ``tool`` message contains.
    tool_call_id: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the message as plain data. Keys about tools are present only if it has calls or is a result."""
        calls = {"tool_calls": [vars(call) for call in self.tool_calls]} if self.tool_calls else {}
        answered = {"tool_call_id": self.tool_call_id} if self.tool_call_id else {}
        return {"role": self.role, "content": self.content, **calls, **answered}


@dataclass(frozen=True)
class Request:
    """Request to a model."""

    # Role of the model, such as ``code``.
    role: str
    messages: tuple[Message, ...]
    # Sampling temperature, in [0, 2]. None means that of the model's settings.
    temperature: float | None = None
    tools: tuple[Tool, ...] = ()
    # Name of the call, unique within a run. Empty outside of runs.
    key: str = ""
    # JSON schema of the reply, an object. None means any reply.
    schema: Mapping[str, Any] | None = None

    @cached_property
    def prompt(self) -> str:
        """Conversation as JSON: a list of messages."""
        return json.dumps([message.to_dict() for message in self.messages])

    @cached_property
    def digest(self) -> str:
        """Hash of everything that affects the reply, without the key."""
        tools = "".join(f"\n{json.dumps(vars(tool))}" for tool in self.tools)
        schema = "" if self.schema is None else f"\n{json.dumps(self.schema)}"
        return hashlib.sha256(f"{self.role}\n{self.temperature}\n{self.prompt}{tools}{schema}".encode()).hexdigest()


@dataclass(frozen=True)
class Reply:
    """Reply of a model, with its cost."""

    # Text of the answer; may be empty.
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    # Number of tokens of the prompt.
    tokens_in: int = field(kw_only=True)
    # Number of tokens of the answer, including reasoning.
    tokens_out: int = field(kw_only=True)
    # Price in US dollars. None if the model's price is unknown.
    money: float | None = field(kw_only=True)
    # Seconds from the first attempt to the last byte, including waits.
    seconds: float = field(kw_only=True)
    # Name by which the model was asked.
    model: str = field(kw_only=True)
    # Number of attempts that failed before this answer.
    retries: int = field(default=0, kw_only=True)
    # ``stop``, ``length``, or another word of the server
    finish_reason: str = field(default="stop", kw_only=True)
    # Reasoning of the model, if the server sends it separately.
    reasoning: str = field(default="", kw_only=True)
    # True if token counts are estimated by length.
    estimated: bool = field(default=False, kw_only=True)
    # Prompt tokens in the server's cache, which cost less.
    tokens_cached: int = field(default=0, kw_only=True)

    @property
    def message(self) -> Message:
        """The reply as a message of the conversation."""
        return Message("assistant", self.text, self.tool_calls)


class Model(Protocol):
    """Anything that answers a request."""

    async def __call__(self, request: Request, /) -> Reply:
        """Answer ``request``."""
        ...


@runtime_checkable
class RoundLearner(Protocol):
    """A model that receives the rewards of the rounds in which it was used."""

    def begin_round(self, number: int) -> None:
        """Note that a round begins. Rounds begin in order."""

    def settle_round(self, number: int, reward: float, money: float, tokens: int) -> None:
        """Note the reward, in [0, 1], and the US dollars and tokens of a round. Rounds end in order."""


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens of ``text``, one for every four characters, rounded up."""
    return -(-len(text) // 4)
