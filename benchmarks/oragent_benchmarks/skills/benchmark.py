"""Runs of an agent on the tasks of skills, with and without the skill in its folder."""

import asyncio
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from oragent._base.direction import Direction
from oragent._base.settings import build_settings
from oragent.api.mcp.agent_process import AgentProgram, find_program, run_in_folder
from oragent.evals.bench.plan import BenchCell, BenchTerms
from oragent.evals.bench.result import Measure
from oragent.ledger import LedgerCase
from oragent.ledger.study import FinishedCase
from oragent.llm.model import Model
from oragent.sandbox.isolation.environment import interpreter_places
from oragent.search.strategies.agent import CodingAgentSettings
from oragent_benchmarks.cases import CaseBenchmark, CaseSettings, Work
from oragent_benchmarks.skills.tasks import TASKS, SkillTask, describe_answer

TERMS = BenchTerms(
    benchmark="skills benchmark",
    subject="skill",
    subjects="skills",
    contestant="variant",
    contestants="variants",
    modes={"test": "share of tasks that are solved"},
    baseline="without the skill",
    work="calls",
    noise="tasks",
)
WITH, WITHOUT = "with", "without"
# Folders in which agents look for skills.
PLACES = (".claude/skills", "skills")
MAX_OUTPUT = 2000


@dataclass
class SkillsBenchmark(CaseBenchmark):
    """Runner of the cells. A cell is a skill, and whether the agent has it."""

    # Text of each skill.
    skills: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def settings(self) -> CaseSettings:
        """Settings of the plan."""
        return CaseSettings()

    def tasks(self, cell: BenchCell) -> Sequence[SkillTask]:
        """Return the tasks of a skill."""
        return [task for task in TASKS if task.skill == cell.subject]

    def case_names(self, cell: BenchCell) -> list[str]:
        """Return the names of the tasks."""
        return [task.name for task in self.tasks(cell)]

    def cell_folder(self, cell: BenchCell, folder: Path) -> Path:
        """Return the folder of a cell."""
        return folder / cell.subject / cell.contestant / str(cell.seed)

    def score_cell(self, cell: BenchCell, cases: Sequence[FinishedCase]) -> tuple[Measure, float, int]:
        """Return the share of solved tasks."""
        solved = sum(bool(case.result["solved"]) for case in cases)
        return Measure(cell.subject, Direction.MAXIMIZE), solved / max(1, len(cases)), len(cases) - solved

    def describe_cell(self, cell: BenchCell, cases: Sequence[FinishedCase]) -> str:
        """Describe how many tasks are solved."""
        return f"{sum(bool(case.result['solved']) for case in cases)} of {len(cases)} solved"

    def describe_case(self, result: Mapping[str, Any]) -> str:
        """Describe whether a task is solved."""
        if result["solved"]:
            return "solved"
        return f"not solved, {result['end']}"

    def open_cell(
        self, cell: BenchCell, cell_folder: Path, stack: AsyncExitStack
    ) -> tuple[Mapping[str, str | Model], Work]:
        """Return the work. The agent is a command, so no model is opened."""
        tasks = {task.name: task for task in self.tasks(cell)}
        skill = self.skills[cell.subject] if cell.contestant == WITH else ""

        async def run_case(case: LedgerCase) -> object:
            return await asyncio.to_thread(run_task, tasks[case.name], skill, self.plan.settings)

        return {}, run_case


def find_agent(settings: Mapping[str, Any]) -> tuple[CodingAgentSettings, AgentProgram]:
    """Return the settings of an agent and its program.

    Raises:
        ConfigError: The settings are wrong, no program of this name is on the path, or it cannot be confined.
    """
    tree = {"command": settings["agent"], "episode_s": settings["seconds"]}
    options = build_settings(CodingAgentSettings, tree, settings["agent_settings"], "--set")
    # Python and oragent itself, with which the agent works.
    readable = (*options.readable, *map(str, interpreter_places()))
    return replace(options, readable=readable), find_program(options, "", "--set ")


def run_task(task: SkillTask, skill: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Let an agent work on a task in a new folder, and check the result.

    Args:
        task: The task.
        skill: Text of the skill; empty for none.
        settings: ``agent``, the command, which reads the request from standard input; ``seconds``;
            ``agent_settings``, texts ``key=value`` as for the strategy ``agent``, such as ``variables=[MY_KEY]``.
    """
    options, program = find_agent(settings)
    with tempfile.TemporaryDirectory(prefix="oragent-skill-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        for path, text in task.files.items():
            _write(folder / path, text)
        for skill_folder in PLACES if skill else ():
            _write(folder / skill_folder / task.skill / "SKILL.md", skill)
        begun = time.monotonic()
        output = asyncio.run(run_in_folder(options, program, folder, f"{task.request}\n", {}, {}))
        seconds = time.monotonic() - begun
        return {
            "solved": task.check(folder),
            "end": output.ended,
            "answer": describe_answer(folder),
            "seconds": seconds,
            "output": (output.stdout + output.stderr)[-MAX_OUTPUT:],
        }


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
