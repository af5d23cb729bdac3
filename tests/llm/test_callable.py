"""Any function of messages is a model."""

import asyncio
import functools
import threading
import time
from typing import Any

import pytest

from oragent._base.errors import ModelError
from oragent.llm import Message, Reply, Request, Tool
from oragent.llm.callable import wrap_function

ASK = Request("code", (Message("system", "Be terse."), Message("user", "12345678")))


def reply(function: Any, request: Request = ASK, **given: Any) -> Reply:
    return asyncio.run(wrap_function(function, **given)(request))


def echo(messages: list[dict[str, str]]) -> str:
    return " | ".join(f"{message['role']}: {message['content']}" for message in messages)


async def echo_later(messages: list[dict[str, str]]) -> str:
    await asyncio.sleep(0)
    return echo(messages)


class Echo:
    async def __call__(self, messages: list[dict[str, str]]) -> str:
        return await echo_later(messages)


@pytest.mark.parametrize(
    "function",
    [echo, echo_later, Echo(), lambda messages: echo_later(messages), functools.partial(echo_later)],
    ids=["function", "coroutine function", "object", "lambda of a coroutine", "partial"],
)
def test_a_function_sync_or_async_answers_plain_messages(function: Any) -> None:
    assert reply(function).text == "system: Be terse. | user: 12345678"


def test_tokens_are_a_guess_and_the_price_is_unknown() -> None:
    answer = reply(lambda messages: "12345", name="mine")
    assert (answer.model, answer.tokens_in, answer.tokens_out, answer.money) == ("mine", 3 + 2, 2, None)
    assert answer.estimated
    assert answer.tool_calls == ()


def test_its_name_is_that_of_the_function_where_none_is_given() -> None:
    assert reply(echo).model == "echo"
    assert reply(Echo()).model == "Echo"


@pytest.mark.parametrize(("said", "kind"), [(None, "NoneType"), (b"bytes", "bytes"), ({"content": "x"}, "dict")])
def test_a_reply_that_is_no_text_is_told_in_one_line(said: Any, kind: str) -> None:
    with pytest.raises(ModelError) as caught:
        reply(lambda messages: said, name="mine")
    assert str(caught.value) == f"the model 'mine' returned {kind}, expected a text (str)"


def test_an_exception_of_the_function_is_told_in_one_line_with_its_cause() -> None:
    def fails(messages: list[dict[str, str]]) -> str:
        raise ValueError("two\nlines")

    with pytest.raises(ModelError) as caught:
        reply(fails)
    assert str(caught.value) == "the model 'fails' failed: ValueError: two lines"
    assert isinstance(caught.value.__cause__, ValueError)


def test_replies_that_run_out_end_the_call_and_do_not_hang_it() -> None:
    replies = iter(["one"])
    model = wrap_function(lambda messages: next(replies), name="mine")

    async def run() -> Reply:
        assert (await model(ASK)).text == "one"
        return await asyncio.wait_for(model(ASK), 10)

    with pytest.raises(ModelError):
        asyncio.run(run())


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(ModelError):
        wrap_function("gpt-4.1")  # type: ignore[arg-type]


def test_the_loop_goes_on_while_a_function_thinks() -> None:
    thinking, told = threading.Event(), threading.Event()

    def thinks(messages: list[dict[str, str]]) -> str:
        thinking.set()
        return "told" if told.wait(20) else "nobody came"

    async def run() -> str:
        call = asyncio.create_task(wrap_function(thinks)(ASK))
        while not thinking.is_set():
            await asyncio.sleep(0.001)
        told.set()  # by the loop, which is free to do so
        return (await call).text

    assert asyncio.run(run()) == "told"


@pytest.mark.parametrize("concurrency", [1, 3])
def test_no_more_threads_call_a_function_at_once_than_it_is_made_for(concurrency: int) -> None:
    lock, inside, most = threading.Lock(), [0], [0]

    def counts(messages: list[dict[str, str]]) -> str:
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        time.sleep(0.005)
        with lock:
            inside[0] -= 1
        return "x"

    model = wrap_function(counts, concurrency=concurrency)

    async def run() -> None:
        await asyncio.gather(*(model(ASK) for _ in range(12)))

    for _ in range(2):  # in one event loop after the other
        asyncio.run(run())
    assert 1 <= most[0] <= concurrency


def test_half_characters_do_not_get_out() -> None:
    assert reply(lambda messages: "a \ud800 b").text == "a ? b"


def test_a_function_calls_tools_as_fenced_json() -> None:
    def plans(messages: list[dict[str, str]]) -> str:
        assert "- solve: Solves." in messages[0]["content"]
        assert {tuple(message) for message in messages} == {("role", "content")}
        if "Result of solve:\n42" in messages[-1]["content"]:
            return "It is 42."
        return 'I solve.\n```json\n{"tool": "solve", "arguments": {"seconds": 5}}\n```'

    request = Request("agent", ASK.messages, tools=(Tool("solve", "Solves."),))
    wish = reply(plans, request)
    (call,) = wish.tool_calls
    assert (wish.text, call.name, call.arguments) == ("I solve.", "solve", {"seconds": 5})
    result = Message("tool", "42", tool_call_id=call.id)
    done = reply(plans, Request("agent", (*request.messages, wish.message, result), tools=request.tools))
    assert (done.text, done.tool_calls) == ("It is 42.", ())
