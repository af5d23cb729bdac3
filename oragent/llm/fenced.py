"""Tool calls as text, for servers without tools: a call is a fenced block of JSON.

::

    ```json
    {"tool": "call_solver", "arguments": {"seconds": 5}}
    ```

The tools are described in the system message; results are sent as a user message.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from oragent._base.errors import ReplyError
from oragent.llm.model import Message, Reply, Request, Tool, ToolCall, estimate_tokens
from oragent.llm.wire import NAMELESS, read_arguments, replace_surrogates
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
TAGS = re.compile(r"</?tool_call>")  # some models write them around a call
BLANK_LINES = re.compile(r"\n{3,}")
MOST_BRACES = 200  # prose has few; the bound keeps a hostile reply cheap
MOST_UNCLOSED, MOST_MISSING = 4000, 2  # characters of a call that lacks its last braces, and how many


@dataclass(frozen=True)
class _TextCall:
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    problem: str = ""


def write_calls_as_text(request: Request) -> list[Message]:
    """Rewrite a conversation with messages of system, user and assistant only, and the tools in the first one."""
    names = {call.id: call.name for message in request.messages for call in message.tool_calls}
    plain: list[Message] = []
    answering = False  # results of one message's calls go into one message, as roles must alternate
    for message in request.messages:
        if message.role == "tool":
            name = names.get(message.tool_call_id, "the call")
            previous = f"{plain.pop().content}\n\n" if answering else ""
            plain.append(Message("user", f"{previous}Result of {name}:\n{message.content}"))
        else:
            calls = [_format_call(call) for call in message.tool_calls]
            plain.append(Message(message.role, "\n\n".join([*filter(None, [message.content]), *calls])))
        answering = message.role == "tool"
    return _describe_tools(plain, request.tools)


def _format_call(call: ToolCall) -> str:
    action = {"tool": call.name, "arguments": dict(call.arguments)}
    return f"```json\n{json.dumps(action, ensure_ascii=False)}\n```"


def _describe_tools(messages: list[Message], tools: Sequence[Tool]) -> list[Message]:
    if not tools:
        return messages
    lines = [f"- {tool.name}: {tool.description}\n  {json.dumps(dict(tool.parameters))}" for tool in tools]
    task = TASK + "\n".join(lines)
    if messages and messages[0].role == "system":
        return [Message("system", f"{messages[0].content}\n\n{task}"), *messages[1:]]
    return [Message("system", task), *messages]


def make_reply(text: str, request: Request, messages: Sequence[Message], seconds: float, model: str) -> Reply:
    """Make the reply of a model without a server, which was sent ``messages``; its price is unknown."""
    shown, calls = extract_calls(text, request)
    tokens_in, tokens_out = sum(estimate_tokens(message.content) for message in messages), estimate_tokens(text)
    return Reply(
        shown,
        calls,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        money=None,
        seconds=seconds,
        model=model,
        estimated=True,
    )


def extract_calls(text: str, request: Request, *, is_native: bool = False) -> tuple[str, tuple[ToolCall, ...]]:
    """Extract the calls from a reply.

    Args:
        text: Text of the reply.
        request: Request that it answers.
        is_native: Whether the server supports tools; then only calls of the request's tools count, as other JSON in a
            text is part of the answer.

    Returns:
        The text outside of fences if the reply calls tools, else the whole reply; and the calls, in order.
    """
    if not request.tools:
        return text, ()
    blocks, outside = fenced_blocks(drop_thoughts(text))
    wishes, names = (
        [wish for block in blocks for wish in _read_block(block.text)],
        {tool.name for tool in request.tools},
    )
    if not wishes:
        outside, wishes = _find_unfenced_calls(outside, names)
    if not wishes or (is_native and not names.issuperset(wish.name for wish in wishes)):
        return text, ()
    earlier = sum(len(message.tool_calls) for message in request.messages)
    calls = [
        ToolCall(f"call_{number}", wish.name, wish.arguments, wish.problem)
        for number, wish in enumerate(wishes, start=earlier + 1)
    ]
    return BLANK_LINES.sub("\n\n", outside).strip(), tuple(calls)


def _read_block(block: str) -> Iterator[_TextCall]:
    """Yield the calls in a fenced block: one object, several, or a list; none if the block is something else."""
    if not (KEYED.search(block) and block.lstrip().startswith(("{", "["))):
        return
    rest = block.strip()
    while rest:
        value, rest = _read_first_value(rest)
        if isinstance(value, ReplyError):
            named = NAMED.search(rest)
            yield _TextCall(replace_surrogates(named[1]) if named else "", problem=f"{value}")
            return
        yield from filter(None, map(_read_call, value if isinstance(value, list) else [value]))


def _read_first_value(text: str) -> tuple[Any, str]:
    """Return the first JSON value of a text and the rest; or the error and the text."""
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text)
        return value, text[end:].lstrip(" \t\n,;")
    except (ValueError, RecursionError):
        pass
    try:
        return extract_json(text), ""  # more tolerant
    except ReplyError as problem:
        return problem, text


def _read_call(value: object) -> _TextCall | None:
    """Read a call from a JSON value; None if it is no call."""
    if not isinstance(value, dict):
        return None
    name = value.get("tool")
    given = next((value[key] for key in ("arguments", "parameters") if key in value), None)
    if name is None and given is not None:
        name = value.get("name")
    if name is None:
        return None
    if not (isinstance(name, str) and name):
        return _TextCall("", problem=NAMELESS)
    arguments, problem = read_arguments(given)
    return _TextCall(replace_surrogates(name), arguments, problem)


def _find_unfenced_calls(text: str, names: set[str]) -> tuple[str, list[_TextCall]]:
    decoder, wishes, pieces, place = json.JSONDecoder(strict=False), [], [], 0
    for brace in [match.start() for match in re.finditer(r"\{", text)][:MOST_BRACES]:
        if brace < place:
            continue
        try:
            value, end = decoder.raw_decode(text, brace)
        except (ValueError, RecursionError):
            value, end = _close_braces(text[brace:].rstrip(), decoder), len(text)
        wish = _read_call(value)
        if wish and wish.name in names:
            wishes.append(wish)
            pieces.append(text[place:brace])
            place = end
    return TAGS.sub("", "".join([*pieces, text[place:]])) if wishes else text, wishes


def _close_braces(text: str, decoder: json.JSONDecoder) -> object:
    """Parse an object that lacks its last braces, which small models forget; None for anything else."""
    if not KEYED.search(text[:MOST_UNCLOSED]) or len(text) > MOST_UNCLOSED:
        return None
    for missing in range(1, MOST_MISSING + 1):
        with suppress(ValueError, RecursionError):
            return decoder.decode(text + "}" * missing)
    return None
