"""See to every cell of a plan, one after the other: what is complete is kept, what was begun is resumed."""

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
    """A system as a benchmark sees it; cells have their places in the benchmark's folder as the system likes."""

    def is_complete(self, cell: BenchCell, folder: Path) -> bool:
        """Whether nothing is left to run for a cell."""

    def run(self, cell: BenchCell, folder: Path) -> CellEnd:
        """Run a cell, or the rest of it where it was begun.

        Raises:
            OragentError: One line on what keeps it from beginning or going on.
        """

    def finish(self, cell: BenchCell, folder: Path) -> str:
        """See to what is due once a cell was run, such as a held-out set, unless that is done.

        Returns:
            A remark for a person, such as why it could not be done; mostly empty.

        Raises:
            OragentError: One line on what makes the cell useless.
        """

    def read(self, cell: BenchCell, folder: Path) -> BenchResult:
        """Read what a complete cell came to.

        Raises:
            OragentError: It cannot be read.
        """


@dataclass(frozen=True)
class Done:
    """A cell that has been seen to.

    Attributes:
        cell: Which one.
        end: How its run ended.
        fresh: Whether anything had to be run for it.
        remark: What a person should know of it; mostly empty.
    """

    cell: BenchCell
    end: CellEnd
    fresh: bool
    remark: str


def execute(plan: BenchPlan, runner: CellRunner, folder: Path) -> Iterator[Done]:
    """See to every cell of a plan; ends early where a person stops one.

    Args:
        plan: What is measured.
        runner: Who runs cells.
        folder: Where the benchmark lives.

    Yields:
        Each cell, complete or not.

    Raises:
        OragentError: The cell, and one line on what keeps it from beginning or going on.
    """
    for cell in plan.cells:
        try:
            done = _see_to(cell, runner, folder)
        except OragentError as problem:
            raise OragentError(f"{cell}: {problem}") from None
        yield done
        if done.end.stopped:
            return


def gather(plan: BenchPlan, runner: CellRunner, folder: Path) -> tuple[tuple[BenchResult, ...], tuple[BenchCell, ...]]:
    """Read a benchmark, as far as it is complete.

    Returns:
        What the complete cells came to, in the plan's order; and the cells that are left out.

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


def _see_to(cell: BenchCell, runner: CellRunner, folder: Path) -> Done:
    end, fresh, remark = CellEnd(), False, ""
    try:
        fresh = not runner.is_complete(cell, folder)
        if fresh:
            end = runner.run(cell, folder)
        if not end.stopped:
            remark = runner.finish(cell, folder)
    except KeyboardInterrupt:  # a system that does not stop by itself is stopped here: what it has kept is kept
        end = CellEnd("stopped by Ctrl-C", stopped=True)
    return Done(cell, end, fresh, remark)
