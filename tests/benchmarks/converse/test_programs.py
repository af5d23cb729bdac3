"""Agents that write programs: what runs, what comes back, and errors that nobody is told."""

import asyncio

import pytest

from oragent.llm.model import Message, ToolCall
from oragent.sandbox.sandbox import Sandbox
from oragent_benchmarks.converse.agents.model_agents import MAX_ROUNDS, Blank, Formulating, ToolsAgent
from oragent_benchmarks.converse.agents.sandboxed_programs import SandboxedPrograms
from oragent_benchmarks.converse.problems.programs import SCHOOLS_PROGRAM
from oragent_benchmarks.converse.problems.schools import sfusd
from oragent_benchmarks.converse.solving import StateSolver
from oragent_benchmarks.converse.tools import Toolbox
from tests.benchmarks.converse.worked import asker

PROBLEM = sfusd()
ASSIGN = "        m += pulp.lpSum(x[q, t] for t in T) == 1\n"


@pytest.fixture(scope="module")
def programs():
    with Sandbox(1) as box:
        yield SandboxedPrograms(box)


def program(source: str, tool: str = "submit_formulation") -> Message:
    return Message("assistant", "", (ToolCall("p", tool, {"program": source}),))


def answered(agent):
    return asyncio.run(agent.answer("please"))


def test_the_base_program_is_the_base_model(programs) -> None:
    found = answered(Formulating(asker([program(SCHOOLS_PROGRAM), "done"], []), programs, problem=PROBLEM))
    (event,) = found.events
    assert found.solved == ("CCCABAABBC",)
    assert event.note["silent"] == []
    assert event.result.startswith("status: optimal\n| School |")


def test_raw_values_come_back_where_the_design_says_so(programs) -> None:
    found = answered(
        Formulating(asker([program(SCHOOLS_PROGRAM), "done"], []), programs, problem=PROBLEM, readable=False)
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
def test_a_silent_error_is_found_and_not_told(programs, old: str, new: str, told: str) -> None:
    assert old in SCHOOLS_PROGRAM
    found = answered(
        Formulating(asker([program(SCHOOLS_PROGRAM.replace(old, new)), "done"], []), programs, problem=PROBLEM)
    )
    assert any(told in error for error in found.events[0].note["silent"])
    assert told not in found.events[0].result


def test_a_program_that_fails_comes_back_with_its_error(programs) -> None:
    replies = [
        program("def formulate(m, data):\n    return 1 / 0\n"),
        program("x = 1"),
        program(SCHOOLS_PROGRAM),
        "done",
    ]
    found = answered(Formulating(asker(replies, []), programs, problem=PROBLEM))
    assert [event.failed for event in found.events] == [True, True, False]
    assert "ZeroDivisionError" in found.events[0].result
    assert "defines no function formulate" in found.events[1].result


def test_a_program_in_a_fence_is_a_call_too(programs) -> None:
    found = answered(
        Formulating(asker([f"Here:\n```python\n{SCHOOLS_PROGRAM}```", "done"], []), programs, problem=PROBLEM)
    )
    assert found.solved == ("CCCABAABBC",)


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
def test_a_hostile_program_costs_its_turn_and_no_more(programs, source: str, told: str) -> None:
    found = answered(Blank(asker([program(source, "run_python"), "sorry"], []), programs))
    assert found.text == "sorry"
    assert told in found.events[0].result
    assert len(found.events[0].result) < 10_000


def test_a_program_without_a_solver_is_seen_to_enumerate(programs) -> None:
    source = "import itertools\nprint(sum(1 for _ in itertools.product('ABC', repeat=3)))"
    found = answered(Blank(asker([program(source, "run_python"), "27"], []), programs))
    assert found.events[0].result == "27"
    assert found.events[0].note == {"solver": False, "enumerates": True}


def test_a_wrong_call_of_a_program_is_one_line(programs) -> None:
    replies = [
        Message("assistant", "", (ToolCall("p", "run", {}),)),
        Message("assistant", "", (ToolCall("q", "run_python", {"program": 3}),)),
        "x",
    ]
    found = answered(Blank(asker(replies, []), programs))
    assert "there is no tool 'run'" in found.events[0].result
    assert "lacks 'program'" in found.events[1].result


def test_after_fifteen_rounds_an_agent_has_to_answer() -> None:
    calls = [Message("assistant", "", (ToolCall(f"c{n}", "call_solver", {}),)) for n in range(MAX_ROUNDS)]
    found = answered(ToolsAgent(asker([*calls, "at last"], []), Toolbox(StateSolver(PROBLEM))))
    assert found.text == "at last"
    assert found.calls == MAX_ROUNDS


def test_calls_that_a_server_leaves_in_the_text_are_made() -> None:
    text = (
        '```json\n{"name": "fix_start_time", "arguments": {"school": "Ortega (Jose)", "time": "7:50 AM"}},\n'
        '{"name": "call_solver", "arguments": {}}\n```'
    )  # as a model of half a billion parameters wrote it
    found = answered(ToolsAgent(asker([text, "done"], []), Toolbox(StateSolver(PROBLEM))))
    assert [(event.tool, event.failed) for event in found.events] == [("fix_start_time", False), ("call_solver", False)]
    assert found.solved == ("CACAABABBC",)
