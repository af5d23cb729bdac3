"""Events of a streamed reply, joined."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.llm import streaming
from oragent.llm.streaming import BrokenReply, StreamJoiner


def joined(*pieces: bytes, longest: int = 1000) -> dict[str, Any]:
    joiner = StreamJoiner(longest)
    for piece in pieces:
        joiner.feed(piece)
    return joiner.body()


def event(delta: dict[str, Any]) -> bytes:
    return f"data: {json.dumps({'choices': [{'delta': delta}]})}\n\n".encode()


@given(st.lists(st.text(max_size=20), max_size=10), st.integers(1, 40))
def test_any_cut_of_the_stream_gives_the_same_reply(texts: list[str], size: int) -> None:
    stream = b"".join(event({"content": text}) for text in texts) + b"data: [DONE]\n\n"
    pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
    message = joined(*pieces)["choices"][0]["message"]
    assert message == {"role": "assistant", "content": "".join(texts)}


def test_calls_without_an_index_and_with_equal_indices_are_told_apart_by_their_ids() -> None:
    def call(**values: Any) -> bytes:
        return event({"tool_calls": [values]})

    body = joined(
        call(index=0, id="a", function={"name": "f", "arguments": "{}"}),
        call(index=0, id="b", function={"name": "g", "arguments": "{"}),
        call(function={"arguments": "}"}),
        b"data: [DONE]\n",
    )
    calls = body["choices"][0]["message"]["tool_calls"]
    assert [(one["id"], one["function"]["name"], one["function"]["arguments"]) for one in calls] == [
        ("a", "f", "{}"),
        ("b", "g", "{}"),
    ]


def test_texts_and_events_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BrokenReply, match="1,000"):
        joined(*[event({"content": "x" * 100})] * 11)
    monkeypatch.setattr(streaming, "MAX_EVENT_LENGTH", 1000)
    with pytest.raises(BrokenReply, match="event"):
        joined(b"data: " + b"x" * 2000)
    calls = joined(*[event({"tool_calls": [{"id": str(number)}]}) for number in range(500)], b"data: [DONE]\n")
    assert len(calls["choices"][0]["message"]["tool_calls"]) == streaming.MAX_CALLS


@given(st.binary(max_size=200))
def test_any_bytes_are_a_reply_or_broken(content: bytes) -> None:
    joiner = StreamJoiner(1000)
    try:
        joiner.feed(content)
        joiner.feed(b"data: " + content)
        joiner.body()
    except BrokenReply:
        pass
