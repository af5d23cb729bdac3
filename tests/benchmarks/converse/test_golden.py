"""The worked conversation as a golden transcript, and sections, figures and size of the prompts of all roles.

A change on purpose: run this file with ORAGENT_WRITE_GOLDEN=1 and read the difference.
"""

import os
from pathlib import Path

import pytest

from oragent_benchmarks.converse import prompting
from oragent_benchmarks.converse.agents.model_agents import ToolsAgent
from oragent_benchmarks.converse.conversation import Conversation, ConversationEnd, ConversationResult
from oragent_benchmarks.converse.people.person import Person, SchoolRole
from oragent_benchmarks.converse.problems.schools import sfusd
from oragent_benchmarks.converse.solving import StateSolver
from oragent_benchmarks.converse.talking_decider import Feedback, Persona, Style, Talking, Template, decider_prompt
from oragent_benchmarks.converse.tools import Toolbox
from tests.benchmarks.converse.worked import UTILITY, script
from tests.outlines import hold_outline

GOLDEN = Path(__file__).parent / "golden"
PROBLEM = sfusd()
SOLVER = StateSolver(PROBLEM)
WISHES = Person(UTILITY, PROBLEM.exact)
PERSONA = Persona(SchoolRole.PARENT, Style.VAGUE, Feedback.RICH)


def same(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("ORAGENT_WRITE_GOLDEN"):
        path.write_text(text + "\n", encoding="utf-8")
    assert text + "\n" == path.read_text(encoding="utf-8")


def held():
    asker = script(PROBLEM)
    agent = ToolsAgent(asker, Toolbox(SOLVER, extended=True))
    decider = Talking(asker, PROBLEM, WISHES, PERSONA)
    return Conversation(PROBLEM, agent, decider, WISHES).run(), asker


def transcript(found: ConversationResult) -> str:
    lines = [f"end {found.end}, score {found.score:.3f}, {found.calls} calls of the solver"]
    for number, turn in enumerate(found.turns, 1):
        lines += [f"{number}. {check['tool']}: {check['result'].splitlines()[0]}" for check in turn.checks]
        lines.append(f"{number}. > {turn.said}")
        for event in turn.events:
            given = ", ".join(f"{value}" for value in event["arguments"].values())
            told = [line for line in event["result"].splitlines() if line and not line.startswith("|")]
            lines.append(f"   {event['tool']}({given}): {told[-1]}")
        lines += [f"   {name} {value:.3f}" for name, value in zip(turn.presented, turn.values, strict=True)]
        if turn.answer:
            lines.append(f"   {turn.answer.splitlines()[0]}")
    return "\n".join(lines)


def test_the_worked_conversation() -> None:
    found, _ = held()
    assert (found.end, found.success, len(found.turns), found.best) == (ConversationEnd.MAXIMUM, True, 8, "CCCAABABBC")
    assert [round(value, 3) for turn in found.turns for value in turn.values] == [0.584, 0.542, 0.126, 0.748]
    assert round(WISHES(PROBLEM.default).value, 3) == 0.416
    same("conversation", transcript(found))


def test_neither_side_is_told_what_it_must_not_know() -> None:
    _, asker = held()
    agent = "\n".join(request.prompt for request in asker.requests if request.role == "agent")
    decider = "\n".join(request.prompt for request in asker.requests if request.role == "decider")
    for secret in ("0.252", ".252", "0.332", "0.416", "0.748", "0.584", "0.542", "check_utility"):
        assert secret not in agent
    for secret in ("max_students_per_time", "student_load_balancing", "schedule_deviation", "call_solver", "weight"):
        assert secret not in decider
    assert "fix_start_time" not in decider


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("T-P-P", lambda: prompting.tools_prompt(PROBLEM, extended=False)),
        ("T-P-P-extended", lambda: prompting.tools_prompt(PROBLEM, extended=True)),
        ("C-P-P", lambda: prompting.program_prompt(PROBLEM, readable=True)),
        ("C-P-R", lambda: prompting.program_prompt(PROBLEM, readable=False)),
        ("C-N-R", lambda: prompting.blank_prompt(20)),
        ("decider-default", lambda: decider_prompt(PROBLEM, WISHES, PERSONA)),
        ("decider-aware", lambda: decider_prompt(PROBLEM, WISHES, Persona(SchoolRole.COORDINATOR, Style.PRECISE, Feedback.BINARY, (Template.AWARE,)))),
        ("decider-blank", lambda: decider_prompt(PROBLEM, WISHES, Persona(SchoolRole.PRINCIPAL, Style.VAGUE, Feedback.BINARY, (Template.BLANK,)))),
    ],
)  # fmt: skip
def test_a_prompt_has_its_sections_and_figures(name: str, text) -> None:
    hold_outline(GOLDEN / "prompts.txt", name, text())


def test_a_part_of_the_prompt_can_be_left_out() -> None:
    whole = prompting.tools_prompt(PROBLEM, extended=False)
    assert "# How to answer" in whole
    assert "# How to answer" not in prompting.tools_prompt(PROBLEM, extended=False, without=frozenset({"dialogue"}))
    assert "schools" not in prompting.blank_prompt(20)
