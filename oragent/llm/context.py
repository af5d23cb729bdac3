"""Fit a prompt into a model's context: leave out what is needed least, and say what was left out."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from oragent.llm.model import Message
from oragent.llm.model_settings import ModelSettings

LETTERS_A_TOKEN = 3  # of code; prose has four: an estimate that is too high wastes a little room, one too low a call
REPLY_SHARE = 4  # the reply gets one part in four of the context where no limit on it is set
BLANK_LINES = re.compile(r"\n{3,}")


@dataclass(frozen=True)
class PromptPart:
    """A part of a prompt that may be left out, piece by piece, the first piece first.

    Attributes:
        name: Name that the prompt gives the part when it says what was left out.
        pieces: Texts of the part, one a piece.
        keep: Number of the last pieces that always stay.
    """

    name: str
    pieces: Sequence[str]
    keep: int = 0


def room(models: Sequence[ModelSettings]) -> int | None:
    """Tokens that a prompt may have with any of these models; None where no context length is known."""
    known = [(model.context_tokens, model.max_tokens) for model in models if model.context_tokens is not None]
    return min((context - min(reply or context, context // REPLY_SHARE) for context, reply in known), default=None)


def fit(render: Callable[[Mapping[str, Sequence[str]]], str], parts: Sequence[PromptPart], tokens: int | None) -> str:
    """Write a prompt that fits, or comes as near to it as leaving out its parts allows.

    Args:
        render: Function that writes the prompt from the pieces of each part by its name.
        parts: Parts that may be left out, the least needed first.
        tokens: Most tokens of the prompt; None: any number.

    Returns:
        The prompt, with a line at its end that says what was left out, if anything was.
    """
    whole = {part.name: [piece for piece in part.pieces if piece] for part in parts}
    left = {name: list(pieces) for name, pieces in whole.items()}
    order = [part.name for part in parts for _ in whole[part.name][part.keep :]]
    prompt = _tidy(render(left))
    for name in order:
        if tokens is None or _tokens(prompt) <= tokens:
            break
        del left[name][0]
        prompt = f"{_tidy(render(left))}\n\n{_note(whole, left)}"
    return prompt


def fit_messages(messages: Sequence[Message], tokens: int | None) -> list[Message]:
    """Make a conversation fit, whatever it holds: the last resort, which takes the middle out of the longest message.

    Args:
        messages: Conversation to be cut.
        tokens: Most tokens in all; None: any number.

    Returns:
        The same messages where they fit; else shortened ones, which say so where text is missing.
    """
    fitted = list(messages)
    for _ in messages:
        excess = 0 if tokens is None else sum(map(_size, fitted)) - tokens
        if excess <= 0:
            break
        longest = max(range(len(fitted)), key=lambda place: len(fitted[place].content))
        message = fitted[longest]
        fitted[longest] = replace(message, content=_shortened(message.content, excess * LETTERS_A_TOKEN))
    return fitted


def _tokens(text: str) -> int:
    return -(-len(text) // LETTERS_A_TOKEN)


def _size(message: Message) -> int:
    calls = "".join(json.dumps(vars(call)) for call in message.tool_calls)
    return _tokens(message.content) + _tokens(calls)


def _tidy(text: str) -> str:
    return BLANK_LINES.sub("\n\n", text).strip()


def _note(whole: Mapping[str, Sequence[str]], left: Mapping[str, Sequence[str]]) -> str:
    words = []
    for name, pieces in whole.items():
        gone = len(pieces) - len(left[name])
        if gone:
            words.append(f"{gone} of {len(pieces)} {name}" if len(pieces) > 1 else name)
    return f"(Left out, as your context has no room for it: {', '.join(words)}.)"


def _shortened(text: str, excess: int) -> str:
    """``text`` without ``excess`` letters in its middle, and without as many as it takes to say so."""
    mark = "\n[... {:,} characters left out: your context has no room for them ...]\n"
    gone = min(len(text), excess + len(mark) + 10)
    head = (len(text) - gone) // 2
    return text[:head] + mark.format(gone) + text[head + gone :]
