"""Run every cell of a plan, one after the other: complete cells are kept, begun ones (also studies) are resumed."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from oragent._base.budget import Budget, Spent
from oragent._base.errors import ConfigError, OragentError
from oragent.evals.bench.plan import BenchCell, BenchPlan
from oragent.evals.bench.result import BenchResult, Cost, Measure, ModeScore
from oragent.ledger import Study
from oragent.ledger.study import FinishedCase


@dataclass(frozen=True)
class CellEnd:
    """How a run ended.

    Attributes:
        reason: Why it ended before it was complete; empty where it is complete.
        stopped: Whether a person stopped it.
    """

    reason: str = ""
    stopped: bool = False


class CellRunner(Protocol):
    """A system under measurement; it chooses where its cells are in the benchmark's folder."""

    def is_complete(self, cell: BenchCell, folder: Path) -> bool:
        """Return True if nothing remains to be run for a cell."""

    def run(self, cell: BenchCell, folder: Path) -> CellEnd:
        """Run a cell, or the rest of it where it was begun.

        Raises:
            OragentError: One line on what keeps it from beginning or going on.
        """

    def finish(self, cell: BenchCell, folder: Path) -> str:
        """Do what follows a run, such as scoring on the held-out set, unless that is done.

        Returns:
            A remark for a person, such as why it could not be done; mostly empty.

        Raises:
            OragentError: One line on what makes the cell useless.
        """

    def read(self, cell: BenchCell, folder: Path) -> BenchResult:
        """Read the result of a complete cell.

        Raises:
            OragentError: It cannot be read.
        """


@dataclass(frozen=True)
class CellReport:
    """A cell that was run, or was complete before.

    Attributes:
        cell: The cell.
        end: End of its run.
        fresh: True if anything had to be run for it.
        remark: Remark for a person; mostly empty.
    """

    cell: BenchCell
    end: CellEnd
    fresh: bool
    remark: str


def execute_plan(plan: BenchPlan, runner: CellRunner, folder: Path) -> Iterator[CellReport]:
    """Run every cell of a plan; end early where a person stops one.

    Args:
        plan: Plan of the benchmark.
        runner: Runner of its cells.
        folder: Folder of the benchmark.

    Yields:
        Each cell, complete or not.

    Raises:
        OragentError: The cell, and one line on what keeps it from beginning or going on.
    """
    for cell in plan.cells:
        try:
            cell_report = _complete_cell(cell, runner, folder)
        except OragentError as problem:
            raise OragentError(f"{cell}: {problem}") from None
        yield cell_report
        if cell_report.end.stopped:
            return


def gather_results(
    plan: BenchPlan, runner: CellRunner, folder: Path
) -> tuple[tuple[BenchResult, ...], tuple[BenchCell, ...]]:
    """Read a benchmark, as far as it is complete.

    Returns:
        The results of complete cells, in the plan's order; and the cells that are left out.

    Raises:
        OragentError: One cannot be read.
    """
    results: list[BenchResult] = []
    unfinished: list[BenchCell] = []
    for cell in plan.cells:
        if runner.is_complete(cell, folder):
            results.append(runner.read(cell, folder))
        else:
            unfinished.append(cell)
    return tuple(results), tuple(unfinished)


def _complete_cell(cell: BenchCell, runner: CellRunner, folder: Path) -> CellReport:
    end, fresh, remark = CellEnd(), False, ""
    try:
        fresh = not runner.is_complete(cell, folder)
        if fresh:
            end = runner.run(cell, folder)
        if not end.stopped:
            remark = runner.finish(cell, folder)
    except KeyboardInterrupt:  # a system that does not stop by itself is stopped here: what it has kept is kept
        end = CellEnd("stopped by Ctrl-C", stopped=True)
    return CellReport(cell, end, fresh, remark)


UNBOUNDED = Budget(evaluations=None)


class Studies(ABC):
    """The part of a benchmark's runner that all systems of cases share."""

    @abstractmethod
    def case_names(self, cell: BenchCell) -> Sequence[str]:
        """Names of the cases of a cell, in its order."""

    @abstractmethod
    def cell_folder(self, cell: BenchCell, folder: Path) -> Path:
        """Folder of a cell."""

    @abstractmethod
    async def _run_cases(self, cell: BenchCell, cell_folder: Path) -> str:
        """Do the cases of a cell that are missing; why some were left, or empty."""

    def finished_cases(self, cell: BenchCell, folder: Path) -> list[FinishedCase]:
        """Cases of a cell that are done, in its order."""
        cell_folder = self.cell_folder(cell, folder)
        if not (cell_folder / "run.db").is_file():
            return []
        with Study(cell_folder, {}, UNBOUNDED) as study:
            finished = {case.name: case for case in study.finished_cases()}
        return [finished[name] for name in self.case_names(cell) if name in finished]

    def is_complete(self, cell: BenchCell, folder: Path) -> bool:
        """Return True if every case of the cell is finished."""
        return len(self.finished_cases(cell, folder)) == len(self.case_names(cell))

    def run(self, cell: BenchCell, folder: Path) -> CellEnd:
        """Do the cases of a cell that are missing."""
        return CellEnd(asyncio.run(self._run_cases(cell, self.cell_folder(cell, folder))))

    def make_result(
        self, cell: BenchCell, folder: Path, measure: Measure, scores: Mapping[str, ModeScore], failed: int
    ) -> BenchResult:
        """Return the result of a complete cell: its scores and the cost of all its cases."""
        cases = self.finished_cases(cell, folder)
        spent = sum((case.spent for case in cases), Spent())
        return BenchResult(
            cell, measure, scores, tried=len(cases), failed=failed,
            spent=Cost(spent.model_calls, spent.tokens, spent.money),
            seconds=sum(case.result.get("seconds", 0.0) for case in cases), folder=self.cell_folder(cell, folder),
        )  # fmt: skip


def budget_of(settings: Mapping[str, Any]) -> Budget:
    """The budget that a plan's settings name; evaluations are not bounded.

    Raises:
        ConfigError: if they name none.
    """
    try:
        return Budget(**{"evaluations": None, **settings.get("budget", {})})
    except (TypeError, OragentError) as problem:
        raise ConfigError(f"the budget of the benchmark: {problem}") from None
