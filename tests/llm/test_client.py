"""The client against a real HTTP server on loopback."""

import asyncio
import socket
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

import oragent
from oragent._base.errors import ModelError, ModelTimeout
from oragent.llm import Message, ModelClient, ModelSettings, Price, Prices, Reply, Request, Tool
from oragent.llm.keys import hide_key

from .chat_server import Answer, ChatServer, failure, ok, streamed

KEY = "sk-secret-0123456789"
QUESTION = Request("code", (Message("system", "You are terse."), Message("user", "Improve the heuristic.")))


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def ask(server: ChatServer, calls: int = 1, temperature: float | None = None, **settings: Any) -> list[Reply]:
    """Ask ``server`` the same question several times at once, through one client."""

    async def run() -> list[Reply]:
        chosen = ModelSettings(**{"name": "m", "base_url": server.url, "backoff_s": 0.01, **settings})
        with hide_key() as key:
            async with ModelClient(chosen, Prices({"m": Price(**{"in": 2.0, "out": 8.0})}), key) as model:
                asked = replace(QUESTION, temperature=temperature)
                return list(await asyncio.gather(*(model(asked) for _ in range(calls))))

    return asyncio.run(run())


def refused(*script: Answer, **settings: Any) -> tuple[ModelError, int]:
    """Ask a server that is going to fail; returns the error and the number of requests that it took."""
    with ChatServer(*script) as server:
        with pytest.raises(ModelError) as caught:
            ask(server, **settings)
        return caught.value, len(server.requests)


def check(base_url: str | None = None) -> None:
    async def run() -> None:
        with hide_key() as key:
            async with ModelClient(ModelSettings("m", base_url=base_url, backoff_s=0.01), api_key=key) as model:
                await model.check()

    asyncio.run(run())


@pytest.mark.slow
def test_a_reply_carries_text_tokens_and_cost() -> None:
    with ChatServer(ok("fine", usage=(1000, 500))) as server:
        (reply,) = ask(server)
    assert (reply.text, reply.model, reply.tokens_in, reply.tokens_out) == ("fine", "m", 1000, 500)
    assert reply.money == pytest.approx((1000 * 2.0 + 500 * 8.0) / 1e6)
    assert (reply.retries, reply.finish_reason, reply.estimated) == (0, "stop", False)


def test_the_request_carries_model_messages_key_and_temperature() -> None:
    with ChatServer() as server:
        ask(server, temperature=0.25, max_tokens=77)
    (request,) = server.requests
    assert request["messages"] == [
        {"role": "system", "content": "You are terse."},
        {"role": "user", "content": "Improve the heuristic."},
    ]
    assert (request["model"], request["temperature"], request["max_tokens"]) == ("m", 0.25, 77)
    assert server.keys == [f"Bearer {KEY}"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "trouble",
    [
        failure(429),
        failure(429, retry_after="0.02"),
        failure(500),
        failure(503),
        failure(408),
        Answer(502, "<html>Bad gateway</html>", content_type="text/html"),
        Answer(sent=0.0),  # closed without a word
        Answer(body=ok("a long answer").body, sent=0.5),  # cut within the body
        Answer(body="Welcome to the hotel's network", content_type="text/html"),
        Answer(body="rubbish"),
        Answer(body='{"choices": [{"mess'),  # whole by its length, cut within the JSON
        Answer(body="[" * 100_000),
        Answer(body="[1, 2]"),
        Answer(body='{"choices": []}'),
        Answer(body='{"choices": [{"message": "text"}]}'),
        Answer(body='{"error": {"message": "upstream failed"}}'),  # an error that wears a 200
    ],
    ids=lambda trouble: f"{trouble.status} {trouble.body[:30]}",
)
def test_a_failure_that_may_pass_is_tried_again(trouble: Answer) -> None:
    with ChatServer(trouble, trouble, ok("at last", usage=(7, 3))) as server:
        (reply,) = ask(server, timeout_s=20.0)
    assert (reply.text, reply.retries, len(server.requests)) == ("at last", 2, 3)
    assert (reply.tokens_in, reply.tokens_out) == (7, 3)


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_is_final(status: int) -> None:
    error, requests = refused(failure(status, "no way"))
    assert requests == 1
    assert str(status) in str(error)
    assert "no way" in str(error)
    assert "\n" not in str(error)


def test_a_quota_that_is_used_up_is_final() -> None:
    error, requests = refused(failure(429, "You exceeded your current quota", code="insufficient_quota"))
    assert requests == 1
    assert "quota" in str(error)


@pytest.mark.parametrize("retries", [0, 2])
def test_retries_end(retries: int) -> None:
    error, requests = refused(*[failure(500, "boom")] * 9, retries=retries)
    assert requests == retries + 1
    assert "boom" in str(error)


@pytest.mark.slow
def test_a_time_out_bounds_a_trickle_of_bytes_too() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n")
            try:
                for _ in range(1000):
                    writer.write(b" ")
                    await writer.drain()
                    await asyncio.sleep(0.02)
            except ConnectionError:
                pass
            finally:
                writer.close()

        async def run() -> None:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
            server = await asyncio.start_server(drip, sock=listener)
            async with server, ModelClient(ModelSettings("m", base_url=url, timeout_s=0.2, retries=0)) as model:
                await model(QUESTION)

        begin = time.monotonic()
        with pytest.raises(ModelTimeout, match=r"model\.timeout_s"):
            asyncio.run(run())
        assert time.monotonic() - begin < 10.0


@pytest.mark.slow
@pytest.mark.parametrize("gap_s", [0.0, 0.15])
def test_a_reply_may_take_longer_than_the_limit_on_silence(gap_s: float) -> None:
    answer = replace(streamed(*[{"content": f"word{number} "} for number in range(20)]), pieces=10, gap_s=gap_s)
    with ChatServer(answer) as server:
        (reply,) = ask(server, timeout_s=1.0, retries=0)
    assert reply.text == "".join(f"word{number} " for number in range(20))
    assert (reply.tokens_in, reply.tokens_out, reply.estimated) == (10, 5, False)
    assert reply.seconds >= 10 * gap_s
    assert server.requests[0]["stream"] is True


@pytest.mark.parametrize("answer", [ok(delay_s=30.0), replace(streamed({"content": "late"}), pieces=2, gap_s=30.0)])
def test_after_a_time_out_of_ours_nothing_is_asked_again(answer: Answer) -> None:
    with ChatServer(answer) as server:
        begin = time.monotonic()
        with pytest.raises(ModelTimeout, match=r"model\.timeout_s") as caught:
            ask(server, timeout_s=0.3)
        assert time.monotonic() - begin < 5.0
        assert len(server.requests) == 1
    assert "OPENAI_BASE_URL" not in str(caught.value)


def test_a_streamed_reply_has_reasoning_and_calls_of_tools() -> None:
    answer = streamed(
        {"reasoning_content": "I "},
        {"reasoning_content": "think"},
        {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "solve", "arguments": '{"sec'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": 'onds": 5}'}}]},
        {"tool_calls": [{"index": 1, "id": "b", "function": {"name": "stop", "arguments": "{}"}}]},
        reason="tool_calls",
    )

    async def run(url: str) -> Reply:
        async with ModelClient(ModelSettings("m", base_url=url)) as model:
            tools = tuple(Tool(name, "It does.", {"type": "object", "properties": {}}) for name in ("solve", "stop"))
            return await model(replace(QUESTION, tools=tools))

    with ChatServer(answer) as server:
        reply = asyncio.run(run(server.url))
    assert [(call.id, call.name, dict(call.arguments)) for call in reply.tool_calls] == [
        ("a", "solve", {"seconds": 5}),
        ("b", "stop", {}),
    ]
    assert (reply.reasoning, reply.finish_reason) == ("I think", "tool_calls")


@pytest.mark.parametrize(
    "answer",
    [
        Answer(body='data: {"choices": [{"delta": {"content": "a"}}]}\n\n', content_type="text/event-stream"),
        Answer(body='data: {"error": {"message": "overloaded"}}\n\n', content_type="text/event-stream"),
        Answer(body="data: [1]\n\n", content_type="text/event-stream"),
        Answer(body="data: {\n\n", content_type="text/event-stream"),
        Answer(body="", content_type="text/event-stream"),
        replace(streamed({"content": "a long answer"}), sent=0.5),
    ],
    ids=lambda answer: answer.body[:30],
)
def test_a_broken_stream_is_tried_again(answer: Answer) -> None:
    with ChatServer(answer, streamed({"content": "at last"})) as server:
        (reply,) = ask(server)
    assert (reply.text, reply.retries) == ("at last", 1)


@pytest.mark.parametrize(("refused", "stays"), [("stream_options", ["stream"]), ("stream", [])])
def test_a_server_that_does_not_stream_is_asked_without(refused: str, stays: list[str]) -> None:
    with ChatServer(failure(400, f"{refused} is not supported"), ok("plain")) as server:
        (reply,) = ask(server)
    assert reply.text == "plain"
    assert [name for name in ("stream", "stream_options") if name in server.requests[1]] == stays


@pytest.mark.slow
@pytest.mark.parametrize("asked", [lambda: "0.3", lambda: formatdate(time.time() + 2, usegmt=True)])
def test_the_wait_that_a_server_asks_for_is_kept(asked: Callable[[], str]) -> None:
    with ChatServer(failure(429, retry_after=asked())) as server:
        (reply,) = ask(server)
    assert reply.retries == 1
    assert reply.seconds >= 0.3


@pytest.mark.parametrize("asked", ["86400", "inf"])
def test_a_wait_without_end_is_not_kept(asked: str) -> None:
    error, requests = refused(failure(429, retry_after=asked))
    assert requests == 1
    assert "wait" in str(error)


@pytest.mark.parametrize("asked", ["soon", "", "nan", "-3", "Mon, 99 Foo 99999 99:99:99 GMT"])
def test_a_wait_that_makes_no_sense_does_not_matter(asked: str) -> None:
    with ChatServer(failure(429, retry_after=asked)) as server:
        assert ask(server)[0].retries == 1


def test_waits_grow_between_retries() -> None:
    with ChatServer(*[failure(500)] * 3) as server:
        (reply,) = ask(server, backoff_s=0.05)
    assert 0.75 * (0.05 + 0.1 + 0.2) <= reply.seconds < 2.0


def test_calls_in_flight_are_limited() -> None:
    with ChatServer(*[ok(delay_s=0.05)] * 12) as server:
        replies = ask(server, calls=12, concurrency=3)
    assert len(replies) == 12
    assert server.most_in_flight == 3


def test_tokens_are_estimated_where_the_server_does_not_count_them() -> None:
    with ChatServer(ok("12345678", usage=None)) as server:
        (reply,) = ask(server)
    assert reply.estimated
    assert (reply.tokens_in, reply.tokens_out) == (4 + 6, 2)  # 14 and 22 characters, four a token


def test_a_reply_without_content_is_empty_and_not_tried_again() -> None:
    with ChatServer(ok(None, reasoning_content="Let me think.")) as server:
        (reply,) = ask(server)
    assert (reply.text, reply.reasoning, reply.retries) == ("", "Let me think.", 0)


def test_a_content_of_parts_is_joined() -> None:
    with ChatServer(ok([{"type": "text", "text": "one "}, {"type": "text", "text": "two"}, 3])) as server:  # type: ignore[arg-type]
        assert ask(server)[0].text == "one two"


def test_a_reply_that_ran_into_its_limit_says_so() -> None:
    with ChatServer(ok("def heur", finish_reason="length"), ok("all")) as server:
        assert [reply.finish_reason for reply in ask(server) + ask(server)] == ["length", "stop"]


def test_half_characters_pass_neither_in_nor_out() -> None:
    with ChatServer(ok("a \ud800 b")) as server:

        async def run() -> Reply:
            async with ModelClient(ModelSettings("m", base_url=server.url)) as model:
                return await model(Request("code", (Message("user", "stderr said \udcff"),)))

        assert asyncio.run(run()).text == "a ? b"
    assert server.requests[0]["messages"][0]["content"] == "stderr said ?"


def test_a_refused_temperature_is_dropped_once_and_for_all() -> None:
    unsupported = failure(400, "Unsupported value: 'temperature' must be 1", param="temperature")
    with ChatServer(unsupported) as server:

        async def run() -> list[Reply]:
            async with ModelClient(ModelSettings("m", base_url=server.url, retries=0)) as model:
                return [await model(QUESTION), await model(QUESTION)]

        assert [reply.retries for reply in asyncio.run(run())] == [0, 0]
    assert ["temperature" in request for request in server.requests] == [True, False, False]


def test_calls_in_flight_learn_of_a_refused_parameter_together() -> None:
    def picky(request: dict[str, Any]) -> Answer:
        return failure(400, "temperature is not supported") if "temperature" in request else ok(delay_s=0.02)

    with ChatServer(*[picky] * 20) as server:
        assert len(ask(server, calls=4, retries=0)) == 4


def test_max_tokens_is_renamed_where_the_model_wants_it() -> None:
    refusal = failure(400, "'max_tokens' is not supported, use 'max_completion_tokens' instead", param="max_tokens")
    with ChatServer(refusal) as server:
        ask(server, max_tokens=99)
    assert [request.get("max_completion_tokens") for request in server.requests] == [None, 99]
    assert "max_tokens" not in server.requests[1]


def test_a_parameter_that_stays_refused_ends_the_call() -> None:
    error, requests = refused(*[failure(400, "temperature?")] * 5)
    assert requests == 2
    assert "400" in str(error)


def test_a_server_that_is_not_there_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    with pytest.raises(ModelError, match="OPENAI_BASE_URL") as caught:
        check(url)
    assert url in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_key_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ModelError, match="OPENAI_API_KEY") as caught:
        check()
    assert "strategy" not in str(caught.value), "formulate and others ask models too"


def test_a_local_server_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with ChatServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        check()
    assert server.requests[0]["max_tokens"] <= 16


def test_a_server_that_does_want_a_key_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with (
        ChatServer(failure(401, "who are you?")) as server,
        pytest.raises(ModelError),
    ):
        check(server.url)


def test_the_check_names_a_refused_key_and_an_unknown_model() -> None:
    with ChatServer(failure(401, "wrong key"), failure(404, "no such model")) as server:
        with pytest.raises(ModelError, match="OPENAI_API_KEY"):
            check(server.url)
        with pytest.raises(ModelError, match="--model"):
            check(server.url)


def test_the_check_minds_no_model_that_thinks_beyond_the_probe() -> None:
    with ChatServer(failure(400, "max_tokens or model output limit was reached")) as server:
        check(server.url)


def test_an_address_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost:8000/v1")
    with pytest.raises(ModelError, match="http://"):
        check()


def test_a_proxy_in_the_environment_does_not_hide_a_local_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://192.0.2.1:9")  # an address that nobody has (RFC 5737)
    with ChatServer(ok("direct")) as server:
        assert ask(server, retries=0, timeout_s=2.0)[0].text == "direct"


@pytest.mark.parametrize(
    "trouble",
    [failure(401, f"Incorrect API key provided: {KEY}."), failure(500, f"debug: Bearer {KEY}"), Answer(body=KEY * 3)],
    ids=["401", "500", "rubbish"],
)
def test_the_key_shows_in_no_error(trouble: Answer) -> None:
    error, _ = refused(trouble, trouble, retries=1)
    package = str(Path(oragent.__file__).parent)
    frames = [
        frame for frame, _ in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename.startswith(package)
    ]
    assert frames
    assert KEY not in f"{error!r} {error.__context__!r} {[frame.f_locals for frame in frames]!r}"
    assert "***" in str(error)


@pytest.mark.parametrize("word", ["x", "any", "EMPTY", "not-needed"])
def test_a_word_in_the_place_of_a_key_is_crossed_out_of_no_reply(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", word)
    with ChatServer(ok(f"max({word}, company)")) as server:
        assert ask(server)[0].text == f"max({word}, company)"


def test_the_key_shows_in_no_repr() -> None:
    async def run() -> str:
        async with ModelClient(ModelSettings("m", base_url="http://localhost:1/v1"), api_key=SecretStr(KEY)) as model:
            return f"{model!r} {model!s} {vars(model)}"

    assert KEY not in asyncio.run(run())


@pytest.mark.parametrize("stray", [f"{KEY}\n", f" {KEY} "])
def test_white_space_around_a_key_does_not_matter(stray: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", stray)
    with ChatServer() as server:
        ask(server)
    assert server.keys == [f"Bearer {KEY}"]


@pytest.mark.parametrize("key", ["sk-sécret", "sk-two\nlines"])
def test_a_key_that_cannot_be_one_is_told_without_it(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ModelError) as caught:
        check()
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"base_url": "localhost:8000"},
        {"temperature": 2.5},
        {"max_tokens": 0},
        {"timeout_s": 0},
        {"retries": -1},
        {"concurrency": 0},
        {"top_p": 1.0},
    ],
    ids=str,
)
def test_settings_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ModelSettings(**{"name": "m", **wrong})
