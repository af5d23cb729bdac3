"""Replies that cannot be used go back with the reason; models work with tools within limits."""

import asyncio
from collections.abc import Sequence

from oragent._base.errors import ReplyError
from oragent.llm.dialogue import MAX_REPLY_CHARACTERS, ToolRounds, ask_until_read, work_with_tools
from oragent.llm.model import Message, Reply, Tool, ToolCall

TOOL = Tool("look", "Look at a file.")


def reply_of(content: str, *calls: ToolCall) -> Reply:
    return Reply(content, calls, tokens_in=1, tokens_out=1, money=None, seconds=0.0, model="m")


class Replies:
    """A model that says one thing after the other, the last again and again."""

    def __init__(self, *replies: Reply) -> None:
        self.replies, self.sent, self.tools = replies, [], []

    async def __call__(self, messages: Sequence[Message], other: object = ()) -> Reply:
        self.sent.append(list(messages))
        self.tools.append(other)
        return self.replies[min(len(self.sent), len(self.replies)) - 1]


def read_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ReplyError(f"{text[:5]!r} is no number") from None


def ask(model: Replies, attempts: int = 2):
    return asyncio.run(ask_until_read(model, [Message("user", "How many?")], read_number, attempts=attempts))


def test_a_reply_that_cannot_be_used_goes_back_with_the_reason():
    model = Replies(reply_of("many"), reply_of("7"))
    answer = ask(model)
    assert (answer.value, answer.problem, len(answer.replies)) == (7, "", 2)
    assert [(message.role, message.content) for message in model.sent[1]] == [
        ("user", "How many?"), ("assistant", "many"), ("user", "This cannot be used: 'many' is no number."),
    ]  # fmt: skip
    assert model.tools == [0, 1]  # numbers of the attempts


def test_the_last_reason_is_kept_where_no_reply_can_be_used():
    model = Replies(reply_of("many"), reply_of("more"), reply_of("most"))
    answer = ask(model, attempts=3)
    assert (answer.value, answer.problem, answer.reply.text) == (None, "'most' is no number", "most")
    assert len(model.sent[2]) == 5


def test_an_empty_reply_is_no_message_and_a_long_one_is_cut():
    model = Replies(reply_of("  "), reply_of("1"))
    ask(model)
    assert [message.role for message in model.sent[1]] == ["user"]
    assert model.sent[1][0].content.startswith("How many?\n\nThis cannot be used")
    model = Replies(reply_of("x" * (2 * MAX_REPLY_CHARACTERS)), reply_of("1"))
    ask(model)
    assert MAX_REPLY_CHARACTERS < len(model.sent[1][1].content) < MAX_REPLY_CHARACTERS + 20


def work(model: Replies, limits: ToolRounds, **options):
    messages = [Message("user", "Look.")]
    seen: list[str] = []

    def look(call: ToolCall) -> str:
        seen.append(call.name)
        return f"result {len(seen)}"

    text = asyncio.run(work_with_tools(model, messages, (TOOL,), look, limits, **options))
    return text, messages, seen


def call(number: int) -> ToolCall:
    return ToolCall(f"c{number}", "look")


def test_results_go_back_by_id_until_a_reply_has_no_call():
    text, messages, seen = work(Replies(reply_of("", call(1), call(2)), reply_of("Done.")), ToolRounds(5))
    assert (text, seen) == ("Done.", ["look", "look"])
    assert [(message.role, message.content, message.tool_call_id) for message in messages[2:]] == [
        ("tool", "result 1", "c1"), ("tool", "result 2", "c2"), ("assistant", "Done.", ""),
    ]  # fmt: skip


def test_rounds_and_calls_of_a_reply_are_bounded_and_the_model_is_asked_for_its_answer():
    model = Replies(reply_of("", call(1), call(2)), reply_of("", call(3)), reply_of("Enough."))
    text, messages, seen = work(model, ToolRounds(2, calls=1, closing="Answer now."))
    assert (text, seen) == ("Enough.", ["look", "look"])
    assert model.tools == [(TOOL,), (TOOL,), ()]
    assert [len(message.tool_calls) for message in messages if message.role == "assistant"] == [1, 1, 0]
    results = [message.content for message in messages if message.role == "tool"]
    # The model is told of the call that was not run.
    assert results[0].startswith("result 1\n(1 ")
    assert results[1] == "result 2"
    assert messages[-2].content == "Answer now."
    endless = Replies(reply_of("", call(1)))
    assert work(endless, ToolRounds(3))[0] == ""
    assert len(endless.sent) == 3  # without a closing the model is not asked again


def test_a_model_that_only_talks_is_nudged():
    model = Replies(reply_of("Hm."))
    text, messages, _ = work(model, ToolRounds(nudges=2, nudge="Call a tool."))
    assert (text, len(model.sent)) == ("Hm.", 3)
    assert [message.content for message in messages].count("Call a tool.") == 2


def test_calls_in_the_text_count_and_a_text_may_be_one():
    fenced = reply_of('So:\n```json\n{"tool": "look", "arguments": {}}\n```\n')
    assert work(Replies(fenced, reply_of("Done.")), ToolRounds(5))[2] == ["look"]
    read = lambda text: ToolCall("", "program", {"program": text}) if text.startswith("import") else None  # noqa: E731
    text, messages, seen = work(Replies(reply_of("import x"), reply_of("Done.")), ToolRounds(5), read_text_call=read)
    assert (text, seen) == ("Done.", ["program"])
    assert (messages[2].role, messages[2].content) == ("user", "Result of the program:\nresult 1")


def test_work_that_has_ended_asks_no_further():
    seen: list[Message] = []
    model = Replies(reply_of("", call(1)))
    messages = [Message("user", "Look.")]
    look = lambda call: seen.append(call) or "ok"  # noqa: E731
    asyncio.run(work_with_tools(model, messages, (TOOL,), look, ToolRounds(), has_ended=lambda: bool(seen)))
    assert len(model.sent) == 1
