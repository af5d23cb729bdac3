"""Chat-completions format of servers: encode requests, decode replies.

The protocol is OpenAI's (platform.openai.com/docs/api-reference/chat). Servers vary, so every field of an answer is
checked.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from oragent._base.bounded import check_bounds
from oragent.llm.model import Message, Request, Tool, ToolCall, estimate_tokens

LONGEST = 1_000_000  # characters of a text; the rest is dropped, and the parsers refuse such a reply
MOST_CALLS = 128  # tool calls of a message; the rest is dropped
LONGEST_ID = 200  # characters of a call's id
MOST_TOKENS, MOST_MONEY = 10**9, 1e6  # of one call; larger values are ignored
NAMELESS = "the call names no tool: expected its name as a text"


def encode_message(message: Message) -> dict[str, Any]:
    """Encode a message for a server."""
    written: dict[str, Any] = {"role": message.role, "content": replace_surrogates(message.content)}
    if message.tool_calls:
        written["content"] = written["content"] or None  # some servers refuse an empty text beside calls
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
    """Encode the schema of a reply for a server; None if there is none."""
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
    return truncate_text(content) if isinstance(content, str) else ""


def read_usage(usage: object) -> tuple[int, int] | None:
    """Read the tokens of prompt and answer; None if the server sent none."""
    if not isinstance(usage, dict):
        return None
    prompt, answer = _token_count(usage.get("prompt_tokens")), _token_count(usage.get("completion_tokens"))
    return None if prompt is None or answer is None else (prompt, answer)


def read_cached(usage: object) -> int:
    """Read the number of cached prompt tokens, in the format of OpenAI or DeepSeek."""
    fields = _as_object(usage)
    counts = (
        _as_object(fields.get("prompt_tokens_details")).get("cached_tokens"),
        fields.get("prompt_cache_hit_tokens"),
    )
    return max((count for count in map(_token_count, counts) if count is not None), default=0)


def _token_count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def read_money(usage: object) -> float | None:
    """Read the cost of a call in US dollars, which OpenRouter sends; None if there is none."""
    cost = _as_object(usage).get("cost")
    if isinstance(cost, bool) or not isinstance(cost, int | float):
        return None
    return float(cost) if 0 <= cost <= MOST_MONEY else None  # NaN is in no range


def read_calls(calls: object, earlier: Collection[str] = ()) -> tuple[ToolCall, ...]:
    """Read the tool calls of a message.

    Args:
        calls: Value of ``tool_calls`` in the message.
        earlier: Ids of earlier calls of the conversation; each call gets a new id, whatever the server sent.
    """
    taken, read, number = {*earlier}, [], len(earlier)
    for call in calls[:MOST_CALLS] if isinstance(calls, list) else []:
        fields = _as_object(call)
        function, call_id = _as_object(fields.get("function")), read_text(fields.get("id"))[:LONGEST_ID]
        call_id = f"{call_id}_" if call_id in taken else call_id
        while not call_id or call_id in taken:
            number += 1
            call_id = f"call_{number}"
        taken.add(call_id)
        name = read_text(function.get("name"))
        arguments, problem = read_arguments(function.get("arguments")) if name else ({}, NAMELESS)
        read.append(ToolCall(call_id, name, arguments, problem))
    return tuple(read)


def _as_object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def read_arguments(raw: object) -> tuple[dict[str, Any], str]:
    """Read the arguments of a call: an object, or its JSON.

    Returns:
        The arguments, in a form that a database can store; and the reason if they could not be read, one line.
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
    except ValueError:  # NaN, infinity, a whole number of thousands of digits, too many levels
        return {}, "the arguments are nested too deeply, or hold a number that JSON has not"


def truncate_text(text: str) -> str:
    """Return the beginning of an untrusted text, without lone surrogates."""
    return replace_surrogates(text[:LONGEST])


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which neither a request nor a database can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
