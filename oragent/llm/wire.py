"""Requests and replies in the chat-completions format of servers, and tool calls as text for servers without tools.

The protocol is OpenAI's (platform.openai.com/docs/api-reference/chat). Servers vary, so every field of an answer is
checked. A call as text is a fenced block of JSON; the tools are described in the system message, and results are sent
as a user message::

    ```json
    {"tool": "call_solver", "arguments": {"seconds": 5}}
    ```
"""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from oragent._base.errors import ReplyError
from oragent._base.safe_load import check_bounds
from oragent.llm.model import Message, Reply, Request, Tool, ToolCall, estimate_tokens
from oragent.programs.blocks import drop_thoughts, fenced_blocks
from oragent.programs.replies import extract_json

# Maximum number of characters of a text. The rest is dropped, and the parsers refuse such a reply.
MAX_TEXT_CHARACTERS = 1_000_000
# Maximum number of tool calls of a message. The rest is dropped.
MAX_CALLS = 128
# Maximum number of characters of a call's id.
MAX_ID_LENGTH = 200
# Maximum tokens and costs of one call. Larger values are ignored.
MAX_TOKENS, MAX_MONEY = 10**9, 1e6
NAMELESS = "the call names no tool: expected its name as a text"


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
# Tags that some models write around a call.
TAGS = re.compile(r"</?tool_call>")
# Separators between the values of a block.
SEPARATORS = re.compile(r"[ \t\n,;]*")
BLANK_LINES = re.compile(r"\n{3,}")
# Maximum number of braces that are examined. Prose has few, and the limit bounds the time for a hostile reply.
MAX_BRACES = 200
# Maximum length of a call that lacks its last braces, in characters, and maximum number of missing braces.
MAX_UNCLOSED, MAX_MISSING = 4000, 2


def encode_message(message: Message) -> dict[str, Any]:
    """Encode a message for a server."""
    written: dict[str, Any] = {"role": message.role, "content": replace_surrogates(message.content)}
    if message.tool_calls:
        # Some servers refuse an empty text in a message with calls.
        written["content"] = written["content"] or None
        written["tool_calls"] = [encode_call(call) for call in message.tool_calls]
    if message.role == "tool":
        written["tool_call_id"] = message.tool_call_id
    return written


def merge_system_message(messages: Sequence[Message]) -> list[Message]:
    """Move the system message into the first user message, for templates without system messages."""
    system_texts = [message.content for message in messages if message.role == "system"]
    others = [message for message in messages if message.role != "system"]
    if not system_texts or not others:
        return others or [Message("user", text) for text in system_texts]
    first, *rest = others
    return [replace(first, content="\n\n".join([*system_texts, first.content])), *rest]


def encode_call(call: ToolCall) -> dict[str, Any]:
    """Encode a tool call for a server."""
    function = {"name": call.name, "arguments": json.dumps(dict(call.arguments))}
    return {"id": call.id, "type": "function", "function": function}


def encode_tool(tool: Tool) -> dict[str, Any]:
    """Encode a tool for a server."""
    function = {
        "name": tool.name,
        "description": replace_surrogates(tool.description),
        "parameters": dict(tool.parameters),
    }
    return {"type": "function", "function": function}


def encode_schema(request: Request) -> dict[str, Any] | None:
    """Encode the schema of a reply for a server; None without a schema."""
    if request.schema is None:
        return None
    named = {"name": request.role or "reply", "schema": dict(request.schema), "strict": True}
    return {"type": "json_schema", "json_schema": named}


def estimate_body_tokens(body: dict[str, Any]) -> int:
    """Estimate the tokens of a request's body: messages, calls and tools."""
    texts = [message["content"] or "" for message in body["messages"]]
    texts += [json.dumps(message["tool_calls"]) for message in body["messages"] if "tool_calls" in message]
    return sum(map(estimate_tokens, [*texts, *([json.dumps(body["tools"])] if "tools" in body else [])]))


def read_text(content: object) -> str:
    """Read the text of a message: a string, nothing, or a list of parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    if isinstance(content, str):
        return truncate_text(content)
    return ""


def read_usage(usage: object) -> tuple[int, int] | None:
    """Read the tokens of prompt and answer; None if the server sent none."""
    if not isinstance(usage, dict):
        return None
    prompt, answer = _token_count(usage.get("prompt_tokens")), _token_count(usage.get("completion_tokens"))
    if prompt is None or answer is None:
        return None
    return (prompt, answer)


def read_cached(usage: object) -> int:
    """Read the number of cached prompt tokens, in the format of OpenAI or DeepSeek."""
    fields = _as_object(usage)
    counts = (
        _as_object(fields.get("prompt_tokens_details")).get("cached_tokens"),
        fields.get("prompt_cache_hit_tokens"),
    )
    return max((count for count in map(_token_count, counts) if count is not None), default=0)


def _token_count(value: object) -> int | None:
    if type(value) is int and 0 <= value <= MAX_TOKENS:
        return value
    return None


def read_money(usage: object) -> float | None:
    """Read the cost of a call in US dollars, which OpenRouter sends; None without it."""
    cost = _as_object(usage).get("cost")
    if isinstance(cost, bool) or not isinstance(cost, int | float):
        return None
    # NaN is outside of any range.
    if 0 <= cost <= MAX_MONEY:
        return float(cost)
    return None


def read_calls(calls: object, earlier: Collection[str] = ()) -> tuple[ToolCall, ...]:
    """Read the tool calls of a message.

    Each gets an id that differs from all others, also from those of ``earlier`` messages.
    """
    taken, read, number = {*earlier}, [], len(earlier)
    for call in calls[:MAX_CALLS] if isinstance(calls, list) else []:
        fields = _as_object(call)
        function, call_id = _as_object(fields.get("function")), read_text(fields.get("id"))[:MAX_ID_LENGTH]
        if call_id in taken:
            call_id = f"{call_id}_"
        while not call_id or call_id in taken:
            number += 1
            call_id = f"call_{number}"
        taken.add(call_id)
        name = read_text(function.get("name"))
        if name:
            arguments, problem = read_arguments(function.get("arguments"))
        else:
            arguments, problem = ({}, NAMELESS)
        read.append(ToolCall(call_id, name, arguments, problem))
    return tuple(read)


def _as_object(value: object) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    return {}


def read_arguments(raw: object) -> tuple[dict[str, Any], str]:
    """Read the arguments of a call: an object, or its JSON.

    Returns:
        The arguments in a form that a database can store, and the reason if they could not be read, one line.
    """
    try:
        value = json.loads(raw or "{}", strict=False) if isinstance(raw, str) else raw
        if value is None:
            return {}, ""
        if not isinstance(value, dict):
            kind = {list: "a list", str: "a text", bool: "true or false"}.get(type(value), "a number")
            return {}, f"the arguments are {kind}, expected a JSON object"
        arguments: dict[str, Any] = json.loads(
            replace_surrogates(json.dumps(value, ensure_ascii=False, allow_nan=False))
        )
        check_bounds(arguments)
        return arguments, ""
    except json.JSONDecodeError as problem:
        return {}, f"the arguments are no JSON: {problem.msg} at character {problem.pos}"
    except RecursionError:
        return {}, "the arguments are nested too deeply"
    except ValueError:
        # Causes: NaN, infinity, a whole number of thousands of digits, or too many levels.
        return {}, "the arguments are nested too deeply, or hold a number that JSON has not"


def truncate_text(text: str) -> str:
    """Return the beginning of an untrusted text, without lone surrogates."""
    return replace_surrogates(text[:MAX_TEXT_CHARACTERS])


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which neither a request nor a database can contain."""
    return text.encode("utf-8", "replace").decode("utf-8")


def write_calls_as_text(request: Request) -> list[Message]:
    """Rewrite a conversation with only system, user and assistant messages, and with the tools in the first one."""
    names = {call.id: call.name for message in request.messages for call in message.tool_calls}
    plain: list[Message] = []
    # The results of one message's calls go into one message, because roles must alternate.
    answering = False
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
    """Create the reply of a model without a server that received ``messages``. Its price is unknown."""
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
    """Extract the calls from a reply. Return also the text outside of fences, or the whole text if it has no calls.

    If the server supports tools (``is_native``), only calls of the request's tools count, because other JSON in a text
    is part of the answer.
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
    calls = [replace(wish, id=f"call_{number}") for number, wish in enumerate(wishes, start=earlier + 1)]
    return BLANK_LINES.sub("\n\n", outside).strip(), tuple(calls)


def _read_block(block: str) -> Iterator[ToolCall]:
    """Yield the calls in a fenced block, which may be one object, several, or a list; none for other blocks."""
    if not (KEYED.search(block) and block.lstrip().startswith(("{", "["))):
        return
    text = block.strip()
    position, count = 0, 0
    while position < len(text) and count <= MAX_CALLS:
        value, position = _read_value(text, position)
        if isinstance(value, ReplyError):
            named = NAMED.search(text, position)
            yield ToolCall("", replace_surrogates(named[1]) if named else "", problem=f"{value}")
            return
        for call in filter(None, map(_read_call, value if isinstance(value, list) else [value])):
            count += 1
            yield call


def _read_value(text: str, position: int) -> tuple[Any, int]:
    """Return the JSON value at a position of a text and the position after it, or the error and the same position."""
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text, position)
        # The rest is not copied, so the time for many small values is proportional to the text.
        separator = SEPARATORS.match(text, end)
        return value, separator.end() if separator else end
    except (ValueError, RecursionError):
        pass
    try:
        # This parser is more tolerant.
        return extract_json(text[position:]), len(text)
    except ReplyError as problem:
        return problem, position


def _read_call(value: object) -> ToolCall | None:
    """Read a call from a JSON value. Return None for another value."""
    if not isinstance(value, dict):
        return None
    name = value.get("tool")
    call_arguments = next((value[key] for key in ("arguments", "parameters") if key in value), None)
    if name is None and call_arguments is not None:
        name = value.get("name")
    if name is None:
        return None
    if not (isinstance(name, str) and name):
        return ToolCall("", "", problem=NAMELESS)
    arguments, problem = read_arguments(call_arguments)
    return ToolCall("", replace_surrogates(name), arguments, problem)


def _find_unfenced_calls(text: str, names: set[str]) -> tuple[str, list[ToolCall]]:
    decoder, wishes, pieces, position = json.JSONDecoder(strict=False), [], [], 0
    for brace in [match.start() for match in re.finditer(r"\{", text)][:MAX_BRACES]:
        if brace < position:
            continue
        try:
            value, end = decoder.raw_decode(text, brace)
        except (ValueError, RecursionError):
            value, end = _close_braces(text[brace:].rstrip(), decoder), len(text)
        wish = _read_call(value)
        if wish and wish.name in names:
            wishes.append(wish)
            pieces.append(text[position:brace])
            position = end
    return TAGS.sub("", "".join([*pieces, text[position:]])) if wishes else text, wishes


def _close_braces(text: str, decoder: json.JSONDecoder) -> object:
    """Parse an object that lacks its last braces, which small models forget. Return None for another text."""
    if not KEYED.search(text[:MAX_UNCLOSED]) or len(text) > MAX_UNCLOSED:
        return None
    for missing in range(1, MAX_MISSING + 1):
        with suppress(ValueError, RecursionError):
            return decoder.decode(text + "}" * missing)
    return None
