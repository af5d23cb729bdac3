"""Prompts of all kinds of rounds repeat no text, stay below their limit, and differ between calls at the same time."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job
from oragent.programs.blocks import NEAREST
from oragent.programs.helper_functions import omit_functions
from oragent.search.strategies.or_agent.action_prompt import CHANGES, MAX_PROMPT, NEW_KINDS
from oragent.search.strategies.or_agent.allocation import ActionKind
from tests.search.players import Players, search
from tests.search.test_engine import scored

# Maximum number of characters of a text that may stand twice.
MAX_TWICE = 200
OFFERS = frozenset(["practice", "--instances", "--fresh_seed"])


def program(value: object, steps: int = 30) -> str:
    """Return a program with as many different lines as an algorithm has."""
    lines = [f"    y{step} = {step + 1} * x + {step * step} / (1 + abs(x) + {step})" for step in range(steps)]
    helper = "\n".join(["def helper(x):", *lines, "    return x\n"])
    return f"RATE = {value}  # param: RATE = {value}, 1..500\n\n\n{helper}\n\ndef guess(x):\n    helper(x)\n    return RATE\n"


def longest_repetition(text: str) -> str:
    """Return a text of more than `MAX_TWICE` characters that stands twice; empty if there is none."""
    first: dict[str, int] = {}
    for at in range(len(text) - MAX_TWICE):
        part = text[at : at + MAX_TWICE + 1]
        if at - first.setdefault(part, at) > MAX_TWICE:
            return part
    return ""


def test_a_repetition_is_measured() -> None:
    text = "".join(chr(97 + number * number % 23) + str(number) for number in range(120))
    assert longest_repetition(text) == ""
    assert longest_repetition(f"{text[:201]} {text[:201]}") == text[:201]
    assert longest_repetition(f"{text[:200]}-{text[:200]}") == ""


def write_parts(values: Iterator[int]) -> str:
    """Return a reply with a whole program, another with its helper, a sweep, a failure, a bad edit and a probe."""
    first, second, swept = next(values), next(values), next(values)
    bad = "<<<<<<< SEARCH\n    helper(y)\n    return RATE * 2\n=======\n    return 3\n>>>>>>> REPLACE"
    fence = "```python\n{}```"
    return "\n".join([
        f"LESSON: {first} is better than the others, by a difference that the figures show.",
        f"PROGRAM: value {first}", f"IDEA: Return {first}. " + " ".join(f"Rule {number} is nearer by {first * number}." for number in range(20)),
        fence.format(program(first)),
        f"PROGRAM: other {second}", "IDEA: Another kind.", fence.format(program(second, 45)),
        f"PROGRAM: swept {swept}", "IDEA: Sweep it.", f"SWEEP: RATE={swept},{swept + 1}", fence.format(program(swept)),
        "PROGRAM: fails", "IDEA: Fail.", fence.format(program("'x'").replace("return RATE", "return fails")),
        "PROGRAM: edited", "IDEA: Edit it.", bad,
        "PROBE: look", fence.format(program(40).replace("def guess(x):", "def guess(x):\n    print(list(range(50)))")),
    ])  # fmt: skip


def practised(job: Job) -> Evaluation:
    if "return fails" in job.source:
        return Evaluation(Status.ERROR, message="NameError: " + "a name that nobody has defined " * 12)
    count = 8 if job.mode == "practice" else 12
    value = int(re.findall(r"RATE = (\d+)", job.source)[0]) if "RATE = " in job.source else 2
    result = scored(replace(job, source=f"def guess(x):\n    return {value}\n"))
    values = {"20": [float(result.score or 0)] * count, "50": [1.0 + number for number in range(count)]}
    metrics = {
        "by_instance": values,
        "parts_by_instance": {"late": values, "setups": values},
        "references": {"bound": 1.0},
    }
    seconds = {"heuristic_seconds": 1.0, "instances_done": 2 * count, "heuristic_calls": 2 * count}
    return replace(result, metrics=metrics | seconds, cpu_s=0.1, log="printed " * 30 if "print(" in job.source else "")


def prompts_of(begun, *settings: str, **roles: object) -> list[tuple[str, str]]:
    folder = begun(
        "model.name=m",
        "model.style=strong",
        "budget.evaluations=60",
        "budget.seconds=3600",
        "limits.heuristic_s=9",
        "or_agent.programs=5",
        "or_agent.wave=5",
        *settings,
    )
    sizes = {"train": [20], "val": [20, 50], "test": [20, 50, 100]}
    folder = replace(folder, problem=replace(folder.problem, about=replace(folder.problem.about, sizes=sizes)))
    model = Players(**roles)
    search(folder, model, run=practised, offers=OFFERS)
    (system,) = model.systems
    return [(role, f"{system}\n\n{prompt}") for role, prompt, _ in model.asked]


@pytest.mark.parametrize("action", [kind for kind in ActionKind if kind is not ActionKind.SWEEP])
def test_no_text_stands_twice_in_the_prompts_of_actions(action: ActionKind, begun, monkeypatch) -> None:
    values = iter(range(60, 400, 1))
    module = "oragent.search.strategies.or_agent.action_round"
    monkeypatch.setattr(
        f"{module}.choose_action", lambda run, available: ActionKind.OPENING if run.number == 1 else action
    )

    def write(prompt: str) -> str:
        return write_parts(values)

    asked = prompts_of(
        begun, "or_agent.rounds=actions", "budget.model_calls=9", idea=write, code=write, experiment=write, repair="no"
    )
    assert {role for role, _ in asked} >= {"idea", "repair"}
    # A repair quotes the reply beside the program.
    prompts = [text for role, text in asked if role != "repair"]
    assert len(prompts) > 2
    assert [longest_repetition(text) for text in prompts] == [""] * len(prompts)
    assert max(map(len, prompts)) <= MAX_PROMPT
    shown = prompts[-1]
    for text in (
        "Parts of these values",
        "bound 1",
        "minutes of the clock",
        "Values of the first instances",
        "SWEEP: ",
    ):
        assert text in shown
    assert "'edited'" in shown
    assert (NEAREST in shown) is (action is not ActionKind.RESTART)


@pytest.mark.parametrize("style", ["small", "strong"])
def test_no_text_stands_twice_in_the_prompts_of_trees(style: str, begun) -> None:
    values = iter(range(60, 400, 3))
    asked_ideas = iter(range(1, 99))

    def ideas(prompt: str) -> str:
        shift = next(asked_ideas)
        return json.dumps([
            {"title": f"{kind} {shift}", "idea": " ".join(f"{kind} {number} goes {number * shift} units on." for number in range(16))}
            for kind in ("Step", "Leap")
        ])  # fmt: skip

    def write(prompt: str) -> str:
        return f"```python\n{program(next(values))}```"

    def experiment(prompt: str) -> str:
        return f"LESSON: It is nearer.\nTHOUGHT: try it\nACTION: EDIT\n{write(prompt)}"

    asked = prompts_of(
        begun, "or_agent.rounds=tree", f"model.style={style}", "budget.model_calls=40", "or_agent.initial_ideas=2",
        idea=ideas,
        code=write, experiment=experiment,
    )  # fmt: skip
    prompts = [text for role, text in asked if role in ("idea", "code", "experiment")]
    assert {role for role, _ in asked} >= {"idea", "code", "experiment"}
    assert [longest_repetition(text) for text in prompts] == [""] * len(prompts)
    assert max(map(len, prompts)) <= MAX_PROMPT


def test_a_prompt_that_would_be_too_long_loses_what_matters_least(begun) -> None:
    values = iter(range(60, 400, 1))
    printed = "\n".join(f"line {number} of the output of a probe" for number in range(400))
    long = f"PROBE: look\n```python\n{program(50, 60).replace('def guess(x):', 'def guess(x):' + chr(10) + '    print(1)')}```"
    replies = iter(["\n".join([write_parts(values).replace("45)", "90)"), long])] * 20)

    def run(job: Job) -> Evaluation:
        result = practised(job)
        return replace(result, log=printed) if "print(" in job.source else result

    folder = begun("model.name=m", "or_agent.rounds=actions", "budget.model_calls=8")
    model = Players(
        idea=lambda prompt: next(replies), code=lambda prompt: next(replies), experiment=lambda prompt: next(replies)
    )
    search(folder, model, run=run, offers=OFFERS)
    (system,) = model.systems
    lengths = [len(system) + len(prompt) for role, prompt, _ in model.asked if role != "repair"]
    assert max(lengths) <= MAX_PROMPT
    last = [prompt for role, prompt, _ in model.asked if role != "repair"][-1]
    assert "Begin with one line, LESSON:" in last
    assert "def helper(x):" in last


def test_calls_that_run_at_the_same_time_have_directions_of_their_own(begun) -> None:
    values = iter(range(60, 400, 1))

    def write(prompt: str) -> str:
        return write_parts(values)

    asked = prompts_of(
        begun,
        "or_agent.rounds=actions",
        "strategy.window=4",
        "budget.model_calls=16",
        idea=write,
        code=write,
        experiment=write,
        repair="no",
    )
    first = [text for role, text in asked if role == "idea"][:4]
    assert len(set(first)) == 4
    for text in first:
        assert all(direction in text for direction in NEW_KINDS)
    assert [re.findall(r"This is call (\d)", text) for text in first] == [["1"], ["2"], ["3"], ["4"]]
    later = [text for role, text in asked if role == "experiment"]
    assert any(direction in text for text in later for direction in CHANGES)
    alone = prompts_of(begun, "or_agent.rounds=actions", "strategy.window=1", "budget.model_calls=1", idea=write)
    assert not any(direction in text for _, text in alone for direction in NEW_KINDS)


def test_functions_that_another_program_has_too_are_left_out() -> None:
    source = (
        "import math\n\n@njit\ndef a(x):\n    return 1\n\n\ndef b(x):\n    return a(x)\n\n\ndef c(x):\n    return 3\n"
    )
    shown = "def c(x):\n    return 4\n\n\n@njit\ndef a(x):\n    return 1\n"
    assert omit_functions(source, shown) == (
        "import math\n\n# a: as in the last program\n\n\ndef b(x):\n    return a(x)\n\n\ndef c(x):\n    return 3\n"
    )
    assert omit_functions(source, "def a(:") == source
    assert omit_functions("int main() {}", shown) == "int main() {}"
