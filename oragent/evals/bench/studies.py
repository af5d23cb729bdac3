"""Cells that are studies: each in a folder of its own, done case by case, and gone on with where it was left."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from oragent._base.budget import Budget, Spent
from oragent._base.errors import ConfigError, OragentError
from oragent.evals.bench.execute import CellEnd
from oragent.evals.bench.plan import BenchCell
from oragent.evals.bench.result import BenchResult, Cost, Measure, ModeScore
from oragent.ledger import Study
from oragent.ledger.study import FinishedCase

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
