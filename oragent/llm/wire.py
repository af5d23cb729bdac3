"""Chat completions as servers speak them: requests into plain data, plain data into replies.

The protocol is OpenAI's (platform.openai.com/docs/api-reference/chat); what servers make of it varies, so nothing that
comes back is taken to have the shape that it should have.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from oragent.llm.model import Message, Request, Tool, ToolCall, estimate_tokens

LONGEST = 1_000_000  # characters of a text: what follows is dropped, and so long a reply refused where it is read
MOST_CALLS = 128  # of tools in one message; what follows is not read
LONGEST_ID = 200  # characters of a call's id
MOST_TOKENS, MOST_MONEY = 10**9, 1e6  # of one call; a server that says more is not believed
NAMELESS = "the call names no tool: expected its name as a text"


def written_message(message: Message) -> dict[str, Any]:
    """A message as a server wants it."""
    written: dict[str, Any] = {"role": message.role, "content": clean(message.content)}
    if message.tool_calls:
        written["content"] = written["content"] or None  # some servers refuse an empty text beside calls
        written["tool_calls"] = [written_call(call) for call in message.tool_calls]
    if message.role == "tool":
        written["tool_call_id"] = message.tool_call_id
    return written


def joined(messages: Sequence[Message]) -> list[Message]:
    """A conversation whose system message stands at the head of the first of a user, for templates that know none."""
    told = [message.content for message in messages if message.role == "system"]
    others = [message for message in messages if message.role != "system"]
    if not told or not others:
        return others or [Message("user", text) for text in told]
    first, *rest = others
    return [replace(first, content="\n\n".join([*told, first.content])), *rest]


def written_call(call: ToolCall) -> dict[str, Any]:
    """A call as a server wants it."""
    function = {"name": call.name, "arguments": json.dumps(dict(call.arguments))}
    return {"id": call.id, "type": "function", "function": function}


def written_tool(tool: Tool) -> dict[str, Any]:
    """A tool as a server wants it."""
    function = {"name": tool.name, "description": clean(tool.description), "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def written_schema(request: Request) -> dict[str, Any] | None:
    """The schema of a reply as a server wants it; None where the reply is free."""
    if request.schema is None:
        return None
    named = {"name": request.role or "reply", "schema": dict(request.schema), "strict": True}
    return {"type": "json_schema", "json_schema": named}


def sent_tokens(body: dict[str, Any]) -> int:
    """Guess the tokens of a request's body: those of its messages, calls and tools."""
    texts = [message["content"] or "" for message in body["messages"]]
    texts += [json.dumps(message["tool_calls"]) for message in body["messages"] if "tool_calls" in message]
    return sum(map(estimate_tokens, [*texts, *([json.dumps(body["tools"])] if "tools" in body else [])]))


def read_text(content: object) -> str:
    """The text of a message: a string, nothing, or a list of parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    return bounded(content) if isinstance(content, str) else ""


def read_usage(usage: object) -> tuple[int, int] | None:
    """Tokens of prompt and answer, where the server counted them."""
    if not isinstance(usage, dict):
        return None
    prompt, answer = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    return None if prompt is None or answer is None else (prompt, answer)


def read_cached(usage: object) -> int:
    """Tokens of the prompt that the server had read before: as OpenAI and most others say it, or as DeepSeek does."""
    given = _object(usage)
    counts = (_object(given.get("prompt_tokens_details")).get("cached_tokens"), given.get("prompt_cache_hit_tokens"))
    return max((count for count in map(_count, counts) if count is not None), default=0)


def _count(value: object) -> int | None:
    """A number of tokens; None where it is none that a call can have."""
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def read_money(usage: object) -> float | None:
    """What the call cost in US dollars, where the server says so, as OpenRouter does."""
    cost = _object(usage).get("cost")
    if isinstance(cost, bool) or not isinstance(cost, int | float):
        return None
    return float(cost) if 0 <= cost <= MOST_MONEY else None  # NaN is in no range


def read_calls(calls: object, earlier: Collection[str] = ()) -> tuple[ToolCall, ...]:
    """The tool calls of a message.

    Args:
        calls: Value that the message has under ``tool_calls``.
        earlier: Ids of the conversation's calls before; each call gets an id of its own, whatever the server gave it.
    """
    taken, read, number = {*earlier}, [], len(earlier)
    for call in calls[:MOST_CALLS] if isinstance(calls, list) else []:
        given = _object(call)
        function, own = _object(given.get("function")), read_text(given.get("id"))[:LONGEST_ID]
        own = f"{own}_" if own in taken else own
        while not own or own in taken:
            number += 1
            own = f"call_{number}"
        taken.add(own)
        name = read_text(function.get("name"))
        arguments, problem = read_arguments(function.get("arguments")) if name else ({}, NAMELESS)
        read.append(ToolCall(own, name, arguments, problem))
    return tuple(read)


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def read_arguments(given: object) -> tuple[dict[str, Any], str]:
    """The arguments of a call: an object, or its JSON.

    Returns:
        The arguments, as they survive a database; and, where they could not be read, one line on why.
    """
    try:
        value = json.loads(given or "{}", strict=False) if isinstance(given, str) else given
        if value is None:
            return {}, ""
        if not isinstance(value, dict):
            return {}, f"the arguments are {_kind(value)}, expected a JSON object"
        arguments: dict[str, Any] = json.loads(clean(json.dumps(value, ensure_ascii=False, allow_nan=False)))
        return arguments, ""
    except json.JSONDecodeError as problem:
        return {}, f"the arguments are no JSON: {problem.msg} at character {problem.pos}"
    except RecursionError:
        return {}, "the arguments are nested too deeply"
    except ValueError:  # NaN, infinity, a whole number of thousands of digits
        return {}, "the arguments hold a number that JSON has not"


def bounded(text: str) -> str:
    """The beginning of a text that came from outside, without half characters."""
    return clean(text[:LONGEST])


def clean(text: str) -> str:
    """The text without half characters (lone surrogates), which neither a request nor a database can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _kind(value: object) -> str:
    return {list: "a list", str: "a text", bool: "true or false"}.get(type(value), "a number")
