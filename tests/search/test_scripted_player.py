"""The scripted model that plays every strategy's roles."""

import ast
import asyncio
import random
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ReplyError
from oragent.llm.model import Message, Model, Reply, Request
from oragent.programs.blocks import apply_edits
from oragent.programs.replies import extract_code, extract_json
from oragent.search.run_context import PROMPTS
from oragent.search.strategies import scripted
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


class Draws(random.Random):
    """Random numbers that a test gives; a choice is the first element, and a factor the larger end."""

    def __init__(self, *numbers: float) -> None:
        super().__init__(0)
        self.numbers = list(numbers)

    def random(self) -> float:
        return self.numbers.pop(0)

    def choice(self, elements):
        return elements[0]

    def uniform(self, low: float, high: float) -> float:
        return high


CHILD = PARENT.replace("2.0\n", "3.0\n")


@pytest.mark.parametrize(
    ("numbers", "asked", "kind"),
    [
        ((0.09,), "c0 = 2\nc1 = 3", "TUNE"),
        ((0.1,), "c0 = 2", "PROBE"),
        ((0.09,), "", "PROBE"),
        ((0.19,), "", "PROBE"),
        ((0.2,), "INSTRUMENT", "INSTRUMENT"),
        ((0.23,), "INSTRUMENT", "INSTRUMENT"),
        ((0.23,), "", "STOP"),
        ((0.24,), "INSTRUMENT", "STOP"),
        ((0.34,), "", "STOP"),
        ((0.35,), "", ""),
        ((0.41,), "", ""),
        ((0.42, 0.59), "", "SEARCH"),
        ((0.42, 0.6), "", "EDIT"),
    ],
)
def test_actions_have_their_shares(numbers: tuple[float, ...], asked: str, kind: str) -> None:
    reply = scripted.write_action(asked, PARENT, CHILD, Draws(*numbers))
    if not kind:
        assert "ACTION" not in reply
        return
    assert f"ACTION: {'EDIT' if kind == 'SEARCH' else kind}\n" in f"{reply}\n"
    assert ("<<<<<<< SEARCH" in reply) == (kind == "SEARCH")
    if kind == "TUNE":
        assert reply.split("\n")[-2].startswith("c0 ")
    if kind == "PROBE":
        assert '    print("probe", 1)\n    return ' in extract_code(reply, "heuristics")
    if kind in ("SEARCH", "EDIT"):
        assert extract_code(reply, "heuristics", PARENT).strip() == CHILD.strip()


@pytest.mark.parametrize(
    ("number", "form"),
    [(0.09, "cut"), (0.1, "prose"), (0.14, "prose"), (0.15, "fenced"), (0.59, "fenced"), (0.6, "bare")],
)
def test_lists_of_ideas_have_their_forms(number: float, form: str) -> None:
    reply = scripted.write_ideas("Propose exactly 5 ideas. Building blocks: `a + b`, `c`.", Draws(number))
    if form == "prose":
        assert reply == scripted.REMARKS[0]
        return
    assert reply.startswith({"cut": "```json\n[", "fenced": "Here", "bare": "["}[form])
    if form == "cut":
        whole = scripted.write_ideas("Propose exactly 5 ideas. Building blocks: `a + b`, `c`.", Draws(0.9))
        assert reply == f"```json\n{whole[: len(whole) * 2 // 3]}"
        return
    ideas = extract_json(reply)
    assert len(ideas) == 5
    assert all("`a + b`" in idea["idea"] for idea in ideas)
    plain = extract_json(scripted.write_ideas("Ideas. `x`", Draws(0.9)))
    assert len(plain) == 2
    assert [idea["idea"] for idea in plain] == [scripted.IDEAS[0][1]] * 2


def test_some_parts_of_a_reply_are_missing() -> None:
    reply = scripted.write_parts(["one", "two", "three"], Draws(0.94, 0.95, 0.0))
    assert [part.split("\n")[-1] for part in reply.split("\n\n")[1:]] == ["one", "three"]
    assert reply.startswith("LESSON: ")
    assert all(part.startswith("PROGRAM: ") for part in reply.split("\n\n")[1:])


@pytest.mark.parametrize(
    ("task", "count"),
    [("Write up to 4 programs", 4), ("write one program", 1), ("Write a program", 0), ("Overwrite one program", 0)],
)
def test_the_number_of_programs_is_that_of_the_task(task: str, count: int) -> None:
    assert count_parts(f"{task}.\nPROGRAM: its title") == count
    assert count_parts(f"{task}.") == 0


LINES = st.lists(st.sampled_from(["a", "b", "    c", "d = 1", "e"]), min_size=1, max_size=9)


@given(LINES.map(lambda lines: [f"{line}{at}" for at, line in enumerate(lines)]), st.data())
def test_edits_turn_the_parent_into_the_child(parent: list[str], data) -> None:
    child = [line for line in parent if data.draw(st.booleans()) or line == parent[0]]
    place = data.draw(st.integers(1, len(child)))
    child[place:place] = ["new"] * data.draw(st.integers(0, 2))
    edits = scripted.fenced_edit("\n".join(parent), "\n".join(child))
    if child == parent:
        assert edits.count("<<<<<<< SEARCH") == 1
        assert edits.count(parent[0]) == 2
    else:
        assert apply_edits(edits, "\n".join(parent)).strip() == "\n".join(child).strip()


@pytest.mark.parametrize(
    ("source", "scaled"),
    [
        ("x = 3 * y\n", "x = 4 * y\n"),
        ("x = 3 * 1.5\n", "x = 3 * 3\n"),
        ("x = 3\ny = 2e3 + 1\n", "x = 3\ny = 4000 + 1\n"),
        ("x = 0x1f\n", "x = 0x1f\n"),
        ("x = y\n", "x = y\n"),
        ("x = (\n", "x = (\n"),
        (
            "#include <cmath>\ndouble f(int a3) { return 2 * 0.25; }\n",
            "#include <cmath>\ndouble f(int a3) { return 2 * 0.5; }\n",
        ),
        ("#include <cmath>\ndouble f(int a) { return 2; }\n", "#include <cmath>\ndouble f(int a) { return 2; }\n"),
    ],
)
def test_one_number_is_scaled_decimals_first(source: str, scaled: str) -> None:
    assert scripted.with_new_number(source, Draws()) == scaled


def test_an_outline_returns_an_array_or_else_an_argument() -> None:
    arrays = "def f(n: int, x: np.ndarray, y: np.ndarray):\n    ...\n"
    assert scripted.complete_outline(arrays, Draws()) == arrays.replace("...", "return 1.0 * x")
    assert scripted.complete_outline("def f(n, m):\n    ...", Draws()) == "def f(n, m):\n    return 1.0 * n\n"
    assert scripted.complete_outline("def f():\n    ...", Draws()) is None
    assert scripted.complete_outline("def f(n):\n    return n\n", Draws()) is None
