"""Tools for a model whose server knows none: a call is a fenced block of JSON in the text.

::

    ```json
    {"tool": "call_solver", "arguments": {"seconds": 5}}
    ```

The tools are described in the system message, and results go back as a user's message.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from oragent._base.errors import ReplyError
from oragent.llm.model import Message, Request, Tool, ToolCall
from oragent.llm.wire import NAMELESS, clean, read_arguments
from oragent.programs.blocks import drop_thoughts, fenced_blocks
from oragent.programs.replies import extract_json

TASK = """You can call tools. To call one, write a fenced JSON block of this form, and nothing after it:

```json
{"tool": "NAME", "arguments": {"PARAMETER": "VALUE"}}
```

Several blocks call several tools. The results come in the next message; never write them yourself. Where you need no \
tool, answer without such a block.

The tools, each with the JSON schema of its arguments:
"""
NAMED = re.compile(r'"(?:tool|name)"\s*:\s*"([^"\n]{1,64})"')
KEYED = re.compile(r'"(?:tool|name)"\s*:')
TAGS = re.compile(r"</?tool_call>")  # what some models are trained to put around a call
BLANK_LINES = re.compile(r"\n{3,}")
MOST_BRACES = 200  # prose has few; the bound keeps a hostile reply cheap
MOST_UNCLOSED, MOST_MISSING = 4000, 2  # characters of a call that lacks its last braces, and how many


@dataclass(frozen=True)
class _Wish:
    """A call as it was found in a text."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    problem: str = ""


def written(request: Request) -> list[Message]:
    """The conversation in plain messages of system, user and assistant, the tools described in the first one."""
    names = {call.id: call.name for message in request.messages for call in message.tool_calls}
    plain: list[Message] = []
    answering = False  # results of one message's calls come back in one message: roles have to take turns
    for message in request.messages:
        if message.role == "tool":
            name = names.get(message.tool_call_id, "the call")
            before = f"{plain.pop().content}\n\n" if answering else ""
            plain.append(Message("user", f"{before}Result of {name}:\n{message.content}"))
        else:
            calls = [_block(call) for call in message.tool_calls]
            plain.append(Message(message.role, "\n\n".join([*filter(None, [message.content]), *calls])))
        answering = message.role == "tool"
    return _told(plain, request.tools)


def _block(call: ToolCall) -> str:
    action = {"tool": call.name, "arguments": dict(call.arguments)}
    return f"```json\n{json.dumps(action, ensure_ascii=False)}\n```"


def _told(messages: list[Message], tools: Sequence[Tool]) -> list[Message]:
    """The conversation with the tools described in its system message."""
    if not tools:
        return messages
    lines = [f"- {tool.name}: {tool.description}\n  {json.dumps(dict(tool.parameters))}" for tool in tools]
    task = TASK + "\n".join(lines)
    if messages and messages[0].role == "system":
        return [Message("system", f"{messages[0].content}\n\n{task}"), *messages[1:]]
    return [Message("system", task), *messages]


def read(text: str, request: Request, *, known: bool = False) -> tuple[str, tuple[ToolCall, ...]]:
    """Take the calls out of a reply.

    Args:
        text: Text of the reply.
        request: Request that it answers.
        known: Whether only calls of the request's own tools are any: where a server has a way of its own to call them,
            other JSON in a text is part of an answer.

    Returns:
        What is left to be shown: all that stands outside of fences where the reply calls tools, else the whole reply;
        and the calls, in order.
    """
    if not request.tools:
        return text, ()
    blocks, outside = fenced_blocks(drop_thoughts(text))
    wishes, names = [wish for block in blocks for wish in _wishes(block.text)], {tool.name for tool in request.tools}
    if not wishes:
        outside, wishes = _bare(outside, names)
    if not wishes or (known and not names.issuperset(wish.name for wish in wishes)):
        return text, ()
    earlier = sum(len(message.tool_calls) for message in request.messages)
    calls = [
        ToolCall(f"call_{number}", wish.name, wish.arguments, wish.problem)
        for number, wish in enumerate(wishes, start=earlier + 1)
    ]
    return BLANK_LINES.sub("\n\n", outside).strip(), tuple(calls)


def _wishes(block: str) -> Iterator[_Wish]:
    """The calls in a fenced block: one object, several, or a list of them; of a block of something else, none."""
    if not (KEYED.search(block) and block.lstrip().startswith(("{", "["))):
        return
    rest = block.strip()
    while rest:
        value, rest = _first(rest)
        if isinstance(value, ReplyError):
            named = NAMED.search(rest)
            yield _Wish(clean(named[1]) if named else "", problem=f"{value}")
            return
        yield from filter(None, map(_wish, value if isinstance(value, list) else [value]))


def _first(text: str) -> tuple[Any, str]:
    """The first value of a text of JSON, and the rest; or what is wrong with it, and the text."""
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text)
        return value, text[end:].lstrip(" \t\n,;")
    except (ValueError, RecursionError):
        pass
    try:
        return extract_json(text), ""  # forgives more
    except ReplyError as problem:
        return problem, text


def _wish(value: object) -> _Wish | None:
    """What an object wishes for, if it is a call at all."""
    if not isinstance(value, dict):
        return None
    name = value.get("tool")
    given = next((value[key] for key in ("arguments", "parameters") if key in value), None)
    if name is None and given is not None:
        name = value.get("name")
    if name is None:
        return None
    if not (isinstance(name, str) and name):
        return _Wish("", problem=NAMELESS)
    arguments, problem = read_arguments(given)
    return _Wish(clean(name), arguments, problem)


def _bare(text: str, names: set[str]) -> tuple[str, list[_Wish]]:
    """The calls of known tools that stand in prose without a fence, and the prose without them."""
    decoder, wishes, kept, place = json.JSONDecoder(strict=False), [], [], 0
    for brace in [match.start() for match in re.finditer(r"\{", text)][:MOST_BRACES]:
        if brace < place:
            continue
        try:
            value, end = decoder.raw_decode(text, brace)
        except (ValueError, RecursionError):
            value, end = _closed(text[brace:].rstrip(), decoder), len(text)
        wish = _wish(value)
        if wish and wish.name in names:
            wishes.append(wish)
            kept.append(text[place:brace])
            place = end
    return TAGS.sub("", "".join([*kept, text[place:]])) if wishes else text, wishes


def _closed(text: str, decoder: json.JSONDecoder) -> object:
    """The object that a text is but for its last braces, as small models forget them; None for anything else."""
    if not KEYED.search(text[:MOST_UNCLOSED]) or len(text) > MOST_UNCLOSED:
        return None
    for missing in range(1, MOST_MISSING + 1):
        with suppress(ValueError, RecursionError):
            return decoder.decode(text + "}" * missing)
    return None
