"""The agent without a model: the lines that it must print."""

import asyncio

import pytest

from oragent._base.errors import ConfigError
from oragent_benchmarks.converse.agents.model_agents import expect_fitting_agent
from oragent_benchmarks.converse.agents.rules import RulesAgent
from oragent_benchmarks.converse.decision import DecisionProblem
from oragent_benchmarks.converse.problems.schools import generate_district, sfusd
from oragent_benchmarks.converse.solving import StateSolver
from oragent_benchmarks.converse.tools import Toolbox


def said(agent: RulesAgent, message: str) -> str:
    return asyncio.run(agent.answer(message)).text


def rules(problem: DecisionProblem | None = None) -> RulesAgent:
    return RulesAgent(Toolbox(StateSolver(problem or sfusd()), extended=True))


def test_the_lines_that_it_must_print() -> None:
    agent = rules()
    first = said(agent, "fix Ortega 7:50").splitlines()[0]
    assert first == (
        "CACAABABBC, load 2,453, deviation 19.5; changed: Ortega 9:30 → 7:50, Balboa 8:40 → 7:50, Galileo 7:50 → 8:40"
    )
    assert said(agent, "deviation <= 12") == (
        "infeasible: Ortega 7:50 and deviation <= 12 clash; the least possible is 16.5; at 8:40 11.5, at 9:30 8.5"
    )
    for command in ("undo", "fix Ortega 8:40", "load < 2565"):
        said(agent, command)
    assert said(agent, "deviation <= 20").startswith("CBCBBAABBC, load 2,560, deviation 14.5;")
    assert said(agent, "lowest load").startswith("CBCABACBBC, load 2,227, deviation 19.5;")


def test_alternatives_are_tried_until_one_is_possible() -> None:
    text = said(rules(), "fix Ortega 7:50; deviation <= 12 else fix Ortega 8:40; deviation <= 12")
    assert text.startswith("CBCABAABBC, load 2,565, deviation 11.5;")


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("fix Ortego 7:50", "did you mean 'Ortega (Jose) PK'?"),
        ("fix Ortega 8:15", "'8:15' is no start time of sfusd; expected 7:50 AM, 8:40 AM, 9:30 AM"),
        ("fix Ortega", "fix needs a school and a time"),
        ("load <= many", "is not a command"),
        ("cost <= 12", "'cost' is no objective"),
        ("weight load -2", "must be 0 or more, not -2"),
        ("weight load", "weight must be a number"),
        ("undo", "nothing to undo"),
        ("remove max_students_per_time", "cannot be removed"),
        ("please move it", "is not a command; the nearest is"),
    ],
)
def test_a_wrong_command_is_one_line_and_leaves_the_model_alone(message: str, told: str) -> None:
    agent = rules()
    before = agent.tools.state
    text = said(agent, f"fix Balboa 9:30; {message}") if message not in ("undo",) else said(agent, message)
    assert text.startswith("not understood: ")
    assert told in text
    assert "\n" not in text
    assert agent.tools.state == before


@pytest.mark.parametrize("agent", ["C-P-R", "C-N-R"])
def test_agents_of_the_published_comparison_take_its_problem_only(agent: str) -> None:
    expect_fitting_agent(agent, sfusd())
    with pytest.raises(ConfigError, match=agent):
        expect_fitting_agent(agent, generate_district(5, 3))


@pytest.mark.slow
def test_of_a_large_district_a_proposal_states_its_gap() -> None:
    agent = rules(generate_district(50, 6, limit_s=0.7))
    line = said(agent, "fix School 3 7:30 AM; deviation <= 30").splitlines()[0]
    assert line.startswith("load ")
    assert "gap" in line or "; changed" in line or "nothing changed" in line
    assert generate_district(50, 6).district == generate_district(50, 6).district
    assert generate_district(50, 6, 1).district != generate_district(50, 6).district
