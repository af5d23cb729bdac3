"""The scripted model that plays every strategy's roles."""

import ast
import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest

from oragent._base.errors import ReplyError
from oragent.llm.model import Message, Model, Reply, Request
from oragent.programs.replies import extract_code, extract_json
from oragent.search.run_context import PROMPTS
from oragent.search.strategies.scripted import count_parts, make_player

PARENT = "import numpy as np\n\n\ndef heuristics(distances):\n    return 0.5 / (distances + 1e-9) ** 2.0\n"


def prompt(k: int = 0, role: str = "", key: str = "") -> Request:
    return talk(
        Message("system", "You design heuristics."),
        Message("user", f"Round {k}. Improve\n```python\n{PARENT}```"),
        role=role,
        key=key,
    )


def talk(*messages: Message, role: str = "", key: str = "") -> Request:
    return Request(role, messages, key=key)


def texts(model: Model, prompts: Sequence[Request]) -> list[str]:
    async def run() -> list[Reply]:
        return list(await asyncio.gather(*map(model, prompts)))

    return [reply.text for reply in asyncio.run(run())]


def test_varied_replies_follow_from_the_seed_and_not_from_the_order_of_calls() -> None:
    prompts = [prompt(k) for k in range(20)]
    forward = texts(make_player(3), prompts)
    assert texts(make_player(3), prompts[::-1]) == forward[::-1]
    assert texts(make_player(4), prompts) != forward


def test_the_same_prompt_gets_another_reply_each_time() -> None:
    assert len(set(texts(make_player(0), [prompt()] * 30))) > 15


def test_most_varied_replies_hold_a_changed_program_and_some_are_broken_or_empty() -> None:
    ends: Counter[str] = Counter()
    for text in texts(make_player(0), [prompt(k) for k in range(200)]):
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
    replies = texts(make_player(1), [prompt(k) for k in range(60)])
    for style in ("```python\n", "```\n", "<think>", "<<<<<<< SEARCH", "import numpy"):
        assert any(reply.startswith(style) or f"\n{style}" in reply for reply in replies)


def test_a_prompt_without_a_program_gets_a_remark() -> None:
    (text,) = texts(make_player(0), [talk(Message("user", "What did you learn?"))])
    assert text
    assert "```" not in text


def asked(role: str, text: str, count: int = 60, **given: object) -> list[str]:
    return texts(make_player(0, **given), [talk(Message("user", text), role=role, key=f"1.{k}") for k in range(count)])


def test_a_named_call_gets_the_same_reply_whenever_and_however_often_it_is_put() -> None:
    first, second = prompt(role="code", key="1.0"), prompt(role="code", key="1.1")
    model = make_player(0)
    one, other = texts(model, [first, second])
    assert texts(model, [second, first, first]) == [other, one, one]
    assert len(set(asked("code", prompt().messages[-1].content))) > 30


def test_the_idea_role_gets_as_many_ideas_as_wanted_and_sometimes_none() -> None:
    counts: Counter[int] = Counter()
    for text in asked(
        "idea", "Propose exactly 3 new ideas as a JSON list. Building blocks that may help: `d * d`.", 100
    ):
        try:
            counts[len(extract_json(text))] += "Use `d * d`" in text
        except ReplyError:
            counts[0] += 1
    assert counts[3] > 60
    assert counts[0] > 3


def test_the_experiment_role_does_all_that_it_may() -> None:
    shown = f"The program:\n```python\n{PARENT}```\nc0 = 0.5 in `return`\n"
    replies = asked("experiment", shown, 200)
    for part in ("ACTION: EDIT\n<<<<<<< SEARCH", "ACTION: TUNE\nc0 ", "ACTION: PROBE", "ACTION: STOP", "I would look"):
        assert any(part in text for text in replies)


def test_a_program_that_fails_is_mended_more_often_than_not() -> None:
    broken = PARENT.replace("return ", "return unknown_scale * ")
    assert any("unknown_scale" in text for text in asked("code", prompt().messages[-1].content, 100))
    mended = ["unknown_scale" not in text for text in asked("debug", f"It fails:\n```python\n{broken}```")]
    assert 30 < sum(mended) < 60


@pytest.mark.parametrize("role", ["lead", "reflect", "short_reflection", "describe"])
def test_a_role_that_writes_prose_gets_prose(role: str) -> None:
    assert not any("def " in text for text in asked(role, prompt().messages[-1].content))


def test_a_role_that_nobody_knows_gets_a_thought_and_a_program() -> None:
    for text in asked("e7", prompt().messages[-1].content, 20):
        assert text.startswith("{")
        assert "heuristics" in extract_code(text, "heuristics")


def test_a_repair_is_answered_in_the_role_that_failed() -> None:
    def repaired(complaint: str) -> list[str]:
        said = [*prompt().messages, Message("assistant", "no"), Message("user", complaint)]
        return texts(make_player(0), [talk(*said, role="repair", key=f"1.{k}") for k in range(30)])

    assert any(text.lstrip().startswith("[") for text in repaired("Answer again with one JSON list of 2 objects"))
    assert any("ACTION: EDIT" in text for text in repaired("THOUGHT: ...\nACTION: EDIT, TUNE, PROBE or STOP"))
    assert any("def heuristics" in text for text in repaired("Answer again with one fenced Python block"))


def test_programs_are_bred_by_what_is_given_with_what_the_prompt_quotes() -> None:
    def breed(source: str, seed: int, quoted: Sequence[str]) -> str:
        assert list(quoted) == ["1 / d"]
        return source.replace("0.5", f"(1 / d) * {seed}")

    assert sum("(1 / d) *" in text for text in asked("code", f"Use `1 / d`.\n```python\n{PARENT}```", breed=breed)) > 25


@pytest.mark.parametrize("action", ["opening", "idea", "edit", "crossover", "restart"])
@pytest.mark.parametrize(("amount", "count"), [("up to 4 programs", 4), ("one program", 1)])
def test_it_writes_as_many_programs_as_a_prompt_wants(action: str, amount: str, count: int) -> None:
    prompt = PROMPTS.fill(f"or_agent_wave_{action}", "strong", amount=amount)
    assert count_parts(f"{prompt}\n\nPROGRAM: its title, a few words") == count
    assert count_parts(prompt) == 0
