"""Fit a prompt into a model's context: leave out the least important parts, and list them."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from oragent.llm.model import Message
from oragent.llm.model_settings import ModelSettings

LETTERS_A_TOKEN = 3  # of code; prose has four. A high estimate wastes some context, a low one wastes a call.
REPLY_SHARE = 4  # the reply gets one part in four of the context where no limit on it is set
BLANK_LINES = re.compile(r"\n{3,}")


@dataclass(frozen=True)
class PromptPart:
    """A part of a prompt that may be left out, piece by piece, the first piece first."""

    name: str  # name of the part in the list of what was left out
    pieces: Sequence[str]  # texts of the part, in the order in which they are left out
    keep: int = 0  # number of the last pieces that always stay


def prompt_token_limit(models: Sequence[ModelSettings]) -> int | None:
    """Return the largest number of prompt tokens that fits all models; None if no context length is known."""
    limits = [(model.context_tokens, model.max_tokens) for model in models if model.context_tokens is not None]
    return min((context - min(reply or context, context // REPLY_SHARE) for context, reply in limits), default=None)


def fit_prompt(
    render: Callable[[Mapping[str, Sequence[str]]], str], parts: Sequence[PromptPart], tokens: int | None
) -> str:
    """Render a prompt that fits, or the shortest one that leaving out parts allows.

    Args:
        render: Function that renders the prompt from the pieces of each part, by name of the part.
        parts: Parts that may be left out, the least important first.
        tokens: Largest number of tokens of the prompt; None: any number.

    Returns:
        The prompt; its last line lists what was left out, if anything was.
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
    """Shorten a conversation until it fits, by cutting the middle out of the longest messages.

    Args:
        messages: Conversation.
        tokens: Largest number of tokens in all; None: any number.

    Returns:
        The same messages if they fit; else shortened ones with a mark where text is missing.
    """
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
    """Remove ``excess`` characters from the middle of a text, and as many more as the mark needs."""
    mark = "\n[... {:,} characters left out: your context has no room for them ...]\n"
    gone = min(len(text), excess + len(mark) + 10)
    head = (len(text) - gone) // 2
    return text[:head] + mark.format(gone) + text[head + gone :]
