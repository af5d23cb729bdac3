"""What a request and a reply are, whoever answers."""

import hashlib
import json

import pytest

from oragent.llm import Message, Reply, Request, Tool, ToolCall

TALK = (Message("system", "Be terse."), Message("user", "1 + 2?"))
ADD = Tool("add", "Adds.", {"type": "object", "properties": {"a": {"type": "number"}}})


def test_a_message_without_tools_is_role_and_content_alone() -> None:
    assert Message("user", "x").to_dict() == {"role": "user", "content": "x"}


def test_a_message_with_tools_keeps_all_that_it_takes_to_go_on() -> None:
    call = ToolCall("c1", "add", {"a": 1})
    assert Message("assistant", "", (call,)).to_dict()["tool_calls"] == [
        {"id": "c1", "name": "add", "arguments": {"a": 1}, "problem": ""}
    ]
    assert Message("tool", "3", tool_call_id="c1").to_dict() == {"role": "tool", "content": "3", "tool_call_id": "c1"}


def test_a_digest_is_that_of_role_temperature_and_prompt_as_runs_have_recorded_it() -> None:
    prompt = '[{"role": "system", "content": "Be terse."}, {"role": "user", "content": "1 + 2?"}]'
    request = Request("code", TALK, 0.5, key="1.0")
    assert request.prompt == prompt
    assert request.digest == hashlib.sha256(f"code\n0.5\n{prompt}".encode()).hexdigest()


def test_digests_differ_by_all_that_shapes_a_reply_and_not_by_the_key() -> None:
    called = (*TALK, Message("assistant", "", (ToolCall("c1", "add", {"a": 1}),)), Message("tool", "3", (), "c1"))
    requests = [
        Request("code", TALK),
        Request("idea", TALK),
        Request("code", TALK, 0.0),
        Request("code", TALK, tools=(ADD,)),
        Request("code", TALK, tools=(Tool("add", "Adds two.", ADD.parameters),)),
        Request("code", called),
        Request("code", (*called[:2], Message("assistant", "", (ToolCall("c1", "add", {"a": 2}),)), called[3])),
    ]
    assert len({request.digest for request in requests}) == len(requests)
    assert Request("code", TALK, key="1.0").digest == Request("code", TALK, key="2.0").digest


def test_a_reply_goes_on_as_a_message() -> None:
    calls = (ToolCall("c1", "add", {"a": 1}),)
    reply = Reply("Wait.", calls, tokens_in=1, tokens_out=1, money=None, seconds=0.0, model="m")
    assert reply.message == Message("assistant", "Wait.", calls)
    assert json.loads(json.dumps(reply.message.to_dict()))["tool_calls"][0]["arguments"] == {"a": 1}


@pytest.mark.parametrize("name", ["", "two words", "höhe", "x" * 65, "a.b"])
def test_a_tool_has_a_name_that_servers_take(name: str) -> None:
    with pytest.raises(ValueError, match="letters"):
        Tool(name, "Does something.")
