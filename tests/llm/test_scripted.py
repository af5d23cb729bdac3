"""The model that needs no server."""

import ast
import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest

from oragent.errors import ReplyError
from oragent.llm import Message, Model, Reply, Scripted, extract_code

PARENT = "import numpy as np\n\n\ndef heuristics(distances):\n    return 0.5 / (distances + 1e-9) ** 2.0\n"


def prompt(k: int = 0) -> list[Message]:
    return [Message("system", "You design heuristics."), Message("user", f"Round {k}. Improve\n```python\n{PARENT}```")]


def texts(model: Model, prompts: Sequence[Sequence[Message]]) -> list[str]:
    async def run() -> list[Reply]:
        return list(await asyncio.gather(*map(model, prompts)))

    return [reply.text for reply in asyncio.run(run())]


def test_replies_come_in_turn_and_over_again() -> None:
    model = Scripted(["a", "b"])
    assert texts(model, [prompt()] * 5) == ["a", "b", "a", "b", "a"]
    assert model.calls == 5


def test_replies_can_be_made_from_messages_and_number() -> None:
    model = Scripted(lambda messages, number: f"{number}: {messages[-1].content[:7]}")
    assert texts(model, [prompt(4), prompt(5)]) == ["0: Round 4", "1: Round 5"]


def test_tokens_are_counted_by_length_and_cost_nothing() -> None:
    reply = asyncio.run(Scripted(["12345"])([Message("user", "12345678"), Message("user", "1")], temperature=0.0))
    assert (reply.tokens_in, reply.tokens_out, reply.cost, reply.retries) == (3, 2, 0.0, 0)


def test_no_replies_at_all_are_refused() -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        Scripted([])


def test_varied_replies_follow_from_the_seed_and_not_from_the_order_of_calls() -> None:
    prompts = [prompt(k) for k in range(20)]
    forward = texts(Scripted.varied(3), prompts)
    assert texts(Scripted.varied(3), prompts[::-1]) == forward[::-1]
    assert texts(Scripted.varied(4), prompts) != forward


def test_the_same_prompt_gets_another_reply_each_time() -> None:
    assert len(set(texts(Scripted.varied(0), [prompt()] * 30))) > 15


def test_most_varied_replies_hold_a_changed_program_and_some_are_broken_or_empty() -> None:
    ends: Counter[str] = Counter()
    for text in texts(Scripted.varied(0), [prompt(k) for k in range(200)]):
        try:
            code = extract_code(text, "heuristics", PARENT)
        except ReplyError:
            ends["empty" if not text else "broken"] += 1
        else:
            ends["changed" if ast.dump(ast.parse(code)) != ast.dump(ast.parse(PARENT)) else "same"] += 1
    assert ends["changed"] > 120
    assert ends["broken"] > 5
    assert ends["empty"] > 5


def test_varied_replies_come_in_many_styles() -> None:
    replies = texts(Scripted.varied(1), [prompt(k) for k in range(60)])
    for style in ("```python\n", "```\n", "<think>", "<<<<<<< SEARCH", "import numpy"):
        assert any(reply.startswith(style) or f"\n{style}" in reply for reply in replies)


def test_a_prompt_without_a_program_gets_a_remark() -> None:
    (text,) = texts(Scripted.varied(0), [[Message("user", "What did you learn?")]])
    assert text
    assert "```" not in text
