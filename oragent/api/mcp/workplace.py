"""Folder of a server: paths within it, its problems and runs, and work in threads."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from oragent._base.errors import ConfigError
from oragent._base.text_format import one_line
from oragent.api.mcp.agent_runs import AgentRun, SubmissionRun
from oragent.evaluation.problem import Problem, find_problem
from oragent.sandbox.limits import count_processors

# Maximum number of calls that wait for a worker.
MAX_WAITING = 64
Result = TypeVar("Result")


class Workplace:
    """State of a server: folder, open runs, and work in progress.

    Args:
        root: Root of all paths of tools; the server accesses nothing outside of it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.runs: dict[Path, AgentRun] = {}
        # Runs are opened and closed one at a time.
        self.opening = asyncio.Lock()
        self._workers = asyncio.Semaphore(count_processors())
        self._waiting = 0

    @property
    def outputs(self) -> Path:
        """Folder of runs."""
        return self.root / "outputs"

    def resolve(self, path: str, *, exists: bool = True) -> Path:
        """Return a path within the root.

        Raises:
            ConfigError: The path leads outside of the root, or does not exist.
        """
        if not path.strip() or "\0" in path:
            raise ConfigError("a path is empty or holds a null character: name a file in the server's folder")
        resolved = (self.root / path).resolve()
        if not resolved.is_relative_to(self.root):
            raise ConfigError(f"{one_line(path)} is outside of the server's folder: use a path within it")
        if exists and not resolved.exists():
            raise ConfigError(f"{one_line(path)} does not exist in the server's folder")
        return resolved

    def find_problem(self, name: str) -> Problem:
        """Load a problem by its name, or by the path of its folder within the root.

        Raises:
            ProblemError: The problem does not exist.
            ConfigError: The path leads outside of the root.
        """
        if "/" in name or (self.root / name / "problem.yaml").is_file():
            return find_problem(str(self.resolve(name)), self.root)
        return find_problem(name, self.root)

    def find_run(self, run: str) -> Path:
        """Return the folder of a run by its name, ``PROBLEM/NAME``, or by its path within the root.

        Raises:
            ConfigError: The run does not exist.
        """
        for path in (self.outputs / run, self.root / run):
            folder = path.resolve()
            if folder.is_relative_to(self.root) and (folder / "run.db").is_file():
                return folder
        raise ConfigError(f"unknown run {one_line(run)!r}: expected PROBLEM/NAME; archive without a run lists the runs")

    def name_run(self, folder: Path) -> str:
        """Return the name of a run."""
        base = self.outputs if folder.is_relative_to(self.outputs) else self.root
        return str(folder.relative_to(base))

    def open_run(self, run: str) -> SubmissionRun:
        """Return an open run of this server.

        Raises:
            ConfigError: The run is not open.
        """
        folder = self.find_run(run)
        agent_run = self.runs.get(folder)
        if agent_run is None or not agent_run.takes_programs:
            raise ConfigError(f"{one_line(run)} is not open for programs: call open_run first")
        return agent_run

    def is_open(self, problem: Problem) -> bool:
        """Return True if a run of a problem takes programs."""
        return any(
            run.is_open and run.takes_programs and run.folder.problem.name == problem.name for run in self.runs.values()
        )

    async def work(self, function: Callable[[], Result]) -> Result:
        """Run a blocking function in a thread when a worker is free.

        Raises:
            ConfigError: Too many calls are waiting.
        """
        if self._waiting >= MAX_WAITING:
            raise ConfigError(f"{MAX_WAITING} calls wait for a free worker already: wait for their answers")
        self._waiting += 1
        try:
            await self._workers.acquire()
        finally:
            self._waiting -= 1
        # The worker is released when the thread ends, even if the client has cancelled the call.
        thread = asyncio.ensure_future(asyncio.to_thread(function))
        thread.add_done_callback(lambda _: self._workers.release())
        return await asyncio.shield(thread)

    async def close(self) -> None:
        """End all open runs; running evaluations finish and are stored."""
        for agent_run in list(self.runs.values()):
            await agent_run.close()
        self.runs.clear()
