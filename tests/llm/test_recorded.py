"""The model that gives recorded replies again."""

import asyncio

import pytest

from oragent.errors import ModelError
from oragent.llm import Message, Reply, Request, Tool, ToolCall
from oragent.llm.recorded import Recorded, silent

FIRST = Request("agent", (Message("user", "1 + 2?"),), tools=(Tool("add", "Adds."),), key="3.0")
REPLY = Reply("", (ToolCall("c1", "add", {"a": 1}),), tokens_in=9, tokens_out=4, money=0.5, seconds=1.5, model="m")


def test_a_recorded_reply_comes_back_whole() -> None:
    model = Recorded({(FIRST.key, FIRST.digest): REPLY})
    assert asyncio.run(model(FIRST)) == REPLY


@pytest.mark.parametrize(
    "other",
    [
        Request("agent", FIRST.messages, tools=FIRST.tools, key="3.1"),
        Request("agent", (Message("user", "1 + 3?"),), tools=FIRST.tools, key="3.0"),
        Request("agent", FIRST.messages, key="3.0"),
    ],
    ids=["key", "prompt", "tools"],
)
def test_another_request_has_no_reply(other: Request) -> None:
    with pytest.raises(ModelError, match=rf"no reply to this prompt \(call {other.key}\)"):
        asyncio.run(Recorded({(FIRST.key, FIRST.digest): REPLY})(other))


def test_silence_answers_nothing() -> None:
    with pytest.raises(ModelError, match="no reply to this prompt: it ended here"):
        asyncio.run(silent(Request("code", FIRST.messages)))
