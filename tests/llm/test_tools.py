"""Tools through the client: a server that knows them, and servers that refuse them, each in words of its own."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from oragent._base.errors import ModelError
from oragent.llm import Message, ModelClient, ModelSettings, Reply, Request, Tool, ToolCall
from oragent.llm.wire import read_arguments, read_calls

from .chat_server import Answer, ChatServer, calling, failure, ok, with_tools, without_tools

NUMBER = {"type": "number"}
ADD = Tool("add", "Adds two numbers.", {"type": "object", "properties": {"a": NUMBER, "b": NUMBER}})
ASK = Request("agent", (Message("system", "You calculate."), Message("user", "1 + 2, and 3 + 4?")), tools=(ADD,))

# As servers have said it: vLLM, Ollama, OpenRouter, llama.cpp without templates, FastAPI's checks, two that are terse.
REFUSALS = [
    failure(400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    failure(400, "registry.ollama.ai/library/gemma:2b does not support tools"),
    failure(404, "No endpoints found that support tool use."),
    failure(500, "tools param requires --jinja flag"),
    Answer(422, json.dumps({"detail": [{"loc": ["body", "tools"], "msg": "Extra inputs are not permitted"}]})),
    failure(400, "unknown parameter", param="tools"),
    failure(501, "not implemented"),
]


def talk(server: ChatServer, work: Callable[[ModelClient], Any], **settings: Any) -> Any:
    """Do some work with a client of a server."""

    async def run() -> Any:
        chosen = ModelSettings(**{"name": "m", "base_url": server.url, "backoff_s": 0.01, "retries": 0, **settings})
        async with ModelClient(chosen) as model:
            return await work(model)

    return asyncio.run(run())


async def conversed(model: ModelClient, request: Request = ASK) -> tuple[list[Reply], Request]:
    """Let a model call ``add`` until it calls nothing more; returns its replies, and the request after the last."""
    replies = []
    while True:
        replies.append(await model(request))
        results = [
            Message("tool", call.problem or str(call.arguments["a"] + call.arguments["b"]), tool_call_id=call.id)
            for call in replies[-1].tool_calls
        ]
        request = replace(request, messages=(*request.messages, replies[-1].message, *results))
        if not results:
            return replies, request


def calculating(request: dict[str, Any]) -> Answer:
    """A model behind a server with tools: calls for both sums at once, then tells them."""
    results = [message["content"] for message in request["messages"] if message["role"] == "tool"]
    if results:
        return ok(f"They are {' and '.join(results)}.")
    return calling(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4}), text="Let me add.", usage=(20, 9))


def writing(request: dict[str, Any]) -> Answer:
    """A model behind a server without: does as the system message says."""
    first, last = request["messages"][0], request["messages"][-1]
    if last["content"] == "Well?":
        return ok("Done.")
    assert "You calculate." in first["content"]
    assert "- add: Adds two numbers." in first["content"]
    if "Result of add" in last["content"]:
        sums = [line for line in last["content"].splitlines() if line.isdigit()]
        return ok(f"They are {' and '.join(sums)}.")
    blocks = [f"```json\n{json.dumps({'tool': 'add', 'arguments': {'a': a, 'b': a + 1}})}\n```" for a in (1, 3)]
    return ok("\n".join(["Let me add.", *blocks]))


def test_calls_and_results_go_over_the_wire_as_the_protocol_has_them() -> None:
    with ChatServer(then=with_tools(calculating)) as server:
        (wish, done), after = talk(server, conversed)
    first, second = server.requests
    assert first["tools"] == [
        {
            "type": "function",
            "function": {"name": "add", "description": "Adds two numbers.", "parameters": ADD.parameters},
        }
    ]
    assert first["messages"] == [message.to_dict() for message in ASK.messages]
    assert wish.tool_calls == (
        ToolCall("call_add_0", "add", {"a": 1, "b": 2}), ToolCall("call_add_1", "add", {"a": 3, "b": 4}),
    )  # fmt: skip
    assert (wish.text, wish.finish_reason, wish.tokens_out) == ("Let me add.", "tool_calls", 9)
    assert second["messages"][2:] == [
        {
            "role": "assistant",
            "content": "Let me add.",
            "tool_calls": [
                {"id": f"call_add_{k}", "type": "function", "function": {"name": "add", "arguments": text}}
                for k, text in enumerate(('{"a": 1, "b": 2}', '{"a": 3, "b": 4}'))
            ],
        },
        {"role": "tool", "content": "3", "tool_call_id": "call_add_0"},
        {"role": "tool", "content": "7", "tool_call_id": "call_add_1"},
    ]
    assert (done.text, done.tool_calls) == ("They are 3 and 7.", ())
    assert len(after.messages) == 6


def test_a_call_that_a_model_writes_as_text_is_one_at_a_server_with_tools_too() -> None:
    def small(request: dict[str, Any]) -> Answer:
        if request["messages"][-1]["role"] == "tool":
            return ok(f"It is {request['messages'][-1]['content']}.")
        return ok('{"name": "add", "arguments": {"a": 1, "b": 2}')

    with ChatServer(then=with_tools(small)) as server:
        (wish, done), _ = talk(server, conversed)
    assert [(call.name, call.arguments) for call in wish.tool_calls] == [("add", {"a": 1, "b": 2})]
    assert (wish.text, done.text) == ("", "It is 3.")
    assert server.requests[1]["messages"][2]["tool_calls"][0]["id"] == server.requests[1]["messages"][3]["tool_call_id"]


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: f"{refusal.status} {refusal.body[:40]}")
def test_a_server_that_refuses_tools_is_asked_for_fenced_actions_from_then_on(refusal: Answer) -> None:
    with ChatServer(then=without_tools(writing, refusal)) as server:

        async def twice(model: ModelClient) -> Any:
            return [await conversed(model), await conversed(model)]

        conversations = talk(server, twice)
    for (wish, done), _ in conversations:
        assert [(call.name, call.arguments) for call in wish.tool_calls] == [
            ("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4}),
        ]  # fmt: skip
        assert wish.text == "Let me add."
        assert (done.text, done.retries) == ("They are 3 and 7.", 0)
    assert ["tools" in request for request in server.requests] == [True, False, False, False, False]


def test_calls_in_flight_learn_of_refused_tools_together() -> None:
    def picky(request: dict[str, Any]) -> Answer:
        return failure(400, "no tools here") if "tools" in request else ok("fine", delay_s=0.02)

    with ChatServer(then=picky) as server:

        async def many(model: ModelClient) -> list[Reply]:
            return list(await asyncio.gather(*(model(ASK) for _ in range(4))))

        assert [reply.text for reply in talk(server, many)] == ["fine"] * 4


def test_a_conversation_with_tools_in_it_can_be_finished_without_them() -> None:
    for kind in (with_tools(calculating), without_tools(writing, REFUSALS[0])):
        with ChatServer(then=kind) as server:

            async def finishing(model: ModelClient) -> Reply:
                _, after = await conversed(model)
                return await model(replace(after, messages=(*after.messages, Message("user", "Well?")), tools=()))

            reply = talk(server, finishing)
        assert reply.tool_calls == ()
        assert "tools" not in server.requests[-1]
        assert "You can call tools" not in str(server.requests[-1])


def test_a_recorded_conversation_goes_on_at_a_server_without_tools() -> None:
    with ChatServer(then=with_tools(calculating)) as server:
        _, after = talk(server, conversed)
    after = replace(after, messages=(*after.messages, Message("user", "And again?")), tools=())
    with ChatServer(then=without_tools(lambda request: ok("As before."), failure(400, "tools?"))) as server:
        assert talk(server, lambda model: model(after)).text == "As before."
    roles = [message["role"] for message in server.requests[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]


@pytest.mark.parametrize(
    "other",
    [
        failure(400, "no way"),
        failure(404, "no such model"),
        failure(400, "'tool_calls' must be followed by tool messages", param="messages.[2].role"),
        failure(500, "the tool shed burns"),
        failure(401, "tools need a key"),
    ],
    ids=lambda answer: answer.body[:40],
)
def test_another_failure_is_no_refusal_of_tools(other: Answer) -> None:
    with ChatServer(other, other) as server, pytest.raises(ModelError):
        talk(server, lambda model: model(ASK))
    assert len(server.requests) == 1


def test_a_request_without_tools_never_switches() -> None:
    with ChatServer(failure(400, "tools?")) as server, pytest.raises(ModelError):
        talk(server, lambda model: model(replace(ASK, tools=())))
    assert len(server.requests) == 1


def test_tokens_of_calls_and_tools_are_estimated_where_the_server_does_not_count_them() -> None:
    with ChatServer(calling(("add", {"a": 1, "b": 2}), usage=None), ok("x", usage=None)) as server:

        async def both(model: ModelClient) -> list[Reply]:
            return [await model(ASK), await model(replace(ASK, tools=()))]

        called, plain = talk(server, both)
    assert called.estimated
    assert called.tokens_in > plain.tokens_in + 20
    assert called.tokens_out > 10


@pytest.mark.parametrize(
    ("given", "arguments", "problem"),
    [
        ('{"a": 1}', {"a": 1}, ""),
        ({"a": 1}, {"a": 1}, ""),
        ("", {}, ""),
        (None, {}, ""),
        ('{"a": 1', {}, "no JSON"),
        ("a=1", {}, "no JSON"),
        ("[1, 2]", {}, "are a list, expected a JSON object"),
        ("3", {}, "are a number, expected a JSON object"),
        ('"text"', {}, "are a text, expected a JSON object"),
        ('{"a": NaN}', {}, "a number that JSON has not"),
        ('{"a": -Infinity}', {}, "a number that JSON has not"),
        ("{" + '"a":' + "9" * 9999 + "}", {}, "a number that JSON has not"),
        ("[" * 100_000, {}, "nested too deeply"),
        ('{"a": "\\ud800"}', {"a": "?"}, ""),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}, ""),
    ],
    ids=lambda value: str(value)[:20],
)
def test_arguments_that_cannot_be_read_are_data(given: object, arguments: dict[str, Any], problem: str) -> None:
    read, why = read_arguments(given)
    assert read == arguments
    assert problem in why
    assert bool(why) == bool(problem)
    assert "\n" not in why


def test_broken_arguments_reach_the_caller_and_the_next_request_is_still_well_formed() -> None:
    served = iter([calling(("add", '{"a": 1, "b"')), ok("Sorry.")])
    with ChatServer(then=with_tools(lambda request: next(served))) as server:
        (wish, done), _ = talk(server, conversed)
    (call,) = wish.tool_calls
    assert call.arguments == {}
    assert call.problem.startswith("the arguments are no JSON: ")
    assert done.text == "Sorry."
    assert server.requests[1]["messages"][-1]["content"] == call.problem


@pytest.mark.parametrize(
    "calls",
    [None, "add", {}, 3, [None], ["add"], [{}], [{"function": "add"}], [{"id": 7, "function": {"name": ["add"]}}]],
    ids=str,
)
def test_calls_of_no_shape_break_nothing(calls: object) -> None:
    read = read_calls(calls)
    assert len(read) == (len(calls) if isinstance(calls, list) else 0)
    assert all((call.name, call.arguments) == ("", {}) and "names no tool" in call.problem for call in read)


def test_each_call_has_an_id_of_its_own() -> None:
    raw = [{"id": own, "function": {"name": "f", "arguments": "{}"}} for own in ("a", "a", "", None, "call_4", "a_")]
    ids = [call.id for call in read_calls(raw, earlier=["call_4"])]
    assert len({*ids, "call_4"}) == 7
    assert ids[0] == "a"
