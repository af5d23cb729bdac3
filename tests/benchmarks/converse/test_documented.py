"""What the page on the measurement of conversations shows runs as it stands there, and it names what there is."""

import re
from pathlib import Path

import pytest

from oragent_benchmarks.converse.agents.model_agents import AGENTS
from oragent_benchmarks.converse.paradigms import Paradigm

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "converse-benchmark.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
EXAMPLE = DOCS / "examples" / "hikers.py"  # runs in test_own_problem.py


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_program_of_the_page_runs(program: str) -> None:
    exec(compile(program, "docs/converse-benchmark.md", "exec"), {"__name__": "documented"})


def test_a_problem_of_one_s_own_takes_forty_lines() -> None:
    own = next(program for program in PROGRAMS if "class Hiker" in program)
    assert len([line for line in own.splitlines() if line.strip()]) <= 40


def test_every_agent_and_paradigm_is_named() -> None:
    for name in (*AGENTS, *Paradigm):
        assert name in PAGE
