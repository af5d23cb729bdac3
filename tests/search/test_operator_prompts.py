"""Prompts of operators: their parts, what they show of programs, and the thoughts that later prompts repeat."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from oragent.search.candidate import Elite
from oragent.search.prompting.programs import Told
from oragent.search.strategies import operators
from oragent.search.strategies.operators import ANEW, THOUGHT, apply_anew, recall_thoughts, remember_thought
from tests.search.test_levi_rounds import candidate, opened, record

PARENTS = [record("4.0", 4.0, "def guess(x):\n    return 4\n"), record("2.0", 2.0, "def guess(x):\n    return 2\n")]


@pytest.mark.parametrize("show", ["paper", "all"])
@pytest.mark.parametrize("paper", Told)
@pytest.mark.parametrize("operator", ["m1", "e1"])
def test_a_prompt_shows_the_figures_that_its_paper_selects(begun, show: str, paper: Told, operator: str) -> None:
    run = opened(begun, PARENTS, *(["strategy.show=paper"] if show == "paper" else []), "strategy.features=true")
    elites = [Elite.of(parent) for parent in PARENTS]
    prompt = operators.write_prompt(
        run, "THE TASK", elites, "answer_code", {"4.0": "Take four."}, paper, anew=operator in ANEW
    )
    figures = Told.ALL if show == "all" else paper
    assert ("score 4" in prompt, "score 2" in prompt) == (figures is not Told.NONE,) * 2
    assert ("A lower score is better." in prompt) == (figures is not Told.NONE)
    assert prompt.count("moves 77") == 2 * (figures is Told.ALL)
    assert ("remainder" in prompt) == (figures is Told.ALL)
    assert prompt.count("Take four.") == 1
    places = [prompt.index(text) for text in ("Program 1", "return 4", "Program 2", "return 2", "THE TASK")]
    assert places == sorted(places)
    # Edits of the last program are allowed if it is to be changed.
    assert ("SEARCH" in prompt) == (show == "all" and operator == "m1")
    empty = operators.write_prompt(run, "THE TASK", [], "answer_code", paper=paper)
    assert not any(words in empty for words in ("remainder", "score is better", "SEARCH", "Program 1", "programs that"))


def test_an_operator_asks_with_its_parents_and_keeps_the_thought(begun, monkeypatch: pytest.MonkeyPatch) -> None:
    run = opened(begun, PARENTS, notes=(f"{THOUGHT}: print_of_2.0 Take two.",))
    made = candidate("new", 1.0, "def guess(x):\n    return 1\n")
    asked: list[Any] = []

    async def ask(run: Any, role: str, messages: Any, parents: Any, temperature: Any, base: Any) -> Any:
        asked.append((role, messages[-1].content, [elite.id for elite in parents], temperature, base))
        run.replies.extend(SimpleNamespace(text=text) for text in ("{First.}", "nothing", "{Second.}"))
        return made

    monkeypatch.setattr(operators, "ask_for_program", ask)
    assert asyncio.run(operators.apply_operator(run, "m1", PARENTS, descent=PARENTS[::-1], temperature=0.5)) is made
    ((role, text, ids, temperature, base),) = asked
    assert (role, ids, temperature, base) == ("m1", ["2.0", "4.0"], 0.5, PARENTS[-1].source)
    assert "Take two." in text
    # The candidate came from the first reply.
    assert [(note.kind, note.text) for note in run.notes if note.kind == THOUGHT] == [(THOUGHT, "print_of_new First.")]
    asyncio.run(operators.apply_operator(run, "i1", []))
    role, text, ids, temperature, base = asked[1]
    assert (role, ids, temperature, base) == ("i1", [], None, None)
    assert run.problem.outline.strip() in text
    assert run.problem.outline.strip() not in asked[0][1]


@pytest.mark.parametrize(
    ("retries", "repeated", "calls"), [(0, 5, 1), (1, 0, 1), (1, 1, 2), (1, 5, 2), (3, 2, 3), (3, 9, 4)]
)
def test_an_operator_that_repeats_a_program_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, retries: int, repeated: int, calls: int
) -> None:
    asked: list[int] = []

    async def apply(run: Any, operator: str, parents: Any, *, temperature: Any) -> Any:
        assert (operator, parents, temperature) == ("e1", PARENTS, 0.25)
        asked.append(len(asked))
        return asked[-1]

    monkeypatch.setattr(operators, "apply_operator", apply)
    run: Any = SimpleNamespace(repeats=lambda number: number < repeated)
    assert asyncio.run(apply_anew(run, "e1", PARENTS, retries, 0.25)) == calls - 1
    assert len(asked) == calls


def test_the_latest_thought_about_each_program_is_recalled(begun) -> None:
    notes = (
        f"{THOUGHT}: print_of_2.0 Take two.",
        "other: print_of_4.0 No thought.",
        f"{THOUGHT}: print_of_9.0 Another program.",
        f"{THOUGHT}: print_of_2.0 Take twice one.",
    )
    run = opened(begun, PARENTS, notes=notes)
    assert recall_thoughts(run, PARENTS) == {"2.0": "Take twice one."}
    assert recall_thoughts(run, []) == {}
    remember_thought(run, PARENTS[0].candidate, "")
    assert not run.notes
    remember_thought(run, PARENTS[0].candidate, "Words.")
    assert (THOUGHT, "print_of_4.0 Words.") in [(note.kind, note.text) for note in run.notes]


@pytest.mark.parametrize(("number", "left"), [(3, 3), (4, 4), (5, 4)])
def test_words_beyond_a_number_are_cut(number: int, left: int) -> None:
    text = " ".join(f"word{index}" for index in range(number))
    shown = operators.read_prose(text, 4)
    assert shown == " ".join([f"word{index}" for index in range(left)] + ["..."] * (number > 4))
