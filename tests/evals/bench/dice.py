"""A benchmark that knows no search: players throw dice, and the more eyes the better."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from oragent._base.direction import Direction
from oragent._base.errors import OragentError
from oragent.evals.bench.plan import BenchCell, BenchPlan, BenchTerms, Manifest
from oragent.evals.bench.result import BenchResult, CellEnd, Cost, Measure, ModeScore, ProgressStep

TERMS = BenchTerms(
    "tournament", "die", "dice", "player", "players", {"eyes": "as thrown", "again": "thrown again"}, "a one", "throw",
    "throws", "faces",
)  # fmt: skip
MANIFEST = Manifest("tournament.yaml", TERMS, free=("table",))
THROWS = 4
FACES = {"d6": 6, "d20": 20}


def tournament(*players: str, seeds: int = 2, **settings: object) -> BenchPlan:
    """Everyone throws every die."""
    return BenchPlan(TERMS, FACES, {name: {} for name in players or ("ann", "bob")}, tuple(range(seeds)), settings)


@dataclass
class Thrower:
    """Throws dice into files, a line a throw.

    Attributes:
        plan: Who throws what.
        left: Throws until something happens; None: never.
        happening: What happens then.
        thrown: Throws of this sitting, in their order.
    """

    plan: BenchPlan
    left: int | None = None
    happening: BaseException = field(default_factory=KeyboardInterrupt)
    thrown: list[BenchCell] = field(default_factory=list)

    def is_complete(self, cell: BenchCell, folder: Path) -> bool:
        return len(self._throws(cell, folder)) == THROWS

    def run(self, cell: BenchCell, folder: Path) -> CellEnd:
        if cell.contestant == "lazy":
            return CellEnd("does not feel like it")
        shift = self.plan.contestants[cell.contestant].get("shift", 0)
        faces = self.plan.subjects[cell.subject]
        folder.mkdir(exist_ok=True)
        for number in range(len(self._throws(cell, folder)), THROWS):
            if self.left is not None and len(self.thrown) == self.left:
                raise self.happening
            rng = np.random.default_rng([cell.seed, number, *map(ord, f"{cell.subject}{cell.contestant}")])
            with _file(cell, folder).open("a") as file:
                print(int(rng.integers(1, faces, endpoint=True)) + shift, file=file)
            self.thrown.append(cell)
        return CellEnd()

    def finish(self, cell: BenchCell, folder: Path) -> str:
        return "" if self.is_complete(cell, folder) else "nothing to check"

    def read(self, cell: BenchCell, folder: Path) -> BenchResult:
        throws = self._throws(cell, folder)
        if 0 in throws:
            raise OragentError(f"{_file(cell, folder)}: a die has no zero")
        return result(cell, throws, folder)

    def _throws(self, cell: BenchCell, folder: Path) -> list[int]:
        path = _file(cell, folder)
        return [int(line) for line in path.read_text().split()] if path.is_file() else []


def result(cell: BenchCell, throws: list[int], folder: Path | None = None) -> BenchResult:
    """The best throw counts; ones are failures."""
    best = np.maximum.accumulate(throws)
    steps = [
        ProgressStep(float(one), float(so_far), Cost(at, 10 * at))
        for at, (one, so_far) in enumerate(zip(throws, best, strict=True), 1)
    ]
    return BenchResult(
        cell=cell,
        measure=Measure(f"a die of {FACES.get(cell.subject, 6)} faces", Direction.MAXIMIZE),
        scores={"eyes": ModeScore(float(best[-1]))},
        baselines={"eyes": ModeScore(1.0)},
        tried=len(throws),
        failed=throws.count(1),
        spent=steps[-1].paid,
        seconds=1.0,
        curve=tuple(steps),
        folder=folder,
    )


def _file(cell: BenchCell, folder: Path) -> Path:
    return folder / f"{cell.seed}-{cell.subject}-{cell.contestant}.txt"
