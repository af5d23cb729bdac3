"""What one run of a comparison came to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from oragent.compare.execute import HELD_OUT
from oragent.compare.plan import Cell
from oragent.errors import StoreError
from oragent.report.progress import Point
from oragent.report.run import RunData, load

__all__ = ["Cost", "Figures", "Result", "read"]


@dataclass(frozen=True)
class Figures:
    """A program's score in one mode.

    Attributes:
        score: in natural units.
        noise: half the width of the 95 % interval over instances that came with it; None where none came.
    """

    score: float
    noise: float | None


@dataclass(frozen=True)
class Cost:
    """What a run took, until it reached a target or in all.

    Attributes:
        evaluations: until and with the first candidate that did.
        tokens: in and out, of the rounds until and with that candidate's.
        money: US dollars, of the same replies.
        unpriced: those among them whose price is not known.
    """

    evaluations: int
    tokens: int
    money: float
    unpriced: int


@dataclass(frozen=True)
class Result:
    """One run.

    Attributes:
        cell: which.
        folder: where it lives.
        data: all that its folder holds.
        val: its best program where the search measured it.
        seed: the seed heuristic there.
        test: its best program on the held-out set; None where it was not scored.
        seed_test: the seed heuristic there.
    """

    cell: Cell
    folder: Path
    data: RunData
    val: Figures
    seed: Figures
    test: Figures | None
    seed_test: Figures | None

    def figures(self, mode: str) -> Figures | None:
        """The best program's figures in a mode."""
        return self.val if mode == "val" else self.test

    @property
    def curve(self) -> tuple[Point, ...]:
        """The best so far over evaluations."""
        return self.data.by_evaluations

    @property
    def candidates(self) -> int:
        """Programs that were tried, and replies that held none; the seed heuristic is not among them."""
        return len(self.data.records) - 1

    @property
    def failed(self) -> int:
        """How many of them have no score."""
        return sum(len(group) for group in self.data.failures.values())

    @property
    def spent(self) -> Cost:
        """What the run took in all."""
        calls = self.data.spend.calls
        return Cost(self.data.spend.evaluations, calls.tokens, calls.cost, calls.unpriced)

    def reached(self, target: float) -> Cost | None:
        """What it took to reach a score; None where it was not reached."""
        fitness = self.data.about.direction.fitness
        for point in self.curve:
            if fitness(point.score) >= fitness(target):
                return self._until(point)
        return None

    def _until(self, point: Point) -> Cost:
        record = next(r for r in self.data.records if r.candidate.evaluation.score == point.score)
        last = int(record.id.partition(".")[0])
        paid = [reply for reply in self.data.replies if int(reply.case) <= last]
        return Cost(
            evaluations=int(point.at),
            tokens=sum(reply.tokens_in + reply.tokens_out for reply in paid),
            money=sum(reply.money or 0.0 for reply in paid),
            unpriced=sum(reply.money is None for reply in paid),
        )


def read(cell: Cell, folder: Path) -> Result:
    """Read a run.

    Raises:
        StoreError: if it cannot be read.
        ConfigError: if its configuration cannot.
    """
    data = load(folder)
    held_out = _held_out(folder / HELD_OUT)
    return Result(
        cell=cell,
        folder=folder,
        data=data,
        val=_figures(data.best.candidate.evaluation.score, data.best.candidate.evaluation.metrics),
        seed=_figures(data.seed.candidate.evaluation.score, data.seed.candidate.evaluation.metrics),
        test=held_out.get("best"),
        seed_test=held_out.get("seed"),
    )


def _held_out(path: Path) -> dict[str, Figures]:
    if not path.is_file():
        return {}
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
        return {name: _figures(found[name]["score"], found[name]) for name in ("seed", "best")}
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError, AttributeError) as problem:
        raise StoreError(
            f"cannot read {path}: {' '.join(str(problem).split())}; remove it to have it made anew"
        ) from None


def _figures(score: Any, metrics: Mapping[str, Any]) -> Figures:
    assert score is not None
    return Figures(float(score), _half_width(metrics.get("ci95")))


def _half_width(interval: Any) -> float | None:
    """Of ``(low, high)``; None for anything else that an evaluator may call ``ci95``."""
    if isinstance(interval, Sequence) and len(interval) == 2 and all(type(end) in (int, float) for end in interval):
        return abs(float(interval[1]) - float(interval[0])) / 2
    return None
