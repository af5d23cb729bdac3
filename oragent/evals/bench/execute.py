"""Run every cell of a plan, one after the other: complete cells are kept, begun ones (also studies) are resumed."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from oragent._base.errors import OragentError
from oragent.evals.bench.plan import BenchCell, BenchPlan
from oragent.evals.bench.result import BenchResult


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
