"""Thoughts in replies, and prompts that fit."""

import pytest

from oragent.search.candidate import Elite
from oragent.search.prompting.prompt_templates import system_prompt
from oragent.search.strategies.operators import MAX_THOUGHT_WORDS, read_prose, read_thought, write_prompt
from tests.search.test_funsearch import opened, record

CODE = "```python\ndef guess(x):\n    return {'a': 1}['a']\n```"
EDITS = "<<<<<<< SEARCH\n    return {'a': 1}['a']\n=======\n    return {'b': 2}['b']\n>>>>>>> REPLACE"


@pytest.mark.parametrize(
    ("reply", "idea"),
    [
        (f"{{Fill gaps first.}}\n{CODE}", "Fill gaps first."),
        (f"{CODE}\nMy idea: {{weigh\n  both}}", "weigh both"),
        (f"<think>{{not this}}</think>I add a penalty. It may help.\n{CODE}", "I add a penalty."),
        (f"{EDITS}\n{{Fill gaps first.}}", "Fill gaps first."),
        (EDITS, ""),
        (CODE, ""),
        ("def guess(x):\n    return 3.5 * x\n", ""),
        ("", ""),
    ],
)
def test_a_thought_is_what_stands_in_braces_or_the_first_sentence_beside_the_code(reply: str, idea: str) -> None:
    assert read_thought(reply) == idea


def test_what_a_model_says_at_length_is_cut_and_loses_its_code() -> None:
    said = read_prose(f"One.\n{CODE}\n" + "word " * 500)
    assert "def " not in said
    assert len(said.split()) == MAX_THOUGHT_WORDS + 1
    assert said.endswith(" ...")


@pytest.mark.parametrize("operator", ["i1", "e1", "e2", "m1", "m2", "m3", "s1"])
def test_every_operator_asks_for_the_signature_and_says_what_is_better(begun, operator: str) -> None:
    run = opened(begun, [record("0.0", 9.0)])
    shown = [
        Elite(id="0.0", source="def guess(x):\n    return 1\n", score=9.0, features=None, metrics={"value": 1})
    ] * (operator != "i1")
    prompt = write_prompt(
        run, run.fill_template(operator, outline="..."), shown, "answer_thought", {"0.0": "One is enough."}
    )
    assert "`def guess(x):`" in prompt
    assert "between braces" in prompt
    assert run.problem.about.description in system_prompt(run).content
    assert ("A lower score is better." in prompt) == (operator != "i1")
    assert ("Idea: One is enough." in prompt) == (operator != "i1")


def test_a_prompt_that_is_too_long_loses_knowledge_first_then_the_worst_programs(begun, toy) -> None:
    (toy / "knowledge.md").write_text("Know this. " * 100)
    sources = [f"def guess(x):\n    return {'1 + ' * 200}{number}\n" for number in range(4)]
    shown = [
        Elite(id=f"{number}.0", source=source, score=9.0 - number, features=None, metrics={})
        for number, source in enumerate(sources)
    ]
    lengths = []
    for tokens in (4000, 2200, 1750, 700):
        run = opened(begun, [record("0.0", 9.0)], "model.name=m", f"model.context_tokens={tokens}")
        prompt = write_prompt(run, "Do better.", shown, "answer_code")
        lengths.append((("Know this" in prompt), prompt.count("Program "), "Left out" in prompt))
        assert sources[-1].strip() in prompt
    assert lengths == [(True, 4, False), (False, 4, True), (False, 3, True), (False, 1, True)]
    assert "what is known about the problem, 3 of 4 programs" in prompt
