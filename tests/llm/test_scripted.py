"""The model that needs no server."""

import asyncio

import pytest

from oragent.llm import Message, Request, Scripted, Tool, ToolCall

QUESTION = Request("code", (Message("user", "Improve it."),))


def texts(model: Scripted, requests: list[Request]) -> list[str]:
    async def run() -> list[str]:
        return [reply.text for reply in await asyncio.gather(*map(model, requests))]

    return asyncio.run(run())


def test_replies_come_in_turn_and_over_again() -> None:
    model = Scripted(["a", "b"])
    assert texts(model, [QUESTION] * 5) == ["a", "b", "a", "b", "a"]
    assert model.calls == 5


def test_replies_can_be_made_from_request_and_number() -> None:
    model = Scripted(lambda request, number: f"{number}: {request.key} {request.messages[-1].content}")
    asked = [Request("code", (Message("user", "?"),), key=key) for key in ("1.0", "1.1")]
    assert texts(model, asked) == ["0: 1.0 ?", "1: 1.1 ?"]


def test_tokens_are_counted_by_length_and_cost_nothing() -> None:
    request = Request("code", (Message("user", "12345678"), Message("user", "1")), temperature=0.0)
    reply = asyncio.run(Scripted(["12345"])(request))
    assert (reply.tokens_in, reply.tokens_out, reply.money, reply.retries) == (3, 2, 0.0, 0)


def test_no_replies_at_all_are_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        Scripted([])


def test_a_scripted_reply_may_call_tools_and_read_what_came_back() -> None:
    call = ToolCall("c1", "add", {"a": 1, "b": 2})

    def play(request: Request, number: int) -> str | Message:
        results = [message for message in request.messages if message.role == "tool"]
        return f"It is {results[0].content}." if results else Message("assistant", "", (call,))

    model = Scripted(play)
    first = Request("agent", (Message("user", "1 + 2?"),), tools=(Tool("add", "Adds."),))
    wish = asyncio.run(model(first))
    assert (wish.text, wish.tool_calls) == ("", (call,))
    assert wish.tokens_out > 5  # the call was written, too
    answer = Message("tool", "3", tool_call_id=wish.tool_calls[0].id)
    done = asyncio.run(model(Request("agent", (*first.messages, wish.message, answer), tools=first.tools)))
    assert (done.text, done.tool_calls) == ("It is 3.", ())
