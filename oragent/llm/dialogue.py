"""Exchanges with a model: fit prompts into its context, repeat until a reply can be read, and run tools for it."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, Protocol, TypeVar

from oragent._base.errors import OragentError, ReplyError
from oragent.llm import wire
from oragent.llm.model import Message, Request, Tool, ToolCall
from oragent.llm.model_settings import ModelSettings
from oragent.programs.parser_client import run_briefly

# Maximum number of characters of a reply that is sent back with its error. Its head and its tail are kept.
MAX_REPLY_CHARACTERS = 50_000
OUT_OF_ROUNDS = "No more calls in this turn: answer now, with what you have."


# Characters per token of code; prose has four. A high estimate wastes some context, a low one wastes a call.
LETTERS_A_TOKEN = 3
# The reply gets one part in four of the context, unless a limit on it is set.
REPLY_SHARE = 4
BLANK_LINES = re.compile(r"\n{3,}")


class ReplyText(Protocol):
    """Reply of a model, whether recorded or not."""

    @property
    def text(self) -> str:
        """Text of the reply."""

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Tool calls, in order."""


class Asker(Protocol):
    """Object that sends prompts to models, such as a case of a study."""

    async def ask(
        self, role: str, messages: Sequence[Message], temperature: float | None = None, tools: Sequence[Tool] = ()
    ) -> ReplyText:
        """Send a prompt to the model of a role."""


T = TypeVar("T")
R = TypeVar("R", bound=ReplyText)


@dataclass(frozen=True)
class ModelAnswer(Generic[T, R]):
    """Value read from a reply, or the reason why none could be read."""

    # Value of the last reply. None if no reply could be used.
    value: T | None
    # Replies in order, at least one.
    replies: tuple[R, ...]
    # Reason why the last reply cannot be used. Empty if it can.
    problem: str = ""

    @property
    def reply(self) -> R:
        """The last reply."""
        return self.replies[-1]


async def ask_until_read(
    ask: Callable[[Sequence[Message], int], Awaitable[R]],
    messages: Sequence[Message],
    read: Callable[[str], T],
    *,
    complain: Callable[[str], str] = "This cannot be used: {}.".format,
    attempts: int = 2,
    unusable: type[OragentError] = ReplyError,
) -> ModelAnswer[T, R]:
    """Ask a model. A reply that cannot be used is sent back with the reason.

    ``ask`` receives the messages and the number of the attempt, from 0. ``read`` raises ``unusable`` if it cannot use a
    reply. It may be called again in a thread, if a hostile reply takes longer than usual. ``complain`` turns the reason
    into the message that is sent back.
    """
    replies: list[R] = []
    problem = ""
    for attempt in range(attempts):
        if replies:
            messages = send_back(messages, replies[-1].text, complain(problem))
        replies.append(await ask(messages, attempt))
        try:
            return ModelAnswer(await run_briefly(partial(read, replies[-1].text)), tuple(replies))
        except unusable as error:
            problem = str(error)
    return ModelAnswer(None, tuple(replies), problem)


def send_back(messages: Sequence[Message], text: str, complaint: str) -> list[Message]:
    """Return a conversation with a reply that cannot be used, and the reason.

    After an empty reply, the reason is appended to the last message, because servers accept no empty message.
    """
    if text.strip():
        return [*messages, Message("assistant", _quote_text(text)), Message("user", complaint)]
    *earlier, last = messages
    return [*earlier, replace(last, content=f"{last.content}\n\n{complaint}")]


def _quote_text(text: str) -> str:
    half = MAX_REPLY_CHARACTERS // 2
    if len(text) <= MAX_REPLY_CHARACTERS:
        return text
    return f"{text[:half]}\n[...]\n{text[-half:]}"


def read_message(reply: ReplyText, messages: Sequence[Message], tools: Sequence[Tool]) -> Message:
    """Return a reply as a message with its tool calls, including those in its text.

    Some servers accept tools but leave the calls of a small model in the text, as fenced JSON.
    """
    if reply.tool_calls:
        return Message("assistant", reply.text, reply.tool_calls)
    text, calls = wire.extract_calls(reply.text, Request("", tuple(messages), tools=tuple(tools)))
    return Message("assistant", text, calls)


@dataclass(frozen=True)
class ToolRounds:
    """Limits of the work with tools, and the messages that a model receives when it reaches them."""

    # Maximum number of replies with tool calls. None means no limit.
    rounds: int | None = None
    # Maximum number of calls in one reply. The model is told how many further ones were not run. None means no limit.
    calls: int | None = None
    # Message of a last request without tools, which follows the last round; empty for a request without a message. None
    # means that there is no such request.
    closing: str | None = None
    # Maximum number of replies without a call that are answered by ``nudge``.
    nudges: int = 0
    # Message that requests a call.
    nudge: str = ""


async def work_with_tools(
    ask: Callable[[Sequence[Message], Sequence[Tool]], Awaitable[ReplyText]],
    messages: list[Message],
    tools: Sequence[Tool],
    call_tool: Callable[[ToolCall], str],
    limits: ToolRounds,
    *,
    has_ended: Callable[[], bool] = lambda: False,
    read_text_call: Callable[[str], ToolCall | None] = lambda text: None,
) -> str:
    """Let a model call tools until it answers without a call. Return the text of its last reply.

    Replies and results are appended to ``messages``. ``call_tool`` performs a call in a thread; for a wrong call it
    returns a text that says what is wrong. ``has_ended`` returns True when the work is complete, for example after a
    tool that submits it. ``read_text_call`` reads a call, such as a fenced program, from a reply without tool calls.
    """
    rounds = nudges = 0
    text = ""
    while not has_ended():
        if rounds == limits.rounds:
            if limits.closing is None:
                return text
            return await _ask_for_answer(ask, messages, limits.closing)
        rounds += 1
        response = read_message(await ask(messages, tools), messages, tools)
        calls, text = response.tool_calls[: limits.calls], response.content
        messages.append(replace(response, tool_calls=calls))
        results = [await asyncio.to_thread(call_tool, call) for call in calls]
        if dropped := len(response.tool_calls) - len(calls):
            results[-1] += f"\n({dropped} more calls were not run: at most {limits.calls} in one reply)"
        messages += [Message("tool", result, tool_call_id=call.id) for call, result in zip(calls, results, strict=True)]
        if calls:
            continue
        if (text_call := read_text_call(text)) is not None:
            result = await asyncio.to_thread(call_tool, text_call)
            messages.append(Message("user", f"Result of the program:\n{result}"))
        elif nudges < limits.nudges:
            nudges += 1
            messages.append(Message("user", limits.nudge))
        else:
            break
    return text


async def _ask_for_answer(
    ask: Callable[[Sequence[Message], Sequence[Tool]], Awaitable[ReplyText]], messages: list[Message], closing: str
) -> str:
    if closing:
        messages.append(Message("user", closing))
    reply = await ask(messages, ())
    messages.append(Message("assistant", reply.text))
    return reply.text


@dataclass(frozen=True)
class PromptPart:
    """Part of a prompt that may be left out piece by piece, the first piece first."""

    # Name of the part in the list of omissions.
    name: str
    # Texts of the part, in the order in which they are left out.
    pieces: Sequence[str]
    # Number of the last pieces that are never left out.
    keep: int = 0


def prompt_token_limit(models: Sequence[ModelSettings]) -> int | None:
    """Return the largest number of prompt tokens that fits all models; None if no context length is known."""
    limits = [(model.context_tokens, model.max_tokens) for model in models if model.context_tokens is not None]
    return min((context - min(reply or context, context // REPLY_SHARE) for context, reply in limits), default=None)


def fit_prompt(
    render: Callable[[Mapping[str, Sequence[str]]], str], parts: Sequence[PromptPart], tokens: int | None
) -> str:
    """Render a prompt that fits, or the shortest possible one.

    ``render`` creates the prompt from the pieces of each part, by name. The least important parts come first. The last
    line of the prompt lists omissions, if any.
    """
    whole = {part.name: [piece for piece in part.pieces if piece] for part in parts}
    remaining = {name: list(pieces) for name, pieces in whole.items()}
    order = [part.name for part in parts for _ in whole[part.name][part.keep :]]
    prompt = _collapse_blank_lines(render(remaining))
    for name in order:
        if tokens is None or _count_tokens(prompt) <= tokens:
            break
        del remaining[name][0]
        prompt = f"{_collapse_blank_lines(render(remaining))}\n\n{_describe_omissions(whole, remaining)}"
    return prompt


def fit_messages(messages: Sequence[Message], tokens: int | None) -> list[Message]:
    """Shorten a conversation to a number of tokens by cutting the middle of the longest messages."""
    fitted = list(messages)
    for _ in messages:
        excess = 0 if tokens is None else sum(map(_message_tokens, fitted)) - tokens
        if excess <= 0:
            break
        longest = max(range(len(fitted)), key=lambda index: len(fitted[index].content))
        message = fitted[longest]
        fitted[longest] = replace(message, content=_cut_middle(message.content, excess * LETTERS_A_TOKEN))
    return fitted


def _count_tokens(text: str) -> int:
    return -(-len(text) // LETTERS_A_TOKEN)


def _message_tokens(message: Message) -> int:
    calls = "".join(json.dumps(vars(call)) for call in message.tool_calls)
    return _count_tokens(message.content) + _count_tokens(calls)


def _collapse_blank_lines(text: str) -> str:
    return BLANK_LINES.sub("\n\n", text).strip()


def _describe_omissions(whole: Mapping[str, Sequence[str]], remaining: Mapping[str, Sequence[str]]) -> str:
    words = []
    for name, pieces in whole.items():
        removed = len(pieces) - len(remaining[name])
        if removed:
            words.append(f"{removed} of {len(pieces)} {name}" if len(pieces) > 1 else name)
    return f"(Left out, as your context has no room for it: {', '.join(words)}.)"


def _cut_middle(text: str, excess: int) -> str:
    """Remove ``excess`` characters from the middle of a text, plus the characters that the mark needs."""
    mark = "\n[... {:,} characters left out: your context has no room for them ...]\n"
    gone = min(len(text), excess + len(mark) + 10)
    head = (len(text) - gone) // 2
    return text[:head] + mark.format(gone) + text[head + gone :]
