"""What a model is to the rest of oragent: messages in, one reply out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol, Self

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as checked_dataclass

__all__ = ["Message", "Model", "ModelSettings", "Prompt", "Reply", "estimate_tokens"]


@checked_dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class ModelSettings:
    """Which model to ask, and how.

    Attributes:
        name: the model as its server knows it, say ``gpt-4.1-mini``.
        base_url: address of an OpenAI-compatible server, up to and with ``/v1``; None reads ``OPENAI_BASE_URL``.
        temperature: in [0, 2]; a single call may set another one.
        max_tokens: limit on a reply's length, tokens; None leaves it to the server.
        context_tokens: what prompt and reply may have together, to which prompts are fitted; None: not known.
        timeout_s: limit on one attempt, from sending to the last byte.
        retries: attempts after the first one, for failures that may pass.
        concurrency: calls in flight at once.
        backoff_s: wait before the first retry; it doubles with every further one.
    """

    name: Annotated[str, Field(min_length=1)]
    base_url: Annotated[str, Field(pattern=r"^https?://\S+$")] | None = None
    temperature: Annotated[float, Field(ge=0.0, le=2.0)] = 1.0
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    context_tokens: Annotated[int, Field(ge=256)] | None = None
    timeout_s: Annotated[float, Field(gt=0.0)] = 120.0
    retries: Annotated[int, Field(ge=0)] = 5
    concurrency: Annotated[int, Field(ge=1)] = 4
    backoff_s: Annotated[float, Field(ge=0.0)] = 0.5


@dataclass(frozen=True)
class Message:
    """One message of a conversation.

    Attributes:
        role: ``system``, ``user`` or ``assistant``.
        content: the text.
    """

    role: str
    content: str


class Prompt(tuple[Message, ...]):
    """A conversation, with the part that the model plays in it; to a model any sequence of messages will do.

    Attributes:
        role: the part, such as ``code``.
        name: of the call, different from that of every other call of a run.
    """

    role: str
    name: str

    def __new__(cls, messages: Iterable[Message], role: str = "", name: str = "") -> Self:
        """Add role and name to the messages."""
        prompt = super().__new__(cls, messages)
        prompt.role, prompt.name = role, name
        return prompt


@dataclass(frozen=True)
class Reply:
    """What a model answered, and what that took.

    Attributes:
        text: the answer; empty where the model gave none.
        model: the name under which the model was asked.
        tokens_in: tokens of the prompt.
        tokens_out: tokens of the answer, thoughts included.
        cost: USD; None where the model's price is unknown.
        seconds: from the first attempt to the last byte, waits between attempts included.
        retries: attempts that failed before this answer came.
        finish_reason: why the model stopped: ``stop``, ``length``, or whatever its server says.
        reasoning: the thoughts, where the server sends them apart from the answer.
        estimated: the server counted no tokens, so they are a guess by length.
    """

    text: str
    model: str
    tokens_in: int
    tokens_out: int
    cost: float | None
    seconds: float
    retries: int
    finish_reason: str = "stop"
    reasoning: str = ""
    estimated: bool = False

    @property
    def cut_off(self) -> bool:
        """Whether the answer ran into its length limit and lacks its end."""
        return self.finish_reason == "length"


class Model(Protocol):
    """Anything that answers a conversation."""

    async def __call__(self, messages: Sequence[Message], *, temperature: float | None = None) -> Reply:
        """Answer ``messages``; a ``temperature`` of None means the model's own setting."""
        ...


def estimate_tokens(text: str) -> int:
    """Guess the number of tokens of ``text``: one for every four characters, rounded up."""
    return -(-len(text) // 4)
