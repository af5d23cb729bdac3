"""Calls as fenced JSON in a text, as models of all sizes write them."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.llm import Message, Request, Tool, ToolCall
from oragent.llm.wire import extract_calls, write_calls_as_text

TOOLS = (Tool("fix", "Fixes a start time."), Tool("solve", "Solves."))
ASK = Request("agent", (Message("user", "Go."),), tools=TOOLS)
FIX = '{"tool": "fix", "arguments": {"school": "Ortega", "time": "7:50"}}'
WANTED = ("fix", {"school": "Ortega", "time": "7:50"})


def found(text: str) -> list[tuple[str, dict]]:
    return [(call.name, dict(call.arguments)) for call in extract_calls(text, ASK)[1]]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"I fix it.\n```json\n{FIX}\n```", "I fix it."),
        (f"```\n{FIX}\n```\nNow wait.", "Now wait."),
        (f"~~~JSON\n{FIX}\n~~~", ""),
        (f"```json\n{FIX}", ""),  # never closed
        (f"<think>\n```json\n{{}}\n```\n</think>\n```json\n{FIX}\n```", ""),
        (f"```json\n[{FIX}]\n```", ""),
        (f"```json\n{FIX[:-1]},}}\n```", ""),  # a trailing comma
        ('```json\n{"name": "fix", "parameters": {"school": "Ortega", "time": "7:50"}}\n```', ""),
        ('```json\n{"tool": "fix", "arguments": "{\\"school\\": \\"Ortega\\", \\"time\\": \\"7:50\\"}"}\n```', ""),
        (f"<tool_call>\n{FIX}\n</tool_call>", ""),
        (FIX, ""),
        (f"I call {FIX} now.", "I call  now."),
        (FIX[:-1], ""),  # small models forget the last brace
        (FIX[:-2], ""),
        (f"A plan:\n```\nfirst Ortega\n```\n```json\n{FIX}\n```\nThat is all.", "A plan:\n\nThat is all."),
    ],
)
def test_a_call_is_found_in_whatever_dress_it_comes(text: str, shown: str) -> None:
    assert found(text) == [WANTED]
    assert extract_calls(text, ASK)[0] == shown


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{FIX}\n```\nand\n```json\n{FIX}\n```",
        f"```json\n{FIX}\n{FIX}\n```",
        f"```json\n[{FIX}, {FIX}]\n```",
        f"{FIX}\n{FIX}",
    ],
)
def test_several_calls_are_found_in_their_order_with_ids_of_their_own(text: str) -> None:
    _, calls = extract_calls(text, ASK)
    assert [(call.name, call.arguments) for call in calls] == [WANTED, WANTED]
    assert [call.id for call in calls] == ["call_1", "call_2"]


def test_ids_go_on_where_the_conversation_stands() -> None:
    earlier = Message("assistant", "", (ToolCall("call_1", "solve"), ToolCall("call_2", "solve")))
    asked = Request("agent", (*ASK.messages, earlier), tools=TOOLS)
    assert [call.id for call in extract_calls(f"```\n{FIX}\n```", asked)[1]] == ["call_3"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I would solve it.",
        "```python\ndef fix(tool):\n    return {'tool': 'fix'}\n```",
        '```json\n{"schedule": {"Ortega": "7:50"}}\n```',
        '```json\n[1, 2, {"a": 3}]\n```',
        '```json\n{"name": "Ortega", "time": "7:50"}\n```',  # has a name, but calls nothing
        'Data: {"tool": "hammer"}',  # in prose only tools that there are
    ],
)
def test_a_reply_that_calls_nothing_is_shown_whole(text: str) -> None:
    assert extract_calls(text, ASK) == (text, ())


def test_where_a_server_has_its_own_way_only_calls_of_known_tools_are_calls() -> None:
    assert extract_calls(f"```json\n{FIX}\n```", ASK, is_native=True)[1][0].name == "fix"
    answer = '```json\n{"tool": "hammer", "arguments": {}}\n```'
    assert extract_calls(answer, ASK, is_native=True) == (answer, ())


def test_without_tools_nothing_is_a_call() -> None:
    assert extract_calls(f"```json\n{FIX}\n```", Request("agent", ASK.messages)) == (f"```json\n{FIX}\n```", ())


@pytest.mark.parametrize(
    ("block", "name", "problem"),
    [
        ('{"tool": "fix", "arguments": {"school": ', "fix", "has no end"),
        ('{"tool": "fix", "arguments": {school: 1}}', "fix", "no JSON"),
        ('{"tool": "fix", "arguments": [1]}', "fix", "are a list"),
        ('{"tool": 3, "arguments": {}}', "", "names no tool"),
        ('{"tool": "", "arguments": {}}', "", "names no tool"),
        ('{"tool": "fix", "arguments": {"a": NaN}}', "fix", "a number that JSON has not"),
        ('{"tool": "fix", "arguments": ' + "[" * 99_999, "fix", "nested too deeply"),
    ],
)
def test_a_broken_call_is_data_with_one_line_on_what_was_wrong(block: str, name: str, problem: str) -> None:
    (call,) = extract_calls(f"```json\n{block}\n```", ASK)[1]
    assert (call.name, call.arguments) == (name, {})
    assert problem in call.problem
    assert "\n" not in call.problem


def test_a_tool_that_does_not_exist_is_for_the_caller_to_refuse() -> None:
    assert found('```json\n{"tool": "hammer", "arguments": {}}\n```') == [("hammer", {})]


def test_tools_are_described_in_the_system_message() -> None:
    (system, user) = write_calls_as_text(ASK)
    assert (system.role, user) == ("system", ASK.messages[0])
    for tool in TOOLS:
        assert f"- {tool.name}: {tool.description}\n  {json.dumps(dict(tool.parameters))}" in system.content
    own = Request("agent", (Message("system", "You plan."), *ASK.messages), tools=TOOLS)
    assert [message.role for message in write_calls_as_text(own)] == ["system", "user"]
    assert write_calls_as_text(own)[0].content.startswith("You plan.\n\nYou can call tools.")


def test_a_conversation_without_tools_is_left_alone() -> None:
    messages = (Message("system", "s"), Message("user", ""), Message("assistant", "a"), Message("user", "b"))
    assert write_calls_as_text(Request("code", messages)) == list(messages)


def test_what_was_called_reads_as_the_model_would_have_written_it_and_results_come_in_one_message() -> None:
    calls = (ToolCall("c1", *WANTED), ToolCall("c2", "solve"))
    results = (Message("tool", "fixed", tool_call_id="c1"), Message("tool", "2,453", tool_call_id="c2"))
    asked = Request("agent", (*ASK.messages, Message("assistant", "I fix.", calls), *results), tools=TOOLS)
    _, _, said, told = write_calls_as_text(asked)
    assert extract_calls(said.content, ASK)[1] == tuple(
        ToolCall(f"call_{number}", call.name, call.arguments) for number, call in enumerate(calls, start=1)
    )
    assert said.content.startswith("I fix.\n\n```json\n")
    assert told == Message("user", "Result of fix:\nfixed\n\nResult of solve:\n2,453")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=9), inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.slow
@given(st.text(max_size=30), st.lists(st.dictionaries(st.text(max_size=9), VALUES, max_size=2), min_size=1, max_size=2))
def test_whatever_is_called_is_found_again(prose: str, arguments: list[dict]) -> None:
    prose = "".join(letter for letter in prose if letter.isalnum() or letter == " ")
    calls = tuple(ToolCall(f"call_{number}", "fix", one) for number, one in enumerate(arguments, start=1))
    said = write_calls_as_text(Request("agent", (*ASK.messages, Message("assistant", prose, calls)), tools=TOOLS))[
        -1
    ].content
    shown, read_again = extract_calls(said, ASK)
    assert read_again == calls
    assert shown == prose.strip()


@given(st.text(alphabet='{}[]":,`~\\ntoolfxargumes1 \n', max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    shown, calls = extract_calls(text, ASK)
    assert shown == text or calls
    assert all(json.dumps(dict(call.arguments)) for call in calls)


@pytest.mark.slow
def test_many_json_values_take_time_in_proportion_to_the_text() -> None:
    """Two megabytes took 25 CPU seconds when the rest was copied after each value."""
    block = '{"a":1}\n' * 250_000 + FIX
    begun = time.process_time()
    extract_calls(f"```json\n{block}\n```", ASK)
    assert time.process_time() - begun < 8
