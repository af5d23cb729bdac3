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
from oragent.ledger.study import Finished

UNBOUNDED = Budget(evaluations=None)


class Studies(ABC):
    """The part of a benchmark's runner that all systems of cases share."""

    @abstractmethod
    def names(self, cell: BenchCell) -> Sequence[str]:
        """Names of the cases of a cell, in its order."""

    @abstractmethod
    def place(self, cell: BenchCell, folder: Path) -> Path:
        """Folder of a cell."""

    @abstractmethod
    async def _run(self, cell: BenchCell, place: Path) -> str:
        """Do the cases of a cell that are missing; why some were left, or empty."""

    def finished(self, cell: BenchCell, folder: Path) -> list[Finished]:
        """Cases of a cell that are done, in its order."""
        place = self.place(cell, folder)
        if not (place / "run.db").is_file():
            return []
        with Study(place, {}, UNBOUNDED) as study:
            done = {one.name: one for one in study.finished()}
        return [done[name] for name in self.names(cell) if name in done]

    def is_complete(self, cell: BenchCell, folder: Path) -> bool:
        """Whether every case of the cell is done."""
        return len(self.finished(cell, folder)) == len(self.names(cell))

    def run(self, cell: BenchCell, folder: Path) -> CellEnd:
        """Do the cases of a cell that are missing."""
        return CellEnd(asyncio.run(self._run(cell, self.place(cell, folder))))

    def result(
        self, cell: BenchCell, folder: Path, measure: Measure, scores: Mapping[str, ModeScore], failed: int
    ) -> BenchResult:
        """What a complete cell came to: its scores, with what all its cases spent."""
        done = self.finished(cell, folder)
        spent = sum((one.spent for one in done), Spent())
        return BenchResult(
            cell, measure, scores, tried=len(done), failed=failed,
            spent=Cost(spent.model_calls, spent.tokens, spent.money),
            seconds=sum(one.result.get("seconds", 0.0) for one in done), folder=self.place(cell, folder),
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
