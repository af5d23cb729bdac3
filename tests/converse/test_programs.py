"""Agents that write programs: what runs, what comes back, and errors that nobody is told."""

import asyncio

import pytest

from oragent.converse.agents.guests import Guests, silent_errors
from oragent.converse.agents.model_agents import MOST_ROUNDS, Blank, Formulating, ToolsAgent
from oragent.converse.problems.formulated import FormulatedProblem
from oragent.converse.problems.programs import MODEL_PROGRAM, SCHOOLS_PROGRAM
from oragent.converse.problems.schools import sfusd
from oragent.converse.solving import StateSolver
from oragent.converse.tools import Toolbox
from oragent.llm.model import Message, ToolCall
from oragent.milp import solve
from oragent.sandbox.sandbox import Sandbox
from tests.converse.test_session import KNAPSACK
from tests.converse.worked import asker

PROBLEM = sfusd()
ASSIGN = "        m += pulp.lpSum(x[q, t] for t in T) == 1\n"


@pytest.fixture(scope="module")
def guests():
    with Sandbox(1) as box:
        yield Guests(box)


def program(source: str, tool: str = "submit_formulation") -> Message:
    return Message("assistant", "", (ToolCall("p", tool, {"program": source}),))


def answered(agent):
    return asyncio.run(agent.answer("please"))


def test_the_base_program_is_the_base_model(guests) -> None:
    found = answered(Formulating(asker([program(SCHOOLS_PROGRAM), "done"], []), guests, problem=PROBLEM))
    (event,) = found.events
    assert found.solved == ("CCCABAABBC",)
    assert event.note["silent"] == []
    assert event.result.startswith("status: optimal\n| School |")


def test_raw_values_come_back_where_the_design_says_so(guests) -> None:
    found = answered(
        Formulating(asker([program(SCHOOLS_PROGRAM), "done"], []), guests, problem=PROBLEM, readable=False)
    )
    assert "x[3,3] = 1" in found.events[0].result
    assert "|" not in found.events[0].result
    assert found.calls == 1


# what is written in place of what, what the check says
SILENT = [
    (ASSIGN, ASSIGN.replace("for q in Q", "for q in Q").replace("        m", "        if q != 2:\n            m"), "assign_one_start_time[2]"),
    ('f"x_{q}_{t}"', 'f"x_{q}_{t - 1}"', "an index is off"),
    ("m += c[q] >= o[str(q)] - start", "pass", "deviation is"),
    ("/ 100", "/ 1000", "load is"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "told"), SILENT)
def test_a_silent_error_is_found_and_not_told(guests, old: str, new: str, told: str) -> None:
    assert old in SCHOOLS_PROGRAM
    found = answered(
        Formulating(asker([program(SCHOOLS_PROGRAM.replace(old, new)), "done"], []), guests, problem=PROBLEM)
    )
    assert any(told in error for error in found.events[0].note["silent"])
    assert told not in found.events[0].result


def test_a_program_that_fails_comes_back_with_its_error(guests) -> None:
    replies = [
        program("def formulate(m, data):\n    return 1 / 0\n"),
        program("x = 1"),
        program(SCHOOLS_PROGRAM),
        "done",
    ]
    found = answered(Formulating(asker(replies, []), guests, problem=PROBLEM))
    assert [event.failed for event in found.events] == [True, True, False]
    assert "ZeroDivisionError" in found.events[0].result
    assert "defines no function formulate" in found.events[1].result


def test_a_program_in_a_fence_is_a_call_too(guests) -> None:
    found = answered(
        Formulating(asker([f"Here:\n```python\n{SCHOOLS_PROGRAM}```", "done"], []), guests, problem=PROBLEM)
    )
    assert found.solved == ("CCCABAABBC",)


def test_any_model_has_a_program(guests) -> None:
    problem = FormulatedProblem(KNAPSACK)
    found = answered(Formulating(asker([program(MODEL_PROGRAM), "done"], []), guests, problem=problem))
    assert found.solved == (problem.default,)
    assert found.events[0].note["silent"] == []


# program, what its result holds
HOSTILE = [
    ("while True: pass", "the program failed"),
    ("print('x' * 300_000_000)", "x"),
    ("open('/etc/shadow').read()", "Error"),
    ("import os\nwhile True: os.fork()", "failed"),
    ("import socket; socket.create_connection(('127.0.0.1', 1))", "Error"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("source", "told"), HOSTILE)
def test_a_hostile_program_costs_its_turn_and_no_more(guests, source: str, told: str) -> None:
    found = answered(Blank(asker([program(source, "run_python"), "sorry"], []), guests))
    assert found.text == "sorry"
    assert told in found.events[0].result
    assert len(found.events[0].result) < 10_000


def test_a_program_without_a_solver_is_seen_to_enumerate(guests) -> None:
    source = "import itertools\nprint(sum(1 for _ in itertools.product('ABC', repeat=3)))"
    found = answered(Blank(asker([program(source, "run_python"), "27"], []), guests))
    assert found.events[0].result == "27"
    assert found.events[0].note == {"solver": False, "enumerates": True}


def test_a_wrong_call_of_a_program_is_one_line(guests) -> None:
    replies = [
        Message("assistant", "", (ToolCall("p", "run", {}),)),
        Message("assistant", "", (ToolCall("q", "run_python", {"program": 3}),)),
        "x",
    ]
    found = answered(Blank(asker(replies, []), guests))
    assert "there is no tool 'run'" in found.events[0].result
    assert "lacks 'program'" in found.events[1].result


def test_after_fifteen_rounds_an_agent_has_to_answer() -> None:
    calls = [Message("assistant", "", (ToolCall(f"c{n}", "call_solver", {}),)) for n in range(MOST_ROUNDS)]
    found = answered(ToolsAgent(asker([*calls, "at last"], []), Toolbox(StateSolver(PROBLEM))))
    assert found.text == "at last"
    assert found.calls == MOST_ROUNDS


def test_the_base_model_has_no_silent_error() -> None:
    rename = {variable.name: variable.name for variable in KNAPSACK.variables}
    problem = FormulatedProblem(KNAPSACK)
    back = {data["id"]: data["name"] for data in problem.program.data["variables"]}
    assert set(back.values()) == set(rename)
    assert problem.program.naming("v1") == "tent"
    solution = solve(PROBLEM.base)
    assert solution.status.has_point
    assert silent_errors.__doc__


def test_calls_that_a_server_leaves_in_the_text_are_made() -> None:
    text = (
        '```json\n{"name": "fix_start_time", "arguments": {"school": "Ortega (Jose)", "time": "7:50 AM"}},\n'
        '{"name": "call_solver", "arguments": {}}\n```'
    )  # as a model of half a billion parameters wrote it
    found = answered(ToolsAgent(asker([text, "done"], []), Toolbox(StateSolver(PROBLEM))))
    assert [(event.tool, event.failed) for event in found.events] == [("fix_start_time", False), ("call_solver", False)]
    assert found.solved == ("CACAABABBC",)
