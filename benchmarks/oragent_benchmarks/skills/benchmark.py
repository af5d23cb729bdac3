"""Runs of an agent on the tasks of skills, with and without the skill in its folder."""

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from oragent._base.direction import Direction
from oragent._base.errors import ConfigError
from oragent._base.text_format import one_line
from oragent.evals.bench.plan import BenchCell, BenchTerms
from oragent.evals.bench.result import Measure
from oragent.ledger import LedgerCase
from oragent.ledger.study import FinishedCase
from oragent.llm.model import Model
from oragent.sandbox.confined_command import wrap_command
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
# Seconds from a request to end to the end by force.
PATIENCE_S = 2.0


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
        command, limit_s = str(self.plan.settings["agent"]), float(self.plan.settings["seconds"])

        async def run_case(case: LedgerCase) -> object:
            return await asyncio.to_thread(run_task, tasks[case.name], skill, command, limit_s)

        return {}, run_case


def find_agent(command: str) -> list[str]:
    """Return the words of an agent's command.

    Raises:
        ConfigError: No program of this name is on the path.
    """
    words = shlex.split(command)
    program = shutil.which(words[0]) if words else None
    if program is None:
        raise ConfigError(f"--agent {one_line(command, 60)!r}: no such program is on the path")
    return [os.path.abspath(program), *words[1:]]


def run_task(task: SkillTask, skill: str, command: str, limit_s: float) -> dict[str, Any]:
    """Let an agent work on a task in a new folder, and check the result.

    Args:
        task: The task.
        skill: Text of the skill; empty for none.
        command: Command of the agent, which reads the request from standard input.
        limit_s: Seconds after which it is ended.
    """
    words = find_agent(command)
    with tempfile.TemporaryDirectory(prefix="oragent-skill-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for path, text in task.files.items():
            _write(folder / path, text)
        for skill_folder in PLACES if skill else ():
            _write(folder / skill_folder / task.skill / "SKILL.md", skill)
        begun = time.monotonic()
        end, output = _run_agent(words, folder, f"{task.request}\n", limit_s)
        seconds = time.monotonic() - begun
        return {
            "solved": task.check(folder),
            "end": end,
            "answer": describe_answer(folder),
            "seconds": seconds,
            "output": output[-MAX_OUTPUT:],
        }


def _run_agent(words: list[str], folder: Path, request: str, limit_s: float) -> tuple[str, str]:
    process = subprocess.Popen(
        wrap_command(words, None),
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    output = ""
    with process:
        try:
            output, _ = process.communicate(request, limit_s)
            end = f"exited with code {process.returncode}"
        except subprocess.TimeoutExpired:
            end = f"ended after {limit_s:g} s"
            # The supervisor ends all processes of the agent.
            _signal_group(process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                output, _ = process.communicate(timeout=PATIENCE_S)
        finally:
            _signal_group(process.pid, signal.SIGKILL)
    return end, output


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
